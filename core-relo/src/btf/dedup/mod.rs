//! Each type once: what several BTFs put together say twice is said once (libbpf: `btf__dedup`).
//!
//! In order: names; types that refer to nothing (`primitive`); structs, unions and typedefs, whose graphs are walked side by
//! side (`equivalence`, `composite`); declared structs for which there is one definition (`forward`); and what is left, bottom
//! up (`reference`). The result has libbpf's types in libbpf's order.

mod composite;
mod equivalence;
mod error;
mod forward;
mod primitive;
mod records;
mod reference;
mod table;
#[cfg(test)]
mod tests;

pub use error::DedupError;

use super::{Btf, Builder, import::id_places};
use crate::{
    ids::{TypeId, to_u32},
    limits,
};
use alloc::vec::Vec;
use core::cell::Cell;
use records::{Record, Records};
use table::Table;

/// A BTF with each type once.
#[derive(Clone, Debug)]
pub struct Deduped {
    builder: Builder,
    ids: Vec<TypeId>,
}

impl Deduped {
    /// What became of a type of the BTF that was deduplicated.
    pub fn id(&self, old: TypeId) -> Option<TypeId> {
        self.ids.get(old.index()).copied()
    }

    /// The types left, to add strings or further types to, and to finish.
    pub fn builder(&mut self) -> &mut Builder {
        &mut self.builder
    }

    /// The BTF.
    pub fn finish(&self) -> Vec<u8> {
        self.builder.finish()
    }
}

/// Deduplicates a BTF of its own (one that is split from no other).
///
/// Strings that no type refers to are left out. Two kernels' types take seconds; types made to take forever are given up
/// after [`limits::DEDUP_STEPS`].
///
/// ```
/// use core_relo::{btf::{Btf, Builder, dedup}, Endian, TypeId};
/// let mut b = Builder::new(Endian::Little);
/// for _ in 0..2 {
///     let int = b.int("int", 4, Builder::SIGNED);
///     b.pointer(int);
/// }
/// let deduped = dedup(&Btf::parse(b.finish()).unwrap()).unwrap();
/// assert_eq!(deduped.id(TypeId(4)), Some(TypeId(2)));
/// ```
pub fn dedup(btf: &Btf<'_>) -> Result<Deduped, DedupError> {
    dedup_into(btf, Builder::new(btf.endian()), limits::DEDUP_STEPS)
}

/// As [`dedup`], into a builder of the same byte order that has strings already and no types: those strings stay where they
/// are. It is given up after so many steps, of which each takes some nanoseconds: a type or word compared.
pub fn dedup_into(btf: &Btf<'_>, mut builder: Builder, max_steps: u64) -> Result<Deduped, DedupError> {
    if btf.base().is_some() {
        return Err(DedupError::Split);
    }
    let records = Records::read(btf, &mut builder)?;
    let mut state = State::new(records, max_steps);
    state.primitives()?;
    state.composites()?;
    state.forwards();
    state.references()?;
    state.compact(builder)
}

/// Not yet known what the type becomes.
const OPEN: u32 = u32::MAX;
/// It is being found out: meeting the type again is a loop.
const BUSY: u32 = u32::MAX - 1;

struct State {
    records: Records,
    table: Table,
    /// What each type becomes: itself, or a type that may in turn become another.
    map: Vec<u32>,
    /// While two graphs are compared: which type of the one is which of the other.
    supposed: Vec<u32>,
    /// The types that `supposed` has something for, in the order they were met.
    met: Vec<u32>,
    steps: Cell<u64>,
}

impl State {
    fn new(records: Records, max_steps: u64) -> Self {
        let self_or_open = |id: u32| if records.get(id).is_never_shared() { id } else { OPEN };
        let per_type = u64::from(limits::DEDUP_STEPS_PER_TYPE);
        let steps = u64::from(records.end()).saturating_mul(per_type).min(max_steps);
        let map: Vec<u32> = (0..records.end()).map(self_or_open).collect();
        Self {
            table: Table::default(),
            supposed: alloc::vec![OPEN; map.len()],
            map,
            met: Vec::new(),
            records,
            steps: Cell::new(steps),
        }
    }

    fn own_ids(&self) -> core::ops::Range<u32> {
        1..self.records.end()
    }

    fn mapped(&self, id: u32) -> u32 {
        self.map.get(usize_of(id)).copied().unwrap_or(OPEN)
    }

    fn set_mapped(&mut self, id: u32, to: u32) {
        if let Some(place) = self.map.get_mut(usize_of(id)) {
            *place = to;
        }
    }

    fn is_mapped(&self, id: u32) -> bool {
        self.mapped(id) < BUSY
    }

    /// The type this one becomes in the end, as far as known (libbpf: `resolve_type_id`).
    fn resolve(&self, mut id: u32) -> Result<u32, DedupError> {
        loop {
            let to = self.mapped(id);
            if to >= BUSY || to == id {
                return Ok(id);
            }
            self.step(1)?;
            id = to;
        }
    }

    fn step(&self, n: usize) -> Result<(), DedupError> {
        let left = self.steps.get().checked_sub(to_u32(n).into()).ok_or(DedupError::TooManySteps)?;
        self.steps.set(left);
        Ok(())
    }

    /// Keeps a type that no other stands for, or notes the one that does.
    fn settle(&mut self, id: u32, to: u32, key: Vec<u32>) {
        self.set_mapped(id, to);
        if id == to {
            self.table.add(key, id);
        }
    }

    /// The types that are left, in their order, with ids that have no gaps (libbpf: `btf_dedup_compact_types`,
    /// `btf_dedup_remap_types`).
    fn compact(self, mut builder: Builder) -> Result<Deduped, DedupError> {
        let mut ids = alloc::vec![TypeId::VOID; self.map.len()];
        let kept = || self.own_ids().filter(|id| self.mapped(*id) == *id);
        for (old, new) in kept().zip(1..) {
            if let Some(place) = ids.get_mut(usize_of(old)) {
                *place = TypeId(new);
            }
        }
        for old in self.own_ids() {
            let end = self.resolve(old)?;
            let new = ids.get(usize_of(end)).copied().unwrap_or_default();
            if let Some(place) = ids.get_mut(usize_of(old)).filter(|_| end != old) {
                *place = new;
            }
        }
        for old in kept() {
            let record = self.records.get(old);
            let mut words = record.words().to_vec();
            for at in id_places(record.kind(), words.len()) {
                if let Some(word) = words.get_mut(at) {
                    *word = ids.get(usize_of(*word)).copied().unwrap_or_default().0;
                }
            }
            builder.record_words(&words);
        }
        Ok(Deduped { builder, ids })
    }
}

fn usize_of(id: u32) -> usize {
    TypeId(id).index()
}

/// What keeps a record from being looked at further.
fn bad_kind(id: u32, record: Record<'_>) -> DedupError {
    DedupError::Kind { id: TypeId(id), kind: record.kind() }
}
