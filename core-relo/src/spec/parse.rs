//! The parser of access strings, such as `0:1:2`, on a local type.

use super::{
    access::{Accessor, Spec},
    inline_vec::InlineVec,
};
use crate::{
    StrOffset, TypeId,
    btf::{Btf, Kind, Type, WalkError},
    ext::{CoreRelo, RelocKind},
    limits,
};
use thiserror::Error;

/// The reason why a record's access string does not fit its root type.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AccessStringError {
    /// The root type does not exist.
    #[error("root type [{0}] does not exist in the object's BTF")]
    NoRoot(TypeId),
    /// The access string lies outside the string section.
    #[error("access string at offset {0} lies outside the object's BTF strings")]
    NoString(StrOffset),
    /// The access string is empty, or not a list of numbers between colons.
    #[error("access string at offset {0} is not a list of numbers between colons")]
    Malformed(StrOffset),
    /// The access string has more parts than the limit.
    #[error("access string has more than {limit} parts")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// The access string of a relocation of a whole type is not `0`.
    #[error("access string of a relocation of a type is not `0`")]
    NotZero,
    /// The root type of an enumerator relocation is no enumeration, or the access string has more than one
    /// part.
    #[error("type [{ty}] {kind} is not an enumeration with an enumerator {index}")]
    NotEnumerator {
        /// The root type without modifiers and typedefs.
        ty: TypeId,
        /// Its kind.
        kind: Kind,
        /// The first part of the access string.
        index: u32,
    },
    /// The local type has no member or element at this index.
    #[error("part {part} of the access string: type [{ty}] {kind} has no element {index}, it has {len}")]
    OutOfRange {
        /// The index of the part, from 0.
        part: usize,
        /// The composite or array.
        ty: TypeId,
        /// Its kind.
        kind: Kind,
        /// The index in the access string.
        index: u32,
        /// The number of members or elements.
        len: u32,
    },
    /// The access string has a further part, but the type has neither members nor elements.
    #[error(
        "part {part} of the access string steps into type [{ty}] {kind}, expected a struct, union or array"
    )]
    NoParts {
        /// The index of the part, from 0.
        part: usize,
        /// The type.
        ty: TypeId,
        /// Its kind.
        kind: Kind,
    },
    /// The member's name offset refers to an empty string.
    #[error("part {part} of the access string: member {index} of type [{ty}] has an empty name")]
    EmptyName {
        /// The index of the part, from 0.
        part: usize,
        /// The composite.
        ty: TypeId,
        /// The member's index.
        index: u32,
    },
    /// The relocation kind is unknown to this library.
    #[error("relocation kind {0} is not known")]
    UnknownKind(u32),
    /// A chain of local types is broken.
    #[error("local {0}")]
    Walk(#[from] WalkError),
}

crate::debug_as_message!(AccessStringError);

/// Parses the access of `relo` in the object's own BTF (libbpf: `bpf_core_parse_spec`).
///
/// Negative numbers are an error, as in libbpf after 1.7. Earlier versions wrap them around.
pub(crate) fn parse_access(btf: &Btf<'_>, relo: &CoreRelo) -> Result<Spec, AccessStringError> {
    let spec = Spec::new(relo.root, relo.kind);
    btf.ty(relo.root).ok_or(AccessStringError::NoRoot(relo.root))?;
    let text = btf.name(relo.access).ok_or(AccessStringError::NoString(relo.access))?.as_bytes();
    if relo.kind.is_type() {
        return match text {
            b"0" => Ok(spec),
            b"" => Err(AccessStringError::Malformed(relo.access)),
            _ => Err(AccessStringError::NotZero),
        };
    }
    let parts = parse_numbers(text).ok_or(AccessStringError::Malformed(relo.access))?;
    if parts.len() > limits::SPEC_PARTS {
        return Err(AccessStringError::TooLong { limit: limits::SPEC_PARTS });
    }
    let root = btf.strip(relo.root)?;
    match relo.kind {
        RelocKind::Unknown(raw) => Err(AccessStringError::UnknownKind(raw)),
        kind if kind.is_enumval() => parse_enumerator(spec, parts, root, relo.access),
        _ => parse_field(spec, parts, btf, root),
    }
}

fn parse_numbers(text: &[u8]) -> Option<InlineVec<u32>> {
    // Parsing one part more than the limit allows the caller to report a string that is too long.
    text.split(|b| *b == b':').take(const { limits::SPEC_PARTS + 1 }).map(parse_number).collect()
}

/// Parses decimal digits. The largest number is `i32::MAX`, the largest that libbpf's `%d` reads.
fn parse_number(digits: &[u8]) -> Option<u32> {
    if !digits.first()?.is_ascii_digit() {
        return None;
    }
    let n: u32 = core::str::from_utf8(digits).ok()?.parse().ok()?;
    (n <= i32::MAX.cast_unsigned()).then_some(n)
}

fn parse_enumerator(
    mut spec: Spec,
    parts: InlineVec<u32>,
    root: Type<'_>,
    access: StrOffset,
) -> Result<Spec, AccessStringError> {
    match *parts {
        [] => return Err(AccessStringError::Malformed(access)),
        [index] if root.enumerator(index).is_some() => {
            spec.accessors.push(Accessor { ty: root.id(), index, named: true });
        }
        [index, ..] => {
            return Err(AccessStringError::NotEnumerator { ty: root.id(), kind: root.kind(), index });
        }
    }
    spec.raw = parts;
    Ok(spec)
}

fn parse_field(
    mut spec: Spec,
    parts: InlineVec<u32>,
    btf: &Btf<'_>,
    root: Type<'_>,
) -> Result<Spec, AccessStringError> {
    let mut ty = root;
    for (part, index) in parts.iter().copied().enumerate() {
        if part == 0 {
            spec.accessors.push(Accessor { ty: root.id(), index, named: false });
            spec.advance(element_bits(btf, root.id(), index)?);
            continue;
        }
        let out_of_range =
            |len| AccessStringError::OutOfRange { part, ty: ty.id(), kind: ty.kind(), index, len };
        if let Some(array) = ty.array() {
            let element = btf.strip(array.element)?;
            let last = spec.accessors.last();
            let is_flexible = last.is_some_and(|last| last.is_flexible_array(btf, array.nelems));
            if !is_flexible && index >= array.nelems {
                return Err(out_of_range(array.nelems));
            }
            spec.accessors.push(Accessor { ty: element.id(), index, named: false });
            spec.advance(element_bits(btf, element.id(), index)?);
            ty = element;
        } else if ty.kind().is_composite() {
            let member = ty.member(index).ok_or_else(|| out_of_range(ty.vlen()))?;
            spec.advance(member.bit_offset.0);
            if member.name.is_empty() && member.name_offset.0 != 0 {
                return Err(AccessStringError::EmptyName { part, ty: ty.id(), index });
            }
            if !member.name.is_empty() {
                spec.accessors.push(Accessor { ty: ty.id(), index, named: true });
            }
            ty = btf.strip(member.ty)?;
        } else {
            return Err(AccessStringError::NoParts { part, ty: ty.id(), kind: ty.kind() });
        }
    }
    spec.raw = parts;
    Ok(spec)
}

/// Returns the offset, in bits, of element `index`; 32 bits wrap, as in libbpf.
fn element_bits(btf: &Btf<'_>, element: TypeId, index: u32) -> Result<u32, WalkError> {
    Ok(index.wrapping_mul(btf.size_of(element)?.0).wrapping_mul(8))
}
