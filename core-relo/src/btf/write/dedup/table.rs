//! The types kept so far, by a key.

use alloc::vec::Vec;
use hashbrown::HashMap;

/// A map from keys to types. Equal types have equal keys.
///
/// The order of the types with one key is that of libbpf, whose hash map puts the newest type first and reverses every list when
/// it grows.
#[derive(Default)]
pub(super) struct Table {
    lists: HashMap<Vec<u32>, Vec<u32>>,
    len: usize,
    capacity: usize,
}

impl Table {
    /// Returns the type that libbpf compares first.
    pub(super) fn first(&self, key: &[u32]) -> Option<u32> {
        self.lists.get(key)?.last().copied()
    }

    /// Removes and returns all types with a key, with libbpf's first type as the last. [`Table::put_back`] restores them.
    pub(super) fn take(&mut self, key: &[u32]) -> Vec<u32> {
        self.lists.get_mut(key).map(core::mem::take).unwrap_or_default()
    }

    pub(super) fn put_back(&mut self, key: &[u32], list: Vec<u32>) {
        if let Some(place) = self.lists.get_mut(key) {
            *place = list;
        }
    }

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
