//! How far one name is from another.

use alloc::{boxed::Box, vec};

/// Names longer than this are not compared: one bit of a word stands for each byte.
const LONGEST: usize = 64;

/// A name without the underscores at its ends, prepared to be compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bare<'n> {
    bytes: &'n [u8],
    /// The letters that occur, a bit for each residue of 64: two names differ in at least as many places as in letters.
    letters: u64,
}

impl<'n> Bare<'n> {
    /// Prepares a name; `None` if it is too long to be compared.
    pub(super) fn new(name: &'n [u8]) -> Option<Self> {
        if name.len() > LONGEST {
            return None;
        }
        let from = name.iter().position(|b| *b != b'_').unwrap_or(name.len());
        let name = name.get(from..)?;
        let upto = name.iter().rposition(|b| *b != b'_').map_or(0, |at| at.saturating_add(1));
        let bytes = name.get(..upto)?;
        let letters = bytes.iter().fold(0u64, |letters, byte| letters | 1u64.rotate_left(u32::from(*byte)));
        Some(Self { bytes, letters })
    }
}

/// A name that others are compared with.
#[derive(Debug)]
pub(super) struct Pattern<'n> {
    name: Bare<'n>,
    /// For each byte, the places at which the name has it.
    places: Box<[u64]>,
}

impl<'n> Pattern<'n> {
    /// Prepares a name; `None` if it is too long to be compared.
    pub(super) fn new(name: &'n [u8]) -> Option<Self> {
        let name = Bare::new(name)?;
        let mut places = vec![0u64; 256].into_boxed_slice();
        let mut place = 1u64;
        for byte in name.bytes {
            if let Some(places) = places.get_mut(usize::from(*byte)) {
                *places |= place;
            }
            place <<= 1;
        }
        Some(Self { name, places })
    }

    /// Edits from one name to the other, if they are few for its length: 0 if they differ in underscores at the ends alone.
    pub(super) fn distance(&self, other: &Bare<'_>) -> Option<usize> {
        let (own, other_len) = (self.name.bytes.len(), other.bytes.len());
        if own == 0 || other_len == 0 {
            return (own == other_len).then_some(0);
        }
        let few = (own.max(other_len) / 3).max(1);
        let only = |one: u64, other: u64| usize::try_from((one & !other).count_ones()).unwrap_or(usize::MAX);
        let (letters, other_letters) = (self.name.letters, other.letters);
        let at_least = only(letters, other_letters).max(only(other_letters, letters));
        if own.abs_diff(other_len) > few || at_least > few {
            return None;
        }
        Some(self.edits(other.bytes)).filter(|edits| *edits <= few)
    }

    /// Levenshtein's distance to `other`, a column of the table at once (Myers 1999, Hyyrö 2003). The name is not empty.
    fn edits(&self, other: &[u8]) -> usize {
        let mut edits = self.name.bytes.len();
        let last = 1u64 << edits.saturating_sub(1).min(LONGEST.saturating_sub(1));
        // Where a column's value is one more, and one less, than the one above it.
        let (mut more, mut less) = (u64::MAX, 0u64);
        for byte in other {
            let equal = self.places.get(usize::from(*byte)).copied().unwrap_or_default();
            let down = equal | less;
            let diagonal = ((equal & more).wrapping_add(more) ^ more) | equal;
            let (right_more, right_less) = (less | !(diagonal | more), more & diagonal);
            if right_more & last != 0 {
                edits = edits.saturating_add(1);
            } else if right_less & last != 0 {
                edits = edits.saturating_sub(1);
            }
            let (right_more, right_less) = (right_more << 1 | 1, right_less << 1);
            more = right_less | !(down | right_more);
            less = right_more & down;
        }
        edits
    }
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "numbers of the test's own")]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn distance(a: &[u8], b: &[u8]) -> Option<usize> {
        Pattern::new(a)?.distance(&Bare::new(b)?)
    }

    /// The textbook's table, row by row.
    fn edits(a: &[u8], b: &[u8]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut diagonal = i;
            row[0] = i + 1;
            for (j, y) in b.iter().enumerate() {
                let replaced = diagonal + usize::from(x != y);
                diagonal = row[j + 1];
                row[j + 1] = replaced.min(row[j].min(diagonal) + 1);
            }
        }
        row[b.len()]
    }

    #[test]
    fn underscores_count_for_nothing_and_far_names_are_not_near() {
        assert_eq!(distance(b"__state", b"state"), Some(0));
        assert_eq!(distance(b"state_", b"__state"), Some(0));
        assert_eq!(distance(b"sk_refcnt", b"sk_refcnts"), Some(1));
        assert_eq!(distance(b"start_time", b"stime"), None);
        assert_eq!(distance(b"rss_stat", b"pgd"), None);
        assert_eq!(distance(b"", b"x"), None);
        assert_eq!(distance(b"__", b"_"), Some(0));
        assert_eq!(distance(&[b'a'; 64], &[b'a'; 64]), Some(0));
        assert_eq!(distance(&[b'a'; 64], &[b'a'; 65]), None);
    }

    #[test]
    fn words_of_bits_give_the_distance_of_the_textbook() {
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
            let one = name(&mut random);
            let mut other = name(&mut random);
            if round % 2 == 0 {
                other.clone_from(&one);
                for _ in 0..random(8) {
                    let at = usize::try_from(random(u32::try_from(other.len()).unwrap() + 1)).unwrap();
                    match random(3) {
                        0 if at < other.len() => other[at] = b'z',
                        1 if at < other.len() => _ = other.remove(at),
                        _ if other.len() < LONGEST => other.insert(at, b'y'),
                        _ => {}
                    }
                }
            }
            let expected = match (one.len(), other.len()) {
                (0, 0) => Some(0),
                (0, _) | (_, 0) => None,
                (own, len) => Some(edits(&one, &other)).filter(|edits| *edits <= (own.max(len) / 3).max(1)),
            };
            assert_eq!(distance(&one, &other), expected, "{one:?} {other:?}");
            near += usize::from(expected.is_some());
        }
        assert!(near > 5_000, "else this test shows little: {near}");
    }
}
