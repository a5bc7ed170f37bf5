//! The members of struct_ops maps that hold programs.

use crate::index::ProgramIndex;

/// A member of a struct_ops map's value that holds the descriptor of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramSlot {
    offset: usize,
    program: ProgramIndex,
}

impl ProgramSlot {
    pub(super) const fn new(offset: usize, program: ProgramIndex) -> Self {
        Self { offset, program }
    }

    /// Returns the member's offset in the value, in bytes.
    pub const fn offset(self) -> usize {
        self.offset
    }

    /// Returns the program.
    pub const fn program(self) -> ProgramIndex {
        self.program
    }
}
