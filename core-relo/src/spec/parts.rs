//! A list for the parts of an access, so that records need no memory of their own.

use alloc::vec::Vec;
use core::{fmt, ops::Deref, slice};

/// Parts that have their place in the list itself. Of the accesses of real objects hardly one in a thousand has more.
const FEW: usize = 6;

/// The parts of an access: a list that asks for memory only if it is a long one.
#[derive(Clone)]
pub struct Parts<T>(Held<T>);

#[derive(Clone)]
enum Held<T> {
    Few { parts: [T; FEW], len: u8 },
    Many(Vec<T>),
}

impl<T: Copy + Default> Parts<T> {
    pub(crate) fn new() -> Self {
        Self(Held::Few { parts: [T::default(); FEW], len: 0 })
    }

    pub(crate) fn push(&mut self, part: T) {
        match &mut self.0 {
            Held::Many(parts) => parts.push(part),
            Held::Few { parts, len } => match parts.get_mut(usize::from(*len)) {
                Some(place) => (*place, *len) = (part, len.saturating_add(1)),
                None => self.0 = Held::Many(parts.iter().copied().chain([part]).collect()),
            },
        }
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let last = self.last().copied()?;
        match &mut self.0 {
            Held::Few { len, .. } => *len = len.saturating_sub(1),
            Held::Many(parts) => parts.truncate(parts.len().saturating_sub(1)),
        }
        Some(last)
    }
}

impl<T> Deref for Parts<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Held::Few { parts, len } => parts.get(..usize::from(*len)).unwrap_or_default(),
            Held::Many(parts) => parts,
        }
    }
}

impl<T: Copy + Default> Default for Parts<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: PartialEq> PartialEq for Parts<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Parts<T> {}

impl<T: PartialEq> PartialEq<[T]> for Parts<T> {
    fn eq(&self, other: &[T]) -> bool {
        **self == *other
    }
}

impl<T: PartialEq, const N: usize> PartialEq<[T; N]> for Parts<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        **self == *other
    }
}

impl<T: fmt::Debug> fmt::Debug for Parts<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Copy + Default> FromIterator<T> for Parts<T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        let mut parts = Self::new();
        all.into_iter().for_each(|part| parts.push(part));
        parts
    }
}

impl<'p, T> IntoIterator for &'p Parts<T> {
    type Item = &'p T;
    type IntoIter = slice::Iter<'p, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    /// Where a list begins to need memory nothing else may change.
    #[test]
    fn a_list_is_the_same_as_a_vector_at_any_length() {
        let mut parts = Parts::new();
        let mut vector = Vec::new();
        assert_eq!(parts, [0u32; 0]);
        for n in 0..20u32 {
            parts.push(n);
            vector.push(n);
            assert_eq!(parts, *vector);
            assert_eq!(parts, vector.iter().copied().collect::<Parts<_>>());
            assert_eq!(format!("{parts:?}"), format!("{vector:?}"));
        }
        for _ in 0..21 {
            assert_eq!(parts.pop(), vector.pop());
            assert_eq!(parts, *vector);
            assert_eq!(
                parts,
                vector.iter().copied().collect::<Parts<_>>(),
                "by its parts, however they are held"
            );
        }
    }
}
