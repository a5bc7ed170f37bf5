//! The relocations of an object in the loads of its programs: the default load, and each other program by
//! itself.

use super::{load_functions::LoadFunctions, relocate::FunctionIndex};
use crate::{
    index::ProgramIndex,
    internal::InternalError,
    limits,
    link::{HeldPrograms, ProgramLinker},
};
use alloc::borrow::Cow;
use core_relo::{Plan, plan::PlannedReloc};
use hashbrown::{HashMap, HashSet};

/// The default load, which is the first of a plan's loads.
const DEFAULT_LOAD: usize = 0;

/// The plan of an object's relocations, by load. Relocations of a program eliminate candidates only for the
/// programs of the same load.
///
/// The plan's own decisions are those of the default load, and for the relocations of another program those
/// of a load of the program.
#[derive(Clone, Debug)]
pub struct PlanByLoad<'c, 'p> {
    plan: PlanRef<'c, 'p>,
    /// The load of each program outside of the default load that has a load of its own. Empty if all loads
    /// have the same decisions.
    loads: HashMap<ProgramIndex, usize>,
    /// The programs outside of the default load whose relocations are not decided, see
    /// [`is_undecided`](Self::is_undecided).
    undecided: HashSet<ProgramIndex>,
}

impl<'c, 'p> PlanByLoad<'c, 'p> {
    /// Returns the plan of all relocations for every load, if [`Plan::depends_on_selection`] is false.
    pub fn undivided(plan: Cow<'c, Plan<'p>>) -> Self {
        Self { plan: plan.into(), loads: HashMap::new(), undecided: HashSet::new() }
    }

    /// Splits a plan of all relocations. `selected` is true for each function that the default load selects
    /// as a program. `held` are the programs that program arrays hold.
    pub fn new(
        plan: Cow<'c, Plan<'p>>,
        linker: &ProgramLinker<'_, '_>,
        selected: &[bool],
        held: &HeldPrograms,
    ) -> Result<Self, InternalError> {
        Self::within(plan, linker, DefaultLoad { selected, held }, limits::LOAD_STEPS)
    }

    fn within(
        plan: Cow<'c, Plan<'p>>,
        linker: &ProgramLinker<'_, '_>,
        default_load: DefaultLoad<'_>,
        steps: usize,
    ) -> Result<Self, InternalError> {
        let mut loaded = default_load.selected.to_vec();
        linker.add_held_programs(&mut loaded, default_load.held.clone())?;
        let functions = linker.object().programs();
        let other = |(index, is_loaded): (ProgramIndex, &bool)| {
            let is_program = functions.get(index.0).is_some_and(|function| !function.is_subprogram);
            (is_program && !is_loaded).then_some(index)
        };
        let others: Vec<_> = ProgramIndex::enumerate(&*loaded).filter_map(other).collect();
        if others.is_empty() || !plan.depends_on_selection() {
            return Ok(Self::undivided(plan));
        }
        let records = DependentRecords::collect(&plan, linker);
        let mut search = LoadFunctions::new(linker, default_load.held, steps);
        let mut all_records = vec![records.of_default_load(&linker.select_functions(&loaded)?)];
        let (mut loads, mut undecided) = (HashMap::new(), HashSet::new());
        for program in others {
            match records.of_program(program, &mut search)? {
                None => {
                    undecided.insert(program);
                }
                Some(load_records) if load_records.is_empty() => {}
                Some(load_records) => {
                    loads.insert(program, all_records.len());
                    all_records.push(load_records);
                }
            }
        }
        let split = plan.split_by_loads(&all_records);
        Ok(Self { plan: PlanRef::Owned(split), loads, undecided })
    }

