//! One instruction of an object with its annotations.

use super::{InsnDefect, reference::Reference};
use crate::object::Program;
use core::fmt;
use core_relo::{
    Function, InsnIndex, Record, SourceLine,
    insn::{Notation, Slot},
};

/// An instruction of an object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Instruction<'r, 'o, 'd> {
    /// The name of the ELF section.
    pub section: &'o [u8],
    /// The index of the first slot in the section.
    pub index: InsnIndex,
    /// The bytes in the file.
    pub bytes: &'o [u8],
    /// The instruction; `None` if the code ends within it.
    pub slot: Option<Slot>,
    /// The reason why the bytes are no instruction.
    pub defect: Option<InsnDefect>,
    /// The function that contains the instruction.
    pub function: Option<Function<'o>>,
    /// The functions that begin with the instruction.
    pub functions: Vec<&'o Program<'d>>,
    /// The source line that begins with the instruction.
    pub source: Option<SourceLine<'o>>,
    /// Whether another instruction of the section jumps to this one.
    pub is_jump_target: bool,
    /// The target of a jump.
    pub jump: Option<JumpTarget>,
    /// The map, variable, function or kernel symbol that the instruction refers to.
    pub reference: Option<Reference<'d>>,
    /// The CO-RE relocations.
    pub relocations: Vec<&'r Record<'o>>,
}

/// The target of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JumpTarget {
    /// An instruction of the same function.
    Instruction(InsnIndex),
    /// The second slot of a 64-bit load.
    SecondSlot(InsnIndex),
    /// An index outside of the function. The index counts from the start of the section, and may be negative.
    Outside(i64),
}

impl Instruction<'_, '_, '_> {
    /// Returns the text of the instruction in LLVM's notation; `<unknown>` if the bytes are no instruction.
    pub fn text(&self) -> impl fmt::Display {
        InstructionText(self.slot)
    }
}

struct InstructionText(Option<Slot>);

impl fmt::Display for InstructionText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(slot) => slot.text(Notation::Llvm).fmt(f),
            None => f.write_str("<unknown>"),
        }
    }
}
