//! Iteration over a map that others may write concurrently.

use super::{
    error::{MapError, NEXT_KEY},
    kind::MapKind,
    raw::{RawMap, is_unsupported},
};
use crate::{
    convert::{to_u64, to_usize},
    sys::{Errno, Pod},
};
use alloc::vec;
use core::{fmt, marker::PhantomData};
use core_relo_object::object::MapType;
use std::collections::HashSet;

/// The iterator of [`Table::iter`](super::Table::iter). It ends after an error.
pub struct Iter<'m, K, V: Pod, T: MapKind<V>> {
    raw: &'m RawMap,
    source: Source<'m>,
    buffered: vec::IntoIter<(K, T::Value)>,
    marker: PhantomData<fn() -> V>,
}

/// The way in which an iterator reads elements.
pub(super) enum Source<'m> {
    Batches(Batches<'m>),
    Keys(Keys<'m>),
    End,
}

impl<'m> Source<'m> {
    pub(super) fn for_map(raw: &'m RawMap) -> Self {
        // A batch of a hash map consists of whole buckets, read under the bucket's lock. Batches of other
        // maps continue after the last key, which may be gone.
        match raw.map_type() {
            Some(MapType::Hash | MapType::LruHash | MapType::PercpuHash | MapType::LruPercpuHash) => {
                Self::Batches(Batches::new(raw, false))
            }
            _ => Self::by_key(raw),
        }
    }

    pub(super) fn by_key(raw: &'m RawMap) -> Self {
        Self::Keys(Keys::new(raw))
    }
}

impl<'m, K: Pod, V: Pod, T: MapKind<V>> Iter<'m, K, V, T> {
    pub(super) fn new(raw: &'m RawMap) -> Self {
        Self { raw, source: Source::for_map(raw), buffered: Vec::new().into_iter(), marker: PhantomData }
    }

    /// Reads the next entry by key. Skips keys that are removed before their value is read.
    fn next_by_key(raw: &RawMap, keys: &mut Keys<'_>) -> Option<Result<(K, T::Value), MapError>> {
        loop {
            let key = match keys.next()? {
                Ok(key) => key,
                Err(e) => return Some(Err(e)),
            };
            match T::read(raw.shape(), |value| raw.get(&key, value, 0)) {
                Ok(Some(value)) => return Some(Ok((K::from_bytes(&key)?, value))),
                Ok(None) => {}
                Err(e) => return Some(Err(e)),
            }
        }
    }
}

impl<K: Pod, V: Pod, T: MapKind<V>> Iterator for Iter<'_, K, V, T> {
    type Item = Result<(K, T::Value), MapError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.buffered.next() {
                return Some(Ok(entry));
            }
            let item = match &mut self.source {
                Source::End => return None,
                Source::Keys(keys) => Self::next_by_key(self.raw, keys),
                Source::Batches(batches) => match batches.next() {
                    Ok(Some(batch)) => {
                        self.buffered = batch.entries::<K, V, T>().collect::<Vec<_>>().into_iter();
                        continue;
                    }
                    Ok(None) => None,
                    Err(e) if is_unsupported(e) && batches.is_first() => {
                        self.source = Source::by_key(self.raw);
                        continue;
                    }
                    Err(e) => Some(Err(self.raw.error(NEXT_KEY, e))),
                },
            };
            if !matches!(item, Some(Ok(_))) {
                self.source = Source::End;
            }
            return item;
        }
    }
}

impl<K, V: Pod, T: MapKind<V>> fmt::Debug for Iter<'_, K, V, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").field("map", &self.raw.name()).finish_non_exhaustive()
    }
}

/// An iterator over the keys of a map.
///
/// The kernel finds the next key after the last key. If the last key is gone, a hash map begins again with
/// the first key. The iterator skips keys that it has returned before. It ends with an error if removals send
/// it back too often.
#[derive(Debug)]
pub(super) struct Keys<'m> {
    raw: &'m RawMap,
    last: Option<Vec<u8>>,
    seen: HashSet<Vec<u8>>,
    repeated: u64,
    ended: bool,
}

impl<'m> Keys<'m> {
    pub(super) fn new(raw: &'m RawMap) -> Self {
        Self { raw, last: None, seen: HashSet::new(), repeated: 0, ended: false }
    }
}

