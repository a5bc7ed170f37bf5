//! Distilled base BTF (libbpf: `btf__distill_base`): what a split BTF needs of its base so that it can be
//! relocated to another base.
//!
//! The distilled base has the names, kinds and sizes of the base types to which the split BTF refers. Types
//! of the base that need more than that (pointers, arrays, typedefs, functions, anonymous types) become types
//! of the split BTF.

use super::{
    builder::Builder,
    import::{ImportError, Importer},
};
use crate::{
    format::{Info, Kind},
    ids::{StrOffset, TypeId},
    parse::{Btf, BtfError},
    view::Type,
};
use alloc::vec::Vec;
use thiserror::Error;

/// The reason why a base cannot be distilled.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DistilError {
    /// The BTF has no base.
    #[error("the BTF has no base, expected a split BTF")]
    NoBase,
    /// The split BTF refers to a type of the base that has no place in a distilled base.
    #[error("type [{id}] of the base is {}{kind}, to which no split BTF refers", if *is_anonymous { "an anonymous " } else { "a " })]
    Kind {
        /// The type of the base.
        id: TypeId,
        /// Its kind.
        kind: Kind,
        /// Whether the type has no name.
        is_anonymous: bool,
    },
    /// A type or a name cannot be copied.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The distilled base is not a valid BTF.
    #[error("the distilled base is invalid: {0}")]
    Base(#[source] BtfError),
}

crate::debug_as_message!(DistilError);

/// A distilled base, and the split BTF on it.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "the two results of the operation")]
pub struct DistilledBtf {
    /// The bytes of the distilled base, as `.BTF.base` contains them.
    pub base: Vec<u8>,
    /// The bytes of the split BTF.
    pub split: Vec<u8>,
}

/// The place of a base type after distillation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Destination {
    /// The split BTF does not need the type.
    Nowhere,
    /// The distilled base.
    Base,
    /// The split BTF, after its own types.
    Split,
}

/// Distils the base of a split BTF (libbpf: `btf__distill_base`). [`Btf::relocate_split`] is the reverse.
///
/// ```
/// use core_relo_btf::{Btf, Builder, Endian, distil_base};
/// use std::sync::Arc;
/// let mut b = Builder::new(Endian::Little);
/// b.int("unused", 8, 0);
/// let int = b.int("int", 4, Builder::SIGNED);
/// let base = Arc::new(Btf::parse(b.finish()).unwrap());
/// let mut s = Builder::split(&base);
/// s.structure("own", 4, &[("a", int, 0)]);
/// let split = Btf::parse_split(s.finish(), Arc::clone(&base)).unwrap();
///
/// let distilled = distil_base(&split).unwrap();
/// assert_eq!(Btf::parse(distilled.base.as_slice()).unwrap().types().count(), 1);
/// let relocated = Btf::relocate_split(distilled.split, distilled.base, base).unwrap();
/// assert_eq!(relocated.types().next().unwrap().member(0).unwrap().ty, int);
/// ```
pub fn distil_base(btf: &Btf<'_>) -> Result<DistilledBtf, DistilError> {
    let full_base = btf.base().ok_or(DistilError::NoBase)?;
    let places = place_base_types(btf)?;
    let placed = |place| {
        let types = full_base.all_types().zip(places.iter().skip(1));
        types.filter(move |(_, found)| **found == place).map(|(ty, _)| ty)
    };
    let mut ids = alloc::vec![TypeId::VOID; btf.end_id().index()];
    let mut new_ids = IdMap { ids: &mut ids };
    let mut base = Builder::new(btf.endian());
    let mut importer = Importer::new(btf);
    for ty in placed(Destination::Base) {
        let id = copy_distilled(&mut importer, &mut base, ty)?;
        new_ids.set(ty.id(), id);
    }
    let base = base.finish();
    let mut split = Builder::split_with_strings(&Btf::parse(base.as_slice()).map_err(DistilError::Base)?);
    let mut next = split.next_id();
    for ty in btf.types().chain(placed(Destination::Split)) {
        new_ids.set(ty.id(), next);
        next = next.next();
    }
    let mut importer = Importer::new(btf);
    for ty in btf.types().chain(placed(Destination::Split)) {
        importer.copy_type(&mut split, ty, |old| new_ids.get(old))?;
    }
    Ok(DistilledBtf { base, split: split.finish() })
}

/// The new id of each type of a split BTF and of its base.
struct IdMap<'i> {
    ids: &'i mut [TypeId],
}

impl IdMap<'_> {
    fn set(&mut self, old: TypeId, new: TypeId) {
        if let Some(id) = self.ids.get_mut(old.index()) {
            *id = new;
        }
    }

    /// Returns the new id of a type. The id that nothing has makes the result invalid.
    fn get(&self, old: TypeId) -> TypeId {
        self.ids.get(old.index()).copied().unwrap_or(TypeId(u32::MAX))
    }
}

/// Returns the place of each type of the base, by id (libbpf: `btf_add_distilled_type_ids`; a stack replaces
/// its recursion).
fn place_base_types(btf: &Btf<'_>) -> Result<Vec<Destination>, DistilError> {
    let first_own = btf.first_id();
    let mut places = alloc::vec![Destination::Nowhere; first_own.index()];
    let mut pending: Vec<TypeId> = Vec::new();
    for own in btf.types() {
        own.for_each_reference(|id| pending.push(id));
        while let Some(id) = pending.pop() {
            let Some(place) = places.get_mut(id.index()).filter(|place| **place == Destination::Nowhere)
            else {
                continue;
            };
            let Some(ty) = btf.ty(id).filter(|_| id != TypeId::VOID) else { continue };
            *place = place_of(ty)?;
            if *place == Destination::Split {
                ty.for_each_reference(|id| pending.push(id));
            }
        }
    }
    Ok(places)
}

