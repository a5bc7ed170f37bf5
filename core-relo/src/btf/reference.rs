//! The words of a record that refer to a type or a name: the one list of them, for the check and for rewriting.

use super::{Kind, Type};
use crate::{
    endian::Endian,
    ids::{StrOffset, TypeId, to_usize},
};

/// What a word refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    Id(TypeId),
    Name(StrOffset),
}

/// What the first words of an element are; what follows them refers to nothing.
#[derive(Clone, Copy)]
enum Element {
    NameAndId,
    Name,
    Id,
}

/// Calls `found` for each, in order, with its place in bytes into the record. `e` is the byte order of the BTF.
///
/// Names are not resolved: this is the inner loop of parsing. A record of unknown kind refers to its own name alone: where
/// the rest of it would refer is not known.
#[inline]
pub(super) fn each(ty: Type<'_>, e: Endian, mut found: impl FnMut(usize, Reference)) {
    found(0, Reference::Name(ty.name_offset()));
    let third = Reference::Id(TypeId(ty.size_or_type()));
    match ty.kind() {
        Kind::Ptr
        | Kind::Typedef
        | Kind::Volatile
        | Kind::Const
        | Kind::Restrict
        | Kind::Func
        | Kind::Var
        | Kind::DeclTag
        | Kind::TypeTag => found(8, third),
        Kind::Array => {
            // Two elements of one word; the number of elements follows.
            elements::<4>(ty, e, 2, Element::Id, found);
        }
        Kind::Struct | Kind::Union => elements::<12>(ty, e, ty.vlen(), Element::NameAndId, found),
        Kind::Enum => elements::<8>(ty, e, ty.vlen(), Element::Name, found),
        Kind::Enum64 => elements::<12>(ty, e, ty.vlen(), Element::Name, found),
        Kind::FuncProto => {
            found(8, third);
            elements::<8>(ty, e, ty.vlen(), Element::NameAndId, found);
        }
        Kind::Datasec => elements::<12>(ty, e, ty.vlen(), Element::Id, found),
        Kind::Int | Kind::Fwd | Kind::Float | Kind::Void | Kind::Unknown(_) => {}
    }
}

/// The references of `count` elements of `SIZE` bytes each.
#[inline]
fn elements<const SIZE: usize>(
    ty: Type<'_>,
    e: Endian,
    count: u32,
    what: Element,
    mut found: impl FnMut(usize, Reference),
) {
    let (elements, _) = ty.trailer().as_chunks::<SIZE>();
    let mut at = 12usize;
    for element in elements.iter().take(to_usize(count)) {
        let (words, _) = element.as_chunks::<4>();
        let first = words.first().map_or(0, |raw| e.word(*raw));
        match what {
            Element::Id => found(at, Reference::Id(TypeId(first))),
            Element::Name => found(at, Reference::Name(StrOffset(first))),
            Element::NameAndId => {
                let second = words.get(1).map_or(0, |raw| e.word(*raw));
                found(at, Reference::Name(StrOffset(first)));
                found(at.saturating_add(4), Reference::Id(TypeId(second)));
            }
        }
        at = at.saturating_add(SIZE);
    }
}
