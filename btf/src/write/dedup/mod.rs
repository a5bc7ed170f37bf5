//! Deduplication: equal types are merged into one (libbpf: `btf__dedup`).
//!
//! The steps, in order:
//!
//! 1. names
//! 2. types without references (`primitive`)
//! 3. structs, unions and typedefs, by comparing their graphs (`equivalence`, `composite`)
//! 4. forward declarations with one definition (`forward`)
//! 5. the remaining types, after the types to which they refer (`reference`)
//!
//! The types of a base stay as they are: every one of them is canonical. Types of a split BTF are mapped to
//! equal types of its base.
//!
//! The result has the same types as libbpf's, in the same order.

mod canonical;
#[cfg(test)]
mod class_tests;
mod classes;
mod composite;
mod equivalence;
mod error;
mod forward;
mod primitive;
mod records;
mod reference;
#[cfg(test)]
mod tests;

pub use error::DedupError;

use super::builder::Builder;
use crate::{
    format::References,
    ids::{TypeId, to_u32},
    limits,
    parse::Btf,
};
use alloc::vec::Vec;
use canonical::CanonicalTypes;
use core::cell::Cell;
use equivalence::Comparing;
use records::{Record, Records};

/// The result of deduplication.
#[derive(Clone, Debug)]
pub struct DedupResult {
    builder: Builder,
    ids: Vec<TypeId>,
}

impl DedupResult {
    /// Returns the new id of a type of the original BTF.
    ///
    /// Types of the base keep their ids. The id of a forward declaration in the base may be that of a
    /// definition in the split BTF.
    pub fn id(&self, old: TypeId) -> Option<TypeId> {
        self.ids.get(old.index()).copied()
    }

    /// Returns a builder with the remaining types, to which strings and types can be added.
    pub fn builder(&mut self) -> &mut Builder {
        &mut self.builder
    }

    /// Returns the bytes of the deduplicated BTF.
    pub fn finish(&self) -> Vec<u8> {
        self.builder.finish()
    }
}

/// Deduplicates a BTF. The result for a split BTF has the same base, and lacks all types that the base has.
///
/// The result contains only strings to which a type refers, and no layout section. Hostile types end with an
/// error after [`limits::DEDUP_STEPS`].
///
/// ```
/// use core_relo_btf::{Btf, Builder, Endian, TypeId, dedup};
/// let mut b = Builder::new(Endian::Little);
/// for _ in 0..2 {
///     let int = b.int("int", 4, Builder::SIGNED);
///     b.pointer(int);
/// }
/// let deduped = dedup(&Btf::parse(b.finish()).unwrap()).unwrap();
/// assert_eq!(deduped.id(TypeId(4)), Some(TypeId(2)));
/// ```
pub fn dedup(btf: &Btf<'_>) -> Result<DedupResult, DedupError> {
    let builder = match btf.base() {
        Some(base) => Builder::split_with_strings(base),
        None => Builder::new(btf.endian()),
    };
    dedup_into(btf, builder, limits::DEDUP_STEPS)
}

/// As [`dedup`], into a builder of the same byte order and base that has strings and no types. The strings
/// keep their offsets.
///
/// Ends with an error after `max_steps`. A step, a comparison of a type or a word, takes some nanoseconds.
pub fn dedup_into(btf: &Btf<'_>, builder: Builder, max_steps: u64) -> Result<DedupResult, DedupError> {
    dedup_with(btf, builder, StepLimits { max: max_steps, before_classes: STEPS_BEFORE_CLASSES })
}

/// The steps of a deduplication.
#[derive(Clone, Copy)]
struct StepLimits {
    max: u64,
    /// The steps for each type before types are divided into classes.
    before_classes: u64,
}

fn dedup_with(btf: &Btf<'_>, mut builder: Builder, limits: StepLimits) -> Result<DedupResult, DedupError> {
    if builder.next_id() != btf.first_id() {
        return Err(DedupError::BuilderBase { expected: btf.first_id(), found: builder.next_id() });
    }
    let records = Records::read(btf, &mut builder)?;
    let mut deduplicator = Deduplicator::new(records, btf.first_id().0, limits)?;
    deduplicator.add_base_types()?;
    deduplicator.dedup_primitives()?;
    deduplicator.dedup_composites()?;
    deduplicator.resolve_forwards()?;
    deduplicator.dedup_references()?;
    deduplicator.compact(builder)
}

/// The error for an id without a mapping.
const UNMAPPED: DedupError = DedupError::Internal { invariant: "every type of the BTF has a mapping" };

/// The steps for each type before all types are divided into classes. The BTF of most kernels needs 70 to 105
/// steps.
const STEPS_BEFORE_CLASSES: u64 = 120;

/// The mapping of a type that is not resolved yet.
const UNRESOLVED: u32 = u32::MAX;
/// The mapping of a type that is being resolved. A second visit is a loop.
const IN_PROGRESS: u32 = u32::MAX - 1;

