//! Verdicts on loads with settings.

use super::{externs::calling_kfunc, *};
use core_relo_object::{
    load_plan::{AttachTarget, inner_map_name},
    object::{AttachType, MapType, ProgramType},
};

/// Returns the worst verdict on the first program with settings, and its text and fix.
fn judged(bytes: &[u8], set: impl FnOnce(&mut Settings)) -> (Verdict, Option<String>, Option<String>) {
    let mut settings = Settings::default();
    set(&mut settings);
    let verdict = judge_with_settings(bytes, add_kernel, &KernelInputs::default(), Some(&settings));
    let program = &verdict.programs[0];
    let reason = program.reasons.first();
    (program.verdict, reason.map(|reason| reason.text.clone()), reason.and_then(|reason| reason.fix.clone()))
}

/// The verdict is that on a program whose section has the name of the settings: its type, its target, and the
/// helpers that it may call.
#[test]
fn a_program_is_judged_by_the_section_of_the_settings() {
    let bytes = program("classifier/ingress", &guarded(helper(105), false)).bytes();
    let (verdict, text, fix) = judged(&bytes, |_| {});
    assert_eq!(verdict, Verdict::NeedsInput);
    assert_eq!(text.unwrap(), "the section's name implies no program type, which user space must set");
    assert!(fix.unwrap().starts_with("--program-type main=tc, the meaning of the section's name to aya, "));
    let with_section = |section: &str, helper_number: i32| {
        let bytes = program("classifier/ingress", &guarded(helper(helper_number), false)).bytes();
        let (verdict, text, _) = judged(&bytes, |settings| {
            settings.program_mut("main").section = Some(section.to_owned());
        });
        (verdict, text)
    };
    // Only programs of control groups call `bpf_strtol`.
    let refused = "programs of type BPF_PROG_TYPE_SCHED_CLS may not call helper bpf_strtol";
    assert_eq!(with_section("tc", 105), (Verdict::Refused, Some(refused.to_owned())));
    let (verdict, text) = with_section("fentry/nowhere", 5);
    assert_eq!((verdict, text.as_deref()), (Verdict::Refused, Some("the kernel lacks function `nowhere`")));
    assert_eq!(with_section("fentry", 5).0, Verdict::NeedsInput);
    assert_eq!(with_section("freplace", 5).0, Verdict::NeedsInput);
    let (verdict, text) = with_section("cgroup/sysctl", 105);
    let lacks = "the kernel lacks program type BPF_PROG_TYPE_CGROUP_SYSCTL";
    assert_eq!((verdict, text.as_deref()), (Verdict::Refused, Some(lacks)));
}

#[test]
fn a_program_is_judged_by_the_type_of_the_settings() {
    let bytes = program("mine", &returns(0)).bytes();
    let loads = |program_type, attach_type, target: Option<&str>| {
        let (verdict, text, _) = judged(&bytes, |settings| {
            let program = settings.program_mut("main");
            (program.program_type, program.attach_type) = (Some(program_type), attach_type);
            program.attach_to = target.map(|target| AttachTarget::Kernel(target.to_owned()));
        });
        (verdict, text)
    };
    assert_eq!(loads(ProgramType::SchedCls, None, None), (Verdict::Loads, None));
    assert_eq!(loads(ProgramType::Netfilter, Some(AttachType::Netfilter), None).0, Verdict::Refused);
    let fentry = |target| loads(ProgramType::Tracing, Some(AttachType::TraceFentry), target);
    assert_eq!(fentry(None).0, Verdict::NeedsInput);
    assert_eq!(fentry(Some("vfs_read")), (Verdict::Loads, None));
    let lacks = "the kernel lacks function `nowhere`";
    assert_eq!(fentry(Some("nowhere")), (Verdict::Refused, Some(lacks.to_owned())));
}

#[test]
fn an_attach_type_of_the_settings_keeps_the_target_of_the_section() {
    let bytes = program("fentry/vfs_read", &returns(0)).bytes();
    let (verdict, text, _) = judged(&bytes, |settings| {
        settings.program_mut("main").attach_type = Some(AttachType::TraceFexit);
    });
    assert_eq!((verdict, text), (Verdict::Loads, None));
}

