//! The text of an instruction, in a notation near the verifier's or in that of llvm-objdump.

use super::{
    instruction::{Class, Insn},
    numbers::{atomic, mode},
    slot::Slot,
};
use crate::Endian;
use core::fmt::{Display, Formatter, Result};

/// Arithmetic operations by the upper four bits of the opcode.
const ALU: [&str; 16] =
    ["+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "neg", "%=", "^=", "=", "s>>=", "end", "", ""];
/// Jumps by the upper four bits of the opcode.
const JMP: [&str; 16] =
    ["goto", "==", ">", ">=", "&", "!=", "s>", "s>=", "call", "exit", "<", "<=", "s<", "s<=", "may_goto", ""];

/// The notation of instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Notation {
    /// Nearly the notation of the kernel's verifier and of bpftool: `r1 = *(u32 *)(r2 +8)`.
    ///
    /// Jumps have LLVM's distance, and all immediates are decimal, so that a number looks the same in each
    /// instruction: `if r1 == 16 goto +5`, where the verifier writes `if r1 == 0x10 goto pc+5`. A 64-bit
    /// constant ends in `ll`, as in LLVM's assembler: `r1 = 0x10 ll`. A load from a packet is `skb[r2 -4]`
    /// instead of `skb[r2 + -4]`.
    #[default]
    Kernel,
    /// The notation of `llvm-objdump -d --mcpu=v4` (LLVM 19): hexadecimal numbers, `w1 = *(u32 *)(r2 + 0x8)`.
    /// The text of an encoding with a [`defect`](Slot::defect) is `<unknown>`.
    Llvm,
}

/// The text of an instruction in one notation.
#[derive(Clone, Copy, Debug)]
pub struct InsnText {
    slot: Slot,
    notation: Notation,
}

impl Slot {
    /// Returns the text of the instruction in a notation.
    pub const fn text(self, notation: Notation) -> InsnText {
        InsnText { slot: self, notation }
    }
}

impl Display for InsnText {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.notation {
            Notation::Llvm if self.slot.defect().is_some() => f.write_str("<unknown>"),
            notation => notation.write_insn(f, self.slot.first(), self.slot.imm64()),
        }
    }
}

impl Display for Insn {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        Notation::Kernel.write_insn(f, *self, None)
    }
}

impl Display for Slot {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.text(Notation::Kernel).fmt(f)
    }
}

impl Notation {
    /// Writes `insn`; `imm64` is the whole immediate of an `ld_imm64`.
    fn write_insn(self, f: &mut Formatter<'_>, insn: Insn, imm64: Option<u64>) -> Result {
        let signed = insn.mode() == mode::MEMSX;
        let (dst, src, ty) = (insn.dst, insn.src, width(insn, false));
        match insn.class() {
            Class::Ld => self.write_load(f, insn, imm64),
            Class::Ldx if signed => {
                write!(f, "r{dst} = *({} *)({})", width(insn, true), self.address(src, insn.off))
            }
            Class::Ldx => {
                let reg = self.data_register(insn);
                write!(f, "{reg}{dst} = *({ty} *)({})", self.address(src, insn.off))
            }
            Class::St if insn.mode() == mode::ATOMIC => f.write_str("nospec"),
            Class::St => {
                write!(f, "*({ty} *)({}) = {}", self.address(dst, insn.off), self.number(insn.imm))
            }
            Class::Stx if matches!(insn.mode(), mode::ATOMIC | 0xe0) => self.write_atomic(f, insn),
            Class::Stx => {
                let reg = self.data_register(insn);
                write!(f, "*({ty} *)({}) = {reg}{src}", self.address(dst, insn.off))
            }
            Class::Alu => self.write_arithmetic(f, insn, 'w'),
            Class::Alu64 => self.write_arithmetic(f, insn, 'r'),
            Class::Jmp => self.write_jump(f, insn, 'r'),
            Class::Jmp32 => self.write_jump(f, insn, 'w'),
        }
    }

    fn write_load(self, f: &mut Formatter<'_>, insn: Insn, imm64: Option<u64>) -> Result {
        let (dst, src, imm) = (insn.dst, insn.src, insn.imm);
        match (insn.is_ld_imm64(), imm64) {
            (true, Some(wide)) => match (self, src) {
                (Self::Kernel, 0) => write!(f, "r{dst} = {wide:#x} ll"),
                (Self::Kernel, _) => write!(f, "r{dst} = {wide:#x} ll (src {src})"),
                (Self::Llvm, 0) => write!(f, "r{dst} = {} ll", self.number(wide.cast_signed())),
                (Self::Llvm, _) => write!(f, "ld_pseudo r{dst}, {src:#x}, {imm:#x}"),
            },
            (true, None) => write!(f, "r{dst} = {imm:#x} ll (cut off)"),
            (false, _) if insn.mode() == mode::ABS => {
                write!(f, "r0 = *({} *)skb[{}]", width(insn, false), self.number(imm))
            }
            (false, _) if insn.mode() == mode::IND && self == Self::Kernel => {
                write!(f, "r0 = *({} *)skb[r{src} {imm:+}]", width(insn, false))
            }
            (false, _) if insn.mode() == mode::IND => {
                write!(f, "r0 = *({} *)skb[r{src}]", width(insn, false))
            }
            (false, _) => write!(f, "ld code {:#04x} imm {imm:#x}", insn.code),
        }
    }

