//! Copies of types from one BTF into a builder.

use super::builder::Builder;
use crate::{
    format::{Info, RecordSize, References, WordMeaning},
    ids::{StrOffset, TypeId, to_usize},
    limits,
    parse::Btf,
    view::Type,
};
use alloc::vec::Vec;
use hashbrown::HashMap;
use thiserror::Error;

/// The reason why a type or a name cannot be copied.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The type's kind is unknown, so that its references cannot be found.
    #[error("type [{id}]: unknown kind {kind}, whose references cannot be found")]
    UnknownKind {
        /// The type.
        id: TypeId,
        /// The raw kind.
        kind: u8,
    },
    /// A name lies outside the string section.
    #[error("string offset {at} lies outside the string section")]
    Name {
        /// The offset.
        at: StrOffset,
    },
    /// The names overlap so much that their copies would exceed [`limits::STRING_COPIES`].
    #[error(
        "names overlap: their copies exceed {} times the {len} bytes of the string section",
        limits::STRING_COPIES
    )]
    OverlappingNames {
        /// The length of the string section in bytes.
        len: usize,
    },
    /// A split BTF is not split from the builder's base.
    #[error("the first type is [{found}], expected [{expected}], the first type after the base")]
    OtherBase {
        /// The first id of the builder.
        expected: TypeId,
        /// The first id of the BTF.
        found: TypeId,
    },
    /// The types of several BTFs are more than a BTF can hold.
    #[error("the types have more than {} bytes together", limits::BTF_BYTES)]
    TooLong,
}

crate::debug_as_message!(ImportError);

/// An importer of types and names from a BTF, and from its base, into a [`Builder`].
///
/// ```
/// use core_relo_btf::{Btf, Builder, Endian, Importer};
/// let mut b = Builder::new(Endian::Little);
/// let int = b.int("int", 4, Builder::SIGNED);
/// b.typedef("pid_t", int);
/// let from = Btf::parse(b.finish()).unwrap();
///
/// let mut to = Builder::new(Endian::Big);
/// let mut importer = Importer::new(&from);
/// for ty in from.types() {
///     importer.copy_type(&mut to, ty, |id| id).unwrap();
/// }
/// let written = Btf::parse(to.finish()).unwrap();
/// assert_eq!(written.find(b"pid_t", core_relo_btf::Kind::Typedef).unwrap().id().0, 2);
/// ```
#[derive(Clone, Debug)]
pub struct Importer<'b> {
    from: &'b Btf<'b>,
    /// The new offset of each copied name, by its old offset.
    copied: HashMap<StrOffset, StrOffset>,
    /// Bytes of names that may still be copied.
    bytes_left: usize,
}

impl<'b> Importer<'b> {
    /// Returns an importer of types from `from`. All copies of one importer go into the same builder.
    pub fn new(from: &'b Btf<'b>) -> Self {
        let bytes_left = to_usize(from.string_end()).saturating_mul(limits::STRING_COPIES);
        Self { from, copied: HashMap::new(), bytes_left }
    }

    /// Copies a name, unless it was copied before, and returns its new offset.
    pub fn copy_name(&mut self, to: &mut Builder, at: StrOffset) -> Result<StrOffset, ImportError> {
        if let Some(new) = self.copied.get(&at) {
            return Ok(*new);
        }
        let name = self.from.name(at).ok_or(ImportError::Name { at })?;
        let len = to_usize(self.from.string_end());
        // The NUL costs a byte, too.
        let left = self.bytes_left.checked_sub(1).and_then(|left| left.checked_sub(name.as_bytes().len()));
        self.bytes_left = left.ok_or(ImportError::OverlappingNames { len })?;
        let new = to.string_bytes(name.as_bytes());
        self.copied.insert(at, new);
        Ok(new)
    }

    /// Copies a type, applies `map_id` to each type id in the record, and returns the new type's id.
    pub fn copy_type(
        &mut self,
        to: &mut Builder,
        ty: Type<'_>,
        map_id: impl FnMut(TypeId) -> TypeId,
    ) -> Result<TypeId, ImportError> {
        self.copy_elements(to, ty, |_| true, map_id)
    }

    /// Copies a type as [`copy_type`](Self::copy_type) does, with those members, enumerators, parameters or
    /// variables whose indices `is_kept` accepts.
    pub fn copy_elements(
        &mut self,
        to: &mut Builder,
        ty: Type<'_>,
        is_kept: impl FnMut(u32) -> bool,
        map_id: impl FnMut(TypeId) -> TypeId,
    ) -> Result<TypeId, ImportError> {
        let words = self.copy_kept_words(to, ty, is_kept, map_id)?;
        Ok(to.record_words(&words))
    }

    /// Copies the names of a type's record, and returns the record's words with new name offsets and mapped
    /// type ids.
    pub(super) fn copy_words(
        &mut self,
        to: &mut Builder,
        ty: Type<'_>,
        map_id: impl FnMut(TypeId) -> TypeId,
    ) -> Result<Vec<u32>, ImportError> {
        self.copy_kept_words(to, ty, |_| true, map_id)
    }

