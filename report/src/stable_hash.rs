//! A hash that is the same on every machine and in every version.

/// Returns a hash of some bytes that is the same on every machine and in every version: FNV-1a, with a final
/// mix, so that the low bits depend on all of them. It identifies the results of SARIF.
pub fn stable_hash(bytes: &[u8]) -> u64 {
    let add_byte = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, add_byte);
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_never_change() {
        assert_eq!([stable_hash(b""), stable_hash(b"6.1/vmlinux")], [0x8570_e254_d5cb, 0x7037_9f8c_5a78]);
    }
}
