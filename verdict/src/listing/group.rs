//! Items by key.

use core::hash::Hash;
use std::collections::HashMap;

/// Returns the items of each key, in the order of the keys' first items.
pub(super) fn group_by_key<K: Copy + Eq + Hash, V>(items: impl Iterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let (mut groups, mut positions) = (Vec::<(K, Vec<V>)>::new(), HashMap::new());
    for (key, item) in items {
        let position = *positions.entry(key).or_insert(groups.len());
        match groups.get_mut(position) {
            Some((_, known)) => known.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}
