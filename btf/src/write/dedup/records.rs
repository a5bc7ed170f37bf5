//! Records as words. Equal names have equal offsets.

use super::error::DedupError;
use crate::{
    data::rest_from,
    format::{Info, Kind},
    ids::{to_u32, to_usize},
    parse::Btf,
    write::{builder::Builder, import::Importer},
};
use alloc::vec::Vec;
use core::hash::Hasher;

/// The error for a type without a record.
const NO_RECORD: DedupError = DedupError::Internal { invariant: "every type of the BTF has a record" };

/// The error for a record without the words of its kind.
pub(super) const SHORT_RECORD: DedupError =
    DedupError::Internal { invariant: "every record has the words of its kind" };

/// The records of a BTF and of its bases, with `void` as the first. Every type to which a record refers has a
/// record.
pub(super) struct Records {
    words: Vec<u32>,
    /// The start of each record in `words`, and the end of the last.
    starts: Vec<u32>,
}

impl Records {
    /// Reads the types of a BTF and of its bases, and adds their names to `strings`, in order (libbpf:
    /// `btf_dedup_strings`).
    pub(super) fn read(btf: &Btf<'_>, strings: &mut Builder) -> Result<Self, DedupError> {
        let mut importer = Importer::new(btf);
        let mut words = Vec::from([0, 0, 0]);
        let mut starts = Vec::from([0, 3]);
        for ty in btf.all_types() {
            let mut missing = None;
            let copied = importer.copy_words(strings, ty, |id| {
                missing = missing.or((id >= btf.end_id()).then_some(id));
                id
            })?;
            if let Some(target) = missing {
                return Err(DedupError::NoType { id: ty.id(), target });
            }
            words.extend(copied);
            starts.push(to_u32(words.len()));
        }
        Ok(Self { words, starts })
    }

    /// Returns one past the last id.
    pub(super) fn end(&self) -> u32 {
        to_u32(self.starts.len().saturating_sub(1))
    }

    /// Returns the record of a type.
    pub(super) fn get(&self, id: u32) -> Result<Record<'_>, DedupError> {
        let words = self.range(id).and_then(|range| self.words.get(range)).ok_or(NO_RECORD)?;
        Ok(Record { words, common: words.first_chunk().ok_or(SHORT_RECORD)? })
    }

    /// Returns the position of a record in the words of all records.
    pub(super) fn start(&self, id: u32) -> Result<usize, DedupError> {
        self.range(id).map(|range| range.start).ok_or(NO_RECORD)
    }

    /// Returns a word of all records.
    pub(super) fn word_at(&self, position: usize) -> Result<u32, DedupError> {
        self.words.get(position).copied().ok_or(NO_RECORD)
    }

    pub(super) fn set_word(&mut self, id: u32, at: usize, value: u32) -> Result<(), DedupError> {
        let word = self.range(id).and_then(|range| self.words.get_mut(range)?.get_mut(at));
        *word.ok_or(NO_RECORD)? = value;
        Ok(())
    }

    fn range(&self, id: u32) -> Option<core::ops::Range<usize>> {
        let id = to_usize(id);
        Some(to_usize(*self.starts.get(id)?)..to_usize(*self.starts.get(id.checked_add(1)?)?))
    }
}

/// A record as words: name, info, size or type, and the words that depend on the kind.
#[derive(Clone, Copy)]
pub(super) struct Record<'r> {
    words: &'r [u32],
    /// The words of `struct btf_type`: name, info, and size or type.
    common: &'r [u32; 3],
}

