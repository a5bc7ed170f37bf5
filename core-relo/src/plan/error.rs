//! The errors of records. libbpf refuses an object with such a record.

use crate::{
    TypeId,
    index::InsnIndex,
    insn::Insn,
    resolve::{Ambiguity, BrokenInvariant, Candidate, MatchError, RelocationValueError},
    spec::AccessStringError,
};
use alloc::vec::Vec;
use core::fmt;
use thiserror::Error;

/// The error of a record without a decision.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RelocError {
    /// The record's offset lies within an instruction.
    #[error("instruction offset {offset} is not a multiple of 8")]
    Misaligned {
        /// The offset in bytes.
        offset: u32,
    },
    /// The record's access string does not fit its root type.
    #[error("{0}")]
    Spec(#[from] AccessStringError),
    /// The root type has no name. Only TYPE_ID_LOCAL needs no name.
    #[error("root type [{0}] is anonymous: candidates are found by name")]
    AnonymousRoot(TypeId),
    /// The access has no value in the object.
    #[error("the access has no value in the object: {0}")]
    Local(RelocationValueError),
    /// The match with a candidate fails.
    #[error("candidate [{}] cannot be compared: {error}", candidate.id)]
    Match {
        /// The candidate.
        candidate: Candidate,
        /// The error.
        error: MatchError,
    },
    /// A candidate matches, but has no value.
    #[error("candidate [{}] matches, but has no value: {error}", candidate.id)]
    Target {
        /// The candidate.
        candidate: Candidate,
        /// The error.
        error: RelocationValueError,
    },
    /// Two candidates match with different values.
    #[error("{0}")]
    Ambiguous(#[from] Ambiguity),
    /// The instruction cannot be patched.
    #[error("{0}")]
    Insn(#[from] InsnError),
    /// A bug of this crate.
    #[error("{0}")]
    Internal(#[from] BrokenInvariant),
}

crate::debug_as_message!(RelocError);

impl RelocError {
    /// Returns whether the relocation fails because libbpf sign-extends the enumerators of unsigned 32-bit
    /// enums. With [`Options::zero_extend_unsigned_enums`](crate::plan::Options::zero_extend_unsigned_enums),
    /// it does not.
    pub fn is_sign_extension(&self) -> bool {
        matches!(self, Self::Insn(InsnError::UnexpectedValue { found, expected, .. }) if is_sign_extension(*found, *expected))
    }
}

/// The reason why an instruction cannot be patched.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InsnError {
    /// The instruction, or its second slot, lies past the end of its section.
    #[error("instruction {insn} is cut off by the section's end")]
    CutOff {
        /// The instruction.
        insn: InsnIndex,
    },
    /// The instruction does not contain the local value.
    #[error("instruction `{insn}`: value {found}, expected {expected}{}", sign_extension(*.found, *.expected))]
    UnexpectedValue {
        /// The instruction.
        insn: Insn,
        /// The value in the instruction.
        found: i64,
        /// The local value.
        expected: i64,
    },
    /// Instructions of this class contain no value that can be relocated.
    #[error("instruction `{insn}` (code {:#04x}) has no value that can be relocated", insn.code)]
    NotRelocatable {
        /// The instruction.
        insn: Insn,
    },
    /// The offset in the target exceeds 16 bits.
    #[error("instruction `{insn}`: offset {value} is too large, expected at most 32767")]
    OffsetTooLarge {
        /// The instruction.
        insn: Insn,
        /// The offset.
        value: u64,
    },
    /// The width of the access differs from the width of the local field.
    #[error("instruction `{insn}`: access of {found} bytes, expected the local field's {expected}")]
    UnexpectedWidth {
        /// The instruction.
        insn: Insn,
        /// The width of the instruction's access in bytes.
        found: u32,
        /// The width of the local field in bytes.
        expected: u32,
    },
    /// No load or store has the width of the target's field.
    #[error("instruction `{insn}`: no load or store has the target field's width of {width} bytes")]
    NoSuchWidth {
        /// The instruction.
        insn: Insn,
        /// The width of the target's field in bytes.
        width: u32,
    },
    /// An `ld_imm64` refers to a map or a function, or its second slot is invalid.
    #[error("instruction `{insn}` is not a plain 64-bit constant")]
    NotPlainImm64 {
        /// The first slot.
        insn: Insn,
    },
}

crate::debug_as_message!(InsnError);

/// The errors of all records that have one.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanError {
    /// The index of each failed record in [`Relocs::records`](crate::Relocs::records), and its error, in
    /// order.
    pub failed: Vec<(usize, RelocError)>,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} relocations failed", self.failed.len())?;
        let first = self.failed.first();
        first.map_or(Ok(()), |(record, error)| write!(f, ", the first (record {record}): {error}"))
    }
}

impl core::error::Error for PlanError {}

crate::debug_as_message!(PlanError);

/// Returns whether a value differs from the instruction's by the sign extension of 32 bits.
fn is_sign_extension(found: i64, expected: i64) -> bool {
    let extended = u32::try_from(found).map(|value| i64::from(value.cast_signed()));
    expected < 0 && extended == Ok(expected)
}

/// Returns the cause of a value that differs from the instruction's by the sign extension of 32 bits, which
/// only enumerators have.
fn sign_extension(found: i64, expected: i64) -> &'static str {
    if is_sign_extension(found, expected) {
        ": libbpf sign-extends the enumerators of unsigned 32-bit enums, where cilium/ebpf and aya zero-extend them"
    } else {
        ""
    }
}
