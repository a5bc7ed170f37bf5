//! What was said of a kernel, said again of the very same file or of one of the very same bytes: fleets run few kernels on many
//! machines.
//!
//! A file is the same if its device and inode, length and times are: then it is not even read. Two files are of the same bytes if
//! they are of one length and two keyed hashes agree, one of the first bytes and one of all. That costs a file which is like no other
//! nothing but the first bytes: all are hashed from the second of these first bytes on.

use crate::input::file::{FileId, PIECE};
use foldhash::quality::{FoldHasher, RandomState as Whole};
use std::{
    collections::{HashMap, VecDeque, hash_map::RandomState},
    hash::{BuildHasher as _, Hasher as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// Different kernels of which is known what was said.
const KEPT: usize = 1024;

/// Bytes of what was said of them.
const KEPT_BYTES: usize = 32 << 20;

/// Files, first bytes and bytes that are remembered.
const FILES: usize = 16_384;
const BEGINNINGS: usize = 4096;

/// First bytes that are hashed: of a raw BTF they say how long its parts are.
const BEGINNING: usize = 1024;

/// What was said of kernels.
pub(crate) struct Same<T> {
    first: RandomState,
    whole: Whole,
    known: Mutex<Known<T>>,
}

struct Known<T> {
    said: VecDeque<(Arc<T>, usize)>,
    /// Bytes of all that.
    size: usize,
    by_file: Bounded<FileId, Weak<T>>,
    by_bytes: Bounded<Bytes, Weak<T>>,
    beginnings: Bounded<Beginning, Met>,
}

/// The hash of a file's first bytes, and how many it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Beginning {
    hash: u64,
    len: u64,
}

/// What is known of files that begin alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    /// There was one.
    Once,
    /// What was said of one is known, so that another may be the same.
    Said,
    /// One was not the same.
    Different,
}

/// The hashes of a file's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bytes {
    beginning: Beginning,
    whole: u64,
}

/// What is known of some bytes.
#[derive(Debug)]
pub(crate) enum Seen<T> {
    /// Nothing, and there may never be more of them.
    New,
    /// Nothing yet, but there was a file like it: [`Same::keep`] what is found out.
    Twice(Bytes),
    /// What was said.
    Said(Arc<T>),
}

/// Bytes being hashed piece by piece.
pub(crate) struct Hashing {
    beginning: Beginning,
    whole: FoldHasher<'static>,
    len: u64,
}

impl Hashing {
    /// Adds [`PIECE`] bytes, or the last ones.
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.whole.write(piece);
        self.len = self.len.saturating_add(len(piece));
    }

    fn finish(mut self) -> Bytes {
        self.whole.write_u64(self.len);
        Bytes { beginning: self.beginning, whole: self.whole.finish() }
    }
}

impl<T> Same<T> {
    pub(crate) fn new() -> Self {
        let known = Known {
            said: VecDeque::new(),
            size: 0,
            by_file: Bounded::new(FILES),
            by_bytes: Bounded::new(BEGINNINGS),
            beginnings: Bounded::new(BEGINNINGS),
        };
        Self { first: RandomState::new(), whole: Whole::default(), known: Mutex::new(known) }
    }

    /// What was said of a file.
    pub(crate) fn of_file(&self, file: &FileId) -> Option<Arc<T>> {
        self.known().by_file.get(file).and_then(Weak::upgrade)
    }

    /// Whether it is worth hashing a file that begins so, is of this length and was not read yet.
    pub(crate) fn expected(&self, head: &[u8], len: u64) -> Option<Hashing> {
        let beginning = self.beginning(head, len, 0);
        let is_expected = self.known().beginnings.get(&beginning) == Some(&Met::Said);
        is_expected.then(|| self.hashing(beginning))
    }

    /// What was said of bytes that were expected, and hashed.
    pub(crate) fn of_expected(&self, hashing: Hashing) -> Option<Arc<T>> {
        let beginning = hashing.beginning;
        let bytes = hashing.finish();
        let mut known = self.known();
        let said = known.by_bytes.get(&bytes).and_then(Weak::upgrade);
        if said.is_none() {
            known.beginnings.put(beginning, Met::Different);
        }
        said
    }

    /// Looks a kernel up by its bytes; `also` is what else tells two apart.
    pub(crate) fn look_up(&self, bytes: &[u8], also: u64) -> Seen<T> {
        let beginning = self.beginning(bytes, len(bytes), also);
        {
            let mut known = self.known();
            if known.beginnings.get(&beginning).is_none() {
                known.beginnings.put(beginning, Met::Once);
                return Seen::New;
            }
        }
        let mut hashing = self.hashing(beginning);
        bytes.chunks(PIECE).for_each(|piece| hashing.add(piece));
        let bytes = hashing.finish();
        self.known().by_bytes.get(&bytes).and_then(Weak::upgrade).map_or(Seen::Twice(bytes), Seen::Said)
    }