    fn write_arithmetic(self, f: &mut Formatter<'_>, insn: Insn, reg: char) -> Result {
        let Some(name) = ALU.get(usize::from(insn.code >> 4)).copied() else {
            return write!(f, "code {:#04x}", insn.code);
        };
        // An offset of 1 makes a division or remainder signed.
        let sign = if insn.off == 1 && matches!(name, "/=" | "%=") { "s" } else { "" };
        let (dst, src) = (insn.dst, insn.src);
        match (name, insn.source_is_register()) {
            ("neg", _) => write!(f, "{reg}{dst} = -{reg}{dst}"),
            ("end", _) if reg == 'r' => write!(f, "r{dst} = bswap{} r{dst}", insn.imm),
            ("end", true) => write!(f, "r{dst} = be{} r{dst}", insn.imm),
            ("end", false) => write!(f, "r{dst} = le{} r{dst}", insn.imm),
            ("=", true) => match insn.off {
                8 | 16 | 32 => write!(f, "{reg}{dst} = (s{}){reg}{src}", insn.off),
                1 if reg == 'r' => {
                    let [to_high, to_low, from_high, from_low] =
                        Endian::Big.u32_bytes(insn.imm.cast_unsigned());
                    let space = |high, low| self.number((i64::from(high) << 8) | i64::from(low));
                    let (to, from) = (space(to_high, to_low), space(from_high, from_low));
                    write!(f, "r{dst} = addr_space_cast(r{src}, {to}, {from})")
                }
                -1 if reg == 'r' => write!(f, "r{dst} = &(void __percpu *)(r{src})"),
                _ => write!(f, "{reg}{dst} = {reg}{src}"),
            },
            (_, true) => write!(f, "{reg}{dst} {sign}{name} {reg}{src}"),
            (_, false) => write!(f, "{reg}{dst} {sign}{name} {}", self.number(insn.imm)),
        }
    }

    /// Writes an atomic operation, which the immediate selects.
    fn write_atomic(self, f: &mut Formatter<'_>, insn: Insn) -> Result {
        const OPERATIONS: [(i32, &str, &str); 4] =
            [(0x00, "+=", "add"), (0x40, "|=", "or"), (0x50, "&=", "and"), (0xa0, "^=", "xor")];
        let (ty, dst, src, reg) = (width(insn, false), insn.dst, insn.src, self.data_register(insn));
        let address = self.address(dst, insn.off);
        let is_wide = insn.access_bytes() == 8;
        // LLVM names these two operations after its own instructions.
        let bits = if is_wide { "_64" } else { "32_32" };
        let wide = if is_wide && self == Self::Kernel { "64" } else { "" };
        match (insn.imm, self) {
            (atomic::EXCHANGE, Self::Kernel) => {
                return write!(f, "r{src} = atomic{wide}_xchg(({ty} *)({address}), r{src})");
            }
            (atomic::EXCHANGE, Self::Llvm) => {
                return write!(f, "{reg}{src} = xchg{bits}({address}, {reg}{src})");
            }
            (atomic::COMPARE_EXCHANGE, Self::Kernel) => {
                return write!(f, "r0 = atomic{wide}_cmpxchg(({ty} *)({address}), r0, r{src})");
            }
            (atomic::COMPARE_EXCHANGE, Self::Llvm) => {
                return write!(f, "{reg}0 = cmpxchg{bits}({address}, {reg}0, {reg}{src})");
            }
            (atomic::LOAD_ACQUIRE, _) => {
                return write!(f, "{reg}{dst} = load_acquire(({ty} *)({}))", self.address(src, insn.off));
            }
            (atomic::STORE_RELEASE, _) => return write!(f, "store_release(({ty} *)({address}), {reg}{src})"),
            _ => {}
        }
        match OPERATIONS.iter().find(|(imm, ..)| *imm == insn.imm & !atomic::FETCH) {
            Some((_, _, name)) if insn.imm & atomic::FETCH != 0 => {
                write!(f, "{reg}{src} = atomic{wide}_fetch_{name}(({ty} *)({address}), {reg}{src})")
            }
            Some((_, sign, _)) => write!(f, "lock *({ty} *)({address}) {sign} {reg}{src}"),
            None => write!(f, "lock *({ty} *)({address}) op {:#x} {reg}{src}", insn.imm),
        }
    }

