//! A list for the parts of an access, which stores short lists inline.

use alloc::vec::Vec;
use core::{fmt, ops::Deref, slice};

/// The number of items that are stored inline. Hardly one access of a real object in a thousand has more.
const INLINE: usize = 6;

/// A list that allocates memory only if it has more than six items.
#[derive(Clone)]
pub struct InlineVec<T>(Storage<T>);

#[derive(Clone)]
enum Storage<T> {
    Inline { items: [T; INLINE], len: InlineLen },
    Heap(Vec<T>),
}

/// The length of an inline list. The type excludes lengths above [`INLINE`].
#[derive(Clone, Copy)]
enum InlineLen {
    Zero,
    One,
    Two,
    Three,
    Four,
    Five,
    Six,
}

impl<T: Copy + Default> InlineVec<T> {
    pub(crate) fn new() -> Self {
        Self(Storage::Inline { items: [T::default(); INLINE], len: InlineLen::Zero })
    }

    pub(crate) fn push(&mut self, item: T) {
        use InlineLen::{Five, Four, One, Six, Three, Two, Zero};
        let (items, len) = match &mut self.0 {
            Storage::Heap(items) => return items.push(item),
            Storage::Inline { items, len } => (items, len),
        };
        let [first, second, third, fourth, fifth, sixth] = items;
        let (free, new_len) = match len {
            Zero => (first, One),
            One => (second, Two),
            Two => (third, Three),
            Three => (fourth, Four),
            Four => (fifth, Five),
            Five => (sixth, Six),
            Six => {
                self.0 = Storage::Heap(items.iter().copied().chain([item]).collect());
                return;
            }
        };
        (*free, *len) = (item, new_len);
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        use InlineLen::{Five, Four, One, Six, Three, Two, Zero};
        let (items, len) = match &mut self.0 {
            Storage::Heap(items) => return items.pop(),
            Storage::Inline { items, len } => (items, len),
        };
        let [first, second, third, fourth, fifth, sixth] = *items;
        let (last, new_len) = match len {
            Zero => return None,
            One => (first, Zero),
            Two => (second, One),
            Three => (third, Two),
            Four => (fourth, Three),
            Five => (fifth, Four),
            Six => (sixth, Five),
        };
        *len = new_len;
        Some(last)
    }
}

impl<T> Deref for InlineVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        use InlineLen::{Five, Four, One, Six, Three, Two, Zero};
        match &self.0 {
            Storage::Inline { len: Zero, .. } => &[],
            Storage::Inline { len: One, items: [list @ .., _, _, _, _, _] } => list,
            Storage::Inline { len: Two, items: [list @ .., _, _, _, _] } => list,
            Storage::Inline { len: Three, items: [list @ .., _, _, _] } => list,
            Storage::Inline { len: Four, items: [list @ .., _, _] } => list,
            Storage::Inline { len: Five, items: [list @ .., _] } => list,
            Storage::Inline { len: Six, items } => items,
            Storage::Heap(items) => items,
        }
    }
}

impl<T: Copy + Default> Default for InlineVec<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: PartialEq> PartialEq for InlineVec<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for InlineVec<T> {}

impl<T: PartialEq> PartialEq<[T]> for InlineVec<T> {
    fn eq(&self, other: &[T]) -> bool {
        **self == *other
    }
}

impl<T: PartialEq, const N: usize> PartialEq<[T; N]> for InlineVec<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        **self == *other
    }
}

impl<T: fmt::Debug> fmt::Debug for InlineVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Copy + Default> FromIterator<T> for InlineVec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::new();
        items.into_iter().for_each(|item| list.push(item));
        list
    }
}

impl<'v, T> IntoIterator for &'v InlineVec<T> {
    type Item = &'v T;
    type IntoIter = slice::Iter<'v, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    /// The storage, inline or on the heap, has no effect on the contents.
    #[test]
    fn a_list_behaves_like_a_vector_at_any_length() {
        let mut list = InlineVec::new();
        let mut vector = Vec::new();
        assert_eq!(list, [0u32; 0]);
        for n in 0..20u32 {
            list.push(n);
            vector.push(n);
            assert_eq!(list, *vector);
            assert_eq!(list, vector.iter().copied().collect::<InlineVec<_>>());
            assert_eq!(format!("{list:?}"), format!("{vector:?}"));
        }
        for _ in 0..21 {
            assert_eq!(list.pop(), vector.pop());
            assert_eq!(list, *vector);
            assert_eq!(
                list,
                vector.iter().copied().collect::<InlineVec<_>>(),
                "lists with equal items are equal, inline or on the heap"
            );
        }
    }
}
