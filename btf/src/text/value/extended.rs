//! Floating-point numbers of x86 with 80 bits: `long double`.

use core::fmt::{self, Display, Formatter};

/// The bits of the mantissa, with the one before the point.
const MANTISSA_BITS: i64 = 64;
const BIAS: i64 = 16383;
const LARGEST_EXPONENT: u64 = 0x7fff;
/// The exponent of numbers without a one before the point.
const LEAST_EXPONENT: i64 = 1 - BIAS;
const INTEGER_BIT: u64 = 1 << 63;
/// The mantissa of the NaN that `NaN` names.
const NAN: u64 = 0b11 << 62;

/// A floating-point number of x86 with 80 bits.
///
/// [`to_f64`](Self::to_f64) has the value if a `double` does. `Display` writes the number as C does with
/// `%a`: `0x1.8p+1` is 3. Every number comes back from its text by [`parse`](Self::parse).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendedFloat {
    is_negative: bool,
    exponent: u64,
    mantissa: u64,
}

impl ExtendedFloat {
    /// Returns the number with these 80 bits, followed by zeros. Returns `None` for other bits after them,
    /// for NaN with other bits than the default one, and for bits that processors since the 80387 refuse.
    pub fn from_bits(bits: u128) -> Option<Self> {
        let mantissa = u64::try_from(bits & u128::from(u64::MAX)).ok()?;
        let high = u64::try_from(bits >> 64).ok().filter(|high| *high <= 0xffff)?;
        let number = Self { is_negative: high >> 15 == 1, exponent: high & LARGEST_EXPONENT, mantissa };
        let has_integer_bit = mantissa & INTEGER_BIT != 0;
        let is_valid = match number.exponent {
            0 => !has_integer_bit,
            LARGEST_EXPONENT => mantissa == INTEGER_BIT || (mantissa == NAN && !number.is_negative),
            _ => has_integer_bit,
        };
        is_valid.then_some(number)
    }

    /// Returns the 80 bits.
    pub fn to_bits(self) -> u128 {
        let sign = if self.is_negative { 1 << 15 } else { 0 };
        u128::from(sign | self.exponent) << 64 | u128::from(self.mantissa)
    }

    /// Returns the number that a `double` has.
    pub fn from_f64(value: f64) -> Self {
        let is_negative = value.is_sign_negative() && !value.is_nan();
        if value.is_nan() || value.is_infinite() {
            let mantissa = if value.is_nan() { NAN } else { INTEGER_BIT };
            return Self { is_negative, exponent: LARGEST_EXPONENT, mantissa };
        }
        let bits = value.to_bits();
        let exponent = bits >> 52 & 0x7ff;
        let fraction = bits << 12 >> 1;
        if exponent > 0 {
            let exponent = exponent.wrapping_add(BIAS.wrapping_sub(1023).unsigned_abs());
            return Self { is_negative, exponent, mantissa: INTEGER_BIT | fraction };
        }
        // Without a one before the point; the exponent is the least of a `double`.
        let zeros = fraction.leading_zeros();
        match fraction.checked_shl(zeros) {
            None => Self { is_negative, exponent: 0, mantissa: 0 },
            Some(mantissa) => {
                let exponent = BIAS.wrapping_sub(1022).unsigned_abs().wrapping_sub(zeros.into());
                Self { is_negative, exponent, mantissa }
            }
        }
    }

    /// Returns the `double` with the same value, if there is one.
    pub fn to_f64(self) -> Option<f64> {
        if self.exponent == LARGEST_EXPONENT {
            let infinity = if self.is_negative { f64::NEG_INFINITY } else { f64::INFINITY };
            return Some(if self.mantissa == INTEGER_BIT { infinity } else { f64::NAN });
        }
        let sign = u64::from(self.is_negative) << 63;
        let Some((normal, exponent)) = self.normalised() else { return Some(f64::from_bits(sign)) };
        // A `double` has 53 bits, and less below its least exponent.
        let dropped = 11i64.saturating_add((-1022i64).saturating_sub(exponent).max(0));
        if exponent > 1023 || dropped >= MANTISSA_BITS || i64::from(normal.trailing_zeros()) < dropped {
            return None;
        }
        let fraction = normal.checked_shr(u32::try_from(dropped).ok()?)?;
        let biased = u64::try_from(exponent.saturating_add(1023)).ok().filter(|_| exponent >= -1022);
        let bits = biased.map_or(fraction, |biased| fraction & ((1 << 52) - 1) | biased << 52);
        Some(f64::from_bits(sign | bits))
    }

