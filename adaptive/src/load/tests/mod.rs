//! The choice of variants: verdicts first, then what attempts tell. The attempts are made up, so that no
//! kernel is needed.

use super::skeleton::skeleton_error;
use crate::{
    AdaptiveError, AdaptiveLoad, AdaptiveLoader, AttemptError, Outcome, RejectionStage, StartupReport,
    Status, variants::VariantTable,
};
use core::convert::Infallible;
use core_relo_loader::{
    Errno, Hint, Loader,
    attach::AttachError,
    load::{LoadError, LoadHint, RefusedProgram},
    load_plan::{LoadPlan, Settings},
    object::Object,
    privileges::Capability,
};
use core_relo_object::test_support::{TestObject, kernel, load, returns};
use core_relo_verdict::judge::{ObjectVerdict, Verdict};

mod places;
mod refusals;

const MAP: &[(&str, u32)] = &[("type", 1), ("max_entries", 8), ("key_size", 4), ("value_size", 8)];
const TABLE: &str = "group events = fast > medium > slow\noptional extra";

/// Creates an object with programs `fast` (which uses map `ring`), `medium`, `slow`, `extra` and `main`.
fn sample() -> Vec<u8> {
    let mut m = TestObject::new();
    let (_, ring) = m.map("ring", MAP, None);
    let code: Vec<_> = load(1, 0).into_iter().chain(returns(0)).collect();
    let fast = m.program("fast", "raw_tp/fast", &code);
    m.refer(fast, 0, ring, false);
    for name in ["medium", "slow", "extra", "main"] {
        m.program(name, &format!("raw_tp/{name}"), &returns(0));
    }
    m.bytes()
}

fn refused(program: &str, errno: i32) -> AttemptError {
    let log = "0: R1=ctx()\nR2 !read_ok\nprocessed 1 insns (limit 1000000)".to_owned();
    let refused = RefusedProgram::unexplained(program, "", Errno(errno), log);
    AttemptError::Load(LoadError::Program {
        object: "".into(),
        refused: Box::new(refused),
        others: Vec::new(),
    })
}

fn names(plan: &LoadPlan) -> Vec<String> {
    plan.programs().iter().map(|program| program.name().to_owned()).collect()
}

/// The programs of each attempt, and the result.
type Attempts = (Vec<Vec<String>>, Result<AdaptiveLoad<()>, AdaptiveError<Infallible>>);

/// Loads with made-up attempts and without verdicts. `attempt` gets the names of the planned programs.
fn adapt(table: &str, mut attempt: impl FnMut(&[String]) -> Result<(), AttemptError>) -> Attempts {
    let bytes = sample();
    let object = Object::parse(&bytes).unwrap();
    let loader = Loader::for_kernel(&object, kernel(|_| {})).name("agent");
    let table = VariantTable::parse(table).unwrap();
    let adaptive = AdaptiveLoader::new(&loader, &table).unwrap().judged_by(|_| Err("made up".to_owned()));
    let mut tried = Vec::new();
    let result = adaptive.load_with(|_, plan| {
        let planned = names(plan);
        tried.push(planned.clone());
        attempt(&planned).map(|()| ((), Vec::new()))
    });
    (tried, result)
}

