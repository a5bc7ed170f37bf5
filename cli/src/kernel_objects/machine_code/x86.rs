//! x86-64, in the notation of objdump (AT&T).

use super::MachineInsn;
use iced_x86::{Decoder, DecoderOptions, Formatter as _, GasFormatter, Instruction, OpKind};

pub(super) fn disassemble(code: &[u8], address: u64) -> Vec<MachineInsn> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut formatter = GasFormatter::new();
    let options = formatter.options_mut();
    options.set_space_after_operand_separator(false);
    options.set_uppercase_hex(false);
    options.set_branch_leading_zeros(false);
    let mut instructions = Vec::new();
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        let offset = decoder.position();
        decoder.decode_out(&mut instruction);
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        let jumps = instruction.op_count() > 0 && instruction.op0_kind() == OpKind::NearBranch64;
        let target = jumps.then(|| instruction.near_branch_target());
        instructions.push(MachineInsn {
            offset,
            len: decoder.position().saturating_sub(offset),
            text,
            target,
        });
    }
    instructions
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn instructions_are_those_of_objdump() {
        // The prologue of a program with a call and a jump, and a byte that is no instruction.
        let code = b"\x55\x48\x89\xe5\xe8\xf7\x0f\0\0\x85\xc0\x74\x02\xc9\xc3\x06";
        let texts: Vec<_> =
            disassemble(code, 0x1000).into_iter().map(|i| (i.offset, i.text, i.target)).collect();
        let expected = [
            (0, "push %rbp", None),
            (1, "mov %rsp,%rbp", None),
            (4, "call 0x2000", Some(0x2000)),
            (9, "test %eax,%eax", None),
            (11, "je 0x100f", Some(0x100f)),
            (13, "leave", None),
            (14, "ret", None),
            (15, "(bad)", None),
        ];
        assert_eq!(texts, expected.map(|(offset, text, target)| (offset, text.to_owned(), target)));
    }

    #[test]
    fn instructions_cover_all_bytes() {
        for seed in 0..2000u32 {
            let mut state = u64::from(seed) | 1;
            let code: Vec<u8> = (0..64)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    u8::try_from(state >> 56).unwrap()
                })
                .collect();
            let len: usize = disassemble(&code, u64::MAX - 32).iter().map(|i| i.len).sum();
            assert_eq!(len, code.len());
        }
    }
}
