//! Maps of numbers to values: all are there from the beginning.

use super::{
    Flags, batch,
    error::{MapError, READ},
    iter::Batches,
    kind::{Kind, kinds},
    raw::{Raw, is_lacking},
};
use crate::sys::{MapFd, Pod};
use core::{borrow::Borrow, marker::PhantomData};
use std::os::fd::{AsFd, BorrowedFd};

/// An array: `ARRAY`.
pub type Array<V> = Indexed<V, kinds::Array>;

/// An array with a value for each possible CPU: `PERCPU_ARRAY`.
pub type PerCpuArray<V> = Indexed<V, kinds::PerCpuArray>;

/// A map of the numbers below its size to values: [`Array`], [`PerCpuArray`].
#[derive(Debug)]
pub struct Indexed<V, T> {
    raw: Raw,
    of: PhantomData<fn() -> (V, T)>,
}

impl<V: Pod, T: Kind<V>> Indexed<V, T> {
    /// Takes a map. Its type and the size of values must be those of the Rust types.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        let raw = Raw::new(map, T::TYPES)?.sized(4, size_of::<V>())?;
        Ok(Self { raw, of: PhantomData })
    }

    /// The same with a descriptor of its own.
    pub fn open(map: &MapFd) -> Result<Self, MapError> {
        Self::new(Raw::clone_of(map)?)
    }

    /// The value at `index`; `None` beyond the array's size.
    pub fn get(&self, index: u32) -> Result<Option<T::Value>, MapError> {
        self.get_with(index, Flags::ANY)
    }

    /// The value at `index`; [`Flags::LOCK`] reads it under its lock.
    pub fn get_with(&self, index: u32, flags: Flags) -> Result<Option<T::Value>, MapError> {
        T::read(self.raw.shape(), |value| self.raw.get(index.as_bytes(), value, flags.0))
    }

    /// Writes the value at `index`.
    pub fn set(&self, index: u32, value: &T::Given) -> Result<(), MapError> {
        self.set_with(index, value, Flags::ANY)
    }

    /// Writes the value at `index`; [`Flags::LOCK`] does so under its lock.
    pub fn set_with(&self, index: u32, value: &T::Given, flags: Flags) -> Result<(), MapError> {
        let mut bytes = Vec::with_capacity(self.raw.shape().value_size());
        T::write(self.raw.shape(), self.raw.name(), value, &mut bytes)?;
        self.raw.insert(index.as_bytes(), &bytes, flags.0)
    }

    /// Writes values from `first` on.
    pub fn set_all<G: Borrow<T::Given>>(&self, first: u32, values: &[G]) -> Result<(), MapError> {
        let (mut keys, mut bytes) = (Vec::new(), Vec::new());
        for (index, value) in (first..).zip(values) {
            keys.extend_from_slice(index.as_bytes());
            T::write(self.raw.shape(), self.raw.name(), value.borrow(), &mut bytes)?;
        }
        if keys.is_empty() { Ok(()) } else { batch::insert_all(&self.raw, &keys, &bytes, Flags::ANY) }
    }

    /// All values, in order, in as few calls as the kernel can.
    pub fn values(&self) -> Result<Vec<T::Value>, MapError> {
        let mut values = Vec::new();
        let mut batches = Batches::new(&self.raw, false);
        loop {
            match batches.next() {
                Ok(Some(batch)) => values.extend(batch.entries::<u32, V, T>().map(|(_index, value)| value)),
                Ok(None) => return Ok(values),
                Err(e) if is_lacking(e) && batches.is_first() => break,
                Err(e) => return Err(self.raw.failed(READ, e)),
            }
        }
        self.iter().map(|entry| entry.map(|(_index, value)| value)).collect()
    }

    /// Goes through the numbers and their values.
    pub fn iter(&self) -> impl Iterator<Item = Result<(u32, T::Value), MapError>> {
        (0..self.len()).map_while(|index| Some(self.get(index).transpose()?.map(|value| (index, value))))
    }

    /// How many values it has.
    pub fn len(&self) -> u32 {
        self.raw.info().max_entries
    }

    /// Whether it has none; the kernel makes no such array.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<V, T> AsFd for Indexed<V, T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.fd()
    }
}
