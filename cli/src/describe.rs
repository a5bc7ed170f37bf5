//! Words for relocations, names and byte orders, which text and JSON output share.

use core_relo::{
    Endian, Name,
    plan::{Decision, PlannedReloc, RelocError, Summary, Warning},
};
use core_relo_verdict::{
    SourceLine,
    judge::{ObjectVerdict, Verdict},
};
use std::collections::HashSet;

/// Returns the word for a planned relocation's decision, in text and in the JSON key `outcome`.
pub(crate) fn outcome(decision: &Result<Decision, RelocError>) -> &'static str {
    match decision {
        Ok(Decision::Keep { .. }) => "keep",
        Ok(Decision::Patch { .. }) => "patch",
        Ok(Decision::Poison { .. }) => "poison",
        Ok(Decision::Skip(_)) => "skip",
        Ok(_) => "unknown",
        Err(_) => "error",
    }
}

/// Returns the kernel's name for a number, if it is known.
pub(crate) fn known_name(name: Option<&str>, number: impl std::fmt::Display) -> String {
    name.map_or_else(|| format!("unknown({number})"), str::to_owned)
}

/// Returns the number of distinct requirements behind the reasons of a verdict, where the verifier stops.
pub(crate) fn later_count(verdict: &ObjectVerdict) -> usize {
    let later = verdict.programs.iter().flat_map(|program| &program.later);
    let distinct: HashSet<_> =
        later.map(|reason| (reason.source.as_ref().map(|s| (&s.file, s.line)), &reason.text)).collect();
    distinct.len()
}

/// Returns whether a relocation fails or poisons its instruction.
pub(crate) fn is_unresolved(planned: &PlannedReloc<'_>) -> bool {
    matches!(planned.decision(), Err(_) | Ok(Decision::Poison { .. }))
}

/// Returns the name of the program or subprogram that a relocation belongs to.
pub(crate) fn program_name(planned: &PlannedReloc<'_>) -> Option<String> {
    planned.function().map(|f| Name::new(f.name).shortened().to_string())
}

/// Returns the source position: `exec.bpf.c:41:17`, `exec.bpf.c:41` without a column, `near exec.bpf.c:41` if
/// the access is only near the line. `None` without line information.
pub(crate) fn source_position(planned: &PlannedReloc<'_>) -> Option<String> {
    Some(SourceLine::from(planned.source_line()?).position_with_column())
}

/// Returns the position in the object: `tp_btf/sched_process_exec, insn 17, relocation 3`.
pub(crate) fn record_position(planned: &PlannedReloc<'_>) -> String {
    let record = planned.record();
    let instruction = match record.insn {
        Some(insn) => format!("insn {insn}"),
        None => format!("byte {}", record.relo.insn_offset),
    };
    format!("{}, {instruction}, relocation {}", record.section.shortened(), record.index_in_section)
}

/// Returns the text of a relocation's warning.
pub(crate) fn warning(planned: &PlannedReloc<'_>) -> Option<String> {
    match planned.warning()? {
        Warning::WidthsDiffer { first, other, first_width, other_width, .. } => Some(format!(
            "candidate [{}] has the field at the same offset, {other_width} bytes wide; [{}], with {first_width} bytes, counts",
            other.id, first.id
        )),
        _ => Some("worth a look".to_owned()),
    }
}

/// Returns the counts of a plan that are not zero: `12 kept, 3 patched, 1 poisoned`.
pub(crate) fn summary(summary: Summary) -> String {
    let counts = [
        (summary.kept, "kept"),
        (summary.patched, "patched"),
        (summary.poisoned, "poisoned"),
        (summary.failed, "failed"),
        (summary.skipped, "skipped"),
    ];
    let parts: Vec<_> =
        counts.iter().filter(|(n, _)| *n > 0).map(|(n, outcome)| format!("{n} {outcome}")).collect();
    if parts.is_empty() { "no CO-RE relocations".to_owned() } else { parts.join(", ") }
}

/// Returns the words for a verdict in text.
pub(crate) const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::NeedsInput => "needs input",
        _ => verdict.word(),
    }
}

/// Returns a kernel constant in lower case and without its prefix: `tracing` for `BPF_PROG_TYPE_TRACING`.
pub(crate) fn short_type_name(name: &str) -> String {
    let prefixes = ["BPF_PROG_TYPE_", "BPF_MAP_TYPE_", "BPF_LINK_TYPE_"];
    let name = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    name.strip_prefix("BPF_").unwrap_or(name).to_lowercase()
}

/// Returns a name from a file, with control characters and invisible characters escaped.
pub(crate) fn name(name: &[u8]) -> String {
    Name::new(name).to_string()
}

/// Returns `little` or `big`.
pub(crate) fn byte_order(endian: Endian) -> &'static str {
    match endian {
        Endian::Little => "little",
        Endian::Big => "big",
    }
}
