//! The collection of the types that plans need.

use super::{
    error::MinimiseError,
    marker::MinimalBtf,
    type_table::{TypeNeed, TypeTable},
};
use crate::{
    TypeId,
    btf::{Btf, Kind, Type},
    ext::RelocKind,
    limits,
    plan::{Plan, PlannedReloc},
    resolve::{AccessPattern, Candidate, OutOfSteps, StepBudget},
    target::Target,
};
use alloc::vec::Vec;
use core::mem;

/// The types of a target that plans, and the caller, need.
#[derive(Clone, Debug)]
pub struct Needs<'t> {
    pub(super) target: &'t Target<'t>,
    /// The needed types of each BTF, by the index in a [`Candidate`].
    pub(super) tables: Vec<TypeTable>,
    pub(super) has_original_ids: bool,
    pub(super) mark: Option<MinimalBtf>,
}

impl<'t> Needs<'t> {
    /// Creates the needs of no plan: the type that gives the size of a pointer.
    pub fn new(target: &'t Target<'t>) -> Self {
        let tables = (0..=target.modules().len()).map(|_| TypeTable::default()).collect();
        let mut needs = Self { target, tables, has_original_ids: false, mark: None };
        for btf_index in 0..needs.tables.len() {
            if let Some(long) = needs.btf(btf_index).and_then(Btf::find_long) {
                needs.add_record(btf_index, long);
            }
        }
        needs
    }

    /// Adds the types that a plan needs, for any selection of the plan's programs.
    ///
    /// The plan is one for this target. It has decided the records of all programs that will be planned
    /// later; a record that the plan did not select adds nothing.
    pub fn add_plan(&mut self, plan: &Plan<'_>) -> Result<(), MinimiseError> {
        if !core::ptr::addr_eq(plan.target(), self.target) {
            return Err(MinimiseError::OtherTarget { expected: self.target.vmlinux().name.clone() });
        }
        let mut steps = StepBudget::new(limits::PLAN_STEPS);
        plan.iter().enumerate().try_for_each(|(record, planned)| {
            let mut record_steps = steps.split_off(limits::RECORD_STEPS);
            let added = self.add_record_of_plan(&planned, &mut record_steps);
            steps.merge(record_steps);
            added.map_err(|OutOfSteps| MinimiseError::TooManySteps { record })
        })
    }

    /// Keeps the ids of all types: records of 12 bytes stand for the types that are not needed.
    ///
    /// [`add_plan`](Self::add_plan) does so if a record asks for the id of a kernel's type
    /// (`bpf_core_type_id_kernel`).
    pub fn keep_ids(&mut self) {
        self.has_original_ids = true;
    }

    /// Marks the BTF of vmlinux as minimal, with a typedef after all other types.
    ///
    /// If a target with modules keeps its ids, the mark takes the place of the last type that is not needed,
    /// because the ids of the modules follow those of vmlinux.
    pub fn mark(&mut self, purpose: MinimalBtf) {
        self.mark = Some(purpose);
    }

    /// Returns whether the ids of all types are kept.
    pub fn keeps_ids(&self) -> bool {
        self.has_original_ids
    }

    /// Returns the number of needed types of all BTFs.
    pub fn type_count(&self) -> usize {
        self.tables.iter().map(TypeTable::len).sum()
    }

    fn add_record_of_plan(
        &mut self,
        planned: &PlannedReloc<'_>,
        steps: &mut StepBudget,
    ) -> Result<(), OutOfSteps> {
        let Some(local) = planned.local_spec() else { return Ok(()) };
        for (candidate, _) in planned.candidates() {
            let Candidate { btf_index, id } = candidate;
            steps.take(1)?;
            self.add_extent(btf_index, id);
            match local.kind {
                RelocKind::TypeIdLocal => {}
                RelocKind::TypeMatches => {
                    self.add_shape((planned.btf(), local.root), (btf_index, id), steps)?;
                }
                RelocKind::TypeIdTarget => {
                    self.keep_ids();
                    self.add_declaration_of(btf_index, id);
                }
                kind if kind.is_enumval() => {
                    self.add_enumerator(AccessPattern::new(planned.btf(), local), candidate, steps)?;
                }
                kind if kind.is_field() => {
                    self.add_field(AccessPattern::new(planned.btf(), local), candidate, steps)?;
                }
                _ => self.add_declaration_of(btf_index, id),
            }
        }
        Ok(())
    }

    /// Returns a BTF by the index in a [`Candidate`].
    pub(super) fn btf(&self, btf_index: usize) -> Option<&'t Btf<'t>> {
        self.target.btf(btf_index).map(|target_btf| &*target_btf.btf)
    }

    /// Returns the index of the BTF that owns a type. A module's BTF also gives access to the types of
    /// vmlinux.
    pub(super) fn owner(&self, btf_index: usize, id: TypeId) -> usize {
        let is_own = self.btf(btf_index).is_some_and(|btf| id >= btf.first_id());
        if is_own { btf_index } else { 0 }
    }

    /// Adds the record of a type, and returns its needs. `void` has no record.
    pub(super) fn add_record(&mut self, btf_index: usize, id: TypeId) -> Option<&mut TypeNeed> {
        let owner = self.owner(btf_index, id);
        let exists = id != TypeId::VOID && self.btf(btf_index).is_some_and(|btf| btf.ty(id).is_some());
        Some(self.tables.get_mut(owner).filter(|_| exists)?.entry(id))
    }

    /// Adds a type with all types that decide about its kind, size, sign and elements: chains of modifiers,
    /// typedefs and arrays.
    ///
    /// Each type is visited once, however many types lead to it.
    pub(super) fn add_extent(&mut self, btf_index: usize, id: TypeId) {
        let mut next = Some(id);
        while let Some(id) = next {
            let Some(ty) = self.btf(btf_index).and_then(|btf| btf.ty(id)) else { return };
            let Some(need) = self.add_record(btf_index, id) else { return };
            if mem::replace(&mut need.has_extent, true) {
                return;
            }
            next = match (ty.kind(), ty.array()) {
                (_, Some(array)) => {
                    self.add_record(btf_index, array.index);
                    Some(array.element)
                }
                // Behind a pointer and in a function prototype, no size depends on the types.
                (Kind::Ptr | Kind::FuncProto, _) => None,
                _ => ty.target(),
            };
        }
    }

    /// Adds the extent of a type, and returns the type without its modifiers and typedefs.
    pub(super) fn add_stripped(
        &mut self,
        btf_index: usize,
        id: TypeId,
        steps: &mut StepBudget,
    ) -> Result<Option<Type<'t>>, OutOfSteps> {
        self.add_extent(btf_index, id);
        steps.take(1)?;
        Ok(self.btf(btf_index).and_then(|btf| btf.strip(id).ok()))
    }
}
