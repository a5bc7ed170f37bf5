//! Maps without keys: queues, stacks, bloom filters.

use super::{Flags, error::MapError, raw::Raw};
use crate::{
    object::MapType,
    sys::{MapFd, Pod},
};
use core::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};

/// What is taken out first went in first: `QUEUE`.
pub type Queue<V> = Fifo<V, true>;

/// What is taken out first went in last: `STACK`.
pub type Stack<V> = Fifo<V, false>;

/// A [`Queue`] or a [`Stack`].
#[derive(Debug)]
pub struct Fifo<V, const FIRST_IN_FIRST_OUT: bool> {
    raw: Raw,
    of: PhantomData<fn() -> V>,
}

impl<V: Pod, const FIRST_IN_FIRST_OUT: bool> Fifo<V, FIRST_IN_FIRST_OUT> {
    const TYPES: &'static [MapType] = if FIRST_IN_FIRST_OUT { &[MapType::Queue] } else { &[MapType::Stack] };

    /// Takes a map. Its type and the size of values must be those of the Rust types.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let raw = Raw::new(map, Self::TYPES)?.sized(0, size_of::<V>())?;
        Ok(Self { raw, of: PhantomData })
    }

    /// The same with a descriptor of its own.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(Raw::clone_of(map)?)
    }

    /// Puts a value in; `E2BIG` if it is full. With [`Flags::EXIST`] the oldest makes room.
    pub fn push(&self, value: &V, flags: Flags) -> Result<(), MapError> {
        self.raw.insert(&[], value.as_bytes(), flags.0)
    }

    /// Takes the next value out.
    pub fn pop(&self) -> Result<Option<V>, MapError> {
        let mut value = V::zeroed();
        Ok(self.raw.take(&[], value.as_bytes_mut())?.then_some(value))
    }

    /// The next value, which stays.
    pub fn peek(&self) -> Result<Option<V>, MapError> {
        let mut value = V::zeroed();
        Ok(self.raw.get(&[], value.as_bytes_mut(), 0)?.then_some(value))
    }
}

impl<V, const FIRST_IN_FIRST_OUT: bool> AsFd for Fifo<V, FIRST_IN_FIRST_OUT> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.fd()
    }
}

/// A set that may say yes to what is not in it, never no to what is: `BLOOM_FILTER`.
#[derive(Debug)]
pub struct BloomFilter<V> {
    raw: Raw,
    of: PhantomData<fn() -> V>,
}

impl<V: Pod> BloomFilter<V> {
    /// Takes a map. Its type and the size of values must be those of the Rust types.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let raw = Raw::new(map, &[MapType::BloomFilter])?.sized(0, size_of::<V>())?;
        Ok(Self { raw, of: PhantomData })
    }

    /// The same with a descriptor of its own.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(Raw::clone_of(map)?)
    }

    /// Puts a value in. It cannot be taken out.
    pub fn insert(&self, value: &V) -> Result<(), MapError> {
        self.raw.insert(&[], value.as_bytes(), 0)
    }

    /// Whether a value may be in it; `false` is certain.
    pub fn may_contain(&self, value: &V) -> Result<bool, MapError> {
        // The kernel reads the value that other maps write.
        let mut value = *value;
        self.raw.get(&[], value.as_bytes_mut(), 0)
    }
}

impl<V> AsFd for BloomFilter<V> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.fd()
    }
}
