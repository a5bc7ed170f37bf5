//! Maps that lie in this process's memory, too: global variables, arenas.

use super::{
    error::{MAP, MapError},
    raw::Raw,
};
use crate::{
    object::MapType,
    sys::{Access, Errno, MapFd, Mapping, Pod, page_size, to_pages},
};
use std::os::fd::{AsFd, BorrowedFd};

/// `BPF_F_MMAPABLE`.
const MAPPABLE: u32 = 1 << 10;

/// An array made with `BPF_F_MMAPABLE`, mapped: the global variables of a program (`.data`, `.bss`, `.rodata`), live.
///
/// Programs read and write the same memory at the same time. A number of up to a machine word that lies aligned is read and written at
/// once; anything larger piece by piece, so that a value may be half old, half new. There is no order among several reads and writes.
///
/// While it is mapped writable, the kernel does not freeze it. A frozen one is mapped read-only.
///
/// ```no_run
/// # fn example(bss: &core_relo_loader::maps::MapFd) -> Result<(), core_relo_loader::maps::MapError> {
/// let bss = core_relo_loader::maps::MappedMap::open(bss)?;
/// let seen: u64 = bss.read(8)?;
/// bss.write(8, &0u64)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct MappedMap {
    raw: Raw,
    memory: Mapping,
    size: usize,
    stride: usize,
}

impl MappedMap {
    /// Maps an array.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let raw = Raw::new(map, &[MapType::Array])?;
        if raw.info().map_flags & MAPPABLE == 0 {
            return Err(raw.unfit("it was not made with BPF_F_MMAPABLE, so it cannot be mapped"));
        }
        let too_large = || raw.failed(MAP, Errno(libc::E2BIG));
        let stride = raw.shape().value_size().checked_next_multiple_of(8).ok_or_else(too_large)?;
        let entries = usize::try_from(raw.info().max_entries).map_err(|_large| too_large())?;
        let size = stride.checked_mul(entries).ok_or_else(too_large)?;
        let len = to_pages(size).ok_or_else(too_large)?;
        let memory = match Mapping::new(raw.fd(), 0, len, Access::Write) {
            Err(Errno(libc::EPERM | libc::EACCES)) => Mapping::new(raw.fd(), 0, len, Access::Read),
            mapped => mapped,
        };
        let memory = memory.map_err(|e| raw.failed(MAP, e))?;
        Ok(Self { raw, memory, size, stride })
    }

    /// The same with a descriptor of its own.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(Raw::clone_of(map)?)
    }

    /// The value at `offset`, in bytes.
    pub fn read<V: Pod>(&self, offset: usize) -> Result<V, MapError> {
        let mut value = V::zeroed();
        self.read_bytes(offset, value.as_bytes_mut())?;
        Ok(value)
    }

    /// Writes the value at `offset`, in bytes.
    pub fn write<V: Pod>(&self, offset: usize, value: &V) -> Result<(), MapError> {
        self.write_bytes(offset, value.as_bytes())
    }

    /// Copies bytes out.
    pub fn read_bytes(&self, offset: usize, into: &mut [u8]) -> Result<(), MapError> {
        self.check(offset, into.len())?;
        self.memory.read(offset, into).ok_or_else(|| self.outside(offset, 0))
    }

    /// Copies bytes in.
    pub fn write_bytes(&self, offset: usize, from: &[u8]) -> Result<(), MapError> {
        self.check(offset, from.len())?;
        if !self.is_writable() {
            return Err(self.raw.failed("write its memory", Errno(libc::EPERM)));
        }
        self.memory.write(offset, from).ok_or_else(|| self.outside(offset, from.len()))
    }

    /// Whether it may be written: not if it is frozen or was opened read-only.
    pub fn is_writable(&self) -> bool {
        self.memory.access() == Access::Write
    }

    /// Where an element begins, in bytes.
    pub fn offset_of(&self, index: u32) -> usize {
        usize::try_from(index).unwrap_or(usize::MAX).saturating_mul(self.stride)
    }

    /// Bytes of all elements, each rounded up to 8.
    pub fn len(&self) -> usize {
        self.size
    }

    /// Whether there are none; the kernel makes no such array.
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    fn check(&self, offset: usize, len: usize) -> Result<(), MapError> {
        match offset.checked_add(len) {
            Some(end) if end <= self.size => Ok(()),
            _ => Err(self.outside(offset, len)),
        }
    }

    fn outside(&self, offset: usize, len: usize) -> MapError {
        MapError::Outside { map: self.raw.name().into(), offset, len, size: self.size }
    }
}

