//! Hashes of files in indexes: SHA-256, or SHA-512, which openSUSE's repositories have.

use super::sha256::{hex, is_sha256};
use sha2::{Digest as _, Sha256, Sha512};

/// The hash of a file that is being read.
#[derive(Debug)]
pub(super) enum FileHasher {
    Sha256(Sha256),
    Sha512(Sha512),
}

impl FileHasher {
    /// Creates the hash to compare with an expected one. The number of its digits shows the algorithm.
    pub(super) fn for_expected(hash: &str) -> Self {
        match is_sha512(hash) {
            true => Self::Sha512(Sha512::new()),
            false => Self::Sha256(Sha256::new()),
        }
    }

    /// Adds bytes of the file.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hash) => hash.update(bytes),
            Self::Sha512(hash) => hash.update(bytes),
        }
    }

    /// Returns the hash as hexadecimal digits.
    pub(super) fn finish(self) -> String {
        match self {
            Self::Sha256(hash) => hex(&hash.finalize()),
            Self::Sha512(hash) => hex(&hash.finalize()),
        }
    }
}

/// Returns whether a text is a SHA-256 or SHA-512 in hexadecimal digits.
pub(super) fn is_hash(text: &str) -> bool {
    is_sha256(text) || is_sha512(text)
}

/// Returns the name of the algorithm of a hash.
pub(super) fn algorithm(hash: &str) -> &'static str {
    if is_sha512(hash) { "SHA-512" } else { "SHA-256" }
}

fn is_sha512(text: &str) -> bool {
    text.len() == 128 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_hash_shows_the_algorithm() {
        // FIPS 180-4, the empty message.
        let sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let sha512 = "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce\
                      47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e";
        for hash in [sha256, sha512] {
            assert!(is_hash(hash));
            assert_eq!(FileHasher::for_expected(hash).finish(), hash);
        }
        assert!(!is_hash("da39a3ee5e6b4b0d3255bfef95601890afd80709"), "SHA-1");
        assert_eq!((algorithm(sha256), algorithm(sha512)), ("SHA-256", "SHA-512"));
    }
}
