//! References between entries: the record that stands for each entry.

use super::entry_error;
use crate::{
    decode::{DeclTag, Entries, Entry, Param, Shape},
    error::{DwarfOffset, EncodeError, EntryProblem},
    graph::TypeRef,
    limits,
};
use core_relo::{InternalError, internal::Invariant as _};

/// The type for which an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolved {
    /// A type; zero is `void`.
    Type(TypeRef),
    /// The entry is no type: a function, variable or annotation.
    NoType,
}

/// The record that stands for each entry.
#[derive(Debug)]
pub(super) struct References<'a> {
    entries: &'a Entries,
    /// The record of each entry, type tags included.
    resolved: Vec<Resolved>,
    /// The entry's own record, without type tags: that to which declaration tags belong.
    own: Vec<TypeRef>,
}

impl<'a> References<'a> {
    /// Numbers the records of all entries, after `first` other records.
    pub(super) fn new(entries: &'a Entries, first: u32) -> Result<Self, EncodeError> {
        let count = entries.list.len();
        let mut references =
            Self { entries, resolved: Vec::with_capacity(count), own: Vec::with_capacity(count) };
        let mut next: u32 = first;
        for entry in &entries.list {
            let counts = references.record_counts(entry).map_err(|problem| entry_error(entry, problem))?;
            let RecordCounts { before, after } = counts;
            let own = next.checked_add(before).ok_or(EncodeError::TooManyTypes)?;
            next = own.checked_add(after).ok_or(EncodeError::TooManyTypes)?;
            let resolved = match &entry.shape {
                Shape::Void => Resolved::Type(0),
                Shape::Function { .. } | Shape::Variable { .. } | Shape::Annotation { .. } => {
                    Resolved::NoType
                }
                // Tags of a pointer's target follow the pointer.
                Shape::Pointer { tags } if references.type_tag_count(entry) == Ok(0) && !tags.is_empty() => {
                    Resolved::Type(own)
                }
                _ => Resolved::Type(next),
            };
            references.own.push(own);
            references.resolved.push(resolved);
        }
        references.resolve_aliases()?;
        Ok(references)
    }

    /// Returns the type at a place.
    pub(super) fn get(&self, place: DwarfOffset) -> Option<Resolved> {
        self.resolved.get(self.index(place)?).copied()
    }

    /// Returns the entry's own record.
    pub(super) fn own(&self, index: usize) -> Result<TypeRef, InternalError> {
        self.own.get(index).copied().invariant("each entry is numbered")
    }

    /// Returns whether a function gets records: all of its parameters have names.
    pub(super) fn is_function_encoded(&self, index: usize) -> bool {
        let entry = self.entries.list.get(index);
        matches!(entry.map(|entry| &entry.shape), Some(Shape::Function { params, .. }) if has_names(params))
    }