/// Returns the place of a base type to which the split BTF refers.
fn place_of(ty: Type<'_>) -> Result<Destination, DistilError> {
    let is_anonymous = ty.name().is_empty();
    match ty.kind() {
        Kind::Int | Kind::Float | Kind::Fwd if !is_anonymous => Ok(Destination::Base),
        Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64 => {
            Ok(if is_anonymous { Destination::Split } else { Destination::Base })
        }
        Kind::Ptr
        | Kind::Array
        | Kind::Typedef
        | Kind::Const
        | Kind::Volatile
        | Kind::Restrict
        | Kind::FuncProto
        | Kind::TypeTag => Ok(Destination::Split),
        kind => Err(DistilError::Kind { id: ty.id(), kind, is_anonymous }),
    }
}

/// Copies a named type without its members or enumerators. An ENUM64 becomes an ENUM of the same size.
fn copy_distilled(
    importer: &mut Importer<'_>,
    base: &mut Builder,
    ty: Type<'_>,
) -> Result<TypeId, ImportError> {
    let kind = match ty.kind() {
        Kind::Struct | Kind::Union => ty.kind(),
        Kind::Enum | Kind::Enum64 => Kind::Enum,
        _ => return importer.copy_type(base, ty, |id| id),
    };
    let StrOffset(name) = importer.copy_name(base, ty.name_offset())?;
    Ok(base.record_words(&[name, Info::new(kind, 0, false).0, ty.size_or_type()]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Endian;
    use alloc::{string::ToString as _, sync::Arc};

    fn split_from(base: &Builder, build: impl Fn(&mut Builder)) -> (Arc<Btf<'static>>, Btf<'static>) {
        let base = Arc::new(Btf::parse(base.finish()).unwrap());
        let mut b = Builder::split_with_strings(&base);
        build(&mut b);
        let split = Btf::parse_split(b.finish(), Arc::clone(&base)).unwrap();
        (base, split)
    }

    #[test]
    fn named_types_lose_their_contents_and_others_move_to_the_split_btf() {
        for endian in [Endian::Little, Endian::Big] {
            let mut b = Builder::new(endian);
            let int = b.int("int", 4, Builder::SIGNED);
            b.int("unused", 8, 0);
            let s = b.structure("s", 8, &[("a", int, 0), ("b", int, 32)]);
            let e = b.signed_enumeration64("e", 8, &[("A", 1)]);
            let anonymous = b.structure("", 8, &[("s", s, 0)]);
            let typedef = b.typedef("t", anonymous);
            let pointer = b.pointer(typedef);
            let (base, split) = split_from(&b, |split| {
                let own = split.structure("own", 16, &[("p", pointer, 0), ("e", e, 64)]);
                split.pointer(own);
            });
            let distilled = distil_base(&split).unwrap();
            let small = Arc::new(Btf::parse(distilled.base.clone()).unwrap());
            let text = |btf: &Btf<'_>| btf.types().map(|ty| ty.raw().to_string()).collect::<Vec<_>>();
            assert_eq!(
                text(&small),
                ["[1] STRUCT 's' size=8 vlen=0", "[2] ENUM 'e' encoding=UNSIGNED size=8 vlen=0"]
            );
            let new = Btf::parse_split(distilled.split.clone(), small).unwrap();
            assert_eq!(
                text(&new),
                [
                    "[3] STRUCT 'own' size=16 vlen=2\n\t'p' type_id=7 bits_offset=0\n\t'e' type_id=2 bits_offset=64",
                    "[4] PTR '(anon)' type_id=3",
                    "[5] STRUCT '(anon)' size=8 vlen=1\n\t's' type_id=1 bits_offset=0",
                    "[6] TYPEDEF 't' type_id=5",
                    "[7] PTR '(anon)' type_id=6",
                ]
            );
            let relocated = Btf::relocate_split(distilled.split, distilled.base, base).unwrap();
            let own = relocated.ty(relocated.first_id()).unwrap();
            assert_eq!(own.member(1).unwrap().ty, e);
        }
    }

    #[test]
    fn types_to_which_no_split_btf_refers_are_an_error() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, 0);
        let var = b.var("v", int, 1);
        let anonymous = b.forward("", Kind::Struct);
        let (base, refers_to_var) = split_from(&b, |split| {
            split.pointer(var);
        });
        let error = distil_base(&refers_to_var).unwrap_err();
        assert_eq!(error.to_string(), "type [2] of the base is a VAR, to which no split BTF refers");
        let (_, refers_to_anonymous) = split_from(&b, |split| {
            split.pointer(anonymous);
        });
        let error = DistilError::Kind { id: anonymous, kind: Kind::Fwd, is_anonymous: true };
        assert_eq!(distil_base(&refers_to_anonymous).err(), Some(error));
        assert_eq!(distil_base(&base).err(), Some(DistilError::NoBase));
    }

    #[test]
    fn a_long_chain_and_a_circle_of_base_types_need_no_stack() {
        let mut b = Builder::new(Endian::Little);
        let mut ty = b.pointer(TypeId(1));
        for _ in 0..100_000 {
            ty = b.pointer(ty);
        }
        let (_, split) = split_from(&b, |split| {
            split.pointer(ty);
        });
        let distilled = distil_base(&split).unwrap();
        let base = Arc::new(Btf::parse(distilled.base).unwrap());
        assert_eq!(Btf::parse_split(distilled.split, base).unwrap().types().count(), 100_002);
    }
}
