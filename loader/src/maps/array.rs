//! Arrays: maps with an index as key, whose elements always exist.

use super::{
    batch,
    error::{MapError, READ},
    flags::Flags,
    iter::Batches,
    kind::{MapKind, kinds},
    raw::{RawMap, is_unsupported},
};
use crate::sys::{MapFd, Pod};
use core::{borrow::Borrow, marker::PhantomData};
use std::os::fd::{AsFd, BorrowedFd};

/// An array of type `ARRAY`.
pub type Array<V> = ArrayMap<V, kinds::Array>;

/// An array with a value for each possible CPU, of type `PERCPU_ARRAY`.
pub type PerCpuArray<V> = ArrayMap<V, kinds::PerCpuArray>;

/// An array, see [`Array`] and [`PerCpuArray`].
#[derive(Debug)]
pub struct ArrayMap<V, T> {
    pub(super) raw: RawMap,
    marker: PhantomData<fn() -> (V, T)>,
}

impl<V: Pod, T: MapKind<V>> ArrayMap<V, T> {
    /// Creates a handle. The map must have the handle's map type and the value size of `V`.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let raw = RawMap::new(map, T::TYPES)?.check_sizes(4, size_of::<V>())?;
        Ok(Self { raw, marker: PhantomData })
    }

    /// Creates a handle as [`new`](Self::new), with a duplicate of the descriptor.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(RawMap::duplicate(map)?)
    }

    /// Reads the value at `index`. Returns `None` beyond the end of the array.
    pub fn get(&self, index: u32) -> Result<Option<T::Value>, MapError> {
        self.get_with(index, Flags::ANY)
    }

    /// Reads the value at `index`, with [`Flags::LOCK`] under the value's lock.
    pub fn get_with(&self, index: u32, flags: Flags) -> Result<Option<T::Value>, MapError> {
        T::read(self.raw.shape(), |value| self.raw.get(index.as_bytes(), value, flags.0))
    }

    /// Writes the value at `index`.
    pub fn set(&self, index: u32, value: &T::Input) -> Result<(), MapError> {
        self.set_with(index, value, Flags::ANY)
    }

    /// Writes the value at `index`, with [`Flags::LOCK`] under the value's lock.
    pub fn set_with(&self, index: u32, value: &T::Input, flags: Flags) -> Result<(), MapError> {
        let mut bytes = Vec::with_capacity(self.raw.shape().value_size());
        T::write(self.raw.shape(), self.raw.name(), value, &mut bytes)?;
        self.raw.insert(index.as_bytes(), &bytes, flags.0)
    }

    /// Writes consecutive values, beginning at the index `first`.
    pub fn set_all<G: Borrow<T::Input>>(&self, first: u32, values: &[G]) -> Result<(), MapError> {
        let (mut keys, mut bytes) = (Vec::new(), Vec::new());
        for (index, value) in (first..).zip(values) {
            keys.extend_from_slice(index.as_bytes());
            T::write(self.raw.shape(), self.raw.name(), value.borrow(), &mut bytes)?;
        }
        if keys.is_empty() { Ok(()) } else { batch::insert_all(&self.raw, &keys, &bytes, Flags::ANY) }
    }

    /// Reads all values in order, in as few system calls as the kernel allows.
    pub fn values(&self) -> Result<Vec<T::Value>, MapError> {
        let mut values = Vec::new();
        let mut batches = Batches::new(&self.raw, false);
        loop {
            match batches.next() {
                Ok(Some(batch)) => values.extend(batch.entries::<u32, V, T>().map(|(_index, value)| value)),
                Ok(None) => return Ok(values),
                Err(e) if is_unsupported(e) && batches.is_first() => break,
                Err(e) => return Err(self.raw.error(READ, e)),
            }
        }
        self.iter().map(|entry| entry.map(|(_index, value)| value)).collect()
    }

    /// Iterates over the indices and values.
    pub fn iter(&self) -> impl Iterator<Item = Result<(u32, T::Value), MapError>> {
        (0..self.len()).map_while(|index| Some(self.get(index).transpose()?.map(|value| (index, value))))
    }

    /// Returns the number of values.
    pub fn len(&self) -> u32 {
        self.raw.info().max_entries
    }

    /// Returns whether the array has no values. The kernel creates no such array.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<V, T> AsFd for ArrayMap<V, T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.fd()
    }
}
