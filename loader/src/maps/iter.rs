//! Going through a map while others write it.

use super::{
    error::{MapError, WALK},
    kind::Kind,
    raw::{Raw, is_lacking},
};
use crate::{
    object::MapType,
    sys::{self, Errno, Pod},
};
use alloc::vec;
use core::{fmt, marker::PhantomData};
use std::collections::HashSet;

/// Keys and values of a map, see [`Table::iter`](super::Table::iter). After an error there is no more.
pub struct Iter<'m, K, V: Pod, T: Kind<V>> {
    raw: &'m Raw,
    source: Source<'m>,
    read: vec::IntoIter<(K, T::Value)>,
    of: PhantomData<fn() -> V>,
}

/// Where elements come from.
pub(super) enum Source<'m> {
    Batches(Batches<'m>),
    Keys(Keys<'m>),
    End,
}

impl<'m> Source<'m> {
    pub(super) fn of(raw: &'m Raw) -> Self {
        // A hash map's batches are whole buckets, read under the bucket's lock. Those of others go by the last key.
        match raw.map_type() {
            Some(MapType::Hash | MapType::LruHash | MapType::PercpuHash | MapType::LruPercpuHash) => {
                Self::Batches(Batches::new(raw, false))
            }
            _ => Self::by_key(raw),
        }
    }

    pub(super) fn by_key(raw: &'m Raw) -> Self {
        Self::Keys(Keys::new(raw))
    }
}

impl<'m, K: Pod, V: Pod, T: Kind<V>> Iter<'m, K, V, T> {
    pub(super) fn new(raw: &'m Raw) -> Self {
        Self { raw, source: Source::of(raw), read: Vec::new().into_iter(), of: PhantomData }
    }

    /// The next entry by keys; those that are gone by the time their value is read are passed over.
    fn next_by_key(raw: &Raw, keys: &mut Keys<'_>) -> Option<Result<(K, T::Value), MapError>> {
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

impl<K: Pod, V: Pod, T: Kind<V>> Iterator for Iter<'_, K, V, T> {
    type Item = Result<(K, T::Value), MapError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.read.next() {
                return Some(Ok(entry));
            }
            let item = match &mut self.source {
                Source::End => return None,
                Source::Keys(keys) => Self::next_by_key(self.raw, keys),
                Source::Batches(batches) => match batches.next() {
                    Ok(Some(batch)) => {
                        self.read = batch.entries::<K, V, T>().collect::<Vec<_>>().into_iter();
                        continue;
                    }
                    Ok(None) => None,
                    Err(e) if is_lacking(e) && batches.is_first() => {
                        self.source = Source::by_key(self.raw);
                        continue;
                    }
                    Err(e) => Some(Err(self.raw.failed(WALK, e))),
                },
            };
            if !matches!(item, Some(Ok(_))) {
                self.source = Source::End;
            }
            return item;
        }
    }
}

impl<K, V: Pod, T: Kind<V>> fmt::Debug for Iter<'_, K, V, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").field("map", &self.raw.name()).finish_non_exhaustive()
    }
}

/// Keys, one after the other.
///
/// The kernel finds the next key by the last one. If that is gone, a hash map starts again with the first: what was seen is
/// passed over, and the walk ends with an error should it be sent back for ever.
#[derive(Debug)]
pub(super) struct Keys<'m> {
    raw: &'m Raw,
    last: Option<Vec<u8>>,
    seen: HashSet<Vec<u8>>,
    repeated: usize,
    ended: bool,
}

impl<'m> Keys<'m> {
    pub(super) fn new(raw: &'m Raw) -> Self {
        Self { raw, last: None, seen: HashSet::new(), repeated: 0, ended: false }
    }
}

impl Iterator for Keys<'_> {
    type Item = Result<Vec<u8>, MapError>;

    fn next(&mut self) -> Option<Self::Item> {
        /// Walks through what was seen before that come to nothing.
        const PATIENCE: usize = 100;
        while !self.ended {
            let found = self.raw.next_key(self.last.as_deref());
            match found {
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
            self.repeated = self.repeated.saturating_add(1);
            if self.repeated > self.seen.len().saturating_add(PATIENCE).saturating_mul(PATIENCE) {
                self.ended = true;
                return Some(Err(MapError::Restarts { map: self.raw.name().into() }));
            }
        }
        self.ended = true;
        None
    }
}

/// Elements in batches.
#[derive(Debug)]
pub(super) struct Batches<'m> {
    raw: &'m Raw,
    /// Reads and removes.
    removes: bool,
    /// Where the kernel stands.
    mark: Option<Vec<u8>>,
    room: usize,
    ended: bool,
}

/// Elements as the kernel gives them.
#[derive(Debug)]
pub(super) struct RawBatch<'m> {
    raw: &'m Raw,
    keys: Vec<u8>,
    values: Vec<u8>,
}

impl<'m> Batches<'m> {
    pub(super) fn new(raw: &'m Raw, removes: bool) -> Self {
        let one = raw.shape().key_size().saturating_add(raw.shape().value_size()).max(1);
        let fits = BATCH_BYTES.checked_div(one).unwrap_or(1).clamp(16, 4096);
        let room = fits.min(usize::try_from(raw.info().max_entries).unwrap_or(usize::MAX)).max(1);
        Self { raw, removes, mark: None, room, ended: false }
    }

    /// Whether nothing was read yet.
    pub(super) fn is_first(&self) -> bool {
        self.mark.is_none()
    }

    pub(super) fn next(&mut self) -> Result<Option<RawBatch<'m>>, Errno> {
        if self.ended {
            return Ok(None);
        }
        let shape = self.raw.shape();
        let most = usize::try_from(self.raw.info().max_entries).unwrap_or(usize::MAX).max(1);
        loop {
            let mut keys = vec![0; self.room.saturating_mul(shape.key_size())];
            let mut values = vec![0; self.room.saturating_mul(shape.value_size())];
            let mut mark = vec![0; shape.key_size().max(4)];
            let read = sys::map_lookup_batch(
                shape,
                self.mark.as_deref(),
                &mut mark,
                &mut keys,
                &mut values,
                self.removes,
            );
            match read {
                Ok(batch) => {
                    self.ended = batch.is_last;
                    self.mark = Some(mark);
                    let n = usize::try_from(batch.count).unwrap_or_default();
                    keys.truncate(n.saturating_mul(shape.key_size()));
                    values.truncate(n.saturating_mul(shape.value_size()));
                    return Ok(Some(RawBatch { raw: self.raw, keys, values }));
                }
                // A bucket has more elements than there was room for.
                Err(Errno(libc::ENOSPC)) if self.room < most => {
                    self.room = self.room.saturating_mul(4).min(most);
                }
                // A program on this processor is writing the bucket.
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

    pub(super) fn entries<K: Pod, V: Pod, T: Kind<V>>(&self) -> impl Iterator<Item = (K, T::Value)> {
        let shape = self.raw.shape();
        let keys = self.keys.chunks(shape.key_size().max(1));
        let values = self.values.chunks(shape.value_size().max(1));
        keys.zip(values).filter_map(move |(key, value)| Some((K::from_bytes(key)?, T::parse(shape, value)?)))
    }
}

/// Bytes read at once.
const BATCH_BYTES: usize = 256 * 1024;
