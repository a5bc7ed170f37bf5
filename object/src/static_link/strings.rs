//! The string table of the linked object.

use super::LinkError;
use crate::limits;
use std::collections::HashMap;

/// Names of sections and symbols, each once, in the order they came.
#[derive(Debug)]
pub(super) struct Strings {
    bytes: Vec<u8>,
    known: HashMap<Box<[u8]>, u32>,
    limit: usize,
}

impl Default for Strings {
    fn default() -> Self {
        Self { bytes: Vec::from([0]), known: HashMap::from([(Box::from([]), 0)]), limit: 0 }
    }
}

impl Strings {
    /// Returns the string table.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds a name and returns its offset.
    pub(super) fn add(&mut self, name: &[u8]) -> u32 {
        if let Some(at) = self.known.get(name) {
            return *at;
        }
        // `check` refuses a longer table.
        let at = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(name);
        self.bytes.push(0);
        self.known.insert(name.into(), at);
        at
    }

    /// Sets the limit on the table for inputs of so many bytes.
    pub(super) fn allow(&mut self, input_len: usize) {
        self.limit = input_len.saturating_mul(limits::LINK_NAMES).max(limits::NAME_BYTES);
    }

    pub(super) fn check(&self) -> Result<(), LinkError> {
        let len = self.bytes.len();
        if len > self.limit || u32::try_from(len).is_err() {
            return Err(LinkError::TooManyNames { len });
        }
        Ok(())
    }
}
