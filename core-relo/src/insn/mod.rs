//! BPF instructions: eight bytes, in the object's byte order.

mod disasm;
mod helpers;

pub use helpers::helper_name;

use crate::endian::{Endian, high32, low32, signed32};
use core::fmt;

/// Bytes of an instruction.
pub const INSN_BYTES: usize = 8;

/// The code of `ld_imm64`, the one instruction of two slots.
pub const LD_IMM64: u8 = 0x18;

/// The immediate of a poisoned instruction, 0xbad2310 ("bad relo"): a helper that no kernel has.
pub const POISON_IMM: i32 = 195_896_080;

/// One decoded instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "the instruction's format is fixed")]
pub struct Insn {
    /// Class, operation or mode, and size or source.
    pub code: u8,
    /// Destination register.
    pub dst: u8,
    /// Source register, or what an immediate means.
    pub src: u8,
    /// Offset: in bytes of memory, in instructions of a jump.
    pub off: i16,
    /// Immediate.
    pub imm: i32,
}

/// The low three bits of an instruction's code.
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
    /// What replaces an instruction that cannot be relocated (libbpf: `bpf_core_poison_insn`).
    pub const POISON: Self = Self { code: 0x85, dst: 0, src: 0, off: 0, imm: POISON_IMM };

    /// Decodes eight bytes.
    pub fn decode(endian: Endian, raw: [u8; INSN_BYTES]) -> Self {
        let [code, regs, o0, o1, i0, i1, i2, i3] = raw;
        let (low, high) = (regs & 0xf, regs >> 4);
        let (dst, src) = match endian {
            Endian::Little => (low, high),
            Endian::Big => (high, low),
        };
        let off = endian.u16(&[o0, o1], 0).unwrap_or_default().cast_signed();
        Self { code, dst, src, off, imm: signed32(endian.word([i0, i1, i2, i3])) }
    }

    /// Encodes to eight bytes.
    pub fn encode(self, endian: Endian) -> [u8; INSN_BYTES] {
        let regs = match endian {
            Endian::Little => (self.src << 4) | (self.dst & 0xf),
            Endian::Big => (self.dst << 4) | (self.src & 0xf),
        };
        let [o0, o1] = endian.u16_bytes(self.off.cast_unsigned());
        let [i0, i1, i2, i3] = endian.u32_bytes(self.imm.cast_unsigned());
        [self.code, regs, o0, o1, i0, i1, i2, i3]
    }

    /// Its class.
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

    /// Whether an arithmetic or jump instruction takes its source from a register rather than the immediate.
    pub const fn source_is_register(self) -> bool {
        self.code & 8 != 0
    }

    /// The width in bytes of a memory access, by the code's size bits.
    pub const fn access_bytes(self) -> u32 {
        match self.code & 0x18 {
            0x00 => 4,
            0x08 => 2,
            0x10 => 1,
            _ => 8,
        }
    }

    /// The same access with another width; `None` unless it is 1, 2, 4 or 8 bytes. The mode stays.
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

    /// Whether this is the first slot of an `ld_imm64`.
    pub const fn is_ld_imm64(self) -> bool {
        self.code == LD_IMM64
    }
}

/// What a relocation patches: one instruction, or both slots of an `ld_imm64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "BPF has instructions of one and of two slots")]
pub enum Slot {
    /// One instruction.
    One(Insn),
    /// Two slots.
    Two(Insn, Insn),
}

impl Slot {
    /// Decodes the instruction at the start of `code`; `None` if it is cut off.
    pub fn decode(endian: Endian, code: &[u8]) -> Option<Self> {
        let (first, rest) = code.split_first_chunk::<INSN_BYTES>()?;
        let first = Insn::decode(endian, *first);
        if !first.is_ld_imm64() {
            return Some(Self::One(first));
        }
        let second = Insn::decode(endian, *rest.first_chunk::<INSN_BYTES>()?);
        Some(Self::Two(first, second))
    }

    /// The first (or only) instruction.
    pub const fn first(self) -> Insn {
        match self {
            Self::One(first) | Self::Two(first, _) => first,
        }
    }

    /// The second slot of an `ld_imm64`.
    pub const fn second(self) -> Option<Insn> {
        match self {
            Self::One(_) => None,
            Self::Two(_, second) => Some(second),
        }
    }

    /// The bytes as they lie in a section: 8, and 8 more in the second slot.
    pub fn encode(self, endian: Endian) -> ([u8; INSN_BYTES], Option<[u8; INSN_BYTES]>) {
        (self.first().encode(endian), self.second().map(|second| second.encode(endian)))
    }

    /// The same number of slots, poisoned.
    #[must_use]
    pub const fn poisoned(self) -> Self {
        match self {
            Self::One(_) => Self::One(Insn::POISON),
            Self::Two(..) => Self::Two(Insn::POISON, Insn::POISON),
        }
    }

    /// The 64-bit immediate of an `ld_imm64`.
    pub fn imm64(self) -> Option<u64> {
        let low = u64::from(self.first().imm.cast_unsigned());
        self.second().map(|second| (u64::from(second.imm.cast_unsigned()) << 32) | low)
    }

    /// The same `ld_imm64` with another immediate.
    #[must_use]
    pub fn with_imm64(self, value: u64) -> Self {
        match self {
            Self::Two(first, second) => Self::Two(
                Insn { imm: signed32(low32(value)), ..first },
                Insn { imm: signed32(high32(value)), ..second },
            ),
            one @ Self::One(_) => one,
        }
    }

    /// The bytes as hexadecimal digits, as they lie in the section.
    pub fn hex(self, endian: Endian) -> impl fmt::Display {
        Hex(self.encode(endian))
    }
}

struct Hex(([u8; INSN_BYTES], Option<[u8; INSN_BYTES]>));

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = &self.0;
        first.iter().chain(second.iter().flatten()).try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Display for Insn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        disasm::insn(f, *self, None)
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        disasm::insn(f, self.first(), self.imm64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

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
    fn a_cut_off_ld_imm64_is_not_an_instruction() {
        let bytes = [0x18, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0];
        let slot = Slot::decode(Endian::Little, &bytes).unwrap();
        assert_eq!(slot.imm64(), Some(0x2_0000_0001));
        assert_eq!(slot.with_imm64(u64::MAX).imm64(), Some(u64::MAX));
        assert_eq!(slot.hex(Endian::Little).to_string(), "18010000010000000000000002000000");
        assert_eq!(Slot::decode(Endian::Little, &bytes[..15]), None);
        assert_eq!(Slot::decode(Endian::Little, &bytes[8..]).unwrap().second(), None);
    }

    #[test]
    fn widths_change_and_modes_stay() {
        let memsx = Insn { code: 0x81, ..Insn::default() };
        assert_eq!(memsx.access_bytes(), 4);
        assert_eq!(memsx.with_access_bytes(2).map(|i| i.code), Some(0x89));
        assert_eq!(memsx.with_access_bytes(16), None);
    }
}
