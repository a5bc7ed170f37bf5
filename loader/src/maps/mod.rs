//! Maps with typed keys and values.
//!
//! The constructor of a handle takes a [`MapFd`] and checks that the map's type and sizes fit the Rust types.
//! Handles are `Send + Sync`, since the kernel does the locking. Keys and values are [`Pod`](crate::Pod):
//! integers, arrays, and structs declared with [`pod!`](crate::pod).
//!
//! | map type of the kernel | handle |
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
//! | ARRAY with `BPF_F_MMAPABLE`, such as `.data`, `.bss`, `.rodata` | [`MappedMap`] |
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
mod flags;
mod iter;
mod kind;
mod local_storage;
mod mapped;
mod objects;
mod per_cpu;
mod queue;
mod raw;
mod redirect;
mod stack_trace;
mod table;
#[cfg(test)]
mod tests;

pub use array::{Array, ArrayMap, PerCpuArray};
pub use entries::{Entries, RawEntries};
pub use error::{DrainError, MapError};
pub use flags::Flags;
pub use iter::Iter;
pub use kind::{MapKind, kinds};
pub use local_storage::{CgrpStorage, InodeStorage, LocalStorage, SkStorage, TaskStorage};
pub use mapped::{Arena, MappedMap};
pub use objects::{
    ArrayOfMaps, CgroupArray, HashOfMaps, ObjectMap, PerfEventArray, ProgArray, ReuseportArray, SockHash,
    SockMap, XskMap,
};
pub use queue::{BloomFilter, Queue, QueueOrStack, Stack};
pub use redirect::{CpuEntry, CpuMap, DevEntry, DevMap, DevMapHash, RedirectMap};
pub use stack_trace::StackTraces;
pub use table::{HashMap, LpmTrie, PerCpuHashMap, Table};

pub use crate::sys::{BuildIdFrame, Cpus, LpmKey, MapFd, MapShape, possible_cpu_numbers, possible_cpus};
