//! The parts that all rings share: errors, the format of records, the claim of a ring.

use crate::{
    convert::to_usize,
    sys::{bpf::MapInfo, memory::page_size},
};
use alloc::collections::BTreeSet;
use core_relo_object::Errno;
use std::sync::{Mutex, PoisonError};
use thiserror::Error;

/// An inconsistency in a ring's memory: another process writes to it.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RingFault {
    /// The distance between the positions of reader and writer is larger than the ring, or a position is no
    /// multiple of 8.
    #[error("inconsistent ring: reader at {consumer:#x}, writer at {producer:#x}")]
    Positions {
        /// The reader's position.
        consumer: usize,
        /// The writer's position.
        producer: usize,
    },
    /// A record reaches beyond the writer's position.
    #[error("wrong length of the record at {at:#x}: {len} bytes, expected at most {available}")]
    Length {
        /// The record's position.
        at: usize,
        /// The length in the record's header.
        len: usize,
        /// The number of bytes up to the writer's position.
        available: usize,
    },
    /// The ring's mapping lacks a part that opening the ring has mapped: a bug in this library.
    #[error("broken invariant: {0}")]
    Invariant(&'static str),
}

core_relo::debug_as_message!(RingFault);

/// The reason why a ring is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenFault {
    Errno(Errno),
    /// This process has opened the ring already.
    InUse,
    /// The ring's size is not a power of two, or less than a page.
    Size(u32),
}

impl From<Errno> for OpenFault {
    fn from(e: Errno) -> Self {
        Self::Errno(e)
    }
}

/// Bytes of a record's header: the length with two flags, and a number of the kernel.
pub(super) const HEADER: usize = 8;
/// The flag of a record that is still being written (`BPF_RINGBUF_BUSY_BIT`).
pub(super) const BUSY: u32 = 1 << 31;
/// The flag of a record that readers skip (`BPF_RINGBUF_DISCARD_BIT`).
pub(super) const DISCARDED: u32 = 1 << 30;

/// The invariant that opening a ring maps its position pages and its data.
pub(super) const PAGES_ARE_MAPPED: RingFault = RingFault::Invariant("the pages of a ring are mapped");

/// Returns the number of bytes of a record with its header and padding to a multiple of 8.
#[inline]
pub(super) const fn record_bytes(len: usize) -> Option<usize> {
    match len.checked_add(HEADER + 7) {
        Some(padded) => Some(padded & !7),
        None => None,
    }
}

/// The size of a ring's data: a power of two, so that the low bits of a position are an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RingSize {
    bytes: usize,
    mask: usize,
    /// The bytes of a page. `sysconf` is a call, too slow for each record.
    page: usize,
}

impl RingSize {
    /// Returns `None` if the size is not a power of two, or if the ring's mapping would exceed the address
    /// space.
    pub(super) fn new(bytes: usize) -> Option<Self> {
        let mask = bytes.checked_sub(1).filter(|_| bytes.is_power_of_two())?;
        mapping_size(bytes).ok()?;
        Some(Self { bytes, mask, page: page_size() })
    }

    #[inline]
    pub(super) fn bytes(self) -> usize {
        self.bytes
    }

    /// Returns the offset of the data in a mapping whose first page has the positions.
    pub(super) fn data_offset(self) -> usize {
        self.page
    }

    /// Returns the offset of a position in the ring's data.
    #[inline]
    pub(super) fn offset(self, position: usize) -> usize {
        position & self.mask
    }

    /// Returns the offset of a position in a mapping whose first page has the positions.
    #[inline]
    pub(super) fn mapping_offset(self, position: usize) -> Result<usize, RingFault> {
        self.page.checked_add(self.offset(position)).ok_or(PAGES_ARE_MAPPED)
    }
}

/// Returns a ring's size.
pub(super) fn ring_size(info: &MapInfo) -> Result<RingSize, OpenFault> {
    let wrong = OpenFault::Size(info.max_entries);
    let size = RingSize::new(to_usize(info.max_entries)).filter(|size| size.bytes >= page_size());
    size.ok_or(wrong)
}

/// Returns the size of the mapping with the writer's position and the data. The data is mapped twice, so that
/// no record is cut.
pub(super) fn mapping_size(ring_size: usize) -> Result<usize, OpenFault> {
    let twice = ring_size.checked_mul(2).and_then(|twice| twice.checked_add(page_size()));
    twice.ok_or(OpenFault::Errno(Errno(libc::E2BIG)))
}

/// The right to be the only reader (or writer) of a map in this process. A second reader would move the
/// position of the first one; in a perf event array it would replace the ring of the first one.
#[derive(Debug)]
pub(crate) struct Claim(u32, u32);

static CLAIMED: Mutex<BTreeSet<(u32, u32)>> = Mutex::new(BTreeSet::new());

impl Claim {
    pub(super) fn new(map_id: u32) -> Result<Self, OpenFault> {
        Self::for_element(map_id, 0)
    }

    /// Claims one element of a map.
    pub(crate) fn for_element(map_id: u32, key: u32) -> Result<Self, OpenFault> {
        let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
        if claimed.insert((map_id, key)) { Ok(Self(map_id, key)) } else { Err(OpenFault::InUse) }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        CLAIMED.lock().unwrap_or_else(PoisonError::into_inner).remove(&(self.0, self.1));
    }
}

/// Returns the id of a map that no kernel and no other test has. Tests run in parallel, and a ring claims its
/// map.
#[cfg(test)]
pub(super) fn unused_map_id() -> u32 {
    use core::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(u32::MAX);
    NEXT.fetch_sub(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let page = u32::try_from(page_size()).unwrap();
        let size = |max_entries| {
            let mut info = MapInfo::default();
            info.max_entries = max_entries;
            ring_size(&info)
        };
        assert_eq!(size(page).map(RingSize::bytes), Ok(page_size()));
        assert_eq!(size(page / 2), Err(OpenFault::Size(page / 2)));
        assert_eq!(size(page * 3), Err(OpenFault::Size(page * 3)));
        let bytes = [0, 1, 8, usize::MAX].map(record_bytes);
        assert_eq!(bytes, [Some(8), Some(16), Some(16), None]);
    }

    #[test]
    fn a_ring_has_one_reader_at_a_time() {
        let id = unused_map_id();
        let claim = Claim::new(id).unwrap();
        assert_eq!(Claim::new(id).unwrap_err(), OpenFault::InUse);
        let _other = Claim::for_element(id, 1).unwrap();
        drop(claim);
        Claim::new(id).unwrap();
    }
}
