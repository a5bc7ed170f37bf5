//! Writes values of a type, in the notations in which `map dump` prints them as text and as JSON. docs/json.md describes the JSON.

use super::{
    float::parse_float,
    notation::{Form, Written, WrittenMember, parse},
};
use crate::{long_double::NATIVE, text::hex};
use core_relo::{
    Endian, Name, TypeId,
    btf::{Btf, Extent, IntInfo, Kind, Member, Type},
    explain::CType,
};
use std::{borrow::Cow, collections::HashSet};

/// The members of anonymous structs and unions that are searched for a name. Nested unions have many members in a few bytes.
const SEARCHED_MEMBERS: u32 = 1 << 16;

/// The levels of anonymous structs and unions that are searched for a member.
const ANONYMOUS_DEPTH: u32 = 32;

const MEMBERS_EXPECTED: &str = "members as `{.NAME = VALUE}` or as JSON";

/// The number of bits of a byte.
const BYTE: usize = 8;

/// Writes a value of a type, as text or JSON, over `bytes`, which have the type's size. Members that the text does not have stay.
pub(super) fn write_value(btf: &Btf<'_>, ty: TypeId, text: &str, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let value = parse(text)?;
    let written = vec![0; bytes.len()];
    let mut writer = ValueWriter { btf, bytes, written };
    writer.value(ty, Place { start: 0, bits: None }, &value).map_err(|e| e.to_string())?;
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
    fn value(&mut self, ty: TypeId, at: Place, value: &Written<'_>) -> Result<(), Misfit> {
        let btf = self.btf;
        let c_type = CType::new(btf, ty);
        if let Some(name) = value.type_name.filter(|name| *name != c_type.to_string()) {
            return Err(Misfit::new(format!("the text has the type `{name}`, expected `{c_type}`")));
        }
        let stripped = btf.strip(ty).map_err(|e| Misfit::new(e.to_string()))?;
        match (stripped.kind(), &value.form) {
            (Kind::Struct | Kind::Union, Form::Members(members)) => self.members(stripped, at, members),
            (Kind::Datasec, Form::Members(variables)) => self.variables(stripped, variables),
            (Kind::Struct | Kind::Union | Kind::Datasec, _) => {
                Err(expected(btf, stripped, MEMBERS_EXPECTED, value))
            }
            (Kind::Array, _) => self.array(stripped, at, value),
            _ => self.scalar(stripped, at, value),
        }
    }

    fn variables(&mut self, section: Type<'b>, variables: &[WrittenMember<'_>]) -> Result<(), Misfit> {
        let mut names = HashSet::new();
        for WrittenMember { name, value } in variables {
            let name = name.as_deref().ok_or_else(|| unnamed(value))?;
            if !names.insert(name) {
                return Err(Misfit::new(format!("the section has the variable \"{name}\" twice")));
            }
            let (ty, place) = find_variable(self.btf, section, name)?;
            self.value(ty, place, value).map_err(|e| e.below(&format!(".{name}")))?;
        }
        Ok(())
    }

    fn members(&mut self, ty: Type<'b>, at: Place, members: &[WrittenMember<'_>]) -> Result<(), Misfit> {
        let btf = self.btf;
        let mut unnamed_members = ty.members().filter(|member| member.name.is_empty());
        let mut names = HashSet::new();
        for WrittenMember { name, value } in members {
            let Some(name) = name else {
                // A dump may leave out members that are zero.
                let member = unnamed_members
                    .find(|member| btf.strip(member.ty).is_ok_and(|ty| has_members(btf, ty, value)))
                    .ok_or_else(|| unnamed(value))?;
                let place = member_place(btf, at.start, &member).ok_or_else(|| unnamed(value))?;
                self.value(member.ty, place, value)?;
                continue;
            };
            if !names.insert(name) {
                return Err(Misfit::new(format!("the value has the member \"{name}\" twice")));
            }
            let (ty, place) =
                find_named(btf, ty, at.start, name).ok_or_else(|| unknown_member(btf, ty, name))?;
            self.value(ty, place, value).map_err(|e| e.below(&format!(".{name}")))?;
        }
        Ok(())
    }

    fn array(&mut self, ty: Type<'b>, at: Place, value: &Written<'_>) -> Result<(), Misfit> {
        let btf = self.btf;
        let array = ty.array().ok_or_else(|| Misfit::new("its type is an array without an element type"))?;
        let size = byte_size(btf, array.element).map_err(Misfit::new)?;
        let len = usize::try_from(array.nelems).unwrap_or(usize::MAX);
        let too_many = |found: usize| Misfit::new(format!("{found} elements, expected at most {len}"));
        match &value.form {
            Form::Elements(elements) if elements.len() > len => Err(too_many(elements.len())),
            Form::Elements(elements) => elements.iter().enumerate().try_for_each(|(index, element)| {
                let start = at.start.saturating_add(index.saturating_mul(size).saturating_mul(8));
                let place = Place { start, bits: None };
                self.value(array.element, place, element).map_err(|e| e.below(&format!("[{index}]")))
            }),
            Form::Quoted(text) if size == 1 => match text.len() {
                found if found > len => Err(too_many(found)),
                found => {
                    // A text that does not fill the array ends with a NUL.
                    let bytes = text.iter().copied().chain((found < len).then_some(0));
                    bytes.enumerate().try_for_each(|(index, byte)| {
                        self.bits(at.start.saturating_add(index.saturating_mul(BYTE)), BYTE, byte.into())
                    })?;
                    self.clear(at.start / BYTE, found.saturating_add(1)..len);
                    Ok(())
                }
            },
            _ => Err(expected(btf, ty, "`[…]`", value)),
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

    /// Returns whether hexadecimal digits are bytes. Without quotes, those of a float are bytes if the text of a dump has such bytes, as for NaN.
    fn are_raw_bytes(&self, ty: Type<'b>, bytes: &[u8], value: &Written<'_>) -> bool {
        let text = || self.btf.value(ty.id(), bytes).long_double(NATIVE).text().types(false).to_string();
        ty.kind() != Kind::Float || value.form != Form::Word || text() == value.text
    }

    fn scalar(&mut self, ty: Type<'b>, at: Place, value: &Written<'_>) -> Result<(), Misfit> {
        let size = byte_size(self.btf, ty.id()).map_err(Misfit::new)?;
        let at = at.of_int(ty, size);
        let width = at.bits.unwrap_or(size.saturating_mul(BYTE));
        let word = value.word();
        let has_numbers = matches!(ty.kind(), Kind::Int | Kind::Ptr | Kind::Enum | Kind::Enum64);
        let hex =
            word.as_deref().filter(|_| !has_numbers).and_then(|text| hex::parse(text.strip_prefix("0x")?));
        if let Some(bytes) = hex.filter(|bytes| self.are_raw_bytes(ty, bytes, value)) {
            return self.raw(at, size, &bytes);
        }
        let is_bool = ty.int().is_some_and(|int| int.encoding & IntInfo::BOOL != 0);
        let number = match (ty.kind(), word.as_deref()) {
            (Kind::Float, _) if size > 8 && ty.name().as_bytes() != b"long double" => {
                return Err(expected(self.btf, ty, "hex and all bytes", value));
            }
            (Kind::Float, Some(word)) => {
                parse_float(word, size).map_err(|what| Misfit::new(format!("{word}: {what}")))?
            }
            (Kind::Int, Some(word @ ("true" | "false"))) if is_bool => u128::from(word == "true"),
            (Kind::Int | Kind::Ptr, _) => {
                let number = match value.form {
                    Form::Character(byte) if is_char(ty) => Some(byte.into()),
                    _ => word.as_deref().and_then(|word| number(word, width)),
                };
                let number = number.ok_or_else(|| expected(self.btf, ty, "a number", value))?;
                // A `char` is printed as an unsigned number, even if it is signed.
                let signed = ty.int().is_some_and(IntInfo::is_signed);
                in_range(number, width, (!is_char(ty)).then_some(signed))?
            }
            (Kind::Enum | Kind::Enum64, Some(word)) => match number(word, width) {
                Some(number) => in_range(number, width, None)?,
                None => enum_value(ty, word)? & mask(width),
            },
            (Kind::Enum | Kind::Enum64, None) => {
                return Err(expected(self.btf, ty, "the name of an enumerator or a number", value));
            }
            (Kind::Float, None) => return Err(expected(self.btf, ty, "a number", value)),
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

impl Written<'_> {
    /// Returns the text of a number or name, which JSON may put in quotes.
    fn word(&self) -> Option<Cow<'_, str>> {
        match &self.form {
            Form::Word => Some(self.text.into()),
            Form::Quoted(bytes) => Some(String::from_utf8_lossy(bytes)),
            _ => None,
        }
    }
}

/// Returns whether a type may be that of an anonymous member: it has all members of the text, or the text has no members.
fn has_members(btf: &Btf<'_>, ty: Type<'_>, value: &Written<'_>) -> bool {
    match &value.form {
        Form::Members(members) => {
            let mut names = members.iter().filter_map(|member| member.name.as_deref());
            ty.kind().is_composite() && names.all(|name| find_named(btf, ty, 0, name).is_some())
        }
        _ => !ty.kind().is_composite(),
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
fn find_named(btf: &Btf<'_>, ty: Type<'_>, start: usize, name: &str) -> Option<(TypeId, Place)> {
    let mut left = SEARCHED_MEMBERS;
    find_member(btf, ty, start, name, ANONYMOUS_DEPTH, &mut left)
}

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
        let place = member_place(btf, start, &member)?;
        if member.name.is_empty() {
            let inner = btf.strip(member.ty).ok().filter(|ty| ty.kind().is_composite())?;
            return find_member(btf, inner, place.start, name, deeper, left);
        }
        (member.name.to_string() == name).then_some((member.ty, place))
    })
}

/// Returns the bits of a member. `start` is the first bit of the composite.
fn member_place(btf: &Btf<'_>, start: usize, member: &Member<'_>) -> Option<Place> {
    let Extent { bit_offset, bits, is_bitfield, .. } = btf.member_extent(member).ok()?;
    let start = start.checked_add(usize::try_from(bit_offset.0).ok()?)?;
    let bits = if is_bitfield { Some(usize::try_from(bits).ok()?) } else { None };
    Some(Place { start, bits })
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

fn unnamed(value: &Written<'_>) -> Misfit {
    Misfit::new(format!("`{}`: expected {MEMBERS_EXPECTED}", value.text))
}

fn unknown_member(btf: &Btf<'_>, ty: Type<'_>, name: &str) -> Misfit {
    Misfit::new(format!("`{}` has no member `{name}`", CType::new(btf, ty.id())))
}

fn expected(btf: &Btf<'_>, ty: Type<'_>, expected: &str, found: &Written<'_>) -> Misfit {
    let c_type = CType::new(btf, ty.id());
    let found = found.text;
    Misfit::new(format!("{found} is no value of `{c_type}`, expected {expected}"))
}

/// Returns a decimal or hexadecimal integer for a value of `width` bits. A decimal one with zeros in front is an octal one in C.
pub(super) fn number(text: &str, width: usize) -> Option<i128> {
    let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let magnitude = match digits.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    let has_zeros = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0x");
    let magnitude = magnitude.ok().filter(|_| !digits.contains('+') && !has_zeros)?;
    // A number above the largest i128 keeps its bits, if the value has as many.
    match is_negative {
        false if width < 128 && i128::try_from(magnitude).is_err() => None,
        true if magnitude > i128::MIN.unsigned_abs() => None,
        true => Some(magnitude.cast_signed().wrapping_neg()),
        false => Some(magnitude.cast_signed()),
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
        let value = match (found, number(name, 64)) {
            (Some(v), _) => u128::from(v.value),
            (None, Some(number)) => number.cast_unsigned(),
            (None, None) => return Err(Misfit::new(format!("`{}` has no enumerator `{name}`", ty.name()))),
        };
        Ok(bits | value)
    })
}

#[cfg(test)]
mod tests;
