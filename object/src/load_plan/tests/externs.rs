//! Externs of objects: the kernel's configuration, symbols, variables and functions.
#![expect(clippy::arithmetic_side_effects, reason = "places within code the tests made themselves")]

use super::without;
use crate::{
    features::Feature,
    index::ModuleIndex,
    load_plan::{Host, LoadPlan, LoadPlanError},
    test_support::{TestObject, call, exit, insns, kernel, line, load, returns, words},
};
use core_relo::{
    TypeId,
    btf::{Btf, Builder, Kind},
    insn::Insn,
};

/// Externs of one section of BTF, each loaded by the program in order: name, type, weak.
fn taking(section: &str, externs: &[(&str, TypeId, bool)], mut m: TestObject) -> TestObject {
    let code: Vec<Insn> = externs.iter().flat_map(|_| load(1, 0)).chain(returns(0)).collect();
    let main = m.program("main", "tc", &code);
    let mut infos = Vec::new();
    for ((name, ty, weak), at) in externs.iter().zip(0u64..) {
        let var = m.types.var(name, *ty, 2);
        infos.push((var, 0, 4));
        let symbol = m.undefined(name, *weak);
        m.refer(main, at * 2, symbol, false);
    }
    m.types.datasec(section, 0, &infos);
    m
}

fn configured(text: &str) -> Host {
    let mut host = kernel(|_| {});
    host.kconfig = Some(text.into());
    host.kernel_version = 0x0006_0102;
    host
}

#[test]
fn configuration_lies_by_alignment_then_size_then_name_and_each_load_finds_its_value() {
    let mut m = TestObject::new();
    let (long, char) = (m.types.int("unsigned long", 8, 0), m.types.int("char", 1, Builder::CHAR));
    let (bool, text) = (m.types.int("_Bool", 1, Builder::BOOL), m.types.array(char, char, 6));
    let tristate = m.types.enumeration("libbpf_tristate", 4, false, &[("TRI_NO", 0), ("TRI_YES", 1)]);
    let int = m.int;
    let externs = [
        ("CONFIG_BOOL", bool, false),
        ("CONFIG_TEXT", text, false),
        ("CONFIG_INT", int, false),
        ("CONFIG_LONG", long, false),
        ("CONFIG_TRI", tristate, false),
        ("CONFIG_NONE", int, true),
        ("LINUX_KERNEL_VERSION", int, false),
        ("LINUX_HAS_BPF_COOKIE", bool, false),
        ("LINUX_UNHEARD_OF", bool, true),
    ];
    let config = "# CONFIG_NONE is not set\nCONFIG_BOOL=y\nCONFIG_TEXT=\"ab\"\nCONFIG_INT=-7\nCONFIG_LONG=0x100000000\nCONFIG_TRI=m\n";
    let plan = taking(".kconfig", &externs, m).plan_on(configured(config), |_| {}).unwrap();
    let map = &plan.maps()[0];
    assert_eq!((map.name(), map.role().is_frozen(), map.map_flags() & 1 << 7), (".kconfig", true, 1 << 7));
    let code = insns(&plan, "main");
    let at = |n: usize| usize::try_from(code[n * 2 + 1].imm).unwrap();
    assert!((0..externs.len()).all(|n| code[n * 2].src == 2));
    // 8 bytes, then those of 4 by name, then those of 1 by size and name.
    assert_eq!((0..externs.len()).map(at).collect::<Vec<_>>(), [24, 27, 8, 0, 16, 12, 20, 25, 26]);
    assert_eq!(map.data().len(), 33);
    let word = |n| words(&map.data()[at(n)..])[0];
    assert_eq!((map.data()[at(0)], &map.data()[at(1)..]), (1, &b"ab\0\0\0\0"[..]));
    assert_eq!((word(2), word(4), word(5), word(6)), (7u32.wrapping_neg(), 2, 0, 0x0006_0102));
    assert_eq!(core_relo::Endian::native().u64(&map.data(), at(3)), Some(1 << 32));
    assert_eq!((map.data()[at(7)], map.data()[at(8)]), (1, 0));
    // The kernel is told where they lie.
    let btf = Btf::parse(plan.btf().unwrap()).unwrap();
    let section = btf.find(b".kconfig", Kind::Datasec).unwrap();
    assert_eq!((section.size_or_type(), section.secinfo(0).unwrap().offset), (33, 0));
}

