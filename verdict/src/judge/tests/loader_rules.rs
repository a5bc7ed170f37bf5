//! Verdicts on objects that some loaders open and others do not.

use super::{
    map_uses::{Age, add_kernel_of},
    *,
};
use crate::{
    loaders::{LoaderRule, Stance},
    mismatch::MismatchKind,
    test_support::loader_object,
};
use core_relo_object::test_support::SectionKind;

fn judge_object_for(loader: LoaderKind, bytes: &[u8]) -> ObjectVerdict {
    judge_for(loader, bytes, add_kernel, &KernelInputs::default(), None)
}

/// Returns the rules by which a loader refuses an object.
fn refusals(verdict: &ObjectVerdict) -> Vec<LoaderRule> {
    let reasons = verdict.reasons.iter().filter(|reason| reason.kind == ReasonKind::Loader);
    reasons.filter_map(|reason| Some(reason.loader?.rule)).collect()
}

#[test]
fn each_rule_refuses_an_object_for_the_loaders_that_have_it() {
    for rule in LoaderRule::ALL {
        let bytes = loader_object(*rule);
        for loader in LoaderKind::ALL {
            let verdict = judge_object_for(*loader, &bytes);
            assert_eq!(verdict.loader, *loader);
            let is_refused = matches!(rule.stance(*loader), Stance::Refuses(_));
            let needs_input = matches!(rule.stance(*loader), Stance::NeedsInput(_));
            let mut expected: Vec<_> = (is_refused || needs_input).then_some(*rule).into_iter().collect();
            // Rules that come with others.
            let others: &[LoaderRule] = match rule {
                LoaderRule::LegacyMapSize | LoaderRule::LegacyMapTail => &[LoaderRule::LegacyMaps],
                LoaderRule::LegacyMapId => &[LoaderRule::LegacyMaps, LoaderRule::LegacyMapTail],
                LoaderRule::WeakKconfig => &[LoaderRule::KconfigExtern],
                LoaderRule::ArenaVariable => &[LoaderRule::MapType],
                LoaderRule::UnloadedValue => &[LoaderRule::ProgramValues, LoaderRule::SectionName],
                _ => &[],
            };
            let refuses = |other: &&LoaderRule| matches!(other.stance(*loader), Stance::Refuses(_));
            expected.extend(others.iter().filter(refuses).copied());
            expected.sort();
            assert_eq!(refusals(&verdict), expected, "{rule:?}, {loader}");
            assert!(!is_refused || verdict.verdict == Verdict::Refused);
            assert!(!needs_input || verdict.verdict == Verdict::NeedsInput);
            let warnings = verdict.warnings.iter().filter(|warning| warning.kind == MismatchKind::Loader);
            let leaves = |rule: &LoaderRule| matches!(rule.stance(*loader), Stance::LeavesToUser(_));
            let mut expected = [rule].into_iter().chain(others).filter(|rule| leaves(rule)).count();
            if *rule == LoaderRule::OtherPinning && !is_refused && !leaves(rule) {
                expected += 1;
            }
            assert_eq!(warnings.count(), expected, "{rule:?}, {loader}: {:?}", verdict.warnings);
        }
    }
}

/// libbpf maps a section with a variable that is neither static nor hidden. The kernel refuses that where it
/// manages a variable.
#[test]
fn sections_with_locks_are_not_mapped_on_kernels_that_know_the_lock() {
    let judge = |linkage: u32, lock: &str, age: Age| {
        let mut m = TestObject::new();
        let main = m.program("main", "classifier", &[&load(1, 0)[..], &returns(0)].concat());
        let section = m.section(".data.lock", SectionKind::Data, &[0; 8]);
        let int = m.int;
        let lock = m.types.structure(lock, 4, &[("val", int, 0)]);
        let (lock, number) = (m.types.var("lock", lock, linkage), m.types.var("number", int, linkage));
        m.types.datasec(".data.lock", 8, &[(lock, 0, 4), (number, 4, 4)]);
        let kind = core_relo_object::test_support::SymbolKind::Data;
        let symbol = m.symbol("lock", kind, section, 0, 4);
        m.symbol("number", kind, section, 4, 4);
        m.refer(main, 0, symbol, false);
        let verdict =
            judge_with_settings(&m.bytes(), |b| add_kernel_of(age, b), &KernelInputs::default(), None);
        let reason = verdict.reasons.into_iter().find(|reason| reason.kind == ReasonKind::Loader);
        reason.map(|reason| (reason.verdict, reason.text))
    };
    let text = "libbpf may not load the object: map .data.lock: has a bpf_spin_lock, and a variable that user space sees; core-relo and aya accept it: libbpf 1.5 and newer do not load it, and older releases only not by a skeleton";
    assert_eq!(
        judge(1, "bpf_spin_lock", Age::Newest),
        Some((Verdict::Unknown, text.to_owned())),
        "1.1 loads it"
    );
    assert_eq!(judge(1, "bpf_spin_lock", Age::Oldest), None, "the kernel does not look at variables");
    assert_eq!(judge(0, "bpf_spin_lock", Age::Newest), None, "static variables");
    assert_eq!(judge(1, "own_lock", Age::Newest), None);
}

