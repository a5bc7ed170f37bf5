//! The reasons of a verdict as lines.

use crate::{
    describe,
    text::{line::Line, style::DIM},
};
use core_relo_report::policy::Acceptance;
use core_relo_verdict::judge::{ObjectVerdict, Reason};
use std::{cmp::Reverse, collections::HashMap};

/// The number of programs that a fix lists.
const SHOWN_PROGRAMS: usize = 8;

/// Returns the different reasons of the object and its programs as lines, with their source positions. With a
/// limit, the others are only counted.
///
/// The reasons of the default load come first, among them the worst. Accepted reasons come last.
pub(crate) fn reason_lines(
    verdict: &ObjectVerdict,
    acceptance: Option<&Acceptance>,
    limit: Option<usize>,
) -> Vec<Line> {
    let limit = limit.unwrap_or(usize::MAX);
    let mut reasons: Vec<_> = verdict.own_reasons().map(|reason| (None, reason, None)).collect();
    for (number, program) in verdict.programs.iter().enumerate() {
        let accepted = acceptance.and_then(|acceptance| acceptance.program(number));
        for (index, reason) in program.reasons.iter().enumerate() {
            let entry = accepted.and_then(|accepted| accepted.reason(index));
            reasons.push((Some(program), reason, entry));
        }
    }
    // The sort is stable: equally bad reasons stay in the order of the programs.
    reasons.sort_by_key(|(program, reason, entry)| {
        (entry.is_some(), program.is_some_and(|program| !program.autoload), Reverse(reason.verdict))
    });
    let (mut distinct, mut lines) = (HashMap::new(), Vec::new());
    for (program, reason, _) in &reasons {
        let same: &mut Vec<_> = distinct.entry(key(reason)).or_default();
        same.extend(program.map(|program| (&*program.name, &reason.fix)));
    }
    let count = distinct.len();
    for (program, reason, entry) in reasons {
        if lines.len() >= limit {
            break;
        }
        let Some(same) = distinct.remove(&key(reason)) else { continue };
        let subject = match program {
            None => String::new(),
            Some(program) if program.autoload => format!("{}: ", program.name),
            Some(program) => format!("{} (not in the default load): ", program.name),
        };
        let word = match reason.verdict == verdict.verdict {
            true => String::new(),
            false => format!("{}: ", describe::verdict(reason.verdict)),
        };
        let text = format!("{subject}{word}{}", reason.text);
        let position = reason.source.as_ref().map(|source| format!("{} ", source.position()));
        let line = Line::new().styled(DIM, position.as_deref().unwrap_or(""));
        lines.push(match (entry, &reason.fix) {
            (Some(entry), _) => line.styled(DIM, format!("{text}; {}", entry.words())),
            (None, Some(fix)) => line.text(format!("{text}; fix: {fix}{}", for_each_of(&same, &reason.fix))),
            (None, None) => line.text(text),
        });
    }
    if let Some(more) = count.checked_sub(limit).filter(|more| *more > 0) {
        let more = format_args!("… and {more} more, see core-relo explain");
        lines.push(Line::new().styled(DIM, more));
    }
    if limit != usize::MAX {
        lines.extend(later_line(describe::later_count(verdict)));
    }
    lines
}

/// Returns the line for the requirements behind the reasons, where the verifier stops.
pub(crate) fn later_line(count: usize) -> Option<Line> {
    let more = format_args!("… then {count} more behind these, see core-relo explain");
    (count > 0).then(|| Line::new().styled(DIM, more))
}

/// Returns the shown parts of a reason: the position without the column, and the text. Reasons with the same
/// parts are one line.
fn key(reason: &Reason) -> (Option<(bool, &str, u32)>, &str) {
    let source = reason.source.as_ref();
    (source.map(|source| (source.is_near, &*source.file, source.line)), &reason.text)
}

/// Returns the words for programs with the same reason, each with a fix of its own such as an option with its
/// name. `fix` is the shown one.
fn for_each_of(same: &[(&str, &Option<String>)], fix: &Option<String>) -> String {
    if same.iter().all(|(_, other)| *other == fix) {
        return String::new();
    }
    let names: Vec<_> = same.iter().take(SHOWN_PROGRAMS).map(|(program, _)| *program).collect();
    let more = same.len().checked_sub(SHOWN_PROGRAMS).filter(|more| *more > 0);
    let more = more.map_or_else(String::new, |more| format!(" and {more} more"));
    format!("; likewise for each of: {}{more}", names.join(", "))
}
