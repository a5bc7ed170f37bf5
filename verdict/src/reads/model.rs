//! A read of a program: the instruction, and what it reads.

use super::comparison::Comparison;
use crate::kernel::AccessKind;
use core_relo_object::ExternIndex;

/// A read of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a read is an instruction and what it reads")]
pub struct Read {
    /// The index of the instruction in the linked program.
    pub insn: u32,
    /// What the instruction reads.
    pub kind: ReadKind,
}

/// An access to the context at a constant offset, on some path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "an access is an instruction and its place")]
pub struct ContextAccess {
    /// The index of the instruction in the linked program.
    pub insn: u32,
    /// The first byte.
    pub offset: i32,
    /// The width in bytes.
    pub bytes: u32,
    /// What the instruction does.
    pub kind: AccessKind,
    /// Whether the register points behind the start of the context, so that the program has changed it.
    pub is_moved: bool,
}

/// An access to the context at an offset that the trace does not know, on some path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VariableAccess {
    /// The index of the instruction in the linked program.
    pub(crate) insn: u32,
    /// The width in bytes.
    pub(crate) bytes: u32,
    /// What the instruction does.
    pub(crate) kind: AccessKind,
}

/// An access to the program's stack at an offset that a CO-RE record sets, on every path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameAccess {
    /// The index of the instruction in the linked program.
    pub(crate) insn: u32,
    /// The record.
    pub(crate) record: usize,
    /// The address to which the instruction adds the field's offset, from the frame pointer.
    pub(crate) base: i32,
}

/// The values that a program may return, as far as its instructions tell without an analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "callers decide on each")]
pub enum Returns {
    /// Values that are not known.
    #[default]
    Unknown,
    /// None: the program does not end.
    None,
    /// Numbers from the first to the second.
    Constants(i32, i32),
}

impl Returns {
    /// Adds the constants of an exit.
    pub(super) fn join(self, constants: Option<(i32, i32)>) -> Self {
        match (self, constants) {
            (Self::Unknown, _) | (_, None) => Self::Unknown,
            (Self::None, Some((min, max))) => Self::Constants(min, max),
            (Self::Constants(min, max), Some((other_min, other_max))) => {
                Self::Constants(min.min(other_min), max.max(other_max))
            }
        }
    }
}

/// A word of the context, such as an argument of the traced function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "callers decide on each")]
pub enum ContextWord {
    /// The word at this offset in bytes.
    Offset(i16),
    /// The field of this CO-RE record.
    Record(usize),
}

/// What an instruction reads. Records are indices of the object's CO-RE records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReadKind {
    /// A part of the context.
    Context {
        /// The first byte.
        word: ContextWord,
        /// The width in bytes.
        bytes: u32,
    },
    /// A field of the type that a word of the context points to.
    Pointee {
        /// The word.
        word: ContextWord,
        /// The record of the field.
        record: usize,
    },
    /// A field, with `bpf_probe_read_kernel` and a constant size.
    ProbeRead {
        /// The record of the field.
        record: usize,
        /// The size in bytes.
        bytes: u32,
    },
    /// A field, with a load whose width CO-RE adjusts.
    Load {
        /// The record of the field.
        record: usize,
    },
    /// A comparison of a field's value with a constant.
    Comparison {
        /// The record of the field.
        record: usize,
        /// The constant.
        value: i32,
    },
    /// A comparison of a configuration value with a constant.
    KconfigComparison {
        /// The extern.
        index: ExternIndex,
        /// The comparison.
        comparison: Comparison,
    },
}
