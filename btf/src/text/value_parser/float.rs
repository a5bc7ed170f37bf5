//! Floating-point numbers of 4 and 8 bytes, and `long double` of x86.

use super::{ValueError, ValueParser};
use crate::{
    text::value::{ExtendedFloat, LongDouble, NAN_32, NAN_64},
    view::Type,
};

impl ValueParser<'_> {
    /// Returns the bits of a float for text: `1.5`, `-1e10`, `Infinity`, `-inf`, `NaN`. For more than 8
    /// bytes, decimal numbers are rounded to 8 bytes; hexadecimal ones have all bits:
    /// `0x1.999999999999999ap-4`.
    pub(super) fn float(&self, ty: Type<'_>, text: &str, size: usize) -> Result<u128, ValueError> {
        if !is_number(ty, size) {
            return Err(ValueError::FloatFormat(size));
        }
        let is_extended = matches!(size, 12 | 16) && self.long_double == LongDouble::X86;
        if let Some(number) = ExtendedFloat::parse(text).filter(|_| is_extended) {
            return Ok(number.to_bits());
        }
        // A conversion of the wide number would round twice.
        let (is_infinite, bits) = if size == 4 {
            let number: f32 = text.parse().map_err(|_no_number| ValueError::NoFloat)?;
            (number.is_infinite(), if number.is_nan() { NAN_32 } else { number.to_bits() }.into())
        } else {
            let number: f64 = text.parse().map_err(|_no_number| ValueError::NoFloat)?;
            let bits = match size {
                8 if number.is_nan() => NAN_64.into(),
                8 => number.to_bits().into(),
                _ if is_extended => ExtendedFloat::from_f64(number).to_bits(),
                _ => return Err(ValueError::FloatFormat(size)),
            };
            (number.is_infinite(), bits)
        };
        if is_infinite && text.bytes().any(|byte| byte.is_ascii_digit()) {
            return Err(ValueError::LargeFloat(size));
        }
        Ok(bits)
    }
}

/// Returns whether the values of a floating-point type may be written as numbers. Compilers have other types
/// of these sizes, such as `_Float128`.
pub(super) fn is_number(ty: Type<'_>, size: usize) -> bool {
    size <= 8 || ty.name().as_bytes() == b"long double"
}
