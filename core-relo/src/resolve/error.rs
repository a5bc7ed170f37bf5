//! The reasons why a candidate does not match, and the errors of matching.

use super::candidates::Candidate;
use crate::{
    BitOffset, ByteSize, TypeId,
    btf::{Kind, WalkError},
    ext::RelocKind,
    limits,
};
use thiserror::Error;

/// The reason why a candidate does not match. Ids are the target's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CandidateMismatch {
    /// A composite has no member of the accessor's name.
    NoMember {
        /// The index of the accessor in [`Spec::accessors`](crate::spec::Spec::accessors).
        step: usize,
        /// The composite.
        ty: TypeId,
    },
    /// The member of the accessor's name has an incompatible type.
    MemberType {
        /// The index of the accessor.
        step: usize,
        /// The composite.
        ty: TypeId,
        /// The member's index.
        member: u32,
    },
    /// The accessor names a member, but the type has no members.
    NotComposite {
        /// The index of the accessor.
        step: usize,
        /// The type at this point of the access.
        ty: TypeId,
        /// Its kind.
        kind: Kind,
    },
    /// The accessor is an index, but the type is not an array.
    NotArray {
        /// The index of the accessor.
        step: usize,
        /// The type at this point of the access.
        ty: TypeId,
        /// Its kind.
        kind: Kind,
    },
    /// The accessor's index is beyond the array's length.
    OutOfRange {
        /// The index of the accessor.
        step: usize,
        /// The array.
        ty: TypeId,
        /// The index.
        index: u32,
        /// The array's length.
        nelems: u32,
    },
    /// The candidate is a typedef of a type other than an enumeration.
    NotEnum {
        /// The type behind the typedef.
        ty: TypeId,
        /// Its kind.
        kind: Kind,
    },
    /// The enumeration has no enumerator of the accessor's name.
    NoEnumerator {
        /// The enumeration.
        ty: TypeId,
    },
    /// The type as a whole is not compatible, or does not match.
    Type {
        /// The candidate.
        ty: TypeId,
    },
}

/// A broken invariant of this crate: a bug, or a mapped file that changed while it was read.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BrokenInvariant {
    /// An accessor refers to a member or enumerator that its type does not have.
    #[error("internal error: an accessor refers to a member or enumerator that does not exist")]
    Accessor,
    /// The access to a field has no accessors.
    #[error("internal error: the access to a field has no accessors")]
    NoAccessors,
    /// A candidate belongs to a BTF that the target does not have.
    #[error("internal error: a candidate belongs to a BTF that the target does not have")]
    CandidateSource,
    /// The candidates of a root type were not looked up.
    #[error("internal error: the candidates of a root type were not looked up")]
    CandidateList,
    /// A patched instruction lies outside its section.
    #[error("internal error: a patched instruction lies outside its section")]
    PatchedInsn,
}

crate::debug_as_message!(BrokenInvariant);

/// The error of a comparison of two types.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CompareError {
    /// The comparison goes deeper than libbpf's limit.
    #[error("types nest deeper than {} levels", limits::COMPARE_LEVELS)]
    TooDeep,
    /// A chain of types is broken.
    #[error("{0}")]
    Walk(#[from] WalkError),
}

crate::debug_as_message!(CompareError);

/// The error of a match with one candidate. libbpf fails the load on it.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MatchError {
    /// The access has more parts in the target than the limit.
    #[error("the access has more than {} parts in the target", limits::SPEC_PARTS)]
    TooDeep,
    /// The match takes more steps than the limit of the record or of the plan.
    #[error("the comparison of types takes more than {} steps", limits::RECORD_STEPS)]
    TooManySteps,
    /// The type of a field, or of the elements of a type, has 2 GiB or more.
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
    /// A chain of types is broken.
    #[error("{0}")]
    Walk(#[from] WalkError),
    /// A bug of this crate.
    #[error("{0}")]
    Internal(#[from] BrokenInvariant),
}

crate::debug_as_message!(MatchError);

/// The reason why an access has no value of the relocation's kind.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RelocationValueError {
    /// An array's element has no signedness and no shifts.
    #[error("an array element has no {0}")]
    ArrayElement(RelocKind),
    /// No load of 8 bytes contains the whole bitfield.
    #[error("bitfield at bit {bit_offset} of {bits} bits cannot be read with one 64-bit load")]
    WideBitfield {
        /// Its offset in bits from the root.
        bit_offset: BitOffset,
        /// Its width in bits.
        bits: u32,
    },
    /// The declared type of a bitfield has no size.
    #[error("bitfield of type [{ty}] {kind}, which has no size")]
    BitfieldType {
        /// The declared type.
        ty: TypeId,
        /// Its kind.
        kind: Kind,
    },
    /// A chain of types is broken, or ends in a type without a size.
    #[error("{0}")]
    Walk(#[from] WalkError),
    /// A bug of this crate.
    #[error("{0}")]
    Internal(#[from] BrokenInvariant),
}

crate::debug_as_message!(RelocationValueError);

/// A disagreement between two candidates that both match.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Ambiguity {
    /// The field's offsets differ.
    #[error("candidates [{}] and [{}] have the field at different offsets: bit {} and bit {}", first.id, other.id, first_offset, other_offset)]
    Offset {
        /// The first match.
        first: Candidate,
        /// The match that disagrees.
        other: Candidate,
        /// The field's offset in the first.
        first_offset: BitOffset,
        /// The field's offset in the other.
        other_offset: BitOffset,
    },
    /// The values differ.
    #[error("candidates [{}] and [{}] have different values: {} and {}", first.id, other.id, first_value, other_value)]
    Value {
        /// The first match.
        first: Candidate,
        /// The match that disagrees.
        other: Candidate,
        /// The first match's value.
        first_value: u64,
        /// The other match's value.
        other_value: u64,
    },
}

crate::debug_as_message!(Ambiguity);
