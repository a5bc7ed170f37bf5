//! JUnit XML: a test suite per kernel, a test case per program.
//!
//! An accepted verdict is a skipped test. Any other program that the kernel refuses is a failure, and a pair
//! of object and kernel that could not be judged is an error. An unknown verdict and missing input are
//! skipped tests: the object and the kernel are not known to be wrong. Programs that are not loaded by
//! default never fail, because the default load succeeds without them: they are skipped.
//!
//! On a kernel that was booted, the real load decides on the test, as it decides on the exit status.

use crate::{
    agreement::LoadOutcome,
    escape::{Markup, MarkupLines},
    findings::WHOLE_OBJECT,
    labels::full_version,
    matrix::{Kernel, Matrix},
    model::UnjudgedInput,
    model::{Outcome, RealLoad, Row},
    policy::ProgramAcceptance,
};
use core_relo_verdict::{
    judge::{ObjectVerdict, ProgramVerdict, Reason, Verdict},
    mismatch::Mismatch,
};
use std::io::{self, Write};

/// The words before the result of a test that is not new.
const KNOWN: &str = "not new since the baseline: ";

/// A test case, with its markup.
struct Case {
    status: Status,
    markup: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Passed,
    Skipped,
    Failed,
    Error,
}

/// A test suite.
struct Suite {
    name: String,
    properties: Vec<(&'static str, String)>,
    cases: Vec<Case>,
}

/// Writes the test suites.
pub(super) fn write(matrix: &Matrix<'_>, out: &mut dyn Write) -> io::Result<()> {
    // The counts come first in the file. The suites are created twice, so that only one is in memory.
    let counts = suites(matrix).fold(Counts::default(), |sum, suite| sum.plus(Counts::new(&suite.cases)));
    write!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"core-relo check\"")?;
    counts.write(out)?;
    writeln!(out, ">")?;
    for suite in suites(matrix) {
        write!(out, "<testsuite name=\"{}\"", Markup(&suite.name))?;
        Counts::new(&suite.cases).write(out)?;
        writeln!(out, ">")?;
        if !suite.properties.is_empty() {
            write!(out, "<properties>")?;
            for (name, value) in &suite.properties {
                write!(out, "<property name=\"{name}\" value=\"{}\"/>", Markup(value))?;
            }
            writeln!(out, "</properties>")?;
        }
        for case in &suite.cases {
            out.write_all(case.markup.as_bytes())?;
        }
        writeln!(out, "</testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

/// Returns the suites of all kernels, and that of the files that cannot be read.
fn suites<'m>(matrix: &'m Matrix<'_>) -> impl Iterator<Item = Suite> + 'm {
    let kernels = matrix.kernels.iter().enumerate();
    let unread = || {
        let cases = matrix.unread.iter().map(|bad| error_case(&bad.file, "(file)", bad)).collect();
        Suite { name: "input files".to_owned(), properties: Vec::new(), cases }
    };
    let unread = (!matrix.unread.is_empty()).then(unread);
    kernels.map(|(index, kernel)| kernel_suite(matrix, index, kernel)).chain(unread)
}

/// The numbers of test cases.
#[derive(Clone, Copy, Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Counts {
    fn new(cases: &[Case]) -> Self {
        let count = |status| cases.iter().filter(|case| case.status == status).count();
        Self {
            tests: cases.len(),
            failures: count(Status::Failed),
            errors: count(Status::Error),
            skipped: count(Status::Skipped),
        }
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            tests: self.tests + other.tests,
            failures: self.failures + other.failures,
            errors: self.errors + other.errors,
            skipped: self.skipped + other.skipped,
        }
    }

    fn write(self, out: &mut dyn Write) -> io::Result<()> {
        let Self { tests, failures, errors, skipped } = self;
        write!(
            out,
            " tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"0\""
        )
    }
}

fn kernel_suite(matrix: &Matrix<'_>, index: usize, kernel: &Kernel<'_>) -> Suite {
    let mut properties = Vec::new();
    if let Some(architecture) = kernel.architecture {
        properties.push(("architecture", architecture.to_owned()));
    }
    if let Some(package) = kernel.distribution {
        properties.push(("distribution", package.distribution.clone()));
        properties.push(("distribution_release", package.release.clone()));
        properties.push(("package_version", package.package_version.clone()));
    }
    properties.extend(kernel.version.map(|version| ("version", full_version(version))));
    let rows = matrix.objects.iter().filter_map(|object| object.cells.get(index).copied().flatten());
    let warnings = matrix.kernel_warnings.iter().filter(|warning| warning.kernel == kernel.name);
    properties.extend(warnings.map(|warning| ("warning", warning.text.clone())));
    Suite { name: kernel.name.to_owned(), properties, cases: rows.flat_map(row_cases).collect() }
}

fn row_cases(row: &Row) -> Vec<Case> {
    match &row.outcome {
        Ok(verdict) => object_cases(row, verdict),
        Err(bad) if row.real_loads.is_empty() => vec![error_case(&row.object, WHOLE_OBJECT, bad)],
        // The kernel was booted, although its types cannot be read.
        Err(_) => row.real_loads.iter().map(|load| real_load_case(row, load, None, "")).collect(),
    }
}

fn object_cases(row: &Row, verdict: &ObjectVerdict) -> Vec<Case> {
    let object = &*row.object;
    let programs = verdict.programs.iter().enumerate();
    let case_of = |(number, program): (usize, &ProgramVerdict)| {
        let accepted = row.program_acceptance(number);
        let warnings = verdict.warnings.iter().filter(|warning| warning.program == program.name);
        let warnings: String = warnings.map(warning_text).collect();
        match row.real_loads.get(number) {
            Some(load) => {
                let reasons: String = program.reasons.iter().map(reason_text).collect();
                real_load_case(row, load, accepted, &(reasons + &warnings))
            }
            None => program_case(row, program, accepted, &warnings),
        }
    };
    let mut cases: Vec<_> = programs.map(case_of).collect();
    let together = row.real_loads.iter().skip(verdict.programs.len());
    cases.extend(together.map(|load| {
        let reasons: String = verdict.reasons.iter().map(reason_text).collect();
        real_load_case(row, load, None, &reasons)
    }));
    let default_load = verdict.programs.iter().filter(|program| program.autoload);
    let worst = default_load.map(|program| program.verdict).max();
    let has_own_verdict = worst.unwrap_or(Verdict::Loads) < verdict.verdict
        || verdict.programs.is_empty()
        || verdict.own_reasons().next().is_some();
    if has_own_verdict && row.real_loads.is_empty() {
        let words = row.outcome().words();
        let verdict_left = row.acceptance.as_ref().map_or(verdict.verdict, |accepted| accepted.verdict);
        let is_known = row.comparison.is_some() && !row.is_new();
        let status = match row.outcome() {
            Outcome::Allowed => Status::Skipped,
            Outcome::Refused | Outcome::NeedsInput if is_known => Status::Skipped,
            _ => status(verdict_left, true),
        };
        let content = match status {
            Status::Passed => String::new(),
            Status::Skipped => format!("<skipped message=\"{words}\"/>"),
            Status::Failed | Status::Error => {
                let reasons: String = verdict.reasons.iter().map(reason_text).collect();
                format!("<failure message=\"{words}\" type=\"object\">{reasons}</failure>")
            }
        };
        cases.push(case(object, WHOLE_OBJECT, status, &content));
    }
    cases
}

/// Creates the case of a program that was loaded for real. `details` are escaped.
fn real_load_case(row: &Row, load: &RealLoad, accepted: Option<&ProgramAcceptance>, details: &str) -> Case {
    let is_accepted = accepted.is_some_and(|accepted| accepted.verdict == Verdict::Loads);
    let status = match load.outcome {
        LoadOutcome::Loaded => Status::Passed,
        _ if !load.autoload => Status::Skipped,
        LoadOutcome::Refused if is_accepted || row.is_known_load(load) => Status::Skipped,
        LoadOutcome::Refused => Status::Failed,
        LoadOutcome::Unknown => Status::Error,
    };
    let reason = load.headline().map_or_else(String::new, |reason| format!(": {reason}"));
    let differs = if load.differs() { ", which differs" } else { "" };
    let outcome = format!("real load: {}{reason}", load.outcome.word());
    let known = match load.outcome == LoadOutcome::Refused && row.is_known_load(load) {
        true => KNOWN,
        false => "",
    };
    let headline = format!("{known}{outcome}; verdict: {}{differs}", load.verdict_words());
    let with_lines = |lines: Vec<&str>| [&[&*headline], &*lines].concat().join("\n");
    let message = MarkupLines(&with_lines(load.deciding_lines())).attribute();
    let whole = with_lines(load.reason.iter().flat_map(|reason| reason.lines().skip(1)).collect());
    let result = match status {
        Status::Passed => String::new(),
        Status::Skipped => format!("<skipped message=\"{message}\"/>"),
        Status::Failed => format!("<failure message=\"{message}\" type=\"real_load\"/>"),
        Status::Error => format!("<error message=\"{message}\" type=\"real_load\"/>"),
    };
    case(
        &row.object,
        load.subject(),
        status,
        &format!("{result}<system-out>{}\n{details}</system-out>", MarkupLines(&whole)),
    )
}

/// Creates the case of a program that was judged. `warnings` are escaped.
fn program_case(
    row: &Row,
    program: &ProgramVerdict,
    accepted: Option<&ProgramAcceptance>,
    warnings: &str,
) -> Case {
    let status = match accepted {
        Some(accepted) if accepted.verdict == Verdict::Loads => Status::Skipped,
        _ if program.verdict != Verdict::Loads && row.is_known_program(&program.name) => Status::Skipped,
        Some(accepted) => status(accepted.verdict, program.autoload),
        None => status(program.verdict, program.autoload),
    };
    let words = Outcome::from(program.verdict).words();
    let allowed = accepted.and_then(ProgramAcceptance::entry);
    let allowed = allowed.map_or_else(String::new, |entry| format!("{}: ", Markup(&entry.words())));
    let default = if program.autoload { "" } else { "not loaded by default: " };
    let first = program.reasons.first();
    let text = first.map_or_else(String::new, |reason| format!(": {}", Markup(&reason.text)));
    let is_known = program.verdict != Verdict::Loads && row.is_known_program(&program.name);
    let known = if is_known { KNOWN } else { "" };
    let message = format!("{known}{allowed}{default}{words}{text}");
    let content = match status {
        Status::Passed => String::new(),
        Status::Skipped => format!("<skipped message=\"{message}\"/>"),
        Status::Failed | Status::Error => {
            let kind = first.map_or("", |reason| reason.kind.word());
            let reasons: String = program.reasons.iter().map(reason_text).collect();
            format!("<failure message=\"{message}\" type=\"{kind}\">{reasons}</failure>")
        }
    };
    let output = match warnings {
        "" => String::new(),
        warnings => format!("<system-out>{warnings}</system-out>"),
    };
    case(&row.object, &program.name, status, &(content + &output))
}

/// Returns the lines of a silent mismatch, escaped.
fn warning_text(warning: &Mismatch) -> String {
    let source = warning.source.as_ref();
    let position = source.map(|source| format!("{}: ", Markup(&source.position())));
    format!(
        "warning: {}{}\n  object: {}\n  kernel: {}\n",
        position.as_deref().unwrap_or(""),
        Markup(&warning.text),
        Markup(&warning.local),
        Markup(&warning.target)
    )
}

/// Returns the status for a verdict.
const fn status(verdict: Verdict, autoload: bool) -> Status {
    match (verdict, autoload) {
        (Verdict::Loads, _) => Status::Passed,
        (Verdict::Refused, true) => Status::Failed,
        (Verdict::Refused | Verdict::Unknown | Verdict::NeedsInput, _) => Status::Skipped,
    }
}

/// Returns the lines of a reason, escaped.
fn reason_text(reason: &Reason) -> String {
    let mut text = format!("{}: {}\n", reason.kind.word(), Markup(&reason.text));
    if let Some(source) = &reason.source {
        text += &format!("  source: {}: {}\n", Markup(&source.position()), Markup(source.text.trim()));
    }
    if let Some(evidence) = &reason.evidence {
        text += &format!("  evidence: {}: {}\n", evidence.source, Markup(&evidence.text));
    }
    if let Some(fix) = &reason.fix {
        text += &format!("  fix: {}\n", Markup(fix));
    }
    text
}

fn error_case(object: &str, name: &str, bad: &UnjudgedInput) -> Case {
    let help = bad.help.as_ref().map_or_else(String::new, |help| format!("help: {}", Markup(help)));
    let content = format!("<error message=\"{}\" type=\"bad_input\">{help}</error>", Markup(&bad.problem));
    case(object, name, Status::Error, &content)
}

fn case(object: &str, name: &str, status: Status, content: &str) -> Case {
    let (object, name) = (Markup(object), Markup(name));
    let start = format!("<testcase classname=\"{object}\" name=\"{name}\" time=\"0\"");
    let markup = match content {
        "" => format!("{start}/>\n"),
        content => format!("{start}>{content}</testcase>\n"),
    };
    Case { status, markup }
}
