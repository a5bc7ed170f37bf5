//! An explained object as text: each reason in the form of a compiler diagnostic, with its fixes.

use super::{
    availability::Neighbours,
    explained::{ExplainedObject, ExplainedReason},
};
use crate::{
    cmd::verdicts::warnings::warning_lines,
    describe,
    text::{
        explanation::fact_line,
        line::Line,
        printer::Printer,
        style::{BOLD, DIM, FRAME, GOOD, verdict_style},
    },
};
use core_relo_verdict::{
    SourceLine,
    advice::Fix,
    judge::{ProgramVerdict, Reason, Verdict},
    kernel::EvidenceSource,
};
use std::io;

/// The programs that a headline names. The others are counted.
const NAMED_PROGRAMS: usize = 4;

/// Prints the verdict on an object on a kernel, and its reasons.
pub(super) fn write<'a>(
    out: &mut Printer<'_>,
    kernel: &str,
    explained: &'a ExplainedObject,
    neighbours: &dyn Fn(&Reason) -> Neighbours<'a>,
) -> io::Result<()> {
    let verdict = explained.verdict.verdict;
    let title = format!(": {} on {kernel}: {}", explained.object, title_counts(explained));
    let word = describe::verdict(verdict);
    out.line(Line::new().styled(verdict_style(verdict), word).styled(BOLD, title))?;
    explained.variants.iter().try_for_each(|line| out.line(Line::new().text("    ").line(line)))?;
    let mut previous = None;
    for reason in &explained.reasons {
        write_reason(out, explained, (previous, reason), neighbours(&reason.reason))?;
        previous = Some(reason);
    }
    let guarded = || explained.verdict.programs.iter().flat_map(|p| p.guarded.iter().map(move |r| (p, r)));
    if !explained.reasons.is_empty() && guarded().next().is_some() {
        out.line("")?;
    }
    guarded().try_for_each(|(program, reason)| write_guarded(out, program, reason))?;
    if !explained.reasons.is_empty() {
        out.line("")?;
    }
    let warnings = warning_lines(&explained.verdict.warnings, None);
    warnings.into_iter().try_for_each(|line| out.line(line))
}

/// Returns the counts of programs by verdict, and those of relocations.
fn title_counts(explained: &ExplainedObject) -> String {
    let verdicts = [Verdict::Refused, Verdict::NeedsInput, Verdict::Unknown, Verdict::Loads];
    let programs = &explained.verdict.programs;
    let count = |verdict| programs.iter().filter(|program| program.verdict == verdict).count();
    let counts = verdicts.iter().filter(|verdict| count(**verdict) > 0);
    let counts: Vec<_> =
        counts.map(|verdict| format!("{} {}", count(*verdict), describe::verdict(*verdict))).collect();
    let noun = if programs.len() == 1 { "program" } else { "programs" };
    let relocations = describe::summary(explained.summary);
    match programs.len() {
        0 => format!("no programs; {relocations}"),
        len => format!("{len} {noun}: {}; {relocations}", counts.join(", ")),
    }
}

