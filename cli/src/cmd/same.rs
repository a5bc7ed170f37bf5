//! What was said of a kernel, said again of the very same file or of one of the very same bytes: fleets run few kernels on many
//! machines.
//!
//! A file is the same if its device and inode, length and times are: then it is not even read. Two files are of the same bytes if
//! they are of one length and two keyed hashes agree, one of the first bytes and one of all. That costs a file which is like no other
//! nothing but the first bytes: all are hashed from the second file that begins so on, and the first one is read again for it.

use crate::input::file::{FileId, PIECE};
use foldhash::quality::{FoldHasher, RandomState as Whole};
use std::{
    collections::{HashMap, VecDeque, hash_map::RandomState},
    hash::{BuildHasher as _, Hasher as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// Different kernels of which is known what was said.
const KEPT: usize = 1024;

/// Bytes of what was said of them.
const KEPT_BYTES: usize = 16 << 20;

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
    /// The first file that began so, until its bytes are asked for.
    beginnings: Bounded<Beginning, Option<(PathBuf, FileId)>>,
}

/// The hash of a file's first bytes, and how many it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Beginning {
    hash: u64,
    len: u64,
}

/// The hashes of a file's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bytes {
    beginning: Beginning,
    whole: u64,
}

/// What is known of some bytes.
pub(crate) enum Seen<T> {
    /// Nothing, and there may never be more of them.
    New,
    /// Nothing yet, but there was a file like it: [`Same::keep`] what is found out. It may be of the same bytes.
    Twice(Bytes, Option<First<T>>),
    /// What was said.
    Said(Arc<T>),
}

/// A file whose bytes were not hashed when there was no other like it, and what was said of it.
pub(crate) struct First<T> {
    pub(crate) path: PathBuf,
    pub(crate) id: FileId,
    pub(crate) hashing: Hashing,
    said: Arc<T>,
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

    /// Looks a kernel up by its bytes, which are all of a file, or not; `also` is what else tells two apart.
    pub(crate) fn look_up(&self, bytes: &[u8], also: u64, file: Option<(&Path, FileId)>) -> Seen<T> {
        let beginning = Beginning { hash: self.first.hash_one((also, start(bytes))), len: len(bytes) };
        let first = {
            let mut known = self.known();
            let Known { beginnings, by_file, .. } = &mut *known;
            let Some(first) = beginnings.get_mut(&beginning) else {
                beginnings.put(beginning, file.map(|(path, id)| (path.to_path_buf(), id)));
                return Seen::New;
            };
            // As long as nothing was said of it there is nothing to say again.
            let said = first.as_ref().and_then(|(_, id)| by_file.get(id)?.upgrade());
            said.and_then(|said| Some((first.take()?, said)))
        };
        let hashing = || Hashing { beginning, whole: self.whole.build_hasher(), len: 0 };
        let mut whole = hashing();
        bytes.chunks(PIECE).for_each(|piece| whole.add(piece));
        let whole = whole.finish();
        if let Some(said) = self.known().by_bytes.get(&whole).and_then(Weak::upgrade) {
            return Seen::Said(said);
        }
        Seen::Twice(whole, first.map(|((path, id), said)| First { path, id, hashing: hashing(), said }))
    }

    /// What was said of the first file that began as `bytes` do, all of which was hashed now, if these are its bytes.
    pub(crate) fn of_first(&self, first: First<T>, bytes: Bytes) -> Option<Arc<T>> {
        let of_first = first.hashing.finish();
        self.known().by_bytes.put(of_first, Arc::downgrade(&first.said));
        (of_first == bytes).then_some(first.said)
    }

