//! `check` ends on programs whose paths cannot all be followed, and leaves the verdict open.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod common;

use common::run;
use core_relo_tests::growth::{Command, dimensions};

/// The programs, with a count that gives about a million instructions or the most functions, and the kind of
/// the reason.
const PROGRAMS: [(&str, usize, &str); 4] = [
    ("branches that double the paths", 300_000, "helper"),
    ("loops that are entered in the middle", 160_000, "helper"),
    ("loops that each contain the next", 200_000, "helper"),
    ("calls in two directions of a branch", 250, "helper"),
];

#[test]
fn check_ends_on_programs_of_a_million_instructions() {
    let dir = tempfile::tempdir().unwrap();
    for (name, count, kind) in PROGRAMS {
        let all = dimensions();
        let dimension = all.iter().find(|dimension| dimension.name == name).unwrap();
        let input = (dimension.build)(count).write(&dir.path().join(name)).unwrap();
        let run = run(Command::Check.args(&input, true));
        let lines = run.lines();
        let program = &lines[0]["programs"][0];
        let reason = &program["reasons"][0];
        assert_eq!(run.exit, 2, "{name}: {program} {}", run.err);
        assert_eq!(program["verdict"], "unknown", "{name}: {program}");
        assert!(reason["kind"] == kind || reason["kind"] == "budget", "{name}: {program}");
    }
}
