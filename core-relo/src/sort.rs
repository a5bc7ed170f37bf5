//! Sorts and ordered collections with small machine code, for lists that are short or rarely sorted.
//!
//! The compiler makes one sort of the standard library per type of element and comparison, of about 3,000 bytes. These functions share one
//! sort, which sorts positions.

use alloc::vec::Vec;
use core::cmp::Ordering;

/// Sorts elements. Equal elements keep their order.
pub fn sort<T: Ord>(elements: &mut [T]) {
    sort_by(elements, T::cmp);
}

/// Sorts elements by a key. Elements with equal keys keep their order.
pub fn sort_by_key<T, K: Ord>(elements: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(elements, |a, b| key(a).cmp(&key(b)));
}

/// Sorts elements by a comparison. Equal elements keep their order.
pub fn sort_by<T>(elements: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    #[expect(clippy::indexing_slicing, reason = "both are positions of elements")]
    let swaps = swaps_that_sort(elements.len(), &|a, b| compare(&elements[a], &elements[b]));
    for (position, other) in swaps.into_iter().enumerate() {
        elements.swap(position, other);
    }
}

/// Collects elements into a `BTreeMap` or a `BTreeSet`, one by one. Their `collect` has a sort for each type.
pub fn collect_ordered<C: Default + Extend<T>, T>(elements: impl IntoIterator<Item = T>) -> C {
    let mut collection = C::default();
    collection.extend(elements);
    collection
}

/// Returns, for each position in turn, the position of the element to exchange with. Empty if the elements are sorted.
#[inline(never)]
#[expect(clippy::indexing_slicing, reason = "the elements of `order` are its positions")]
fn swaps_that_sort(len: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    if (1..len).zip(0..).all(|(next, position)| compare(position, next).is_le()) {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by(|a, b| compare(*a, *b));
    for position in 0..len {
        // An element whose position is already sorted has moved to where that position's own element came from.
        let mut other = order[position];
        while other < position {
            other = order[other];
        }
        order[position] = other;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{
        collections::{BTreeMap, BTreeSet},
        string::{String, ToString as _},
    };

    #[test]
    fn agrees_with_the_standard_library() {
        for len in 0..70_u32 {
            for step in [1, 3, 7, 30, 64, 101] {
                let unsorted: Vec<(String, u32)> =
                    (0..len).map(|n| ((n * step % 67 / 3).to_string(), n)).collect();
                let (mut ours, mut expected) = (unsorted.clone(), unsorted.clone());
                sort(&mut ours);
                expected.sort();
                assert_eq!(ours, expected);
                let (mut ours, mut expected) = (unsorted.clone(), unsorted);
                sort_by_key(&mut ours, |(text, _)| text.len());
                expected.sort_by_key(|(text, _)| text.len());
                assert_eq!(ours, expected, "elements with equal keys keep their order");
            }
        }
    }

    #[test]
    fn collections_agree_with_the_standard_library() {
        let pairs = [(3, 'a'), (1, 'b'), (3, 'c'), (2, 'd')];
        let ours: BTreeMap<_, _> = collect_ordered(pairs);
        assert_eq!(ours, pairs.into_iter().collect::<BTreeMap<_, _>>(), "the last value of a key counts");
        let ours: BTreeSet<_> = collect_ordered(pairs);
        assert_eq!(ours, pairs.into_iter().collect::<BTreeSet<_>>());
    }
}