/// An object with a map of maps that has no definition of its inner maps.
fn with_outer_map() -> Vec<u8> {
    let mut m = program("tc", &returns(0));
    m.map("outer", &[("type", 13), ("key_size", 4), ("value_size", 4), ("max_entries", 1)], None);
    m.bytes()
}

#[test]
fn the_settings_of_the_inner_map_are_its_definition() {
    let bytes = with_outer_map();
    let inner = inner_map_name("outer");
    let judged = |set: &dyn Fn(&mut Settings)| {
        let mut settings = Settings::default();
        set(&mut settings);
        let verdict = judge_with_settings(&bytes, add_kernel, &KernelInputs::default(), Some(&settings));
        let reason = verdict.programs[0].reasons.first().cloned();
        (verdict.verdict, reason.map(|reason| (reason.text, reason.fix)))
    };
    let (verdict, reason) = judged(&|_| {});
    assert_eq!(verdict, Verdict::NeedsInput);
    let (text, fix) = reason.unwrap();
    assert_eq!(text, "map outer: no definition of its inner maps, which user space must set");
    assert!(fix.is_some_and(|fix| fix.starts_with("--inner-map outer=TYPE:KEY:VALUE:ENTRIES, or ")));
    // Sizes alone make no definition.
    assert_eq!(judged(&|settings| settings.map_mut(&inner).key_size = Some(4)).0, Verdict::NeedsInput);
    let hash = |settings: &mut Settings| {
        let inner = settings.map_mut(&inner);
        (inner.map_type, inner.key_size) = (Some(MapType::Hash.number()), Some(4));
        inner.value_size = Some(8);
    };
    let (verdict, reason) = judged(&hash);
    assert_eq!(verdict, Verdict::NeedsInput);
    let (text, fix) = reason.unwrap();
    assert_eq!(text, "map outer: inner map: max_entries is 0, which user space must set");
    assert!(fix.is_some_and(|fix| fix.starts_with("--max-entries outer.inner=N, or ")));
    let complete = judged(&|settings| {
        hash(settings);
        settings.map_mut(&inner).max_entries = Some(1);
    });
    assert_eq!(complete, (Verdict::Loads, None));
    let ring = judged(&|settings| {
        let inner = settings.map_mut(&inner);
        (inner.map_type, inner.max_entries) = (Some(MapType::Ringbuf.number()), Some(4096));
    });
    assert_eq!(ring.0, Verdict::Refused, "{ring:?}");
    assert_eq!(ring.1.unwrap().0, "map outer: the kernel lacks map type BPF_MAP_TYPE_RINGBUF");
}

/// Alternatives of variants that are not chosen are such programs: their maps are not created.
#[test]
fn a_map_that_is_not_created_refuses_the_programs_of_the_load_only() {
    let mut m = TestObject::new();
    let (_, map) = m.map("m", &[("type", 2), ("key_size", 4), ("value_size", 8), ("max_entries", 1)], None);
    let [address, high] = load(1, 0);
    let [zero, exit] = returns(0);
    let main = m.program("main", "tc", &[address, high, zero, exit]);
    m.refer(main, 0, map, false);
    let bytes = m.bytes();
    for (is_loaded, expected) in [(true, Verdict::Refused), (false, Verdict::Loads)] {
        let mut settings = Settings::default();
        settings.map_mut("m").autocreate = Some(false);
        settings.program_mut("main").autoload = Some(is_loaded);
        let verdict = judge_with_settings(&bytes, add_kernel, &KernelInputs::default(), Some(&settings));
        assert_eq!(worst(&verdict).0, expected, "{verdict:?}");
    }
}

