//! Integers of any number of bits, in either byte order.

use crate::endian::Endian;

/// Returns `bits` bits of `data` from bit `start` as a number, or `None` past the end or for more than 128
/// bits.
///
/// In big-endian data the first bit is the most significant bit of a byte.
pub(super) fn unsigned(endian: Endian, data: &[u8], start: usize, bits: u32) -> Option<u128> {
    let end = start.checked_add(usize::try_from(bits).ok()?)?;
    let covering = data.get(start / 8..end.div_ceil(8))?;
    // 128 bits that do not start at a byte boundary cover 17 bytes.
    let (highest, rest) = match endian {
        Endian::Little => covering.split_last(),
        Endian::Big => covering.split_first(),
    }
    .unwrap_or((&0, &[]));
    if rest.len() > 16 || bits > 128 {
        return None;
    }
    let add = |sum: u128, byte: &u8| (sum << 8) | u128::from(*byte);
    let covering_bits = u32::try_from(covering.len()).ok()?.checked_mul(8)?;
    let skipped_bits = u32::try_from(start % 8).ok()?;
    let shift = match endian {
        Endian::Little => skipped_bits,
        Endian::Big => covering_bits.checked_sub(skipped_bits)?.checked_sub(bits)?,
    };
    // The 17th, most significant byte does not fit into 128 bits. It is added after the other bytes are
    // shifted.
    let lower = match endian {
        Endian::Little => rest.iter().rev().fold(0, add),
        Endian::Big => rest.iter().fold(0, add),
    };
    let rest_bits = u32::try_from(rest.len()).ok()?.checked_mul(8)?;
    let top = match rest_bits.checked_sub(shift) {
        Some(left) => u128::from(*highest).unbounded_shl(left),
        None => u128::from(*highest) >> shift.checked_sub(rest_bits)?,
    };
    let value = lower.unbounded_shr(shift) | top;
    Some(value & mask(bits))
}

/// Returns the lowest `bits` bits as a signed number.
pub(super) fn sign_extended(value: u128, bits: u32) -> i128 {
    let sign = 1u128.unbounded_shl(bits.saturating_sub(1));
    if bits == 0 || value & sign == 0 { value.cast_signed() } else { (value | !mask(bits)).cast_signed() }
}

fn mask(bits: u32) -> u128 {
    1u128.checked_shl(bits).map_or(u128::MAX, |bit| bit.wrapping_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_in_both_orders() {
        let data = [0x12, 0x34, 0x56, 0x78];
        assert_eq!(unsigned(Endian::Little, &data, 0, 32), Some(0x7856_3412));
        assert_eq!(unsigned(Endian::Big, &data, 0, 32), Some(0x1234_5678));
        assert_eq!(unsigned(Endian::Little, &data, 4, 8), Some(0x41));
        assert_eq!(unsigned(Endian::Big, &data, 4, 8), Some(0x23));
        assert_eq!(unsigned(Endian::Little, &data, 31, 1), Some(0));
        assert_eq!(unsigned(Endian::Little, &data, 31, 2), None);
        assert_eq!(unsigned(Endian::Little, &data, 8, 0), Some(0));
        assert_eq!(unsigned(Endian::Big, &data, usize::MAX, 8), None);
    }

    #[test]
    fn every_width_at_every_start_equals_single_bits() {
        let data: [u8; 18] = core::array::from_fn(|i| u8::try_from(i * 37 % 251).unwrap());
        for endian in [Endian::Little, Endian::Big] {
            let bit = |at: usize| match endian {
                Endian::Little => data[at / 8] >> (at % 8) & 1,
                Endian::Big => data[at / 8] >> (7 - at % 8) & 1,
            };
            for start in 0..9 {
                for bits in 1..=128usize {
                    let expected = (0..bits).fold(0u128, |sum, i| match endian {
                        Endian::Little => sum | u128::from(bit(start + i)) << i,
                        Endian::Big => sum << 1 | u128::from(bit(start + i)),
                    });
                    let bits = u32::try_from(bits).unwrap();
                    assert_eq!(
                        unsigned(endian, &data, start, bits),
                        Some(expected),
                        "{endian:?} {start} {bits}"
                    );
                }
            }
        }
    }

    #[test]
    fn signs() {
        assert_eq!(sign_extended(0b101, 3), -3);
        assert_eq!(sign_extended(0b011, 3), 3);
        assert_eq!(sign_extended(u128::MAX, 128), -1);
        assert_eq!(sign_extended(1 << 127, 128), i128::MIN);
        assert_eq!(sign_extended(0, 0), 0);
    }
}