struct Deduplicator {
    records: Records,
    /// The id of the first type that is not a type of the base.
    first_own: u32,
    canonical: CanonicalTypes,
    /// The type to which each type is mapped. A canonical type is mapped to itself. Other mappings may form
    /// chains.
    map: Vec<u32>,
    /// The hypothetical mapping from canonical types to candidate types, while the two graphs are compared
    /// (libbpf: `hypot_map`).
    hypot_map: Vec<u32>,
    /// The types with a mapping in `hypot_map`, in the order of the comparison (libbpf: `hypot_list`).
    hypot_list: Vec<u32>,
    /// The pairs of types on the way from the compared types to the types that are compared now.
    comparing: Vec<Comparing>,
    /// Whether the graphs are equal only if a FWD of the base is a type of the split BTF (libbpf:
    /// `hypot_adjust_canon`).
    defines_base_forward: bool,
    steps_left: Cell<u64>,
    /// The number of steps left at which types are divided into classes; 0 after that.
    classes_below: u64,
}

impl Deduplicator {
    fn new(records: Records, first_own: u32, step_limits: StepLimits) -> Result<Self, DedupError> {
        let self_or_unresolved = |id: u32| {
            let is_canonical = id < first_own || records.get(id)?.is_never_merged();
            Ok(if is_canonical { id } else { UNRESOLVED })
        };
        let per_type = u64::from(limits::DEDUP_STEPS_PER_TYPE);
        let steps = u64::from(records.end()).saturating_mul(per_type).min(step_limits.max);
        let before_classes =
            u64::from(records.end()).saturating_mul(step_limits.before_classes).min(steps / 2);
        let map = (0..records.end()).map(self_or_unresolved).collect::<Result<Vec<u32>, DedupError>>()?;
        Ok(Self {
            canonical: CanonicalTypes::new(records.end()),
            hypot_map: alloc::vec![UNRESOLVED; map.len()],
            map,
            hypot_list: Vec::new(),
            comparing: Vec::new(),
            defines_base_forward: false,
            records,
            first_own,
            steps_left: Cell::new(steps),
            classes_below: steps.saturating_sub(before_classes),
        })
    }

    fn own_ids(&self) -> core::ops::Range<u32> {
        self.first_own..self.records.end()
    }

    /// Adds the types of the base to the canonical types (libbpf: `btf_dedup_prep`).
    fn add_base_types(&mut self) -> Result<(), DedupError> {
        for id in 1..self.first_own {
            if !self.records.get(id)?.is_never_merged() {
                self.canonical.add(&self.records, id)?;
            }
        }
        Ok(())
    }

    fn mapped(&self, id: u32) -> Result<u32, DedupError> {
        self.map.get(usize_of(id)).copied().ok_or(UNMAPPED)
    }

    fn set_mapped(&mut self, id: u32, to: u32) -> Result<(), DedupError> {
        *self.map.get_mut(usize_of(id)).ok_or(UNMAPPED)? = to;
        Ok(())
    }

    fn is_mapped(&self, id: u32) -> Result<bool, DedupError> {
        Ok(self.mapped(id)? < IN_PROGRESS)
    }

    /// Returns the type at the end of the known mappings (libbpf: `resolve_type_id`).
    fn resolve(&self, mut id: u32) -> Result<u32, DedupError> {
        loop {
            let to = self.mapped(id)?;
            if to >= IN_PROGRESS || to == id {
                return Ok(id);
            }
            self.step(1)?;
            id = to;
        }
    }

    /// Spends steps of the budget, or returns an error if too few are left.
    fn step(&self, n: usize) -> Result<(), DedupError> {
        let left = self.steps_left.get().checked_sub(to_u32(n).into()).ok_or(DedupError::TooManySteps)?;
        self.steps_left.set(left);
        Ok(())
    }

    /// Maps a type to a canonical type. A type that is mapped to itself becomes canonical.
    fn map_to(&mut self, id: u32, to: u32) -> Result<(), DedupError> {
        self.set_mapped(id, to)?;
        if id == to {
            self.canonical.add(&self.records, id)?;
        }
        Ok(())
    }

    /// Adds the canonical types to the builder, in their order, with consecutive ids (libbpf:
    /// `btf_dedup_compact_types`, `btf_dedup_remap_types`).
    fn compact(self, mut builder: Builder) -> Result<DedupResult, DedupError> {
        let mut ids: Vec<TypeId> = (0..self.records.end()).map(TypeId).collect();
        let canonical: Vec<u32> = self
            .own_ids()
            .zip(self.map.iter().skip(usize_of(self.first_own)).copied())
            .filter(|(id, to)| id == to)
            .map(|(id, _)| id)
            .collect();
        for (old, new) in canonical.iter().zip(self.first_own..) {
            *ids.get_mut(usize_of(*old)).ok_or(UNMAPPED)? = TypeId(new);
        }
        // A FWD of the base may be mapped to a type of the split BTF.
        for old in 1..self.records.end() {
            let end = self.resolve(old)?;
            let new = ids.get(usize_of(end)).copied().ok_or(UNMAPPED)?;
            if end != old {
                *ids.get_mut(usize_of(old)).ok_or(UNMAPPED)? = new;
            }
        }
        for old in canonical {
            let record = self.records.get(old)?;
            let mut words = record.words().to_vec();
            for at in References::new(record.kind(), words.len()).ids() {
                if let Some(word) = words.get_mut(at) {
                    *word = ids.get(usize_of(*word)).copied().ok_or(UNMAPPED)?.0;
                }
            }
            builder.record_words(&words);
        }
        Ok(DedupResult { builder, ids })
    }
}

fn usize_of(id: u32) -> usize {
    TypeId(id).index()
}

/// Returns the error for a type to which no type may refer.
fn bad_kind(id: u32, record: Record<'_>) -> DedupError {
    DedupError::Kind { id: TypeId(id), kind: record.kind() }
}
