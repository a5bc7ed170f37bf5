//! The reasons of a verdict as lines.

use crate::text::{line::Line, style::DIM};
use core_relo_verdict::judge::ObjectVerdict;
use std::collections::HashSet;

/// Returns the different reasons of a verdict as lines, with their source positions. With a limit, the others are only counted.
pub(crate) fn reason_lines(verdict: &ObjectVerdict, limit: Option<usize>) -> Vec<Line> {
    let limit = limit.unwrap_or(usize::MAX);
    let (mut distinct, mut lines) = (HashSet::new(), Vec::new());
    // Programs of the default load come first.
    let (default, optional): (Vec<_>, Vec<_>) = verdict.programs.iter().partition(|program| program.autoload);
    for program in default.into_iter().chain(optional) {
        for reason in &program.reasons {
            let position = reason.source.as_ref().map(|source| format!("{}:{} ", source.file, source.line));
            if !distinct.insert((position.clone(), &reason.text)) || lines.len() >= limit {
                continue;
            }
            let fix = reason.fix.as_ref().map_or_else(String::new, |fix| format!("; fix: {fix}"));
            let optional = if program.autoload { "" } else { " (not in the default load)" };
            let rest = format!("{}{optional}: {}{fix}", program.name, reason.text);
            lines.push(Line::new().styled(DIM, position.unwrap_or_default()).text(rest));
        }
    }
    if let Some(more) = distinct.len().checked_sub(limit).filter(|more| *more > 0) {
        let more = format_args!("… and {more} more, see --format json");
        lines.push(Line::new().styled(DIM, more));
    }
    lines
}
