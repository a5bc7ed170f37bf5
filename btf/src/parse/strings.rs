//! The string section: its validation, and names read from it.

use super::{btf::Btf, error::BtfError};
use crate::{
    endian::Endian,
    ids::{StrOffset, to_usize},
    limits,
    name::Name,
};

/// The strings of a BTF and of its bases.
#[derive(Clone, Copy)]
pub(crate) struct Strings<'b> {
    pub(crate) own: &'b [u8],
    /// The offset of the first own string.
    pub(crate) start: u32,
    base: Option<&'b Btf<'b>>,
}

impl Btf<'_> {
    /// Returns the string at an offset, the base's strings included.
    pub fn name(&self, offset: StrOffset) -> Option<Name<'_>> {
        self.strings().name(offset)
    }

    /// Returns the string at an offset that the parse has checked.
    #[inline]
    pub(crate) fn checked_name(&self, offset: StrOffset) -> Name<'_> {
        self.strings().checked_name(offset)
    }

    /// Returns the strings, for callers that read many of them.
    pub(crate) fn strings(&self) -> Strings<'_> {
        Strings {
            own: self.strings_section(),
            start: self.string_start(),
            base: self.base().map(AsRef::as_ref),
        }
    }
}

impl<'b> Strings<'b> {
    /// Returns the string at an offset.
    #[inline]
    pub(crate) fn name(self, at: StrOffset) -> Option<Name<'b>> {
        let Some(own) = at.0.checked_sub(self.start) else { return self.base?.name(at) };
        let rest = self.own.get(StrOffset(own).index()..)?;
        rest.get(..length(rest)?).map(Name::new)
    }

    /// Returns the string at an offset that the parse has checked.
    #[inline]
    #[expect(clippy::disallowed_methods, reason = "no string is there only if a mapped file has changed")]
    pub(crate) fn checked_name(self, at: StrOffset) -> Name<'b> {
        self.name(at).unwrap_or_default()
    }

    /// Returns whether the string at an offset is `name`. Faster than reading the string.
    #[inline]
    pub(crate) fn equals(self, at: StrOffset, name: &[u8]) -> bool {
        self.tail(at).is_some_and(|rest| starts_with_string(rest, name))
    }

    /// Returns the bytes from an offset to the end of the section, a string and its NUL first.
    #[inline]
    pub(crate) fn tail(self, at: StrOffset) -> Option<&'b [u8]> {
        match at.0.checked_sub(self.start) {
            Some(own) => self.own.get(StrOffset(own).index()..).filter(|rest| !rest.is_empty()),
            None => self.base?.strings().tail(at),
        }
    }

    /// Returns the first four bytes of the string at an offset, or `None` for a string of the base or near
    /// the end.
    #[inline]
    pub(crate) fn prefix(self, at: StrOffset) -> Option<NamePrefix> {
        self.own_bytes(at).map(NamePrefix::from_bytes)
    }

    /// Returns the bytes at an offset, or `None` for a string of the base or near the end.
    #[inline]
    pub(crate) fn own_bytes<const N: usize>(self, at: StrOffset) -> Option<[u8; N]> {
        let start = StrOffset(at.0.checked_sub(self.start)?).index();
        // One comparison: the end is below the start only if it wraps.
        self.own.get(start..start.wrapping_add(N))?.first_chunk().copied()
    }
}

/// The first four bytes of a string; bytes after its NUL are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NamePrefix(pub(crate) u32);

impl NamePrefix {
    /// Returns the prefix of `name`, extended by `filler` if the name is shorter.
    pub(crate) fn from_name(name: &[u8], filler: u8) -> Self {
        Self::from_bytes(core::array::from_fn(|at| name.get(at).copied().unwrap_or(filler)))
    }

    /// Returns the prefix of a string that begins with these bytes, or ends within them.
    #[inline]
    pub(crate) fn from_bytes(raw: [u8; 4]) -> Self {
        let word = Endian::Little.word(raw);
        // Sets the highest bit of each zero byte, and of some bytes after a zero byte.
        let zeros = word.wrapping_sub(0x0101_0101) & !word & 0x8080_8080;
        match zeros.trailing_zeros() {
            32 => Self(word),
            bit => Self(word & 1u32.wrapping_shl(bit.saturating_sub(7)).wrapping_sub(1)),
        }
    }
}

/// Returns whether `bytes` begin with `name` and a NUL.
#[inline]
pub(crate) fn starts_with_string(bytes: &[u8], name: &[u8]) -> bool {
    matches!(bytes.strip_prefix(name), Some([0, ..]))
}

/// Returns the length of the string at the start of `bytes`. Most strings are longer than the eight bytes of
/// one step.
#[inline]
fn length(bytes: &[u8]) -> Option<usize> {
    const LOW_BITS: u64 = 0x0101_0101_0101_0101;
    let (eights, rest) = bytes.as_chunks::<8>();
    for (eight, at) in eights.iter().zip((0usize..).step_by(8)) {
        let word = Endian::Little.u64_of(*eight);
        // Sets the highest bit of the first zero byte, and of some bytes after it.
        let zeros = word.wrapping_sub(LOW_BITS) & !word & (LOW_BITS << 7);
        if zeros != 0 {
            return at.checked_add(to_usize(zeros.trailing_zeros() / 8));
        }
    }
    let within = rest.iter().position(|b| *b == 0)?;
    bytes.len().checked_sub(rest.len())?.checked_add(within)
}

/// Validates a string section: it begins (without a base) and ends with NUL. A split BTF may have no strings
/// (libbpf: `btf_parse_str_sec`).
pub(super) fn check_section(strings: &[u8], has_base: bool) -> Result<(), BtfError> {
    // Each step skips the strings that end within the limit. A longer string is found wherever it lies.
    let mut rest = strings;
    while let Some(window) = rest.get(..limits::STRING_BYTES) {
        let last_nul = window.iter().rposition(|byte| *byte == 0);
        let Some((_, [_nul, after @ ..])) = last_nul.and_then(|at| rest.split_at_checked(at)) else {
            return Err(BtfError::LongString { offset: strings.len().abs_diff(rest.len()) });
        };
        rest = after;
    }
    let must = match (strings.first(), strings.last()) {
        (None, _) if has_base => return Ok(()),
        (None, _) => "contain anything",
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
    fn the_length_is_the_offset_of_the_first_nul() {
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
    fn a_prefix_ends_with_the_string() {
        for (raw, expected) in [
            (*b"abcd", *b"abcd"),
            (*b"abc\0", *b"abc\0"),
            (*b"ab\0x", *b"ab\0\0"),
            (*b"a\0\x01\x80", *b"a\0\0\0"),
            (*b"\0xyz", *b"\0\0\0\0"),
            (*b"\x80\xff\x01\0", *b"\x80\xff\x01\0"),
            (*b"a\x01\x01\x01", *b"a\x01\x01\x01"),
        ] {
            assert_eq!(NamePrefix::from_bytes(raw), NamePrefix(Endian::Little.word(expected)), "{raw:?}");
        }
    }
}
