//! Elements as bytes, for maps whose type is known at run time only.

use super::{
    error::{MapError, NEXT_KEY},
    iter::Source,
    raw::{RawMap, is_unsupported},
};
use crate::sys::MapFd;
use alloc::vec;
use core::fmt;

/// A map of any type whose elements are read as bytes. [`Table::iter`](super::Table::iter) reads typed
/// elements.
#[derive(Debug)]
pub struct Entries(RawMap);

impl Entries {
    /// Creates a handle of a map.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        RawMap::untyped(map).map(Self)
    }

    /// Iterates over keys and values. A value has [`MapShape::value_size`](crate::maps::MapShape::value_size)
    /// bytes.
    ///
    /// An element that exists during the whole iteration is returned exactly once. Empty elements of maps of
    /// maps or programs are skipped.
    pub fn iter(&self) -> RawEntries<'_> {
        RawEntries { raw: &self.0, source: Source::for_map(&self.0), buffered: Vec::new().into_iter() }
    }
}

impl<'m> IntoIterator for &'m Entries {
    type Item = Result<(Vec<u8>, Vec<u8>), MapError>;
    type IntoIter = RawEntries<'m>;

    fn into_iter(self) -> RawEntries<'m> {
        self.iter()
    }
}

/// The iterator of [`Entries::iter`]. It ends after an error.
pub struct RawEntries<'m> {
    raw: &'m RawMap,
    source: Source<'m>,
    buffered: vec::IntoIter<(Vec<u8>, Vec<u8>)>,
}

impl Iterator for RawEntries<'_> {
    type Item = Result<(Vec<u8>, Vec<u8>), MapError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.buffered.next() {
                return Some(Ok(entry));
            }
            let error = match &mut self.source {
                Source::End => return None,
                Source::Keys(keys) => match keys.next() {
                    None => None,
                    Some(Err(e)) => Some(e),
                    Some(Ok(key)) => {
                        let mut value = vec![0; self.raw.shape().value_size()];
                        match self.raw.get(&key, &mut value, 0) {
                            Ok(true) => return Some(Ok((key, value))),
                            // The element was removed, or it is an empty element.
                            Ok(false) => continue,
                            Err(e) => Some(e),
                        }
                    }
                },
                Source::Batches(batches) => match batches.next() {
                    Ok(Some(batch)) => {
                        self.buffered = batch.bytes().collect::<Vec<_>>().into_iter();
                        continue;
                    }
                    Ok(None) => None,
                    Err(e) if is_unsupported(e) && batches.is_first() => {
                        self.source = Source::by_key(self.raw);
                        continue;
                    }
                    Err(e) => Some(self.raw.error(NEXT_KEY, e)),
                },
            };
            self.source = Source::End;
            return error.map(Err);
        }
    }
}

impl fmt::Debug for RawEntries<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawEntries").field("map", &self.raw.name()).finish_non_exhaustive()
    }
}