impl Iterator for Keys<'_> {
    type Item = Result<Vec<u8>, MapError>;

    fn next(&mut self) -> Option<Self::Item> {
        /// The number of times that the iterator may skip all keys returned before.
        const RESTARTS: u64 = 100;
        while !self.ended {
            match self.raw.next_key(self.last.as_deref()) {
                Ok(Some(key)) => {
                    self.last = Some(key.clone());
                    if self.seen.insert(key.clone()) {
                        return Some(Ok(key));
                    }
                }
                Ok(None) => break,
                Err(e) => {
                    self.ended = true;
                    return Some(Err(e));
                }
            }
            let limit = to_u64(self.seen.len()).checked_add(RESTARTS).and_then(|n| n.checked_mul(RESTARTS));
            let repeated = self.repeated.checked_add(1);
            if let Some(repeated) = repeated.filter(|repeated| limit.is_some_and(|limit| *repeated <= limit))
            {
                self.repeated = repeated;
            } else {
                self.ended = true;
                return Some(Err(MapError::Restarts { map: self.raw.name().into() }));
            }
        }
        self.ended = true;
        None
    }
}

/// A reader of elements in batches.
#[derive(Debug)]
pub(super) struct Batches<'m> {
    raw: &'m RawMap,
    /// Whether each batch is removed from the map.
    removes: bool,
    /// The kernel's cursor after the last batch.
    cursor: Option<Vec<u8>>,
    /// The number of elements that a batch has room for.
    room: usize,
    ended: bool,
}

/// Keys and values of a batch, as bytes.
#[derive(Debug)]
pub(super) struct RawBatch<'m> {
    raw: &'m RawMap,
    keys: Vec<u8>,
    values: Vec<u8>,
}

impl<'m> Batches<'m> {
    pub(super) fn new(raw: &'m RawMap, removes: bool) -> Self {
        let entry_bytes = raw.shape().key_size().checked_add(raw.shape().value_size());
        let room = entry_bytes.and_then(|bytes| BATCH_BYTES.checked_div(bytes));
        // `None`: entries that exceed the address space, or without bytes.
        let room = room
            .map_or(SMALLEST_BATCH, |room| room.clamp(SMALLEST_BATCH, LARGEST_BATCH))
            .min(max_entries(raw))
            .max(1);
        Self { raw, removes, cursor: None, room, ended: false }
    }

    /// Returns whether no batch was read yet.
    pub(super) fn is_first(&self) -> bool {
        self.cursor.is_none()
    }

    /// Reads the next batch.
    pub(super) fn next(&mut self) -> Result<Option<RawBatch<'m>>, Errno> {
        if self.ended {
            return Ok(None);
        }
        let shape = self.raw.shape();
        let max_room = max_entries(self.raw).max(1);
        let bytes = |count: usize, size: usize| count.checked_mul(size).ok_or(Errno(libc::E2BIG));
        loop {
            let mut keys = vec![0; bytes(self.room, shape.key_size())?];
            let mut values = vec![0; bytes(self.room, shape.value_size())?];
            let mut cursor = vec![0; shape.key_size().max(4)];
            let read =
                shape.lookup_batch(self.cursor.as_deref(), &mut cursor, &mut keys, &mut values, self.removes);
            match read {
                Ok(batch) => {
                    self.ended = batch.is_last;
                    self.cursor = Some(cursor);
                    let count = usize::try_from(batch.count).map_err(|_large| Errno(libc::E2BIG))?;
                    keys.truncate(bytes(count, shape.key_size())?);
                    values.truncate(bytes(count, shape.value_size())?);
                    return Ok(Some(RawBatch { raw: self.raw, keys, values }));
                }
                // A bucket has more elements than the batch has room for.
                Err(Errno(libc::ENOSPC)) if self.room < max_room => {
                    self.room = self.room.checked_mul(4).map_or(max_room, |room| room.min(max_room));
                }
                // A program on this CPU is writing the bucket.
                Err(Errno(libc::EBUSY | libc::EINTR | libc::EAGAIN)) => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl RawBatch<'_> {
    pub(super) fn bytes(&self) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
        let shape = self.raw.shape();
        let keys = self.keys.chunks(shape.key_size().max(1));
        keys.map(<[u8]>::to_vec).zip(self.values.chunks(shape.value_size().max(1)).map(<[u8]>::to_vec))
    }

    pub(super) fn entries<K: Pod, V: Pod, T: MapKind<V>>(&self) -> impl Iterator<Item = (K, T::Value)> {
        let shape = self.raw.shape();
        let keys = self.keys.chunks(shape.key_size().max(1));
        let values = self.values.chunks(shape.value_size().max(1));
        keys.zip(values).filter_map(move |(key, value)| Some((K::from_bytes(key)?, T::parse(shape, value)?)))
    }
}

/// The usual number of bytes of a batch.
const BATCH_BYTES: usize = 256 * 1024;
/// The bounds of the number of elements that a first batch has room for.
const SMALLEST_BATCH: usize = 16;
const LARGEST_BATCH: usize = 4096;

fn max_entries(raw: &RawMap) -> usize {
    to_usize(raw.info().max_entries)
}
