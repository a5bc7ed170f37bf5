//! Maps in this process's memory: global variables and arenas.

use super::{
    error::{MAP, MapError},
    raw::RawMap,
};
use crate::{
    convert::to_usize,
    sys::{Access, Errno, MapFd, Mapping, Pod, page_size, to_pages},
};
use core_relo_object::{map_flags, object::MapType};
use std::os::fd::{AsFd, BorrowedFd};

/// An array with `BPF_F_MMAPABLE`, mapped into memory, such as the global variables of a program (`.data`,
/// `.bss`, `.rodata`).
///
/// Programs access the same memory concurrently. Reads and writes of an aligned number up to the size of a
/// machine word are atomic. Larger values are accessed word by word, so a value may be half old, half new.
/// Several accesses are not ordered.
///
/// The kernel does not freeze an array while it is mapped writable. A frozen array is mapped read-only.
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
    raw: RawMap,
    memory: Mapping,
    /// Bytes of all elements.
    size: usize,
    /// Bytes from one element to the next.
    stride: usize,
}

impl MappedMap {
    /// Maps an array.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let raw = RawMap::new(map, &[MapType::Array])?;
        if raw.info().map_flags & map_flags::MMAPABLE == 0 {
            return Err(raw.unfit("the map was created without BPF_F_MMAPABLE, so it cannot be mapped"));
        }
        let too_large = || raw.error(MAP, Errno(libc::E2BIG));
        let stride = raw.shape().value_size().checked_next_multiple_of(8).ok_or_else(too_large)?;
        let size = stride.checked_mul(to_usize(raw.info().max_entries)).ok_or_else(too_large)?;
        let len = to_pages(size).ok_or_else(too_large)?;
        let memory = match Mapping::new(raw.fd(), 0, len, Access::Write) {
            Err(Errno(libc::EPERM | libc::EACCES)) => Mapping::new(raw.fd(), 0, len, Access::Read),
            mapped => mapped,
        };
        let memory = memory.map_err(|e| raw.error(MAP, e))?;
        Ok(Self { raw, memory, size, stride })
    }

    /// Creates a handle as [`new`](Self::new), with a duplicate of the descriptor.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(RawMap::duplicate(map)?)
    }

    /// Reads the value at an offset in bytes.
    pub fn read<V: Pod>(&self, offset: usize) -> Result<V, MapError> {
        let mut value = V::zeroed();
        self.read_bytes(offset, value.as_bytes_mut())?;
        Ok(value)
    }

    /// Writes the value at an offset in bytes.
    pub fn write<V: Pod>(&self, offset: usize, value: &V) -> Result<(), MapError> {
        self.write_bytes(offset, value.as_bytes())
    }

    /// Reads bytes at an offset.
    pub fn read_bytes(&self, offset: usize, into: &mut [u8]) -> Result<(), MapError> {
        self.check(offset, into.len())?;
        self.memory.read(offset, into).ok_or_else(|| self.outside(offset, 0))
    }

    /// Writes bytes at an offset.
    pub fn write_bytes(&self, offset: usize, from: &[u8]) -> Result<(), MapError> {
        self.check(offset, from.len())?;
        if !self.is_writable() {
            return Err(self.raw.error("write its memory", Errno(libc::EPERM)));
        }
        self.memory.write(offset, from).ok_or_else(|| self.outside(offset, from.len()))
    }

    /// Returns whether the map can be written. Frozen maps and maps opened read-only cannot.
    pub fn is_writable(&self) -> bool {
        self.memory.access() == Access::Write
    }

    /// Returns the offset of an element in bytes. The offset of an index beyond the end is beyond
    /// [`len`](Self::len).
    pub fn offset_of(&self, index: u32) -> usize {
        // On 32-bit machines, the product may exceed the address space.
        to_usize(index).saturating_mul(self.stride)
    }

    /// Returns the size of all elements in bytes. Each element is rounded up to a multiple of 8.
    pub fn len(&self) -> usize {
        self.size
    }

    /// Returns whether the array has no elements. The kernel creates no such array.
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

/// An arena, mapped into memory. Programs and this process share its memory and use the same pointers
/// (kernels from 6.9).
///
/// The arena is mapped at the address in `map_extra`, or at an address of the kernel's choice if `map_extra`
/// is 0. One process maps the arena, before programs with pointers into the arena run. Accesses are atomic
/// and ordered as for [`MappedMap`].
///
/// The first access to a page allocates the page. In an arena with `BPF_F_SEGV_ON_FAULT`, accessing a page
/// that no program has allocated ends the process with SIGSEGV.
#[derive(Debug)]
pub struct Arena {
    raw: RawMap,
    memory: Mapping,
}

impl Arena {
    /// Maps an arena.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let raw = RawMap::new(map, &[MapType::Arena])?;
        let len = to_usize(raw.info().max_entries).checked_mul(page_size());
        let len = len.ok_or_else(|| raw.error(MAP, Errno(libc::E2BIG)))?;
        let mapped = match raw.info().map_extra {
            0 => Mapping::new(raw.fd(), 0, len, Access::Write),
            address => Mapping::new_at(raw.fd(), address, len),
        };
        let memory = mapped.map_err(|e| match e {
            Errno(libc::EEXIST) => raw.unfit("something else is mapped at the address in its map_extra"),
            Errno(libc::EBUSY) => raw.unfit("the arena is mapped at another address already"),
            e => raw.error(MAP, e),
        })?;
        Ok(Self { raw, memory })
    }

    /// Creates a handle as [`new`](Self::new), with a duplicate of the descriptor.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(RawMap::duplicate(map)?)
    }

    /// Returns the address of the arena's first byte in this process.
    pub fn address(&self) -> u64 {
        self.memory.address()
    }

    /// Returns the arena's size in bytes.
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Returns whether the arena has no pages. The kernel creates no such arena.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the offset of a pointer that a program stored. Returns `None` for a pointer outside of the
    /// arena.
    pub fn offset_of(&self, pointer: u64) -> Option<usize> {
        let offset = usize::try_from(pointer.checked_sub(self.address())?).ok()?;
        (offset < self.len()).then_some(offset)
    }

    /// Reads the value at an offset in bytes.
    pub fn read<V: Pod>(&self, offset: usize) -> Result<V, MapError> {
        let mut value = V::zeroed();
        self.read_bytes(offset, value.as_bytes_mut())?;
        Ok(value)
    }

    /// Writes the value at an offset in bytes.
    pub fn write<V: Pod>(&self, offset: usize, value: &V) -> Result<(), MapError> {
        self.write_bytes(offset, value.as_bytes())
    }

    /// Reads bytes at an offset.
    pub fn read_bytes(&self, offset: usize, into: &mut [u8]) -> Result<(), MapError> {
        let len = into.len();
        self.memory.read(offset, into).ok_or_else(|| self.outside(offset, len))
    }

    /// Writes bytes at an offset.
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
