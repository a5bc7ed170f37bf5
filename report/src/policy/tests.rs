//! Patterns, and what is left of a verdict.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use super::{AllowEntry, AllowList, KernelNames, PatternError};
use core_relo_verdict::{
    judge::{ObjectVerdict, ProgramVerdict, Reason, ReasonKind, Verdict},
    kernel::KernelVersion,
};

#[test]
fn options_have_the_keys_of_entries() {
    let entry: AllowEntry = "object=exec*.o,kind=helper".parse().unwrap();
    assert_eq!(entry.to_string(), "--allow: object=exec*.o,kind=helper");
    let error = |text: &str| text.parse::<AllowEntry>().unwrap_err();
    assert_eq!(error("exec.o"), PatternError::NoValue("exec.o".to_owned()));
    assert_eq!(error("kind=helper,kind=kfunc"), PatternError::RepeatedKey("kind"));
    assert_eq!(
        error("progam=x").to_string(),
        "unknown key `progam`, expected `object`, `program`, `kernel` or `kind`; did you mean `program`?"
    );
    assert!("kind=".parse::<AllowEntry>().is_err() && "object=".parse::<AllowEntry>().is_err());
}

/// Creates a verdict on two programs of the default load and an optional one.
fn object() -> ObjectVerdict {
    let reason = |kind, verdict| Reason::new(kind, verdict, "text");
    let helper = || reason(ReasonKind::Helper, Verdict::Refused);
    let question = || reason(ReasonKind::Kconfig, Verdict::Unknown);
    ObjectVerdict::new(vec![
        ProgramVerdict::new("first", vec![helper(), question()]),
        ProgramVerdict::new("second", vec![]),
        ProgramVerdict::new("optional", vec![helper()]).without_autoload(),
    ])
}

/// Returns the verdict that is left of [`object`], and whether each program has accepted reasons. `None` if
/// none is accepted.
fn left(patterns: &[&str]) -> Option<(Verdict, [bool; 3])> {
    let list = AllowList::new(patterns.iter().map(|pattern| pattern.parse().unwrap()));
    let names = KernelNames {
        name: "k/vmlinuz-6.1",
        release: Some("6.1.0-9-cloud"),
        version: Some(KernelVersion::release(6, 1)),
        is_listed: false,
    };
    let acceptance = list.for_kernel(&names).accept("./build/exec.o", &object())?;
    let unused = list.unused().count();
    assert!(unused < patterns.len(), "an entry accepts the reason");
    Some((acceptance.verdict, [0, 1, 2].map(|index| acceptance.program(index).is_some())))
}

#[test]
fn the_rest_of_a_verdict_counts() {
    assert_eq!(left(&[]), None);
    assert_eq!(left(&["program=second"]), None, "a program without reasons");
    assert_eq!(left(&["kind=helper"]), Some((Verdict::Unknown, [true, false, true])));
    assert_eq!(left(&["program=first"]), Some((Verdict::Loads, [true, false, false])));
    assert_eq!(left(&["kind=kconfig"]), Some((Verdict::Refused, [true, false, false])));
    assert_eq!(
        left(&["program=first,kind=helper", "kind=kconfig"]),
        Some((Verdict::Loads, [true, false, false]))
    );
    assert_eq!(left(&["program=opt*"]), Some((Verdict::Refused, [false, false, true])));
    for matching in
        ["object=exec.o", "object=build/*", "kernel=vmlinuz*", "kernel=k/*", "kernel=*-cloud", "kernel=6.1.0"]
    {
        assert_eq!(left(&[matching]).map(|(verdict, _)| verdict), Some(Verdict::Loads), "{matching}");
    }
    for other in ["object=exec", "object=exec.o,kernel=5.*", "program=none", "kernel=vmlinuz"] {
        assert_eq!(left(&[other]), None, "{other}");
    }
}

#[test]
fn an_object_without_programs_is_accepted_by_its_own_reasons() {
    let mut object = ObjectVerdict::default();
    object.verdict = Verdict::Refused;
    object.reasons = vec![
        Reason::new(ReasonKind::MapType, Verdict::Refused, "text"),
        Reason::new(ReasonKind::MapSize, Verdict::NeedsInput, "text"),
    ];
    let names = KernelNames { name: "k", release: None, version: None, is_listed: false };
    let accept = |pattern: &str| {
        let list = AllowList::new([pattern.parse().unwrap()]);
        let acceptance = list.for_kernel(&names).accept("exec.o", &object);
        acceptance.map(|acceptance| acceptance.verdict)
    };
    assert_eq!(accept("object=exec.o"), Some(Verdict::Loads));
    assert_eq!(accept("kind=map_type"), Some(Verdict::NeedsInput));
    assert_eq!(accept("kind=map_size"), Some(Verdict::Refused));
    assert_eq!((accept("kind=helper"), accept("program=*"), accept("kernel=x")), (None, None, None));
}

#[test]
fn objects_for_another_architecture_are_accepted_on_kernels_that_the_user_did_not_name() {
    let text = "the object is compiled for x86_64, the kernel is for aarch64";
    let other = Reason::new(ReasonKind::Architecture, Verdict::Refused, text);
    let helper = Reason::new(ReasonKind::Helper, Verdict::Refused, "a helper");
    let verdict_left = |is_listed, reasons: &[&Reason]| {
        let reasons = reasons.iter().map(|reason| (*reason).clone()).collect();
        let verdict = ObjectVerdict::new(vec![ProgramVerdict::new("p", reasons)]);
        let names = KernelNames { name: "k", release: None, version: None, is_listed };
        let list = AllowList::default();
        assert_eq!(list.unused().count(), 0);
        list.for_kernel(&names).accept("o", &verdict).map(|acceptance| acceptance.verdict)
    };
    assert_eq!(verdict_left(true, &[&other]), Some(Verdict::Loads));
    assert_eq!(verdict_left(true, &[&other, &helper]), Some(Verdict::Refused));
    assert_eq!(verdict_left(false, &[&other]), None);
}
