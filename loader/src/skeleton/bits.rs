//! Bitfields: members of a few bits in the bytes of a struct.
//!
//! Bits are numbered as in BTF of the target's byte order: from the lowest bit of the first byte on little-endian machines, from the
//! highest bit of the first byte on big-endian machines.

/// Reads an unsigned bitfield: `width` bits from bit `start` of `bytes`. Bits beyond the bytes are 0; the width is at most 64.
pub const fn unsigned(bytes: &[u8], start: usize, width: u32) -> u64 {
    let mut value = 0;
    let mut index = 0;
    while index < width {
        let bit = bit(bytes, start, index);
        value = if cfg!(target_endian = "little") {
            value | bit.wrapping_shl(index)
        } else {
            value.wrapping_shl(1) | bit
        };
        index = index.wrapping_add(1);
    }
    value
}

/// Reads a signed bitfield, as [`unsigned`], and extends its sign.
pub const fn signed(bytes: &[u8], start: usize, width: u32) -> i64 {
    let unused = 64u32.wrapping_sub(width);
    if unused >= 64 {
        return 0;
    }
    unsigned(bytes, start, width).wrapping_shl(unused).cast_signed().wrapping_shr(unused)
}

/// Writes the low `width` bits of `value` to the bits from `start` of `bytes`. As in C, higher bits of the value are lost.
pub fn write(bytes: &mut [u8], start: usize, width: u32, value: u64) {
    for index in 0..width {
        let shift =
            if cfg!(target_endian = "little") { index } else { width.wrapping_sub(index).wrapping_sub(1) };
        let is_set = value.wrapping_shr(shift) & 1 == 1;
        let (byte, mask) = position(start, index);
        if let Some(byte) = bytes.get_mut(byte) {
            *byte = if is_set { *byte | mask } else { *byte & !mask };
        }
    }
}

/// Returns a bit, 0 or 1.
#[expect(clippy::indexing_slicing, reason = "`const`, and the index is compared with the length")]
const fn bit(bytes: &[u8], start: usize, index: u32) -> u64 {
    let (byte, mask) = position(start, index);
    if byte < bytes.len() && bytes[byte] & mask != 0 { 1 } else { 0 }
}

/// Returns the byte of a bit, and the bit's mask.
#[expect(clippy::as_conversions, reason = "`const`; a width fits every integer")]
const fn position(start: usize, index: u32) -> (usize, u8) {
    let bit = start.wrapping_add(index as usize);
    let in_byte = (bit % 8) as u32;
    let mask =
        if cfg!(target_endian = "little") { 1u8.wrapping_shl(in_byte) } else { 0x80u8.wrapping_shr(in_byte) };
    (bit / 8, mask)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[cfg(target_endian = "little")]
    #[test]
    fn bits_lie_as_clang_puts_them() {
        // struct { unsigned a : 3; unsigned b : 7; int c : 5; } with 5, 100, -3
        let bytes = [0x25, 0x77];
        assert_eq!((unsigned(&bytes, 0, 3), unsigned(&bytes, 3, 7), signed(&bytes, 10, 5)), (5, 100, -3));
    }

    #[test]
    fn bits_beyond_the_end_are_zero() {
        assert_eq!((unsigned(&[0xff], 4, 0), signed(&[0xff], 4, 0), unsigned(&[0xff], 8, 8)), (0, 0, 0));
    }
}
