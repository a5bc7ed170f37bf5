//! The needed types of one BTF.

use crate::TypeId;
use alloc::{collections::BTreeSet, vec::Vec};
use hashbrown::HashMap;

/// The needed types of one BTF, by id.
#[derive(Clone, Debug, Default)]
pub(super) struct TypeTable {
    types: HashMap<TypeId, TypeNeed>,
}

/// The needed parts of a type. The record itself, with its name, kind and size, is always needed.
#[derive(Clone, Debug, Default)]
pub(super) struct TypeNeed {
    /// Whether all types that decide about size and compatibility as a field are needed, too.
    pub(super) has_extent: bool,
    /// Whether the types behind pointers, and those of parameters, are needed, too.
    pub(super) has_declaration: bool,
    /// Whether all elements are needed, with those of anonymous members.
    pub(super) has_definition: bool,
    elements: Elements,
}

/// The needed members or enumerators of a type.
#[derive(Clone, Debug)]
enum Elements {
    All,
    Some(BTreeSet<u32>),
}

impl Default for Elements {
    fn default() -> Self {
        Self::Some(BTreeSet::new())
    }
}

impl TypeNeed {
    /// Adds a member or enumerator.
    pub(super) fn add_element(&mut self, index: u32) {
        if let Elements::Some(indices) = &mut self.elements {
            indices.insert(index);
        }
    }

    /// Adds all members or enumerators.
    pub(super) fn add_all_elements(&mut self) {
        self.elements = Elements::All;
    }

    /// Returns whether a member or enumerator is needed.
    pub(super) fn has_element(&self, index: u32) -> bool {
        match &self.elements {
            Elements::All => true,
            Elements::Some(indices) => indices.contains(&index),
        }
    }
}

impl TypeTable {
    /// Returns the needs of a type, and adds the type if it is new.
    pub(super) fn entry(&mut self, id: TypeId) -> &mut TypeNeed {
        self.types.entry(id).or_default()
    }

    /// Returns the needs of a type, or `None` for a type that is not needed.
    pub(super) fn get(&self, id: TypeId) -> Option<&TypeNeed> {
        self.types.get(&id)
    }

    /// Returns the number of needed types.
    pub(super) fn len(&self) -> usize {
        self.types.len()
    }

    /// Returns the needed types in order of id.
    pub(super) fn sorted_ids(&self) -> Vec<TypeId> {
        let mut ids: Vec<_> = self.types.keys().copied().collect();
        ids.sort_unstable();
        ids
    }
}
