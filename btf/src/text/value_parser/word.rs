//! Values as a person types them, such as `7`, `ON`, `bash`, `10,0,0,1`.

use super::{
    Signedness, ValueError, ValueParser, is_bool,
    number::{integer_bytes, number, number_bytes, parse_number},
};
use crate::{endian::Endian, format::Kind, text::CType, view::Type};
use alloc::{boxed::Box, format, vec, vec::Vec};

impl ValueParser<'_> {
    /// Parses a word. The caller has limited the size of the type.
    pub(super) fn word(&self, ty: Type<'_>, word: &str) -> Result<Vec<u8>, ValueError> {
        let (size, endian) = (self.size_of(ty.id())?, self.btf.endian());
        let integer = |signedness| parse_number(word, size, signedness, endian);
        match (ty.kind(), ty.int()) {
            (Kind::Int, _) if is_bool(ty) => match word {
                "true" | "1" => Ok(number_bytes(1, size, endian)),
                "false" | "0" => Ok(vec![0; size]),
                _ => Err(ValueError::NoBool),
            },
            (Kind::Int, Some(int)) => integer(Signedness::new(int.is_signed())),
            (Kind::Enum | Kind::Enum64, _) => {
                match ty.enumerators().find(|v| v.name.as_bytes() == word.as_bytes()) {
                    Some(v) => integer_bytes(v.value.cast_signed().into(), size, Signedness::Either, endian),
                    None => integer(Signedness::Either).map_err(|e| ValueError::NoIntegerOrName(Box::new(e))),
                }
            }
            (Kind::Float, _) => Ok(number_bytes(self.float(ty, word, size)?, size, endian)),
            (Kind::Array, _) => self.array_word(ty, word, size),
            (Kind::Struct | Kind::Union, _) if word.starts_with(['{', '(']) => {
                self.write(ty.id(), word, vec![0; size])
            }
            (Kind::Ptr, _) => integer(Signedness::Unsigned),
            (Kind::Struct | Kind::Union, _) => {
                Err(ValueError::Composite(format!("{}", CType::new(self.btf, ty.id()))))
            }
            (kind, _) => Err(ValueError::Kind(kind)),
        }
    }

    /// Parses text, or a list of values for the elements. Missing elements become 0.
    fn array_word(&self, ty: Type<'_>, word: &str, size: usize) -> Result<Vec<u8>, ValueError> {
        let array = ty.array().ok_or(ValueError::NoElementType)?;
        let element = self.btf.strip(array.element)?;
        if is_list(element, word) {
            return self.write(ty.id(), word, vec![0; size]);
        }
        let mut out = Vec::new();
        if takes_text(element, word) {
            out.extend_from_slice(word.as_bytes());
            // Text that fills the array has no NUL at its end, as in C.
            if out.len() > size {
                return Err(ValueError::LongText(size));
            }
        } else {
            let element_size = self.size_of(element.id())?;
            for part in word.split(',') {
                // An array without elements may be one of large elements.
                if size.checked_sub(out.len()).is_none_or(|left| element_size > left) {
                    return Err(ValueError::LongList);
                }
                out.extend(self.word(element, part.trim())?);
            }
        }
        out.resize(size, 0);
        Ok(out)
    }
}

/// Returns whether a word for an array is text: always for `char`, never for `bool`. For other types of one
/// byte, a word is text unless it is a list of numbers.
fn takes_text(element: Type<'_>, word: &str) -> bool {
    let is_byte = element.kind() == Kind::Int && element.size_or_type() == 1;
    let is_number = |part: &str| parse_number(part.trim(), 1, Signedness::Either, Endian::Little).is_ok();
    let are_numbers = || word.split(',').all(is_number);
    is_byte && !is_bool(element) && (element.name().as_bytes() == b"char" || !are_numbers())
}

