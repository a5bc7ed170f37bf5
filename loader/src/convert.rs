//! Lossless conversions of integers, and of C strings in buffers. `usize` has 32 or 64 bits on every
//! supported machine.

use core::ffi::CStr;

const _: () = assert!(usize::BITS >= u32::BITS && usize::BITS <= u64::BITS);

/// Converts a 32-bit number, such as a size from the kernel, to a `usize`.
#[expect(clippy::as_conversions, reason = "the assertion above guarantees that the number fits")]
pub(crate) const fn to_usize(number: u32) -> usize {
    number as usize
}

/// Converts a length or an address to a `u64`.
#[expect(clippy::as_conversions, reason = "the assertion above guarantees that the number fits")]
pub(crate) const fn to_u64(number: usize) -> u64 {
    number as u64
}

/// Returns the bytes before the first NUL, or the whole buffer if it has no NUL.
pub(crate) fn before_nul(buffer: &[u8]) -> &[u8] {
    match CStr::from_bytes_until_nul(buffer) {
        Ok(text) => text.to_bytes(),
        Err(_no_nul) => buffer,
    }
}
