//! Values as JSON, in the form in which `map dump --format json` prints them. docs/json.md describes the form.

use super::{
    float::{float_bits, parse_float},
    text::parse_hex,
};
use core_relo::{
    Endian, Name, TypeId,
    btf::{Btf, Extent, IntInfo, Kind, Type},
    explain::CType,
};
use serde_json::Value;

/// The members of anonymous structs and unions that are searched for a name. Nested unions have many members in a few bytes.
const SEARCHED_MEMBERS: u32 = 1 << 16;

/// The levels of anonymous structs and unions that are searched for a member.
const ANONYMOUS_DEPTH: u32 = 32;

/// The number of bits of a byte.
const BYTE: usize = 8;

/// Writes a JSON value of a type over `bytes`, which have the type's size. Members that the JSON does not have stay.
pub(crate) fn json_to_bytes(
    btf: &Btf<'_>,
    ty: TypeId,
    value: &Value,
    bytes: Vec<u8>,
) -> Result<Vec<u8>, String> {
    let written = vec![0; bytes.len()];
    let mut writer = ValueWriter { btf, bytes, written };
    writer.value(ty, Place { start: 0, bits: None }, value).map_err(|e| e.to_string())?;
    Ok(writer.bytes)
}

/// The bits of a value: its first bit, and its width if it is a bitfield.
#[derive(Clone, Copy)]
struct Place {
    start: usize,
    bits: Option<usize>,
}

impl Place {
    /// Returns the bits of an integer type that has fewer bits than its bytes, as bitfields before LLVM 8 do.
    fn of_int(self, ty: Type<'_>, size: usize) -> Self {
        match ty.int() {
            Some(int) if self.bits.is_none() && (int.offset != 0 || usize::from(int.bits) != size * BYTE) => {
                let start = self.start.saturating_add(int.offset.into());
                Self { start, bits: Some(int.bits.into()) }
            }
            _ => self,
        }
    }
}

/// A value that does not fit its type, and the path to it: `.a[3].b`.
struct Misfit {
    path: String,
    what: String,
}

impl Misfit {
    fn new(what: impl Into<String>) -> Self {
        Self { path: String::new(), what: what.into() }
    }

    /// Adds the outer part of the path.
    fn below(self, part: &str) -> Self {
        Self { path: format!("{part}{}", self.path), ..self }
    }
}

impl std::fmt::Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.path.trim_start_matches('.') {
            "" => f.write_str(&self.what),
            path => write!(f, "{path}: {}", self.what),
        }
    }
}

/// The bytes of the outermost value.
struct ValueWriter<'b> {
    btf: &'b Btf<'b>,
    bytes: Vec<u8>,
    /// The bits that are written already. Members of a union may only write the same value again.
    written: Vec<u8>,
}

impl<'b> ValueWriter<'b> {
    fn value(&mut self, ty: TypeId, at: Place, value: &Value) -> Result<(), Misfit> {
        let btf = self.btf;
        let stripped = btf.strip(ty).map_err(|e| Misfit::new(e.to_string()))?;
        match (stripped.kind(), value) {
            (Kind::Struct | Kind::Union, Value::Object(members)) => {
                members.iter().try_for_each(|(name, value)| {
                    let mut left = SEARCHED_MEMBERS;
                    let (ty, place) = find_member(btf, stripped, at.start, name, ANONYMOUS_DEPTH, &mut left)
                        .ok_or_else(|| unknown_member(btf, stripped, name))?;
                    self.value(ty, place, value).map_err(|e| e.below(&format!(".{name}")))
                })
            }
            (Kind::Datasec, Value::Object(variables)) => variables.iter().try_for_each(|(name, value)| {
                let (ty, place) = find_variable(btf, stripped, name)?;
                self.value(ty, place, value).map_err(|e| e.below(&format!(".{name}")))
            }),
            (Kind::Struct | Kind::Union | Kind::Datasec, _) => {
                Err(expected(btf, stripped, "a JSON object", value))
            }
            (Kind::Array, _) => self.array(stripped, at, value),
            _ => self.scalar(stripped, at, value),
        }
    }

