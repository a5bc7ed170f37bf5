//! Maps from keys to values.

use super::{
    error::MapError,
    flags::Flags,
    iter::Iter,
    kind::{MapKind, kinds},
    raw::RawMap,
};
use crate::sys::{LpmKey, MapFd, Pod};
use core::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};

/// A hash map of type `HASH`, `LRU_HASH` or `RHASH`.
pub type HashMap<K, V> = Table<K, V, kinds::Hash>;

/// A hash map with a value for each possible CPU, of type `PERCPU_HASH` or `LRU_PERCPU_HASH`.
pub type PerCpuHashMap<K, V> = Table<K, V, kinds::PerCpuHash>;

/// A trie of type `LPM_TRIE`: a lookup returns the value of the longest matching prefix. `K` is the key's
/// data without the length.
pub type LpmTrie<K, V> = Table<LpmKey<K>, V, kinds::Lpm>;

/// A map from keys to values, see [`HashMap`], [`PerCpuHashMap`] and [`LpmTrie`].
#[derive(Debug)]
pub struct Table<K, V, T> {
    pub(super) raw: RawMap,
    marker: PhantomData<TypeParameters<K, V, T>>,
}

type TypeParameters<K, V, T> = fn() -> (K, V, T);

impl<K: Pod, V: Pod, T: MapKind<V>> Table<K, V, T> {
    /// Creates a handle. The map must have the handle's map type and the key and value sizes of `K` and `V`.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let raw = RawMap::new(map, T::TYPES)?.check_sizes(size_of::<K>(), size_of::<V>())?;
        Ok(Self { raw, marker: PhantomData })
    }

    /// Creates a handle as [`new`](Self::new), with a duplicate of the descriptor.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(RawMap::duplicate(map)?)
    }

    /// Reads the value of a key.
    pub fn get(&self, key: &K) -> Result<Option<T::Value>, MapError> {
        self.get_with(key, Flags::ANY)
    }

    /// Reads the value of a key, with [`Flags::LOCK`] under the value's lock.
    pub fn get_with(&self, key: &K, flags: Flags) -> Result<Option<T::Value>, MapError> {
        T::read(self.raw.shape(), |value| self.raw.get(key.as_bytes(), value, flags.0))
    }

    /// Returns whether the map has a key.
    pub fn contains(&self, key: &K) -> Result<bool, MapError> {
        Ok(self.get(key)?.is_some())
    }

    /// Writes a key's value.
    pub fn insert(&self, key: &K, value: &T::Input, flags: Flags) -> Result<(), MapError> {
        let mut bytes = Vec::with_capacity(self.raw.shape().value_size());
        T::write(self.raw.shape(), self.raw.name(), value, &mut bytes)?;
        self.raw.insert(key.as_bytes(), &bytes, flags.0)
    }

    /// Removes a key. Returns whether the key existed.
    pub fn remove(&self, key: &K) -> Result<bool, MapError> {
        self.raw.remove(key.as_bytes())
    }

    /// Removes a key and returns its value.
    ///
    /// Kernels before 5.14, and later kernels for tries, need two steps. A write between the two steps is
    /// lost.
    pub fn take(&self, key: &K) -> Result<Option<T::Value>, MapError> {
        T::read(self.raw.shape(), |value| self.raw.take(key.as_bytes(), value))
    }

    /// Iterates over keys and values, in no particular order.
    ///
    /// Programs and processes may write concurrently. An entry that exists during the whole iteration is
    /// returned exactly once, other entries at most once. The iteration always ends.
    pub fn iter(&self) -> Iter<'_, K, V, T> {
        Iter::new(&self.raw)
    }

    /// Returns the maximum number of entries.
    pub fn max_entries(&self) -> u32 {
        self.raw.info().max_entries
    }
}

impl<'m, K: Pod, V: Pod, T: MapKind<V>> IntoIterator for &'m Table<K, V, T> {
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
