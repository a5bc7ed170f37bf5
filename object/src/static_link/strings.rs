//! The string table of the linked object.

use super::error::StaticLinkError;
use crate::{
    internal::{InternalError, Invariant as _},
    limits,
};
use hashbrown::HashMap;

/// The names of sections and symbols, each once, in the order in which they are added.
#[derive(Debug)]
pub(super) struct Strings {
    bytes: Vec<u8>,
    offsets: HashMap<Box<[u8]>, u32>,
    /// The size of all inputs, which limits the table.
    input_bytes: u64,
}

impl Default for Strings {
    fn default() -> Self {
        Self { bytes: Vec::from([0]), offsets: HashMap::from([(Box::from([]), 0)]), input_bytes: 0 }
    }
}

impl Strings {
    /// Returns the string table.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds a name and returns its offset.
    pub(super) fn add(&mut self, name: &[u8]) -> Result<u32, StaticLinkError> {
        if let Some(offset) = self.offsets.get(name) {
            return Ok(*offset);
        }
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.bytes.push(0);
        let len = self.bytes.len();
        match u32::try_from(offset) {
            Ok(offset) if !exceeds_name_limit(len, self.input_bytes)? => {
                self.offsets.insert(name.into(), offset);
                Ok(offset)
            }
            _ => Err(StaticLinkError::TooManyNames { len }),
        }
    }

    /// Raises the limit on the table for another input of `len` bytes.
    pub(super) fn add_input_bytes(&mut self, len: usize) -> Result<(), InternalError> {
        let sum = self.input_bytes.checked_add(byte_count(len)?);
        self.input_bytes = sum.invariant("the inputs have less than 2^64 bytes in all")?;
        Ok(())
    }
}

/// Returns whether names have more bytes than [`limits::LINK_NAMES`] times the bytes of the input, and more
/// than [`limits::NAME_BYTES`].
pub(super) fn exceeds_name_limit(name_bytes: usize, input_bytes: u64) -> Result<bool, InternalError> {
    Ok(name_bytes > limits::NAME_BYTES && byte_count(name_bytes.div_ceil(limits::LINK_NAMES))? > input_bytes)
}

/// Returns a length in memory as a number of the file format.
pub(super) fn byte_count(len: usize) -> Result<u64, InternalError> {
    u64::try_from(len).invariant("a length fits 64 bits")
}
