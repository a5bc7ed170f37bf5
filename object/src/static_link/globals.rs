//! Symbols that files share, by name.

use core_relo::TypeId;
use std::collections::HashMap;

/// Global and weak symbols, extern or defined (libbpf: `glob_syms`).
#[derive(Debug, Default)]
pub(super) struct Globals {
    all: Vec<Global>,
    by_name: HashMap<Box<[u8]>, usize>,
    /// Those that are renewed: looking for them among all would cost each input time with all symbols.
    renewed: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct Global {
    /// Its number in the linked object's symbols.
    pub(super) symbol: u32,
    /// The section it is defined in, or belongs to as an extern; an output section, perhaps one without ELF.
    pub(super) section: Option<usize>,
    pub(super) is_extern: bool,
    pub(super) is_weak: bool,
    /// The input that defines it, or declared it first.
    pub(super) input: usize,
    pub(super) types: Option<GlobalTypes>,
    /// The input being added has a better definition: its type counts from now on.
    pub(super) is_renewed: bool,
    /// Its place in a section's variables.
    pub(super) variable: Option<(usize, usize)>,
}

/// The type of a global symbol.
#[derive(Clone, Copy, Debug)]
pub(super) struct GlobalTypes {
    /// Its VAR or FUNC among the merged types.
    pub(super) id: TypeId,
    /// The VAR or FUNC of the input whose type counts.
    pub(super) source: TypeId,
    /// What the VAR or FUNC refers to among the merged types.
    pub(super) underlying: TypeId,
}

impl Globals {
    /// The symbol of a name.
    pub(super) fn find(&self, name: &[u8]) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub(super) fn at(&self, index: usize) -> Option<&Global> {
        self.all.get(index)
    }

    pub(super) fn at_mut(&mut self, index: usize) -> Option<&mut Global> {
        self.all.get_mut(index)
    }

    /// Marks a symbol: the input being added has a better definition, whose type counts from now on.
    pub(super) fn renew(&mut self, index: usize) {
        if let Some(global) = self.all.get_mut(index)
            && !core::mem::replace(&mut global.is_renewed, true)
        {
            self.renewed.push(index);
        }
    }

    /// Calls `settle` with each symbol that is marked, and unmarks it.
    pub(super) fn settle_renewed(&mut self, mut settle: impl FnMut(&mut Global)) {
        for index in core::mem::take(&mut self.renewed) {
            if let Some(global) = self.all.get_mut(index) {
                global.is_renewed = false;
                settle(global);
            }
        }
    }

    /// Adds one; of several of a name the first is found.
    pub(super) fn add(&mut self, name: &[u8], global: Global) {
        self.by_name.entry(name.into()).or_insert(self.all.len());
        self.all.push(global);
    }
}
