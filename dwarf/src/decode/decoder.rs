//! The decoder of a unit's entries: its state, and how entries are added.

use super::{
    attributes::{Attributes, DW_AT_GNU_ANNOTATION},
    context::UnitContext,
    entry::{Entries, Entry, Shape},
};
use crate::{
    error::{DwarfOffset, EntryProblem},
    names::{NameId, Names},
    parse_error::ParserResult as _,
    units::Units,
};
use gimli::{UnitOffset, constants};

/// The functions and variables that are decoded, besides types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Types only.
    Types,
    /// Types, functions in the symbol table, per-CPU variables.
    All,
}

/// Decodes entries of one unit.
#[derive(Debug)]
pub(crate) struct UnitDecoder<'a, 's> {
    pub(crate) units: &'a Units<'s>,
    pub(crate) context: &'a UnitContext<'s>,
    pub(crate) names: &'a mut Names<'s>,
    pub(crate) entries: &'a mut Entries,
    pub(crate) wanted: Wanted,
}

/// The entry to which child entries belong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parent {
    pub(super) entry: u32,
    /// The index of the member or parameter that is the parent; -1 for the entry itself.
    pub(super) component: i32,
}

/// The result of decoding one entry: the parent of its children.
pub(super) type Decoded = Result<Option<Parent>, EntryProblem>;

impl<'s> UnitDecoder<'_, 's> {
    /// Adds an entry with its name, target and annotation.
    pub(super) fn add(&mut self, offset: UnitOffset, attributes: &Attributes<'s>, shape: Shape) -> Decoded {
        let name = self.name(attributes.name, constants::DW_AT_name)?;
        let target = self.reference(attributes.target, constants::DW_AT_type)?;
        let annotation = self.reference(attributes.annotation, DW_AT_GNU_ANNOTATION)?;
        let entry = self.push(offset, name, target, annotation, shape)?;
        Ok(Some(Parent { entry, component: -1 }))
    }

    pub(super) fn push(
        &mut self,
        offset: UnitOffset,
        name: NameId,
        target: Option<DwarfOffset>,
        annotation: Option<DwarfOffset>,
        shape: Shape,
    ) -> Result<u32, EntryProblem> {
        let unit = self.context.unit.start;
        let place = self.context.unit.place(offset).ok_or(gimli::Error::UnsupportedOffset).parsed()?;
        self.entries.count_part()?;
        let len = self.entries.list.len();
        let index = u32::try_from(len).ok().ok_or_else(|| too_large("number of entries", len))?;
        self.entries.list.push(Entry { unit, place, name, target, annotation, shape });
        self.entries.by_place.insert(place, index);
        Ok(index)
    }

    pub(super) fn shape_of(&mut self, parent: Option<Parent>) -> Option<&mut Shape> {
        let index = usize::try_from(parent?.entry).ok()?;
        Some(&mut self.entries.list.get_mut(index)?.shape)
    }

    pub(super) fn is_array(&mut self, parent: Option<Parent>) -> bool {
        matches!(self.shape_of(parent), Some(Shape::Array { .. }))
    }
}

pub(super) fn too_large(what: &'static str, value: usize) -> EntryProblem {
    EntryProblem::TooLarge { what, value: u64::try_from(value).unwrap_or(u64::MAX), limit: u32::MAX.into() }
}
