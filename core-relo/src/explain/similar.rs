//! The edit distance between two names: letters that are inserted, missing, replaced, or exchanged with their
//! neighbour.

use crate::index::to_usize;
use alloc::boxed::Box;

/// The length of the longest names that are compared. The algorithm needs one bit of a 64-bit word for each
/// byte.
pub(super) const COMPARED_BYTES: usize = 64;

/// A name without the underscores at its ends, prepared for comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct BareName<'n> {
    bytes: &'n [u8],
    /// The set of bytes in the name, with a bit for each residue modulo 64. Each byte in only one of two
    /// names costs an edit.
    letters: u64,
}

impl<'n> BareName<'n> {
    /// Prepares a name. Returns `None` for a name longer than [`COMPARED_BYTES`].
    pub(super) fn new(name: &'n [u8]) -> Option<Self> {
        if name.len() > COMPARED_BYTES {
            return None;
        }
        let bytes = trim_underscores(name);
        let letters = bytes.iter().fold(0u64, |letters, byte| letters | 1u64.rotate_left(u32::from(*byte)));
        Some(Self { bytes, letters })
    }

    /// Returns the words of the name, which underscores separate.
    pub(super) fn words(&self) -> impl Iterator<Item = &'n [u8]> + Clone + use<'n> {
        self.bytes.split(|byte| *byte == b'_').filter(|word| !word.is_empty())
    }
}

/// Returns a name without the underscores at its ends.
fn trim_underscores(mut name: &[u8]) -> &[u8] {
    while let [b'_', rest @ ..] | [rest @ .., b'_'] = name {
        name = rest;
    }
    name
}

/// A name that is prepared for comparison with many other names.
#[derive(Debug)]
pub(super) struct NamePattern<'n> {
    name: BareName<'n>,
    /// For each byte, a bit for each position at which the name has it.
    positions: Box<[u64; 256]>,
    /// The bit of the last position.
    last: u64,
}

impl<'n> NamePattern<'n> {
    /// Prepares a name. Returns `None` for a name longer than [`COMPARED_BYTES`].
    pub(super) fn new(name: &'n [u8]) -> Option<Self> {
        let name = BareName::new(name)?;
        let mut positions = Box::new([0u64; 256]);
        let mut last = 1u64.rotate_right(1);
        for byte in name.bytes {
            last = last.rotate_left(1);
            if let Some(positions) = positions.get_mut(usize::from(*byte)) {
                *positions |= last;
            }
        }
        Some(Self { name, positions, last })
    }

    /// Returns the edit distance of the names, or `None` if it is too large for names of this length.
    ///
    /// The distance is 0 if the names differ only in underscores at the ends.
    pub(super) fn distance(&self, other: &BareName<'_>) -> Option<usize> {
        let (own_len, other_len) = (self.name.bytes.len(), other.bytes.len());
        if own_len == 0 || other_len == 0 {
            return (own_len == other_len).then_some(0);
        }
        let max_distance = (own_len.max(other_len) / 3).max(1);
        let missing_count = |first: u64, second: u64| to_usize((first & !second).count_ones());
        let (letters, other_letters) = (self.name.letters, other.letters);
        let min_distance = missing_count(letters, other_letters).max(missing_count(other_letters, letters));
        if own_len.abs_diff(other_len) > max_distance || min_distance > max_distance {
            return None;
        }
        Some(self.edits(other.bytes)).filter(|edits| *edits <= max_distance)
    }

