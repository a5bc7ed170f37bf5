//! Verdicts on objects whose BTF violates the kernel's rules.

use super::*;
use crate::mismatch::MismatchKind;

const SPIN_LOCK: i32 = 93;

/// Returns an object with an INT of two encodings, which every kernel refuses.
fn with_bad_int(section: &str, insns: &[Insn]) -> TestObject {
    let mut m = program(section, insns);
    m.types.int("bad", 4, Builder::SIGNED | Builder::CHAR);
    m
}

/// Returns the reasons of the first program that come from BTF.
fn btf_reasons(verdict: &ObjectVerdict) -> Vec<(Verdict, String)> {
    let reasons = verdict.programs[0].reasons.iter().filter(|reason| reason.kind == ReasonKind::Btf);
    reasons.map(|reason| (reason.verdict, reason.text.clone())).collect()
}

/// Returns the warnings about BTF: the text, and the violation.
fn btf_warnings(verdict: &ObjectVerdict) -> Vec<(&str, &str)> {
    let warnings = verdict.warnings.iter().filter(|warning| warning.kind == MismatchKind::Btf);
    warnings.map(|warning| (&*warning.text, &*warning.local)).collect()
}

#[track_caller]
fn assert_needs_btf(object: TestObject, subject: &str) {
    let reasons = btf_reasons(&judge_object(object));
    let [(Verdict::Refused, text)] = &*reasons else { panic!("{reasons:?}") };
    let expected = format!("{subject} needs BTF, which the kernel refuses: type [");
    assert!(text.starts_with(&expected), "{text}");
    assert!(
        text.ends_with("INT `bad`: the encoding is 0x3, expected one of signed, char and bool"),
        "{text}"
    );
}

#[test]
fn what_needs_btf_is_refused_if_the_kernel_refuses_the_btf() {
    assert_needs_btf(with_bad_int("tc", &guarded(helper(SPIN_LOCK), false)), "helper bpf_spin_lock");
    assert_needs_btf(with_bad_int("freplace/other", &returns(0)), "a program that replaces a function");
    let mut storage = with_bad_int("tc", &returns(0));
    storage.map("m", &[("type", 24), ("key_size", 4), ("value_size", 8), ("map_flags", 1)], None);
    assert_needs_btf(storage, "map m");
}

#[test]
fn an_object_that_needs_no_btf_loads_with_a_warning() {
    for insns in [&returns(0)[..], &guarded(helper(SPIN_LOCK), true)] {
        let verdict = judge_object(with_bad_int("tc", insns));
        assert_eq!(btf_reasons(&verdict), []);
        let warnings = btf_warnings(&verdict);
        let [("the object loads without BTF, which the kernel refuses", violation)] = *warnings else {
            panic!("{warnings:?}")
        };
        assert!(violation.contains("INT `bad`"), "{violation}");
    }
    // A program that the load leaves out needs BTF.
    let mut optional = with_bad_int("tc", &returns(0));
    optional.program("optional", "?tc", &guarded(helper(SPIN_LOCK), false));
    assert_eq!(btf_warnings(&judge_object(optional)).len(), 1);
}

#[test]
fn names_and_types_that_core_relo_replaces_are_reasons_for_libbpf_only() {
    let mut m = program("tc", &guarded(helper(SPIN_LOCK), false));
    let void = m.types.modifier(core_relo::btf::Kind::Const, TypeId::VOID);
    m.types.structure("Option<u32>", 4, &[("a b", m.int, 0), ("none", void, 32)]);
    m.types.var("complex", TypeId::VOID, 0);
    let proto = m.types.func_proto(m.int, &[("", m.int)]);
    m.types.func("a::b", proto, 0);
    let bytes = m.bytes();
    let judge = |loader| judge_for(loader, &bytes, add_kernel, &KernelInputs::default(), None);
    let repaired = judge(LoaderKind::CoreRelo);
    assert_eq!((btf_reasons(&repaired), btf_warnings(&repaired)), (Vec::new(), Vec::new()));
    let sent = judge(LoaderKind::Libbpf);
    let [(Verdict::Refused, text)] = &*btf_reasons(&sent) else { panic!("{sent:?}") };
    assert!(text.starts_with("helper bpf_spin_lock needs BTF, which the kernel refuses: "), "{text}");
    assert!(
        sent.programs[0].reasons.iter().all(|reason| reason.is_repaired == (reason.kind == ReasonKind::Btf))
    );
    assert_eq!(sent.programs[0].for_core_relo(), repaired.programs[0].verdict);
}

#[test]
fn a_rule_of_some_kernels_leaves_the_verdict_open() {
    let object = || {
        let mut m = program("tc", &guarded(helper(SPIN_LOCK), false));
        // Linux 5.11 and earlier refuse a section without variables.
        m.types.datasec(".none", 4, &[]);
        m
    };
    let on = |version: Option<KernelVersion>| {
        let inputs = KernelInputs { version, ..KernelInputs::default() };
        btf_reasons(&judge_on(object(), add_unmarked_kernel, &inputs))
    };
    let way_out = ": only some kernels have the rule: give the kernel's version (--kernel-version)";
    for (version, asks) in [(Some(KernelVersion::release(5, 10)), false), (None, true)] {
        let reasons = on(version);
        let [(Verdict::Unknown, text)] = &*reasons else { panic!("{reasons:?}") };
        assert_eq!(text.ends_with(way_out), asks, "{text}");
    }
    assert_eq!(on(Some(KernelVersion::release(6, 12))), []);
    // The BTF of this one has a mark of Linux 6.4.
    assert_eq!(btf_reasons(&judge_object(object())), []);
}

#[test]
fn a_section_with_an_entry_that_is_no_variable_is_refused_by_the_loader() {
    let mut m = program("tc", &returns(0));
    let int = m.int;
    m.types.datasec(".data", 4, &[(int, 0, 4)]);
    let verdict = judge_object(m);
    let reasons = &verdict.programs[0].reasons;
    assert!(reasons.iter().any(|reason| reason.text.contains("its entry 0 is not a VAR")), "{reasons:?}");
    assert_eq!(verdict.verdict, Verdict::Refused);
}

/// Without the version, the rule of newer kernels is one that the kernel may have.
#[test]
fn a_rule_of_newer_kernels_has_the_version_as_its_evidence() {
    let judge_with = |release: Option<KernelVersion>, types: fn(&mut Builder)| {
        let mut m = program("tc", &guarded(helper(SPIN_LOCK), false));
        let lock = m.types.structure("bpf_spin_lock", 4, &[]);
        m.types.structure("value", 8, &[("first", lock, 0), ("second", lock, 32)]);
        let inputs = KernelInputs { version: release, ..KernelInputs::default() };
        let verdict = judge_on(m, types, &inputs);
        let reasons = verdict.programs[0].reasons.clone();
        let btf = reasons.into_iter().find(|reason| reason.kind == ReasonKind::Btf);
        btf.map(|reason| (reason.verdict, reason.evidence.map(|evidence| evidence.source)))
    };
    let judge = |release| judge_with(release, add_kernel);
    assert_eq!(judge(Some(KernelVersion::release(6, 1))), None);
    let refused = |source| Some((Verdict::Refused, Some(source)));
    assert_eq!(judge(Some(KernelVersion::release(6, 12))), refused(EvidenceSource::Version));
    assert_eq!(judge(None), refused(EvidenceSource::Btf), "a mark of Linux 6.4");
    assert_eq!(judge_with(None, add_unmarked_kernel), Some((Verdict::Unknown, None)));
}
