//! One record of a plan: where it is, what became of it.

use super::style::{self, BOLD, DIM};
use crate::{line::Line, printer::Printer};
use anstyle::Style;
use core_relo::{
    Name,
    explain::text,
    plan::{Decision, PlannedReloc, Warning},
};
use std::io;

/// `exec.bpf.c:41:17`, or `file.c:41` without a column; nothing without line information.
pub(crate) fn source_place(planned: &PlannedReloc<'_>) -> Option<String> {
    let source = planned.source()?;
    let file = source.file.shortened();
    Some(match source.column {
        0 => format!("{file}:{}", source.line),
        column => format!("{file}:{}:{column}", source.line),
    })
}

/// `tp_btf/sched_process_exec, insn 17, relocation 3`.
pub(crate) fn record_place(planned: &PlannedReloc<'_>) -> String {
    let record = planned.record();
    let at = match record.insn {
        Some(insn) => format!("insn {insn}"),
        None => format!("byte {}", record.relo.insn_offset),
    };
    format!("{}, {at}, relocation {}", record.section.shortened(), record.index)
}

/// The program's or subprogram's name.
pub(crate) fn program(planned: &PlannedReloc<'_>) -> Option<String> {
    planned.function().map(|f| Name::new(f.name).shortened().to_string())
}

/// A warning in words.
pub(crate) fn warning(planned: &PlannedReloc<'_>) -> Option<String> {
    match planned.warning()? {
        Warning::WidthsDiffer { first, other, first_width, other_width, .. } => Some(format!(
            "candidate [{}] has the field at the same offset, {other_width} bytes wide; [{}], with {first_width} bytes, counts",
            other.id, first.id
        )),
        _ => Some("worth a look".to_owned()),
    }
}

/// A record with its instruction before and after, in a few lines.
pub(crate) fn write(out: &mut Printer<'_>, planned: &PlannedReloc<'_>) -> io::Result<()> {
    let (record, decision) = (planned.record(), planned.decision());
    let outcome = style::outcome(&decision);
    let at = record.insn.map_or_else(|| "insn ?".to_owned(), |insn| format!("insn {insn}"));
    let place = source_place(planned).unwrap_or_else(|| "no line information".to_owned());
    let line = Line::new().text("  ").styled(BOLD, format_args!("#{:<4}", record.index));
    let line = line.text(format_args!("  {at:<9} {:<17} ", record.relo.kind.to_string()));
    let line = line.styled(style::of_outcome(outcome), format_args!("{outcome:<6}"));
    out.line(line.text("  ").styled(DIM, place))?;
    if let Some(source) = planned.source().filter(|s| !s.text.is_empty()) {
        out.line(format_args!("         {}", source.text.shortened()))?;
    }
    instructions(out, planned)?;
    values(out, planned)?;
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
        let reason = core_relo::explain::reason(planned);
        field(out, "reason", &reason)?;
    }
    if let Some(warning) = warning(planned) {
        styled_field(out, (style::WARNING, "warning"), (Style::new(), &warning))?;
    }
    out.line("")
}

fn instructions(out: &mut Printer<'_>, planned: &PlannedReloc<'_>) -> io::Result<()> {
    match (planned.before(), planned.after()) {
        (Some(before), Some(after)) if before == after => field(out, "insn", &before.to_string()),
        (Some(before), Some(after)) => {
            let after = after.to_string();
            let style = style::of_outcome(style::outcome(&planned.decision()));
            field(out, "before", &before.to_string())?;
            styled_field(out, (DIM, "after"), (style, &after))
        }
        (Some(before), None) => field(out, "insn", &before.to_string()),
        _ => Ok(()),
    }
}

fn values(out: &mut Printer<'_>, planned: &PlannedReloc<'_>) -> io::Result<()> {
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
