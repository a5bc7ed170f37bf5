//! Several refusals in one attempt: one attempt finds all of them, and only those count that the next
//! selection cannot change.

use super::{AttemptError, names, refused};
use crate::{AdaptiveError, AdaptiveLoad, AdaptiveLoader, RejectionStage, Status, variants::VariantTable};
use core::{convert::Infallible, fmt::Write as _};
use core_relo::insn::Insn;
use core_relo_loader::{
    Errno, Loader,
    load::{LoadError, Loaded, LoadedProgram},
    object::Object,
};
use core_relo_object::test_support::{
    SectionKind, SymbolKind, TestObject, exit, insn, kernel, load, returns,
};
use core_relo_test_support::skip;

const GROUPS: usize = 20;

/// Loads variants into the running kernel. Returns `None` after a line `SKIP`, if this process may load
/// nothing.
fn load_on_running_kernel(bytes: &[u8], table: &str) -> Option<Result<AdaptiveLoad<Loaded>, AdaptiveError>> {
    let object = Object::parse(bytes).unwrap();
    let loader = Loader::new(&object);
    let table = VariantTable::parse(table).unwrap();
    let adaptive = AdaptiveLoader::new(&loader, &table).unwrap().judged_by(|_| Err("made up".to_owned()));
    match adaptive.load() {
        Err(AdaptiveError::Load { cause, .. }) if cause.errno() == Some(Errno(libc::EPERM)) => {
            skip!(Root, "nothing can be loaded here: {cause}");
            None
        }
        loaded => Some(loaded),
    }
}

#[test]
fn one_attempt_finds_all_programs_that_the_kernel_refuses() {
    let (mut m, mut table) = (TestObject::new(), "optional extra\n".to_owned());
    for group in 0..GROUPS {
        // The verifier refuses a program that returns nothing.
        m.program(&format!("entry{group}"), "socket", &[exit()]);
        m.program(&format!("exit{group}"), "socket", &[exit()]);
        m.program(&format!("other{group}"), "socket", &returns(0));
        writeln!(table, "group g{group} = entry{group} + exit{group} > other{group}").unwrap();
    }
    m.program("extra", "socket", &[exit()]);
    m.program("main", "socket", &returns(0));
    let Some(loaded) = load_on_running_kernel(&m.bytes(), &table) else { return };
    let AdaptiveLoad { value, report } = loaded.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(report.attempts, 2, "{report}");
    assert_eq!(value.programs().len(), GROUPS + 1);
    for group in &report.groups {
        assert_eq!(group.chosen, Some(1), "{report}");
        // The second program of a refused alternative is not tried.
        let [rejection] = &group.alternatives[0].rejections[..] else { panic!("{report}") };
        assert_eq!(
            (&*rejection.name, rejection.stage),
            (&*group.alternatives[0].programs[0], RejectionStage::Load)
        );
        assert!(rejection.log_line.as_ref().is_some_and(|line| line.contains("!read_ok")), "{report}");
    }
    assert_eq!(report.programs[0].status, Status::Rejected, "{report}");
}

#[test]
fn a_program_without_alternatives_ends_the_load_with_its_own_error() {
    for bad_first in [true, false] {
        let mut m = TestObject::new();
        if bad_first {
            m.program("main", "socket", &[exit()]);
        }
        m.program("fast", "socket", &[exit()]);
        m.program("slow", "socket", &returns(0));
        if !bad_first {
            m.program("main", "socket", &[exit()]);
        }
        let Some(loaded) = load_on_running_kernel(&m.bytes(), "group events = fast > slow") else { return };
        match loaded.unwrap_err() {
            AdaptiveError::Load { cause, report } => {
                assert!(cause.to_string().starts_with("program `main`"), "{cause}");
                assert_eq!(report.attempts, if bad_first { 1 } else { 2 });
            }
            other => panic!("{other:?}"),
        }
    }
}