impl AsFd for MappedMap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.fd()
    }
}

/// An arena, mapped: memory that programs and this process share, with the same pointers (kernels from 6.9).
///
/// It lies at the address in the map's `map_extra`, or where the kernel put it if that is 0. Map it before programs with pointers into it
/// run, in one process alone. What was said of [`MappedMap`] about reading and writing holds here, too.
///
/// Pages come into being when they are touched. In an arena made with `BPF_F_SEGV_ON_FAULT` they do not: touching one that no
/// program has allocated ends the process with SIGSEGV.
#[derive(Debug)]
pub struct Arena {
    raw: Raw,
    memory: Mapping,
}

impl Arena {
    /// Maps an arena.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let raw = Raw::new(map, &[MapType::Arena])?;
        let pages = usize::try_from(raw.info().max_entries).unwrap_or(usize::MAX);
        let len = pages.checked_mul(page_size()).ok_or_else(|| raw.failed(MAP, Errno(libc::E2BIG)))?;
        let mapped = match raw.info().map_extra {
            0 => Mapping::new(raw.fd(), 0, len, Access::Write),
            address => Mapping::new_at(raw.fd(), address, len),
        };
        let memory = mapped.map_err(|e| match e {
            Errno(libc::EEXIST) => raw.unfit("something else is mapped at the address in its map_extra"),
            Errno(libc::EBUSY) => raw.unfit("it is mapped at another address already"),
            e => raw.failed(MAP, e),
        })?;
        Ok(Self { raw, memory })
    }

    /// The same with a descriptor of its own.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(Raw::clone_of(map)?)
    }

    /// Where it begins: what pointers that programs store in it are relative to.
    pub fn address(&self) -> u64 {
        self.memory.address()
    }

    /// Bytes of it.
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Whether it has none; the kernel makes no such arena.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The offset of a pointer that a program stored; `None` if it points elsewhere.
    pub fn offset_of(&self, pointer: u64) -> Option<usize> {
        let offset = usize::try_from(pointer.checked_sub(self.address())?).ok()?;
        (offset < self.len()).then_some(offset)
    }

    /// The value at `offset`, in bytes.
    pub fn read<V: Pod>(&self, offset: usize) -> Result<V, MapError> {
        let mut value = V::zeroed();
        self.read_bytes(offset, value.as_bytes_mut())?;
        Ok(value)
    }

    /// Writes the value at `offset`, in bytes.
    pub fn write<V: Pod>(&self, offset: usize, value: &V) -> Result<(), MapError> {
        self.write_bytes(offset, value.as_bytes())
    }

    /// Copies bytes out.
    pub fn read_bytes(&self, offset: usize, into: &mut [u8]) -> Result<(), MapError> {
        let len = into.len();
        self.memory.read(offset, into).ok_or_else(|| self.outside(offset, len))
    }

    /// Copies bytes in.
    pub fn write_bytes(&self, offset: usize, from: &[u8]) -> Result<(), MapError> {
        self.memory.write(offset, from).ok_or_else(|| self.outside(offset, from.len()))
    }

    fn outside(&self, offset: usize, len: usize) -> MapError {
        MapError::Outside { map: self.raw.name().into(), offset, len, size: self.len() }
    }
}

impl AsFd for Arena {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.fd()
    }
}
