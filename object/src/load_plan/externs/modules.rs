//! The kernel modules whose BTF a load needs.

use crate::index::ModuleIndex;

/// A module whose BTF descriptor a load needs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModulePlan {
    /// The module's name.
    pub name: String,
    /// The kernel's id of the module's BTF, 0 if the types are not those of the running kernel.
    pub btf_id: u32,
}

/// The modules of a plan, in the order in which planning needs them.
#[derive(Clone, Debug, Default)]
pub(in crate::load_plan) struct Modules(Vec<ModulePlan>);

impl Modules {
    /// Returns the index of a module. Adds the module on the first call.
    pub(in crate::load_plan) fn index_of(&mut self, name: &str, btf_id: u32) -> ModuleIndex {
        let is_match = |known: &ModulePlan| known.btf_id == btf_id && (btf_id != 0 || known.name == name);
        if let Some(known) = self.0.iter().position(is_match) {
            return ModuleIndex(known);
        }
        let index = ModuleIndex(self.0.len());
        self.0.push(ModulePlan { name: name.to_owned(), btf_id });
        index
    }

    /// Returns the modules by index.
    pub(in crate::load_plan) fn into_plans(self) -> Vec<ModulePlan> {
        self.0
    }
}
