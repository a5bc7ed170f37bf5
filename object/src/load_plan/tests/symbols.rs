//! Plans of objects that refer to kernel symbols without a type.

#![expect(clippy::arithmetic_side_effects, reason = "small offsets in code that the tests build")]

use super::externs::with_externs;
use crate::{
    load_plan::{LoadPlan, LoadPlanError},
    test_support::{TestObject, insns, kernel, line},
};
use core_relo::TypeId;

/// Plans an object that refers to a strong and a weak symbol, for a kernel with these symbols.
fn plan_with_symbols(text: &str) -> Result<LoadPlan, LoadPlanError> {
    let externs = [("strong", TypeId::VOID, false), ("weak", TypeId::VOID, true)];
    let mut kernel = kernel(|_| {});
    kernel.kallsyms = Some(text.into());
    with_externs(".ksyms", &externs, TestObject::new()).plan_on(kernel, |_| {})
}

fn addresses(plan: &LoadPlan) -> [u64; 2] {
    let code = insns(plan, "main");
    [0, 2].map(|first| {
        let half = |n: usize| u64::from(code[n].imm.cast_unsigned());
        half(first) | half(first + 1) << 32
    })
}

#[test]
fn symbols_resolve_to_addresses_and_missing_weak_symbols_to_0() {
    let plan = plan_with_symbols("ffffffff81000010 T strong\nffffffff81000020 d weak.llvm.77\n").unwrap();
    assert_eq!(addresses(&plan), [0xffff_ffff_8100_0010, 0xffff_ffff_8100_0020]);
    let plan = plan_with_symbols(
        "ffffffff81000010 T strong\nffffffff81000010 t strong\nffffffff81000020 T weak.llvm.77\n",
    );
    assert_eq!(addresses(&plan.unwrap()), [0xffff_ffff_8100_0010, 0]);
}

#[test]
fn missing_and_ambiguous_symbols_are_refused() {
    let error = line(&plan_with_symbols("1 T weak\n").unwrap_err());
    assert_eq!(
        error,
        "unresolved extern: strong: no symbol of this name in /proc/kallsyms, which has variables with \
         CONFIG_KALLSYMS_ALL only: declare it __weak to get 0 instead"
    );
    let error = line(&plan_with_symbols("10 T strong\n20 t strong\n").unwrap_err());
    assert!(
        error.ends_with(
            "strong: it is ambiguous: symbols of this name are at 0x10 and 0x20: choose an address in `Settings::ksyms`"
        ),
        "{error}"
    );
    assert!(
        line(&plan_with_symbols("10 T strong\n1 T weak\n2 t weak\n").unwrap_err())
            .contains("weak: it is ambiguous")
    );
}

/// libbpf takes the address 0, with which the program reads nothing.
#[test]
fn hidden_addresses_are_refused_and_name_the_setting() {
    let zero = "0000000000000000";
    let error = line(&plan_with_symbols(&format!("{zero} T strong\n{zero} T weak\n")).unwrap_err());
    assert!(error.starts_with("unresolved extern: strong: its address is hidden"), "{error}");
    assert!(error.contains("kernel.kptr_restrict"), "{error}");
    // A chosen address needs no other.
    let chosen = |kallsyms: &str| {
        let externs = [("strong", TypeId::VOID, false)];
        let mut kernel = kernel(|_| {});
        kernel.kallsyms = Some(kallsyms.into());
        with_externs(".ksyms", &externs, TestObject::new()).plan_on(kernel, |settings| {
            settings.ksyms.insert("strong".to_owned(), "0xffffffff81000040".parse().unwrap());
        })
    };
    assert!(chosen(&format!("{zero} T strong\n{zero} T weak\n")).is_ok());
    // The first symbol of a kernel may have this address.
    let plan = plan_with_symbols(&format!("{zero} A weak\nffffffff81000010 T strong\n"));
    assert_eq!(addresses(&plan.unwrap()), [0xffff_ffff_8100_0010, 0]);
}

/// More symbols have the name than are kept.
#[test]
fn a_chosen_address_may_be_that_of_any_symbol() {
    let plan = |chosen: &str| {
        let mut kernel = kernel(|_| {});
        let lines = (1..=2000).map(|address| format!("{address:x}0 t strong\n"));
        kernel.kallsyms = Some(lines.collect::<String>().into());
        let externs = [("strong", TypeId::VOID, false)];
        with_externs(".ksyms", &externs, TestObject::new()).plan_on(kernel, |settings| {
            settings.ksyms.insert("strong".to_owned(), chosen.parse().unwrap());
        })
    };
    assert_eq!(addresses(&plan("0x7d00").unwrap())[0], 0x7d00);
    let error = line(&plan("0x7d10").unwrap_err());
    assert!(
        error.contains("that of no symbol of this name") && error.contains("and at least 1020 more"),
        "{error}"
    );
}

/// libbpf refuses such an object, and has no way to choose.
#[test]
fn a_caller_chooses_among_symbols_of_one_name() {
    let plan = |chosen: &[(&str, &str)]| {
        let mut kernel = kernel(|_| {});
        kernel.kallsyms = Some("10 T strong\n20 t strong\n40 t strong\n80 T other\n".into());
        let externs = [("strong", TypeId::VOID, false), ("weak", TypeId::VOID, true)];
        with_externs(".ksyms", &externs, TestObject::new()).plan_on(kernel, |settings| {
            settings.ksyms =
                chosen.iter().map(|(name, address)| ((*name).to_owned(), address.parse().unwrap())).collect();
        })
    };
    assert_eq!(addresses(&plan(&[("strong", "0x20")]).unwrap()), [0x20, 0]);
    assert_eq!(addresses(&plan(&[("strong", "other+0x8"), ("weak", "other")]).unwrap()), [0x88, 0x80]);
    let error = line(&plan(&[("strong", "0x30")]).unwrap_err());
    assert!(error.contains("strong: the chosen address 0x30 is that of no symbol of this name"), "{error}");
    let error = line(&plan(&[("strong", "0x20"), ("weak", "0x20")]).unwrap_err());
    assert!(error.contains("weak: the chosen address 0x20 is that of no symbol"), "{error}");
    let error = line(&plan(&[("storng", "0x20")]).unwrap_err());
    assert!(error.contains("kernel symbol without a type `storng`"), "{error}");
}
