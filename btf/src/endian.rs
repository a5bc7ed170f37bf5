//! Conversions between bytes and numbers. No other file converts byte order.
//!
//! Every conversion takes the byte order of the data. No result depends on the host's byte order.

use alloc::vec::Vec;

/// The byte order of a BTF, a `.BTF.ext` or an object's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "there are two")]
pub enum Endian {
    /// Least significant byte first (`bpfel`).
    Little,
    /// Most significant byte first (`bpfeb`).
    Big,
}

#[expect(
    clippy::little_endian_bytes,
    clippy::big_endian_bytes,
    reason = "only this file converts byte order"
)]
impl Endian {
    /// Returns the byte order of the host, for data that is exchanged with the running kernel.
    #[inline]
    pub const fn native() -> Self {
        if cfg!(target_endian = "little") { Self::Little } else { Self::Big }
    }

    /// Returns the two bytes at `at` as a number, or `None` past the end.
    #[inline]
    pub fn u16(self, data: &[u8], at: usize) -> Option<u16> {
        let raw = *data.get(at..)?.first_chunk::<2>()?;
        Some(match self {
            Self::Little => u16::from_le_bytes(raw),
            Self::Big => u16::from_be_bytes(raw),
        })
    }

    /// Returns the four bytes at `at` as a number, or `None` past the end.
    #[inline]
    pub fn u32(self, data: &[u8], at: usize) -> Option<u32> {
        let raw = *data.get(at..)?.first_chunk::<4>()?;
        Some(self.word(raw))
    }

    /// Returns the eight bytes at `at` as a number, or `None` past the end.
    #[inline]
    pub fn u64(self, data: &[u8], at: usize) -> Option<u64> {
        let raw = *data.get(at..)?.first_chunk::<8>()?;
        Some(self.u64_of(raw))
    }

    /// Returns eight bytes as a number.
    #[inline]
    pub(crate) const fn u64_of(self, raw: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(raw),
            Self::Big => u64::from_be_bytes(raw),
        }
    }

    /// Returns four bytes as a number.
    #[inline]
    pub const fn word(self, raw: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(raw),
            Self::Big => u32::from_be_bytes(raw),
        }
    }

    /// Returns a number as two bytes.
    #[inline]
    pub const fn u16_bytes(self, v: u16) -> [u8; 2] {
        match self {
            Self::Little => v.to_le_bytes(),
            Self::Big => v.to_be_bytes(),
        }
    }

    /// Returns a number as four bytes.
    #[inline]
    pub const fn u32_bytes(self, v: u32) -> [u8; 4] {
        match self {
            Self::Little => v.to_le_bytes(),
            Self::Big => v.to_be_bytes(),
        }
    }

    /// Returns a number as eight bytes.
    #[inline]
    pub const fn u64_bytes(self, v: u64) -> [u8; 8] {
        match self {
            Self::Little => v.to_le_bytes(),
            Self::Big => v.to_be_bytes(),
        }
    }

    /// Returns a number as sixteen bytes.
    #[cfg(feature = "text")]
    pub(crate) const fn u128_bytes(self, v: u128) -> [u8; 16] {
        match self {
            Self::Little => v.to_le_bytes(),
            Self::Big => v.to_be_bytes(),
        }
    }

    /// Appends a number as eight bytes.
    pub fn put_u64(self, out: &mut Vec<u8>, v: u64) {
        out.extend_from_slice(&self.u64_bytes(v));
    }

    /// Appends a number as two bytes.
    pub fn put_u16(self, out: &mut Vec<u8>, v: u16) {
        out.extend_from_slice(&self.u16_bytes(v));
    }

    /// Appends a number as four bytes.
    pub fn put_u32(self, out: &mut Vec<u8>, v: u32) {
        out.extend_from_slice(&self.u32_bytes(v));
    }
}

/// Returns a 32-bit pattern as a signed number.
#[inline]
pub(crate) const fn signed32(v: u32) -> i32 {
    v.cast_signed()
}

/// Returns the low 32 bits of a 64-bit number.
#[inline]
pub(crate) const fn low32(v: u64) -> u32 {
    let [b0, b1, b2, b3, ..] = Endian::Little.u64_bytes(v);
    Endian::Little.word([b0, b1, b2, b3])
}

/// Returns the high 32 bits of a 64-bit number.
#[inline]
pub(crate) const fn high32(v: u64) -> u32 {
    low32(v >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn written_numbers_are_read_back_and_reads_past_the_end_are_none() {
        for e in [Endian::Little, Endian::Big] {
            let mut out = Vec::new();
            e.put_u16(&mut out, 0x1234);
            e.put_u32(&mut out, 0x8765_4321);
            assert_eq!(e.u16(&out, 0), Some(0x1234));
            assert_eq!(e.u32(&out, 2), Some(0x8765_4321));
            assert_eq!(e.u32(&out, 3), None);
            assert_eq!(e.u64(&out, 0), None);
            assert_eq!(e.u16(&out, usize::MAX), None);
        }
        assert_eq!(Endian::Big.u16_bytes(1), [0, 1]);
        assert_eq!(Endian::Little.u16_bytes(1), [1, 0]);
    }

    #[test]
    fn halves_of_a_64_bit_number() {
        assert_eq!((low32(0x1_8000_0000), high32(0x1_8000_0000)), (0x8000_0000, 1));
        assert_eq!(signed32(0xffff_ffff), -1);
    }
}
