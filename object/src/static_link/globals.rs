//! The global symbols of all inputs, by name.

use super::index::{GlobalIndex, InputIndex, OutputSectionIndex, OutputSymbolIndex, Table, VariableIndex};
use crate::internal::InternalError;
use core_relo::TypeId;
use hashbrown::HashMap;

/// The global and weak symbols, extern or defined (libbpf: `glob_syms`).
#[derive(Debug, Default)]
pub(super) struct Globals {
    table: Table<GlobalIndex, Global>,
    by_name: HashMap<Box<[u8]>, GlobalIndex>,
    /// The globals with `is_type_changed`, so that each input costs time for its own symbols only.
    changed: Vec<GlobalIndex>,
}

/// A global or weak symbol (libbpf: `struct glob_sym`).
#[derive(Debug)]
pub(super) struct Global {
    pub(super) symbol: OutputSymbolIndex,
    /// The section of the definition, or the section that the BTF states for an extern.
    pub(super) section: Option<OutputSectionIndex>,
    pub(super) is_extern: bool,
    pub(super) is_weak: bool,
    /// The input that defines the symbol, or that declared it first.
    pub(super) input: InputIndex,
    /// The type; `None` for symbols that no BTF describes.
    pub(super) ty: Option<GlobalType>,
    /// Whether the type of the input that is being added replaces the type.
    pub(super) is_type_changed: bool,
    /// The variable in the DATASEC of a section.
    pub(super) variable: Option<(OutputSectionIndex, VariableIndex)>,
}

/// The type of a global symbol: a VAR or FUNC.
#[derive(Clone, Copy, Debug)]
pub(super) struct GlobalType {
    /// The VAR or FUNC among the merged types.
    pub(super) merged: TypeId,
    /// The VAR or FUNC in the BTF of the global's input.
    pub(super) source: TypeId,
    /// The target of the VAR or FUNC, among the merged types.
    pub(super) target: TypeId,
}

impl Globals {
    /// Finds the symbol of a name.
    pub(super) fn find(&self, name: &[u8]) -> Option<GlobalIndex> {
        self.by_name.get(name).copied()
    }

    pub(super) fn get(&self, index: GlobalIndex) -> Result<&Global, InternalError> {
        self.table.get(index)
    }

    pub(super) fn get_mut(&mut self, index: GlobalIndex) -> Result<&mut Global, InternalError> {
        self.table.get_mut(index)
    }

    /// Marks a symbol whose type is replaced by the type of the input that is being added.
    pub(super) fn mark_type_changed(&mut self, index: GlobalIndex) -> Result<(), InternalError> {
        let global = self.table.get_mut(index)?;
        if !core::mem::replace(&mut global.is_type_changed, true) {
            self.changed.push(index);
        }
        Ok(())
    }

    /// Returns the marked symbols, and removes the marks.
    pub(super) fn take_type_changed(&mut self) -> Result<Vec<GlobalIndex>, InternalError> {
        let changed = core::mem::take(&mut self.changed);
        for index in &changed {
            self.table.get_mut(*index)?.is_type_changed = false;
        }
        Ok(changed)
    }

    /// Adds a symbol. The first of several symbols of a name is found.
    pub(super) fn add(&mut self, name: &[u8], global: Global) -> Result<(), InternalError> {
        let index = self.table.push(global)?;
        self.by_name.entry(name.into()).or_insert(index);
        Ok(())
    }
}
