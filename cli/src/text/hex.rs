//! Bytes as hexadecimal digits.

use std::fmt::Write as _;

/// Returns bytes as hexadecimal digits.
pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, b| {
        // Writing to a string does not fail.
        let _ = write!(text, "{b:02x}");
        text
    })
}

/// Returns bytes as hexadecimal digits with spaces, sixteen on a line if there are more than 32.
pub(crate) fn lines(bytes: &[u8]) -> String {
    let line = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ");
    if bytes.len() <= 32 {
        return line(bytes);
    }
    bytes.chunks(16).enumerate().map(|(at, bytes)| format!("\n\t{:04x}  {}", at * 16, line(bytes))).collect()
}
