//! Classes of types whose graphs may be equal: types of different classes are never merged.
//!
//! The comparison of two graphs ends at their first difference, which may be far away. For many types of one
//! name, that takes time in proportion to the square of their number. The classes are computed for all types
//! at once, in n log n steps (Hopcroft's algorithm for automata: types are states, the references of a record
//! are its transitions), and only where comparisons have taken many steps.
//!
//! The classes are as coarse as the comparison: a forward declaration and the definitions of its name are in
//! one class, whatever their members, and so are enums of one name.

use super::{
    DedupError, UNMAPPED,
    equivalence::{Targets, targets},
    records::{Record, Records},
    usize_of,
};
use crate::{format::Kind, ids::to_u32};
use alloc::vec::Vec;
use core::hash::{BuildHasher as _, Hasher};
use hashbrown::{DefaultHashBuilder, HashMap, HashSet};

/// A reference: the record that refers, and the position of the reference among those of the record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Reference {
    position: u32,
    from: u32,
}

/// A partition of all types into classes, which is refined.
struct Partition {
    /// The types, those of a class one after another.
    types: Vec<u32>,
    /// The position of each type in `types`.
    positions: Vec<u32>,
    class_of: Vec<u32>,
    classes: Vec<Class>,
    /// The classes by which the others have not been split.
    splitters: Vec<u32>,
}

/// The types of a class: a range of [`Partition::types`], of which the first ones are marked.
#[derive(Clone, Copy)]
struct Class {
    start: u32,
    end: u32,
    marked: u32,
}

/// Returns the class of each type. Calls `step` with the number of steps before they are taken.
pub(super) fn classes(
    records: &Records,
    step: impl Fn(usize) -> Result<(), DedupError>,
) -> Result<Vec<u32>, DedupError> {
    let forwards = forward_names(records)?;
    let mut partition = Partition::by_keys(records, &forwards)?;
    let references = References::new(records, &forwards)?;
    step(references.all.len())?;
    let mut found = Vec::new();
    while let Some(splitter) = partition.splitters.pop() {
        found.clear();
        for id in partition.members(splitter)? {
            found.extend_from_slice(references.to(*id)?);
        }
        step(1)?;
        step(found.len())?;
        found.sort_unstable();
        for same_position in found.chunk_by(|a, b| a.position == b.position) {
            partition.split(same_position)?;
        }
    }
    Ok(partition.class_of)
}

/// Returns the names and kinds of all forward declarations.
fn forward_names(records: &Records) -> Result<HashSet<(u32, Kind)>, DedupError> {
    let mut names = HashSet::new();
    for id in 0..records.end() {
        let record = records.get(id)?;
        if record.kind() == Kind::Fwd {
            names.insert((record.name(), record.declared_kind()));
        }
    }
    Ok(names)
}

/// Returns whether the members of a type decide on its class: not those of a type that has a forward
/// declaration.
fn has_references(record: Record<'_>, forwards: &HashSet<(u32, Kind)>) -> bool {
    let is_leaf = matches!(record.kind(), Kind::Int | Kind::Float | Kind::Fwd | Kind::Enum | Kind::Enum64);
    let is_declared = record.kind().is_composite() && forwards.contains(&(record.name(), record.kind()));
    !(is_leaf || is_declared || record.is_never_merged())
}

/// Hashes what equal types have in common, without their references. A collision makes the classes coarser.
fn hash_key(record: Record<'_>, forwards: &HashSet<(u32, Kind)>, hasher: &mut impl Hasher) {
    let mut add = |words: &[u32]| words.iter().for_each(|word| hasher.write_u32(*word));
    let kind = record.kind();
    match kind {
        Kind::Enum | Kind::Enum64 => add(&[0, record.name()]),
        Kind::Fwd => add(&[1, record.name(), u32::from(record.declared_kind() == Kind::Union)]),
        _ if kind.is_composite() && forwards.contains(&(record.name(), kind)) => {
            add(&[1, record.name(), u32::from(kind == Kind::Union)]);
        }
        Kind::Struct | Kind::Union => record.hash_key(hasher),
        Kind::Int | Kind::Float => add(record.words()),
        Kind::Array => {
            add(&record.name_and_info());
            record.array_len().into_iter().for_each(|len| add(&[len]));
        }
        Kind::FuncProto => {
            add(&record.name_and_info());
            record.params().for_each(|[name, _]| add(&[name]));
        }
        _ => add(&record.name_and_info()),
    }
}

/// The references to each type.
struct References {
    all: Vec<Reference>,
    /// The start of the references to each type, and the end of the last.
    starts: Vec<u32>,
}