/// The kernel does not know task work, and refuses the section with the lock, in whichever order they are.
#[test]
fn each_mapped_section_counts() {
    let judge = |fields: [(&'static str, u32); 2]| {
        let mut m = TestObject::new();
        m.program("main", "classifier", &returns(0));
        for ((field, bytes), name) in fields.into_iter().zip([".data.a", ".data.b"]) {
            let section = m.section(name, SectionKind::Data, &[0; 8]);
            let field = m.types.structure(field, bytes, &[]);
            let var = m.types.var(name, field, 1);
            m.types.datasec(name, 8, &[(var, 0, bytes)]);
            m.symbol(name, core_relo_object::test_support::SymbolKind::Data, section, 0, u64::from(bytes));
        }
        let types = |b: &mut Builder| {
            b.enumeration("bpf_func_id", 4, &[("BPF_FUNC_user_ringbuf_drain", 209)]);
        };
        let verdict = judge_for(LoaderKind::Cilium, &m.bytes(), types, &KernelInputs::default(), None);
        let reason = verdict.reasons.into_iter().find(|reason| reason.kind == ReasonKind::Loader);
        reason.map(|reason| (reason.verdict, reason.text.contains("has a bpf_spin_lock")))
    };
    let fields = [("bpf_task_work", 8), ("bpf_spin_lock", 4)];
    let [work, lock] = fields;
    assert_eq!(judge(fields), Some((Verdict::Refused, true)));
    assert_eq!(judge([lock, work]), Some((Verdict::Refused, true)));
}

/// A legacy map whose sixth word is not 0: core-relo accepts the section `maps`, and refuses the word.
#[test]
fn the_loaders_that_accept_an_object_accept_all_of_its_parts() {
    let verdict = judge_object_for(LoaderKind::Libbpf, &loader_object(LoaderRule::LegacyMapId));
    let reasons: Vec<_> = verdict.reasons.iter().filter(|reason| reason.kind == ReasonKind::Loader).collect();
    assert!(!reasons.is_empty());
    for reason in reasons {
        assert!(reason.text.ends_with("; cilium/ebpf and aya accept it"), "{}", reason.text);
    }
}

#[test]
fn programs_of_an_object_that_the_loader_refuses_are_judged_all_the_same() {
    let mut m = program("classifier", &guarded(helper(LOOP), false));
    m.program("good", "xdp", &returns(0));
    for (name, offset) in [("first", 0), ("second", 20), ("third", 40)] {
        let words = [1u32, 4, 8, 1, 0].map(|word| Endian::native().u32_bytes(word)).concat();
        let section = m.section("maps", SectionKind::Data, &words.repeat(3));
        m.symbol(name, core_relo_object::test_support::SymbolKind::Data, section, offset, 20);
    }
    let bytes = m.bytes();
    let verdict = judge_object_for(LoaderKind::Libbpf, &bytes);
    let texts = |program: &ProgramVerdict| program.reasons.iter().map(|r| r.text.clone()).collect::<Vec<_>>();
    let refusal = "libbpf does not open the object: map first: defined in section `maps` (and 2 more); core-relo, cilium/ebpf and aya \
                   accept it";
    let helper = "the kernel lacks helper bpf_loop";
    let [main, good] = &verdict.programs[..] else { panic!("{verdict:?}") };
    assert_eq!(texts(main), [refusal, helper]);
    assert_eq!((texts(good), good.verdict), (vec![refusal.to_owned()], Verdict::Refused));
    assert!(main.reasons[0].fix.as_deref().is_some_and(|fix| fix.contains(".maps")));

    let verdict = judge_object_for(LoaderKind::Cilium, &bytes);
    let [main, good] = &verdict.programs[..] else { panic!("{verdict:?}") };
    assert_eq!((texts(main), good.verdict), (vec![helper.to_owned()], Verdict::Loads));
}

#[test]
fn a_map_of_a_subsection_that_no_program_uses_is_ignored() {
    let mut m = program("classifier", &returns(0));
    let words = [1u32, 4, 8, 1, 0].map(|word| Endian::native().u32_bytes(word)).concat();
    let section = m.section("maps/unused", SectionKind::Data, &words);
    m.symbol("unused", core_relo_object::test_support::SymbolKind::Data, section, 0, 20);
    assert_eq!(judge_object_for(LoaderKind::Libbpf, &m.bytes()).verdict, Verdict::Loads);
}

#[test]
fn cilium_loads_optional_programs_by_default() {
    let mut m = program("classifier", &returns(0));
    m.program("optional", "?classifier", &guarded(helper(LOOP), false));
    let bytes = m.bytes();
    let verdict = judge_object_for(LoaderKind::Libbpf, &bytes);
    assert_eq!((verdict.verdict, verdict.programs[1].autoload), (Verdict::Loads, false));
    let verdict = judge_object_for(LoaderKind::Cilium, &bytes);
    assert_eq!((verdict.verdict, verdict.programs[1].autoload), (Verdict::Refused, true));
}

#[test]
fn aya_gives_an_object_without_a_license_that_of_the_gpl() {
    /// `bpf_trace_printk`, which needs a license that is compatible with the GPL.
    const TRACE_PRINTK: i32 = 6;
    let types = |b: &mut Builder| {
        let helpers = [("BPF_FUNC_unspec", 0), ("BPF_FUNC_ktime_get_ns", 5), ("BPF_FUNC_trace_printk", 6)];
        b.enumeration("bpf_func_id", 4, &helpers);
        add_kernel(b);
    };
    let mut m = program("classifier", &guarded(helper(TRACE_PRINTK), false));
    m.license = None;
    let bytes = m.bytes();
    let has_license_reason = |loader| {
        let verdict = judge_for(loader, &bytes, types, &KernelInputs::default(), None);
        verdict.programs[0].reasons.iter().any(|reason| reason.text.contains("license"))
    };
    assert_eq!(
        [LoaderKind::Libbpf, LoaderKind::Cilium, LoaderKind::Aya].map(has_license_reason),
        [true, true, false]
    );
}

/// Loaders differ in the section that they take of several with the name.
#[test]
fn of_two_licenses_aya_takes_the_first_and_others_take_the_last() {
    let licenses = |first: &[u8], last: &'static [u8]| {
        let mut m = program("classifier", &returns(0));
        m.section("license", SectionKind::Data, first);
        m.license = Some(last);
        let bytes = m.bytes();
        assert_eq!(refusals(&judge_object_for(LoaderKind::Libbpf, &bytes)), []);
        let object = Object::parse(&bytes).unwrap();
        let license = |loader: LoaderKind| loader.license(&object).map(<[u8]>::to_vec);
        (
            license(LoaderKind::Libbpf),
            license(LoaderKind::Aya),
            refusals(&judge_object_for(LoaderKind::Aya, &bytes)),
        )
    };
    let (mit, gpl) = (Some(b"MIT".to_vec()), Some(b"GPL".to_vec()));
    assert_eq!(licenses(b"MIT\0", b"GPL\0\0"), (gpl.clone(), mit.clone(), vec![]));
    assert_eq!(licenses(b"MIT\0\0", b"GPL\0"), (gpl, mit, vec![LoaderRule::License]));
}

/// libbpf puts the programs of `values` into the array after the load, and fails with EBADF without one of
/// them.
#[test]
fn libbpf_needs_the_programs_that_arrays_hold() {
    let bytes = loader_object(LoaderRule::UnloadedValue);
    let judge = |loader, settings: Option<&Settings>| {
        let verdict = judge_for(loader, &bytes, add_kernel, &KernelInputs::default(), settings);
        let reason = verdict.programs[0].reasons.first();
        (verdict.verdict, reason.map(|reason| (reason.text.clone(), reason.counts_for_core_relo())))
    };
    let text = "libbpf does not load the object: map events: holds program held, which is not loaded; core-relo and cilium/ebpf accept it";
    assert_eq!(judge(LoaderKind::Libbpf, None), (Verdict::NeedsInput, Some((text.to_owned(), false))));
    let mut settings = Settings::default();
    settings.program_mut("held").autoload = Some(true);
    assert_eq!(judge(LoaderKind::Libbpf, Some(&settings)), (Verdict::Loads, None));
    for loader in [LoaderKind::CoreRelo, LoaderKind::Cilium] {
        assert_eq!(judge(loader, None), (Verdict::Loads, None), "{loader}");
    }
}
