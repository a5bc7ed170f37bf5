//! One instruction as text, in the notation of llvm-objdump and the verifier.

use super::{Class, Insn};
use core::fmt::{Formatter, Result};

const ALU: [&str; 16] =
    ["+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "neg", "%=", "^=", "=", "s>>=", "end", "", ""];
const JMP: [&str; 16] =
    ["goto", "==", ">", ">=", "&", "!=", "s>", "s>=", "call", "exit", "<", "<=", "s<", "s<=", "may_goto", ""];

/// Writes `insn`; `imm64` is the whole immediate of an `ld_imm64`.
pub(super) fn insn(f: &mut Formatter<'_>, insn: Insn, imm64: Option<u64>) -> Result {
    match insn.class() {
        Class::Ld => load_immediate(f, insn, imm64),
        Class::Ldx => {
            let signed = matches!(insn.code >> 5, 4);
            write!(f, "r{} = *({} *)(r{} {:+})", insn.dst, width(insn, signed), insn.src, insn.off)
        }
        Class::St => write!(f, "*({} *)(r{} {:+}) = {}", width(insn, false), insn.dst, insn.off, insn.imm),
        Class::Stx => match insn.code >> 5 {
            6 => write!(
                f,
                "lock *({} *)(r{} {:+}) op {:#x} r{}",
                width(insn, false),
                insn.dst,
                insn.off,
                insn.imm,
                insn.src
            ),
            _ => write!(f, "*({} *)(r{} {:+}) = r{}", width(insn, false), insn.dst, insn.off, insn.src),
        },
        Class::Alu => arithmetic(f, insn, 'w'),
        Class::Alu64 => arithmetic(f, insn, 'r'),
        Class::Jmp => jump(f, insn, 'r'),
        Class::Jmp32 => jump(f, insn, 'w'),
    }
}

fn load_immediate(f: &mut Formatter<'_>, insn: Insn, imm64: Option<u64>) -> Result {
    match (insn.is_ld_imm64(), imm64) {
        (true, Some(imm)) if insn.src == 0 => write!(f, "r{} = {imm:#x} ll", insn.dst),
        (true, Some(imm)) => write!(f, "r{} = {imm:#x} ll (src {})", insn.dst, insn.src),
        (true, None) => write!(f, "r{} = {:#x} ll (cut off)", insn.dst, insn.imm),
        (false, _) => write!(f, "ld code {:#04x} imm {:#x}", insn.code, insn.imm),
    }
}

fn arithmetic(f: &mut Formatter<'_>, insn: Insn, reg: char) -> Result {
    let name = ALU.get(usize::from(insn.code >> 4)).copied().unwrap_or_default();
    match name {
        "neg" => write!(f, "{reg}{0} = -{reg}{0}", insn.dst),
        "end" => write!(f, "{reg}{0} = swap{1} {reg}{0}", insn.dst, insn.imm),
        _ if insn.source_is_register() => write!(f, "{reg}{} {name} {reg}{}", insn.dst, insn.src),
        _ => write!(f, "{reg}{} {name} {}", insn.dst, insn.imm),
    }
}

fn jump(f: &mut Formatter<'_>, insn: Insn, reg: char) -> Result {
    let name = JMP.get(usize::from(insn.code >> 4)).copied().unwrap_or_default();
    match name {
        "exit" => f.write_str("exit"),
        "call" if insn == Insn::POISON => write!(f, "call {} (poison)", insn.imm),
        "call" if insn.src == 1 => write!(f, "call pc{:+}", insn.imm),
        "call" if insn.src == 2 => write!(f, "call kfunc {}", insn.imm),
        "call" if insn.source_is_register() => write!(f, "callx r{}", insn.dst),
        "call" => write!(f, "call {}", insn.imm),
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
