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
    write_facts(out, planned, explanation)
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

fn write_facts(
    out: &mut Printer<'_>,
    planned: &PlannedReloc<'_>,
    explanation: &Explanation,
) -> io::Result<()> {
    write_fact(out, "kind", &planned.record().relo.kind.to_string())?;
    write_fact(out, "local", &explanation.local)?;
    for tried in explanation.tried.iter().take(CANDIDATES) {
        let text = format!("{} [{}] {}: {}", tried.btf, tried.type_id, tried.what, tried.verdict);
        write_fact(out, "tried", &text)?;
    }
    if let Some(more) = planned.candidate_count().checked_sub(CANDIDATES).filter(|more| *more > 0) {
        write_fact(out, "tried", &format!("… and {more} more"))?;
    }
    // With one candidate, the reason repeats the candidate's verdict.
    let repeats_verdict =
        matches!(&*explanation.tried, [only] if explanation.reason.ends_with(&only.verdict));
    if !repeats_verdict {
        write_fact(out, "reason", &explanation.reason)?;
    }
    if let Some(warning) = describe::warning(planned) {
        write_fact(out, "warning", &warning)?;
    }
    if let (Some(before), Some(after)) = (planned.before(), planned.after()) {
        let is_poison = matches!(planned.decision(), Ok(Decision::Poison { .. }));
        if is_poison || before == after {
            write_fact(out, "insn", &before.to_string())?;
        } else {
            write_fact(out, "insn", &format!("{before}  →  {after}"))?;
        }
    }
    explanation.near.iter().try_for_each(|near| write_fact(out, "near", near))?;
    explanation.help.iter().try_for_each(|help| write_fact(out, "help", help))?;
    out.line("")
}

fn write_fact(out: &mut Printer<'_>, name: &str, text: &str) -> io::Result<()> {
    let name = format_args!("{name:<7}");
    out.line(
        Line::new().text("   ").styled(FRAME, "=").text(" ").styled(BOLD, name).text(format_args!(" {text}")),
    )
}