fn write_reason(
    out: &mut Printer<'_>,
    explained: &ExplainedObject,
    (previous, reason): (Option<&ExplainedReason>, &ExplainedReason),
    neighbours: Neighbours<'_>,
) -> io::Result<()> {
    out.line("")?;
    let verdict = reason.reason.verdict;
    let word = describe::verdict(verdict);
    let word = if reason.is_later { format!("then {word}") } else { word.to_owned() };
    let line = Line::new().styled(verdict_style(verdict), word);
    let headline = format!(": {}: {}", programs(explained, reason), reason.reason.text);
    out.line(line.styled(BOLD, headline))?;
    if let Some(source) = &reason.reason.source {
        write_source(out, source, reason.position.as_deref())?;
    }
    reason.facts.iter().try_for_each(|fact| out.line(fact.clone()))?;
    // A relocation's facts contain its evidence.
    if let Some(evidence) = reason
        .reason
        .evidence
        .as_ref()
        .filter(|e| reason.facts.is_empty() && e.source != EvidenceSource::Object)
    {
        out.line(fact_line("because", &format!("{} ({})", evidence.text, evidence.source)))?;
    }
    if let Some(first) = neighbours.first {
        out.line(fact_line("since", &format!("{first} is the first of these kernels that has it")))?;
    }
    if let Some(last) = neighbours.last {
        out.line(fact_line("until", &format!("{last} is the last of these kernels that has it")))?;
    }
    let repeats_fixes = previous.is_some_and(|previous| previous.fixes == reason.fixes);
    if repeats_fixes && !reason.fixes.is_empty() {
        let has_code = reason.fixes.iter().any(|fix| fix.code.is_some() || fix.declaration.is_some());
        return out.line(fact_line(if has_code { "fix" } else { "note" }, "the same as above"));
    }
    let (with_code, notes): (Vec<_>, Vec<_>) =
        reason.fixes.iter().partition(|fix| fix.code.is_some() || fix.declaration.is_some());
    notes.iter().try_for_each(|fix| out.line(fact_line("note", &fix.text)))?;
    for (index, fix) in with_code.into_iter().enumerate() {
        let is_elsewhere = fix.source.is_some() && fix.source != reason.reason.source;
        write_fix(out, if index == 0 { "fix" } else { "or" }, fix, is_elsewhere)?;
    }
    Ok(())
}

/// Prints a fix: its sentence, with the source line if it is not that of the reason, and below it the code.
fn write_fix(out: &mut Printer<'_>, label: &str, fix: &Fix, is_elsewhere: bool) -> io::Result<()> {
    let source = fix.source.as_ref().filter(|_| is_elsewhere);
    let position = source.map_or_else(String::new, |source| format!(" ({})", source.position()));
    out.line(fact_line(label, &format!("{}{position}", fix.text)))?;
    let parts = [&fix.declaration, &fix.code];
    let lines = parts.into_iter().flatten().flat_map(|part| part.lines());
    lines.into_iter().try_for_each(|line| {
        let tabs = line.chars().take_while(|c| *c == '\t').count();
        let margin = Line::new().text("   ").styled(FRAME, "|").text("             ");
        out.line(margin.text("    ".repeat(tabs)).text(line.trim_start_matches('\t')))
    })
}

/// Prints a requirement in dead code, which needs no change.
fn write_guarded(out: &mut Printer<'_>, program: &ProgramVerdict, reason: &Reason) -> io::Result<()> {
    let text = format!(": `{}`: {}: a guard skips it, no change needed", program.name, reason.text);
    out.line(Line::new().styled(GOOD, "guarded").text(text))?;
    match &reason.source {
        Some(source) => write_source(out, source, None),
        None => Ok(()),
    }
}

fn write_source(out: &mut Printer<'_>, source: &SourceLine, position: Option<&str>) -> io::Result<()> {
    let text = &source.text;
    let position = position.map_or_else(String::new, |position| format!("  ({position})"));
    let arrow = Line::new().text("  ").styled(FRAME, "-->");
    out.line(arrow.text(format_args!(" {}", source.position_with_column())).styled(DIM, position))?;
    match text.is_empty() {
        true => Ok(()),
        false => out.line(Line::new().text("   ").styled(FRAME, "|").text(format_args!("      {text}"))),
    }
}

/// Returns the programs that have a reason.
fn programs(explained: &ExplainedObject, reason: &ExplainedReason) -> String {
    let all = &explained.verdict.programs;
    if reason.programs.is_empty() {
        return "the object".to_owned();
    }
    if reason.programs.len() == all.len() && all.len() > 1 {
        return "every program".to_owned();
    }
    let named = reason.programs.iter().take(NAMED_PROGRAMS).filter_map(|index| all.get(*index));
    let optional = |program: &ProgramVerdict| match (program.autoload, explained.has_variants) {
        (true, _) => "",
        (false, true) => " (not among the chosen variants)",
        (false, false) => " (not in the default load)",
    };
    let names: Vec<_> = named.map(|program| format!("`{}`{}", program.name, optional(program))).collect();
    let more = reason.programs.len().saturating_sub(NAMED_PROGRAMS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}