impl<'r> Record<'r> {
    pub(super) fn words(self) -> &'r [u32] {
        self.words
    }

    pub(super) fn word(self, at: usize) -> Result<u32, DedupError> {
        self.words.get(at).copied().ok_or(SHORT_RECORD)
    }

    pub(super) fn name(self) -> u32 {
        self.common[0]
    }

    fn info(self) -> Info {
        Info(self.common[1])
    }

    /// Returns the number of elements of an array.
    pub(super) fn array_len(self) -> Option<u32> {
        self.words.get(5).copied()
    }

    pub(super) fn kind(self) -> Kind {
        self.info().kind()
    }

    /// Returns whether another type has the same key: the words in which equal types agree, whatever the
    /// types to which they refer (libbpf: `btf_hash_common` and others).
    pub(super) fn has_key_of(self, other: Self) -> bool {
        match self.kind() {
            // A forward-declared enum has the key of its definition.
            Kind::Enum | Kind::Enum64 => other.kind().is_enum() && self.name() == other.name(),
            Kind::Typedef => self.name_and_info() == other.name_and_info(),
            Kind::Struct | Kind::Union => self.is_like_composite(other),
            _ => self.words == other.words,
        }
    }

    /// Hashes the key.
    pub(super) fn hash_key(self, hasher: &mut impl Hasher) {
        let mut add = |words: &[u32]| words.iter().for_each(|word| hasher.write_u32(*word));
        match self.kind() {
            Kind::Enum | Kind::Enum64 => add(&[self.name()]),
            Kind::Typedef => add(&self.name_and_info()),
            Kind::Struct | Kind::Union => {
                add(self.common);
                self.members().for_each(|[name, _, offset]| add(&[name, offset]));
            }
            _ => add(self.words),
        }
    }

    /// Returns the number of elements.
    pub(super) fn vlen(self) -> u32 {
        self.info().vlen()
    }

    /// Returns the first two words: name and info.
    pub(super) fn name_and_info(self) -> [u32; 2] {
        [self.common[0], self.common[1]]
    }

    /// Returns the words of `struct btf_type`: name, info, and size or type.
    pub(super) const fn common(self) -> &'r [u32; 3] {
        self.common
    }

    /// Returns the kind that a FWD declares.
    pub(super) fn declared_kind(self) -> Kind {
        if self.info().kflag() { Kind::Union } else { Kind::Struct }
    }

    pub(super) fn is_forward_enum(self) -> bool {
        self.kind().is_enum() && self.vlen() == 0
    }

    /// Returns whether the type is never merged with an equal type: `void`, a VAR or a DATASEC.
    pub(super) fn is_never_merged(self) -> bool {
        matches!(self.kind(), Kind::Void | Kind::Var | Kind::Datasec)
    }

    /// Returns the members of a struct or union: name, type, offset.
    pub(super) fn members(self) -> impl DoubleEndedIterator<Item = [u32; 3]> + ExactSizeIterator + 'r {
        let (members, _) = rest_from(self.words, self.common.len()).as_chunks::<3>();
        members.iter().copied()
    }

    /// Returns the parameters of a function: name, type.
    pub(super) fn params(self) -> impl DoubleEndedIterator<Item = [u32; 2]> + ExactSizeIterator + 'r {
        let (params, _) = rest_from(self.words, self.common.len()).as_chunks::<2>();
        params.iter().copied()
    }

    /// Returns whether two structs or unions are equal except for the types of their members (libbpf:
    /// `btf_shallow_equal_struct`).
    pub(super) fn is_like_composite(self, other: Self) -> bool {
        let layout = |r: Self| r.members().map(|[name, _, offset]| (name, offset));
        self.common() == other.common() && layout(self).eq(layout(other))
    }

    /// Returns whether two arrays are equal except for the types of element and index (libbpf:
    /// `btf_compat_array`).
    pub(super) fn is_like_array(self, other: Self) -> bool {
        self.common() == other.common() && self.array_len() == other.array_len()
    }

    /// Returns whether two functions are equal except for the types of parameters and result (libbpf:
    /// `btf_compat_fnproto`).
    pub(super) fn is_like_function(self, other: Self) -> bool {
        let names = |r: Self| r.params().map(|[name, _]| name);
        self.name_and_info() == other.name_and_info() && names(self).eq(names(other))
    }

    /// Returns whether two enums are equal, or one of them is a forward declaration (libbpf:
    /// `btf_compat_enum`).
    pub(super) fn is_like_enum(self, other: Self) -> bool {
        if self.is_forward_enum() || other.is_forward_enum() {
            return self.name() == other.name() && self.kind().is_enum() && other.kind().is_enum();
        }
        self.words == other.words
    }
}

#[cfg(test)]
mod tests {
    use super::{Records, SHORT_RECORD};
    use alloc::vec::Vec;

    /// Missing words were read as zeros, so types that differ in them were merged.
    #[test]
    fn a_record_without_its_words_is_an_error() {
        let records = Records { words: Vec::from([1, 0, 3, 4]), starts: Vec::from([0, 2, 4]) };
        assert_eq!(records.get(0).err(), Some(SHORT_RECORD));
        let records = Records { words: Vec::from([1, 0, 3]), starts: Vec::from([0, 3]) };
        assert_eq!(records.get(0).unwrap().word(3), Err(SHORT_RECORD));
    }
}
