//! The elements of a map as bytes, for those who learn its type at run time.

use super::{
    error::{MapError, WALK},
    iter::Source,
    raw::{Raw, is_lacking},
};
use crate::sys::MapFd;
use alloc::vec;
use core::fmt;

/// The elements of a map of whatever type, as bytes: what [`Table::iter`](super::Table::iter) is for types known to the compiler.
#[derive(Debug)]
pub struct Entries(Raw);

impl Entries {
    /// Those of a map.
    pub fn new(map: MapFd) -> Result<Self, MapError> {
        Raw::any(map).map(Self)
    }

    /// Key and value of each; a value is as [`MapShape::value_size`](crate::maps::MapShape::value_size) says.
    ///
    /// An element that is there all the time comes once, whatever comes and goes meanwhile. Places of a map of maps or
    /// programs that are empty are passed over.
    pub fn iter(&self) -> RawEntries<'_> {
        RawEntries { raw: &self.0, source: Source::of(&self.0), read: Vec::new().into_iter() }
    }
}

impl<'m> IntoIterator for &'m Entries {
    type Item = Result<(Vec<u8>, Vec<u8>), MapError>;
    type IntoIter = RawEntries<'m>;

    fn into_iter(self) -> RawEntries<'m> {
        self.iter()
    }
}

/// Keys and values as bytes, see [`Entries::iter`]. After an error there is no more.
pub struct RawEntries<'m> {
    raw: &'m Raw,
    source: Source<'m>,
    read: vec::IntoIter<(Vec<u8>, Vec<u8>)>,
}

impl Iterator for RawEntries<'_> {
    type Item = Result<(Vec<u8>, Vec<u8>), MapError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.read.next() {
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
                            // Gone, or an empty place.
                            Ok(false) => continue,
                            Err(e) => Some(e),
                        }
                    }
                },
                Source::Batches(batches) => match batches.next() {
                    Ok(Some(batch)) => {
                        self.read = batch.bytes().collect::<Vec<_>>().into_iter();
                        continue;
                    }
                    Ok(None) => None,
                    Err(e) if is_lacking(e) && batches.is_first() => {
                        self.source = Source::by_key(self.raw);
                        continue;
                    }
                    Err(e) => Some(self.raw.failed(WALK, e)),
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