    fn write_jump(self, f: &mut Formatter<'_>, insn: Insn, reg: char) -> Result {
        let Some(name) = JMP.get(usize::from(insn.code >> 4)).copied() else {
            return write!(f, "code {:#04x}", insn.code);
        };
        let (distance, imm) = (self.distance(insn.off), self.number(insn.imm));
        match name {
            "exit" => f.write_str("exit"),
            "call" if insn.source_is_register() => write!(f, "callx r{}", insn.dst),
            "call" if self == Self::Llvm => write!(f, "call {imm}"),
            "call" if insn == Insn::POISON => write!(f, "call {imm} (poison)"),
            "call" if insn.src == 1 => write!(f, "call pc{:+}", insn.imm),
            "call" if insn.src == 2 => write!(f, "call kfunc {imm}"),
            "call" => write!(f, "call {imm}"),
            "goto" if insn.source_is_register() => write!(f, "gotox r{}", insn.dst),
            "goto" if reg == 'w' => write!(f, "gotol {}", self.distance(insn.imm)),
            "goto" | "may_goto" => write!(f, "{name} {distance}"),
            _ if insn.source_is_register() => {
                write!(f, "if {reg}{} {name} {reg}{} goto {distance}", insn.dst, insn.src)
            }
            _ => write!(f, "if {reg}{} {name} {imm} goto {distance}", insn.dst),
        }
    }

    fn number(self, value: impl Into<i64>) -> Number {
        Number { value: value.into(), notation: self, role: Role::Value }
    }

    fn distance(self, value: impl Into<i64>) -> Number {
        Number { value: value.into(), notation: self, role: Role::Distance }
    }

    /// Returns the text of a register and an offset: `r2 +8` or `r2 + 0x8`.
    fn address(self, register: u8, offset: i16) -> Address {
        Address(register, Number { value: offset.into(), notation: self, role: Role::Offset })
    }

    /// Returns the letter of a register that a memory access reads or writes.
    fn data_register(self, insn: Insn) -> char {
        if self == Self::Llvm && insn.access_bytes() < 8 { 'w' } else { 'r' }
    }
}

/// The place of a number in an instruction.
#[derive(Clone, Copy)]
enum Role {
    /// A plain number.
    Value,
    /// A number of instructions, always with a sign.
    Distance,
    /// An offset from a register, always with a sign.
    Offset,
}

/// A number in a notation.
#[derive(Clone, Copy)]
struct Number {
    value: i64,
    notation: Notation,
    role: Role,
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { value, notation, role } = *self;
        match (notation, role) {
            (Notation::Kernel, Role::Value) => write!(f, "{value}"),
            (Notation::Kernel, Role::Distance | Role::Offset) => write!(f, "{value:+}"),
            (Notation::Llvm, role) => {
                let sign = match role {
                    Role::Offset if value < 0 => "- ",
                    Role::Offset => "+ ",
                    Role::Value | Role::Distance if value < 0 => "-",
                    Role::Distance => "+",
                    Role::Value => "",
                };
                write!(f, "{sign}{:#x}", value.unsigned_abs())
            }
        }
    }
}

struct Address(u8, Number);

impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "r{} {}", self.0, self.1)
    }
}

fn width(insn: Insn, signed: bool) -> &'static str {
    match (insn.access_bytes(), signed) {
        (1, false) => "u8",
        (2, false) => "u16",
        (4, false) => "u32",
        (_, false) => "u64",
        (1, true) => "s8",
        (2, true) => "s16",
        (4, true) => "s32",
        (_, true) => "s64",
    }
}

#[cfg(test)]
mod tests {
    use crate::insn::{Insn, Notation, Slot};
    use alloc::string::ToString as _;

    #[test]
    fn sign_extensions_byte_swaps_and_casts() {
        let insn = |code, off, imm| Insn { code, dst: 1, src: 2, off, imm }.to_string();
        assert_eq!(insn(0xbf, 8, 0), "r1 = (s8)r2");
        assert_eq!(insn(0xbc, 16, 0), "w1 = (s16)w2");
        assert_eq!(insn(0xbf, 1, 0x0001_0000), "r1 = addr_space_cast(r2, 1, 0)");
        assert_eq!(insn(0xbf, -1, 0), "r1 = &(void __percpu *)(r2)");
        assert_eq!(insn(0x3f, 1, 0), "r1 s/= r2");
        assert_eq!(insn(0x94, 1, 7), "w1 s%= 7");
        assert_eq!(insn(0xdc, 0, 16), "r1 = be16 r1");
        assert_eq!(insn(0xd4, 0, 64), "r1 = le64 r1");
        assert_eq!(insn(0xd7, 0, 32), "r1 = bswap32 r1");
        assert_eq!(insn(0x87, 0, 0), "r1 = -r1");
    }

