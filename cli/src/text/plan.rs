//! A planned relocation as text, for `plan`.

use crate::{
    describe,
    text::{
        line::Line,
        printer::Printer,
        style::{self, BOLD, DIM},
    },
};
use anstyle::Style;
use core_relo::{
    explain::{reason, text},
    plan::{Decision, PlannedReloc},
};
use std::io;

/// Prints a relocation: its instruction before and after, its values, the local and the target access.
pub(crate) fn write(out: &mut Printer<'_>, planned: &PlannedReloc<'_>) -> io::Result<()> {
    let (record, decision) = (planned.record(), planned.decision());
    let outcome = describe::outcome(&decision);
    let instruction = record.insn.map_or_else(|| "insn ?".to_owned(), |insn| format!("insn {insn}"));
    let position = describe::source_position(planned).unwrap_or_else(|| "no line information".to_owned());
    let line = Line::new().text("  ").styled(BOLD, format_args!("#{:<4}", record.index_in_section));
    let line = line.text(format_args!("  {instruction:<9} {:<17} ", record.relo.kind.to_string()));
    let line = line.styled(style::outcome_style(outcome), format_args!("{outcome:<6}"));
    out.line(line.text("  ").styled(DIM, position))?;
    if let Some(source) = planned.source_line().filter(|s| !s.text.is_empty()) {
        out.line(format_args!("         {}", source.text.shortened()))?;
    }
    write_instructions(out, planned)?;
    write_values(out, planned)?;
    match planned.local_spec() {
        Some(spec) => field(out, "local", &text(spec.text(planned.btf())))?,
        None => field(out, "local", &format!("[{}]", record.relo.root))?,
    }
    if let Some((source, spec)) = planned.target_spec() {
        field(out, "target", &format!("{} {}", source.name, text(spec.text(&source.btf))))?;
    }
    if !matches!(decision, Ok(Decision::Keep { .. } | Decision::Patch { .. }))
        || planned.target_spec().is_none()
    {
        field(out, "reason", &reason(planned))?;
    }
    if let Some(warning) = describe::warning(planned) {
        styled_field(out, (style::WARNING, "warning"), (Style::new(), &warning))?;
    }
    out.line("")
}

fn write_instructions(out: &mut Printer<'_>, planned: &PlannedReloc<'_>) -> io::Result<()> {
    match (planned.before(), planned.after()) {
        (Some(before), Some(after)) if before == after => field(out, "insn", &before.to_string()),
        (Some(before), Some(after)) => {
            let after = after.to_string();
            let style = style::outcome_style(describe::outcome(&planned.decision()));
            field(out, "before", &before.to_string())?;
            styled_field(out, (DIM, "after"), (style, &after))
        }
        (Some(before), None) => field(out, "insn", &before.to_string()),
        _ => Ok(()),
    }
}

fn write_values(out: &mut Printer<'_>, planned: &PlannedReloc<'_>) -> io::Result<()> {
    let text = match (planned.local_value(), planned.target_value()) {
        (Some(local), Some(target)) if local == target => format!("{local} in both"),
        (Some(local), Some(target)) => format!("{local} → {target}"),
        (Some(local), None) => format!("{local} in the object"),
        (None, Some(target)) => format!("{target} in the target"),
        (None, None) => return Ok(()),
    };
    field(out, "value", &text)
}

fn field(out: &mut Printer<'_>, name: &str, text: &str) -> io::Result<()> {
    styled_field(out, (DIM, name), (Style::new(), text))
}

fn styled_field(
    out: &mut Printer<'_>,
    (name_style, name): (Style, &str),
    (style, text): (Style, &str),
) -> io::Result<()> {
    let line = Line::new().text("         ").styled(name_style, format_args!("{name:<8}"));
    out.line(line.text(" ").styled(style, text))
}
