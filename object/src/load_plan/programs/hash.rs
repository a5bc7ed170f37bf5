//! The SHA-256 of a program's instructions, by which the kernel recognises the program of an exclusive map.

use crate::sha256::sha256;
use core_relo::{
    Endian,
    insn::{INSN_BYTES, Insn, LD_IMM64, pseudo},
};

/// Returns the hash of a program's instructions in the machine's byte order (kernel: `bpf_prog_calc_tag`).
/// The descriptors of maps do not count.
pub(in crate::load_plan) fn program_hash(insns: &[u8]) -> [u8; 32] {
    let mut bytes = Vec::with_capacity(insns.len());
    let mut is_second_half = false;
    for raw in insns.chunks_exact(INSN_BYTES) {
        let insn = raw.first_chunk().map(|raw| Insn::decode(Endian::native(), *raw));
        let is_map = insn.is_some_and(|insn| {
            insn.code == LD_IMM64 && matches!(insn.src, pseudo::MAP_FD | pseudo::MAP_VALUE)
        });
        // The descriptor is the second half of an instruction.
        let has_descriptor = is_map || is_second_half;
        let cleared = |at: usize| has_descriptor && at >= INSN_BYTES / 2;
        bytes.extend(raw.iter().enumerate().map(|(at, byte)| if cleared(at) { 0 } else { *byte }));
        is_second_half = is_map && !is_second_half;
    }
    sha256(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptors_of_maps_do_not_count() {
        let program = |src, first, second| {
            let load = [
                Insn { code: LD_IMM64, dst: 1, src, off: 0, imm: first },
                Insn { imm: second, ..Insn::default() },
            ];
            program_hash(&load.map(|insn| insn.encode(Endian::native())).concat())
        };
        assert_eq!(program(1, 5, 0), program(1, 9, 0));
        assert_eq!(program(2, 5, 8), program(2, 9, 16));
        assert_ne!(program(0, 5, 0), program(0, 9, 0));
        assert_ne!(program(1, 5, 0), program(2, 5, 0));
    }
}
