//! Values as the user types them on the command line, such as `7`, `ON`, `bash`, `10,0,0,1`.

use super::{
    float::parse_float,
    write::{number, write_value},
};
use core_relo::{
    Endian,
    btf::{Btf, IntInfo, Kind, Type},
    explain::CType,
};

/// Parses the value of a type, as in C or as text. The bytes are in this machine's byte order.
pub(crate) fn parse_typed(btf: &Btf<'_>, ty: Type<'_>, value: &str) -> Result<Vec<u8>, String> {
    let size = btf.size_of(ty.id()).map_err(|e| e.to_string())?.0;
    let size = usize::try_from(size).map_err(|e| e.to_string())?;
    match (ty.kind(), ty.int()) {
        (Kind::Int, Some(int)) if int.encoding & IntInfo::BOOL != 0 => match value {
            "true" | "1" => Ok(vec![1]),
            "false" | "0" => Ok(vec![0]),
            _ => Err("expected true or false".into()),
        },
        (Kind::Int, Some(int)) => parse_number(value, size, Some(int.is_signed())),
        (Kind::Enum | Kind::Enum64, _) => {
            match ty.enumerators().find(|v| v.name.as_bytes() == value.as_bytes()) {
                Some(v) => parse_number(&v.value.cast_signed().to_string(), size, None),
                None => {
                    parse_number(value, size, None).map_err(|e| format!("{e}, or the name of an enumerator"))
                }
            }
        }
        (Kind::Float, _) if size > 8 && ty.name().as_bytes() != b"long double" => {
            Err(format!("a float of {size} bytes: give all bytes as hex"))
        }
        (Kind::Float, _) => {
            let mut bytes: Vec<u8> = parse_float(value, size)?.to_le_bytes().into_iter().take(size).collect();
            if Endian::native() == Endian::Big {
                bytes.reverse();
            }
            Ok(bytes)
        }
        (Kind::Array, _) => parse_array(btf, ty, value, size),
        (Kind::Struct | Kind::Union, _) if value.starts_with(['{', '(']) => {
            write_value(btf, ty.id(), value, vec![0; size])
        }
        (Kind::Ptr, _) => parse_number(value, size, Some(false)),
        (Kind::Struct | Kind::Union, _) => Err(format!(
            "it is `{}`: set a member (NAME.MEMBER=VALUE), all as {{.MEMBER = VALUE}}, or give its bytes as hex:…",
            CType::new(btf, ty.id())
        )),
        _ => Err(format!("it is {}: give its bytes in hex", ty.kind())),
    }
}

/// Parses the value of a type that must have `size` bytes, as [`parse_typed`] does.
pub(crate) fn parse_sized(btf: &Btf<'_>, ty: Type<'_>, size: usize, value: &str) -> Result<Vec<u8>, String> {
    // A damaged type must not need more memory than the value.
    let found = btf.size_of(ty.id()).map_err(|e| e.to_string())?.0;
    if usize::try_from(found) != Ok(size) {
        return Err(format!("its type has {found} bytes, the variable {size}: give hex:…"));
    }
    parse_typed(btf, ty, value)
}

/// Returns whether a value for an array is text: always for `char`, never for `bool`. For other types of one byte, a value is text
/// unless it is a list of numbers.
fn takes_text(element: Type<'_>, value: &str) -> bool {
    let is_byte = element.kind() == Kind::Int && element.size_or_type() == 1;
    let is_bool = element.int().is_some_and(|int| int.encoding & IntInfo::BOOL != 0);
    let are_numbers = || value.split(',').all(|part| parse_number(part.trim(), 1, None).is_ok());
    is_byte && !is_bool && (element.name().as_bytes() == b"char" || !are_numbers())
}

/// Returns whether a value for an array is a list as a dump prints it: always with a `[`, but for bytes, which may be text such as `[abc]`,
/// only with numbers. `char` has no lists.
fn is_list(element: Type<'_>, value: &str) -> bool {
    let Some(inner) = value.strip_prefix('[') else { return false };
    if !takes_text(element, value) {
        return true;
    }
    let is_item = |item: &str| item.starts_with(['(', '\'']) || number(item, 128).is_some();
    let mut items = inner.strip_suffix(']').unwrap_or_default().split(',').map(str::trim);
    element.name().as_bytes() != b"char" && items.all(is_item)
}

/// Parses text, or a list of values for the elements. Missing elements become 0.
fn parse_array(btf: &Btf<'_>, ty: Type<'_>, value: &str, size: usize) -> Result<Vec<u8>, String> {
    let array = ty.array().ok_or("its type is an array without an element type")?;
    let element = btf.strip(array.element).map_err(|e| e.to_string())?;
    if is_list(element, value) {
        return write_value(btf, ty.id(), value, vec![0; size]);
    }
    let mut out = Vec::new();
    if takes_text(element, value) {
        out.extend_from_slice(value.as_bytes());
        // Text that fills the array has no NUL at its end, as in C.
        if out.len() > size {
            return Err(format!("expected at most {size} bytes of text"));
        }
    } else {
        for part in value.split(',') {
            out.extend(parse_typed(btf, element, part.trim())?);
        }
        if out.len() > size {
            return Err("the list has more values than the array has elements".into());
        }
    }
    out.resize(size, 0);
    Ok(out)
}

