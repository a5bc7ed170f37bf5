//! Budget files: JSON lines, sorted by kernel, object and program, so that a change of one program changes
//! one line.

use super::stats::ProgramStats;
use crate::{
    error::{BadInput, CommandResult},
    input::limits::MAX_BUDGET_BYTES,
    output::{self, OutputPath},
};
use core_relo_kernels::file;
use core_relo_report::json::JsonLines;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::Path,
};

/// The version of the format. The first line of a file names it.
const VERSION: u32 = 1;

/// The form of the first line.
const EXPECTED_HEADER: &str = r#"expected {"core_relo_budget":1}"#;

/// The form of the other lines.
const EXPECTED_LINE: &str = r#"expected {"kernel":"RELEASE","object":"PATH","program":"NAME","verified_insns":N,"total_states":N,"peak_states":N,"stack_depth":N}, where N is a number or null"#;

/// A program on a kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct ProgramKey {
    /// The kernel's release, as `uname -r` prints it.
    pub(crate) kernel: String,
    /// The object's path as the user gave it.
    pub(crate) object: String,
    pub(crate) program: String,
}

/// The statistics that a budget limits. They depend only on the kernel and the program, not on the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Usage {
    pub(crate) verified_insns: Option<u64>,
    pub(crate) total_states: Option<u64>,
    pub(crate) peak_states: Option<u64>,
    pub(crate) stack_depth: Option<u64>,
}

impl From<&ProgramStats> for Usage {
    fn from(stats: &ProgramStats) -> Self {
        let ProgramStats { verified_insns, total_states, peak_states, stack_depth, .. } = *stats;
        Self { verified_insns, total_states, peak_states, stack_depth }
    }
}

/// The statistics of programs on kernels.
pub(crate) type Budget = BTreeMap<ProgramKey, Usage>;

/// The first line of a budget file.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Header {
    core_relo_budget: u32,
}

/// Another line of a budget file, as it is written.
#[derive(Serialize)]
struct WrittenLine<'b> {
    #[serde(flatten)]
    key: &'b ProgramKey,
    #[serde(flatten)]
    usage: &'b Usage,
}

/// Another line of a budget file, as it is read. `deny_unknown_fields` excludes flattened structs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BudgetLine {
    kernel: String,
    object: String,
    program: String,
    // The function makes the keys mandatory. By default, a missing key of an option is `None`.
    #[serde(deserialize_with = "Option::deserialize")]
    verified_insns: Option<u64>,
    #[serde(deserialize_with = "Option::deserialize")]
    total_states: Option<u64>,
    #[serde(deserialize_with = "Option::deserialize")]
    peak_states: Option<u64>,
    #[serde(deserialize_with = "Option::deserialize")]
    stack_depth: Option<u64>,
}

/// Reads a budget file.
pub(crate) fn read(path: &Path) -> Result<Budget, BadInput> {
    let bytes = file::read(path, MAX_BUDGET_BYTES)?;
    parse(&bytes).map_err(|bad| BadInput::for_path(path, bad.what).help(bad.expected))
}

/// Replaces a budget file atomically.
pub(crate) fn write(path: &OutputPath, budget: &Budget) -> CommandResult {
    let mut lines = JsonLines::default();
    lines.push(&Header { core_relo_budget: VERSION })?;
    for (key, usage) in budget {
        lines.push(&WrittenLine { key, usage })?;
    }
    Ok(output::write(path, lines.as_bytes())?)
}

/// The defect of a budget file.
#[derive(Debug, PartialEq, Eq)]
struct BadBudget {
    what: String,
    expected: &'static str,
}