#[test]
fn configuration_whose_map_is_not_created_is_a_trap() {
    let plan = |host, autocreate| {
        let m = TestObject::new();
        let int = m.int;
        let made = taking(".kconfig", &[("CONFIG_A", int, true)], m);
        made.plan_on(host, |loader| loader.map(".kconfig").autocreate = autocreate).unwrap()
    };
    let old = without(configured(""), &[Feature::GlobalData]);
    for plan in [plan(configured(""), Some(false)), plan(old, None)] {
        let trap = Insn { code: 0x85, imm: 2_001_000_000, ..Insn::default() };
        assert_eq!(insns(&plan, "main")[..2], [trap; 2]);
        assert!(plan.programs()[0].fixups().is_empty());
    }
}

fn config_error(name: &str, config: &str) -> String {
    let m = TestObject::new();
    let int = m.int;
    let made = taking(".kconfig", &[(name, int, false)], m);
    line(&made.plan_on(configured(config), |_| {}).expect_err("refused"))
}

#[test]
fn configuration_that_is_missing_or_does_not_fit_is_named() {
    assert_eq!(
        config_error("CONFIG_X", "CONFIG_Y=1\n"),
        "unresolved extern: CONFIG_X: the kernel's configuration does not set it: declare it \
         __weak to get 0 instead"
    );
    assert_eq!(
        config_error("CONFIG_X", "CONFIG_X=0x100000000\n"),
        "unresolved extern: CONFIG_X: its value 0x100000000 does not fit 4 bytes (the value in the \
         configuration is 0x100000000)"
    );
    assert!(config_error("CONFIG_X", "CONFIG_X=y\n").contains("need the type bool"));
    assert!(config_error("LINUX_SOMETHING", "").contains("LINUX_KERNEL_VERSION"));
}

#[test]
fn a_callers_configuration_comes_before_the_kernels() {
    let m = TestObject::new();
    let int = m.int;
    let made = taking(".kconfig", &[("CONFIG_A", int, false), ("CONFIG_B", int, false)], m);
    let plan = made
        .plan_on(configured("CONFIG_A=1\nCONFIG_B=2\n"), |loader| {
            loader.kconfig = Some("CONFIG_B=3\n".into());
        })
        .unwrap();
    assert_eq!(words(plan.maps()[0].data()), [1, 3]);
}

#[test]
fn several_missing_externs_are_all_named() {
    let m = TestObject::new();
    let int = m.int;
    let made = taking(".kconfig", &[("CONFIG_A", int, false), ("CONFIG_B", int, false)], m);
    let error = made.plan_on(configured(""), |_| {}).unwrap_err();
    let LoadPlanError::Externs(refused) = &error else { panic!("{error}") };
    assert_eq!(refused.iter().map(|r| &*r.name).collect::<Vec<_>>(), ["CONFIG_A", "CONFIG_B"]);
    assert_eq!(error.to_string().lines().count(), 3);
}

/// Addresses of symbols, one of them weak.
fn symbols(text: &str) -> Result<LoadPlan, LoadPlanError> {
    let externs = [("strong", TypeId::VOID, false), ("weak", TypeId::VOID, true)];
    let mut host = kernel(|_| {});
    host.kallsyms = Some(text.into());
    taking(".ksyms", &externs, TestObject::new()).plan_on(host, |_| {})
}

fn addresses(plan: &LoadPlan) -> [u64; 2] {
    let code = insns(plan, "main");
    [0, 2].map(|at| {
        let half = |n: usize| u64::from(code[n].imm.cast_unsigned());
        half(at) | half(at + 1) << 32
    })
}