    #[test]
    fn atomics_and_packet_loads() {
        let insn = |code, imm| Insn { code, dst: 1, src: 2, off: -8, imm }.to_string();
        assert_eq!(insn(0xdb, 0), "lock *(u64 *)(r1 -8) += r2");
        assert_eq!(insn(0xc3, 0x51), "r2 = atomic_fetch_and((u32 *)(r1 -8), r2)");
        assert_eq!(insn(0xdb, 0xe1), "r2 = atomic64_xchg((u64 *)(r1 -8), r2)");
        assert_eq!(insn(0xdb, 0xf1), "r0 = atomic64_cmpxchg((u64 *)(r1 -8), r0, r2)");
        assert_eq!(insn(0xd3, 0x100), "r1 = load_acquire((u8 *)(r2 -8))");
        assert_eq!(insn(0xcb, 0x110), "store_release((u16 *)(r1 -8), r2)");
        assert_eq!(insn(0xdb, 0x77), "lock *(u64 *)(r1 -8) op 0x77 r2");
        assert_eq!(insn(0x28, 14), "r0 = *(u16 *)skb[14]");
        assert_eq!(insn(0x50, -4), "r0 = *(u8 *)skb[r2 -4]");
        assert_eq!(insn(0x06, 5), "gotol +5");
        assert_eq!(insn(0x0d, 0), "gotox r1");
        assert_eq!(insn(0xc2, 0), "nospec");
    }

    #[test]
    fn llvm_writes_hexadecimal_numbers_and_halves_of_registers() {
        let insn = |code, off, imm| {
            Slot::One(Insn { code, dst: 1, src: 2, off, imm }).text(Notation::Llvm).to_string()
        };
        assert_eq!(insn(0x61, 8, 0), "w1 = *(u32 *)(r2 + 0x8)");
        assert_eq!(insn(0x79, -8, 0), "r1 = *(u64 *)(r2 - 0x8)");
        assert_eq!(insn(0x81, 0, 0), "r1 = *(s32 *)(r2 + 0x0)");
        assert_eq!(insn(0x62, i16::MIN, -1), "*(u32 *)(r1 - 0x8000) = -0x1");
        assert_eq!(insn(0x73, 0, 0), "*(u8 *)(r1 + 0x0) = w2");
        assert_eq!(insn(0xb7, 0, i32::MIN), "r1 = -0x80000000");
        assert_eq!(insn(0x56, -2, 10), "if w1 != 0xa goto -0x2");
        assert_eq!(insn(0x06, 0, 5), "gotol +0x5");
        assert_eq!(insn(0x85, 0, -1), "call -0x1");
        assert_eq!(insn(0xdb, 8, 0xf1), "r0 = cmpxchg_64(r1 + 0x8, r0, r2)");
        assert_eq!(insn(0xc3, 8, 0xe1), "w2 = xchg32_32(r1 + 0x8, w2)");
        assert_eq!(insn(0xc3, 8, 0x41), "w2 = atomic_fetch_or((u32 *)(r1 + 0x8), w2)");
        assert_eq!(insn(0xd3, 8, 0x100), "w1 = load_acquire((u8 *)(r2 + 0x8))");
        assert_eq!(insn(0x8f, 0, 0), "<unknown>");
    }

    #[test]
    fn is_near_the_notation_of_the_verifier() {
        let insn = |code, dst, src, off, imm| Insn { code, dst, src, off, imm }.to_string();
        assert_eq!(insn(0x61, 1, 2, 8, 0), "r1 = *(u32 *)(r2 +8)");
        assert_eq!(insn(0x99, 1, 2, -8, 0), "r1 = *(s64 *)(r2 -8)");
        assert_eq!(insn(0x7b, 10, 1, -8, 0), "*(u64 *)(r10 -8) = r1");
        assert_eq!(insn(0x62, 10, 0, -4, 7), "*(u32 *)(r10 -4) = 7");
        assert_eq!(insn(0xb7, 1, 0, 0, 24), "r1 = 24");
        assert_eq!(insn(0xb4, 1, 0, 0, 24), "w1 = 24");
        assert_eq!(insn(0x0f, 1, 2, 0, 0), "r1 += r2");
        assert_eq!(insn(0x15, 1, 0, 5, 0), "if r1 == 0 goto +5");
        assert_eq!(insn(0x95, 0, 0, 0, 0), "exit");
        assert_eq!(Insn::POISON.to_string(), "call 195896080 (poison)");
        let pair =
            Slot::Two(Insn { code: 0x18, dst: 3, ..Insn::default() }, Insn { imm: 1, ..Insn::default() });
        assert_eq!(pair.to_string(), "r3 = 0x100000000 ll");
    }
}
