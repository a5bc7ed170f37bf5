//! Bytes as hexadecimal digits, printed and parsed.

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

/// Parses pairs of hexadecimal digits.
pub(crate) fn parse(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_parsed_in_pairs() {
        assert_eq!(parse("00ff"), Some(vec![0, 255]));
        assert_eq!(parse("0"), None);
        assert_eq!(parse("zz"), None);
    }
}
