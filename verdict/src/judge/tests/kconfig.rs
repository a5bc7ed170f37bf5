//! Values of the kernel's configuration.

use super::*;
use crate::advice::Advisor;

/// An object that reads a missing field on kernels from 6.0 on.
fn reading_on_new_kernels() -> TestObject {
    let [version, high] = load(1, 0);
    let [zero, exit] = returns(0);
    let mut m = TestObject::new();
    let code = [
        version,
        high,
        insn(0x61, 1, 1, 0, 0),
        // if r1 < 6.0 goto +1
        insn(0xa5, 1, 0, 1, 0x06_00_00),
        insn(0xb7, 2, 0, 0, 0),
        zero,
        exit,
    ];
    let main = m.program("main", "tc", &code);
    let int = m.int;
    let var = m.types.var("LINUX_KERNEL_VERSION", int, 2);
    m.types.datasec(".kconfig", 0, &[(var, 0, 4)]);
    let symbol = m.undefined("LINUX_KERNEL_VERSION", false);
    m.refer(main, 0, symbol, false);
    let root = m.types.structure("no_such_struct", 4, &[("field", int, 0)]);
    m.core_relo("tc", &[(4, root, "0:0", 0)]);
    m
}

#[test]
fn a_guard_by_the_version_needs_the_version() {
    let verdict = |version| {
        let inputs = KernelInputs { version, ..KernelInputs::default() };
        judge_on(reading_on_new_kernels(), add_kernel, &inputs)
    };
    let unknown = verdict(None);
    let (worst_verdict, reason) = worst(&unknown);
    let (kind, text) = reason.unwrap();
    assert_eq!((worst_verdict, kind), (Verdict::Unknown, ReasonKind::Relocation));
    assert!(
        text.ends_with(
            "configuration value LINUX_KERNEL_VERSION: give the kernel's version (--kernel-version)"
        ),
        "{text}"
    );
    assert_eq!(worst(&verdict(Some(KernelVersion::release(5, 10)))), (Verdict::Loads, None));
    let refused = verdict(Some(KernelVersion::release(6, 1)));
    let reason = &refused.programs[0].reasons[0];
    assert_eq!((refused.verdict, reason.kind), (Verdict::Refused, ReasonKind::Relocation));
}

#[test]
fn a_guard_by_a_value_of_libbpf_is_known() {
    let [cookie, high] = load(1, 0);
    let [zero, exit] = returns(0);
    let code = [cookie, high, insn(0x71, 1, 1, 0, 0), insn(0x15, 1, 0, 1, 0), helper(174), zero, exit];
    let mut m = TestObject::new();
    let main = m.program("main", "kprobe", &code);
    let bool = m.types.int("_Bool", 1, Builder::BOOL);
    let var = m.types.var("LINUX_HAS_BPF_COOKIE", bool, 2);
    m.types.datasec(".kconfig", 0, &[(var, 0, 1)]);
    let symbol = m.undefined("LINUX_HAS_BPF_COOKIE", false);
    m.refer(main, 0, symbol, false);
    let kernel = |b: &mut Builder| {
        b.enumeration("bpf_func_id", 4, &[("BPF_FUNC_ktime_get_ns", 5), ("BPF_FUNC_strtol", 105)]);
        b.enumeration("bpf_prog_type", 4, &[("BPF_PROG_TYPE_KPROBE", 2)]);
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("bpf_ctx_convert", 4, &[("BPF_PROG_TYPE_KPROBE_prog", int, 0)]);
        b.enumeration("bpf_map_type", 4, &[("BPF_MAP_TYPE_ARRAY", 2)]);
    };
    assert_eq!(worst(&judge_on(m, kernel, &KernelInputs::default())), (Verdict::Loads, None));
}

#[test]
fn missing_configuration_values_refuse_unless_they_are_weak() {
    let judge_config = |is_weak, kconfig: Option<&str>| {
        let mut m = program("tc", &returns(0));
        let int = m.int;
        let var = m.types.var("CONFIG_HZ", int, 2);
        m.types.datasec(".kconfig", 0, &[(var, 0, 4)]);
        m.undefined("CONFIG_HZ", is_weak);
        let inputs = KernelInputs { kconfig: kconfig.map(Into::into), ..KernelInputs::default() };
        judge_on(m, add_kernel, &inputs).verdict
    };
    assert_eq!(judge_config(false, Some("CONFIG_HZ=250\n")), Verdict::Loads);
    assert_eq!(judge_config(false, Some("CONFIG_A=y\n")), Verdict::Refused);
    assert_eq!(judge_config(true, Some("CONFIG_A=y\n")), Verdict::Loads);
    assert_eq!(judge_config(false, None), Verdict::Unknown);
    assert_eq!(judge_config(true, None), Verdict::Loads);
}

