//! arm64 (A64).

use super::MachineInsn;
use yaxpeax_arch::{Decoder as _, U8Reader};
use yaxpeax_arm::armv8::a64::{InstDecoder, Opcode, Operand};

/// The size of an instruction in bytes.
const INSN_BYTES: usize = 4;

pub(super) fn disassemble(code: &[u8], address: u64) -> Vec<MachineInsn> {
    let decoder = InstDecoder::default();
    let chunks = code.chunks(INSN_BYTES).enumerate();
    let instructions = chunks.map(|(index, chunk)| {
        let offset = index.saturating_mul(INSN_BYTES);
        let decoded = decoder.decode(&mut U8Reader::new(chunk)).ok();
        let place = u64::try_from(offset).map_or(address, |offset| address.wrapping_add(offset));
        let distance = decoded.filter(|instruction| jumps(instruction.opcode)).and_then(|instruction| {
            instruction.operands.into_iter().find_map(|operand| match operand {
                Operand::PCOffset(distance) => Some(distance),
                _ => None,
            })
        });
        MachineInsn {
            offset,
            len: chunk.len(),
            text: decoded.map_or_else(|| "(bad)".to_owned(), |instruction| instruction.to_string()),
            target: distance.map(|distance| place.wrapping_add_signed(distance)),
        }
    });
    instructions.collect()
}

/// Returns whether an instruction jumps or calls at a distance.
fn jumps(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::B | Opcode::BL | Opcode::Bcc(_) | Opcode::CBZ | Opcode::CBNZ | Opcode::TBZ | Opcode::TBNZ
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_their_targets() {
        // stp x29, x30, [sp, #-16]!; mov x29, sp; bl +16; cbz w0, -4; ret; two bytes of an instruction
        let words = [0xa9bf_7bfd_u32, 0x9100_03fd, 0x9400_0004, 0x34ff_ffe0, 0xd65f_03c0];
        let mut code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        code.extend([0xc0, 0x03]);
        let found = disassemble(&code, 0x1000);
        let texts: Vec<_> = found.iter().map(|i| i.text.as_str()).collect();
        assert_eq!(texts.first(), Some(&"stp x29, x30, [sp, #-0x10]!"));
        assert_eq!(texts.get(4..), Some(&["ret", "(bad)"][..]));
        let targets: Vec<_> = found.iter().map(|i| i.target).collect();
        assert_eq!(targets, [None, None, Some(0x1018), Some(0x1008), None, None]);
    }
}
