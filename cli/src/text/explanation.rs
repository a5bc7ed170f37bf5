//! An explained relocation as text, in the form of a compiler diagnostic.

use crate::{
    describe,
    text::{
        line::Line,
        printer::Printer,
        style::{self, BOLD, FRAME},
    },
};
use core_relo::{
    explain::Explanation,
    plan::{Decision, PlannedReloc},
};
use std::io;

/// The maximum number of candidates that are printed. The rest is only counted.
const CANDIDATES: usize = 8;

/// Prints an explanation.
pub(crate) fn write(
    out: &mut Printer<'_>,
    object: &str,
    kernel: &str,
    planned: &PlannedReloc<'_>,
    explanation: &Explanation,
) -> io::Result<()> {
    write_headline(out, object, kernel, planned)?;
    let position = describe::source_position(planned).unwrap_or_else(|| "no line information".to_owned());
    let arrow = Line::new().text("  ").styled(FRAME, "-->");
    out.line(arrow.text(format_args!(" {position}  ({})", describe::record_position(planned))))?;
    if let Some(source) = planned.source_line().filter(|s| !s.text.is_empty()) {
        let text = source.text.shortened();
        out.line(Line::new().text("   ").styled(FRAME, "|").text(format_args!("      {text}")))?;
    }
    fact_lines(planned, explanation, true).into_iter().try_for_each(|line| out.line(line))?;
    out.line("")
}

/// Prints the consequence for the program. Only a failed relocation certainly makes the load fail.
fn write_headline(
    out: &mut Printer<'_>,
    object: &str,
    kernel: &str,
    planned: &PlannedReloc<'_>,
) -> io::Result<()> {
    let name = match describe::program_name(planned) {
        Some(name) => format!("`{name}`"),
        None => format!("section `{}`", planned.record().section),
    };
    let (word, style, consequence) = match planned.decision() {
        Err(_) => ("error", style::ERROR, format!("{name} cannot be relocated for {kernel}")),
        Ok(Decision::Poison { .. }) => (
            "poisoned",
            style::WARNING,
            format!("{name} will be refused by {kernel} if this instruction can be reached"),
        ),
        Ok(Decision::Keep { .. }) => ("kept", style::GOOD, format!("{name} fits {kernel} as it is")),
        Ok(Decision::Patch { .. }) => ("patched", style::GOOD, format!("{name} is adapted to {kernel}")),
        _ => ("skipped", style::DIM, format!("a relocation of {name} takes no part for {kernel}")),
    };
    out.line(Line::new().styled(style, word).styled(BOLD, format_args!(": {object}: {consequence}")))
}

/// Returns the facts of a relocation, one per line. `with_help` adds the suggested fixes.
pub(crate) fn fact_lines(
    planned: &PlannedReloc<'_>,
    explanation: &Explanation,
    with_help: bool,
) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut fact = |name: &str, text: &str| lines.push(fact_line(name, text));
    fact("kind", &planned.record().relo.kind.to_string());
    fact("local", &explanation.local);
    for tried in explanation.tried.iter().take(CANDIDATES) {
        fact("tried", &format!("{} [{}] {}: {}", tried.btf, tried.type_id, tried.what, tried.verdict));
    }
    if let Some(more) = planned.candidate_count().checked_sub(CANDIDATES).filter(|more| *more > 0) {
        fact("tried", &format!("… and {more} more"));
    }
    // With one candidate, the reason repeats the candidate's verdict.
    let repeats_verdict =
        matches!(&*explanation.tried, [only] if explanation.reason.ends_with(&only.verdict));
    if !repeats_verdict {
        fact("reason", &explanation.reason);
    }
    if let Some(warning) = describe::warning(planned) {
        fact("warning", &warning);
    }
    if let (Some(before), Some(after)) = (planned.before(), planned.after()) {
        let is_poison = matches!(planned.decision(), Ok(Decision::Poison { .. }));
        match is_poison || before == after {
            true => fact("insn", &before.to_string()),
            false => fact("insn", &format!("{before}  →  {after}")),
        }
    }
    explanation.near.iter().for_each(|near| fact("near", near));
    if with_help {
        explanation.help.iter().for_each(|help| fact("help", help));
    }
    lines
}

/// Returns the line of a fact.
pub(crate) fn fact_line(name: &str, text: &str) -> Line {
    let name = format_args!("{name:<7}");
    Line::new().text("   ").styled(FRAME, "=").text(" ").styled(BOLD, name).text(format_args!(" {text}"))
}
