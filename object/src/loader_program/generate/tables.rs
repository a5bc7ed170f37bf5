//! The tables at the start of a loader program's data: the step, descriptors, and what was found by name.
//!
//! The descriptors are in this order: 0 (the kernel's own BTF in the `fd_array` of programs), the BTF of each
//! symbol's module, the object's BTF, an inner map, the maps, the programs.

use super::{LoaderProgramError, data::Data};
use crate::internal::{InternalError, Invariant as _};

/// The bytes of the step and of its name.
const STEP_BYTES: usize = 8;

/// The offsets of the tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables {
    symbol_count: usize,
    map_count: usize,
    /// The number of descriptors, with the 0 at the start.
    fd_count: usize,
    fds: u32,
    values: u32,
}

impl Tables {
    pub(super) fn new(
        data: &mut Data,
        symbol_count: usize,
        map_count: usize,
        program_count: usize,
    ) -> Result<Self, LoaderProgramError> {
        let counts = [1, symbol_count, 2, map_count, program_count];
        let fd_count = counts.into_iter().try_fold(0, usize::checked_add);
        let fd_count = fd_count.invariant("the descriptors of a loader program are countable")?;
        data.reserve(STEP_BYTES)?;
        let bytes =
            |count: usize, size| count.checked_mul(size).invariant("a table of a loader program is small");
        let fds = data.reserve(bytes(fd_count, 4)?)?;
        let values = data.reserve(bytes(symbol_count, 8)?)?;
        Ok(Self { symbol_count, map_count, fd_count, fds, values })
    }

    /// Returns the offset of a descriptor.
    fn fd(&self, index: Option<usize>) -> Result<u32, InternalError> {
        let offset = index.filter(|index| *index < self.fd_count).and_then(|index| index.checked_mul(4));
        let offset = offset.and_then(|offset| self.fds.checked_add(u32::try_from(offset).ok()?));
        offset.invariant("each descriptor of a loader program has a place in the table")
    }

    /// Returns the offset of the `fd_array` of programs.
    pub(super) const fn fd_array(&self) -> u32 {
        self.fds
    }

    /// Returns the offset of a word that is always zero.
    pub(super) const fn zero(&self) -> u32 {
        self.fds
    }

    /// Returns the index of a symbol's module in the `fd_array`.
    pub(super) fn fd_array_index(symbol: usize) -> Option<i16> {
        i16::try_from(symbol.checked_add(1)?).ok()
    }

    /// Returns the offset of the descriptor of a symbol's module.
    pub(super) fn symbol_fd(&self, symbol: usize) -> Result<u32, InternalError> {
        self.fd(symbol.checked_add(1))
    }

    /// Returns the offset of a symbol's type id, or of its address.
    pub(super) fn symbol_value(&self, symbol: usize) -> Result<u32, InternalError> {
        let offset =
            symbol.checked_mul(8).and_then(|offset| self.values.checked_add(u32::try_from(offset).ok()?));
        offset.filter(|_| symbol < self.symbol_count).invariant("each symbol has a place in the table")
    }

    pub(super) fn btf_fd(&self) -> Result<u32, InternalError> {
        self.fd(self.symbol_count.checked_add(1))
    }

    pub(super) fn inner_map_fd(&self) -> Result<u32, InternalError> {
        self.fd(self.symbol_count.checked_add(2))
    }

    pub(super) fn map_fd(&self, map: usize) -> Result<u32, InternalError> {
        self.fd(self.symbol_count.checked_add(3).and_then(|index| index.checked_add(map)))
    }

    pub(super) fn program_fd(&self, program: usize) -> Result<u32, InternalError> {
        let index = self.symbol_count.checked_add(3).and_then(|index| index.checked_add(self.map_count));
        self.fd(index.and_then(|index| index.checked_add(program)))
    }

    /// Returns the offset and the number of all descriptors.
    pub(super) fn all_fds(&self) -> Result<(u32, usize), InternalError> {
        let count = self.fd_count.checked_sub(1).invariant("the table of descriptors begins with 0")?;
        Ok((self.fd(Some(1))?, count))
    }

    /// Returns the offset and the number of the descriptors that are closed at the end: modules, the object's
    /// BTF, an inner map.
    pub(super) fn temporary_fds(&self) -> Result<(u32, usize), InternalError> {
        let count =
            self.symbol_count.checked_add(2).invariant("the symbols of a loader program are countable")?;
        Ok((self.fd(Some(1))?, count))
    }
}
