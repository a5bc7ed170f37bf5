//! Writes values in the notations in which they are printed: as text, and as JSON.

mod search;

use super::{
    Signedness, ValueError, ValueParser,
    error::MEMBERS_EXPECTED,
    float::is_number,
    hex_bytes, is_bool,
    notation::{Form, Written, WrittenMember},
    number::{in_range, mask, number},
};
use crate::{
    endian::Endian,
    format::Kind,
    ids::{TypeId, to_usize},
    parse::Btf,
    text::CType,
    view::{IntInfo, Type},
};
use alloc::{
    borrow::{Cow, ToOwned as _},
    boxed::Box,
    format,
    string::{String, ToString as _},
    vec,
    vec::Vec,
};
use core::ops::Range;
use hashbrown::HashSet;
use search::{NamedMembers, NamedVariables, Part, SEARCHED_MEMBERS, member_place};

/// The number of bits of a byte.
const BYTE: usize = 8;

/// The bits of a value: its first bit, and its width if it is a bitfield.
#[derive(Clone, Copy)]
struct Place {
    start: usize,
    bits: Option<usize>,
}

impl Place {
    /// Returns the place `count` times `bits` bits after the start.
    fn start_after(self, count: usize, bits: usize) -> Result<usize, ValueError> {
        let offset = count.checked_mul(bits).and_then(|offset| self.start.checked_add(offset));
        offset.ok_or(ValueError::AfterEnd)
    }

    /// Returns the bits of an integer type that has fewer bits than its bytes, as bitfields before LLVM 8 do.
    fn of_int(self, ty: Type<'_>, width: usize) -> Result<Self, ValueError> {
        match ty.int() {
            Some(int) if self.bits.is_none() && (int.offset != 0 || usize::from(int.bits) != width) => {
                Ok(Self { start: self.start_after(1, int.offset.into())?, bits: Some(int.bits.into()) })
            }
            _ => Ok(self),
        }
    }
}

/// The bytes of the outermost value.
pub(super) struct ValueWriter<'b> {
    parser: ValueParser<'b>,
    btf: &'b Btf<'b>,
    bytes: Vec<u8>,
    /// The bits that are written already. Members of a union may only write the same value again.
    written: Vec<u8>,
}

impl<'b> ValueWriter<'b> {
    /// Creates a writer over `bytes`. The parts that the value does not have stay.
    pub(super) fn new(parser: ValueParser<'b>, bytes: Vec<u8>) -> Self {
        let written = vec![0; bytes.len()];
        Self { parser, btf: parser.btf, bytes, written }
    }

    /// Writes the whole value. Returns the bytes.
    pub(super) fn finish(mut self, ty: TypeId, value: &Written<'_>) -> Result<Vec<u8>, ValueError> {
        self.value(ty, Place { start: 0, bits: None }, value)?;
        Ok(self.bytes)
    }

    fn value(&mut self, ty: TypeId, at: Place, value: &Written<'_>) -> Result<(), ValueError> {
        let btf = self.btf;
        if let Some(found) = value.type_name {
            let expected = CType::new(btf, ty).to_string();
            if found != expected {
                return Err(ValueError::OtherType { found: found.to_owned(), expected });
            }
        }
        let stripped = btf.strip(ty)?;
        match (stripped.kind(), &value.form) {
            (Kind::Struct | Kind::Union, Form::Members(members)) => self.members(stripped, at, members),
            (Kind::Datasec, Form::Members(variables)) => self.variables(stripped, variables),
            (Kind::Struct | Kind::Union | Kind::Datasec, _) => {
                Err(other_form(btf, stripped, MEMBERS_EXPECTED, value))
            }
            (Kind::Array, _) => self.array(stripped, at, value),
            _ => self.scalar(stripped, at, value),
        }
    }