    fn array(&mut self, ty: Type<'b>, at: Place, value: &Value) -> Result<(), Misfit> {
        let btf = self.btf;
        let array = ty.array().ok_or_else(|| Misfit::new("its type is an array without an element type"))?;
        let size = byte_size(btf, array.element).map_err(Misfit::new)?;
        let len = usize::try_from(array.nelems).unwrap_or(usize::MAX);
        let too_many = |found: usize| Misfit::new(format!("{found} elements, expected at most {len}"));
        match value {
            Value::Array(elements) if elements.len() > len => Err(too_many(elements.len())),
            Value::Array(elements) => elements.iter().enumerate().try_for_each(|(index, element)| {
                let start = at.start.saturating_add(index.saturating_mul(size).saturating_mul(8));
                let place = Place { start, bits: None };
                self.value(array.element, place, element).map_err(|e| e.below(&format!("[{index}]")))
            }),
            Value::String(text) if size == 1 => match text.len() {
                found if found > len => Err(too_many(found)),
                found => {
                    // A text that does not fill the array ends with a NUL.
                    let bytes = text.bytes().chain((found < len).then_some(0));
                    bytes.enumerate().try_for_each(|(index, byte)| {
                        self.bits(at.start.saturating_add(index.saturating_mul(BYTE)), BYTE, byte.into())
                    })?;
                    self.clear(at.start / BYTE, found.saturating_add(1)..len);
                    Ok(())
                }
            },
            _ => Err(expected(btf, ty, "a JSON array", value)),
        }
    }

    /// Clears the bytes after the end of a text. Another member of a union may have other bytes there.
    fn clear(&mut self, start: usize, range: std::ops::Range<usize>) {
        let range = start.saturating_add(range.start)..start.saturating_add(range.end);
        if let (Some(bytes), Some(written)) = (self.bytes.get_mut(range.clone()), self.written.get(range)) {
            bytes.iter_mut().zip(written).for_each(|(byte, written)| *byte &= written);
        }
    }

    /// Writes all bytes of a value that is printed as bytes.
    fn raw(&mut self, at: Place, size: usize, bytes: &[u8]) -> Result<(), Misfit> {
        if bytes.len() != size || at.bits.is_some() {
            return Err(Misfit::new(format!("{} bytes, expected {size}", bytes.len())));
        }
        bytes.iter().enumerate().try_for_each(|(index, byte)| {
            self.bits(at.start.saturating_add(index.saturating_mul(BYTE)), BYTE, (*byte).into())
        })
    }

    fn scalar(&mut self, ty: Type<'b>, at: Place, value: &Value) -> Result<(), Misfit> {
        let size = byte_size(self.btf, ty.id()).map_err(Misfit::new)?;
        let at = at.of_int(ty, size);
        let width = at.bits.unwrap_or(size.saturating_mul(BYTE));
        let hex = || value.as_str().and_then(|text| parse_hex(text.strip_prefix("0x")?));
        let has_numbers = matches!(ty.kind(), Kind::Int | Kind::Ptr | Kind::Enum | Kind::Enum64);
        if !has_numbers && let Some(bytes) = hex() {
            return self.raw(at, size, &bytes);
        }
        let number = match (ty.kind(), ty.int(), value) {
            (Kind::Float, ..) if size > 8 && ty.name().as_bytes() != b"long double" => {
                return Err(expected(self.btf, ty, "hex and all bytes", value));
            }
            (Kind::Float, _, Value::Number(number)) => {
                let number = number.as_f64().ok_or_else(|| expected(self.btf, ty, "a number", value))?;
                float_bits(number, size).map_err(Misfit::new)?
            }
            (Kind::Float, _, Value::String(text)) => parse_float(text, size).map_err(Misfit::new)?,
            (Kind::Int, Some(int), Value::Bool(bool)) if int.encoding & IntInfo::BOOL != 0 => (*bool).into(),
            (Kind::Int | Kind::Ptr, _, _) => {
                let number = number(value).ok_or_else(|| expected(self.btf, ty, "a number", value))?;
                // A `char` is printed as an unsigned number, even if it is signed.
                let signed = ty.int().is_some_and(IntInfo::is_signed);
                in_range(number, width, (!is_char(ty)).then_some(signed))?
            }
            (Kind::Enum | Kind::Enum64, ..) => match (number(value), value) {
                (Some(number), _) => in_range(number, width, None)?,
                (None, Value::String(names)) => enum_value(ty, names)? & mask(width),
                _ => return Err(expected(self.btf, ty, "the name of an enumerator or a number", value)),
            },
            _ => return Err(expected(self.btf, ty, "hex and all bytes", value)),
        };
        self.bits(at.start, width, number)
    }