    /// Parses a hexadecimal number, `0x1.8p+1`. Returns `None` for other text, and for a number that has no
    /// exact value.
    pub fn parse(text: &str) -> Option<Self> {
        let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"))?;
        let (digits, power) = digits.split_once(['p', 'P'])?;
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.starts_with('+') || fraction.starts_with('+') || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        // The zeros at the end would only shift the digits before the point.
        let fraction = fraction.trim_end_matches('0');
        let number = |digits: &str| match digits {
            "" => Some(0),
            digits => u64::from_str_radix(digits, 16).ok(),
        };
        let (high, low) = (number(whole)?, number(fraction)?);
        let shift = u32::try_from(fraction.len()).ok()?.checked_mul(4)?;
        let power = power.parse::<i64>().ok()?.checked_sub(shift.into())?;
        let high = match high {
            0 => 0,
            high if shift <= u64::BITS => u128::from(high).checked_shl(shift)?,
            // More bits than a mantissa: the last digit is not 0.
            _ => return None,
        };
        let all = high | u128::from(low);
        let zeros = all.trailing_zeros();
        let Ok(integer) = u64::try_from(all.checked_shr(zeros).unwrap_or(0)) else { return None };
        let power = power.checked_add(zeros.into())?;
        Self::from_parts(is_negative, integer, power)
    }

    /// Returns `integer` × 2^`power`, if it has an exact value.
    fn from_parts(is_negative: bool, integer: u64, power: i64) -> Option<Self> {
        if integer == 0 {
            return Some(Self { is_negative, exponent: 0, mantissa: 0 });
        }
        let zeros = integer.leading_zeros();
        let normal = integer.checked_shl(zeros)?;
        let exponent = power.checked_add(MANTISSA_BITS - 1)?.checked_sub(zeros.into())?;
        if exponent > BIAS {
            return None;
        }
        let below = LEAST_EXPONENT.checked_sub(exponent).filter(|below| *below > 0);
        let Some(below) = below else {
            let biased = u64::try_from(exponent.checked_add(BIAS)?).ok()?;
            return Some(Self { is_negative, exponent: biased, mantissa: normal });
        };
        let below = u32::try_from(below).ok()?;
        let is_exact = below <= normal.trailing_zeros();
        let mantissa = normal.checked_shr(below)?;
        is_exact.then_some(Self { is_negative, exponent: 0, mantissa })
    }

    /// Returns the mantissa with its first one before the point, and the exponent. Returns `None` for zero.
    fn normalised(self) -> Option<(u64, i64)> {
        let zeros = self.mantissa.leading_zeros();
        let normal = self.mantissa.checked_shl(zeros)?;
        let exponent = match self.exponent {
            0 => LEAST_EXPONENT,
            biased => biased.cast_signed().wrapping_sub(BIAS),
        };
        Some((normal, exponent.wrapping_sub(zeros.into())))
    }
}

impl Display for ExtendedFloat {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative { "-" } else { "" };
        if self.exponent == LARGEST_EXPONENT {
            return f.write_str(if self.mantissa == NAN {
                "NaN"
            } else if self.is_negative {
                "-inf"
            } else {
                "inf"
            });
        }
        let Some((normal, exponent)) = self.normalised() else { return write!(f, "{sign}0x0p+0") };
        // The bits after the first one.
        let fraction = normal << 1;
        write!(f, "{sign}0x1")?;
        if fraction != 0 {
            f.write_str(".")?;
            let digits = 16u32.wrapping_sub(fraction.trailing_zeros() / 4);
            for digit in 0..digits {
                let shift = 60u32.wrapping_sub(digit.wrapping_mul(4));
                write!(f, "{:x}", fraction >> shift & 0xf)?;
            }
        }
        write!(f, "p{exponent:+}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    /// A generator of numbers: splitmix64.
    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut n = *state;
        n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        n ^ (n >> 31)
    }

