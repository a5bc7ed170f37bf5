//! Encodings that are no instructions.

use super::{
    instruction::{Class, Insn},
    numbers::{alu, atomic, mode, opcode},
    slot::Slot,
};
use thiserror::Error;

/// The highest register: `r10`, the frame pointer. LLVM and the kernel also name `r11`, which programs may
/// not use.
const LAST_REGISTER: u8 = 11;

/// The reason why bytes are no instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum InsnDefect {
    /// No instruction has this opcode.
    #[error("opcode {0:#04x} is no instruction")]
    Opcode(u8),
    /// No register has this number.
    #[error("register {0} does not exist")]
    Register(u8),
    /// The offset selects no variant of the instruction.
    #[error("offset {0} has no meaning in this instruction")]
    Offset(i16),
    /// The immediate selects no variant of the instruction.
    #[error("immediate {0:#x} has no meaning in this instruction")]
    Immediate(i32),
    /// The second slot of an `ld_imm64` is not the rest of its immediate.
    #[error("the second slot of the 64-bit load has a code, registers or an offset")]
    SecondSlot,
    /// The code ends within the instruction.
    #[error("the code ends within the instruction")]
    Truncated,
}

crate::debug_as_message!(InsnDefect);

impl Slot {
    /// Returns the reason why the encoding is no instruction. `None` if it is an instruction.
    ///
    /// A field that the instruction ignores may have any value, as in LLVM. The verifier refuses some of
    /// these encodings.
    pub fn defect(self) -> Option<InsnDefect> {
        let wrong_second = |second: Insn| second != Insn { imm: second.imm, ..Insn::default() };
        match self {
            Self::Two(_, second) if wrong_second(second) => Some(InsnDefect::SecondSlot),
            Self::One(insn) | Self::Two(insn, _) => insn.defect(),
        }
    }
}

impl Insn {
    fn defect(self) -> Option<InsnDefect> {
        let operation = self.operation();
        let opcode = Some(InsnDefect::Opcode(self.code));
        let fields = match self.class() {
            Class::Ld if self.is_ld_imm64() => self.require_offset(&[0]),
            // Packet loads of one, two and four bytes.
            Class::Ld if matches!(self.mode(), mode::ABS | mode::IND) && self.access_bytes() < 8 => None,
            Class::Ldx | Class::St | Class::Stx if self.mode() == mode::MEM => None,
            // Loads that extend the sign.
            Class::Ldx if self.mode() == mode::MEMSX && self.access_bytes() < 8 => None,
            Class::St if self.code == 0xc2 => None,
            Class::Stx if self.mode() == mode::ATOMIC => self.atomic_defect(),
            Class::Alu | Class::Alu64 => self.arithmetic_defect(operation),
            Class::Jmp if self.code == opcode::EXIT => self.require_immediate(&[0]),
            _ if self.is_comparison() => None,
            Class::Jmp | Class::Jmp32 => match self.code {
                opcode::JUMP
                | opcode::INDIRECT_JUMP
                | opcode::LONG_JUMP
                | opcode::CALL
                | opcode::CALL_REGISTER
                | opcode::MAY_GOTO => None,
                _ => opcode,
            },
            _ => opcode,
        };
        fields.or_else(|| {
            [self.dst, self.src].into_iter().find(|r| *r > LAST_REGISTER).map(InsnDefect::Register)
        })
    }

    fn arithmetic_defect(self, operation: u8) -> Option<InsnDefect> {
        let by_register = self.source_is_register();
        match (operation, self.class()) {
            // Signed division and remainder have offset 1.
            (alu::DIV | alu::MOD, _) => self.require_offset(&[0, 1]),
            (alu::NEG, _) | (alu::END, Class::Alu64) if by_register => Some(InsnDefect::Opcode(self.code)),
            (alu::NEG, _) => None,
            (alu::MOV, Class::Alu64) if by_register => self.require_offset(&[0, 1, 8, 16, 32, -1]),
            (alu::MOV, _) if by_register => self.require_offset(&[0, 8, 16]),
            (alu::END, _) => self.require_immediate(&[16, 32, 64]),
            (0xe0 | 0xf0, _) => Some(InsnDefect::Opcode(self.code)),
            _ => self.require_offset(&[0]),
        }
    }

    fn atomic_defect(self) -> Option<InsnDefect> {
        const ACQUIRE_AND_RELEASE: [i32; 2] = [atomic::LOAD_ACQUIRE, atomic::STORE_RELEASE];
        if self.access_bytes() < 4 {
            return self.require_immediate(&ACQUIRE_AND_RELEASE);
        }
        let operations = [0x00, 0x01, 0x40, 0x41, 0x50, 0x51, 0xa0, 0xa1, 0xe1, 0xf1, 0x100, 0x110];
        self.require_immediate(&operations)
    }

    fn require_offset(self, allowed: &[i16]) -> Option<InsnDefect> {
        (!allowed.contains(&self.off)).then_some(InsnDefect::Offset(self.off))
    }

    fn require_immediate(self, allowed: &[i32]) -> Option<InsnDefect> {
        (!allowed.contains(&self.imm)).then_some(InsnDefect::Immediate(self.imm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defects_name_the_field() {
        let defect = |code, dst, off, imm| Slot::One(Insn { code, dst, src: 0, off, imm }).defect();
        assert_eq!(defect(0xb7, 0, 0, -1), None);
        assert_eq!(defect(0x8f, 0, 0, 0), Some(InsnDefect::Opcode(0x8f)));
        assert_eq!(defect(0xb7, 12, 0, 0), Some(InsnDefect::Register(12)));
        assert_eq!(defect(0x37, 0, 2, 0), Some(InsnDefect::Offset(2)));
        assert_eq!(defect(0xd4, 0, 0, 24), Some(InsnDefect::Immediate(24)));
        assert_eq!(defect(0xdb, 0, 0, 0x77), Some(InsnDefect::Immediate(0x77)));
        assert_eq!(defect(0xd3, 0, 0, 0x100), None);
        let first = Insn { code: 0x18, ..Insn::default() };
        assert_eq!(Slot::Two(first, Insn { imm: 1, ..Insn::default() }).defect(), None);
        assert_eq!(Slot::Two(first, first).defect(), Some(InsnDefect::SecondSlot));
    }
}
