//! What a match depends on, as bytes: equal keys match alike in any object's BTF.

use crate::{endian::Endian, limits, name::Name};
use alloc::vec::Vec;

/// A key being written at the end of others. `None` of any part says that it became too long to be worth it.
#[derive(Debug)]
pub(crate) struct Key<'k> {
    bytes: &'k mut Vec<u8>,
    left: usize,
}

impl<'k> Key<'k> {
    pub(crate) fn new(bytes: &'k mut Vec<u8>) -> Self {
        Self { bytes, left: limits::SHARED_ACCESS }
    }

    pub(crate) fn byte(&mut self, byte: u8) -> Option<()> {
        self.add(&[byte])
    }

    pub(crate) fn word(&mut self, word: u32) -> Option<()> {
        self.add(&Endian::Little.u32_bytes(word))
    }

    pub(crate) fn name(&mut self, name: Name<'_>) -> Option<()> {
        self.add(name.as_bytes())?;
        // No name holds the NUL that ends it.
        self.byte(0)
    }

    fn add(&mut self, bytes: &[u8]) -> Option<()> {
        self.left = self.left.checked_sub(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Some(())
    }
}
