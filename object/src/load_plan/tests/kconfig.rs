//! Values of the kernel's configuration.

use super::{externs::with_externs, without};
use crate::{
    errno::Errno,
    features::Feature,
    load_plan::{KernelFact, KernelHandle, LoadPlanError, ReadSystem, TargetKernel},
    test_support::{TestObject, insns, kernel, line, words},
};
use alloc::sync::Arc;
use core_relo::{
    btf::{Btf, Builder, Kind},
    insn::Insn,
};
use std::io;

/// Returns a kernel with this configuration.
pub(super) fn kernel_with_config(text: &str) -> TargetKernel {
    let mut kernel = kernel(|_| {});
    kernel.kconfig = Some(text.into());
    kernel.kernel_version = 0x0006_0102;
    kernel
}

#[test]
fn configuration_values_are_sorted_by_alignment_size_and_name() {
    let mut m = TestObject::new();
    let (long, char) = (m.types.int("unsigned long", 8, 0), m.types.int("char", 1, Builder::CHAR));
    let (bool, text) = (m.types.int("_Bool", 1, Builder::BOOL), m.types.array(char, char, 6));
    let tristate = m.types.enumeration("libbpf_tristate", 4, &[("TRI_NO", 0), ("TRI_YES", 1)]);
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
    let plan = with_externs(".kconfig", &externs, m).plan_on(kernel_with_config(config), |_| {}).unwrap();
    let map = &plan.maps()[0];
    assert_eq!((map.name(), map.role().is_frozen(), map.map_flags() & 1 << 7), (".kconfig", true, 1 << 7));
    let code = insns(&plan, "main");
    let offset = |n: usize| usize::try_from(code[n * 2 + 1].imm).unwrap();
    assert!((0..externs.len()).all(|n| code[n * 2].src == 2));
    // Values of 8 bytes, then values of 4 bytes by name, then values with an alignment of 1 by size and name.
    assert_eq!((0..externs.len()).map(offset).collect::<Vec<_>>(), [24, 27, 8, 0, 16, 12, 20, 25, 26]);
    assert_eq!(map.data().len(), 33);
    let word = |n| words(&map.data()[offset(n)..])[0];
    assert_eq!((map.data()[offset(0)], &map.data()[offset(1)..]), (1, &b"ab\0\0\0\0"[..]));
    assert_eq!((word(2), word(4), word(5), word(6)), (7u32.wrapping_neg(), 2, 0, 0x0006_0102));
    assert_eq!(core_relo::Endian::native().u64(map.data(), offset(3)), Some(1 << 32));
    assert_eq!((map.data()[offset(7)], map.data()[offset(8)]), (1, 0));
    // The BTF for the kernel has the same size and offsets.
    let btf = Btf::parse(plan.btf().unwrap()).unwrap();
    let section = btf.find(b".kconfig", Kind::Datasec).unwrap();
    assert_eq!((section.size_or_type(), section.secinfo(0).unwrap().offset), (33, 0));
}

#[test]
fn loads_of_configuration_are_poisoned_if_the_map_is_not_created() {
    let plan = |kernel, autocreate| {
        let m = TestObject::new();
        let int = m.int;
        let object = with_externs(".kconfig", &[("CONFIG_A", int, true)], m);
        object.plan_on(kernel, |loader| loader.map_mut(".kconfig").autocreate = autocreate).unwrap()
    };
    let old = without(kernel_with_config(""), &[Feature::GlobalData]);
    for plan in [plan(kernel_with_config(""), Some(false)), plan(old, None)] {
        let poison = Insn { code: 0x85, imm: 2_001_000_000, ..Insn::default() };
        assert_eq!(insns(&plan, "main")[..2], [poison; 2]);
        assert!(plan.programs()[0].fixups().is_empty());
    }
}

fn config_error(name: &str, config: &str) -> String {
    let m = TestObject::new();
    let int = m.int;
    let object = with_externs(".kconfig", &[(name, int, false)], m);
    line(&object.plan_on(kernel_with_config(config), |_| {}).expect_err("refused"))
}

#[test]
fn missing_or_unfit_configuration_values_are_refused() {
    assert_eq!(
        config_error("CONFIG_X", "CONFIG_Y=1\n"),
        "unresolved extern: CONFIG_X: the kernel's configuration does not set it: declare it \
         __weak to get 0 instead"
    );
    assert_eq!(
        config_error("CONFIG_X", "CONFIG_X=0x100000000\n"),
        "unresolved extern: CONFIG_X: its value does not fit a signed integer of 4 bytes (the value in the \
         configuration is 0x100000000)"
    );
    assert!(config_error("CONFIG_X", "CONFIG_X=y\n").contains("need the type bool"));
    assert!(config_error("LINUX_SOMETHING", "").contains("LINUX_KERNEL_VERSION"));
}

