//! The records as words, with names that are equal where their text is.

use crate::{
    btf::{Btf, Builder, Import, ImportError, Kind, kind::Info},
    ids::{to_u32, to_usize},
};
use alloc::vec::Vec;

/// Every record of a BTF, `void` as the first.
pub(super) struct Records {
    words: Vec<u32>,
    /// Where each record begins in `words`, and the end of the last.
    starts: Vec<u32>,
}

impl Records {
    /// Reads a BTF's types; their names go to `strings`, in order (libbpf: `btf_dedup_strings`).
    pub(super) fn read(btf: &Btf<'_>, strings: &mut Builder) -> Result<Self, ImportError> {
        let mut import = Import::new(btf);
        let mut words = Vec::from([0, 0, 0]);
        let mut starts = Vec::from([0, 3]);
        for ty in btf.types() {
            words.extend(import.words(strings, ty, |id| id)?);
            starts.push(to_u32(words.len()));
        }
        Ok(Self { words, starts })
    }

    /// One past the last id.
    pub(super) fn end(&self) -> u32 {
        to_u32(self.starts.len().saturating_sub(1))
    }

    /// The record of a type; `void`'s if there is none of this id.
    pub(super) fn get(&self, id: u32) -> Record<'_> {
        let words = || self.words.get(self.range(id)?);
        Record(words().unwrap_or(&[0, 0, 0]))
    }

    pub(super) fn set_word(&mut self, id: u32, at: usize, value: u32) {
        let range = self.range(id);
        if let Some(word) = range.and_then(|r| self.words.get_mut(r)?.get_mut(at)) {
            *word = value;
        }
    }

    fn range(&self, id: u32) -> Option<core::ops::Range<usize>> {
        let id = to_usize(id);
        Some(to_usize(*self.starts.get(id)?)..to_usize(*self.starts.get(id.checked_add(1)?)?))
    }
}

/// A record as words: name, info, size or type, and what follows.
#[derive(Clone, Copy)]
pub(super) struct Record<'r>(&'r [u32]);

impl<'r> Record<'r> {
    pub(super) fn words(self) -> &'r [u32] {
        self.0
    }

    pub(super) fn word(self, at: usize) -> u32 {
        self.0.get(at).copied().unwrap_or_default()
    }

    pub(super) fn name(self) -> u32 {
        self.word(0)
    }

    pub(super) fn kind(self) -> Kind {
        Info(self.word(1)).kind()
    }

    /// Number of elements, as the record has them.
    pub(super) fn vlen(self) -> u32 {
        Info(self.word(1)).vlen()
    }

    /// Name and info: all of a record but what it refers to, if it refers to one type.
    pub(super) fn head(self) -> &'r [u32] {
        self.0.get(..2).unwrap_or_default()
    }

    /// Name, info and the word after them.
    pub(super) fn common(self) -> &'r [u32] {
        self.0.get(..3).unwrap_or_default()
    }

    /// What a FWD declares.
    pub(super) fn declares(self) -> Kind {
        if Info(self.word(1)).kflag() { Kind::Union } else { Kind::Struct }
    }

    pub(super) fn is_forward_enum(self) -> bool {
        self.kind().is_enum() && self.vlen() == 0
    }

    /// A VAR or DATASEC is one of its kind, whatever it is like.
    pub(super) fn is_never_shared(self) -> bool {
        matches!(self.kind(), Kind::Void | Kind::Var | Kind::Datasec)
    }

    /// Elements of a struct or union: name, type, offset.
    pub(super) fn members(self) -> impl DoubleEndedIterator<Item = [u32; 3]> + ExactSizeIterator + 'r {
        let (members, _) = self.0.get(3..).unwrap_or_default().as_chunks::<3>();
        members.iter().copied()
    }

    /// Elements of a function: name, type.
    pub(super) fn params(self) -> impl DoubleEndedIterator<Item = [u32; 2]> + ExactSizeIterator + 'r {
        let (params, _) = self.0.get(3..).unwrap_or_default().as_chunks::<2>();
        params.iter().copied()
    }

    /// Two structs or unions that differ in the types of their members at most (libbpf: `btf_shallow_equal_struct`).
    pub(super) fn is_like_composite(self, other: Self) -> bool {
        let told = |r: Self| r.members().map(|[name, _, offset]| (name, offset));
        self.common() == other.common() && told(self).eq(told(other))
    }

    /// Two arrays that differ in the types of element and index at most (libbpf: `btf_compat_array`).
    pub(super) fn is_like_array(self, other: Self) -> bool {
        self.common() == other.common() && self.word(5) == other.word(5)
    }

    /// Two functions that differ in the types of parameters and result at most (libbpf: `btf_compat_fnproto`).
    pub(super) fn is_like_function(self, other: Self) -> bool {
        let names = |r: Self| r.params().map(|[name, _]| name);
        self.head() == other.head() && names(self).eq(names(other))
    }

    /// Two enums that are equal, or of which one is declared only (libbpf: `btf_compat_enum`).
    pub(super) fn is_like_enum(self, other: Self) -> bool {
        if self.is_forward_enum() || other.is_forward_enum() {
            return self.name() == other.name() && self.kind().is_enum() && other.kind().is_enum();
        }
        self.0 == other.0
    }
}
