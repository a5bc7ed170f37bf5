//! The decision about one record.

use crate::{insn::Slot, resolve::Candidate};

/// The decision about one record's instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The value is the same in the target. The instruction is not changed.
    Keep {
        /// The value.
        value: u64,
    },
    /// Another instruction replaces the instruction.
    Patch {
        /// The value in the object.
        local: u64,
        /// The value in the target.
        target: u64,
        /// The new instruction.
        slot: Slot,
    },
    /// An instruction that the verifier rejects, if it is reachable, replaces the instruction.
    Poison {
        /// The new instruction.
        slot: Slot,
        /// The reason why the instruction is poisoned.
        why: PoisonReason,
    },
    /// The record is not applied.
    Skip(SkipReason),
}

/// The reason why an instruction is poisoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoisonReason {
    /// The target has no type of the root type's name and kind.
    NoCandidates,
    /// The target has such types, but none of them matches.
    NoMatch,
    /// The width of the target's field differs, and a load or store of another width would have another
    /// meaning.
    Width {
        /// The width of the memory in the object, in bytes; 0 for a bitfield.
        local: u32,
        /// The width of the field in the target, in bytes.
        target: u32,
    },
}

/// The reason why a record is not applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    /// No function contains the instruction. The linker drops all but one of several weak functions.
    NoFunction,
    /// The object has no code section of the record's section name.
    NoSection,
    /// The record's program is not selected for the plan.
    NotSelected,
}

/// A result that is no error but may be a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// Candidates have the field at the same offset with different widths. The plan uses the first candidate,
    /// as libbpf does without a warning.
    WidthsDiffer {
        /// The first candidate, which the plan uses.
        first: Candidate,
        /// The other candidate.
        other: Candidate,
        /// The field's width in the first candidate, in bytes.
        first_width: u32,
        /// The field's width in the other candidate, in bytes.
        other_width: u32,
    },
}