#[test]
fn a_missing_strong_kfunc_refuses_its_users_only_if_the_load_allows_unused_externs() {
    let mut m = calling_kfunc("no_such_kfunc", false);
    m.program("other", "xdp", &returns(0));
    let bytes = m.bytes();
    let verdicts = |allows: bool| {
        let mut settings = Settings::default();
        settings.allows_unused_externs = allows;
        let verdict = judge_with_settings(&bytes, add_kernel, &KernelInputs::default(), Some(&settings));
        assert_eq!(worst(&verdict).1.map(|(_, text)| text), Some("the kernel lacks kfunc no_such_kfunc"));
        verdict.programs.iter().map(|program| program.verdict).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(false), [Verdict::Refused, Verdict::Refused]);
    assert_eq!(verdicts(true), [Verdict::Refused, Verdict::Loads]);
}

#[test]
fn a_missing_strong_configuration_value_refuses_its_users_only_if_the_load_allows_unused_externs() {
    let mut m = TestObject::new();
    let [value, high] = load(1, 0);
    let [zero, exit] = returns(0);
    let main = m.program("main", "tc", &[value, high, zero, exit]);
    let int = m.int;
    let var = m.types.var("CONFIG_X", int, 2);
    m.types.datasec(".kconfig", 0, &[(var, 0, 4)]);
    let symbol = m.undefined("CONFIG_X", false);
    m.refer(main, 0, symbol, false);
    m.program("other", "xdp", &returns(0));
    let bytes = m.bytes();
    let verdicts = |allows: bool, kconfig: Option<&str>| {
        let mut settings = Settings::default();
        settings.allows_unused_externs = allows;
        let inputs = KernelInputs { kconfig: kconfig.map(Into::into), ..KernelInputs::default() };
        let verdict = judge_with_settings(&bytes, add_kernel, &inputs, Some(&settings));
        verdict.programs.iter().map(|program| program.verdict).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(false, Some("CONFIG_Y=y\n")), [Verdict::Refused, Verdict::Refused]);
    assert_eq!(verdicts(true, Some("CONFIG_Y=y\n")), [Verdict::Refused, Verdict::Loads]);
    assert_eq!(verdicts(true, None), [Verdict::Unknown, Verdict::Loads]);
}

/// Protects the rules of all kernels for a data section that a load makes shorter. The address counts in dead
/// code, too.
#[test]
fn data_behind_the_size_of_the_settings_is_refused() {
    let judge_size = |offset: i32, is_dead: bool, size: u32| {
        let mut m = TestObject::new();
        let jump = insn(0x15, 0, 0, 3, 0);
        // r1 = &data[offset]; r0 = *(u32 *)(r1 + 0).
        let mut insns = load(1, 0);
        insns[0].imm = offset;
        let before = if is_dead { &[insn(0xb7, 0, 0, 0, 0), jump][..] } else { &[][..] };
        let code = [before, &insns[..], &[insn(0x61, 0, 1, 0, 0)], &returns(0)].concat();
        let id = m.program("main", "tc", &code);
        let data = m.section(".data", SectionKind::Data, &[0; 8]);
        let symbol = m.section_symbol(data);
        m.refer(id, u64::try_from(before.len()).unwrap(), symbol, false);
        judged(&m.bytes(), |settings| settings.map_mut(".data").value_size = Some(size))
    };
    let text = |what: &str| Some(format!("map .data: the program uses data {what}"));
    let (verdict, found, fix) = judge_size(4, false, 4);
    assert_eq!((verdict, found), (Verdict::Refused, text("at offset 4, and the size that is set is 4")));
    assert!(fix.unwrap().starts_with("--value-size .data=N"));
    assert_eq!(judge_size(4, true, 4).0, Verdict::Refused);
    let (verdict, found, _) = judge_size(4, false, 7);
    assert_eq!((verdict, found), (Verdict::Refused, text("up to offset 8, and the size that is set is 7")));
    assert_eq!(judge_size(4, true, 7).0, Verdict::Loads, "no kernel looks at the access");
    assert_eq!(judge_size(0, false, 4).0, Verdict::Loads);
    assert_eq!(judge_size(4, false, 8).0, Verdict::Loads);
}
