//! One instruction of eight bytes.

use super::numbers::{jump, mode, opcode, pseudo};
use crate::Endian;

/// The bytes of an instruction.
pub const INSN_BYTES: usize = 8;

/// The register with the address of the stack frame, r10, which programs only read.
pub const FRAME_POINTER: u8 = 10;

/// The opcode of `ld_imm64`, the only instruction of two slots.
pub const LD_IMM64: u8 = 0x18;

/// The immediate of a poisoned instruction, 0xbad2310 ("bad relo"): the number of a helper that no kernel
/// has.
pub const POISON_IMM: i32 = 195_896_080;

/// One decoded instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "the instruction's format is fixed")]
pub struct Insn {
    /// The opcode: the class, and either the operation and source or the mode and size.
    pub code: u8,
    /// The destination register.
    pub dst: u8,
    /// The source register, or the meaning of the immediate.
    pub src: u8,
    /// The offset: of memory in bytes, of a jump in instructions.
    pub off: i16,
    /// The immediate.
    pub imm: i32,
}

/// The instruction class: the low three bits of the opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "three bits make eight classes")]
pub enum Class {
    /// Loads of immediates and packet data.
    Ld,
    /// Loads from memory.
    Ldx,
    /// Stores of an immediate.
    St,
    /// Stores of a register, and atomics.
    Stx,
    /// 32-bit arithmetic.
    Alu,
    /// 64-bit jumps and calls.
    Jmp,
    /// 32-bit jumps.
    Jmp32,
    /// 64-bit arithmetic.
    Alu64,
}

impl Insn {
    /// The instruction that replaces a poisoned instruction (libbpf: `bpf_core_poison_insn`).
    pub const POISON: Self = Self { code: opcode::CALL, dst: 0, src: 0, off: 0, imm: POISON_IMM };

    /// Decodes an instruction.
    pub fn decode(endian: Endian, raw: [u8; INSN_BYTES]) -> Self {
        let [code, regs, o0, o1, i0, i1, i2, i3] = raw;
        let (low, high) = (regs & 0xf, regs >> 4);
        let (dst, src) = match endian {
            Endian::Little => (low, high),
            Endian::Big => (high, low),
        };
        let (off_high, off_low) = match endian {
            Endian::Little => (o1, o0),
            Endian::Big => (o0, o1),
        };
        let off = (i16::from(off_high) << 8) | i16::from(off_low);
        Self { code, dst, src, off, imm: endian.word([i0, i1, i2, i3]).cast_signed() }
    }

    /// Encodes the instruction.
    pub fn encode(self, endian: Endian) -> [u8; INSN_BYTES] {
        let regs = match endian {
            Endian::Little => (self.src << 4) | (self.dst & 0xf),
            Endian::Big => (self.dst << 4) | (self.src & 0xf),
        };
        let [o0, o1] = endian.u16_bytes(self.off.cast_unsigned());
        let [i0, i1, i2, i3] = endian.u32_bytes(self.imm.cast_unsigned());
        [self.code, regs, o0, o1, i0, i1, i2, i3]
    }

    /// Returns the class.
    pub const fn class(self) -> Class {
        match self.code & 7 {
            0 => Class::Ld,
            1 => Class::Ldx,
            2 => Class::St,
            3 => Class::Stx,
            4 => Class::Alu,
            5 => Class::Jmp,
            6 => Class::Jmp32,
            _ => Class::Alu64,
        }
    }

    /// Returns the operation of an arithmetic or jump instruction: [`alu`](super::alu), [`jump`].
    pub const fn operation(self) -> u8 {
        self.code & 0xf0
    }

    /// Returns the mode of a load or store: [`mode`].
    pub const fn mode(self) -> u8 {
        self.code & 0xe0
    }

    /// Returns whether this calls a helper.
    pub const fn is_helper_call(self) -> bool {
        self.code == opcode::CALL && self.src == 0
    }

    /// Returns whether this calls a function of the program.
    pub const fn is_function_call(self) -> bool {
        self.code == opcode::CALL && self.src == pseudo::CALL
    }

    /// Returns whether this is a jump that compares values.
    pub const fn is_comparison(self) -> bool {
        matches!(self.class(), Class::Jmp | Class::Jmp32)
            && matches!(self.operation(), jump::JEQ..=jump::JSGE | jump::JLT..=jump::JSLE)
    }

    /// Returns whether an arithmetic or jump instruction takes its source from a register rather than the
    /// immediate.
    pub const fn source_is_register(self) -> bool {
        self.code & 8 != 0
    }

    /// Returns the width of a memory access in bytes, from the size bits of the opcode.
    pub const fn access_bytes(self) -> u32 {
        match self.code & 0x18 {
            0x00 => 4,
            0x08 => 2,
            0x10 => 1,
            _ => 8,
        }
    }

    /// Returns the same memory access with another width; `None` unless the width is 1, 2, 4 or 8 bytes.
    #[must_use]
    pub const fn with_access_bytes(self, bytes: u32) -> Option<Self> {
        let size = match bytes {
            4 => 0x00,
            2 => 0x08,
            1 => 0x10,
            8 => 0x18,
            _ => return None,
        };
        Some(Self { code: (self.code & !0x18) | size, ..self })
    }

    /// Returns whether this is a load from memory or a store.
    pub const fn is_memory_access(self) -> bool {
        matches!(self.class(), Class::Ldx | Class::St | Class::Stx)
    }

    /// Returns whether this is a load of packet data (`LD_ABS`, `LD_IND`).
    pub const fn is_packet_load(&self) -> bool {
        matches!((self.class(), self.mode()), (Class::Ld, mode::ABS | mode::IND))
    }

    /// Returns whether this is the first slot of an `ld_imm64`.
    pub const fn is_ld_imm64(self) -> bool {
        self.code == LD_IMM64
    }

    /// Returns whether this is the first slot of a load of a function's address.
    pub const fn is_function_address(self) -> bool {
        self.is_ld_imm64() && self.src == pseudo::FUNC
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_swap_nibbles_with_the_byte_order() {
        let little = [0x61, 0x21, 0x08, 0x00, 0, 0, 0, 0];
        let big = [0x61, 0x12, 0x00, 0x08, 0, 0, 0, 0];
        let insn = Insn::decode(Endian::Little, little);
        assert_eq!(insn, Insn { code: 0x61, dst: 1, src: 2, off: 8, imm: 0 });
        assert_eq!(Insn::decode(Endian::Big, big), insn);
        assert_eq!((insn.encode(Endian::Little), insn.encode(Endian::Big)), (little, big));
    }

    #[test]
    fn widths_change_and_modes_stay() {
        let memsx = Insn { code: 0x81, ..Insn::default() };
        assert_eq!(memsx.access_bytes(), 4);
        assert_eq!(memsx.with_access_bytes(2).map(|i| i.code), Some(0x89));
        assert_eq!(memsx.with_access_bytes(16), None);
    }
}