#[test]
fn the_callers_configuration_takes_precedence_over_the_kernels() {
    let m = TestObject::new();
    let int = m.int;
    let object = with_externs(".kconfig", &[("CONFIG_A", int, false), ("CONFIG_B", int, false)], m);
    let plan = object
        .plan_on(kernel_with_config("CONFIG_A=1\nCONFIG_B=2\n"), |loader| {
            loader.kconfig = Some("CONFIG_B=3\n".into());
        })
        .unwrap();
    assert_eq!(words(plan.maps()[0].data()), [1, 3]);
}

#[test]
fn all_missing_externs_are_reported() {
    let m = TestObject::new();
    let int = m.int;
    let object = with_externs(".kconfig", &[("CONFIG_A", int, false), ("CONFIG_B", int, false)], m);
    let error = object.plan_on(kernel_with_config(""), |_| {}).unwrap_err();
    let LoadPlanError::Externs(refused) = &error else { panic!("{error}") };
    assert_eq!(refused.iter().map(|r| &*r.name).collect::<Vec<_>>(), ["CONFIG_A", "CONFIG_B"]);
    assert_eq!(error.to_string().lines().count(), 3);
}

#[test]
fn an_extern_that_depends_on_an_unknown_fact_names_the_fact() {
    let object = || {
        let m = TestObject::new();
        let int = m.int;
        let externs =
            [("CONFIG_A", int, false), ("CONFIG_B", int, true), ("LINUX_KERNEL_VERSION", int, false)];
        with_externs(".kconfig", &externs, m)
    };
    let unknown = || TargetKernel::offline(kernel(|_| {}).btf);
    let error = object().plan_on(unknown(), |_| {}).unwrap_err();
    let LoadPlanError::Externs(refused) = &error else { panic!("{error}") };
    let facts: Vec<_> = refused.iter().map(|r| (&*r.name, r.missing)).collect();
    let expected =
        [("CONFIG_A", Some(KernelFact::Kconfig)), ("LINUX_KERNEL_VERSION", Some(KernelFact::Version))];
    assert_eq!(facts, expected);
    assert!(error.lacks_only_facts());
    assert_eq!(
        error.to_string(),
        "unresolved externs:\n  CONFIG_A: the kernel's configuration is unknown: set `Settings::kconfig` to its lines (a \
         /boot/config-… file)\n  LINUX_KERNEL_VERSION: the kernel's version is unknown: set `TargetKernel::kernel_version`"
    );
    // A configuration that lacks an option is known.
    let mut with_version = unknown();
    with_version.kernel_version = 1;
    let error =
        object().plan_on(with_version, |loader| loader.kconfig = Some("CONFIG_B=1\n".into())).unwrap_err();
    assert!(!error.lacks_only_facts(), "{error}");
    let mut known = unknown();
    (known.kernel_version, known.kconfig) = (1, Some("CONFIG_B=1\n".into()));
    let error = object().plan_on(known.clone(), |_| {}).unwrap_err().to_string();
    assert!(error.contains("CONFIG_A: the kernel's configuration does not set it"), "{error}");
    known.kconfig = Some("CONFIG_A=1\n".into());
    assert!(object().plan_on(known, |_| {}).is_ok());
}

/// A running system without a configuration to read.
#[derive(Debug)]
struct NoConfiguration;

impl ReadSystem for NoConfiguration {
    fn read_kconfig(&self) -> io::Result<Arc<str>> {
        Err(io::Error::other("/proc/config.gz: no such file"))
    }

    fn open_kallsyms(&self) -> io::Result<Box<dyn io::BufRead>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn read_program_btf(&self, _program: &KernelHandle) -> Result<Option<Vec<u8>>, Errno> {
        Ok(None)
    }
}

#[test]
fn weak_values_are_zero_if_the_configuration_cannot_be_read() {
    let object = |is_weak| {
        let m = TestObject::new();
        let int = m.int;
        with_externs(".kconfig", &[("CONFIG_A", int, true), ("CONFIG_B", int, is_weak)], m)
    };
    let kernel =
        || TargetKernel { kconfig: None, system: Some(Arc::new(NoConfiguration)), ..kernel_with_config("") };
    let plan = object(true).plan_on(kernel(), |_| {}).unwrap();
    assert_eq!(words(plan.maps()[0].data()), [0, 0]);
    let plan = object(true).plan_on(kernel(), |loader| loader.kconfig = Some("CONFIG_B=7\n".into())).unwrap();
    assert_eq!(words(plan.maps()[0].data()), [0, 7]);
    let error = object(false).plan_on(kernel(), |_| {}).unwrap_err();
    assert!(error.lacks_only_facts());
    assert_eq!(
        error.to_string(),
        "unresolved extern: CONFIG_B: the kernel's configuration cannot be read: /proc/config.gz: no such file: set \
         `Settings::kconfig` to its lines (a /boot/config-… file)"
    );
}