    /// Writes the lowest `width` bits of a number.
    fn bits(&mut self, start: usize, width: usize, number: u128) -> Result<(), Misfit> {
        for index in 0..width {
            let at = start.saturating_add(index);
            // In big-endian data the first bit is the most significant one.
            let (bit, shift) = match self.btf.endian() {
                Endian::Little => (at % 8, index),
                Endian::Big => (7 - at % 8, width - 1 - index),
            };
            let is_set = u32::try_from(shift).ok().and_then(|n| number.checked_shr(n)).unwrap_or(0) & 1 == 1;
            let (Some(byte), Some(written)) = (self.bytes.get_mut(at / 8), self.written.get_mut(at / 8))
            else {
                return Err(Misfit::new("lies after the end of the value"));
            };
            let was_set = *byte >> bit & 1 == 1;
            if *written >> bit & 1 == 1 && was_set != is_set {
                return Err(Misfit::new("contradicts another member of the union: give one of them"));
            }
            *written |= 1 << bit;
            *byte = *byte & !(1 << bit) | u8::from(is_set) << bit;
        }
        Ok(())
    }
}

fn is_char(ty: Type<'_>) -> bool {
    ty.int().is_some_and(|int| int.encoding & IntInfo::CHAR != 0 || ty.name().as_bytes() == b"char")
}

fn byte_size(btf: &Btf<'_>, ty: TypeId) -> Result<usize, String> {
    let size = btf.size_of(ty).map_err(|e| e.to_string())?;
    usize::try_from(size.0).map_err(|e| e.to_string())
}

/// Finds a member by name, also in anonymous structs and unions. `start` is the first bit of the composite.
fn find_member(
    btf: &Btf<'_>,
    ty: Type<'_>,
    start: usize,
    name: &str,
    depth: u32,
    left: &mut u32,
) -> Option<(TypeId, Place)> {
    let deeper = depth.checked_sub(1)?;
    ty.members().find_map(|member| {
        *left = left.checked_sub(1)?;
        let Extent { bit_offset, bits, is_bitfield, .. } = btf.member_extent(&member).ok()?;
        let start = start.checked_add(usize::try_from(bit_offset.0).ok()?)?;
        if member.name.is_empty() {
            let inner = btf.strip(member.ty).ok().filter(|ty| ty.kind().is_composite())?;
            return find_member(btf, inner, start, name, deeper, left);
        }
        let bits = if is_bitfield { Some(usize::try_from(bits).ok()?) } else { None };
        (member.name.to_string() == name).then_some((member.ty, Place { start, bits }))
    })
}

/// Finds the variable of a data section with a name. Static variables of different files may have the same name.
fn find_variable(btf: &Btf<'_>, section: Type<'_>, name: &str) -> Result<(TypeId, Place), Misfit> {
    let named = |name: &str| {
        let variables = section.secinfos().filter_map(move |info| {
            let variable = btf.ty(info.ty).filter(|ty| ty.name().to_string() == name)?;
            let start = usize::try_from(info.offset).ok()?.checked_mul(8)?;
            Some((variable.target()?, Place { start, bits: None }))
        });
        let found: Vec<_> = variables.take(2).collect();
        found
    };
    // `map dump` numbers repeated names: `n___2`. A variable with such a name is no longer known by it.
    let full = Name::new(name.as_bytes());
    let is_numbered = full.flavour().is_some_and(|number| number.to_string().parse::<u64>().is_ok());
    let plain = if is_numbered { full.essential().to_string() } else { name.to_owned() };
    let section = section.name();
    match (&*named(name), named(&plain).len()) {
        ([variable], 0 | 1) => Ok(*variable),
        ([], 0 | 1) => Err(Misfit::new(format!("`{section}` has no variable `{name}`"))),
        _ => Err(Misfit::new(format!(
            "`{section}` has several variables `{plain}`: give `hex` and the bytes of the section"
        ))),
    }
}

fn unknown_member(btf: &Btf<'_>, ty: Type<'_>, name: &str) -> Misfit {
    Misfit::new(format!("`{}` has no member `{name}`", CType::new(btf, ty.id())))
}

fn expected(btf: &Btf<'_>, ty: Type<'_>, expected: &str, found: &Value) -> Misfit {
    let c_type = CType::new(btf, ty.id());
    Misfit::new(format!("{found} is no value of `{c_type}`, expected {expected}"))
}

/// Returns an integer: a JSON number, or text with a decimal or hexadecimal number.
fn number(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)),
        Value::String(text) => {
            let (is_negative, digits) =
                text.strip_prefix('-').map_or((false, text.as_str()), |rest| (true, rest));
            let magnitude = match digits.strip_prefix("0x") {
                Some(hex) => u128::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            let magnitude = magnitude.ok()?;
            // A number above the largest i128 keeps its bits.
            match is_negative {
                true if magnitude > i128::MIN.unsigned_abs() => None,
                true => Some(magnitude.cast_signed().wrapping_neg()),
                false => Some(magnitude.cast_signed()),
            }
        }
        _ => None,
    }
}

