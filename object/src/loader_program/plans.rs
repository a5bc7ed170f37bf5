//! The plans of the maps that a loader program has created, and of the programs that it has loaded.

use super::file::{LoaderMap, LoaderProgram};
use crate::{
    index::ProgramIndex,
    load_plan::{MapPlan, ProgramPlan},
};

impl MapPlan {
    /// Creates the plan of a map that a loader program has created.
    pub fn for_loader_map(map: &LoaderMap) -> Self {
        let mut plan = Self::for_existing_map(&map.name, map.role, map.attributes);
        plan.entry_per_cpu = map.entry_per_cpu;
        plan
    }
}

impl ProgramPlan {
    /// Creates the plan of a program that a loader program has loaded. `index` is its index in the loader
    /// file.
    pub fn for_loader_program(index: usize, program: &LoaderProgram) -> Self {
        let LoaderProgram { name, section, program_type, attach_type, autoattach } = program;
        let mut plan = Self::for_loaded_program(ProgramIndex(index), name, section, *program_type);
        plan.attach_type = *attach_type;
        plan.autoattach = *autoattach;
        plan
    }
}
