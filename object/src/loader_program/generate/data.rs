//! The data of a loader program: the value of its map.

use super::LoaderProgramError;
use crate::{limits::LOADER_DATA_BYTES, loader_program::LoaderFileError};
use core_relo::Endian;

/// The alignment of each item.
const ALIGNMENT: usize = 8;

/// The data of a loader program, to which items are added.
#[derive(Debug, Default)]
pub(super) struct Data {
    bytes: Vec<u8>,
}

impl Data {
    /// Adds an item. Returns its offset.
    pub(super) fn add(&mut self, item: &[u8]) -> Result<u32, LoaderProgramError> {
        let offset = self.bytes.len();
        let too_large = || LoaderFileError::Data { found: offset };
        let end = offset.checked_add(item.len()).and_then(|end| end.checked_next_multiple_of(ALIGNMENT));
        let end = end.filter(|end| *end <= LOADER_DATA_BYTES).ok_or_else(too_large)?;
        self.bytes.extend_from_slice(item);
        self.bytes.resize(end, 0);
        Ok(u32::try_from(offset).map_err(|_large| too_large())?)
    }

    /// Adds a text and a NUL.
    pub(super) fn add_text(&mut self, text: &[u8]) -> Result<u32, LoaderProgramError> {
        self.add(&[text, &[0]].concat())
    }

    /// Adds zeros.
    pub(super) fn reserve(&mut self, len: usize) -> Result<u32, LoaderProgramError> {
        if len > LOADER_DATA_BYTES {
            return Err(LoaderFileError::Data { found: len }.into());
        }
        self.add(&vec![0; len])
    }

    /// Returns the bytes. Their number is a multiple of 8.
    pub(super) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// The attributes of a request (`union bpf_attr`), of `N` bytes.
#[derive(Debug)]
pub(super) struct Attributes<const N: usize>([u8; N]);

impl<const N: usize> Attributes<N> {
    pub(super) const fn new() -> Self {
        Self([0; N])
    }

    /// Sets a field of 4 bytes.
    pub(super) fn set(mut self, offset: usize, value: u32) -> Self {
        self.write(offset, &Endian::native().u32_bytes(value));
        self
    }

    /// Sets a field of 8 bytes.
    pub(super) fn set_long(mut self, offset: usize, value: u64) -> Self {
        self.write(offset, &Endian::native().u64_bytes(value));
        self
    }

    /// Sets the name of an object, of which the kernel keeps 15 bytes.
    pub(super) fn set_name(mut self, offset: usize, name: &[u8]) -> Self {
        self.write(offset, name.get(..15).unwrap_or(name));
        self
    }

    fn write(&mut self, offset: usize, value: &[u8]) {
        // The offsets are constants of this crate, all of them within `N`.
        for (to, from) in self.0.iter_mut().skip(offset).zip(value) {
            *to = *from;
        }
    }

    pub(super) const fn bytes(&self) -> &[u8] {
        &self.0
    }
}
