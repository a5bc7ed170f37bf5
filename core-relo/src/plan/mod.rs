//! Every relocation of an object on one target, decided: pure, total, and keeping on after a bad record.
//!
//! [`Plan::new`] never fails as a whole. Each record becomes a [`Decision`] or a [`RelocError`], and every check that could
//! refuse it is made here, also those that libbpf makes while patching. [`Plan::patched`] only copies.

mod decide;
mod error;
mod lists;
mod objects;
mod patch;
mod patched;
mod planned;
mod shared;

pub use error::{InsnError, PlanError, RelocError};
pub use objects::Objects;
pub use patched::Patched;
pub use planned::{Planned, Tried, Verdict};

use crate::{
    insn::Slot,
    name::Name,
    relocs::{Record, Relocs},
    resolve::Candidate,
    target::Target,
};
use alloc::vec::Vec;
use lists::{CandidateLists, ListId};

/// What is to be done with one record's instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The value is the same in the target, and so is the instruction.
    Keep {
        /// The value.
        value: u64,
    },
    /// The instruction is to be replaced.
    Patch {
        /// The value in the object.
        local: u64,
        /// The value in the target.
        target: u64,
        /// The finished instruction.
        slot: Slot,
    },
    /// The instruction is to be replaced by one that the verifier refuses if it can be reached.
    Poison {
        /// The finished instruction.
        slot: Slot,
        /// Why there is no value.
        why: PoisonReason,
    },
    /// The record takes no part.
    Skip(SkipReason),
}

/// Why an instruction is poisoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoisonReason {
    /// The target has no type of the root's name and kind.
    NoCandidates,
    /// It has, but none of them has what is accessed.
    NoMatch,
    /// A load or store would have to change its width, and its meaning with it.
    Width {
        /// The width of the memory in the object, in bytes; 0 for a bitfield.
        local: u32,
        /// The width in the target.
        target: u32,
    },
}

/// Why a record takes no part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    /// No function covers its instruction: one of several weak functions that the linker dropped.
    NoFunction,
    /// The object has no code section of that name.
    NoSection,
    /// Its program is not among those the plan was made for.
    NotSelected,
}

/// Something that is not an error and yet worth a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// Candidates agree in the field's place and differ in its width; the first counts, as in libbpf, which says nothing.
    WidthsDiffer {
        /// The candidate that counts.
        first: Candidate,
        /// The other.
        other: Candidate,
        /// The field's width in bytes in the first.
        first_width: u32,
        /// The field's width in bytes in the other.
        other_width: u32,
    },
}

/// Where we can be asked to differ from libbpf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Reads the enumerators of an unsigned ENUM as C does, zero-extended.
    ///
    /// libbpf sign-extends them all and then refuses those from 0x8000_0000 on, for the instruction holds another value. So
    /// do we unless this is set; cilium/ebpf and aya always zero-extend.
    pub zero_extend_unsigned_enums: bool,
}

impl Options {
    /// Sets [`zero_extend_unsigned_enums`](Self::zero_extend_unsigned_enums).
    #[must_use]
    pub fn zero_extend_unsigned_enums(mut self, yes: bool) -> Self {
        self.zero_extend_unsigned_enums = yes;
        self
    }
}

/// How many records came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Value and instruction unchanged.
    pub kept: usize,
    /// Instructions replaced.
    pub patched: usize,
    /// Instructions poisoned.
    pub poisoned: usize,
    /// Records in error: the object would not load.
    pub failed: usize,
    /// Records that take no part.
    pub skipped: usize,
}

impl Summary {
    /// Every record.
    pub fn total(&self) -> usize {
        [self.kept, self.patched, self.poisoned, self.failed, self.skipped].iter().sum()
    }

    /// Whether nothing was poisoned and nothing failed.
    pub fn is_clean(&self) -> bool {
        self.poisoned == 0 && self.failed == 0
    }
}

/// The decisions for an object on a target.
#[derive(Clone, Debug)]
pub struct Plan<'p> {
    relocs: &'p Relocs<'p>,
    target: &'p Target<'p>,
    options: Options,
    lists: CandidateLists,
    /// What is left of [`limits::PLAN_STEPS`].
    steps_left: u32,
    entries: Vec<Entry>,
}

/// One record's outcome.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) decision: Result<Decision, RelocError>,
    /// The instruction before, earlier records' patches included.
    pub(crate) before: Option<Slot>,
    pub(crate) local_value: Option<u64>,
    pub(crate) target_value: Option<u64>,
    /// The candidates of its root type; the plan knows which were out when its turn came.
    pub(crate) candidates: Option<ListId>,
    pub(crate) matched: Option<Candidate>,
    pub(crate) warning: Option<Warning>,
}

impl<'p> Plan<'p> {
    /// Decides every record, as if all programs were to be loaded.
    pub fn new(relocs: &'p Relocs<'p>, target: &'p Target<'p>) -> Self {
        Self::with(relocs, target, Options::default(), |_| true)
    }

    /// Decides the records of the functions for which `selected` holds.
    ///
    /// As in libbpf a type's candidates narrow in record order over the records that take part, so the selection can change
    /// what the others come to.
    pub fn with(
        relocs: &'p Relocs<'p>,
        target: &'p Target<'p>,
        options: Options,
        selected: impl Fn(&Record<'_>) -> bool,
    ) -> Self {
        objects::plan(relocs, target, options, &selected)
    }

    /// [`new`](Self::new) of each object, their names looked for in one pass over the target; [`Objects`] prepares them for several.
    pub fn many(relocs: &[&'p Relocs<'p>], target: &'p Target<'p>) -> Vec<Self> {
        Objects::for_one_target(relocs.iter().copied()).plans(target)
    }

    /// The object's side.
    pub fn relocs(&self) -> &'p Relocs<'p> {
        self.relocs
    }

    /// The kernel's side.
    pub fn target(&self) -> &'p Target<'p> {
        self.target
    }

    /// The outcome of every record, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Planned<'_>> {
        let numbered = self.relocs.records().iter().zip(&self.entries).enumerate();
        numbered.map(|(number, (record, entry))| Planned::new(self, number, record, entry))
    }

    /// The outcome of one record, by its place among all.
    pub fn get(&self, number: usize) -> Option<Planned<'_>> {
        let record = self.relocs.records().get(number)?;
        Some(Planned::new(self, number, record, self.entries.get(number)?))
    }

    /// How many records came to what.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for entry in &self.entries {
            let count = match entry.decision {
                Ok(Decision::Keep { .. }) => &mut summary.kept,
                Ok(Decision::Patch { .. }) => &mut summary.patched,
                Ok(Decision::Poison { .. }) => &mut summary.poisoned,
                Ok(Decision::Skip(_)) => &mut summary.skipped,
                Err(_) => &mut summary.failed,
            };
            *count = count.saturating_add(1);
        }
        summary
    }

    /// Whether a root type has no candidate in the main BTF, so that modules (if there are more than the target holds)
    /// would be looked at.
    pub fn wants_modules(&self) -> bool {
        self.lists.any_without_main()
    }

    /// The essential names of these root types: a [`ModuleFilter`](crate::btf::ModuleFilter) of them tells which modules to look at.
    pub fn wanted_of_modules(&self) -> impl Iterator<Item = Name<'p>> {
        let roots = self.lists.without_main();
        roots.filter_map(|root| self.relocs.btf().ty(root)).map(|root| root.name().essential())
    }

    /// The code with every decision carried out, or every error.
    pub fn patched(&self) -> Result<Patched, PlanError> {
        patched::patched(self)
    }
}

#[cfg(test)]
mod tests;
