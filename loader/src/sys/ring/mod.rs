//! Rings of records that the kernel and a process share. Each function hands out only what the other side has let go of.

mod consumer;
mod perf;
mod producer;

pub(crate) use consumer::KernelRing;
pub(crate) use perf::{PERF_MAP, PERF_OPEN, PerfRecord, PerfRing};
pub(crate) use producer::{Reserve, Slot, UserRing};

use super::{Errno, MapInfo, page_size};
use crate::object::MapType;
use alloc::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use thiserror::Error;

/// Positions and lengths in a ring that cannot be: something else writes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RingFault {
    /// The positions of reader and writer are further apart than the ring is large, or are no multiple of 8.
    #[error("its positions ({consumer:#x} and {producer:#x}) cannot be")]
    Positions {
        /// The reader's.
        consumer: usize,
        /// The writer's.
        producer: usize,
    },
    /// A record reaches beyond what has been written.
    #[error("the record at {at:#x} claims {len} bytes, {available} have been written")]
    Length {
        /// Where it begins.
        at: usize,
        /// Its length as it says.
        len: usize,
        /// Bytes up to the writer's position.
        available: usize,
    },
}

/// Why a ring is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenFault {
    Errno(Errno),
    /// This process has it open already.
    InUse,
    /// Its size is no power of two of at least a page.
    Size(u32),
    /// The kernel overwrites records that are being read.
    Overwritten,
}

impl From<Errno> for OpenFault {
    fn from(e: Errno) -> Self {
        Self::Errno(e)
    }
}

/// Bytes before each record: its length with two flags, and a number of the kernel's.
const HEADER: usize = 8;
/// Of a record's length: it is still being written.
const BUSY: u32 = 1 << 31;
/// Of a record's length: it is to be skipped.
const DISCARDED: u32 = 1 << 30;
/// `BPF_F_RB_OVERWRITE`.
const OVERWRITE: u32 = 1 << 19;

/// Bytes of a record with its header.
const fn whole(len: usize) -> Option<usize> {
    match len.checked_add(HEADER) {
        Some(len) => len.checked_next_multiple_of(8),
        None => None,
    }
}

/// A ring's size in bytes, as the map says.
fn ring_size(info: &MapInfo) -> Result<usize, OpenFault> {
    let wrong = OpenFault::Size(info.max_entries);
    if info.map_type == MapType::Ringbuf.number() && info.map_flags & OVERWRITE != 0 {
        return Err(OpenFault::Overwritten);
    }
    let size = usize::try_from(info.max_entries).map_err(|_big| wrong)?;
    // The mapping has the data twice.
    let fits = size.checked_mul(2).and_then(|twice| twice.checked_add(page_size())).is_some();
    if size.is_power_of_two() && size >= page_size() && fits { Ok(size) } else { Err(wrong) }
}

/// The right to be a map's only reader (or writer) in this process: another would move the position under its records, or
/// (of a perf event array's place) put its own ring there.
#[derive(Debug)]
pub(crate) struct Claim(u32, u32);

static CLAIMED: Mutex<BTreeSet<(u32, u32)>> = Mutex::new(BTreeSet::new());

impl Claim {
    fn new(map_id: u32) -> Result<Self, OpenFault> {
        Self::of_place(map_id, 0)
    }

    /// That of one place in the map.
    pub(crate) fn of_place(map_id: u32, key: u32) -> Result<Self, OpenFault> {
        let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
        if claimed.insert((map_id, key)) { Ok(Self(map_id, key)) } else { Err(OpenFault::InUse) }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        CLAIMED.lock().unwrap_or_else(PoisonError::into_inner).remove(&(self.0, self.1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let page = u32::try_from(page_size()).unwrap();
        let size = |max_entries, flags| {
            let mut info = MapInfo::default();
            (info.map_type, info.max_entries, info.map_flags) =
                (MapType::Ringbuf.number(), max_entries, flags);
            ring_size(&info)
        };
        assert_eq!(size(page, 0), Ok(page_size()));
        assert_eq!(size(page / 2, 0), Err(OpenFault::Size(page / 2)));
        assert_eq!(size(page * 3, 0), Err(OpenFault::Size(page * 3)));
        assert_eq!(size(page, OVERWRITE), Err(OpenFault::Overwritten));
        assert_eq!((whole(0), whole(1), whole(8), whole(usize::MAX)), (Some(8), Some(16), Some(16), None));
    }

    #[test]
    fn a_ring_has_one_reader_at_a_time() {
        let claim = Claim::new(u32::MAX).unwrap();
        assert_eq!(Claim::new(u32::MAX).unwrap_err(), OpenFault::InUse);
        let _other = Claim::of_place(u32::MAX, 1).unwrap();
        drop(claim);
        Claim::new(u32::MAX).unwrap();
    }
}