/// Returns the bits of a number of `width` bits. If `signed` is `None`, both signed and unsigned numbers are accepted.
fn in_range(number: i128, width: usize, signed: Option<bool>) -> Result<u128, Misfit> {
    if width >= 128 {
        return Ok(number.cast_unsigned());
    }
    let all = mask(width).cast_signed();
    let (low, high) = match signed {
        Some(true) => (-(all >> 1) - 1, all >> 1),
        Some(false) => (0, all),
        None => (-(all >> 1) - 1, all),
    };
    if number < low || number > high {
        return Err(Misfit::new(format!("{number} does not fit, expected {low} to {high}")));
    }
    Ok(number.cast_unsigned() & mask(width))
}

fn mask(width: usize) -> u128 {
    let bit = u32::try_from(width).ok().and_then(|width| 1u128.checked_shl(width));
    bit.map_or(u128::MAX, |bit| bit.wrapping_sub(1))
}

/// Returns the bits of an enumerator, or of flags: `READ | WRITE | 0x40`.
fn enum_value(ty: Type<'_>, names: &str) -> Result<u128, Misfit> {
    names.split('|').map(str::trim).try_fold(0, |bits, name| {
        let found = ty.enumerators().find(|v| v.name.to_string() == name);
        let value = match (found, number(&Value::String(name.to_owned()))) {
            (Some(v), _) => u128::from(v.value),
            (None, Some(number)) => number.cast_unsigned(),
            (None, None) => return Err(Misfit::new(format!("`{}` has no enumerator `{name}`", ty.name()))),
        };
        Ok(bits | value)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

    use super::*;
    use crate::json::value::value_to_json;
    use core_relo::btf::{Builder, BuiltMember};
    use serde_json::json;

    /// Types of every kind that a key can have, in both byte orders. Returns the id of the struct.
    fn types(endian: Endian) -> (Btf<'static>, TypeId) {
        let mut b = Builder::new(endian);
        let int = b.int("int", 4, Builder::SIGNED);
        let char = b.int("char", 1, Builder::SIGNED);
        let byte = b.int("unsigned char", 1, 0);
        let wide = b.int("unsigned __int128", 16, 0);
        let bool = b.int("_Bool", 1, 4);
        let comm = b.array(char, int, 4);
        let address = b.array(byte, int, 4);
        let mode = b.enumeration("mode", 4, false, &[("A", 1), ("B", 2), ("C", 4), ("D", 8)]);
        let long = b.enumeration("level", 4, true, &[("LOW", -1), ("HIGH", 1)]);
        let pointer = b.pointer(TypeId::VOID);
        let double = b.float("double", 8);
        let either = b.union("", 4, &[("word", int, 0), ("bytes", address, 0)]);
        let field = |name, ty, bit_offset, bitfield_bits| BuiltMember { name, ty, bit_offset, bitfield_bits };
        let members = [
            field("comm", comm, 0, 0),
            field("", either, 32, 0),
            field("mode", mode, 64, 0),
            field("level", long, 96, 0),
            field("low", int, 128, 3),
            field("high", byte, 131, 5),
            field("flag", bool, 136, 0),
            field("p", pointer, 192, 0),
            field("wide", wide, 256, 0),
            field("d", double, 384, 0),
        ];
        let ty = b.composite(Kind::Struct, "key", 56, &members);
        (Btf::parse(b.finish()).unwrap(), ty)
    }

    #[test]
    fn the_json_of_a_dump_gives_the_same_bytes() {
        for endian in [Endian::Little, Endian::Big] {
            let (btf, ty) = types(endian);
            let mut state = 7u64;
            for _ in 0..200 {
                let mut bytes: Vec<u8> = (0..56)
                    .map(|_| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        state.to_le_bytes()[7]
                    })
                    .collect();
                // Padding is zero, a bool is 0 or 1, a float is finite, and text has no bytes after its end.
                bytes[17] &= 1;
                bytes[18..24].fill(0);
                bytes[48..56].copy_from_slice(&1.5f64.to_bits().to_ne_bytes());
                let json = value_to_json(&btf.value(ty, &bytes)).unwrap();
                if let Some(text) = json["comm"].as_str() {
                    bytes[text.len()..4].fill(0);
                }
                let parsed: Value = serde_json::from_str(&json.to_string()).unwrap();
                assert_eq!(
                    json_to_bytes(&btf, ty, &parsed, vec![0; 56]).as_ref(),
                    Ok(&bytes),
                    "{endian:?} {json}"
                );
            }
        }
    }

    #[test]
    fn nested_unions_do_not_make_the_search_long() {
        let mut b = Builder::new(Endian::native());
        let mut ty = b.int("int", 4, Builder::SIGNED);
        for _ in 0..40 {
            ty = b.union("", 4, &[("", ty, 0), ("", ty, 0), ("", ty, 0)]);
        }
        let btf = Btf::parse(b.finish()).unwrap();
        assert!(json_to_bytes(&btf, ty, &json!({"nosuch": 1}), vec![0; 4]).is_err());
    }

    #[test]
    fn values_that_do_not_fit_are_named_by_their_path() {
        let (btf, ty) = types(Endian::native());
        let error = |json| json_to_bytes(&btf, ty, &json, vec![0; 56]).unwrap_err();
        assert_eq!(error(json!({"nosuch": 1})), "`struct key` has no member `nosuch`");
        assert_eq!(error(json!({"low": 4})), "low: 4 does not fit, expected -4 to 3");
        assert_eq!(error(json!({"high": -1})), "high: -1 does not fit, expected 0 to 31");
        assert_eq!(error(json!({"bytes": [1, 2, 3, 4, 5]})), "bytes: 5 elements, expected at most 4");
        assert_eq!(error(json!({"bytes": [1, 300]})), "bytes[1]: 300 does not fit, expected 0 to 255");
        assert_eq!(error(json!({"comm": "abcde"})), "comm: 5 elements, expected at most 4");
        assert_eq!(error(json!({"mode": "E"})), "mode: `mode` has no enumerator `E`");
        assert_eq!(error(json!({"p": null})), "p: null is no value of `void *`, expected a number");
        assert_eq!(error(json!(7)), "7 is no value of `struct key`, expected a JSON object");
        assert_eq!(
            error(json!({"word": 1, "bytes": [9, 9, 9, 9]})),
            "bytes[0]: contradicts another member of the union: give one of them"
        );
        assert_eq!(json_to_bytes(&btf, ty, &json!({}), vec![0; 56]), Ok(vec![0; 56]));
    }

    #[test]
    fn variables_that_the_json_leaves_out_keep_their_bytes() {
        for endian in [Endian::Little, Endian::Big] {
            let mut b = Builder::new(endian);
            let int = b.int("int", 4, Builder::SIGNED);
            let short = b.int("short", 2, Builder::SIGNED);
            let pair = b.structure("pair", 8, &[("a", int, 0), ("b", int, 32)]);
            let (low, both) = (b.var("low", short, 1), b.var("both", pair, 1));
            let section = b.datasec(".data", 12, &[(low, 0, 2), (both, 4, 8)]);
            let btf = Btf::parse(b.finish()).unwrap();
            let old: Vec<u8> = vec![0xff; 12];
            let write = |json| json_to_bytes(&btf, section, &json, old.clone());
            let seven = endian.u32_bytes(7);
            assert_eq!(write(json!({"both": {"b": 7}})), Ok([&old[..8], &seven].concat()), "{endian:?}");
            assert_eq!(write(json!({"low": 0})), Ok([&[0; 2], &old[2..]].concat()), "{endian:?}");
            assert_eq!(write(json!({"high": 0})), Err("`.data` has no variable `high`".into()));
            assert_eq!(write(json!({"both": {"c": 1}})), Err("both: `struct pair` has no member `c`".into()));
            assert_eq!(write(json!(1)), Err("1 is no value of `.data`, expected a JSON object".into()));
        }
    }

    #[test]
    fn a_name_that_two_variables_have_is_refused() {
        let mut b = Builder::new(Endian::Little);
        let char = b.int("char", 1, 0);
        let variables = [("n", 0u32), ("n", 1), ("n___2", 2), ("m___2", 3)]
            .map(|(name, at)| (b.var(name, char, 0), at, 1));
        let section = b.datasec(".data", 4, &variables);
        let btf = Btf::parse(b.finish()).unwrap();
        assert_eq!(json_to_bytes(&btf, section, &json!({"m___2": 1}), vec![0; 4]), Ok(vec![0, 0, 0, 1]));
        for name in ["n", "n___2"] {
            let error = json_to_bytes(&btf, section, &json!({name: 1}), vec![0; 4]).unwrap_err();
            assert!(error.starts_with("`.data` has several variables `n`"), "{error}");
        }
    }
}
