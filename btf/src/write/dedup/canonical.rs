//! The canonical types found so far, by key (libbpf: `dedup_table`).

use super::{
    error::DedupError,
    records::{Record, Records},
    usize_of,
};
use crate::format::Kind;
use alloc::vec::Vec;
use core::hash::BuildHasher as _;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

/// The error for a type that has no place in a list.
const NO_PLACE: DedupError =
    DedupError::Internal { invariant: "every type of the BTF has a place in the lists of canonical types" };

/// The class of types that are not divided into classes.
const NO_CLASS: u32 = u32::MAX;

/// The end of a list. `void` is in no list.
const END: u32 = 0;

/// The canonical types: those that remain after deduplication. Equal types have equal keys
/// ([`Record::has_key_of`]).
///
/// The types of one key are in libbpf's order of comparison. In libbpf, a new type becomes the first of its
/// list, and each growth of the hash map reverses every list.
pub(super) struct CanonicalTypes {
    lists: HashTable<List>,
    /// The type after each type in its list, by id.
    next: Vec<u32>,
    hasher: DefaultHashBuilder,
    len: usize,
    capacity: usize,
    /// The class of each type by id, if types are divided into classes. Structs, unions and typedefs of
    /// different classes have different lists.
    classes: Vec<u32>,
}

/// The canonical types of one key.
struct List {
    hash: u64,
    class: u32,
    first: u32,
}

impl CanonicalTypes {
    /// Returns no types yet, of a BTF with types before the id `end`.
    pub(super) fn new(end: u32) -> Self {
        Self {
            lists: HashTable::new(),
            next: alloc::vec![END; usize_of(end)],
            hasher: DefaultHashBuilder::default(),
            len: 0,
            capacity: 0,
            classes: Vec::new(),
        }
    }

    /// Returns the type with the key of a type that libbpf compares first.
    pub(super) fn first(&self, records: &Records, id: u32) -> Result<Option<u32>, DedupError> {
        let record = records.get(id)?;
        let (class, mut broken) = (self.class(id, record), None);
        let has_key = |list: &List| list.class == class && has_key(records, list, record, &mut broken);
        let list = self.lists.find(self.hash(record, class), has_key);
        let first = list.map(|list| list.first);
        broken.map_or(Ok(first), Err)
    }

    /// Divides the lists by the classes of types. The order in each list stays.
    pub(super) fn divide(&mut self, records: &Records, classes: Vec<u32>) -> Result<(), DedupError> {
        self.classes = classes;
        for List { first, .. } in core::mem::take(&mut self.lists) {
            // The last type of each class in the list.
            let mut last_of_class: HashMap<u32, u32> = HashMap::new();
            let mut rest = first;
            while rest != END {
                let (id, record) = (rest, records.get(rest)?);
                rest = core::mem::replace(self.next.get_mut(usize_of(id)).ok_or(NO_PLACE)?, END);
                let class = self.class(id, record);
                if let Some(last) = last_of_class.insert(class, id) {
                    *self.next.get_mut(usize_of(last)).ok_or(NO_PLACE)? = id;
                } else {
                    let list = List { hash: self.hash(record, class), class, first: id };
                    self.lists.insert_unique(list.hash, list, |list| list.hash);
                }
            }
        }
        Ok(())
    }

    /// Returns the class that decides on the list of a type.
    fn class(&self, id: u32, record: Record<'_>) -> u32 {
        match record.kind() {
            Kind::Struct | Kind::Union | Kind::Typedef => {
                self.classes.get(usize_of(id)).copied().unwrap_or(NO_CLASS)
            }
            _ => NO_CLASS,
        }
    }

    /// Returns the type that libbpf compares after another.
    pub(super) fn after(&self, id: u32) -> Result<Option<u32>, DedupError> {
        let next = self.next.get(usize_of(id)).copied().ok_or(NO_PLACE)?;
        Ok((next != END).then_some(next))
    }

    /// Adds a type as the first of its key.
    pub(super) fn add(&mut self, records: &Records, id: u32) -> Result<(), DedupError> {
        // As libbpf's `hashmap_needs_to_grow` and `hashmap_grow`.
        self.len = self.len.checked_add(1).ok_or(NO_PLACE)?;
        if self.capacity == 0 || self.len.saturating_mul(4) / 3 > self.capacity {
            self.capacity = self.capacity.saturating_mul(2).max(4);
            self.reverse_lists()?;
        }
        let record = records.get(id)?;
        let class = self.class(id, record);
        let (hash, mut broken) = (self.hash(record, class), None);
        let known = self
            .lists
            .find_mut(hash, |list| list.class == class && has_key(records, list, record, &mut broken));
        if let Some(error) = broken {
            return Err(error);
        }
        if let Some(list) = known {
            *self.next.get_mut(usize_of(id)).ok_or(NO_PLACE)? = list.first;
            list.first = id;
        } else {
            self.lists.insert_unique(hash, List { hash, class, first: id }, |list| list.hash);
        }
        Ok(())
    }

    fn reverse_lists(&mut self) -> Result<(), DedupError> {
        for list in &mut self.lists {
            let (mut reversed, mut rest) = (END, list.first);
            while rest != END {
                let next = self.next.get_mut(usize_of(rest)).ok_or(NO_PLACE)?;
                (reversed, rest, *next) = (rest, *next, reversed);
            }
            list.first = reversed;
        }
        Ok(())
    }

    fn hash(&self, record: Record<'_>, class: u32) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        record.hash_key(&mut hasher);
        if class != NO_CLASS {
            core::hash::Hasher::write_u32(&mut hasher, class);
        }
        core::hash::Hasher::finish(&hasher)
    }
}

fn has_key(records: &Records, list: &List, record: Record<'_>, broken: &mut Option<DedupError>) -> bool {
    match records.get(list.first) {
        Ok(first) => first.has_key_of(record),
        Err(error) => {
            *broken = Some(error);
            false
        }
    }
}
