//! Bitfields: members of a few bits in the bytes of a struct.
//!
//! Bits are numbered as in BTF of the target's byte order: from the lowest bit of the first byte on
//! little-endian machines, from the highest bit of the first byte on big-endian machines.

use core_relo::Endian;

/// Reads an unsigned bitfield: `width` bits from bit `start` of `bytes`. Bits beyond the bytes are 0; the
/// width is at most 64.
pub fn unsigned(bytes: &[u8], start: usize, width: u32) -> u64 {
    (0..width).fold(0, |value, index| {
        let bit = read_bit(bytes, start, index);
        if is_little() { value | bit.wrapping_shl(index) } else { value.wrapping_shl(1) | bit }
    })
}

/// Reads a signed bitfield, as [`unsigned`], and extends its sign.
pub fn signed(bytes: &[u8], start: usize, width: u32) -> i64 {
    let unused = 64u32.wrapping_sub(width);
    if unused >= 64 {
        return 0;
    }
    unsigned(bytes, start, width).wrapping_shl(unused).cast_signed().wrapping_shr(unused)
}

/// Writes the low `width` bits of `value` to the bits from `start` of `bytes`. As in C, higher bits of the
/// value are lost.
pub fn write(bytes: &mut [u8], start: usize, width: u32, value: u64) {
    for index in 0..width {
        let shift = if is_little() { index } else { width.wrapping_sub(index).wrapping_sub(1) };
        let is_set = value.wrapping_shr(shift) & 1 == 1;
        let Some((byte, mask)) = position(start, index) else { return };
        if let Some(byte) = bytes.get_mut(byte) {
            *byte = if is_set { *byte | mask } else { *byte & !mask };
        }
    }
}

/// Returns a bit, 0 or 1.
fn read_bit(bytes: &[u8], start: usize, index: u32) -> u64 {
    let bit = position(start, index).and_then(|(byte, mask)| Some(bytes.get(byte)? & mask));
    u64::from(bit.is_some_and(|bit| bit != 0))
}

/// Returns the byte of a bit, and the bit's mask.
fn position(start: usize, index: u32) -> Option<(usize, u8)> {
    let bit = start.checked_add(usize::try_from(index).ok()?)?;
    let in_byte = u32::try_from(bit % 8).ok()?;
    let mask = if is_little() { 1u8.wrapping_shl(in_byte) } else { 0x80u8.wrapping_shr(in_byte) };
    Some((bit / 8, mask))
}

/// Returns whether this machine is little-endian, as the object of its skeleton is.
fn is_little() -> bool {
    Endian::native() == Endian::Little
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo_test_support::skip;

    #[test]
    fn what_is_written_is_read_and_other_bits_stay() {
        for start in 0..24 {
            for width in 1..=64 {
                for background in [0, 0xff] {
                    let mut bytes = [background; 12];
                    let value = 0x9234_5678_9abc_def1u64;
                    write(&mut bytes, start, width, value);
                    let kept = value & (u64::MAX >> (64 - width));
                    assert_eq!(unsigned(&bytes, start, width), kept, "{start} {width}");
                    let extended = (kept << (64 - width)).cast_signed() >> (64 - width);
                    assert_eq!(signed(&bytes, start, width), extended, "{start} {width}");
                    write(&mut bytes, start, width, if background == 0 { 0 } else { u64::MAX });
                    assert_eq!(bytes, [background; 12], "{start} {width}");
                }
            }
        }
    }

    #[test]
    fn bits_lie_as_clang_puts_them() {
        if !is_little() {
            return skip!("the bytes of a little-endian machine");
        }
        // struct { unsigned a : 3; unsigned b : 7; int c : 5; } with 5, 100, -3
        let bytes = [0x25, 0x77];
        assert_eq!((unsigned(&bytes, 0, 3), unsigned(&bytes, 3, 7), signed(&bytes, 10, 5)), (5, 100, -3));
    }

    #[test]
    fn bits_beyond_the_end_are_zero() {
        assert_eq!((unsigned(&[0xff], 4, 0), signed(&[0xff], 4, 0), unsigned(&[0xff], 8, 8)), (0, 0, 0));
    }
}
