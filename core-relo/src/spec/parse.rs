//! `0:1:2` on a local type.

use super::{Accessor, Parts, Spec};
use crate::{
    btf::{Btf, Kind, Type, WalkError},
    ext::{CoreRelo, RelocKind},
    ids::{StrOffset, TypeId},
    limits,
};
use thiserror::Error;

/// Why a record's access string says nothing on its root type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The root type does not exist.
    #[error("root type [{0}] does not exist in the object's BTF")]
    NoRoot(TypeId),
    /// The access string lies outside the string section.
    #[error("access string at offset {0} lies outside the object's BTF strings")]
    NoString(StrOffset),
    /// It is empty, or no list of numbers between colons.
    #[error("access string at offset {0} is not a list of numbers between colons")]
    Malformed(StrOffset),
    /// It has more parts than the limit.
    #[error("access string has more than {limit} parts")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// A question about a type whose access string is not `0`.
    #[error("access string of a question about a type is not `0`")]
    NotZero,
    /// A question about an enumerator of a type that is no enum, or with more than one part.
    #[error("type [{ty}] {kind} is not an enumeration with an enumerator {index}")]
    NotEnumerator {
        /// The stripped root.
        ty: TypeId,
        /// Its kind.
        kind: Kind,
        /// The first part of the access string.
        index: u32,
    },
    /// A member or element that the local type does not have.
    #[error("part {part} of the access string: type [{ty}] {kind} has no element {index}, it has {len}")]
    OutOfRange {
        /// Which part, from 0.
        part: usize,
        /// The composite or array.
        ty: TypeId,
        /// Its kind.
        kind: Kind,
        /// The number asked for.
        index: u32,
        /// How many there are.
        len: u32,
    },
    /// A step into something that has no parts.
    #[error(
        "part {part} of the access string steps into type [{ty}] {kind}, expected a struct, union or array"
    )]
    NoParts {
        /// Which part, from 0.
        part: usize,
        /// The type.
        ty: TypeId,
        /// Its kind.
        kind: Kind,
    },
    /// A member that has a name, and the name is empty.
    #[error("part {part} of the access string: member {index} of type [{ty}] has an empty name")]
    EmptyName {
        /// Which part, from 0.
        part: usize,
        /// The composite.
        ty: TypeId,
        /// The member's number.
        index: u32,
    },
    /// A relocation kind this library does not know.
    #[error("relocation kind {0} is not known")]
    UnknownKind(u32),
    /// A walk from a local type did not arrive.
    #[error("local {0}")]
    Walk(#[from] WalkError),
}

/// Spells out what `relo` accesses in the object's own BTF (libbpf: `bpf_core_parse_spec`).
///
/// Negative numbers, which libbpf up to 1.7 wraps around, are refused as in later ones.
pub(crate) fn local(btf: &Btf<'_>, relo: &CoreRelo) -> Result<Spec, SpecError> {
    let mut spec = Spec::of_root(relo.root, relo.kind);
    btf.ty(relo.root).ok_or(SpecError::NoRoot(relo.root))?;
    let text = btf.name(relo.access).ok_or(SpecError::NoString(relo.access))?.as_bytes();
    if relo.kind.is_type() {
        return match text {
            b"0" => Ok(spec),
            b"" => Err(SpecError::Malformed(relo.access)),
            _ => Err(SpecError::NotZero),
        };
    }
    spec.raw = numbers(text).ok_or(SpecError::Malformed(relo.access))?;
    if spec.raw.len() > limits::SPEC_PARTS {
        return Err(SpecError::TooLong { limit: limits::SPEC_PARTS });
    }
    let root = btf.strip(relo.root)?;
    match relo.kind {
        RelocKind::Unknown(raw) => Err(SpecError::UnknownKind(raw)),
        kind if kind.is_enumval() => enumerator(spec, root),
        _ => field(spec, btf, root),
    }
}

fn numbers(text: &[u8]) -> Option<Parts<u32>> {
    // One part more than allowed is kept, so that the limit can be told from a bad number.
    text.split(|b| *b == b':').take(limits::SPEC_PARTS.saturating_add(1)).map(number).collect()
}

/// Decimal digits, at most `i32::MAX`, which is what libbpf's `%d` holds.
fn number(digits: &[u8]) -> Option<u32> {
    if !digits.first()?.is_ascii_digit() {
        return None;
    }
    let n: u32 = core::str::from_utf8(digits).ok()?.parse().ok()?;
    (n <= i32::MAX.cast_unsigned()).then_some(n)
}

fn enumerator(mut spec: Spec, root: Type<'_>) -> Result<Spec, SpecError> {
    let index = spec.raw.first().copied().unwrap_or_default();
    if spec.raw.len() > 1 || root.enumerator(index).is_none() {
        return Err(SpecError::NotEnumerator { ty: root.id(), kind: root.kind(), index });
    }
    spec.accessors.push(Accessor { ty: root.id(), index, named: true });
    Ok(spec)
}

fn field(mut spec: Spec, btf: &Btf<'_>, root: Type<'_>) -> Result<Spec, SpecError> {
    let mut at = root;
    if let Some(index) = spec.raw.first().copied() {
        spec.accessors.push(Accessor { ty: root.id(), index, named: false });
        spec.advance(element_bits(btf, root.id(), index)?);
    }
    for part in 1..spec.raw.len() {
        let index = spec.raw.get(part).copied().unwrap_or_default();
        let out_of_range = |len| SpecError::OutOfRange { part, ty: at.id(), kind: at.kind(), index, len };
        if let Some(array) = at.array() {
            let element = btf.strip(array.element)?;
            let flexible = spec.accessors.last().is_some_and(|last| last.makes_flexible(btf, array.nelems));
            if !flexible && index >= array.nelems {
                return Err(out_of_range(array.nelems));
            }
            spec.accessors.push(Accessor { ty: element.id(), index, named: false });
            spec.advance(element_bits(btf, element.id(), index)?);
            at = element;
        } else if at.kind().is_composite() {
            let member = at.member(index).ok_or_else(|| out_of_range(at.vlen()))?;
            spec.advance(member.bit_offset.0);
            if member.name.is_empty() && member.name_offset.0 != 0 {
                return Err(SpecError::EmptyName { part, ty: at.id(), index });
            }
            if !member.name.is_empty() {
                spec.accessors.push(Accessor { ty: at.id(), index, named: true });
            }
            at = btf.strip(member.ty)?;
        } else {
            return Err(SpecError::NoParts { part, ty: at.id(), kind: at.kind() });
        }
    }
    Ok(spec)
}

/// The offset, in bits, of element `index`; 32 bits wrap, as in libbpf.
fn element_bits(btf: &Btf<'_>, element: TypeId, index: u32) -> Result<u32, WalkError> {
    Ok(index.wrapping_mul(btf.size_of(element)?.0).wrapping_mul(8))
}