/// The first program that uses a program array decides which types of programs may use it. In the second
/// attempt, that is another one.
#[test]
fn a_refusal_that_depends_on_a_replaced_program_does_not_count() {
    let mut m = TestObject::new();
    let (_, array) =
        m.map("array", &[("type", 3), ("max_entries", 1), ("key_size", 4), ("value_size", 4)], None);
    // r2 = the array, r3 = 0, bpf_tail_call().
    let tail_call: Vec<Insn> = load(2, 0)
        .into_iter()
        .chain([insn(0xb7, 3, 0, 0, 0), insn(0x85, 0, 0, 0, 12)])
        .chain(returns(0))
        .collect();
    let jumps = |m: &mut TestObject, name: &str, section: &str| {
        let section = m.program(name, section, &tail_call);
        m.refer(section, 0, array, false);
    };
    jumps(&mut m, "first_filter", "socket");
    m.program("second_filter", "socket", &[exit()]);
    jumps(&mut m, "packets", "xdp");
    m.program("third_filter", "socket", &returns(0));
    m.program("fourth", "socket", &returns(0));
    let table =
        "group filters = first_filter + second_filter > third_filter\ngroup packets = packets > fourth";
    let Some(loaded) = load_on_running_kernel(&m.bytes(), table) else { return };
    let AdaptiveLoad { value, report } = loaded.unwrap_or_else(|e| panic!("{e}"));
    let loaded: Vec<_> = value.programs().iter().map(LoadedProgram::name).collect();
    assert_eq!(loaded, ["packets", "third_filter"], "{report}");
}

/// Creates an object with a constant `flag`, which program `reader` reads.
fn sample_with_constant() -> Vec<u8> {
    let mut m = TestObject::new();
    let rodata = m.section(".rodata", SectionKind::ReadOnlyData, &[1]);
    let flag = m.symbol("flag", SymbolKind::Data, rodata, 0, 1);
    for name in ["fast", "medium", "other", "last"] {
        m.program(name, "socket", &returns(0));
    }
    let code: Vec<Insn> = load(1, 0).into_iter().chain(returns(0)).collect();
    let reader = m.program("reader", "socket", &code);
    m.refer(reader, 0, flag, false);
    m.program("silent", "socket", &returns(0));
    let byte = m.types.int("unsigned char", 1, 0);
    let variable = m.types.var("flag", byte, 1);
    m.types.datasec(".rodata", 1, &[(variable, 0, 1)]);
    m.bytes()
}

/// Refuses `fast`, `other` and `reader` in the first attempt. Returns the programs of the second attempt.
fn second_attempt(table: &str) -> Vec<String> {
    let bytes = sample_with_constant();
    let object = Object::parse(&bytes).unwrap();
    let loader = Loader::for_kernel(&object, kernel(|_| {}));
    let table = VariantTable::parse(table).unwrap();
    let adaptive = AdaptiveLoader::new(&loader, &table).unwrap().judged_by(|_| Err("made up".to_owned()));
    let mut attempts = Vec::new();
    let result = adaptive.load_with(|_, plan| {
        attempts.push(names(plan));
        if attempts.len() > 1 {
            return Ok(((), Vec::new()));
        }
        let mut error: AttemptError<Infallible> = refused("fast", libc::EINVAL);
        if let AttemptError::Load(LoadError::Program { others, .. }) = &mut error {
            for name in ["other", "reader"] {
                let AttemptError::Load(LoadError::Program { refused, .. }) = refused(name, libc::EINVAL)
                else {
                    continue;
                };
                others.push(*refused);
            }
        }
        Err(error)
    });
    assert_eq!(result.unwrap().report.attempts, 2);
    attempts.pop().unwrap()
}

#[test]
fn a_refusal_for_a_constant_that_the_next_selection_changes_does_not_count() {
    let groups = "group a = fast > medium\ngroup b = other > last\ngroup c = reader > silent";
    // The constant is 1 in both selections.
    assert_eq!(second_attempt(&format!("{groups}\nloaded flag = group:a")), ["medium", "last", "silent"]);
    // The constant becomes 0, which may let the verifier accept `reader`.
    assert_eq!(
        second_attempt(&format!("{groups}\nloaded flag = program:fast")),
        ["medium", "last", "reader"]
    );
}