/// libbpf refuses a value that does not fit the type of its extern, and so does each kernel with that value.
#[test]
fn values_that_do_not_fit_their_type_have_a_fix() {
    let fix = |value: &str| {
        let mut m = program("tc", &returns(0));
        let short = m.types.int("unsigned short", 2, 0);
        let var = m.types.var("CONFIG_X", short, 2);
        m.types.datasec(".kconfig", 0, &[(var, 0, 2)]);
        m.undefined("CONFIG_X", true);
        let kconfig = Some(format!("CONFIG_X={value}\n").into());
        let inputs = KernelInputs { kconfig, ..KernelInputs::default() };
        let verdict = judge_on(m, add_kernel, &inputs);
        assert_eq!(verdict.verdict, Verdict::Refused, "{value}");
        verdict.reasons.into_iter().filter_map(|reason| reason.fix).collect::<Vec<_>>()
    };
    let declare =
        |ty: &str| vec![format!("declare it with a type that the value fits: `extern {ty} __kconfig;`")];
    assert_eq!(fix("y"), declare("enum libbpf_tristate CONFIG_X"));
    assert_eq!(fix("65536"), declare("long CONFIG_X"));
    assert_eq!(fix("-1"), declare("long CONFIG_X"));
    assert_eq!(fix("0xffff800000000000"), declare("unsigned long CONFIG_X"));
    assert_eq!(fix("18446744073709551615"), declare("unsigned long CONFIG_X"));
    assert_eq!(fix("\"(none)\""), declare("char CONFIG_X[7]"));
    assert_eq!(fix("99999999999999999999"), [""; 0], "no type has the value");
    assert_eq!(fix("yes"), [""; 0], "no type has the value");
}

#[test]
fn without_a_configuration_to_read_a_load_takes_zero_for_weak_values_and_refuses_strong_ones() {
    // if CONFIG_HZ != 0, call a missing helper.
    let judged_with = |is_weak, inputs: KernelInputs| {
        let [value, high] = load(1, 0);
        let [zero, exit] = returns(0);
        let code = [value, high, insn(0x61, 1, 1, 0, 0), insn(0x15, 1, 0, 1, 0), helper(LOOP), zero, exit];
        let mut m = TestObject::new();
        let main = m.program("main", "tc", &code);
        let int = m.int;
        let var = m.types.var("CONFIG_HZ", int, 2);
        m.types.datasec(".kconfig", 0, &[(var, 0, 4)]);
        let symbol = m.undefined("CONFIG_HZ", is_weak);
        m.refer(main, 0, symbol, false);
        judge_on(m, add_kernel, &inputs)
    };
    let unreadable = || {
        let kconfig_error = Some("/proc/config.gz: no such file".into());
        KernelInputs { kconfig_error, ..KernelInputs::default() }
    };
    let judged = |is_weak, kconfig: Option<&str>| {
        judged_with(is_weak, KernelInputs { kconfig: kconfig.map(Into::into), ..unreadable() })
    };
    assert_eq!(worst(&judged(true, None)), (Verdict::Loads, None));
    let strong = judged(false, None);
    let absent = "configuration value CONFIG_HZ is unknown: the kernel's configuration cannot be read";
    assert_eq!(worst(&strong), (Verdict::Refused, Some((ReasonKind::Kconfig, absent))));
    let evidence = strong.programs[0].reasons[0].evidence.as_ref().unwrap();
    assert_eq!(evidence.text, "the configuration cannot be read: /proc/config.gz: no such file");
    // Lines that take precedence answer for the options that they set and for no others.
    let overridden = |text: &str| {
        let kconfig_overrides = Some(text.into());
        judged_with(false, KernelInputs { kconfig_overrides, ..unreadable() })
    };
    let other = overridden("CONFIG_NET=y\n");
    assert_eq!(worst(&other), (Verdict::Refused, Some((ReasonKind::Kconfig, absent))));
    let set = overridden("CONFIG_HZ=0\n");
    assert_eq!(worst(&set), (Verdict::Loads, None));
    // A configuration that the caller gives counts.
    let text = "the kernel lacks helper bpf_loop";
    let given = judged(true, Some("CONFIG_HZ=250\n"));
    assert_eq!(worst(&given), (Verdict::Refused, Some((ReasonKind::Helper, text))));
}

