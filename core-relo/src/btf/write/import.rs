//! Copies of types from one BTF into a builder.

use super::builder::Builder;
use crate::{
    btf::{
        format::{References, Word},
        parse::Btf,
        view::Type,
    },
    ids::{StrOffset, TypeId, to_usize},
    limits,
};
use alloc::vec::Vec;
use hashbrown::HashMap;
use thiserror::Error;

/// The reason why a type or a name cannot be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// A kind whose references are not known.
    #[error("type [{id}] is of unknown kind {kind}: what it refers to cannot be told")]
    UnknownKind {
        /// The type.
        id: TypeId,
        /// The number of its kind.
        kind: u8,
    },
    /// A name lies outside the strings.
    #[error("string offset {at} lies outside the strings")]
    Name {
        /// The offset.
        at: StrOffset,
    },
    /// The names overlap so much that their copies would exceed [`limits::STRING_COPIES`].
    #[error(
        "names overlap: copied they are longer than {} times the {len} bytes of strings",
        limits::STRING_COPIES
    )]
    Strings {
        /// The bytes of strings.
        len: usize,
    },
}

/// A copier of types and names from one BTF, its base's included, into a [`Builder`].
///
/// ```
/// use core_relo::{btf::{Btf, Builder, Importer}, Endian};
/// let mut b = Builder::new(Endian::Little);
/// let int = b.int("int", 4, Builder::SIGNED);
/// b.typedef("pid_t", int);
/// let from = Btf::parse(b.finish()).unwrap();
///
/// let mut to = Builder::new(Endian::Big);
/// let mut import = Importer::new(&from);
/// for ty in from.types() {
///     import.copy_type(&mut to, ty, |id| id).unwrap();
/// }
/// assert_eq!(Btf::parse(to.finish()).unwrap().find(b"pid_t", core_relo::btf::Kind::Typedef).unwrap().id().0, 2);
/// ```
#[derive(Clone, Debug)]
pub struct Importer<'b> {
    from: &'b Btf<'b>,
    known: HashMap<StrOffset, StrOffset>,
    /// Bytes of names that may still be copied.
    bytes_left: usize,
}

impl<'b> Importer<'b> {
    /// Returns an importer from this BTF, for one builder.
    pub fn new(from: &'b Btf<'b>) -> Self {
        let bytes_left = to_usize(from.string_end()).saturating_mul(limits::STRING_COPIES);
        Self { from, known: HashMap::new(), bytes_left }
    }

    /// Copies a name, unless it was copied before, and returns its new offset.
    pub fn copy_name(&mut self, to: &mut Builder, at: StrOffset) -> Result<StrOffset, ImportError> {
        if let Some(known) = self.known.get(&at) {
            return Ok(*known);
        }
        let name = self.from.name(at).ok_or(ImportError::Name { at })?;
        let len = to_usize(self.from.string_end());
        let cost = name.as_bytes().len().saturating_add(1);
        self.bytes_left = self.bytes_left.checked_sub(cost).ok_or(ImportError::Strings { len })?;
        let new = to.string_bytes(name.as_bytes());
        self.known.insert(at, new);
        Ok(new)
    }

    /// Copies a type, with every id mapped by `map_id`, and returns the new type's id.
    pub fn copy_type(
        &mut self,
        to: &mut Builder,
        ty: Type<'_>,
        map_id: impl FnMut(TypeId) -> TypeId,
    ) -> Result<TypeId, ImportError> {
        let words = self.words(to, ty, map_id)?;
        Ok(to.record_words(&words))
    }

    /// Returns the words of a type's record, with its names copied and its ids mapped.
    pub(super) fn words(
        &mut self,
        to: &mut Builder,
        ty: Type<'_>,
        mut map_id: impl FnMut(TypeId) -> TypeId,
    ) -> Result<Vec<u32>, ImportError> {
        let endian = self.from.endian();
        let unknown = || ImportError::UnknownKind { id: ty.id(), kind: ty.kind().raw() };
        let size = ty.kind().layout().ok_or_else(unknown)?.size();
        let trailer_words = size.trailer_words(ty.vlen());
        let trailer = ty.trailer().as_chunks::<4>().0.iter().take(trailer_words);
        let mut words = Vec::from([ty.name_offset().0, ty.info(), ty.size_or_type()]);
        words.extend(trailer.map(|raw| endian.word(*raw)));
        for (number, meaning) in References::new(ty.kind(), words.len()) {
            let Some(word) = words.get_mut(number) else { break };
            match meaning {
                Word::Id => *word = map_id(TypeId(*word)).0,
                Word::Name => *word = self.copy_name(to, StrOffset(*word))?.0,
                Word::Value => {}
            }
        }
        Ok(words)
    }
}

impl Builder {
    /// Returns a builder with the own types of a BTF. Ids stay the same.
    pub fn copy_of(btf: &Btf<'_>) -> Result<Self, ImportError> {
        let mut builder = match btf.base() {
            Some(base) => Self::split(base),
            None => Self::new(btf.endian()),
        };
        let mut import = Importer::new(btf);
        for ty in btf.types() {
            import.copy_type(&mut builder, ty, |id| id)?;
        }
        Ok(builder)
    }
}