    /// Keeps what was said of a file, or of bytes, which takes `size` bytes.
    pub(crate) fn keep(&self, file: Option<FileId>, bytes: Option<Bytes>, said: &Arc<T>, size: usize) {
        // What is too much by itself must not put out all the others.
        if (file.is_none() && bytes.is_none()) || size > KEPT_BYTES {
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

    fn known(&self) -> MutexGuard<'_, Known<T>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start(bytes: &[u8]) -> &[u8] {
    bytes.get(..BEGINNING).unwrap_or(bytes)
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

    fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key)
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
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

    use super::*;
    use std::{
        fs,
        time::{Duration, SystemTime},
    };

    fn seen<T: Copy>(same: &Same<T>, bytes: &[u8], also: u64) -> Result<T, bool> {
        match same.look_up(bytes, also, None) {
            Seen::New => Err(false),
            Seen::Twice(..) => Err(true),
            Seen::Said(said) => Ok(*said),
        }
    }

    fn keep<T>(same: &Same<T>, bytes: &[u8], also: u64, said: T, size: usize) {
        let Seen::Twice(key, None) = same.look_up(bytes, also, None) else { unreachable!("seen before") };
        same.keep(None, Some(key), &Arc::new(said), size);
    }

    /// Files of their own, and their identities.
    fn files(folder: &Path, n: usize) -> Vec<(PathBuf, FileId)> {
        let later = SystemTime::now() + Duration::from_secs(10);
        let one = |n: usize| {
            let path = folder.join(n.to_string());
            fs::write(&path, "x").unwrap();
            let id = FileId::new(&path, &fs::metadata(&path).unwrap(), later).unwrap();
            (path, id)
        };
        (0..n).map(one).collect()
    }

    #[test]
    fn the_third_of_the_same_bytes_is_known() {
        let same = Same::new();
        let bytes = vec![7u8; 3 * PIECE + 5];
        assert_eq!(seen(&same, &bytes, 0), Err(false));
        keep(&same, &bytes, 0, 'x', 1);
        assert_eq!(seen(&same, &bytes, 0), Ok('x'));
        // Nothing else is: other bytes in any piece, fewer bytes, what else tells them apart.
        for at in [BEGINNING, PIECE, bytes.len() - 1] {
            let mut other = bytes.clone();
            other[at] = 8;
            assert_eq!(seen(&same, &other, 0), Err(true), "begins so, but is not the same");
            other[0] = 8;
            assert_eq!(seen(&same, &other, 0), Err(at != BEGINNING));
        }
        assert_eq!(seen(&same, &bytes[1..], 0), Err(false));
        assert_eq!(seen(&same, &bytes, 1), Err(false));
        for short in [&[][..], &[1], &[1; 300]] {
            assert_eq!([seen(&same, short, 0), seen(&same, short, 0)], [Err(false), Err(true)]);
        }
    }

    #[test]
    fn a_file_is_known_at_its_second_sight() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), 2);
        let [(_, first), (_, other)] = files[..] else { unreachable!("two") };
        let same = Same::new();
        assert_eq!(same.of_file(&first), None);
        let said = Arc::new('x');
        same.keep(Some(first), None, &said, 1);
        assert_eq!((same.of_file(&first).as_deref(), same.of_file(&other)), (Some(&'x'), None));
        same.also_of(Some(other), &said);
        assert_eq!(same.of_file(&other).as_deref(), Some(&'x'));
    }

    #[test]
    fn the_first_of_some_bytes_is_hashed_when_a_second_comes() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), 4);
        let bytes = vec![7u8; PIECE + 5];
        let mut other = bytes.clone();
        other[PIECE] = 8;
        for (of_first, expected) in [(&bytes, Some('x')), (&other, None)] {
            let same = Same::new();
            let look_up =
                |n: usize| same.look_up(&bytes, 0, files.get(n).map(|(path, id)| (path.as_path(), *id)));
            assert!(matches!(look_up(0), Seen::New));
            // It may still be planned.
            assert!(matches!(look_up(1), Seen::Twice(_, None)));
            same.keep(Some(files[0].1), None, &Arc::new('x'), 1);
            let Seen::Twice(key, Some(mut first)) = look_up(2) else { unreachable!("there was one") };
            assert_eq!((&first.path, first.id), (&files[0].0, files[0].1));
            of_first.chunks(PIECE).for_each(|piece| first.hashing.add(piece));
            assert_eq!(same.of_first(first, key).as_deref().copied(), expected);
            match look_up(3) {
                Seen::Said(said) => assert_eq!(Some(*said), expected),
                Seen::Twice(_, None) => assert_eq!(None, expected),
                _ => unreachable!("it is hashed once"),
            }
            assert_eq!(seen(&same, of_first, 0), Ok('x'));
        }
    }

    fn kept<T>(same: &Same<T>) -> (usize, usize) {
        let known = same.known();
        (known.said.len(), known.size)
    }

    #[test]
    fn no_more_is_kept_than_was_said() {
        let same = Same::new();
        let count = u32::try_from(KEPT + 100).unwrap();
        let bytes = |n: u32| n.to_string().into_bytes();
        for n in 0..count {
            assert_eq!(seen(&same, &bytes(n), 0), Err(false));
            keep(&same, &bytes(n), 0, n, 1);
        }
        assert_eq!(kept(&same), (KEPT, KEPT));
        assert_eq!(seen(&same, b"0", 0), Err(true), "the oldest made room");
        assert_eq!(seen(&same, &bytes(count - 1), 0), Ok(count - 1));
        // What takes much memory makes others go.
        keep(&same, b"0", 0, 0, KEPT_BYTES);
        assert_eq!((kept(&same), seen(&same, b"0", 0)), ((1, KEPT_BYTES), Ok(0)));
        keep(&same, b"1", 0, 1, KEPT_BYTES + 1);
        assert_eq!((kept(&same), seen(&same, b"0", 0)), ((1, KEPT_BYTES), Ok(0)), "too much by itself");
        let mut few = Bounded::new(3);
        (0..9).for_each(|n| few.put(n % 5, n));
        assert_eq!((few.entries.len(), few.order.len()), (3, 3));
        assert_eq!([few.get(&1), few.get(&2), few.get(&3)], [Some(&6), Some(&7), Some(&8)]);
    }
}
