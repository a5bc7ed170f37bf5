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
    Inline { items: [T; INLINE], len: u8 },
    Heap(Vec<T>),
}

impl<T: Copy + Default> InlineVec<T> {
    pub(crate) fn new() -> Self {
        Self(Storage::Inline { items: [T::default(); INLINE], len: 0 })
    }

    pub(crate) fn push(&mut self, item: T) {
        match &mut self.0 {
            Storage::Heap(items) => items.push(item),
            Storage::Inline { items, len } => match items.get_mut(usize::from(*len)) {
                // The length is less than INLINE here.
                Some(free) => (*free, *len) = (item, len.wrapping_add(1)),
                None => self.0 = Storage::Heap(items.iter().copied().chain([item]).collect()),
            },
        }
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        match &mut self.0 {
            Storage::Heap(items) => items.pop(),
            Storage::Inline { items, len } => {
                *len = len.checked_sub(1)?;
                items.get(usize::from(*len)).copied()
            }
        }
    }
}

impl<T> Deref for InlineVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            // The length is at most INLINE.
            Storage::Inline { items, len } => items.get(..usize::from(*len)).unwrap_or(items),
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

    /// The change to heap memory at some length changes nothing else.
    #[test]
    fn a_list_is_the_same_as_a_vector_at_any_length() {
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
                "equal by items, wherever they are stored"
            );
        }
    }
}
