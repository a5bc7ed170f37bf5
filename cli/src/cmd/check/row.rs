//! A row of the table of results, and the exit status for a result.

use super::report::{REASONS, WARNINGS};
use crate::{
    cmd::verdicts::{
        reasons::{later_line, reason_lines},
        warnings::warning_lines,
    },
    console::ExitStatus,
    describe,
    text::{
        line::Line,
        style::{self, BOLD, DIM, ERROR},
    },
};
use anstyle::Style;
use core_relo_report::{
    Agreement, Comparison, Conclusion, LoadOutcome, NewRefusal, RealLoad, Row as FleetRow, load_message,
};
use core_relo_verdict::judge::Verdict;
use std::sync::Arc;

/// A row of the table, and the lines below it.
pub(super) struct Row {
    /// The style and the word of the verdict.
    pub(super) verdict: (Style, &'static str),
    pub(super) cells: [String; 3],
    pub(super) reasons: Arc<[Line]>,
    pub(super) notes: Arc<[Line]>,
}

impl Row {
    /// Creates the row of a result.
    pub(super) fn new(row: &FleetRow, reasons: Arc<[Line]>, mut notes: Arc<[Line]>) -> Self {
        let judged = row.outcome.as_ref().map_or(Verdict::Unknown, |verdict| verdict.verdict);
        let left = row.acceptance.as_ref().map_or(judged, |acceptance| acceptance.verdict);
        let is_compared = judged != Verdict::Loads || row.is_new();
        if let Some(comparison) = row.comparison.as_ref().filter(|_| is_compared) {
            let new = new_lines(comparison, row.is_new());
            notes = new.into_iter().chain(notes.iter().cloned()).collect();
        }
        let verdict = match left == Verdict::Loads && judged != Verdict::Loads {
            true => (DIM, "allowed"),
            false => (style::verdict_style(left), describe::verdict(left)),
        };
        let counts = match row.relocations {
            Some(summary) => describe::summary(summary),
            None => "no types of the kernel".to_owned(),
        };
        Self { verdict, cells: [row.object.clone(), row.kernel.clone(), counts], reasons, notes }
    }

    /// Creates the row of a stored result. Returns `None` for an object that does not fit the kernel, which
    /// is an error instead.
    pub(super) fn of_stored(row: &FleetRow) -> Option<Self> {
        let (reasons, mut notes) = match &row.outcome {
            Ok(verdict) => {
                let mut reasons = reason_lines(verdict, row.acceptance.as_ref(), Some(REASONS));
                reasons.extend(later_line(row.later_count));
                (reasons, warning_lines(&verdict.warnings, Some(WARNINGS)))
            }
            Err(_) if row.real_loads.is_empty() => return None,
            Err(_) => (Vec::new(), Vec::new()),
        };
        notes.extend(row.real_loads.iter().flat_map(real_load_lines));
        Some(Self::new(row, reasons.into(), notes.into()))
    }
}

/// Returns the lines of what is new since the baseline, or a line that nothing is. `is_new` is set if
/// something new counts for the exit status.
fn new_lines(comparison: &Comparison, is_new: bool) -> Vec<Line> {
    let line = |new: &NewRefusal| {
        let program = new.program.as_deref().map(|program| format!("{program}: "));
        let text = format!("{}{}", program.as_deref().unwrap_or(""), new.text);
        Line::new().styled(style::WARNING, "new: ").text(text)
    };
    let mut lines: Vec<_> = comparison.new.iter().take(REASONS).map(line).collect();
    if let Some(more) = comparison.new.len().checked_sub(REASONS).filter(|more| *more > 0) {
        lines.push(Line::new().styled(DIM, format_args!("… and {more} more that are new")));
    }
    if !is_new && lines.is_empty() {
        lines.push(Line::new().styled(DIM, "nothing new since the baseline"));
    }
    lines
}

/// Returns the lines of a real load that was refused, or whose verdict differs.
fn real_load_lines(load: &RealLoad) -> Vec<Line> {
    let differs = load.agreement == Agreement::Differs;
    if load.outcome == LoadOutcome::Loaded && !differs {
        return Vec::new();
    }
    let line = Line::new().styled(DIM, "real load: ").styled(BOLD, load.subject());
    let reason = load.reason.as_deref();
    let first = reason.map_or_else(String::new, |reason| format!(": {}", load_message::first_line(reason)));
    let line = line.text(format_args!(": {}{first}", load.outcome.word()));
    let line = if differs { line.text("; ").styled(ERROR, "the verdict differs") } else { line };
    let deciding = reason.into_iter().flat_map(load_message::deciding_lines);
    [line].into_iter().chain(deciding.map(|line| Line::new().text("    ").formatted(line))).collect()
}

/// Returns the exit status for a result.
pub(super) const fn exit_status(conclusion: Conclusion, is_strict: bool) -> ExitStatus {
    match conclusion {
        Conclusion::Passes => ExitStatus::Success,
        Conclusion::Fails => ExitStatus::Incompatible,
        Conclusion::Undecided if is_strict => ExitStatus::Incompatible,
        Conclusion::Undecided | Conclusion::Unread => ExitStatus::Error,
    }
}
