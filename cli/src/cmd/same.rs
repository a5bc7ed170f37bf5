//! What was said of a kernel, said again of one of the very same bytes: fleets run few kernels on many machines.
//!
//! Two files are the same if they are of one length and two keyed hashes agree, one of a sample and one of all. That costs a file
//! which is like no other nothing but the sample: the bytes are hashed from the second of a sample on.

use foldhash::quality::RandomState as Whole;
use std::{
    collections::{HashMap, VecDeque, hash_map::RandomState},
    hash::BuildHasher as _,
    sync::{Arc, Mutex, PoisonError},
};

/// Different kernels of which is known what was said.
const KEPT: usize = 128;

/// Samples that are remembered.
const SAMPLES: usize = 4096;

/// Bytes that are sampled: the header, and so many pieces all over the file.
const PIECES: usize = 256;
const PIECE: usize = 8;

/// What was said of kernels, by their bytes.
pub(crate) struct Same<T> {
    sampled: RandomState,
    whole: Whole,
    known: Mutex<Known<T>>,
}

struct Known<T> {
    samples: Bounded<Sample, ()>,
    said: Bounded<Bytes, Arc<T>>,
}

/// A sample's hash, and how many bytes it was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Sample(u64, usize);

/// The hashes of a file's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bytes {
    sample: Sample,
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

impl<T> Same<T> {
    pub(crate) fn new() -> Self {
        let known = Known { samples: Bounded::new(SAMPLES), said: Bounded::new(KEPT) };
        Self { sampled: RandomState::new(), whole: Whole::default(), known: Mutex::new(known) }
    }

    /// Looks a kernel up by its bytes; `also` is what else tells two apart.
    pub(crate) fn look_up(&self, bytes: &[u8], also: u64) -> Seen<T> {
        let sample = self.sample(bytes, also);
        {
            let mut known = self.known();
            if known.samples.get(&sample).is_none() {
                known.samples.put(sample, ());
                return Seen::New;
            }
        }
        let bytes = Bytes { sample, whole: self.whole.hash_one(bytes) };
        self.known().said.get(&bytes).map_or(Seen::Twice(bytes), |said| Seen::Said(Arc::clone(said)))
    }

    pub(crate) fn keep(&self, bytes: Bytes, said: Arc<T>) {
        self.known().said.put(bytes, said);
    }

    fn sample(&self, bytes: &[u8], also: u64) -> Sample {
        let step = (bytes.len() / PIECES).max(PIECE);
        let pieces = bytes.chunks(step).map(|chunk| chunk.get(..PIECE).unwrap_or(chunk));
        Sample(self.sampled.hash_one((also, pieces.collect::<Vec<_>>())), bytes.len())
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known<T>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
