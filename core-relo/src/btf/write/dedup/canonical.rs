//! The canonical types found so far, by key (libbpf: `dedup_table`).

use alloc::vec::Vec;
use hashbrown::HashMap;

/// A map from keys to canonical types: those that remain after deduplication. Equal types have equal keys.
///
/// The types of one key are in libbpf's order of comparison. In libbpf, a new type becomes the first of its list, and each growth
/// of the hash map reverses every list.
#[derive(Default)]
pub(super) struct CanonicalTypes {
    lists: HashMap<Vec<u32>, Vec<u32>>,
    len: usize,
    capacity: usize,
}

impl CanonicalTypes {
    /// Returns the type of this key that libbpf compares first.
    pub(super) fn first(&self, key: &[u32]) -> Option<u32> {
        self.lists.get(key)?.last().copied()
    }

    /// Removes and returns all types of a key, in the reverse of libbpf's order. [`CanonicalTypes::put_back`] restores them.
    pub(super) fn take(&mut self, key: &[u32]) -> Vec<u32> {
        self.lists.get_mut(key).map(core::mem::take).unwrap_or_default()
    }

    /// Restores the types that [`CanonicalTypes::take`] removed.
    pub(super) fn put_back(&mut self, key: &[u32], list: Vec<u32>) {
        if let Some(slot) = self.lists.get_mut(key) {
            *slot = list;
        }
    }

    /// Adds a type as the first of its key.
    pub(super) fn add(&mut self, key: Vec<u32>, id: u32) {
        // As libbpf's `hashmap_needs_to_grow` and `hashmap_grow`.
        if self.capacity == 0 || self.len.saturating_add(1).saturating_mul(4) / 3 > self.capacity {
            self.capacity = self.capacity.saturating_mul(2).max(4);
            self.lists.values_mut().filter(|list| list.len() > 1).for_each(|list| list.reverse());
        }
        self.lists.entry(key).or_default().push(id);
        self.len = self.len.saturating_add(1);
    }
}