    /// Keeps what was said of a file, or of bytes, which takes `size` bytes.
    pub(crate) fn keep(&self, file: Option<FileId>, bytes: Option<Bytes>, said: &Arc<T>, size: usize) {
        if file.is_none() && bytes.is_none() {
            return;
        }
        let mut known = self.known();
        known.said.push_back((Arc::clone(said), size));
        known.size = known.size.saturating_add(size);
        while known.said.len() > KEPT || known.size > KEPT_BYTES {
            let Some((_, size)) = known.said.pop_front() else { break };
            known.size = known.size.saturating_sub(size);
        }
        if let Some(bytes) = bytes {
            known.by_bytes.put(bytes, Arc::downgrade(said));
            let met = known.beginnings.get(&bytes.beginning).copied();
            if met != Some(Met::Different) {
                known.beginnings.put(bytes.beginning, Met::Said);
            }
        }
        drop(known);
        self.also_of(file, said);
    }

    /// Remembers that the same was said of another file.
    pub(crate) fn also_of(&self, file: Option<FileId>, said: &Arc<T>) {
        if let Some(file) = file {
            self.known().by_file.put(file, Arc::downgrade(said));
        }
    }

    fn beginning(&self, bytes: &[u8], len: u64, also: u64) -> Beginning {
        let first = bytes.get(..BEGINNING).unwrap_or(bytes);
        Beginning { hash: self.first.hash_one((also, first)), len }
    }

    fn hashing(&self, beginning: Beginning) -> Hashing {
        Hashing { beginning, whole: self.whole.build_hasher(), len: 0 }
    }

    fn known(&self) -> MutexGuard<'_, Known<T>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn len(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// A map of so many entries; the oldest one makes room.
struct Bounded<K, V> {
    most: usize,
    entries: HashMap<K, V>,
    order: VecDeque<K>,
}

impl<K: Copy + Eq + std::hash::Hash, V> Bounded<K, V> {
    fn new(most: usize) -> Self {
        Self { most, entries: HashMap::new(), order: VecDeque::new() }
    }

    fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key)
    }

    fn put(&mut self, key: K, value: V) {
        if self.entries.insert(key, value).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen<T: Copy>(same: &Same<T>, bytes: &[u8], also: u64) -> Result<T, bool> {
        match same.look_up(bytes, also) {
            Seen::New => Err(false),
            Seen::Twice(_) => Err(true),
            Seen::Said(said) => Ok(*said),
        }
    }

    fn keep<T>(same: &Same<T>, bytes: &[u8], also: u64, said: T) {
        let Seen::Twice(key) = same.look_up(bytes, also) else { unreachable!("seen before") };
        same.keep(key, Arc::new(said));
    }

    #[test]
    fn the_third_of_the_same_bytes_is_known() {
        let same = Same::new();
        let bytes = vec![7u8; 100_000];
        assert_eq!(seen(&same, &bytes, 0), Err(false));
        keep(&same, &bytes, 0, 'x');
        assert_eq!(seen(&same, &bytes, 0), Ok('x'));
        // Nothing else is: other bytes between those of the sample, fewer bytes, what else tells them apart.
        let mut other = bytes.clone();
        other[100] = 8;
        assert_eq!(seen(&same, &other, 0), Err(true), "of the same sample, but not the same");
        other[0] = 8;
        assert_eq!(seen(&same, &other, 0), Err(false));
        assert_eq!(seen(&same, &bytes[1..], 0), Err(false));
        assert_eq!(seen(&same, &bytes, 1), Err(false));
        for short in [&[][..], &[1], &[1; 300]] {
            assert_eq!([seen(&same, short, 0), seen(&same, short, 0)], [Err(false), Err(true)]);
        }
    }

    #[test]
    fn no_more_is_kept_than_was_said() {
        let same = Same::new();
        let count = u32::try_from(2 * KEPT).unwrap();
        for n in 0..count {
            let bytes = n.to_string().into_bytes();
            assert_eq!(seen(&same, &bytes, 0), Err(false));
            keep(&same, &bytes, 0, n);
        }
        assert_eq!(same.known().said.entries.len(), KEPT);
        assert_eq!(seen(&same, b"0", 0), Err(true), "the oldest made room");
        assert_eq!(seen(&same, (count - 1).to_string().as_bytes(), 0), Ok(count - 1));
    }
}
