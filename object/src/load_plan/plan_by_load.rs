//! The relocations of an object in the loads of its programs: the default load, and each other program by itself.

use super::relocate::FunctionIndex;
use crate::{
    index::ProgramIndex,
    internal::InternalError,
    link::{HeldPrograms, ProgramLinker},
};
use alloc::borrow::Cow;
use core_relo::{Plan, plan::PlannedReloc};
use std::collections::HashMap;

/// The default load, which is the first of a plan's loads.
const DEFAULT_LOAD: usize = 0;

/// The plan of an object's relocations, by load. Relocations of a program eliminate candidates only for the programs of the same load.
///
/// The plan's own decisions are those of the default load, and for the relocations of another program those of a load of the program.
#[derive(Clone, Debug)]
pub struct PlanByLoad<'c, 'p> {
    plan: Cow<'c, Plan<'p>>,
    /// The load of each program outside of the default load. Empty if all loads have the same decisions.
    loads: HashMap<ProgramIndex, usize>,
}

impl<'c, 'p> PlanByLoad<'c, 'p> {
    /// Returns the plan of all relocations for every load, if [`Plan::depends_on_selection`] is false.
    pub fn undivided(plan: Cow<'c, Plan<'p>>) -> Self {
        Self { plan, loads: HashMap::new() }
    }

    /// Splits a plan of all relocations. `selected` is, for each function, whether the default load selects the function as a program.
    /// `held` are the programs that program arrays hold.
    pub fn new(
        plan: Cow<'c, Plan<'p>>,
        linker: &ProgramLinker<'_, '_>,
        selected: &[bool],
        held: &HeldPrograms,
    ) -> Result<Self, InternalError> {
        let mut loaded = selected.to_vec();
        linker.add_held_programs(&mut loaded, held.clone())?;
        let functions = linker.object().programs();
        let other = |(index, is_loaded): (ProgramIndex, &bool)| {
            let is_program = functions.get(index.0).is_some_and(|function| !function.is_subprogram);
            (is_program && !is_loaded).then_some(index)
        };
        let others: Vec<_> = ProgramIndex::enumerate(&*loaded).filter_map(other).collect();
        if others.is_empty() || !plan.depends_on_selection() {
            return Ok(Self::undivided(plan));
        }
        let index = FunctionIndex::new(linker.object());
        let records = plan.relocs().records().iter().enumerate();
        let dependent = records.filter(|(record, _)| plan.is_selection_dependent(*record));
        let dependent: Vec<_> = dependent.map(|(number, record)| (number, index.find(record))).collect();
        let records_of = |loaded: &[bool]| {
            let selected = linker.select_functions(loaded)?;
            let is_selected = |function: ProgramIndex| selected.get(function.0) == Some(&true);
            // A record outside of all functions belongs to every load, so that its error is reported.
            let own = dependent.iter().filter(|(_, function)| function.is_none_or(is_selected));
            Ok(own.map(|(record, _)| *record).collect::<Vec<_>>())
        };
        let mut loads = vec![records_of(&loaded)?];
        for other in &others {
            let mut alone = vec![false; loaded.len()];
            alone.get_mut(other.0).into_iter().for_each(|is_loaded| *is_loaded = true);
            linker.add_held_programs(&mut alone, held.clone())?;
            loads.push(records_of(&alone)?);
        }
        let split = plan.split_by_loads(&loads);
        Ok(Self { plan: Cow::Owned(split), loads: others.into_iter().zip(1..).collect() })
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan<'p> {
        &self.plan
    }

    /// Returns the plan.
    pub fn into_plan(self) -> Plan<'p> {
        self.plan.into_owned()
    }

    /// Returns a record of a program, and the decision about it in the load of the program.
    pub fn get(&self, program: ProgramIndex, record: usize) -> Option<PlannedReloc<'_>> {
        let load = self.loads.get(&program).copied().unwrap_or(DEFAULT_LOAD);
        self.plan.get_in_load(load, record)
    }
}
