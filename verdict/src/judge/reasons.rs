//! Lists of reasons: their order, duplicates and number; and the fix of several reasons.

use super::model::Reason;
use crate::limits::REPEATED_REASONS;
use hashbrown::HashSet;

/// The fix of a name that the kernel refuses.
pub(super) const NAME_FIX: &str =
    "rename it, or load the object with core-relo, which changes the name in the kernel";

/// Returns the reasons, worst first. Equal reasons of several instructions are one reason, at the first
/// instruction that has a source line.
pub(super) fn distinct(mut reasons: Vec<Reason>) -> Vec<Reason> {
    // The first of equal reasons stays, so one with a source line comes first.
    reasons.sort_by(|a, b| {
        let by_rank = b.verdict.cmp(&a.verdict).then(a.kind.cmp(&b.kind));
        by_rank.then(a.source.is_none().cmp(&b.source.is_none()))
    });
    let is_new: Vec<_> = {
        let mut known = HashSet::with_capacity(reasons.len());
        reasons.iter().map(|reason| known.insert((reason.kind, &reason.text))).collect()
    };
    reasons.into_iter().zip(is_new).filter(|(_, is_new)| *is_new).map(|(reason, _)| reason).collect()
}

/// Limits the reasons that every program repeats. Keeps the worst, and replaces the others by their count.
pub(super) fn limit_reasons(reasons: &mut Vec<Reason>, program_count: usize) {
    let limit = REPEATED_REASONS.checked_div(program_count).unwrap_or(REPEATED_REASONS).max(1);
    if reasons.len() <= limit {
        return;
    }
    let left_out = reasons.split_off(limit);
    if let Some(worst) = left_out.first() {
        let text = format!("{} more reasons concern every program of the object", left_out.len());
        reasons.push(Reason::new(worst.kind, worst.verdict, text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{ReasonKind, Verdict};

    fn reason(verdict: Verdict, text: impl Into<String>) -> Reason {
        Reason::new(ReasonKind::MapType, verdict, text)
    }

    #[test]
    fn equal_reasons_are_one_and_the_worst_is_first() {
        let reasons = distinct(vec![
            reason(Verdict::Unknown, "a"),
            reason(Verdict::Refused, "b"),
            reason(Verdict::Unknown, "a"),
            reason(Verdict::NeedsInput, "c"),
        ]);
        let texts: Vec<_> = reasons.iter().map(|reason| &*reason.text).collect();
        assert_eq!(texts, ["b", "c", "a"]);
    }

    #[test]
    fn repeated_reasons_are_limited_and_counted() {
        let many = |n: usize| {
            let mut reasons = vec![reason(Verdict::Refused, "worst")];
            reasons.extend((1..n).map(|at| reason(Verdict::Unknown, at.to_string())));
            reasons
        };
        let limited = |n: usize, program_count: usize| {
            let mut reasons = many(n);
            limit_reasons(&mut reasons, program_count);
            reasons
        };
        assert_eq!(limited(100, 1), many(100));
        assert_eq!(limited(100, 0), many(100));
        assert_eq!(limited(REPEATED_REASONS, 1), many(REPEATED_REASONS));
        let two = limited(100, REPEATED_REASONS);
        assert_eq!(two.len(), 2);
        assert_eq!(two.first().map(|reason| &*reason.text), Some("worst"));
        let last = two.last().map(|reason| (reason.verdict, &*reason.text));
        assert_eq!(last, Some((Verdict::Unknown, "99 more reasons concern every program of the object")));
        assert_eq!(limited(100, 2 * REPEATED_REASONS).len(), 2);
    }
}
