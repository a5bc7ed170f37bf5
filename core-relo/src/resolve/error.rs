//! Why a candidate does not match, and why an answer cannot be given at all.

use super::Candidate;
use crate::{
    btf::{Kind, WalkError},
    ids::{BitOffset, ByteSize, TypeId},
    limits,
};
use thiserror::Error;

/// Why a candidate does not have what is accessed. Ids are the target's unless they say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// A composite has no member of the name that step `step` of the access asks for.
    NoMember {
        /// Which step of [`Spec::accessors`](crate::spec::Spec::accessors).
        step: usize,
        /// The composite that lacks it.
        ty: TypeId,
    },
    /// The member of that name is of an incompatible type.
    MemberType {
        /// Which step.
        step: usize,
        /// The composite.
        ty: TypeId,
        /// The member's number.
        member: u32,
    },
    /// A step asks for a member of something that has none.
    NotComposite {
        /// Which step.
        step: usize,
        /// What was found there.
        ty: TypeId,
        /// Its kind.
        kind: Kind,
    },
    /// A step asks for an element of something that is no array.
    NotArray {
        /// Which step.
        step: usize,
        /// What was found there.
        ty: TypeId,
        /// Its kind.
        kind: Kind,
    },
    /// The array is shorter.
    OutOfRange {
        /// Which step.
        step: usize,
        /// The array.
        ty: TypeId,
        /// The index asked for.
        index: u32,
        /// Its length.
        nelems: u32,
    },
    /// The candidate's typedef leads to no enumeration.
    NotEnum {
        /// What was found.
        ty: TypeId,
        /// Its kind.
        kind: Kind,
    },
    /// The enumeration has no enumerator of this name.
    NoVariant {
        /// The enumeration.
        ty: TypeId,
    },
    /// The type as a whole is not compatible, or does not match.
    Type {
        /// The candidate.
        ty: TypeId,
    },
}

/// Why two types cannot be compared to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CompareError {
    /// The comparison goes deeper than libbpf's limit.
    #[error("types nest deeper than {} levels", limits::COMPARE_LEVELS)]
    TooDeep,
    /// A walk did not arrive.
    #[error("{0}")]
    Walk(#[from] WalkError),
}

/// Why a candidate cannot be decided; libbpf fails the load on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MatchError {
    /// The access is longer in the target than the limit.
    #[error("the access has more than {} parts in the target", limits::SPEC_PARTS)]
    TooDeep,
    /// Looking through the types takes more steps than the limit, of the record or of the whole plan.
    #[error("looking through the types takes more than {} steps", limits::RECORD_STEPS)]
    TooManySteps,
    /// A field is looked for in a type, or in elements of a type, of 2 GiB or more.
    #[error("type [{ty}] has {size} bytes, expected less than 2 GiB")]
    TooLarge {
        /// The type in the target.
        ty: TypeId,
        /// Its size.
        size: ByteSize,
    },
    /// The types cannot be compared.
    #[error("{0}")]
    Compare(#[from] CompareError),
    /// A walk did not arrive.
    #[error("{0}")]
    Walk(#[from] WalkError),
}

/// Why an access has no value of the kind asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ValueError {
    /// Signedness or shifts of an array's element.
    #[error("{0} cannot be asked of an array element")]
    ArrayElement(crate::ext::RelocKind),
    /// A bitfield that no load of 8 bytes holds.
    #[error("bitfield at bit {bit_offset} of {bits} bits cannot be read with one 64-bit load")]
    WideBitfield {
        /// Its offset in bits from the root.
        bit_offset: BitOffset,
        /// Its width.
        bits: u32,
    },
    /// A bitfield of a type that has no size.
    #[error("bitfield of type [{ty}] {kind}, which has no size")]
    BitfieldType {
        /// The declared type.
        ty: TypeId,
        /// Its kind.
        kind: Kind,
    },
    /// Something the access leads to has no size.
    #[error("{0}")]
    Walk(#[from] WalkError),
}

/// Two candidates that both match and disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Ambiguity {
    /// The field lies at different places.
    #[error("candidates [{}] and [{}] have it at different offsets: bit {} and bit {}", first.id, other.id, first_offset, other_offset)]
    Offset {
        /// The first match.
        first: Candidate,
        /// The one that disagrees.
        other: Candidate,
        /// The field's offset in the first.
        first_offset: BitOffset,
        /// The field's offset in the other.
        other_offset: BitOffset,
    },
    /// The answers differ.
    #[error("candidates [{}] and [{}] give different answers: {} and {}", first.id, other.id, first_value, other_value)]
    Value {
        /// The first match.
        first: Candidate,
        /// The one that disagrees.
        other: Candidate,
        /// The first's answer.
        first_value: u64,
        /// The other's answer.
        other_value: u64,
    },
}
