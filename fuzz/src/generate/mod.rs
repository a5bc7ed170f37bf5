//! Generators that turn the bytes of a fuzzer into decisions, and the decisions into mostly valid files.
//!
//! When the bytes are used up, every decision is the first alternative, and lists are empty.

pub mod elf;
pub mod ext;
pub mod results;
pub mod tar;
pub mod types;

use arbitrary::{Arbitrary, Result, Unstructured};
use core_relo::Endian;

/// Returns true for one of `n` values, and false when the bytes are used up.
pub fn one_in(u: &mut Unstructured<'_>, n: u8) -> Result<bool> {
    Ok(u8::arbitrary(u)? % n == n - 1)
}

/// Returns a number below `n`, which is not 0.
pub fn below(u: &mut Unstructured<'_>, n: usize) -> Result<usize> {
    u.int_in_range(0..=n - 1)
}

/// Returns a byte order; most objects are little-endian.
pub fn endian(u: &mut Unstructured<'_>) -> Result<Endian> {
    Ok(if one_in(u, 4)? { Endian::Big } else { Endian::Little })
}

/// Overwrites a few bytes.
pub fn corrupt(u: &mut Unstructured<'_>, bytes: &mut [u8]) -> Result<()> {
    for _ in 0..below(u, 4)? {
        if !bytes.is_empty() {
            let at = below(u, bytes.len())?;
            bytes[at] = u8::arbitrary(u)?;
        }
    }
    Ok(())
}
