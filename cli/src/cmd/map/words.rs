//! Keys and values of maps as the words that the user types.

use crate::{long_double, text::hex};
use core_relo::{
    Endian, TypeId,
    btf::{Btf, CType, Signedness, ValueError, ValueParser, parse_number},
};

/// A part of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementPart {
    Key,
    Value,
}

impl ElementPart {
    /// Returns the noun for messages.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Value => "value",
        }
    }
}

/// Parses the words of a key or value.
///
/// `start` has the size of the result. It is zero, or has the bytes of members that a JSON object may leave
/// out.
///
/// Two or more words are bytes: `hex 01 00 00 00`, or `1 0 0 0`. One word is JSON, or a value as in C, by the
/// type. Without a type, the word is a number.
pub(super) fn parse_part(
    part: ElementPart,
    words: &[String],
    start: Vec<u8>,
    ty: Option<(&Btf<'_>, TypeId)>,
) -> Result<Vec<u8>, String> {
    let size = start.len();
    let bytes = match (words, ty) {
        ([], _) if size == 0 => Vec::new(),
        (_, _) if size == 0 => return Err(format!("the map has no {}s, expected no words", part.noun())),
        ([], _) => return Err(format!("no {}, expected {}", part.noun(), wanted(size, ty))),
        ([first, digits @ ..], _) if first == "hex" => hex_bytes(digits)?,
        ([_, _, ..], _) => bytes_from_numbers(words)?,
        ([word], Some((btf, id))) => {
            let parser = ValueParser::new(btf).long_double(long_double::NATIVE);
            parser.parse(id, word, start).map_err(|error| match error {
                ValueError::OtherSize { found, .. } => {
                    format!("its type has {found} bytes, expected `hex` and {size} bytes")
                }
                error => error.to_string(),
            })?
        }
        ([word], None) if !matches!(size, 1 | 2 | 4 | 8) => {
            return Err(format!("{word}: expected {}", wanted(size, ty)));
        }
        ([word], None) => parse_number(word, size, Signedness::Either, Endian::native())
            .map_err(|what| format!("{word}: {what}; expected {}", wanted(size, ty)))?,
    };
    if bytes.len() == size {
        return Ok(bytes);
    }
    let has_numbers = words.len() > 1 && words.first().is_some_and(|first| first != "hex");
    let several = if has_numbers { "several words are bytes: " } else { "" };
    Err(format!("{several}the {} has {} bytes, expected {size}", part.noun(), bytes.len()))
}

/// Returns one byte for each word, a number, as bpftool does.
fn bytes_from_numbers(words: &[String]) -> Result<Vec<u8>, String> {
    let byte = |word: &String| {
        // bpftool takes the number for an octal one.
        if word.len() > 1 && word.starts_with('0') && !word.starts_with("0x") {
            return Err(format!(
                "{word}: decimal or octal? expected a byte without zeros in front, or as 0x00"
            ));
        }
        parse_number(word, 1, Signedness::Unsigned, Endian::native())
            .map_err(|_no_byte| format!("{word}: several words are bytes, expected 0 to 255 or 0x00 to 0xff"))
    };
    Ok(words.iter().map(byte).collect::<Result<Vec<_>, _>>()?.concat())
}

/// Returns the bytes of pairs of hexadecimal digits. One word may have several bytes. A word of one digit is
/// one byte.
fn hex_bytes(words: &[String]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for word in words {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let padded = if digits.len() == 1 { format!("0{digits}") } else { digits.to_owned() };
        let parsed = hex::parse(&padded).filter(|bytes| !bytes.is_empty());
        bytes.extend(parsed.ok_or_else(|| format!("{word}: expected pairs of hexadecimal digits"))?);
    }
    Ok(bytes)
}

/// Returns the text for the values that are accepted.
fn wanted(size: usize, ty: Option<(&Btf<'_>, TypeId)>) -> String {
    match ty {
        Some((btf, id)) => format!("a value of `{}`, or `hex` and {size} bytes", CType::new(btf, id)),
        None if matches!(size, 1 | 2 | 4 | 8) => format!("a number, or `hex` and {size} bytes"),
        None => format!("`hex` and {size} bytes"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use core_relo::btf::{Builder, IntInfo};

    #[test]
    fn keys_with_and_without_types() {
        let mut b = Builder::new(Endian::native());
        let int = b.int("int", 4, Builder::SIGNED);
        let pair = b.structure("pair", 8, &[("a", int, 0), ("b", int, 32)]);
        let char = b.int("char", 1, Builder::SIGNED);
        let comm = b.array(char, int, 4);
        let (bool, float) = (b.int("_Bool", 1, IntInfo::BOOL), b.float("float", 4));
        let btf = Btf::parse(b.finish()).unwrap();
        let parse = |words: &str, size, ty: Option<TypeId>| {
            let words: Vec<_> = words.split_whitespace().map(str::to_owned).collect();
            parse_part(ElementPart::Key, &words, vec![0; size], ty.map(|ty| (&btf, ty)))
        };
        let seven = 7u32.to_ne_bytes();
        assert_eq!(parse("7", 4, Some(int)), Ok(seven.to_vec()));
        assert_eq!(parse("0x7", 4, None), Ok(seven.to_vec()));
        assert_eq!(parse("hex 01 0x02 3 0405", 5, None), Ok(vec![1, 2, 3, 4, 5]));
        assert_eq!(parse("1 0x0f 0 255", 4, Some(int)), Ok(vec![1, 15, 0, 255]), "bpftool's bytes");
        assert_eq!(parse(r#"{"b":7}"#, 8, Some(pair)), Ok([[0; 4], seven].concat()));
        assert_eq!(parse("{.b=7}", 8, Some(pair)), Ok([[0; 4], seven].concat()));
        assert_eq!(parse("(int)7", 4, Some(int)), Ok(seven.to_vec()));
        assert_eq!(parse("(sd)", 4, Some(comm)), Ok(b"(sd)".to_vec()), "text");
        assert_eq!(parse(r#""(sd""#, 4, Some(comm)), Ok(b"(sd\0".to_vec()));
        assert_eq!(parse("'a'", 1, Some(char)), Ok(vec![b'a']));
        assert_eq!(parse("", 0, None), Ok(Vec::new()));
        assert_eq!((parse("1", 1, Some(bool)), parse("false", 1, Some(bool))), (Ok(vec![1]), Ok(vec![0])));
        assert_eq!(parse("\"0x0102c07f\"", 4, Some(float)), Ok(vec![1, 2, 0xc0, 0x7f]), "bytes of a NaN");
        for (words, size, ty, expected) in [
            ("hex 01", 4, Some(int), "the key has 1 bytes, expected 4"),
            ("hex 0g", 1, None, "0g: expected pairs of hexadecimal digits"),
            ("1 2", 4, Some(int), "several words are bytes: the key has 2 bytes, expected 4"),
            ("1 2 3 256", 4, Some(int), "256: several words are bytes, expected 0 to 255 or 0x00 to 0xff"),
            ("a 1", 2, None, "a: several words are bytes"),
            ("010 0 0 0", 4, Some(int), "010: decimal or octal? expected a byte"),
            ("", 4, Some(int), "no key, expected a value of `int`, or `hex` and 4 bytes"),
            ("7", 8, Some(pair), "7: expected a value of `struct pair` as `{.NAME = VALUE}` or as JSON"),
            ("{", 8, Some(pair), "the value ends early"),
            (r#"{"a":1,"b":2,"a":3}"#, 8, Some(pair), "the value has the member \"a\" twice"),
            ("x", 4, Some(int), "x: no `int`: expected a number"),
            ("7", 1, Some(bool), "7: no `_Bool`: expected true or false"),
            ("0x07", 1, Some(bool), "0x07: no `_Bool`: expected true or false"),
            ("0x3f800000", 4, Some(float), "0x3f800000: no `float`: expected a number"),
            ("4294967296", 4, None, "expected a number, or `hex` and 4 bytes"),
            ("1", 16, None, "1: expected `hex` and 16 bytes"),
            ("1", 0, None, "the map has no keys, expected no words"),
        ] {
            let error = parse(words, size, ty).unwrap_err();
            assert!(error.contains(expected), "{words}: {error}");
        }
    }
}