/// Returns whether a word for an array is a list as it is printed: always with a `[`, but for bytes, which
/// may be text such as `[abc]`, only with numbers. `char` has no lists.
fn is_list(element: Type<'_>, word: &str) -> bool {
    let Some(inner) = word.strip_prefix('[') else { return false };
    if !takes_text(element, word) {
        return true;
    }
    let is_item = |item: &str| item.starts_with(['(', '\'']) || number(item, 128).is_some();
    let items = inner.strip_suffix(']');
    let are_items = |items: &str| items.split(',').map(str::trim).all(is_item);
    element.name().as_bytes() != b"char" && items.is_some_and(are_items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ids::{TypeId, to_usize},
        parse::Btf,
        view::IntInfo,
        write::Builder,
    };
    use alloc::string::{String, ToString as _};

    /// Parses a word for a type of at most 16 bytes.
    fn word(btf: &Btf<'_>, ty: TypeId, word: &str) -> Result<Vec<u8>, String> {
        let size = to_usize(btf.size_of(ty).map_err(|e| e.to_string())?.0);
        ValueParser::new(btf).parse_word(ty, word, size).map_err(|e| e.to_string())
    }

    #[test]
    fn structs_and_arrays_are_written_as_a_dump_prints_them() {
        let mut b = Builder::new(Endian::Big);
        let byte = b.int("unsigned char", 1, 0);
        let pair = b.structure("pair", 2, &[("a", byte, 0), ("b", byte, 8)]);
        let (pairs, bytes) = (b.array(pair, byte, 2), b.array(byte, byte, 2));
        let btf = Btf::parse(b.finish()).unwrap();
        let set = |ty: TypeId, value: &str| word(&btf, ty, value);
        assert_eq!(set(pair, "{.b = 2}"), Ok(vec![0, 2]));
        assert_eq!(set(pair, r#"{"a": 1}"#), Ok(vec![1, 0]));
        assert_eq!(set(pairs, "[{.a = 1}, {.b = 2}]"), Ok(vec![1, 0, 0, 2]));
        assert_eq!(set(bytes, "[1, 2]"), Ok(vec![1, 2]));
        assert_eq!(
            set(pair, "7").unwrap_err(),
            "it is `struct pair`: set a member (NAME.MEMBER=VALUE), all as {.MEMBER = VALUE}, or give its bytes as hex:…"
        );
    }

    #[test]
    fn arrays_of_bytes_take_text_or_numbers_by_their_type() {
        let mut b = Builder::new(Endian::Big);
        let char = b.int("char", 1, IntInfo::SIGNED);
        let byte = b.int("unsigned char", 1, 0);
        let bool = b.int("_Bool", 1, IntInfo::BOOL);
        let wide_bool = b.int("_Bool", 2, IntInfo::BOOL);
        let huge_bool = b.int("_Bool", 32, IntInfo::BOOL);
        let one = b.enumeration("e", 1, &[("HIGH", 200)]);
        let arrays = [char, byte, bool].map(|ty| b.array(ty, byte, 4));
        let btf = Btf::parse(b.finish()).unwrap();
        let set = |ty: TypeId, value: &str| word(&btf, ty, value);
        let [chars, bytes, bools] = arrays;
        assert_eq!(set(chars, "1,2"), Ok(b"1,2\0".to_vec()));
        assert_eq!(set(chars, "full"), Ok(b"full".to_vec()));
        assert!(set(chars, "above").is_err());
        assert_eq!(set(bytes, "1, 255,0x10"), Ok(vec![1, 255, 16, 0]));
        assert_eq!(set(bytes, "ab"), Ok(b"ab\0\0".to_vec()));
        assert_eq!(set(bytes, "[ab]"), Ok(b"[ab]".to_vec()));
        assert_eq!(set(bytes, "[a"), Ok(b"[a\0\0".to_vec()));
        assert_eq!(set(chars, "[1]"), Ok(b"[1]\0".to_vec()));
        assert_eq!(set(bytes, "[1, 0x2]"), Ok(vec![1, 2, 0, 0]));
        assert!(set(bytes, "[1, 300]").unwrap_err().contains("300 does not fit"));
        assert_eq!(set(bools, "true,0,1"), Ok(vec![1, 0, 1, 0]));
        assert!(set(bools, "yes").is_err() && set(bytes, "1,2,3,4,5").is_err());
        assert_eq!(set(wide_bool, "true"), Ok(vec![0, 1]));
        assert_eq!(set(huge_bool, "true").unwrap().len(), 32);
        assert_eq!(set(one, "HIGH"), Ok(vec![200]));
    }

    #[test]
    fn a_type_of_another_size_than_the_variable_takes_no_memory() {
        let mut b = Builder::new(Endian::Big);
        let char = b.int("char", 1, IntInfo::SIGNED);
        let huge = b.array(char, char, u32::MAX);
        let none = b.array(huge, char, 0);
        let btf = Btf::parse(b.finish()).unwrap();
        let parser = ValueParser::new(&btf);
        let error = ValueError::OtherSize { found: 4_294_967_295, expected: 4 };
        assert_eq!(parser.parse_word(huge, "a", 4), Err(error));
        assert_eq!(parser.parse_word(char, "7", 1), Ok(vec![7]));
        assert_eq!(parser.parse_word(none, "a,a", 0), Err(ValueError::LongList));
    }
}
