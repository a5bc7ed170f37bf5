//! SHA-256 hashes as hexadecimal digits.

use std::fmt::Write as _;

/// Returns whether a text is a SHA-256 in hexadecimal digits.
pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _: Result<(), _> = write!(text, "{byte:02x}");
        text
    })
}