    #[test]
    fn numbers_have_the_text_of_c() {
        // The bits and the text that x86-64's printf("%La") has, with one digit before the point.
        for (high, mantissa, text, double) in [
            (0x3fff_u64, 0x8000_0000_0000_0000, "0x1p+0", Some(1.0)),
            (0xc000, 0xc000_0000_0000_0000, "-0x1.8p+1", Some(-3.0)),
            (0x3ffb, 0xcccc_cccc_cccc_cccd, "0x1.999999999999999ap-4", None),
            (0x3ffb, 0xcccc_cccc_cccc_d000, "0x1.999999999999ap-4", Some(0.1)),
            (0x7ffe, u64::MAX, "0x1.fffffffffffffffep+16383", None),
            (0x0000, 1, "0x1p-16445", None),
            (0x0001, 0x8000_0000_0000_0000, "0x1p-16382", None),
            (0x8000, 0, "-0x0p+0", Some(-0.0)),
            (0x3bcd, 0x8000_0000_0000_0000, "0x1p-1074", Some(f64::from_bits(1))),
            (0x3bcc, 0x8000_0000_0000_0000, "0x1p-1075", None),
            (0x43fe, 0xffff_ffff_ffff_f800, "0x1.fffffffffffffp+1023", Some(f64::MAX)),
            (0x43ff, 0x8000_0000_0000_0000, "0x1p+1024", None),
        ] {
            let number = ExtendedFloat::from_bits(u128::from(high) << 64 | u128::from(mantissa)).unwrap();
            assert_eq!(number.to_string(), text);
            assert_eq!(number.to_f64().map(f64::to_bits), double.map(f64::to_bits), "{text}");
            assert_eq!(ExtendedFloat::parse(text), Some(number));
        }
        for text in [
            "",
            "0x",
            "0xp1",
            "0x.p1",
            "1p1",
            "0x1",
            "0x1.8",
            "0x1p",
            "0x1p+16384",
            "0x1p-16446",
            "0x+1p1",
            "0x1.+1p0",
            "0x1.00000000000000001p0",
            "0x10000000000000.00000000000000001p0",
            "0x1ffffffffffffffffp0",
            "0x1p99999999999",
            "--0x1p0",
            "0x1.8000000000000001p0",
        ] {
            assert_eq!(ExtendedFloat::parse(text), None, "{text}");
        }
        assert_eq!(ExtendedFloat::parse("0xc.8p-2").and_then(ExtendedFloat::to_f64), Some(3.125));
        // Zeros at the end of a fraction shifted the number out.
        for (text, double) in [
            ("0x10000000000000.00000000000000000000p0", 4_503_599_627_370_496.0),
            ("0x8000000000000000.00000000000000000p0", 9_223_372_036_854_775_808.0),
            ("0x1.80000000000000000000000000000000000000000p+1", 3.0),
            ("0x.0p0", 0.0),
            ("0x0.p0", 0.0),
            ("0x0.00000000000000001p+68", 1.0),
            ("0x0.0000000000000000000000000000000000000001p+160", 1.0),
        ] {
            assert_eq!(ExtendedFloat::parse(text).and_then(ExtendedFloat::to_f64), Some(double), "{text}");
        }
    }

    /// Bits that are a number come back from its text, or from the `double` of the same value.
    #[test]
    fn bits_come_back() {
        let mut state = 3;
        for _ in 0..100_000 {
            let random = next(&mut state);
            // Few bits now and then, so that a `double` has the value.
            let mask = if random & 1 == 0 { u64::MAX << (next(&mut state) % 64) } else { u64::MAX };
            let exponent = match random >> 1 & 3 {
                0 => random >> 48 & 0x7fff,
                1 => 16383 - 1100 + (random >> 48) % 2200,
                2 => (random >> 48) % 70,
                _ => 0,
            };
            let integer = if exponent == 0 { 0 } else { INTEGER_BIT };
            let mantissa = next(&mut state) & mask & !INTEGER_BIT | integer;
            let bits = u128::from(exponent | (random >> 63) << 15) << 64 | u128::from(mantissa);
            let Some(number) = ExtendedFloat::from_bits(bits) else {
                assert_eq!(exponent, 0x7fff);
                continue;
            };
            assert_eq!(number.to_bits(), bits);
            assert_eq!(ExtendedFloat::parse(&number.to_string()), Some(number), "{number}");
            if let Some(double) = number.to_f64() {
                assert_eq!(ExtendedFloat::from_f64(double), number, "{number}");
            }
            let double = f64::from_bits(next(&mut state));
            let extended = ExtendedFloat::from_f64(double);
            assert_eq!(ExtendedFloat::from_bits(extended.to_bits()), Some(extended));
            let back = extended.to_f64().unwrap();
            assert!(back.to_bits() == double.to_bits() || (back.is_nan() && double.is_nan()), "{double:?}");
        }
    }
}