#[test]
fn values_that_libbpf_does_not_know_refuse() {
    let judge_value = |name: &str, is_weak| {
        let mut m = program("tc", &returns(0));
        let int = m.int;
        let var = m.types.var(name, int, 2);
        m.types.datasec(".kconfig", 0, &[(var, 0, 4)]);
        m.undefined(name, is_weak);
        judge_on(m, add_kernel, &KernelInputs::default()).verdict
    };
    assert_eq!(judge_value("LINUX_HAS_SYSCALL_WRAPPER", false), Verdict::Loads);
    assert_eq!(judge_value("LINUX_NO_SUCH_VALUE", true), Verdict::Loads);
    assert_eq!(judge_value("LINUX_NO_SUCH_VALUE", false), Verdict::Refused);
    assert_eq!(judge_value("OTHER", true), Verdict::Refused);
}
#[test]
fn configuration_values_are_those_of_libbpf() {
    // if CONFIG_NET == TRI_MODULE, call a missing helper.
    let judge_net = |kconfig: &str| {
        let [value, high] = load(1, 0);
        let [zero, exit] = returns(0);
        let code = [value, high, insn(0x61, 1, 1, 0, 0), insn(0x55, 1, 0, 1, 2), helper(LOOP), zero, exit];
        let mut m = TestObject::new();
        let main = m.program("main", "tc", &code);
        let tristate = m.types.enumeration("libbpf_tristate", 4, &[("TRI_NO", 0), ("TRI_YES", 1)]);
        let var = m.types.var("CONFIG_NET", tristate, 2);
        m.types.datasec(".kconfig", 0, &[(var, 0, 4)]);
        let symbol = m.undefined("CONFIG_NET", true);
        m.refer(main, 0, symbol, false);
        judge_on(m, add_kernel, &KernelInputs { kconfig: Some(kconfig.into()), ..KernelInputs::default() })
    };
    assert_eq!(worst(&judge_net("CONFIG_NET=y\n")), (Verdict::Loads, None));
    let text = "the kernel lacks helper bpf_loop";
    assert_eq!(worst(&judge_net("CONFIG_NET=m\n")), (Verdict::Refused, Some((ReasonKind::Helper, text))));
    let unfit = judge_net("CONFIG_NET=250\n");
    let text = "configuration value CONFIG_NET: its value is a number, but its type is not an integer";
    assert_eq!(worst(&unfit).0, Verdict::Refused);
    assert!(unfit.programs[0].reasons.iter().any(|reason| reason.text == text), "{unfit:?}");
}

/// Returns the code of the fixes for a strong extern, on a running kernel whose configuration cannot be read.
fn fixes_without_a_configuration(name: &str, overrides: &str) -> Vec<Option<String>> {
    let mut m = program("tc", &returns(0));
    let int = m.int;
    let var = m.types.var(name, int, 2);
    m.types.datasec(".kconfig", 0, &[(var, 0, 4)]);
    m.undefined(name, false);
    let bytes = m.bytes();
    let object = Object::parse(&bytes).unwrap();
    let relocs = object.relocs().unwrap();
    let mut table = NeedTable::default();
    let needs = ObjectNeeds::collect(&object, &relocs, &mut table).unwrap();
    let mut b = Builder::new(Endian::native());
    add_kernel(&mut b);
    let target = Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()));
    let inputs = KernelInputs {
        kconfig_error: Some("/proc/config.gz: no such file".into()),
        kconfig_overrides: Some(overrides.into()),
        ..KernelInputs::default()
    };
    let answers = KernelAnswers::new(&table, &target, &inputs);
    let plan = Plan::new(&relocs, &target);
    let verdict = judge(&needs, &plan, &answers).unwrap();
    let reason = &verdict.programs[0].reasons[0];
    let fixes = Advisor::new(&needs, &plan, &answers).fixes(&needs.programs[0], &verdict.programs[0], reason);
    fixes.into_iter().map(|fix| fix.code).collect()
}

#[test]
fn a_configuration_is_advised_for_options_that_cannot_be_read() {
    let kconfig = || Some("--kconfig FILE".to_owned());
    assert_eq!(fixes_without_a_configuration("CONFIG_HZ", ""), [kconfig(), None]);
    // No configuration has the value, or the caller gave it.
    assert_eq!(fixes_without_a_configuration("LINUX_NO_SUCH_VALUE", ""), [None]);
    assert!(!fixes_without_a_configuration("CONFIG_HZ", "CONFIG_HZ=many\n").contains(&kconfig()));
}

/// Every kernel refuses the store, as one to `.rodata`.
#[test]
fn programs_do_not_write_to_configuration_values() {
    let verdict_on = |access: Insn| {
        let mut m = TestObject::new();
        let main = m.program("main", "tc", &[&load(1, 0)[..], &[access], &returns(0)].concat());
        let int = m.int;
        let var = m.types.var("LINUX_KERNEL_VERSION", int, 2);
        m.types.datasec(".kconfig", 0, &[(var, 0, 4)]);
        let symbol = m.undefined("LINUX_KERNEL_VERSION", false);
        m.refer(main, 0, symbol, false);
        let inputs = KernelInputs { version: Some(KernelVersion::release(6, 1)), ..KernelInputs::default() };
        let verdict = judge_on(m, add_kernel, &inputs);
        let reason = verdict.programs[0].reasons.first();
        (verdict.verdict, reason.map(|reason| (reason.kind, reason.text.clone())))
    };
    let text = "map .kconfig: the program writes to the map, which programs only read".to_owned();
    // *(u32 *)(r1 + 0) = 4, and r2 = *(u32 *)(r1 + 0).
    let store = verdict_on(insn(0x62, 1, 0, 0, 4));
    assert_eq!(store, (Verdict::Refused, Some((ReasonKind::MapFlag, text))));
    assert_eq!(verdict_on(insn(0x61, 2, 1, 0, 0)), (Verdict::Loads, None));
}
