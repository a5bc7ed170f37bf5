//! Maps of XDP redirection targets: interfaces and CPUs.

use super::{error::MapError, flags::Flags, iter::Keys, raw::RawMap};
use crate::sys::{MapFd, Pod as _};
use core::marker::PhantomData;
use core_relo::Endian;
use core_relo_object::object::MapType;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

/// An array of interfaces, of type `DEVMAP`.
pub type DevMap = RedirectMap<DevEntry, false>;
/// A hash map of interfaces, of type `DEVMAP_HASH`.
pub type DevMapHash = RedirectMap<DevEntry, true>;
/// A map of CPU queues by CPU number, of type `CPUMAP`.
pub type CpuMap = RedirectMap<CpuEntry, false>;

/// A network interface, and the program that runs on packets redirected to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DevEntry {
    /// The interface's index.
    pub ifindex: u32,
    /// The id of the program, if there is one.
    pub prog_id: Option<u32>,
}

/// A CPU's queue, and the program that runs on packets redirected to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CpuEntry {
    /// The maximum number of packets in the queue.
    pub queue_size: u32,
    /// The id of the program, if there is one.
    pub prog_id: Option<u32>,
}

#[doc(hidden)]
pub trait Entry {
    const TYPES: [&'static [MapType]; 2];
    fn new(number: u32, prog_id: Option<u32>) -> Self;
}

impl Entry for DevEntry {
    const TYPES: [&'static [MapType]; 2] = [&[MapType::Devmap], &[MapType::DevmapHash]];

    fn new(ifindex: u32, prog_id: Option<u32>) -> Self {
        Self { ifindex, prog_id }
    }
}

impl Entry for CpuEntry {
    const TYPES: [&'static [MapType]; 2] = [&[MapType::Cpumap], &[]];

    fn new(queue_size: u32, prog_id: Option<u32>) -> Self {
        Self { queue_size, prog_id }
    }
}

/// A map of redirection targets, see [`DevMap`], [`DevMapHash`] and [`CpuMap`].
#[derive(Debug)]
pub struct RedirectMap<E, const HASH: bool> {
    raw: RawMap,
    marker: PhantomData<fn() -> E>,
}

impl<E: Entry, const HASH: bool> RedirectMap<E, HASH> {
    /// Creates a handle. The map must have the handle's map type.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let [plain, hash] = E::TYPES;
        let raw = RawMap::new(map, if HASH { hash } else { plain })?;
        let value = if raw.info().value_size == 8 { 8 } else { 4 };
        Ok(Self { raw: raw.check_sizes(4, value)?, marker: PhantomData })
    }

    /// Creates a handle as [`new`](Self::new), with a duplicate of the descriptor.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(RawMap::duplicate(map)?)
    }

    /// Writes an element: an interface's index, or the size of a CPU's queue. A program needs values of 8
    /// bytes (interfaces: kernels from 5.8, CPUs: from 5.9).
    pub fn set(
        &self,
        key: u32,
        number: u32,
        prog: Option<BorrowedFd<'_>>,
        flags: Flags,
    ) -> Result<(), MapError> {
        let mut value = number.as_bytes().to_vec();
        match prog {
            Some(_) if self.raw.shape().value_size() != 8 => {
                return Err(self.raw.unfit("wrong value size for a program: 4 bytes, expected 8"));
            }
            Some(prog) => value.extend_from_slice(prog.as_raw_fd().as_bytes()),
            None => value.resize(self.raw.shape().value_size(), 0),
        }
        self.raw.insert(key.as_bytes(), &value, flags.0)
    }

    /// Reads an element.
    pub fn get(&self, key: u32) -> Result<Option<E>, MapError> {
        let mut value = [0; 8];
        let Some(value) = value.get_mut(..self.raw.shape().value_size()) else { return Ok(None) };
        if !self.raw.get(key.as_bytes(), value, 0)? {
            return Ok(None);
        }
        let word = |at| Endian::native().u32(value, at);
        Ok(word(0).filter(|n| *n != 0).map(|number| E::new(number, word(4).filter(|id| *id != 0))))
    }

    /// Removes an element. Returns whether the element existed; for arrays, whether the key is valid.
    pub fn remove(&self, key: u32) -> Result<bool, MapError> {
        self.raw.remove(key.as_bytes())
    }

    /// Iterates over the elements and their keys.
    pub fn iter(&self) -> impl Iterator<Item = Result<(u32, E), MapError>> {
        Keys::new(&self.raw).filter_map(|key| {
            let entry = key.and_then(|key| match u32::from_bytes(&key) {
                Some(key) => Ok(self.get(key)?.map(|entry| (key, entry))),
                None => Ok(None),
            });
            entry.transpose()
        })
    }
}

impl<E, const HASH: bool> AsFd for RedirectMap<E, HASH> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.fd()
    }
}
