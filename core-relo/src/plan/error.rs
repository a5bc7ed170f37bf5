//! Why a record cannot be relocated; libbpf would refuse the object.

use crate::{
    ids::{InsnIndex, TypeId},
    insn::Insn,
    resolve::{Ambiguity, Candidate, MatchError, ValueError},
    spec::SpecError,
};
use alloc::vec::Vec;
use thiserror::Error;

/// Why one record has no decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RelocError {
    /// The record's offset is inside of an instruction.
    #[error("instruction offset {offset} is not a multiple of 8")]
    Misaligned {
        /// The offset in bytes.
        offset: u32,
    },
    /// The record itself makes no sense.
    #[error("{0}")]
    Spec(#[from] SpecError),
    /// Only TYPE_ID_LOCAL can be asked of a type without a name.
    #[error("root type [{0}] is anonymous, and candidates are looked for by name")]
    AnonymousRoot(TypeId),
    /// The local side has no value.
    #[error("no value in the object's own types: {0}")]
    Local(ValueError),
    /// A candidate cannot be decided.
    #[error("candidate [{}] cannot be decided: {error}", candidate.id)]
    Match {
        /// The candidate.
        candidate: Candidate,
        /// Why.
        error: MatchError,
    },
    /// A candidate matches, and has no value.
    #[error("candidate [{}] matches but has no value: {error}", candidate.id)]
    Target {
        /// The candidate.
        candidate: Candidate,
        /// Why.
        error: ValueError,
    },
    /// Candidates disagree.
    #[error("{0}")]
    Ambiguous(#[from] Ambiguity),
    /// The instruction cannot be patched.
    #[error("{0}")]
    Insn(#[from] InsnError),
}

/// Why an instruction cannot be patched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InsnError {
    /// It lies past the end of its section, or its second slot does.
    #[error("instruction {insn} is cut off by the section's end")]
    CutOff {
        /// The instruction.
        insn: InsnIndex,
    },
    /// It does not hold what the record says.
    #[error("instruction `{insn}` holds {found}, the record expects {expected}")]
    UnexpectedValue {
        /// The instruction.
        insn: Insn,
        /// What it holds.
        found: i64,
        /// What it should.
        expected: i64,
    },
    /// It is of a class that holds no relocatable value.
    #[error("instruction `{insn}` (code {:#04x}) is not one that can be relocated", insn.code)]
    NotRelocatable {
        /// The instruction.
        insn: Insn,
    },
    /// The offset in the target exceeds 16 bits.
    #[error("offset {value} does not fit into the instruction `{insn}` (at most 32767)")]
    OffsetTooLarge {
        /// The instruction.
        insn: Insn,
        /// The offset.
        value: u64,
    },
    /// The width of the access is not the local field's, so it cannot be changed to the target's.
    #[error("instruction `{insn}` accesses {found} bytes, the local field has {expected}")]
    UnexpectedWidth {
        /// The instruction.
        insn: Insn,
        /// Bytes it accesses.
        found: u32,
        /// Bytes of the local field.
        expected: u32,
    },
    /// No load or store is as wide as the target's field.
    #[error("no access of {width} bytes can be made of `{insn}`")]
    NoSuchWidth {
        /// The instruction.
        insn: Insn,
        /// Bytes of the target's field.
        width: u32,
    },
    /// An `ld_imm64` of a map, a function or the like, or with a second slot that is not one.
    #[error("`{insn}` is not a plain 64-bit constant")]
    NotPlainImm64 {
        /// Its first slot.
        insn: Insn,
    },
}

/// Why there is no patched code: every record in error, by its number among all.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[error("{} relocations failed, the first (record {}): {}", failed.len(), failed.first().map_or(0, |f| f.0), failed.first().map_or(RelocError::Misaligned { offset: 0 }, |f| f.1))]
pub struct PlanError {
    /// Number of the record and its error, in order.
    pub failed: Vec<(usize, RelocError)>,
}
