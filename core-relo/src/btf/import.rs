//! Types of one BTF, copied into another that is being built.

use super::{
    Btf, Builder, Kind, Type,
    reference::{self, Reference},
};
use crate::{
    ids::{StrOffset, TypeId, to_usize},
    limits,
};
use alloc::vec::Vec;
use core::{iter, ops::Range, option};
use hashbrown::HashMap;
use thiserror::Error;

/// Why a type or a name cannot be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// A kind whose references are not known.
    #[error("type [{id}] is of unknown kind {kind}: what it refers to cannot be told")]
    UnknownKind {
        /// The type.
        id: TypeId,
        /// Number of its kind.
        kind: u8,
    },
    /// A name lies outside the strings.
    #[error("string offset {at} lies outside the strings")]
    Name {
        /// The offset.
        at: StrOffset,
    },
    /// The names overlap so much that copies of them would be out of proportion.
    #[error(
        "names overlap: copied they are longer than {} times the {len} bytes of strings",
        limits::STRING_COPIES
    )]
    Strings {
        /// Bytes of strings.
        len: usize,
    },
}

/// Copies types and names of one BTF, its base's included, into a [`Builder`].
///
/// ```
/// use core_relo::{btf::{Btf, Builder, Import}, Endian};
/// let mut b = Builder::new(Endian::Little);
/// let int = b.int("int", 4, Builder::SIGNED);
/// b.typedef("pid_t", int);
/// let from = Btf::parse(b.finish()).unwrap();
///
/// let mut to = Builder::new(Endian::Big);
/// let mut import = Import::new(&from);
/// for ty in from.types() {
///     import.ty(&mut to, ty, |id| id).unwrap();
/// }
/// assert_eq!(Btf::parse(to.finish()).unwrap().find(b"pid_t", core_relo::btf::Kind::Typedef).unwrap().id().0, 2);
/// ```
#[derive(Clone, Debug)]
pub struct Import<'b> {
    from: &'b Btf<'b>,
    known: HashMap<StrOffset, StrOffset>,
    left: usize,
}

impl<'b> Import<'b> {
    /// Begins to copy out of a BTF, into one builder.
    pub fn new(from: &'b Btf<'b>) -> Self {
        let left = to_usize(from.string_end()).saturating_mul(limits::STRING_COPIES);
        Self { from, known: HashMap::new(), left }
    }

    /// Copies a name, once.
    pub fn string(&mut self, to: &mut Builder, at: StrOffset) -> Result<StrOffset, ImportError> {
        if let Some(known) = self.known.get(&at) {
            return Ok(*known);
        }
        let name = self.from.name(at).ok_or(ImportError::Name { at })?;
        let len = to_usize(self.from.string_end());
        let cost = name.as_bytes().len().saturating_add(1);
        self.left = self.left.checked_sub(cost).ok_or(ImportError::Strings { len })?;
        let new = to.string_bytes(name.as_bytes());
        self.known.insert(at, new);
        Ok(new)
    }

    /// Copies a type with every id it refers to mapped by `id`; the new type's id.
    pub fn ty(
        &mut self,
        to: &mut Builder,
        ty: Type<'_>,
        id: impl FnMut(TypeId) -> TypeId,
    ) -> Result<TypeId, ImportError> {
        let words = self.words(to, ty, id)?;
        Ok(to.record_words(&words))
    }

    /// The words of a type's record with its names copied and its ids mapped.
    pub(super) fn words(
        &mut self,
        to: &mut Builder,
        ty: Type<'_>,
        mut id: impl FnMut(TypeId) -> TypeId,
    ) -> Result<Vec<u32>, ImportError> {
        let e = self.from.endian();
        let unknown = || ImportError::UnknownKind { id: ty.id(), kind: ty.kind().raw() };
        let shape = ty.kind().record_shape().ok_or_else(unknown)?;
        let rest = to_usize(shape.record_len(ty.vlen()).saturating_sub(12));
        let (trailer, _) = ty.trailer().get(..rest).unwrap_or_default().as_chunks::<4>();
        let mut words = Vec::with_capacity(trailer.len().saturating_add(3));
        words.extend([ty.name_offset().0, ty.info(), ty.size_or_type()]);
        words.extend(trailer.iter().map(|raw| e.word(*raw)));
        let mut failed = None;
        reference::each(ty, e, |at, found| {
            let value = match found {
                Reference::Id(old) => id(old).0,
                Reference::Name(at) => match self.string(to, at) {
                    Ok(new) => new.0,
                    Err(error) => {
                        failed = failed.or(Some(error));
                        0
                    }
                },
            };
            if let Some(word) = words.get_mut(at / 4) {
                *word = value;
            }
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(words),
        }
    }
}

impl Builder {
    /// A builder that holds the own types of a BTF, to be added to; ids stay as they are if it has no base.
    pub fn copy_of(btf: &Btf<'_>) -> Result<Self, ImportError> {
        let mut builder = match btf.base() {
            Some(base) => Self::split(base),
            None => Self::new(btf.endian()),
        };
        let mut import = Import::new(btf);
        for ty in btf.types() {
            import.ty(&mut builder, ty, |id| id)?;
        }
        Ok(builder)
    }
}

/// An iterator over places in a record, in words.
pub(super) type IdPlaces = iter::Chain<option::IntoIter<usize>, iter::StepBy<Range<usize>>>;

/// The places, in words from the record's start, where a record of these words refers to types.
///
/// The order is that of libbpf's `BTF_FIELD_ITER_IDS`.
pub(super) fn id_places(kind: Kind, len: usize) -> IdPlaces {
    let (third, first, step) = match kind {
        Kind::Ptr
        | Kind::Typedef
        | Kind::Volatile
        | Kind::Const
        | Kind::Restrict
        | Kind::Func
        | Kind::Var
        | Kind::DeclTag
        | Kind::TypeTag => (true, len, 1),
        // Element and index; the number of elements, the last word, is none.
        Kind::Array => (false, 3, 1),
        Kind::Struct | Kind::Union => (false, 4, 3),
        Kind::FuncProto => (true, 4, 2),
        Kind::Datasec => (false, 3, 3),
        Kind::Int | Kind::Fwd | Kind::Float | Kind::Void | Kind::Enum | Kind::Enum64 | Kind::Unknown(_) => {
            (false, len, 1)
        }
    };
    let end = if kind == Kind::Array { len.min(5) } else { len };
    third.then_some(2).into_iter().chain((first..end).step_by(step))
}
