//! Maps without keys: queues, stacks, Bloom filters.

use super::{error::MapError, flags::Flags, raw::RawMap};
use crate::sys::{MapFd, Pod};
use core::marker::PhantomData;
use core_relo_object::object::MapType;
use std::os::fd::{AsFd, BorrowedFd};

/// A first-in, first-out queue of type `QUEUE`.
pub type Queue<V> = QueueOrStack<V, true>;

/// A last-in, first-out stack of type `STACK`.
pub type Stack<V> = QueueOrStack<V, false>;

/// A [`Queue`] or a [`Stack`].
#[derive(Debug)]
pub struct QueueOrStack<V, const FIRST_IN_FIRST_OUT: bool> {
    raw: RawMap,
    marker: PhantomData<fn() -> V>,
}

impl<V: Pod, const FIRST_IN_FIRST_OUT: bool> QueueOrStack<V, FIRST_IN_FIRST_OUT> {
    const TYPES: &'static [MapType] = if FIRST_IN_FIRST_OUT { &[MapType::Queue] } else { &[MapType::Stack] };

    /// Creates a handle. The map must have the handle's map type and the value size of `V`.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let raw = RawMap::new(map, Self::TYPES)?.check_sizes(0, size_of::<V>())?;
        Ok(Self { raw, marker: PhantomData })
    }

    /// Creates a handle as [`new`](Self::new), with a duplicate of the descriptor.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(RawMap::duplicate(map)?)
    }

    /// Adds a value. If the map is full, the result is `E2BIG`, or with [`Flags::EXIST`] the oldest value is
    /// dropped.
    pub fn push(&self, value: &V, flags: Flags) -> Result<(), MapError> {
        self.raw.insert(&[], value.as_bytes(), flags.0)
    }

    /// Removes and returns the next value.
    pub fn pop(&self) -> Result<Option<V>, MapError> {
        let mut value = V::zeroed();
        Ok(self.raw.take(&[], value.as_bytes_mut())?.then_some(value))
    }

    /// Returns the next value without removing it.
    pub fn peek(&self) -> Result<Option<V>, MapError> {
        let mut value = V::zeroed();
        Ok(self.raw.get(&[], value.as_bytes_mut(), 0)?.then_some(value))
    }
}

impl<V, const FIRST_IN_FIRST_OUT: bool> AsFd for QueueOrStack<V, FIRST_IN_FIRST_OUT> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.fd()
    }
}

/// A Bloom filter of type `BLOOM_FILTER`: a set with false positives, but no false negatives.
#[derive(Debug)]
pub struct BloomFilter<V> {
    raw: RawMap,
    marker: PhantomData<fn() -> V>,
}

impl<V: Pod> BloomFilter<V> {
    /// Creates a handle. The map must have the handle's map type and the value size of `V`.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let raw = RawMap::new(map, &[MapType::BloomFilter])?.check_sizes(0, size_of::<V>())?;
        Ok(Self { raw, marker: PhantomData })
    }

    /// Creates a handle as [`new`](Self::new), with a duplicate of the descriptor.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(RawMap::duplicate(map)?)
    }

    /// Adds a value. It cannot be removed.
    pub fn insert(&self, value: &V) -> Result<(), MapError> {
        self.raw.insert(&[], value.as_bytes(), 0)
    }

    /// Returns whether the filter may contain a value; `false` is certain.
    pub fn may_contain(&self, value: &V) -> Result<bool, MapError> {
        // For this map type, the kernel reads the buffer of a lookup.
        let mut value = *value;
        self.raw.get(&[], value.as_bytes_mut(), 0)
    }
}

impl<V> AsFd for BloomFilter<V> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.fd()
    }
}
