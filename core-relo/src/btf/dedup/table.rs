//! The types kept so far, by what has to be equal before two are compared.

use alloc::vec::Vec;
use hashbrown::HashMap;

/// Types by key. Of several under one key, which one is tried first is as in libbpf: its hash map puts the newest first and
/// turns every list around when it grows.
#[derive(Default)]
pub(super) struct Table {
    lists: HashMap<Vec<u32>, Vec<u32>>,
    len: usize,
    capacity: usize,
}

impl Table {
    /// The type tried so many places after the first.
    pub(super) fn nth(&self, key: &[u32], nth: usize) -> Option<u32> {
        self.lists.get(key)?.iter().rev().nth(nth).copied()
    }

    pub(super) fn add(&mut self, key: Vec<u32>, id: u32) {
        // libbpf: `hashmap_needs_to_grow`, `hashmap_grow`.
        if self.capacity == 0 || self.len.saturating_add(1).saturating_mul(4) / 3 > self.capacity {
            self.capacity = self.capacity.saturating_mul(2).max(4);
            self.lists.values_mut().filter(|list| list.len() > 1).for_each(|list| list.reverse());
        }
        self.lists.entry(key).or_default().push(id);
        self.len = self.len.saturating_add(1);
    }
}
