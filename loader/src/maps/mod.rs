//! Maps with typed keys and values, over the kernel's own types of maps.
//!
//! A handle is made of a [`MapFd`], checks that the map's type and sizes are those of its Rust types, and owns a
//! descriptor. It is `Send + Sync`: the kernel does the locking. Keys and values are [`Pod`](crate::Pod): integers, arrays, and
//! structs declared by [`pod!`](crate::pod).
//!
//! | the kernel's type | handle |
//! |---|---|
//! | HASH, LRU_HASH, RHASH | [`HashMap`] |
//! | PERCPU_HASH, LRU_PERCPU_HASH | [`PerCpuHashMap`] |
//! | LPM_TRIE | [`LpmTrie`] |
//! | ARRAY, PERCPU_ARRAY | [`Array`], [`PerCpuArray`] |
//! | QUEUE, STACK, BLOOM_FILTER | [`Queue`], [`Stack`], [`BloomFilter`] |
//! | ARRAY_OF_MAPS, HASH_OF_MAPS | [`ArrayOfMaps`], [`HashOfMaps`] |
//! | PROG_ARRAY, PERF_EVENT_ARRAY, CGROUP_ARRAY | [`ProgArray`], [`PerfEventArray`], [`CgroupArray`] |
//! | SOCKMAP, SOCKHASH, XSKMAP, REUSEPORT_SOCKARRAY | [`SockMap`], [`SockHash`], [`XskMap`], [`ReuseportArray`] |
//! | DEVMAP, DEVMAP_HASH, CPUMAP | [`DevMap`], [`DevMapHash`], [`CpuMap`] |
//! | STACK_TRACE | [`StackTraces`] |
//! | TASK_STORAGE, SK_STORAGE, INODE_STORAGE, CGRP_STORAGE | [`TaskStorage`], [`SkStorage`], [`InodeStorage`], [`CgrpStorage`] |
//! | ARRAY with `BPF_F_MMAPABLE`, so `.data`, `.bss`, `.rodata` | [`MappedMap`] |
//! | ARENA | [`Arena`] |
//! | RINGBUF, USER_RINGBUF, perf events | [`ring`](crate::ring) |
//!
//! ```no_run
//! use core_relo_loader::maps::{Flags, HashMap, MapFd};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Usually `loaded.hash_map::<u32, u64>("counts")?`.
//! let counts = HashMap::<u32, u64>::new(MapFd::open_pinned("/sys/fs/bpf/counts")?)?;
//! counts.insert(&7, &1, Flags::ANY)?;
//! for entry in counts.iter() {
//!     let (pid, n) = entry?;
//!     println!("{pid}: {n}");
//! }
//! # Ok(())
//! # }
//! ```

mod array;
mod batch;
mod entries;
mod error;
mod globals;
mod iter;
mod kind;
mod queue;
mod raw;
mod redirect;
mod slots;
mod stack_trace;
mod storage;
mod table;
#[cfg(test)]
mod tests;

pub use array::{Array, Indexed, PerCpuArray};
pub use entries::{Entries, RawEntries};
pub use error::{DrainError, MapError};
pub use globals::{Arena, MappedMap};
pub use iter::Iter;
pub use kind::{Kind, kinds};
pub use queue::{BloomFilter, Fifo, Queue, Stack};
pub use redirect::{CpuEntry, CpuMap, DevEntry, DevMap, DevMapHash, Redirect};
pub use slots::{
    ArrayOfMaps, CgroupArray, HashOfMaps, PerfEventArray, ProgArray, ReuseportArray, Slots, SockHash,
    SockMap, XskMap,
};
pub use stack_trace::StackTraces;
pub use storage::{CgrpStorage, InodeStorage, SkStorage, Storage, TaskStorage};
pub use table::{HashMap, LpmTrie, PerCpuHashMap, Table};

use core::ops::BitOr;

pub use crate::sys::{BuildIdFrame, LpmKey, MapFd, MapShape};

/// How an element is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is the kernel's number")]
pub struct Flags(pub u64);

impl Flags {
    /// Whether it is there or not (`BPF_ANY`).
    pub const ANY: Self = Self(0);
    /// Only if it is not there yet, else `EEXIST` (`BPF_NOEXIST`).
    pub const NO_EXIST: Self = Self(1);
    /// Only if it is there already, else `ENOENT` (`BPF_EXIST`).
    pub const EXIST: Self = Self(2);
    /// Under the `bpf_spin_lock` in its value (`BPF_F_LOCK`).
    pub const LOCK: Self = Self(4);
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