#[test]
fn the_next_alternative_is_tried_after_each_refusal() {
    let (tried, result) = adapt(TABLE, |programs| match &*programs[0] {
        "fast" => Err(refused("fast", libc::EINVAL)),
        "medium" => {
            let cause = AttachError::target("kprobe/x", "no such function");
            let (program, section) = ("medium".into(), "kprobe/x".into());
            Err(AttemptError::Attach(AttachError::Program { program, section, cause: Box::new(cause) }))
        }
        _ => Ok(()),
    });
    assert_eq!(tried, [["fast", "extra", "main"], ["medium", "extra", "main"], ["slow", "extra", "main"]]);
    let report = result.unwrap().report;
    assert_eq!((report.outcome, report.attempts, report.groups[0].chosen), (Outcome::Loaded, 3, Some(2)));
    let why: Vec<_> = ["fast", "slow", "main"].iter().map(|program| report.why_not_loaded(program)).collect();
    assert_eq!(why, [Some("the kernel refused it, see group events".to_owned()), None, None]);
    let stages: Vec<_> =
        report.groups[0].alternatives.iter().map(|a| a.rejections.first().map(|r| r.stage)).collect();
    assert_eq!(stages, [Some(RejectionStage::Load), Some(RejectionStage::Attach), None]);
    assert_eq!(report.groups[0].alternatives[0].rejections[0].log_line.as_deref(), Some("R2 !read_ok"));
    // Only `fast` uses the map.
    assert_eq!(report.maps.iter().map(|map| &*map.name).collect::<Vec<_>>(), ["ring"]);
    let text = report.to_string();
    for line in [
        "agent: loaded\n",
        "  verdict   none, so that the alternatives were tried in their order: made up\n",
        "  group     events: slow loaded, alternative 3 of 3\n",
        "    fast: the kernel refused it: EINVAL: Invalid argument\n      verifier: R2 !read_ok\n",
        "    medium: cannot be attached: kprobe/x: no such function\n",
        "  map       ring: not created, no loaded program uses it\n",
        "  attempts  3\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}

#[test]
fn the_other_programs_of_a_refused_alternative_are_left_out_with_it() {
    let (_, result) = adapt("group events = fast + medium > slow", |programs| match &*programs[0] {
        "fast" => Err(refused("fast", libc::EINVAL)),
        _ => Ok(()),
    });
    let report = result.unwrap().report;
    let why = |program| report.why_not_loaded(program).unwrap();
    assert_eq!(why("fast"), "the kernel refused it, see group events");
    assert_eq!(why("medium"), "left out with fast, see group events");
}

#[test]
fn the_attempts_end_when_the_alternatives_do() {
    let (tried, result) = adapt(TABLE, |programs| Err(refused(&programs[0], libc::EINVAL)));
    assert_eq!(tried.len(), 3);
    let error = result.unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("group `events`: none of its 3 alternatives works on this kernel: EINVAL")
    );
    let report = error.report().unwrap();
    assert_eq!(report.outcome, Outcome::Failed);
    assert!(report.groups[0].alternatives.iter().all(|alternative| alternative.status == Status::Rejected));
    assert!(report.to_string().contains("group     events: none of its alternatives works"));
    assert!(report.to_string().contains("  program   main: not loaded: the load failed at group events\n"));
    // The programs that were tried last: `slow`, `extra` and `main`.
    let needs: Vec<_> =
        report.capabilities.iter().map(|c| (c.capability, c.program_count, c.is_held)).collect();
    assert_eq!(needs, [(Capability::Bpf, 3, None), (Capability::Perfmon, 3, None)]);

    // The group goes first, then the optional program. `main` has no alternative.
    let table = format!("{TABLE}\noptional events");
    let (tried, result) = adapt(&table, |programs| Err(refused(&programs[0], libc::EINVAL)));
    assert_eq!(tried.len(), 5);
    match result.unwrap_err() {
        AdaptiveError::Load { report, .. } => {
            assert_eq!(
                report.programs.iter().map(|p| p.status).collect::<Vec<_>>(),
                [Status::Rejected, Status::Used]
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors_that_do_not_concern_an_alternative_end_the_load() {
    // The verifier ends with `EAGAIN` if a signal is pending.
    for errno in [libc::EMFILE, libc::ENOMEM, libc::EINTR, libc::EAGAIN, libc::ENOSYS] {
        let (tried, result) = adapt(TABLE, |_| Err(refused("fast", errno)));
        assert_eq!(tried.len(), 1);
        assert!(matches!(result, Err(AdaptiveError::Load { .. })));
    }
    // A skeleton names the object once.
    let (_, result) = adapt(TABLE, |_| {
        let (map, request) = (Some("lru".into()), "map `lru`: creating it".into());
        let (errno, hint) = (Errno(libc::ENOMEM), LoadHint::default());
        Err(AttemptError::Load(LoadError::Kernel { object: "lru".into(), request, map, errno, hint }))
    });
    let bytes = sample();
    let object = Object::parse(&bytes).unwrap();
    let loader = Loader::for_kernel(&object, kernel(|_| {})).name("lru");
    let error = skeleton_error(&loader, &result.unwrap_err()).to_string();
    assert!(error.starts_with("lru: map `lru`: creating it: ENOMEM"), "{error}");
    // A program that is not part of the attempt.
    let (tried, result) = adapt(TABLE, |_| Err(refused("slow", libc::EINVAL)));
    assert_eq!((tried.len(), result.is_err()), (1, true));
}

/// Seccomp filters and small kernels have bpf(2) without perf_event_open(2), which only probes need.
#[test]
fn a_system_call_that_attaching_lacks_concerns_the_alternative() {
    let attach = |errno| {
        let cause = AttachError::Kernel {
            label: "kprobe/x".into(),
            action: "attach",
            errno: Errno(errno),
            hint: Hint(""),
        };
        let cause = Box::new(cause);
        AttachError::Program { program: "fast".into(), section: "kprobe/x".into(), cause }
    };
    let (tried, result) = adapt(TABLE, |programs| match &*programs[0] {
        "fast" => Err(AttemptError::Attach(attach(libc::ENOSYS))),
        _ => Ok(()),
    });
    assert_eq!((tried.len(), result.unwrap().report.groups[0].chosen), (2, Some(1)));
    let (tried, result) = adapt(TABLE, |_| Err(AttemptError::Attach(attach(libc::EMFILE))));
    assert_eq!((tried.len(), result.is_err()), (1, true));
}

#[test]
fn a_refused_map_rejects_what_uses_it_or_is_left_out_itself() {
    let refuse_ring = |programs: &[String]| {
        if !programs.contains(&"fast".to_owned()) {
            return Ok(());
        }
        let (object, request, map) = ("".into(), "map `ring`: creating it".into(), Some("ring".into()));
        let (errno, hint) = (Errno(libc::EINVAL), LoadHint::default());
        Err(AttemptError::Load(LoadError::Kernel { object, request, map, errno, hint }))
    };
    let (tried, result) = adapt(TABLE, refuse_ring);
    assert_eq!(tried.len(), 2);
    let report = result.unwrap().report;
    assert_eq!(report.groups[0].alternatives[0].rejections[0].name, "fast");

    let (tried, result) = adapt(&format!("{TABLE}\noptional ring"), |programs| {
        // The second attempt has the same programs, without the map.
        if programs.len() == 3 { refuse_ring(programs) } else { Ok(()) }
    });
    assert_eq!(tried.first(), tried.get(1), "the map is left out first");
    assert!(result.is_err(), "the made-up kernel keeps refusing the map, which is left out only once");
}

#[test]
fn verdicts_decide_before_any_attempt_and_unknown_is_tried() {
    let bytes = sample();
    let object = Object::parse(&bytes).unwrap();
    let loader = Loader::for_kernel(&object, kernel(|_| {}));
    let table = VariantTable::parse(TABLE).unwrap();
    let judge = |settings: &Settings| {
        let mut verdict =
            ObjectVerdict::refused(&object, core_relo_verdict::loaders::LoaderKind::CoreRelo, "made up");
        for program in &mut verdict.programs {
            program.autoload = settings.programs.get(&program.name).and_then(|p| p.autoload).unwrap_or(true);
            program.verdict = match &*program.name {
                "fast" | "extra" => Verdict::Refused,
                "medium" => Verdict::Unknown,
                _ => Verdict::Loads,
            };
            program.reasons.iter_mut().for_each(|reason| reason.verdict = program.verdict);
        }
        verdict.reasons.clear();
        verdict.verdict = Verdict::Unknown;
        Ok(verdict)
    };
    let adapted = AdaptiveLoader::new(&loader, &table).unwrap().judged_by(judge).plan().unwrap();
    assert_eq!(names(&adapted.value), ["medium", "main"]);
    let StartupReport { outcome, attempts, groups, programs, verdict, .. } = &adapted.report;
    assert_eq!((*outcome, *attempts, *verdict), (Outcome::Planned, 1, Some(Verdict::Unknown)));
    assert_eq!(groups[0].alternatives[0].rejections[0].stage, RejectionStage::Verdict);
    assert_eq!(groups[0].alternatives[1].verdict, Some(Verdict::Unknown));
    assert_eq!(programs[0].rejection.as_ref().map(|r| r.stage), Some(RejectionStage::Verdict));
    let text = adapted.report.to_string();
    assert!(
        text.contains("    fast: not tried, the verdict is refused: made up [object: the object file]\n"),
        "{text}"
    );
    assert!(text.contains("    medium: the verdict is unknown: made up"), "{text}");
    // The tables of the verdict crate judge the same object without help: its kernel has no types at all.
    let adapted = AdaptiveLoader::new(&loader, &table).unwrap().plan().unwrap();
    assert_eq!(names(&adapted.value).len(), 3, "{}", adapted.report);
}

#[test]
fn hostile_names_are_escaped_in_text_and_json() {
    let (_, result) = adapt(TABLE, |programs| match &*programs[0] {
        "fast" => Err(refused("fast", libc::EPERM)),
        _ => Ok(()),
    });
    let mut report = result.unwrap().report;
    report.kernel.btf_source = Some("\u{1b}[31m\"a\\b\"\n\u{1}".to_owned());
    assert!(!report.to_string().contains('\u{1b}'));
    let json = serde_json::to_string(&report).unwrap();
    assert!(json.contains(r#""btf_source":"\u001b[31m\"a\\b\"\n\u0001""#), "{json}");
    assert!(json.starts_with(r#"{"object":"agent","outcome":"loaded","kernel":{"release":null,"#), "{json}");
}

#[test]
fn a_capability_in_a_user_namespace_is_that_of_a_token() {
    let (_, result) = adapt(TABLE, |_| Ok(()));
    let mut report = result.unwrap().report;
    for (is_held, expected) in [
        (true, "needs     CAP_BPF for 3 programs; this process has it with a BPF token\n"),
        (
            false,
            "needs     CAP_BPF for 3 programs; this process lacks it: in a user namespace, it counts only with a BPF token\n",
        ),
    ] {
        let capability = &mut report.capabilities[0];
        (capability.is_held, capability.needs_token) = (Some(is_held), true);
        assert!(report.to_string().contains(expected), "{report}");
        assert!(
            serde_json::to_string(&report)
                .unwrap()
                .contains(&format!(r#""held":{is_held},"needs_token":true"#))
        );
    }
}
