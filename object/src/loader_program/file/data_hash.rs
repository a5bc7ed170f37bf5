//! The comparison of the data's hash in the instructions of a loader program.

use super::LoaderFile;
use crate::sha256::sha256;
use core_relo::insn::{Insn, LD_IMM64, pseudo};

/// Loads eight bytes from memory.
const LOAD_LONG: u8 = 0x79;
/// Jumps if two registers differ.
const JUMP_NOT_EQUAL: u8 = 0x5d;
/// Instructions of the comparison of eight bytes.
const COMPARISON: usize = 6;
/// The offsets of the parts of the hash in the kernel's `struct bpf_map`.
const OFFSETS: [i16; 4] = [0, 8, 16, 24];
/// Instructions of the whole comparison.
const ALL: usize = COMPARISON * OFFSETS.len();

impl LoaderFile {
    /// Returns whether the instructions compare the kernel's hash of the map with the hash of this file's
    /// data, as those of a generated program do. Other than [`checks_data`](Self::checks_data), this is no
    /// claim of the file.
    ///
    /// The rest of the instructions is not judged: a program that was written to deceive may ignore the
    /// comparison.
    pub fn compares_data_hash(&self) -> bool {
        let hash = sha256(&self.data);
        let insns: Vec<Insn> = self
            .instructions
            .chunks_exact(8)
            .filter_map(|raw| Some(Insn::decode(self.endian, *raw.first_chunk()?)))
            .collect();
        insns.windows(ALL).any(|window| {
            let mut comparisons = window.chunks(COMPARISON).zip(hash.chunks(8)).zip(OFFSETS);
            comparisons.all(|((insns, part), offset)| is_comparison(insns, self.endian.u64(part, 0), offset))
        })
    }
}

/// Returns whether the instructions compare eight bytes of the map's hash with `part`.
fn is_comparison(insns: &[Insn], part: Option<u64>, offset: i16) -> bool {
    let [map, _, load, low, high, jump] = insns else { return false };
    let constant = (u64::from(high.imm.cast_unsigned()) << 32) | u64::from(low.imm.cast_unsigned());
    (map.code, map.dst, map.src) == (LD_IMM64, 1, pseudo::MAP_IDX)
        && (load.code, load.dst, load.src, load.off) == (LOAD_LONG, 2, 1, offset)
        && (low.code, low.dst, low.src) == (LD_IMM64, 3, 0)
        && part == Some(constant)
        && (jump.code, jump.dst, jump.src) == (JUMP_NOT_EQUAL, 2, 3)
}
