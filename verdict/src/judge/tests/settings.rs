//! Verdicts on loads with settings.

use super::{externs::calling_kfunc, *};

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
