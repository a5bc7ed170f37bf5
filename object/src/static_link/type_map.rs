//! The mapping of an input's types to the merged types.

use crate::internal::{InternalError, Invariant as _};
use core_relo::TypeId;

/// The merged type of each type of an input.
#[derive(Debug, Default)]
pub(super) struct TypeMap(Vec<Option<TypeId>>);

impl TypeMap {
    /// Creates a map for the types before `end`, in which only `void` is mapped.
    pub(super) fn new(end: TypeId) -> Result<Self, InternalError> {
        let mut map = Self(vec![None; end.index()]);
        map.insert(TypeId::VOID, TypeId::VOID)?;
        Ok(map)
    }

    /// Maps a type of the input.
    pub(super) fn insert(&mut self, source: TypeId, merged: TypeId) -> Result<(), InternalError> {
        let entry = self.0.get_mut(source.index());
        *entry.invariant("a type's id is less than the end of its BTF")? = Some(merged);
        Ok(())
    }

    /// Returns the merged type; `None` for a type that is not linked or does not exist.
    pub(super) fn get(&self, source: TypeId) -> Option<TypeId> {
        self.0.get(source.index()).copied().flatten()
    }
}