#[test]
fn symbols_are_addresses_and_a_weak_one_that_is_missing_is_0() {
    let plan = symbols("ffffffff81000010 T strong\nffffffff81000020 d weak.llvm.77\n").unwrap();
    assert_eq!(addresses(&plan), [0xffff_ffff_8100_0010, 0xffff_ffff_8100_0020]);
    let plan =
        symbols("ffffffff81000010 T strong\nffffffff81000010 t strong\nffffffff81000020 T weak.llvm.77\n");
    assert_eq!(addresses(&plan.unwrap()), [0xffff_ffff_8100_0010, 0]);
}

#[test]
fn symbols_that_are_missing_or_there_twice_are_named() {
    let said = line(&symbols("1 T weak\n").unwrap_err());
    assert_eq!(
        said,
        "unresolved extern: strong: no symbol of this name in /proc/kallsyms, which has variables with \
         CONFIG_KALLSYMS_ALL only: declare it __weak to get 0 instead"
    );
    let said = line(&symbols("10 T strong\n20 t strong\n").unwrap_err());
    assert!(said.ends_with("strong: it is ambiguous: symbols of this name are at 0x10 and 0x20"), "{said}");
    assert!(
        line(&symbols("10 T strong\n1 T weak\n2 t weak\n").unwrap_err()).contains("weak: it is ambiguous")
    );
}

#[test]
fn a_variable_is_found_by_its_type() {
    let made = |weak| {
        let mut m = TestObject::new();
        let rq = m.types.structure("rq", 8, &[]);
        taking(".ksyms", &[("runqueues", rq, weak)], m)
    };
    let kernel_with = |structure: &'static str| {
        kernel(move |b| {
            let rq = b.structure(structure, 64, &[]);
            b.var("runqueues", rq, 1);
        })
    };
    let code = insns(&made(false).plan_on(kernel_with("rq"), |_| {}).unwrap(), "main");
    assert_eq!((code[0].src, code[0].imm, code[1].imm), (3, 2, 0));
    let code = insns(&made(true).plan_on(kernel(|_| {}), |_| {}).unwrap(), "main");
    assert_eq!((code[0].src, code[0].imm, code[1].imm), (0, 0, 0));
    let said = made(false).error();
    assert!(said.contains("runqueues: no variable of this name"), "{said}");
    let other = kernel(|b| {
        let int = b.int("int", 4, 1);
        b.var("runqueues", int, 1);
    });
    let said = made(true).error_on(other);
    assert!(said.contains("runqueues: its type in vmlinux differs from the declaration"), "{said}");
}

/// A call of a kernel function that takes an int.
fn calling(name: &str, weak: bool) -> TestObject {
    let mut m = TestObject::new();
    let int = m.int;
    let proto = m.types.func_proto(int, &[("n", int)]);
    let func = m.types.func(name, proto, 2);
    m.types.datasec(".ksyms", 0, &[(func, 0, 0)]);
    let main = m.program("main", "tc", &[call(-1), exit()]);
    let symbol = m.undefined(name, weak);
    m.refer(main, 0, symbol, true);
    m
}

fn kernel_function(b: &mut Builder, params: &[&str]) {
    let int = b.int("int", 4, 1);
    let params: Vec<_> = params.iter().map(|name| (*name, int)).collect();
    let proto = b.func_proto(int, &params);
    b.func("do_it", proto, 1);
}

#[test]
fn a_kernel_function_is_called_by_its_id_whatever_its_flavour() {
    for name in ["do_it", "do_it___old"] {
        let plan = calling(name, false).plan_on(kernel(|b| kernel_function(b, &["m"])), |_| {}).unwrap();
        let code = insns(&plan, "main");
        assert_eq!((code[0].src, code[0].imm, code[0].off), (2, 3, 0));
        assert!(plan.fd_array().is_empty() && plan.modules().is_empty());
        // The kernel takes variables in sections only.
        let btf = Btf::parse(plan.btf().unwrap()).unwrap();
        let section = btf.find(b".ksyms", Kind::Datasec).unwrap();
        let held = btf.ty(section.secinfo(0).unwrap().ty).unwrap();
        assert_eq!((held.kind(), held.name().to_string()), (Kind::Var, "dummy_ksym".to_owned()));
    }
}

