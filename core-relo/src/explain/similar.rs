//! How far one name is from another.

use alloc::vec::Vec;

/// Names longer than this are not compared.
const LONGEST: usize = 64;

/// Edits from one name to the other, if they are few for its length: 0 if they differ in underscores at the ends alone.
pub(super) fn distance(a: &[u8], b: &[u8]) -> Option<usize> {
    if a.len() > LONGEST || b.len() > LONGEST {
        return None;
    }
    let (bare_a, bare_b) = (bare(a), bare(b));
    if bare_a == bare_b {
        return Some(0);
    }
    if bare_a.is_empty() || bare_b.is_empty() {
        return None;
    }
    let few = (bare_a.len().max(bare_b.len()) / 3).max(1);
    if bare_a.len().abs_diff(bare_b.len()) > few {
        return None;
    }
    Some(edits(bare_a, bare_b)).filter(|edits| *edits <= few)
}

fn bare(name: &[u8]) -> &[u8] {
    let from = name.iter().position(|b| *b != b'_').unwrap_or(name.len());
    let name = name.get(from..).unwrap_or_default();
    let upto = name.iter().rposition(|b| *b != b'_').map_or(0, |at| at.saturating_add(1));
    name.get(..upto).unwrap_or_default()
}

/// Levenshtein's distance.
fn edits(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i.saturating_add(1);
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, y) in row.iter_mut().skip(1).zip(b) {
            let replaced = diagonal.saturating_add(usize::from(x != y));
            let moved = left.min(*cell).saturating_add(1);
            diagonal = *cell;
            left = replaced.min(moved);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn underscores_count_for_nothing_and_far_names_are_not_near() {
        assert_eq!(distance(b"__state", b"state"), Some(0));
        assert_eq!(distance(b"state_", b"__state"), Some(0));
        assert_eq!(distance(b"sk_refcnt", b"sk_refcnts"), Some(1));
        assert_eq!(distance(b"start_time", b"stime"), None);
        assert_eq!(distance(b"rss_stat", b"pgd"), None);
        assert_eq!(distance(b"", b"x"), None);
        assert_eq!(edits(b"kitten", b"sitting"), 3);
        assert_eq!(distance(b"__", b"_"), Some(0));
    }
}
