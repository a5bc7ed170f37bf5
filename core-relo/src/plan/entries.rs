//! The plan and its entries, one for each record.

use super::{
    candidate_lists::{CandidateLists, ListId},
    decision::{Decision, Warning},
    error::RelocError,
    options::Options,
};
use crate::{Name, insn::Slot, relocs::Relocs, resolve::Candidate, spec::Accessor, target::Target};
use alloc::vec::Vec;
use core::fmt;
use hashbrown::HashMap;

/// The decisions about an object's records on one target.
#[derive(Clone)]
pub struct Plan<'p> {
    relocs: &'p Relocs<'p>,
    target: &'p Target<'p>,
    options: Options,
    pub(super) lists: CandidateLists,
    pub(super) entries: Vec<PlanEntry>,
    /// The decisions about records in loads other than the first that has the record, by load and record.
    pub(super) other_loads: HashMap<(usize, usize), PlanEntry>,
}

/// The decision about one record, with the facts behind it.
#[derive(Clone, Debug)]
pub(super) struct PlanEntry {
    pub(super) decision: Result<Decision, RelocError>,
    /// The instruction before relocation, with the patches of earlier records.
    pub(super) before: Option<Slot>,
    pub(super) local_value: Option<u64>,
    pub(super) target_value: Option<u64>,
    /// The list of the candidates of the root type, in which records mark the candidates that they
    /// eliminated.
    pub(super) candidates: Option<ListId>,
    /// The first candidate that matches.
    pub(super) matched_candidate: Option<Candidate>,
    /// The last step of the access in this candidate.
    pub(super) matched_step: Option<Accessor>,
    pub(super) warning: Option<Warning>,
}

impl<'p> Plan<'p> {
    /// Creates a plan without entries.
    pub(super) fn without_entries(
        relocs: &'p Relocs<'p>,
        target: &'p Target<'p>,
        options: Options,
        lists: CandidateLists,
    ) -> Self {
        Self { relocs, target, options, lists, entries: Vec::new(), other_loads: HashMap::new() }
    }

    /// Returns the relocations of the object.
    pub fn relocs(&self) -> &'p Relocs<'p> {
        self.relocs
    }

    /// Returns the target.
    pub fn target(&self) -> &'p Target<'p> {
        self.target
    }

    pub(super) fn options(&self) -> Options {
        self.options
    }

    pub(super) fn entries(&self) -> &[PlanEntry] {
        &self.entries
    }

    /// Returns whether a root type has no candidate in the vmlinux BTF. libbpf then searches the modules for
    /// it.
    pub fn needs_modules(&self) -> bool {
        self.lists.any_without_main()
    }

    /// Returns the essential names of the root types without a candidate in the vmlinux BTF.
    ///
    /// A [`ModuleFilter`](crate::btf::ModuleFilter) of these names selects the modules that may have a
    /// candidate.
    pub fn names_for_modules(&self) -> impl Iterator<Item = Name<'p>> {
        let roots = self.lists.roots_without_main();
        roots.filter_map(|root| self.relocs.btf().ty(root)).map(|root| root.name().essential())
    }
}

impl fmt::Debug for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("target", &self.target.vmlinux().name)
            .field("options", &self.options)
            .field("entry_count", &self.entries.len())
            .finish_non_exhaustive()
    }
}