#[test]
fn a_weak_function_that_is_missing_is_a_trap_by_its_number_and_a_strong_one_is_named() {
    let trap = |plan: &LoadPlan| insns(plan, "main")[0];
    let plan = calling("do_it", true).plan().unwrap();
    assert_eq!(trap(&plan), Insn { code: 0x85, imm: 2_002_000_000, ..Insn::default() });
    assert_eq!(plan.externs(), ["do_it"]);
    let said = calling("do_it", false).error();
    assert!(said.starts_with("unresolved extern: do_it: no kernel function"), "{said}");
    assert!(said.contains("__weak"), "{said}");
    // A function with other parameters counts as missing.
    let other = || kernel(|b| kernel_function(b, &["a", "b"]));
    assert_eq!(trap(&calling("do_it", true).plan_on(other(), |_| {}).unwrap()).imm, 2_002_000_000);
    let said = calling("do_it", false).error_on(other());
    assert!(said.contains("do_it: its parameters in vmlinux differ from the declaration"), "{said}");
}

#[test]
fn modules_are_looked_at_only_where_the_kernel_knows_their_types() {
    use crate::target::KernelTypes;
    use alloc::sync::Arc;
    let with_module = || {
        let mut base = Builder::new(core_relo::Endian::native());
        base.int("int", 4, 1);
        let base = Arc::new(Btf::parse(base.finish()).unwrap());
        let mut split = Builder::split(&base);
        let proto = split.func_proto(TypeId(1), &[("n", TypeId(1))]);
        split.func("do_it", proto, 1);
        let module = Arc::new(Btf::parse_split(split.finish(), Arc::clone(&base)).unwrap());
        Host::offline(Arc::new(KernelTypes::from_btf(base, [("mod".to_owned(), module)])))
    };
    let plan = calling("do_it", false).plan_on(with_module(), |_| {}).unwrap();
    let code = insns(&plan, "main");
    // Place 0 of the array of descriptors is the kernel's own.
    assert_eq!((code[0].src, code[0].imm, code[0].off), (2, 3, 1));
    assert_eq!((plan.fd_array(), plan.modules()[0].name.as_str()), (&[ModuleIndex(0)][..], "mod"));
    let old = without(with_module(), &[Feature::ModuleBtf]);
    assert!(calling("do_it", false).error_on(old).contains("do_it"));
}

#[test]
fn declarations_that_contradict_themselves_are_named() {
    let defined = {
        let mut m = TestObject::new();
        let main = m.program("main", "tc", &[&load(1, 0)[..], &returns(0)].concat());
        let int = m.int;
        let var = m.types.var("CONFIG_X", int, 1);
        m.types.datasec(".kconfig", 0, &[(var, 0, 4)]);
        let symbol = m.undefined("CONFIG_X", false);
        m.refer(main, 0, symbol, false);
        m.error()
    };
    assert_eq!(
        defined,
        "extern `CONFIG_X`: the object's BTF declares it as a definition, expected an extern"
    );
    let undeclared = {
        let mut m = TestObject::new();
        let main = m.program("main", "tc", &[call(-1), exit()]);
        let symbol = m.undefined("nobody", false);
        m.refer(main, 0, symbol, true);
        m.error()
    };
    assert_eq!(
        undeclared,
        "extern `nobody`: the object's BTF does not describe it in `.ksyms` or `.kconfig`"
    );
    let shape = {
        let mut m = TestObject::new();
        let odd = m.types.structure("odd", 4, &[]);
        taking(".kconfig", &[("CONFIG_X", odd, false)], m).error()
    };
    assert!(
        shape.starts_with(
            "extern `CONFIG_X`: its type is not that of a configuration value, expected bool, char"
        ),
        "{shape}"
    );
}