/// Parses a number of `size` bytes. If `signed` is `None`, both signed and unsigned numbers are accepted.
pub(crate) fn parse_number(value: &str, size: usize, signed: Option<bool>) -> Result<Vec<u8>, String> {
    let expected = || "expected a number, decimal or 0x…".to_owned();
    let (is_negative, digits) = value.strip_prefix('-').map_or((false, value), |rest| (true, rest));
    let magnitude = match digits.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    let magnitude = magnitude.map_err(|_no_number| expected())?;
    let n = i128::try_from(magnitude).map_err(|_large| expected())?;
    let n = if is_negative { -n } else { n };
    let bits = match size {
        1 => 8,
        2 => 16,
        4 => 32,
        8 => 64,
        _ => return Err(format!("it has {size} bytes: give them in hex")),
    };
    let (low, high) = match signed {
        Some(true) => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        Some(false) => (0, (1i128 << bits) - 1),
        None => (-(1i128 << (bits - 1)), (1i128 << bits) - 1),
    };
    if n < low || n > high {
        return Err(format!("expected {low} to {high} for {size} bytes"));
    }
    let mut out: Vec<u8> = n.to_le_bytes().into_iter().take(size).collect();
    if Endian::native() == Endian::Big {
        out.reverse();
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo::{TypeId, btf::Builder};

    #[test]
    fn structs_and_arrays_are_written_as_a_dump_prints_them() {
        let mut b = Builder::new(Endian::native());
        let byte = b.int("unsigned char", 1, 0);
        let pair = b.structure("pair", 2, &[("a", byte, 0), ("b", byte, 8)]);
        let (pairs, bytes) = (b.array(pair, byte, 2), b.array(byte, byte, 2));
        let btf = Btf::parse(b.finish()).unwrap();
        let set = |ty: TypeId, value: &str| parse_typed(&btf, btf.ty(ty).unwrap(), value);
        assert_eq!(set(pair, "{.b = 2}"), Ok(vec![0, 2]));
        assert_eq!(set(pair, r#"{"a": 1}"#), Ok(vec![1, 0]));
        assert_eq!(set(pairs, "[{.a = 1}, {.b = 2}]"), Ok(vec![1, 0, 0, 2]));
        assert_eq!(set(bytes, "[1, 2]"), Ok(vec![1, 2]));
        assert!(set(pair, "7").unwrap_err().contains("all as {.MEMBER = VALUE}"));
    }

    #[test]
    fn arrays_of_bytes_take_text_or_numbers_by_their_type() {
        let mut b = Builder::new(Endian::native());
        let char = b.int("char", 1, IntInfo::SIGNED);
        let byte = b.int("unsigned char", 1, 0);
        let bool = b.int("_Bool", 1, IntInfo::BOOL);
        let one = b.enumeration("e", 1, false, &[("HIGH", 200)]);
        let arrays = [char, byte, bool].map(|ty| b.array(ty, byte, 4));
        let btf = Btf::parse(b.finish()).unwrap();
        let set = |ty: TypeId, value: &str| parse_typed(&btf, btf.ty(ty).unwrap(), value);
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
        assert_eq!(set(one, "HIGH"), Ok(vec![200]));
    }

    #[test]
    fn a_type_of_another_size_than_the_variable_takes_no_memory() {
        let mut b = Builder::new(Endian::native());
        let char = b.int("char", 1, IntInfo::SIGNED);
        let huge = b.array(char, char, u32::MAX);
        let btf = Btf::parse(b.finish()).unwrap();
        let error = parse_sized(&btf, btf.ty(huge).unwrap(), 4, "a").unwrap_err();
        assert_eq!(error, "its type has 4294967295 bytes, the variable 4: give hex:…");
        assert_eq!(parse_sized(&btf, btf.ty(char).unwrap(), 1, "7"), Ok(vec![7]));
    }

    #[test]
    fn numbers_are_checked_against_their_size() {
        assert_eq!(parse_number("-1", 2, Some(true)), Ok(vec![0xff, 0xff]));
        assert_eq!(parse_number("0x10", 4, Some(false)).map(|b| b.len()), Ok(4));
        assert!(parse_number("-1", 4, Some(false)).is_err());
        assert!(parse_number("256", 1, None).is_err());
        assert!(parse_number("x", 4, None).is_err());
        assert!(parse_number("1", 3, None).is_err());
    }
}