impl References {
    fn new(records: &Records, forwards: &HashSet<(u32, Kind)>) -> Result<Self, DedupError> {
        let mut pairs = Vec::new();
        for from in 0..records.end() {
            let record = records.get(from)?;
            if !has_references(record, forwards) {
                continue;
            }
            let Targets { first, distance, count } = targets(record);
            let mut at = first;
            for position in 0..to_u32(count) {
                pairs.push((record.word(at)?, Reference { position, from }));
                at = at.wrapping_add_signed(distance);
            }
        }
        pairs.sort_unstable();
        let mut next = 0..;
        let starts = (0..=records.end()).map(|id| {
            while pairs.get(next.start).is_some_and(|(to, _)| *to < id) {
                next.next();
            }
            to_u32(next.start)
        });
        let starts = starts.collect();
        Ok(Self { all: pairs.into_iter().map(|(_, reference)| reference).collect(), starts })
    }

    fn to(&self, id: u32) -> Result<&[Reference], DedupError> {
        let at = usize_of(id);
        let start = self.starts.get(at).copied().ok_or(UNMAPPED)?;
        let end = at.checked_add(1).and_then(|next| self.starts.get(next).copied()).ok_or(UNMAPPED)?;
        self.all.get(usize_of(start)..usize_of(end)).ok_or(UNMAPPED)
    }
}

impl Partition {
    /// Puts types with the same key into one class.
    fn by_keys(records: &Records, forwards: &HashSet<(u32, Kind)>) -> Result<Self, DedupError> {
        let hasher = DefaultHashBuilder::default();
        let mut by_key: HashMap<u64, Vec<u32>> = HashMap::new();
        for id in 0..records.end() {
            let mut state = hasher.build_hasher();
            hash_key(records.get(id)?, forwards, &mut state);
            by_key.entry(state.finish()).or_default().push(id);
        }
        let len = usize_of(records.end());
        let mut partition = Self {
            types: Vec::with_capacity(len),
            positions: alloc::vec![0; len],
            class_of: alloc::vec![0; len],
            classes: Vec::with_capacity(by_key.len()),
            splitters: (0..to_u32(by_key.len())).collect(),
        };
        for ids in by_key.into_values() {
            let start = to_u32(partition.types.len());
            let class = to_u32(partition.classes.len());
            for id in ids {
                *partition.positions.get_mut(usize_of(id)).ok_or(UNMAPPED)? = to_u32(partition.types.len());
                *partition.class_of.get_mut(usize_of(id)).ok_or(UNMAPPED)? = class;
                partition.types.push(id);
            }
            partition.classes.push(Class { start, end: to_u32(partition.types.len()), marked: 0 });
        }
        Ok(partition)
    }

    fn members(&self, class: u32) -> Result<&[u32], DedupError> {
        let Class { start, end, .. } = *self.classes.get(usize_of(class)).ok_or(UNMAPPED)?;
        self.types.get(usize_of(start)..usize_of(end)).ok_or(UNMAPPED)
    }

    /// Splits each class into the types that refer to the splitter at a position, and the others.
    fn split(&mut self, references: &[Reference]) -> Result<(), DedupError> {
        let mut touched = Vec::new();
        for Reference { from, .. } in references {
            let class = self.class_of.get(usize_of(*from)).copied().ok_or(UNMAPPED)?;
            let Class { start, marked, .. } = self.classes.get_mut(usize_of(class)).ok_or(UNMAPPED)?;
            if *marked == 0 {
                touched.push(class);
            }
            let to = start.saturating_add(*marked);
            *marked = marked.saturating_add(1);
            self.swap(*from, to)?;
        }
        for class in touched {
            self.divide(class)?;
        }
        Ok(())
    }

    /// Moves a type to a position of its class.
    fn swap(&mut self, id: u32, to: u32) -> Result<(), DedupError> {
        let from = self.positions.get(usize_of(id)).copied().ok_or(UNMAPPED)?;
        let other = self.types.get(usize_of(to)).copied().ok_or(UNMAPPED)?;
        for (id, position) in [(other, from), (id, to)] {
            *self.types.get_mut(usize_of(position)).ok_or(UNMAPPED)? = id;
            *self.positions.get_mut(usize_of(id)).ok_or(UNMAPPED)? = position;
        }
        Ok(())
    }

    /// Makes the smaller one of the marked and the other types a class of its own.
    fn divide(&mut self, class: u32) -> Result<(), DedupError> {
        let new = to_u32(self.classes.len());
        let old = self.classes.get_mut(usize_of(class)).ok_or(UNMAPPED)?;
        let middle = old.start.saturating_add(core::mem::take(&mut old.marked));
        if middle == old.end {
            return Ok(());
        }
        let (start, end);
        if middle.saturating_sub(old.start) <= old.end.saturating_sub(middle) {
            (start, end) = (old.start, middle);
            old.start = middle;
        } else {
            (start, end) = (middle, old.end);
            old.end = middle;
        }
        self.classes.push(Class { start, end, marked: 0 });
        for position in start..end {
            let id = self.types.get(usize_of(position)).copied().ok_or(UNMAPPED)?;
            *self.class_of.get_mut(usize_of(id)).ok_or(UNMAPPED)? = new;
        }
        // If the old class is still to be used, both are; if not, the smaller one suffices.
        self.splitters.push(new);
        Ok(())
    }
}
