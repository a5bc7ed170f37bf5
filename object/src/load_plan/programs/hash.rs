//! The SHA-256 of a program's instructions, by which the kernel recognises the program of an exclusive map.

use core_relo::{
    Endian,
    insn::{INSN_BYTES, Insn, LD_IMM64},
};

/// The first bits of the fractional parts of the cube roots of the first 64 primes.
#[rustfmt::skip]
const ROUND: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// The first bits of the fractional parts of the square roots of the first 8 primes.
#[rustfmt::skip]
const INITIAL: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// Bytes of a block.
const BLOCK: usize = 64;

/// Returns the hash of a program's instructions in the machine's byte order (kernel: `bpf_prog_calc_tag`). The descriptors of maps do not
/// count.
pub(in crate::load_plan) fn program_hash(insns: &[u8]) -> [u8; 32] {
    const MAP: u8 = 1;
    const MAP_VALUE: u8 = 2;
    let mut bytes = Vec::with_capacity(insns.len());
    let mut is_second_half = false;
    for raw in insns.chunks_exact(INSN_BYTES) {
        let insn = raw.first_chunk().map(|raw| Insn::decode(Endian::native(), *raw));
        let is_map = insn.is_some_and(|insn| insn.code == LD_IMM64 && matches!(insn.src, MAP | MAP_VALUE));
        let has_descriptor = is_map || is_second_half;
        let kept = if has_descriptor { INSN_BYTES / 2 } else { INSN_BYTES };
        bytes.extend_from_slice(raw.get(..kept).unwrap_or(raw));
        bytes.extend_from_slice(&[0; INSN_BYTES / 2][..INSN_BYTES.abs_diff(kept)]);
        is_second_half = is_map && !is_second_half;
    }
    sha256(&bytes)
}

/// Computes the SHA-256 of a message (FIPS 180-4).
fn sha256(message: &[u8]) -> [u8; 32] {
    let mut padded = message.to_vec();
    padded.push(0x80);
    let bits = u64::try_from(message.len()).unwrap_or(u64::MAX).wrapping_mul(8);
    while padded.len() % BLOCK != BLOCK - 8 {
        padded.push(0);
    }
    padded.extend_from_slice(&bits.to_be_bytes());
    let mut state = INITIAL;
    for block in padded.chunks_exact(BLOCK) {
        let next = compress(state, block);
        for (old, new) in state.iter_mut().zip(next) {
            *old = old.wrapping_add(new);
        }
    }
    let mut hash = [0; 32];
    for (to, word) in hash.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    hash
}

/// Returns the eight working variables after the rounds over one block.
fn compress(state: [u32; 8], block: &[u8]) -> [u32; 8] {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
    // The last 16 words of the message schedule, the oldest first.
    let mut schedule = [0_u32; 16];
    for (word, bytes) in schedule.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.first_chunk().copied().map_or(0, u32::from_be_bytes);
    }
    for round in ROUND {
        let [word, second, .., tenth, _, _, _, _, fifteenth, _] = schedule;
        let sum1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let first = h.wrapping_add(sum1).wrapping_add(choice).wrapping_add(round).wrapping_add(word);
        let sum0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
        (d, c, b, a) = (c, b, a, first.wrapping_add(sum0).wrapping_add(majority));
        let small0 = second.rotate_right(7) ^ second.rotate_right(18) ^ (second >> 3);
        let small1 = fifteenth.rotate_right(17) ^ fifteenth.rotate_right(19) ^ (fifteenth >> 10);
        schedule.rotate_left(1);
        if let Some(last) = schedule.last_mut() {
            *last = word.wrapping_add(small0).wrapping_add(tenth).wrapping_add(small1);
        }
    }
    [a, b, c, d, e, f, g, h]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(hash: [u8; 32]) -> String {
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_examples_of_the_standard_have_their_hashes() {
        assert_eq!(hex(sha256(b"")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(hex(sha256(b"abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let two_blocks = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(
            hex(sha256(two_blocks)),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        );
    }

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