    /// Computes the optimal string alignment distance to `other` with the bit-parallel algorithm of Hyyrö
    /// (2003). The name must not be empty.
    fn edits(&self, other: &[u8]) -> usize {
        let mut edits = self.name.bytes.len();
        // The rows whose value is one more, and one less, than the value above.
        let (mut more, mut less) = (u64::MAX, 0u64);
        // The rows whose value equals that of the row above in the column before, and the positions of the
        // byte before.
        let (mut diagonal, mut last_equal) = (0u64, 0u64);
        for byte in other {
            let equal = self.positions.get(usize::from(*byte)).map_or(0, |positions| *positions);
            let exchanged = ((!diagonal & equal) << 1) & last_equal;
            diagonal = ((equal & more).wrapping_add(more) ^ more) | equal | less | exchanged;
            let (right_more, right_less) = (less | !(diagonal | more), more & diagonal);
            if right_more & self.last != 0 {
                // The distance is at most the longer name's length.
                edits = edits.wrapping_add(1);
            } else if right_less & self.last != 0 {
                edits = edits.wrapping_sub(1);
            }
            let (right_more, right_less) = (right_more << 1 | 1, right_less << 1);
            more = right_less | !(diagonal | right_more);
            less = right_more & diagonal;
            last_equal = equal;
        }
        edits
    }
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers")]
mod tests {
    use super::*;
    use alloc::{vec, vec::Vec};

    fn distance(a: &[u8], b: &[u8]) -> Option<usize> {
        NamePattern::new(a)?.distance(&BareName::new(b)?)
    }

    /// Computes the distance with the textbook's table, row by row.
    fn edits(a: &[u8], b: &[u8]) -> usize {
        let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
        for (i, x) in a.iter().enumerate() {
            let mut row = vec![i + 1];
            for (j, y) in b.iter().enumerate() {
                let replaced = rows[i][j] + usize::from(x != y);
                let mut least = replaced.min(row[j].min(rows[i][j + 1]) + 1);
                if i > 0 && j > 0 && a[i - 1] == *y && b[j - 1] == *x {
                    least = least.min(rows[i - 1][j - 1] + 1);
                }
                row.push(least);
            }
            rows.push(row);
        }
        rows[a.len()][b.len()]
    }

    #[test]
    fn underscores_at_the_ends_do_not_count_and_distant_names_have_no_distance() {
        assert_eq!(distance(b"__state", b"state"), Some(0));
        assert_eq!(distance(b"state_", b"__state"), Some(0));
        assert_eq!(distance(b"sk_refcnt", b"sk_refcnts"), Some(1));
        assert_eq!(distance(b"state", b"sttae"), Some(1));
        assert_eq!(distance(b"start_time", b"stime"), None);
        assert_eq!(distance(b"rss_stat", b"pgd"), None);
        assert_eq!(distance(b"", b"x"), None);
        assert_eq!(distance(b"__", b"_"), Some(0));
        assert_eq!(distance(&[b'a'; 64], &[b'a'; 64]), Some(0));
        assert_eq!(distance(&[b'a'; 64], &[b'a'; 65]), None);
    }

    #[test]
    fn the_distance_is_that_of_the_textbook() {
        let mut seed = 1u32;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) % below
        };
        let mut near = 0;
        for round in 0..20_000u32 {
            let letters = 1 + round % 7;
            let name = |random: &mut dyn FnMut(u32) -> u32| -> Vec<u8> {
                (0..random(65)).map(|_| b'a' + u8::try_from(random(letters)).unwrap()).collect()
            };
            let first = name(&mut random);
            let mut second = name(&mut random);
            if round % 2 == 0 {
                second.clone_from(&first);
                for _ in 0..random(8) {
                    let at = usize::try_from(random(u32::try_from(second.len()).unwrap() + 1)).unwrap();
                    match random(4) {
                        3 if at + 1 < second.len() => second.swap(at, at + 1),
                        0 if at < second.len() => second[at] = b'z',
                        1 if at < second.len() => _ = second.remove(at),
                        _ if second.len() < COMPARED_BYTES => second.insert(at, b'y'),
                        _ => {}
                    }
                }
            }
            let expected = match (first.len(), second.len()) {
                (0, 0) => Some(0),
                (0, _) | (_, 0) => None,
                (own, len) => {
                    Some(edits(&first, &second)).filter(|edits| *edits <= (own.max(len) / 3).max(1))
                }
            };
            assert_eq!(distance(&first, &second), expected, "{first:?} {second:?}");
            near += usize::from(expected.is_some());
        }
        assert!(near > 5_000, "too max_distance names are near: {near}");
    }
}