fn parse(bytes: &[u8]) -> Result<Budget, BadBudget> {
    let mut lines = (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n'));
    let header: Header = match lines.next() {
        Some((number, line)) => parse_line(number, line, EXPECTED_HEADER)?,
        None => return Err(BadBudget { what: "is empty".to_owned(), expected: EXPECTED_HEADER }),
    };
    if header.core_relo_budget != VERSION {
        let what = format!("line 1: a budget of version {}", header.core_relo_budget);
        return Err(BadBudget { what, expected: EXPECTED_HEADER });
    }
    let mut budget = Budget::new();
    for (number, line) in lines.filter(|(_, line)| !line.trim_ascii().is_empty()) {
        let line: BudgetLine = parse_line(number, line, EXPECTED_LINE)?;
        let BudgetLine { kernel, object, program, .. } = line;
        let usage = Usage {
            verified_insns: line.verified_insns,
            total_states: line.total_states,
            peak_states: line.peak_states,
            stack_depth: line.stack_depth,
        };
        match budget.entry(ProgramKey { kernel, object, program }) {
            Entry::Vacant(entry) => entry.insert(usage),
            Entry::Occupied(entry) => {
                let ProgramKey { kernel, object, program } = entry.key();
                let what = format!("line {number}: a second entry for {object}: {program} on {kernel}");
                return Err(BadBudget { what, expected: "expected one line for each program" });
            }
        };
    }
    Ok(budget)
}

fn parse_line<'l, L: Deserialize<'l>>(
    number: usize,
    line: &'l [u8],
    expected: &'static str,
) -> Result<L, BadBudget> {
    serde_json::from_slice(line).map_err(|error| {
        // The message ends with the position in the text that was parsed, which is one line.
        let text = error.to_string();
        let problem = text.rsplit_once(" at line ").map_or(&*text, |(problem, _)| problem);
        BadBudget { what: format!("line {number}, column {}: {problem}", error.column()), expected }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::output::OutputKind;
    use std::fs;

    const LINE: &str = r#"{"kernel":"6.1","object":"a.o","program":"p","verified_insns":9,"total_states":2,"peak_states":null,"stack_depth":0}"#;

    fn parse_with_header(lines: &str) -> Result<Budget, BadBudget> {
        parse(format!("{{\"core_relo_budget\":1}}\n{lines}").as_bytes())
    }

    #[test]
    fn a_written_budget_is_read_again_and_sorted() {
        let key = |kernel: &str, program: &str| ProgramKey {
            kernel: kernel.to_owned(),
            object: "a\n.o".to_owned(),
            program: program.to_owned(),
        };
        let usage = Usage { verified_insns: Some(u64::MAX), ..Usage::default() };
        let budget =
            Budget::from([(key("6.1", "q"), usage), (key("6.1", "p"), usage), (key("5.10", "r"), usage)]);
        let dir = tempfile::tempdir().unwrap();
        let path = OutputPath::new(dir.path().join("budget.jsonl"), OutputKind::Budget);
        write(&path, &budget).unwrap();
        assert_eq!(read(&path).unwrap(), budget);
        let text = fs::read_to_string(&*path).unwrap();
        let programs: Vec<_> = text.lines().skip(1).map(|line| line.contains("\"program\":\"r\"")).collect();
        assert_eq!(programs, [true, false, false]);
    }

    #[test]
    fn defects_have_their_line_and_column() {
        assert_eq!(parse_with_header(LINE).unwrap().len(), 1);
        assert_eq!(parse_with_header("\n").unwrap().len(), 0);
        let what = |lines: &str| parse_with_header(lines).unwrap_err().what;
        assert_eq!(what(&format!("{LINE}\n{LINE}")), "line 3: a second entry for a.o: p on 6.1");
        assert_eq!(
            what(&LINE.replace('9', "-9")),
            "line 2, column 64: invalid value: integer `-9`, expected u64"
        );
        assert!(what(&LINE.replace("stack_depth", "stack")).starts_with("line 2, column "), "unknown key");
        assert!(what(r#"{"kernel":"6.1"}"#).contains("missing field"));
        assert_eq!(what("\n{"), "line 3, column 1: EOF while parsing an object");
        let bad = parse(b"\x7fELF").unwrap_err();
        assert_eq!((&*bad.what, bad.expected), ("line 1, column 1: expected value", EXPECTED_HEADER));
        assert_eq!(parse(b"").unwrap_err().what, "is empty");
        assert_eq!(parse(b"{\"core_relo_budget\":2}").unwrap_err().what, "line 1: a budget of version 2");
    }
}
