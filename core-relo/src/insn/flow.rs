//! The control flow after an instruction.

use super::{
    instruction::{Class, Insn},
    numbers::jump::{CALL, EXIT, JA},
};

/// The instructions that may run after an instruction. Distances are in slots and count from the next
/// instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Flow {
    /// The next instruction. Calls return there.
    Next,
    /// The instruction at a distance.
    Jump(i32),
    /// The next instruction, or the instruction at a distance.
    Branch(i32),
    /// An instruction whose address is in a register.
    Indirect,
    /// None: the function returns.
    Exit,
}

impl Insn {
    /// Returns the control flow after the instruction.
    pub fn flow(self) -> Flow {
        match (self.class(), self.operation()) {
            (Class::Jmp, JA) if self.source_is_register() => Flow::Indirect,
            (Class::Jmp, JA) => Flow::Jump(self.off.into()),
            (Class::Jmp32, JA) => Flow::Jump(self.imm),
            (Class::Jmp, EXIT) => Flow::Exit,
            (Class::Jmp | Class::Jmp32, CALL | EXIT | 0xf0) => Flow::Next,
            (Class::Jmp | Class::Jmp32, _) => Flow::Branch(self.off.into()),
            _ => Flow::Next,
        }
    }

    /// Returns the index of the instruction that the instruction at `index` jumps to. `None` if it is no
    /// jump, or if the target is not a 32-bit index.
    pub fn jump_target(self, index: u32) -> Option<u32> {
        match self.flow() {
            Flow::Jump(distance) | Flow::Branch(distance) => {
                index.checked_add(1)?.checked_add_signed(distance)
            }
            Flow::Next | Flow::Indirect | Flow::Exit => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_count_from_the_next_instruction() {
        let insn = |code, off, imm| Insn { code, dst: 1, src: 2, off, imm };
        assert_eq!(insn(0x05, -3, 9).jump_target(2), Some(0));
        assert_eq!(insn(0x05, -4, 9).jump_target(2), None);
        assert_eq!(insn(0x06, -3, 100_000).jump_target(2), Some(100_003));
        assert_eq!(insn(0x15, 1, 0).flow(), Flow::Branch(1));
        assert_eq!(insn(0xe5, 1, 0).flow(), Flow::Branch(1), "may_goto");
        assert_eq!(insn(0x85, 1, 0).flow(), Flow::Next);
        assert_eq!(insn(0x0d, 0, 0).flow(), Flow::Indirect);
        assert_eq!(insn(0x95, 0, 0).flow(), Flow::Exit);
        assert_eq!(insn(0x05, 0, 0).jump_target(u32::MAX), None);
    }
}
