//! Where XDP programs send packets: interfaces and CPUs.

use super::{Flags, error::MapError, iter::Keys, raw::Raw};
use crate::{
    object::MapType,
    sys::{MapFd, Pod as _},
};
use core::marker::PhantomData;
use core_relo::Endian;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

/// Interfaces by number: `DEVMAP`.
pub type DevMap = Redirect<DevEntry, false>;
/// Interfaces by any 32-bit key: `DEVMAP_HASH`.
pub type DevMapHash = Redirect<DevEntry, true>;
/// CPUs, by their numbers: `CPUMAP`.
pub type CpuMap = Redirect<CpuEntry, false>;

/// A network interface, and the program that packets run through on their way to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DevEntry {
    /// The interface's number.
    pub ifindex: u32,
    /// The id of the program, if there is one.
    pub prog_id: Option<u32>,
}

/// A CPU's queue, and the program that packets run through there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CpuEntry {
    /// How many packets it may hold.
    pub queue_size: u32,
    /// The id of the program, if there is one.
    pub prog_id: Option<u32>,
}

#[doc(hidden)]
pub trait Entry {
    const TYPES: [&'static [MapType]; 2];
    fn of(number: u32, prog_id: Option<u32>) -> Self;
}

impl Entry for DevEntry {
    const TYPES: [&'static [MapType]; 2] = [&[MapType::Devmap], &[MapType::DevmapHash]];

    fn of(ifindex: u32, prog_id: Option<u32>) -> Self {
        Self { ifindex, prog_id }
    }
}

impl Entry for CpuEntry {
    const TYPES: [&'static [MapType]; 2] = [&[MapType::Cpumap], &[]];

    fn of(queue_size: u32, prog_id: Option<u32>) -> Self {
        Self { queue_size, prog_id }
    }
}

/// A map of where to send packets: [`DevMap`], [`DevMapHash`], [`CpuMap`].
#[derive(Debug)]
pub struct Redirect<E, const HASH: bool> {
    raw: Raw,
    of: PhantomData<fn() -> E>,
}

impl<E: Entry, const HASH: bool> Redirect<E, HASH> {
    /// Takes a map of the type.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let [plain, hash] = E::TYPES;
        let raw = Raw::new(map, if HASH { hash } else { plain })?;
        let value = if raw.info().value_size == 8 { 8 } else { 4 };
        Ok(Self { raw: raw.sized(4, value)?, of: PhantomData })
    }

    /// The same with a descriptor of its own.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(Raw::clone_of(map)?)
    }

    /// Puts in an interface's number (a CPU's queue size). A program needs values of 8 bytes (kernels from 5.8; 5.9).
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
                return Err(self.raw.unfit("its values have 4 bytes: no room for a program"));
            }
            Some(prog) => value.extend_from_slice(prog.as_raw_fd().as_bytes()),
            None => value.resize(self.raw.shape().value_size(), 0),
        }
        self.raw.insert(key.as_bytes(), &value, flags.0)
    }

    /// What is there.
    pub fn get(&self, key: u32) -> Result<Option<E>, MapError> {
        let mut value = [0; 8];
        let Some(value) = value.get_mut(..self.raw.shape().value_size()) else { return Ok(None) };
        if !self.raw.get(key.as_bytes(), value, 0)? {
            return Ok(None);
        }
        let word = |at| Endian::native().u32(value, at);
        Ok(word(0).filter(|n| *n != 0).map(|number| E::of(number, word(4).filter(|id| *id != 0))))
    }

    /// Takes it out; whether it was there (of arrays: whether the key can be).
    pub fn remove(&self, key: u32) -> Result<bool, MapError> {
        self.raw.remove(key.as_bytes())
    }

    /// All that is there, by key.
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

impl<E, const HASH: bool> AsFd for Redirect<E, HASH> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.fd()
    }
}
