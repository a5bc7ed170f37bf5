//! One record explained, in the manner of a compiler's message.

use super::{
    planned::{program, record_place, source_place, warning},
    style::{self, BOLD, FRAME},
};
use crate::{line::Line, printer::Printer};
use core_relo::{
    explain::Explanation,
    plan::{Decision, PlannedReloc},
};
use std::io;

/// How many candidates are listed before the rest is only counted.
const TRIED: usize = 8;

pub(crate) fn write(
    out: &mut Printer<'_>,
    object: &str,
    kernel: &str,
    planned: &PlannedReloc<'_>,
    explanation: &Explanation,
) -> io::Result<()> {
    headline(out, object, kernel, planned)?;
    let place = source_place(planned).unwrap_or_else(|| "no line information".to_owned());
    let arrow = Line::new().text("  ").styled(FRAME, "-->");
    out.line(arrow.text(format_args!(" {place}  ({})", record_place(planned))))?;
    if let Some(source) = planned.source().filter(|s| !s.text.is_empty()) {
        let text = source.text.shortened();
        out.line(Line::new().text("   ").styled(FRAME, "|").text(format_args!("      {text}")))?;
    }
    facts(out, planned, explanation)
}

/// What it means for the program: only a failure is sure to be a refusal.
fn headline(out: &mut Printer<'_>, object: &str, kernel: &str, planned: &PlannedReloc<'_>) -> io::Result<()> {
    let name = match program(planned) {
        Some(name) => format!("`{name}`"),
        None => format!("section `{}`", planned.record().section),
    };
    let (word, style, verdict) = match planned.decision() {
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
    out.line(Line::new().styled(style, word).styled(BOLD, format_args!(": {object}: {verdict}")))
}

fn facts(out: &mut Printer<'_>, planned: &PlannedReloc<'_>, explanation: &Explanation) -> io::Result<()> {
    fact(out, "kind", &planned.record().relo.kind.to_string())?;
    fact(out, "local", &explanation.local)?;
    for tried in explanation.tried.iter().take(TRIED) {
        let text = format!("{} [{}] {}: {}", tried.btf, tried.type_id, tried.what, tried.verdict);
        fact(out, "tried", &text)?;
    }
    if let Some(more) = planned.candidate_count().checked_sub(TRIED).filter(|more| *more > 0) {
        fact(out, "tried", &format!("… and {more} more"))?;
    }
    // With one candidate the reason repeats what was tried.
    let is_said = matches!(&*explanation.tried, [one] if explanation.reason.ends_with(&one.verdict));
    if !is_said {
        fact(out, "reason", &explanation.reason)?;
    }
    if let Some(warning) = warning(planned) {
        fact(out, "warning", &warning)?;
    }
    if let (Some(before), Some(after)) = (planned.before(), planned.after()) {
        let is_poison = matches!(planned.decision(), Ok(Decision::Poison { .. }));
        match () {
            () if is_poison || before == after => fact(out, "insn", &before.to_string())?,
            () => fact(out, "insn", &format!("{before}  →  {after}"))?,
        }
    }
    explanation.near.iter().try_for_each(|near| fact(out, "near", near))?;
    explanation.help.iter().try_for_each(|help| fact(out, "help", help))?;
    out.line("")
}

fn fact(out: &mut Printer<'_>, name: &str, text: &str) -> io::Result<()> {
    let name = format_args!("{name:<7}");
    out.line(
        Line::new().text("   ").styled(FRAME, "=").text(" ").styled(BOLD, name).text(format_args!(" {text}")),
    )
}
