//! The text of an instruction, in the notation of llvm-objdump and the verifier.

use super::{
    instruction::{Class, Insn},
    slot::Slot,
};
use crate::endian::Endian;
use core::fmt::{Display, Formatter, Result};

/// Arithmetic operations by the upper four bits of the opcode.
const ALU: [&str; 16] =
    ["+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "neg", "%=", "^=", "=", "s>>=", "end", "", ""];
/// Jumps by the upper four bits of the opcode.
const JMP: [&str; 16] =
    ["goto", "==", ">", ">=", "&", "!=", "s>", "s>=", "call", "exit", "<", "<=", "s<", "s<=", "may_goto", ""];

impl Display for Insn {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write_insn(f, *self, None)
    }
}

impl Display for Slot {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write_insn(f, self.first(), self.imm64())
    }
}

/// Writes `insn`; `imm64` is the whole immediate of an `ld_imm64`.
fn write_insn(f: &mut Formatter<'_>, insn: Insn, imm64: Option<u64>) -> Result {
    match insn.class() {
        Class::Ld => write_load(f, insn, imm64),
        Class::Ldx => {
            let signed = matches!(insn.code >> 5, 4);
            write!(f, "r{} = *({} *)(r{} {:+})", insn.dst, width(insn, signed), insn.src, insn.off)
        }
        Class::St if insn.code >> 5 == 6 => f.write_str("nospec"),
        Class::St => write!(f, "*({} *)(r{} {:+}) = {}", width(insn, false), insn.dst, insn.off, insn.imm),
        Class::Stx if matches!(insn.code >> 5, 6 | 7) => write_atomic(f, insn),
        Class::Stx => {
            write!(f, "*({} *)(r{} {:+}) = r{}", width(insn, false), insn.dst, insn.off, insn.src)
        }
        Class::Alu => write_arithmetic(f, insn, 'w'),
        Class::Alu64 => write_arithmetic(f, insn, 'r'),
        Class::Jmp => write_jump(f, insn, 'r'),
        Class::Jmp32 => write_jump(f, insn, 'w'),
    }
}

fn write_load(f: &mut Formatter<'_>, insn: Insn, imm64: Option<u64>) -> Result {
    match (insn.is_ld_imm64(), imm64) {
        (true, Some(imm)) if insn.src == 0 => write!(f, "r{} = {imm:#x} ll", insn.dst),
        (true, Some(imm)) => write!(f, "r{} = {imm:#x} ll (src {})", insn.dst, insn.src),
        (true, None) => write!(f, "r{} = {:#x} ll (cut off)", insn.dst, insn.imm),
        (false, _) if insn.code >> 5 == 1 => {
            write!(f, "r0 = *({} *)skb[{}]", width(insn, false), insn.imm)
        }
        (false, _) if insn.code >> 5 == 2 => {
            write!(f, "r0 = *({} *)skb[r{} {:+}]", width(insn, false), insn.src, insn.imm)
        }
        (false, _) => write!(f, "ld code {:#04x} imm {:#x}", insn.code, insn.imm),
    }
}

fn write_arithmetic(f: &mut Formatter<'_>, insn: Insn, reg: char) -> Result {
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
                let [to_high, to_low, from_high, from_low] = Endian::Big.u32_bytes(insn.imm.cast_unsigned());
                let space = |high, low| (u32::from(high) << 8) | u32::from(low);
                let (to, from) = (space(to_high, to_low), space(from_high, from_low));
                write!(f, "r{dst} = addr_space_cast(r{src}, {to}, {from})")
            }
            -1 if reg == 'r' => write!(f, "r{dst} = &(void __percpu *)(r{src})"),
            _ => write!(f, "{reg}{dst} = {reg}{src}"),
        },
        (_, true) => write!(f, "{reg}{dst} {sign}{name} {reg}{src}"),
        (_, false) => write!(f, "{reg}{dst} {sign}{name} {}", insn.imm),
    }
}

/// Writes an atomic operation, which the immediate selects.
fn write_atomic(f: &mut Formatter<'_>, insn: Insn) -> Result {
    const FETCH: i32 = 1;
    const OPERATIONS: [(i32, &str, &str); 4] =
        [(0x00, "+=", "add"), (0x40, "|=", "or"), (0x50, "&=", "and"), (0xa0, "^=", "xor")];
    let (ty, dst, off, src) = (width(insn, false), insn.dst, insn.off, insn.src);
    let wide = if insn.access_bytes() == 8 { "64" } else { "" };
    match insn.imm {
        0xe1 => return write!(f, "r{src} = atomic{wide}_xchg(({ty} *)(r{dst} {off:+}), r{src})"),
        0xf1 => return write!(f, "r0 = atomic{wide}_cmpxchg(({ty} *)(r{dst} {off:+}), r0, r{src})"),
        0x100 => return write!(f, "r{dst} = load_acquire(({ty} *)(r{src} {off:+}))"),
        0x110 => return write!(f, "store_release(({ty} *)(r{dst} {off:+}), r{src})"),
        _ => {}
    }
    match OPERATIONS.iter().find(|(imm, ..)| *imm == insn.imm & !FETCH) {
        Some((_, _, name)) if insn.imm & FETCH != 0 => {
            write!(f, "r{src} = atomic{wide}_fetch_{name}(({ty} *)(r{dst} {off:+}), r{src})")
        }
        Some((_, sign, _)) => write!(f, "lock *({ty} *)(r{dst} {off:+}) {sign} r{src}"),
        None => write!(f, "lock *({ty} *)(r{dst} {off:+}) op {:#x} r{src}", insn.imm),
    }
}

fn write_jump(f: &mut Formatter<'_>, insn: Insn, reg: char) -> Result {
    let Some(name) = JMP.get(usize::from(insn.code >> 4)).copied() else {
        return write!(f, "code {:#04x}", insn.code);
    };
    match name {
        "exit" => f.write_str("exit"),
        "call" if insn == Insn::POISON => write!(f, "call {} (poison)", insn.imm),
        "call" if insn.src == 1 => write!(f, "call pc{:+}", insn.imm),
        "call" if insn.src == 2 => write!(f, "call kfunc {}", insn.imm),
        "call" if insn.source_is_register() => write!(f, "callx r{}", insn.dst),
        "call" => write!(f, "call {}", insn.imm),
        "goto" if insn.source_is_register() => write!(f, "gotox r{}", insn.dst),
        "goto" if reg == 'w' => write!(f, "gotol {:+}", insn.imm),
        "goto" | "may_goto" => write!(f, "{name} {:+}", insn.off),
        _ if insn.source_is_register() => {
            write!(f, "if {reg}{} {name} {reg}{} goto {:+}", insn.dst, insn.src, insn.off)
        }
        _ => write!(f, "if {reg}{} {name} {} goto {:+}", insn.dst, insn.imm, insn.off),
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
    use crate::insn::{Insn, Slot};
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
    fn reads_as_objdump_does() {
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