    /// Returns the plan of all relocations.
    pub fn plan(&self) -> &Plan<'p> {
        match &self.plan {
            PlanRef::Borrowed(plan) => plan,
            PlanRef::Owned(plan) => plan,
        }
    }

    /// Returns the plan of all relocations without the loads of the programs.
    pub fn into_plan(self) -> Plan<'p> {
        match self.plan {
            PlanRef::Borrowed(plan) => plan.clone(),
            PlanRef::Owned(plan) => plan,
        }
    }

    /// Returns whether the relocations of a program in a load of the program alone are not decided, because
    /// the loads of all programs have more relocations and calls than [`limits::LOAD_STEPS`].
    pub fn is_undecided(&self, program: ProgramIndex) -> bool {
        self.undecided.contains(&program)
    }

    /// Returns a record of a program, and the decision about it in the load of the program. Returns `None` if
    /// the object has no such record, or if the decision depends on a load that [is
    /// undecided](Self::is_undecided).
    pub fn get(&self, program: ProgramIndex, record: usize) -> Option<PlannedReloc<'_>> {
        if self.is_undecided(program) && self.plan().is_selection_dependent(record) {
            return None;
        }
        let load = self.loads.get(&program).copied().unwrap_or(DEFAULT_LOAD);
        self.plan().get_in_load(load, record)
    }
}

/// A borrowed or owned plan. Unlike [`Cow`], it is covariant, so that plans of different lifetimes fit
/// together.
#[derive(Clone, Debug)]
enum PlanRef<'c, 'p> {
    Borrowed(&'c Plan<'p>),
    Owned(Plan<'p>),
}

impl<'c, 'p> From<Cow<'c, Plan<'p>>> for PlanRef<'c, 'p> {
    fn from(plan: Cow<'c, Plan<'p>>) -> Self {
        match plan {
            Cow::Borrowed(plan) => Self::Borrowed(plan),
            Cow::Owned(plan) => Self::Owned(plan),
        }
    }
}

/// The programs that the default load selects, and those that program arrays hold.
#[derive(Clone, Copy)]
struct DefaultLoad<'s> {
    selected: &'s [bool],
    held: &'s HeldPrograms,
}

/// The records whose decisions depend on the other records of a load, by function.
struct DependentRecords {
    by_program: HashMap<ProgramIndex, Vec<usize>>,
    /// The records of subprograms, which belong to every load.
    of_subprograms: Vec<usize>,
    /// All records with their function. A record outside of all functions belongs to the default load, so
    /// that its error is reported.
    all: Vec<(usize, Option<ProgramIndex>)>,
}

impl DependentRecords {
    fn collect(plan: &Plan<'_>, linker: &ProgramLinker<'_, '_>) -> Self {
        let (index, functions) = (FunctionIndex::new(linker.object()), linker.object().programs());
        let records = plan.relocs().records().iter().enumerate();
        let dependent = records.filter(|(number, _)| plan.is_selection_dependent(*number));
        let all: Vec<_> = dependent.map(|(number, record)| (number, index.find(record))).collect();
        let (mut by_program, mut of_subprograms) = (HashMap::<_, Vec<_>>::new(), Vec::new());
        for (record, function) in &all {
            let Some(function) = function else { continue };
            if functions.get(function.0).is_some_and(|function| function.is_subprogram) {
                of_subprograms.push(*record);
            } else {
                by_program.entry(*function).or_default().push(*record);
            }
        }
        Self { by_program, of_subprograms, all }
    }

    /// Returns the records of the default load, in order. `selected` is true for each function of the load.
    fn of_default_load(&self, selected: &[bool]) -> Vec<usize> {
        let is_selected = |function: ProgramIndex| selected.get(function.0) == Some(&true);
        let own = self.all.iter().filter(|(_, function)| function.is_none_or(is_selected));
        own.map(|(record, _)| *record).collect()
    }

    /// Returns the records of a load of one program, in order. Returns `None` if the steps of the search are
    /// used up.
    fn of_program(
        &self,
        program: ProgramIndex,
        search: &mut LoadFunctions<'_, '_, '_>,
    ) -> Result<Option<Vec<usize>>, InternalError> {
        let Some(functions) = search.find(program)? else { return Ok(None) };
        let own = || functions.iter().filter_map(|function| self.by_program.get(function));
        let counts = own().map(Vec::len).chain([self.of_subprograms.len()]);
        if !search.take_steps(counts.sum()) {
            return Ok(None);
        }
        let mut records: Vec<_> = own().flatten().chain(&self.of_subprograms).copied().collect();
        records.sort_unstable();
        Ok(Some(records))
    }
}
