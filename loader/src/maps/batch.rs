//! Many elements in few calls; where the kernel lacks the command, one by one.

use super::{
    Flags, Table,
    error::{DrainError, INSERT, MapError, REMOVE},
    iter::{Batches, Keys},
    kind::Kind,
    raw::{Raw, is_lacking},
};
use crate::sys::{self, Errno, Pod};
use core::{borrow::Borrow, fmt};

/// Elements written or removed in one call.
const AT_ONCE: usize = 4096;

impl<K: Pod, V: Pod, T: Kind<V>> Table<K, V, T> {
    /// Writes many entries. After an error some of them may have been written.
    pub fn insert_all<G: Borrow<T::Given>>(&self, entries: &[(K, G)], flags: Flags) -> Result<(), MapError> {
        let raw = &self.raw;
        for entries in entries.chunks(AT_ONCE) {
            let (mut keys, mut values) = (Vec::new(), Vec::new());
            for (key, value) in entries {
                keys.extend_from_slice(key.as_bytes());
                T::write(raw.shape(), raw.name(), value.borrow(), &mut values)?;
            }
            insert_all(raw, &keys, &values, flags)?;
        }
        Ok(())
    }

    /// Removes many keys; how many of them were there.
    pub fn remove_all(&self, keys: &[K]) -> Result<usize, MapError> {
        let mut removed = 0usize;
        for keys in keys.chunks(AT_ONCE) {
            let keys: Vec<u8> = keys.iter().flat_map(|key| key.as_bytes().iter().copied()).collect();
            removed = removed.saturating_add(remove_all(&self.raw, &keys)?);
        }
        Ok(removed)
    }

    /// Reads and removes all entries. What is written meanwhile is either given or stays.
    ///
    /// Where the kernel lacks the command for many elements (before 5.6; tries), each entry is removed by itself, see
    /// [`take`](Self::take).
    pub fn drain(&self) -> Drained<(K, T::Value)>
    where
        (K, T::Value): fmt::Debug,
    {
        let mut entries = Vec::new();
        match self.drain_to(&mut entries) {
            Ok(()) => Ok(entries),
            Err(error) => Err(DrainError { entries, error }),
        }
    }

    fn drain_to(&self, drained: &mut Vec<(K, T::Value)>) -> Result<(), MapError> {
        let mut batches = Batches::new(&self.raw, true);
        loop {
            match batches.next() {
                Ok(Some(batch)) => drained.extend(batch.entries::<K, V, T>()),
                Ok(None) => return Ok(()),
                Err(e) if is_lacking(e) && batches.is_first() => break,
                Err(e) => return Err(self.raw.failed(REMOVE, e)),
            }
        }
        // All keys first: removing the last one that was seen would send the walk back to the start.
        let keys: Vec<_> = Keys::new(&self.raw).collect::<Result<_, _>>()?;
        for key in keys {
            let Some(key) = K::from_bytes(&key) else { continue };
            drained.extend(self.take(&key)?.map(|value| (key, value)));
        }
        Ok(())
    }
}

/// What was removed, or as much of it as was before an error.
pub(super) type Drained<E> = Result<Vec<E>, DrainError<E>>;

/// Writes elements.
pub(super) fn insert_all(raw: &Raw, keys: &[u8], values: &[u8], flags: Flags) -> Result<(), MapError> {
    // The command takes no other flag.
    if flags == Flags::ANY || flags == Flags::LOCK {
        match sys::map_update_batch(raw.shape(), keys, values, flags.0) {
            Ok(_count) => return Ok(()),
            Err((e, _count)) if is_lacking(e) => {}
            Err((e, _count)) => return Err(raw.failed(INSERT, e)),
        }
    }
    let (key, value) = (raw.shape().key_size().max(1), raw.shape().value_size().max(1));
    keys.chunks(key).zip(values.chunks(value)).try_for_each(|(k, v)| raw.insert(k, v, flags.0))
}

/// Removes elements; how many were there.
fn remove_all(raw: &Raw, keys: &[u8]) -> Result<usize, MapError> {
    let size = raw.shape().key_size().max(1);
    let mut left = keys;
    let mut removed = 0usize;
    while !left.is_empty() {
        let total = left.len().checked_div(size).unwrap_or_default();
        let (done, missing) = match sys::map_delete_batch(raw.shape(), left) {
            Ok(count) => (at_most(count, total), 0),
            // The command stops at a key that is not there.
            Err((Errno(libc::ENOENT), count)) => (at_most(count, total), 1),
            Err((e, _count)) if is_lacking(e) => break,
            Err((e, _count)) => return Err(raw.failed(REMOVE, e)),
        };
        let passed = done.saturating_add(missing);
        if passed == 0 {
            break;
        }
        removed = removed.saturating_add(done);
        left = left.get(passed.saturating_mul(size)..).unwrap_or_default();
    }
    for key in left.chunks(size) {
        removed = removed.saturating_add(usize::from(raw.remove(key)?));
    }
    Ok(removed)
}

/// A count of the kernel's, of so many.
fn at_most(count: u32, total: usize) -> usize {
    usize::try_from(count).unwrap_or(total).min(total)
}
