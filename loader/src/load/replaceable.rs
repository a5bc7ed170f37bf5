//! Refused programs for which the caller has substitutes: a load continues after the first refusal, so that
//! one load finds all of them.

use super::error::LoadError;
use core_relo_object::{
    load_plan::{FixupTarget, LoadPlan, ProgramPlan},
    object::MapType,
};
use std::collections::{HashMap, HashSet};

/// The programs of an object that another load of the object may replace or leave out, by name. Each has the
/// number of its part: programs of one part are replaced together.
///
/// Without replaceable programs, a load ends at the first refusal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplaceablePrograms {
    parts: HashMap<String, usize>,
}

impl FromIterator<(String, usize)> for ReplaceablePrograms {
    fn from_iter<T: IntoIterator<Item = (String, usize)>>(programs: T) -> Self {
        Self { parts: programs.into_iter().collect() }
    }
}

/// The refusals of one load.
pub(super) struct Refusals<'p> {
    plan: &'p LoadPlan,
    replaceable: &'p ReplaceablePrograms,
    /// The first error, with the other refusals.
    error: Option<LoadError>,
    /// The parts with a refused program.
    parts: HashSet<usize>,
}

impl<'p> Refusals<'p> {
    pub(super) fn new(plan: &'p LoadPlan, replaceable: &'p ReplaceablePrograms) -> Self {
        Self { plan, replaceable, error: None, parts: HashSet::new() }
    }

    /// Returns whether a program is worth loading. After a refusal, the load is undone anyway. Then only a
    /// program that is replaceable tells something, unless its part is refused already.
    pub(super) fn is_worth_loading(&self, program: &ProgramPlan) -> bool {
        let part = self.replaceable.parts.get(program.name());
        self.error.is_none() || part.is_some_and(|part| !self.parts.contains(part))
    }

    /// Adds the error of a program. Returns whether the load continues: after refusals of replaceable
    /// programs only.
    pub(super) fn add(&mut self, program: &ProgramPlan, error: LoadError) -> bool {
        let part = self.replaceable.parts.get(program.name()).copied();
        // A lack of memory or a signal ends the load. The refusals before it count.
        let ends_load = error.is_temporary() || !matches!(error, LoadError::Program { .. });
        // Programs that the next load replaces may have caused such a refusal.
        let may_depend_on_others = self.uses_program_array(program);
        match (&mut self.error, error) {
            (None, error) => self.error = Some(error),
            (Some(LoadError::Program { others, .. }), LoadError::Program { refused, .. })
                if !ends_load && !may_depend_on_others =>
            {
                others.push(refused.into_last_lines());
            }
            (Some(_), _) => {}
        }
        self.parts.extend(part);
        part.is_some() && !ends_load
    }

    /// Returns the first error with the other refusals, if there is one.
    pub(super) fn into_result(self) -> Result<(), LoadError> {
        self.error.map_or(Ok(()), Err)
    }

    /// Returns whether a program uses a program array. The first program that uses the array decides which
    /// types of programs may use it (kernel: `bpf_prog_map_compatible`).
    fn uses_program_array(&self, program: &ProgramPlan) -> bool {
        let mut maps = program.fixups().iter().filter_map(|fixup| match fixup.target() {
            FixupTarget::Map(map) => self.plan.map(map).ok(),
            FixupTarget::Module(_) => None,
        });
        maps.any(|map| map.known_type() == Some(MapType::ProgArray))
    }
}
