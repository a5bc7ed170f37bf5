//! The string section: whether it is one, and reading from it.

use super::{Btf, BtfError};
use crate::{
    endian::Endian,
    ids::{StrOffset, to_usize},
    limits,
    name::Name,
};

/// The strings of a BTF and of those it is split from.
#[derive(Clone, Copy)]
pub(crate) struct Strings<'b> {
    pub(super) own: &'b [u8],
    /// The offset of the first own string.
    pub(super) start: u32,
    pub(super) base: Option<&'b Btf<'b>>,
}

impl<'b> Strings<'b> {
    /// The string at an offset.
    #[inline]
    pub(crate) fn name(self, at: StrOffset) -> Option<Name<'b>> {
        let Some(own) = at.0.checked_sub(self.start) else { return self.base?.name(at) };
        let rest = self.own.get(StrOffset(own).index()..)?;
        rest.get(..length(rest)?).map(Name::new)
    }

    /// Whether this very string lies at an offset; cheaper than reading what does.
    #[inline]
    pub(crate) fn is(self, at: StrOffset, name: &[u8]) -> bool {
        self.tail(at).is_some_and(|rest| is(rest, name))
    }

    /// The string at an offset, its NUL and what follows.
    #[inline]
    pub(super) fn tail(self, at: StrOffset) -> Option<&'b [u8]> {
        match at.0.checked_sub(self.start) {
            Some(own) => self.own.get(StrOffset(own).index()..).filter(|rest| !rest.is_empty()),
            None => self.base?.strings().tail(at),
        }
    }

    /// How the string at an offset begins; `None` where that is not cheap to tell.
    #[inline]
    pub(crate) fn beginning(self, at: StrOffset) -> Option<Beginning> {
        let own = at.0.checked_sub(self.start)?;
        let raw = self.own.get(StrOffset(own).index()..)?.first_chunk()?;
        Some(Beginning::of(*raw))
    }
}

/// The first four bytes of a string, those from its NUL on being zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beginning(pub(crate) u32);

impl Beginning {
    /// Of a string that begins with `name`, and goes on with `filler` if that is shorter.
    pub(crate) fn of_name(name: &[u8], filler: u8) -> Self {
        Self::of(core::array::from_fn(|at| name.get(at).copied().unwrap_or(filler)))
    }

    /// Of a string that begins like this, or ends within.
    #[inline]
    pub(crate) fn of(raw: [u8; 4]) -> Self {
        let word = Endian::Little.word(raw);
        // The highest bit of each byte that is 0, and of some that come after one.
        let zeros = word.wrapping_sub(0x0101_0101) & !word & 0x8080_8080;
        match zeros.trailing_zeros() {
            32 => Self(word),
            bit => Self(word & 1u32.wrapping_shl(bit.saturating_sub(7)).wrapping_sub(1)),
        }
    }
}

/// Whether `bytes` begin with this very string.
#[inline]
pub(super) fn is(bytes: &[u8], name: &[u8]) -> bool {
    matches!(bytes.strip_prefix(name), Some([0, ..]))
}

/// The length of the string that `bytes` begins with; eight bytes at a time, as most have more.
#[inline]
fn length(bytes: &[u8]) -> Option<usize> {
    const LOWS: u64 = 0x0101_0101_0101_0101;
    let (eights, rest) = bytes.as_chunks::<8>();
    for (eight, at) in eights.iter().zip((0usize..).step_by(8)) {
        let word = Endian::Little.u64(eight, 0)?;
        // The highest bit of the first byte that is 0, and of some that come after it.
        let zeros = word.wrapping_sub(LOWS) & !word & (LOWS << 7);
        if zeros != 0 {
            return at.checked_add(to_usize(zeros.trailing_zeros() / 8));
        }
    }
    let within = rest.iter().position(|b| *b == 0)?;
    bytes.len().saturating_sub(rest.len()).checked_add(within)
}

/// A string section begins (without a base) and ends with NUL; a split BTF may have none (libbpf: `btf_parse_str_sec`).
pub(super) fn check(strings: &[u8], has_base: bool) -> Result<(), BtfError> {
    for (block, offset) in strings.chunks_exact(limits::STRING_BLOCK).zip((0..).step_by(limits::STRING_BLOCK))
    {
        if !block.contains(&0) {
            return Err(BtfError::LongString { offset });
        }
    }
    let must = match (strings.first(), strings.last()) {
        (None, _) if has_base => return Ok(()),
        (None, _) => "hold anything",
        (_, Some(last)) if *last != 0 => "end with NUL",
        (Some(first), _) if *first != 0 && !has_base => "begin with NUL",
        _ => return Ok(()),
    };
    Err(BtfError::Strings { must, split_without_base: must == "begin with NUL" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_length_is_the_place_of_the_first_nul() {
        for len in 0..40usize {
            for after in [1usize, 2, 9] {
                let mut bytes = vec![0x80u8; len];
                bytes.extend([0, 1, 0x80, 0, 0xff, 1, 0, 1, 1].iter().take(after));
                assert_eq!(length(&bytes), Some(len));
                assert_eq!(length(&bytes[..len]), None);
            }
        }
    }

    #[test]
    fn a_beginning_ends_with_the_string() {
        for (raw, expected) in [
            (*b"abcd", *b"abcd"),
            (*b"abc\0", *b"abc\0"),
            (*b"ab\0x", *b"ab\0\0"),
            (*b"a\0\x01\x80", *b"a\0\0\0"),
            (*b"\0xyz", *b"\0\0\0\0"),
            (*b"\x80\xff\x01\0", *b"\x80\xff\x01\0"),
            (*b"a\x01\x01\x01", *b"a\x01\x01\x01"),
        ] {
            assert_eq!(Beginning::of(raw), Beginning(Endian::Little.word(expected)), "{raw:?}");
        }
    }
}
