//! Batch operations. If the kernel lacks the command, they process one element at a time.

use super::{
    error::{DrainError, INSERT, MapError, REMOVE},
    flags::Flags,
    iter::{Batches, Keys},
    kind::MapKind,
    raw::{RawMap, is_unsupported},
    table::Table,
};
use crate::convert::to_usize;
use crate::sys::{Errno, Pod};
use core::{borrow::Borrow, fmt};

/// The number of elements that one call writes or removes.
const BATCH_ELEMENTS: usize = 4096;

impl<K: Pod, V: Pod, T: MapKind<V>> Table<K, V, T> {
    /// Writes many entries. After an error some of them may have been written.
    pub fn insert_all<G: Borrow<T::Input>>(&self, entries: &[(K, G)], flags: Flags) -> Result<(), MapError> {
        let raw = &self.raw;
        for entries in entries.chunks(BATCH_ELEMENTS) {
            let (mut keys, mut values) = (Vec::new(), Vec::new());
            for (key, value) in entries {
                keys.extend_from_slice(key.as_bytes());
                T::write(raw.shape(), raw.name(), value.borrow(), &mut values)?;
            }
            insert_all(raw, &keys, &values, flags)?;
        }
        Ok(())
    }

    /// Removes many keys. Returns the number of keys that existed.
    #[expect(clippy::arithmetic_side_effects, reason = "at most the number of keys, the length of a slice")]
    pub fn remove_all(&self, keys: &[K]) -> Result<usize, MapError> {
        let mut removed = 0usize;
        for keys in keys.chunks(BATCH_ELEMENTS) {
            let keys: Vec<u8> = keys.iter().flat_map(|key| key.as_bytes().iter().copied()).collect();
            removed += remove_all(&self.raw, &keys)?;
        }
        Ok(removed)
    }

    /// Reads and removes all entries. A concurrent write is either returned or stays in the map.
    ///
    /// If the kernel lacks the batch command (before 5.6, and for tries), the method removes one entry at a
    /// time with [`take`](Self::take).
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
                Err(e) if is_unsupported(e) && batches.is_first() => break,
                Err(e) => return Err(self.raw.error(REMOVE, e)),
            }
        }
        // All keys are read first: without the last key, the kernel would begin again with the first key.
        let keys: Vec<_> = Keys::new(&self.raw).collect::<Result<_, _>>()?;
        for key in keys {
            let Some(key) = K::from_bytes(&key) else { continue };
            drained.extend(self.take(&key)?.map(|value| (key, value)));
        }
        Ok(())
    }
}

/// The result of [`Table::drain`]. The error contains the elements removed before.
pub(super) type Drained<E> = Result<Vec<E>, DrainError<E>>;

/// Writes elements.
pub(super) fn insert_all(raw: &RawMap, keys: &[u8], values: &[u8], flags: Flags) -> Result<(), MapError> {
    // The command accepts no other flag.
    if flags == Flags::ANY || flags == Flags::LOCK {
        match raw.shape().update_batch(keys, values, flags.0) {
            Ok(_count) => return Ok(()),
            Err((e, _count)) if is_unsupported(e) => {}
            Err((e, _count)) => return Err(raw.error(INSERT, e)),
        }
    }
    let (keys, values) = (raw.key_chunks(keys)?, raw.value_chunks(values)?);
    keys.zip(values).try_for_each(|(key, value)| raw.insert(key, value, flags.0))
}

/// Removes elements. Returns the number of elements that existed.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "sums of at most the number of keys, the length of a slice"
)]
fn remove_all(raw: &RawMap, keys: &[u8]) -> Result<usize, MapError> {
    let key_count = |keys| raw.key_chunks(keys).map(|chunks| chunks.len());
    let mut left = keys;
    let mut removed = 0usize;
    while !left.is_empty() {
        let total = key_count(left)?;
        let (done, missing) = match raw.shape().delete_batch(left) {
            Ok(count) => (to_usize(count), 0),
            // The command stops at a missing key.
            Err((Errno(libc::ENOENT), count)) => (to_usize(count), 1),
            Err((e, _count)) if is_unsupported(e) => break,
            Err((e, _count)) => return Err(raw.error(REMOVE, e)),
        };
        let too_many = || raw.broken_invariant("the kernel removes no more keys than a batch has");
        let passed = done.checked_add(missing).filter(|passed| *passed <= total).ok_or_else(too_many)?;
        if passed == 0 {
            break;
        }
        removed += done;
        let passed_bytes = passed.checked_mul(raw.shape().key_size());
        left = passed_bytes.and_then(|bytes| left.get(bytes..)).ok_or_else(too_many)?;
    }
    for key in raw.key_chunks(left)? {
        removed += usize::from(raw.remove(key)?);
    }
    Ok(removed)
}
