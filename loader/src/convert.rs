//! Conversions that lose nothing on any supported machine: addresses have 32 or 64 bits.

use core::ffi::CStr;

const _: () = assert!(usize::BITS >= u32::BITS && usize::BITS <= u64::BITS);

/// Converts a 32-bit number, such as a size from the kernel, to a length or an index.
#[expect(clippy::as_conversions, reason = "the assertion above: the number fits")]
pub(crate) const fn to_usize(number: u32) -> usize {
    number as usize
}

/// Converts a length or an address to a number of 64 bits.
#[expect(clippy::as_conversions, reason = "the assertion above: the number fits")]
pub(crate) const fn to_u64(number: usize) -> u64 {
    number as u64
}

/// Returns the bytes before the first NUL. A text that fills its buffer has no NUL.
pub(crate) fn before_nul(buffer: &[u8]) -> &[u8] {
    match CStr::from_bytes_until_nul(buffer) {
        Ok(text) => text.to_bytes(),
        Err(_no_nul) => buffer,
    }
}
