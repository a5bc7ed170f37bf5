//! Integers.

use super::ValueError;
use crate::endian::Endian;
use alloc::vec::Vec;

/// The numbers of an integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there are no others")]
pub enum Signedness {
    /// Signed numbers.
    Signed,
    /// Unsigned numbers.
    Unsigned,
    /// Both: the bits of the type are a signed or an unsigned number.
    Either,
}

impl Signedness {
    pub(super) fn new(is_signed: bool) -> Self {
        if is_signed { Self::Signed } else { Self::Unsigned }
    }

    /// Returns the least and the largest number of less than 128 bits.
    fn limits(self, width: usize) -> [i128; 2] {
        let largest = mask(width).cast_signed();
        let least_signed = !(largest >> 1);
        match self {
            Self::Signed => [least_signed, largest >> 1],
            Self::Unsigned => [0, largest],
            Self::Either => [least_signed, largest],
        }
    }
}

/// Parses a decimal or hexadecimal number (`0x10`) to `size` bytes.
pub fn parse_number(
    text: &str,
    size: usize,
    signedness: Signedness,
    endian: Endian,
) -> Result<Vec<u8>, ValueError> {
    let number = magnitude(text).and_then(|(is_negative, magnitude)| {
        let number = i128::try_from(magnitude).ok()?;
        Some(if is_negative { number.wrapping_neg() } else { number })
    });
    integer_bytes(number.ok_or(ValueError::NoInteger)?, size, signedness, endian)
}

/// Returns an integer as `size` bytes.
pub(super) fn integer_bytes(
    number: i128,
    size: usize,
    signedness: Signedness,
    endian: Endian,
) -> Result<Vec<u8>, ValueError> {
    let width = match size {
        1 => 8,
        2 => 16,
        4 => 32,
        8 => 64,
        _ => return Err(ValueError::IntegerSize(size)),
    };
    let [low, high] = signedness.limits(width);
    if number < low || number > high {
        return Err(ValueError::WordOutOfRange { low, high, size });
    }
    Ok(number_bytes(number.cast_unsigned(), size, endian))
}

/// Returns the lowest `size` bytes of a number.
pub(super) fn number_bytes(number: u128, size: usize, endian: Endian) -> Vec<u8> {
    let mut bytes = Endian::Little.u128_bytes(number).to_vec();
    bytes.resize(size, 0);
    if endian == Endian::Big {
        bytes.reverse();
    }
    bytes
}

/// Returns whether an integer is negative, and the integer without its sign.
fn magnitude(text: &str) -> Option<(bool, u128)> {
    let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let magnitude = match digits.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    Some((is_negative, magnitude.ok()?))
}

/// Returns a decimal or hexadecimal integer for a value of `width` bits. A decimal one with zeros in front is
/// an octal one in C.
pub(super) fn number(text: &str, width: usize) -> Option<i128> {
    let (is_negative, value) = magnitude(text)?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.contains('+') || (digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0x")) {
        return None;
    }
    // A number above the largest i128 keeps its bits, if the value has as many.
    match is_negative {
        false if width < 128 && i128::try_from(value).is_err() => None,
        true if value > i128::MIN.unsigned_abs() => None,
        true => Some(value.cast_signed().wrapping_neg()),
        false => Some(value.cast_signed()),
    }
}

/// Returns the bits of a number of `width` bits.
pub(super) fn in_range(number: i128, width: usize, signedness: Signedness) -> Result<u128, ValueError> {
    let [low, high] = signedness.limits(width);
    if width < 128 && (number < low || number > high) {
        return Err(ValueError::OutOfRange { number, low, high });
    }
    Ok(number.cast_unsigned() & mask(width))
}

/// Returns a number with the lowest `width` bits set.
pub(super) fn mask(width: usize) -> u128 {
    let bit = u32::try_from(width).ok().and_then(|width| 1u128.checked_shl(width));
    bit.map_or(u128::MAX, |bit| bit.wrapping_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn numbers_are_checked_against_their_size() {
        let parse = |text, size, signedness| parse_number(text, size, signedness, Endian::Big);
        assert_eq!(parse("-1", 2, Signedness::Signed), Ok(vec![0xff, 0xff]));
        assert_eq!(parse("0x10", 4, Signedness::Unsigned), Ok(vec![0, 0, 0, 0x10]));
        let error = ValueError::WordOutOfRange { low: 0, high: 0xffff_ffff, size: 4 };
        assert_eq!(parse("-1", 4, Signedness::Unsigned), Err(error));
        let error = ValueError::WordOutOfRange { low: -128, high: 255, size: 1 };
        assert_eq!(parse("256", 1, Signedness::Either), Err(error));
        assert_eq!(parse("x", 4, Signedness::Either), Err(ValueError::NoInteger));
        assert_eq!(parse("1", 3, Signedness::Either), Err(ValueError::IntegerSize(3)));
    }
}