    /// Returns the annotations of GCC from a place on, in order.
    pub(super) fn annotations(&self, first: Option<DwarfOffset>) -> Result<Vec<&'a Entry>, EntryProblem> {
        let mut chain = Vec::new();
        let mut next = first;
        while let Some(place) = next {
            let entry = self.index(place).and_then(|index| self.entries.list.get(index));
            let entry = entry.ok_or(EntryProblem::NoEntry { target: place })?;
            if chain.len() >= limits::ANNOTATIONS {
                return Err(EntryProblem::Annotations);
            }
            chain.push(entry);
            next = entry.annotation;
        }
        Ok(chain)
    }

    /// Returns the number of type tags that apply to the entry itself.
    fn type_tag_count(&self, entry: &Entry) -> Result<u32, EntryProblem> {
        if entry.annotation.is_none() || matches!(entry.shape, Shape::Annotation { .. }) {
            return Ok(0);
        }
        let is_type_tag =
            |entry: &&&Entry| matches!(entry.shape, Shape::Annotation { is_type_tag: true, .. });
        let count = self.annotations(entry.annotation)?.iter().filter(is_type_tag).count();
        u32::try_from(count).ok().ok_or(EntryProblem::Annotations)
    }

    fn index(&self, place: DwarfOffset) -> Option<usize> {
        usize::try_from(*self.entries.by_place.get(&place)?).ok()
    }

    /// Counts the records of an entry.
    fn record_counts(&self, entry: &Entry) -> Result<RecordCounts, EntryProblem> {
        let many = EntryProblem::Annotations;
        let counts = match &entry.shape {
            Shape::Alias | Shape::Void | Shape::Annotation { .. } => return Ok(RecordCounts::default()),
            Shape::Pointer { tags } => {
                RecordCounts { before: 1, after: u32::try_from(tags.len()).ok().ok_or(many)? }
            }
            Shape::Array { dimensions } => {
                RecordCounts { before: u32::try_from(dimensions.len().max(1)).ok().ok_or(many)?, after: 0 }
            }
            Shape::Function { params, .. } => {
                let count = if has_names(params) { 2 } else { 0 };
                return Ok(RecordCounts { before: count, after: 0 });
            }
            Shape::Variable { .. } => return Ok(RecordCounts { before: 1, after: 0 }),
            _ => RecordCounts { before: 1, after: 0 },
        };
        let tags = self.type_tag_count(entry)?;
        Ok(RecordCounts { after: counts.after.checked_add(tags).ok_or(many)?, ..counts })
    }

    /// Replaces the record of each alias by that of its target.
    fn resolve_aliases(&mut self) -> Result<(), EncodeError> {
        let aliases = self.entries.list.iter().enumerate();
        for (index, entry) in aliases.filter(|(_, entry)| matches!(entry.shape, Shape::Alias)) {
            let resolved = self.alias_target(entry).map_err(|problem| entry_error(entry, problem))?;
            *self.resolved.get_mut(index).invariant("each entry is numbered")? = resolved;
        }
        Ok(())
    }

    /// Returns the type at the end of a chain of aliases.
    fn alias_target(&self, alias: &Entry) -> Result<Resolved, EntryProblem> {
        let mut next = alias.target;
        for _ in 0..limits::SIZE_HOPS {
            let Some(target) = next else { return Ok(Resolved::Type(0)) };
            let index = self.index(target).ok_or(EntryProblem::NoType { target })?;
            match self.entries.list.get(index) {
                Some(entry) if matches!(entry.shape, Shape::Alias) => next = entry.target,
                _ => return self.resolved.get(index).copied().ok_or(EntryProblem::NoType { target }),
            }
        }
        Err(EntryProblem::Cycle)
    }
}

/// The number of records of an entry.
#[derive(Clone, Copy, Debug, Default)]
struct RecordCounts {
    /// The records up to the entry's own.
    before: u32,
    /// The records after it: type tags.
    after: u32,
}

/// Returns whether all parameters have names.
fn has_names(params: &[Param]) -> bool {
    params.iter().all(|param| !param.name.is_empty())
}

/// Calls `visit` with the places in other units to which an entry refers.
pub(crate) fn foreign_references(
    entry: &Entry,
    is_foreign: impl Fn(DwarfOffset) -> bool,
    found: &mut Vec<DwarfOffset>,
) {
    let mut visit = |place: Option<DwarfOffset>| found.extend(place.filter(|place| is_foreign(*place)));
    visit(entry.target);
    visit(entry.annotation);
    match &entry.shape {
        Shape::Composite { members, .. } => {
            for member in members {
                visit(member.target);
            }
        }
        Shape::Prototype { params, .. } | Shape::Function { params, .. } => {
            for param in params {
                visit(param.target);
            }
        }
        _ => {}
    }
}

/// Returns the index of a declaration tag's entry.
pub(crate) fn tagged_entry(tag: &DeclTag) -> usize {
    usize::try_from(tag.entry).unwrap_or(usize::MAX)
}