    fn copy_kept_words(
        &mut self,
        to: &mut Builder,
        ty: Type<'_>,
        is_kept: impl FnMut(u32) -> bool,
        mut map_id: impl FnMut(TypeId) -> TypeId,
    ) -> Result<Vec<u32>, ImportError> {
        let unknown = || ImportError::UnknownKind { id: ty.id(), kind: ty.kind().raw() };
        let size = ty.kind().layout().ok_or_else(unknown)?.size();
        let mut words = self.kept_words(ty, size, is_kept);
        for (index, meaning) in References::new(ty.kind(), words.len()) {
            let Some(word) = words.get_mut(index) else { break };
            match meaning {
                WordMeaning::Id => *word = map_id(TypeId(*word)).0,
                WordMeaning::Name => *word = self.copy_name(to, StrOffset(*word))?.0,
                WordMeaning::Value => {}
            }
        }
        Ok(words)
    }

    /// Returns the words of a record without the elements that `is_kept` rejects.
    fn kept_words(&self, ty: Type<'_>, size: RecordSize, mut is_kept: impl FnMut(u32) -> bool) -> Vec<u32> {
        let endian = self.from.endian();
        let trailer = ty.trailer().as_chunks::<4>().0.iter().take(size.trailer_words(ty.vlen()));
        let mut words = Vec::from([ty.name_offset().0, ty.info(), ty.size_or_type()]);
        let (fixed_words, element_words) = (to_usize(size.fixed / 4), to_usize(size.element / 4));
        // Without elements, `vlen` has another meaning.
        if element_words == 0 {
            words.extend(trailer.map(|raw| endian.word(*raw)));
            return words;
        }
        words.extend(trailer.clone().take(fixed_words).map(|raw| endian.word(*raw)));
        let trailer: Vec<_> = trailer.skip(fixed_words).map(|raw| endian.word(*raw)).collect();
        let kept = trailer.chunks(element_words).zip(0..).filter(|(_, index)| is_kept(*index));
        let mut vlen = 0u32;
        for (element, _) in kept {
            words.extend_from_slice(element);
            vlen = vlen.wrapping_add(1);
        }
        if let Some(info) = words.get_mut(1).filter(|_| vlen != ty.vlen()) {
            *info = Info::new(ty.kind(), vlen, ty.kflag()).0;
        }
        words
    }
}

impl Builder {
    /// Returns a builder with the own types of a BTF. Ids stay the same.
    pub fn copy_of(btf: &Btf<'_>) -> Result<Self, ImportError> {
        let mut builder = match btf.base() {
            Some(base) => Self::split(base),
            None => Self::new(btf.endian()),
        };
        let mut importer = Importer::new(btf);
        for ty in btf.types() {
            importer.copy_type(&mut builder, ty, |id| id)?;
        }
        Ok(builder)
    }

    /// Appends the own types of a BTF, with new ids, and returns the first of them (libbpf: `btf__add_btf`).
    ///
    /// A split BTF has the base of the builder. A BTF without a base can be appended to any builder.
    pub fn append(&mut self, btf: &Btf<'_>) -> Result<TypeId, ImportError> {
        let (from, expected) = (btf.first_id(), self.first_id());
        if btf.base().is_some() && from != expected {
            return Err(ImportError::OtherBase { expected, found: from });
        }
        let len = self.types_len().checked_add(btf.types_section().len());
        len.filter(|len| *len <= limits::BTF_BYTES).ok_or(ImportError::TooLong)?;
        let first = self.next_id();
        let map_id = |old: TypeId| match old.0.checked_sub(from.0) {
            // The type section has fewer records than 32 bits can count.
            Some(own) => TypeId(first.0.saturating_add(own)),
            None => old,
        };
        let mut importer = Importer::new(btf);
        for ty in btf.types() {
            importer.copy_type(self, ty, map_id)?;
        }
        Ok(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endian, Kind};
    use alloc::{sync::Arc, vec};

    #[test]
    fn appended_types_refer_to_each_other_and_to_the_base() {
        let mut b = Builder::new(Endian::Big);
        let int = b.int("int", 4, 0);
        b.modifier(Kind::Const, int);
        let first = Btf::parse(b.finish()).unwrap();
        let mut merged = Builder::new(Endian::Little);
        let starts = [merged.append(&first), merged.append(&first)];
        assert_eq!(starts, [Ok(TypeId(1)), Ok(TypeId(3))]);
        let merged = Arc::new(Btf::parse(merged.finish()).unwrap());
        let targets: Vec<_> = merged.types().filter_map(Type::target).collect();
        assert_eq!(targets, vec![TypeId(1), TypeId(3)], "in another byte order than their own");

        let mut split = Builder::split(&merged);
        split.pointer(TypeId(2));
        let split = Btf::parse_split(split.finish(), Arc::clone(&merged)).unwrap();
        let mut both = Builder::split_with_strings(&merged);
        both.append(&split).unwrap();
        both.append(&split).unwrap();
        let both = Btf::parse_split(both.finish(), merged).unwrap();
        assert!(both.types().all(|ty| ty.target() == Some(TypeId(2))));
        let other = ImportError::OtherBase { expected: TypeId(1), found: TypeId(5) };
        assert_eq!(Builder::new(Endian::Little).append(&split), Err(other));
    }
}
