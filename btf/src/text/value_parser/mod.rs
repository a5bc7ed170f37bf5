//! Values as text, parsed to bytes by their type: the counterpart of [`super::value`].

mod error;
mod float;
mod notation;
mod number;
#[cfg(test)]
mod round_trip_tests;
mod word;
mod write;

pub use error::ValueError;
pub use number::{Signedness, parse_number};

use super::{CType, LongDouble};
use crate::{
    format::Kind,
    ids::{TypeId, to_usize},
    parse::Btf,
    view::{IntInfo, Type},
};
use alloc::{boxed::Box, format, string::String, vec::Vec};
use write::ValueWriter;

/// A parser of values by their types.
///
/// ```
/// use core_relo_btf::{Btf, Builder, Endian, ValueParser};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut b = Builder::new(Endian::Little);
/// let int = b.int("int", 4, Builder::SIGNED);
/// let char = b.int("char", 1, Builder::SIGNED);
/// let comm = b.array(char, int, 4);
/// let event = b.structure("event", 8, &[("pid", int, 0), ("comm", comm, 32)]);
/// let btf = Btf::parse(b.finish())?;
///
/// let parser = ValueParser::new(&btf);
/// let bytes = parser.parse(event, r#"{"pid": 7, "comm": "sh"}"#, vec![0; 8])?;
/// assert_eq!(bytes, [7, 0, 0, 0, b's', b'h', 0, 0]);
/// let text = btf.value(event, &bytes).text().types(false).to_string();
/// assert_eq!(text, r#"{.pid = 7, .comm = "sh"}"#);
/// assert_eq!(parser.parse(event, &text, vec![0; 8])?, bytes);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ValueParser<'b> {
    btf: &'b Btf<'b>,
    long_double: LongDouble,
}

impl<'b> ValueParser<'b> {
    /// Creates a parser of values of the types of a BTF. The bytes of the values have the byte order of the
    /// BTF.
    pub fn new(btf: &'b Btf<'b>) -> Self {
        Self { btf, long_double: LongDouble::default() }
    }

    /// Sets the format of floating-point numbers with more than 8 bytes. By default, it is unknown, and they
    /// are written as all their bytes.
    #[must_use]
    pub fn long_double(self, format: LongDouble) -> Self {
        Self { long_double: format, ..self }
    }

    /// Parses a value as [`Value::text`](super::Value::text) prints it, with types or without, or as JSON. A
    /// number, the name of an enumerator, and text without quotes are values as well, as for
    /// [`parse_word`](Self::parse_word).
    ///
    /// `bytes` have the size of the type. They are the parts of the value that the text does not have.
    pub fn parse(&self, ty: TypeId, text: &str, bytes: Vec<u8>) -> Result<Vec<u8>, ValueError> {
        self.check_size(ty, bytes.len())?;
        let stripped = self.btf.strip(ty)?;
        if self.is_notation(ty, stripped, text) {
            return self.write(ty, text, bytes);
        }
        let c_type = CType::new(self.btf, ty);
        if stripped.kind().is_composite() || stripped.kind() == Kind::Datasec {
            return Err(ValueError::NotMembers { found: text.into(), ty: format!("{c_type}") });
        }
        if is_printed_scalar(stripped)
            && let Ok(bytes) = self.write(ty, text, bytes)
        {
            return Ok(bytes);
        }
        self.word(stripped, text).map_err(|error| ValueError::NotWord {
            found: text.into(),
            ty: format!("{c_type}"),
            source: Box::new(error),
        })
    }

    /// Parses a value of `size` bytes as a person types it: `7`, `ON`, `bash`, `10,0,0,1`. A text needs no
    /// quotes. Composites, and arrays of numbers, may be written as [`Value::text`](super::Value::text)
    /// prints them. Parts that the word does not have are zero.
    pub fn parse_word(&self, ty: TypeId, word: &str, size: usize) -> Result<Vec<u8>, ValueError> {
        self.check_size(ty, size)?;
        self.word(self.btf.strip(ty)?, word)
    }

    /// Returns an error if a type has another size. The size of a damaged type may be large: a value needs no
    /// more memory than its bytes.
    fn check_size(&self, ty: TypeId, expected: usize) -> Result<(), ValueError> {
        match self.size_of(ty)? {
            found if found == expected => Ok(()),
            found => Err(ValueError::OtherSize { found, expected }),
        }
    }

    fn size_of(&self, ty: TypeId) -> Result<usize, ValueError> {
        Ok(to_usize(self.btf.size_of(ty)?.0))
    }

    /// Writes a value in a notation over `bytes`.
    fn write(&self, ty: TypeId, text: &str, bytes: Vec<u8>) -> Result<Vec<u8>, ValueError> {
        let value = notation::parse(text)?;
        ValueWriter::new(*self, bytes).finish(ty, &value)
    }

    /// Returns whether a text is a value in a notation, and not a number, name or text without quotes. Names
    /// of threads may be `(sd-pam)`.
    fn is_notation(&self, id: TypeId, ty: Type<'_>, text: &str) -> bool {
        let has_type = || ty.kind().is_composite() || text.starts_with(&type_prefix(self.btf, id));
        match text.bytes().next() {
            Some(b'{' | b'[' | b'"') => true,
            Some(b'(') => has_type(),
            Some(b'\'') => ty.kind() == Kind::Int,
            _ => false,
        }
    }
}

/// Returns the type before a value: `(int)`.
fn type_prefix(btf: &Btf<'_>, ty: TypeId) -> String {
    format!("({})", CType::new(btf, ty))
}

/// Returns whether a word is a value as it is printed.
fn is_printed_scalar(ty: Type<'_>) -> bool {
    match ty.kind() {
        // A byte that is no `_Bool` is printed as a number. As a word, the number is more likely a mistake.
        Kind::Int => !is_bool(ty),
        kind => matches!(kind, Kind::Ptr | Kind::Enum | Kind::Enum64 | Kind::Float),
    }
}

fn is_bool(ty: Type<'_>) -> bool {
    ty.int().is_some_and(|int| int.encoding & IntInfo::BOOL != 0)
}

/// Parses pairs of hexadecimal digits.
fn hex_bytes(digits: &str) -> Option<Vec<u8>> {
    let nibbles: Option<Vec<_>> =
        digits.chars().map(|digit| u8::try_from(digit.to_digit(16)?).ok()).collect();
    let (pairs, []) = nibbles.as_deref()?.as_chunks::<2>() else { return None };
    Some(pairs.iter().map(|[high, low]| high << 4 | low).collect())
}
