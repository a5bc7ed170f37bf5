//! Base64 (RFC 4648, 4), for the checksums in an index.

/// Decodes a text. Returns `None` for other characters, and for a text of another length.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0u32, 0u32);
    for digit in digits.bytes() {
        bits = bits.wrapping_shl(6) | value(digit)?;
        count = count.checked_add(6)?;
        if count >= 8 {
            count = count.checked_sub(8)?;
            bytes.push(u8::try_from(bits.wrapping_shr(count) & 0xff).ok()?);
        }
    }
    (text.len().is_multiple_of(4)).then_some(bytes)
}

fn value(digit: u8) -> Option<u32> {
    let start = match digit {
        b'A'..=b'Z' => (b'A', 0),
        b'a'..=b'z' => (b'a', 26),
        b'0'..=b'9' => (b'0', 52),
        b'+' => return Some(62),
        b'/' => return Some(63),
        _ => return None,
    };
    u32::from(digit.checked_sub(start.0)?).checked_add(start.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_decoded_as_in_the_rfc() {
        for (text, bytes) in [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmE=", "fooba")]
        {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(decode("/+8="), Some(vec![0xff, 0xef]));
        assert_eq!((decode("Zg"), decode("Z g=")), (None, None));
    }
}
