//! Floating-point numbers of 4 and 8 bytes, and `long double` of x86.

use crate::long_double::NATIVE;
use core_relo::btf::{ExtendedFloat, LongDouble};

/// The bits of the NaN that `NaN` names, as a float of 4 bytes. All others are printed as bytes.
const NAN_32: u32 = 0x7fc0_0000;
/// The bits of the NaN that `NaN` names, as a float of 8 bytes.
const NAN_64: u64 = 0x7ff8_0000_0000_0000;

/// Returns the bits of a float of `size` bytes for a number.
fn float_bits(number: f64, size: usize) -> Result<u128, String> {
    #[expect(clippy::cast_possible_truncation, reason = "the value is a float of 4 bytes")]
    let narrow = number as f32;
    match size {
        4 if number.is_nan() => Ok(NAN_32.into()),
        8 if number.is_nan() => Ok(NAN_64.into()),
        4 if narrow.is_infinite() && number.is_finite() => Err(too_large(size)),
        4 => Ok(narrow.to_bits().into()),
        8 => Ok(number.to_bits().into()),
        12 | 16 if NATIVE == LongDouble::X86 => Ok(ExtendedFloat::from_f64(number).to_bits()),
        _ => Err(format!("a float of {size} bytes: give all bytes as hex")),
    }
}

/// Returns the bits of a float for text: `1.5`, `-1e10`, `Infinity`, `-inf`, `NaN`. For more than 8 bytes, decimal numbers are rounded to 8 bytes;
/// hexadecimal ones have all bits: `0x1.999999999999999ap-4`.
pub(super) fn parse_float(text: &str, size: usize) -> Result<u128, String> {
    let expected = || "expected a number".to_owned();
    let has_digits = text.bytes().any(|byte| byte.is_ascii_digit());
    if matches!(size, 12 | 16)
        && NATIVE == LongDouble::X86
        && let Some(number) = ExtendedFloat::parse(text)
    {
        return Ok(number.to_bits());
    }
    // A conversion of the wide number would round twice.
    let (is_infinite, bits) = if size == 4 {
        let number: f32 = text.parse().map_err(|_no_number| expected())?;
        (number.is_infinite(), if number.is_nan() { NAN_32 } else { number.to_bits() }.into())
    } else {
        let number: f64 = text.parse().map_err(|_no_number| expected())?;
        (number.is_infinite(), float_bits(number, size)?)
    };
    if is_infinite && has_digits { Err(too_large(size)) } else { Ok(bits) }
}

fn too_large(size: usize) -> String {
    format!("too large for a float of {size} bytes")
}