    fn variables(&mut self, section: Type<'b>, variables: &[WrittenMember<'_>]) -> Result<(), ValueError> {
        let wanted = variables.iter().filter_map(|variable| variable.name.as_deref());
        let named = NamedVariables::find(self.btf, section, wanted);
        let mut names = HashSet::new();
        for WrittenMember { name, value } in variables {
            let name = name.as_deref().ok_or_else(|| unnamed(value))?;
            if !names.insert(name) {
                let name = name.to_owned();
                return Err(ValueError::Repeated { outer: "section", part: "variable", name });
            }
            let Part { ty, place } = named.get(name)?;
            self.value(ty, place, value).map_err(|e| e.below(&format!(".{name}")))?;
        }
        Ok(())
    }

    fn members(&mut self, ty: Type<'b>, at: Place, members: &[WrittenMember<'_>]) -> Result<(), ValueError> {
        let btf = self.btf;
        let mut unnamed_members = ty.members().filter(|member| member.name.is_empty());
        let wanted = members.iter().filter_map(|member| member.name.as_deref());
        let named = NamedMembers::find(btf, ty, at.start, wanted, &mut { SEARCHED_MEMBERS });
        let mut names = HashSet::new();
        let mut steps_left = SEARCHED_MEMBERS;
        for WrittenMember { name, value } in members {
            let Some(name) = name else {
                // A dump may leave out members that are zero.
                let member = unnamed_members
                    .find(|member| {
                        btf.strip(member.ty).is_ok_and(|ty| has_members(btf, ty, value, &mut steps_left))
                    })
                    .ok_or_else(|| unnamed(value))?;
                let place = member_place(btf, at.start, &member).ok_or_else(|| unnamed(value))?;
                self.value(member.ty, place, value)?;
                continue;
            };
            if !names.insert(name) {
                let name = name.clone();
                return Err(ValueError::Repeated { outer: "value", part: "member", name });
            }
            let Part { ty, place } = named.get(name).ok_or_else(|| ValueError::NoName {
                ty: CType::new(btf, ty.id()).to_string(),
                part: "member",
                name: name.clone(),
            })?;
            self.value(ty, place, value).map_err(|e| e.below(&format!(".{name}")))?;
        }
        Ok(())
    }

    fn array(&mut self, ty: Type<'b>, at: Place, value: &Written<'_>) -> Result<(), ValueError> {
        let array = ty.array().ok_or(ValueError::NoElementType)?;
        let (size, len) = (self.parser.size_of(array.element)?, to_usize(array.nelems));
        let too_many = |found| ValueError::Elements { found, limit: len };
        match &value.form {
            Form::Elements(elements) if elements.len() > len => Err(too_many(elements.len())),
            Form::Elements(elements) => {
                let bits = size.checked_mul(BYTE).ok_or(ValueError::AfterEnd)?;
                elements.iter().enumerate().try_for_each(|(index, element)| {
                    let place = Place { start: at.start_after(index, bits)?, bits: None };
                    self.value(array.element, place, element).map_err(|e| e.below(&format!("[{index}]")))
                })
            }
            Form::Quoted(text) if size == 1 => match text.len() {
                found if found > len => Err(too_many(found)),
                found => {
                    self.raw(at, text)?;
                    // A text that does not fill the array ends with a NUL.
                    if found < len {
                        self.bits(at.start_after(found, BYTE)?, BYTE, 0)?;
                        self.clear(at, found..len)?;
                    }
                    Ok(())
                }
            },
            _ => Err(other_form(self.btf, ty, "`[…]`", value)),
        }
    }

    /// Clears the bytes of a range of elements after the end of a text. Another member of a union may have
    /// other bytes there.
    fn clear(&mut self, at: Place, elements: Range<usize>) -> Result<(), ValueError> {
        let [start, end] = [elements.start, elements.end].map(|index| at.start_after(index, BYTE));
        let range = start? / BYTE..end? / BYTE;
        let (Some(bytes), Some(written)) = (self.bytes.get_mut(range.clone()), self.written.get(range))
        else {
            return Err(ValueError::AfterEnd);
        };
        bytes.iter_mut().zip(written).for_each(|(byte, written)| *byte &= written);
        Ok(())
    }

    /// Writes bytes.
    fn raw(&mut self, at: Place, bytes: &[u8]) -> Result<(), ValueError> {
        bytes
            .iter()
            .enumerate()
            .try_for_each(|(index, byte)| self.bits(at.start_after(index, BYTE)?, BYTE, (*byte).into()))
    }

    /// Returns whether hexadecimal digits are bytes. Without quotes, those of a float are bytes if they are
    /// printed so, as for NaN.
    fn are_raw_bytes(&self, ty: Type<'b>, bytes: &[u8], value: &Written<'_>) -> bool {
        let printed = || self.btf.value(ty.id(), bytes).long_double(self.parser.long_double);
        ty.kind() != Kind::Float
            || value.form != Form::Word
            || printed().text().types(false).to_string() == value.text
    }

    fn scalar(&mut self, ty: Type<'b>, at: Place, value: &Written<'_>) -> Result<(), ValueError> {
        let size = self.parser.size_of(ty.id())?;
        let whole = size.checked_mul(BYTE).ok_or(ValueError::AfterEnd)?;
        let at = at.of_int(ty, whole)?;
        let width = at.bits.unwrap_or(whole);
        let word = value.word();
        let has_numbers = matches!(ty.kind(), Kind::Int | Kind::Ptr | Kind::Enum | Kind::Enum64);
        let hex =
            word.as_deref().filter(|_| !has_numbers).and_then(|text| hex_bytes(text.strip_prefix("0x")?));
        if let Some(bytes) = hex.filter(|bytes| self.are_raw_bytes(ty, bytes, value)) {
            if bytes.len() != size || at.bits.is_some() {
                return Err(ValueError::Bytes { found: bytes.len(), expected: size });
            }
            return self.raw(at, &bytes);
        }
        let other_form = |expected| other_form(self.btf, ty, expected, value);
        let number = match (ty.kind(), word.as_deref()) {
            (Kind::Float, Some(word)) if is_number(ty, size) => {
                let in_word = |e| ValueError::Float { word: word.to_owned(), source: Box::new(e) };
                self.parser.float(ty, word, size).map_err(in_word)?
            }
            (Kind::Float, None) if is_number(ty, size) => return Err(other_form("a number")),
            (Kind::Int, Some(word @ ("true" | "false"))) if is_bool(ty) => u128::from(word == "true"),
            (Kind::Int | Kind::Ptr, _) => {
                let number = match value.form {
                    Form::Character(byte) if is_char(ty) => Some(byte.into()),
                    _ => word.as_deref().and_then(|word| number(word, width)),
                };
                // A `char` is printed as an unsigned number, even if it is signed.
                let signedness = match ty.int() {
                    Some(_) if is_char(ty) => Signedness::Either,
                    int => Signedness::new(int.is_some_and(IntInfo::is_signed)),
                };
                in_range(number.ok_or_else(|| other_form("a number"))?, width, signedness)?
            }
            (Kind::Enum | Kind::Enum64, Some(word)) => match number(word, width) {
                Some(number) => in_range(number, width, Signedness::Either)?,
                None => enum_value(ty, word)? & mask(width),
            },
            (Kind::Enum | Kind::Enum64, None) => {
                return Err(other_form("the name of an enumerator or a number"));
            }
            _ => return Err(other_form("hex and all bytes")),
        };
        self.bits(at.start, width, number)
    }

    /// Writes the lowest `width` bits of a number.
    fn bits(&mut self, start: usize, width: usize, number: u128) -> Result<(), ValueError> {
        for (index, last) in (0..width).zip((0..width).rev()) {
            let at = start.checked_add(index).ok_or(ValueError::AfterEnd)?;
            // In big-endian data the first bit is the most significant one.
            let (bit, shift) = match self.btf.endian() {
                Endian::Little => (at % 8, index),
                Endian::Big => ((at % 8) ^ 7, last),
            };
            let is_set = u32::try_from(shift).is_ok_and(|shift| number.unbounded_shr(shift) & 1 == 1);
            let (Some(byte), Some(written)) = (self.bytes.get_mut(at / 8), self.written.get_mut(at / 8))
            else {
                return Err(ValueError::AfterEnd);
            };
            let was_set = *byte >> bit & 1 == 1;
            if *written >> bit & 1 == 1 && was_set != is_set {
                return Err(ValueError::Contradiction);
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

/// Returns whether a type may be that of an anonymous member: it has all members of the text, or the text has
/// no members.
fn has_members(btf: &Btf<'_>, ty: Type<'_>, value: &Written<'_>, steps_left: &mut u32) -> bool {
    match &value.form {
        Form::Members(members) => {
            let names = members.iter().filter_map(|member| member.name.as_deref());
            ty.kind().is_composite() && NamedMembers::find(btf, ty, 0, names, steps_left).has_all()
        }
        _ => !ty.kind().is_composite(),
    }
}

fn is_char(ty: Type<'_>) -> bool {
    ty.int().is_some_and(|int| int.encoding & IntInfo::CHAR != 0 || ty.name().as_bytes() == b"char")
}

fn unnamed(value: &Written<'_>) -> ValueError {
    ValueError::Unexpected { found: value.text.to_owned(), expected: MEMBERS_EXPECTED }
}

fn other_form(btf: &Btf<'_>, ty: Type<'_>, expected: &'static str, found: &Written<'_>) -> ValueError {
    let ty = CType::new(btf, ty.id()).to_string();
    ValueError::OtherForm { found: found.text.to_owned(), ty, expected }
}

/// Returns the bits of an enumerator, or of flags: `READ | WRITE | 0x40`.
fn enum_value(ty: Type<'_>, names: &str) -> Result<u128, ValueError> {
    names.split('|').map(str::trim).try_fold(0, |bits, name| {
        let found = ty.enumerators().find(|v| v.name.to_string() == name).map(|v| u128::from(v.value));
        let found = found.or_else(|| Some(number(name, 64)?.cast_unsigned()));
        let no_name =
            || ValueError::NoName { ty: ty.name().to_string(), part: "enumerator", name: name.to_owned() };
        Ok(bits | found.ok_or_else(no_name)?)
    })
}

#[cfg(test)]
mod tests;
