//! Maps of keys to values.

use super::{
    Flags, Iter,
    error::MapError,
    kind::{Kind, kinds},
    raw::Raw,
};
use crate::sys::{LpmKey, MapFd, Pod};
use core::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};

/// A hash map: `HASH`, `LRU_HASH` or `RHASH`.
pub type HashMap<K, V> = Table<K, V, kinds::Hash>;

/// A hash map with a value for each possible CPU: `PERCPU_HASH` or `LRU_PERCPU_HASH`.
pub type PerCpuHashMap<K, V> = Table<K, V, kinds::PerCpuHash>;

/// A trie of prefixes: reading a key gives the value of the longest prefix of it. `K` is the data without the prefix's length.
pub type LpmTrie<K, V> = Table<LpmKey<K>, V, kinds::Lpm>;

/// A map of keys to values: [`HashMap`], [`PerCpuHashMap`], [`LpmTrie`].
#[derive(Debug)]
pub struct Table<K, V, T> {
    pub(super) raw: Raw,
    of: PhantomData<Of<K, V, T>>,
}

type Of<K, V, T> = fn() -> (K, V, T);

impl<K: Pod, V: Pod, T: Kind<V>> Table<K, V, T> {
    /// Takes a map. Its type and the sizes of keys and values must be those of the Rust types.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let raw = Raw::new(map, T::TYPES)?.sized(size_of::<K>(), size_of::<V>())?;
        Ok(Self { raw, of: PhantomData })
    }

    /// The same with a descriptor of its own.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(Raw::clone_of(map)?)
    }

    /// The value of a key.
    pub fn get(&self, key: &K) -> Result<Option<T::Value>, MapError> {
        self.get_with(key, Flags::ANY)
    }

    /// The value of a key; [`Flags::LOCK`] reads it under its lock.
    pub fn get_with(&self, key: &K, flags: Flags) -> Result<Option<T::Value>, MapError> {
        T::read(self.raw.shape(), |value| self.raw.get(key.as_bytes(), value, flags.0))
    }

    /// Whether there is such a key.
    pub fn contains(&self, key: &K) -> Result<bool, MapError> {
        Ok(self.get(key)?.is_some())
    }

    /// Writes a key's value.
    pub fn insert(&self, key: &K, value: &T::Given, flags: Flags) -> Result<(), MapError> {
        let mut bytes = Vec::with_capacity(self.raw.shape().value_size());
        T::write(self.raw.shape(), self.raw.name(), value, &mut bytes)?;
        self.raw.insert(key.as_bytes(), &bytes, flags.0)
    }

    /// Removes a key; whether it was there.
    pub fn remove(&self, key: &K) -> Result<bool, MapError> {
        self.raw.remove(key.as_bytes())
    }

    /// Removes a key and gives its value. Kernels before 5.14 (and later ones for tries) do it in two steps: a write in between is lost.
    pub fn take(&self, key: &K) -> Result<Option<T::Value>, MapError> {
        T::read(self.raw.shape(), |value| self.raw.take(key.as_bytes(), value))
    }

    /// Goes through keys and values, in no order.
    ///
    /// Programs and processes may write meanwhile. What is there from beginning to end comes exactly once, what comes or goes
    /// meanwhile at most once, and there is an end.
    pub fn iter(&self) -> Iter<'_, K, V, T> {
        Iter::new(&self.raw)
    }

    /// How many entries it may have.
    pub fn max_entries(&self) -> u32 {
        self.raw.info().max_entries
    }
}

impl<'m, K: Pod, V: Pod, T: Kind<V>> IntoIterator for &'m Table<K, V, T> {
    type Item = Result<(K, T::Value), MapError>;
    type IntoIter = Iter<'m, K, V, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K, V, T> AsFd for Table<K, V, T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.fd()
    }
}
