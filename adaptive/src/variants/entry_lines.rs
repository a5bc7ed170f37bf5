//! The lines of a text table, for errors that are found after parsing.

use super::{error::VariantError, part::Part};
use alloc::collections::BTreeMap;
use core_relo::Text;

/// An entry of a table, by what it defines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EntryName {
    /// A group.
    Group(String),
    /// An optional part.
    Optional(Part),
    /// A constant that a load sets.
    Global(String),
}

/// A line of a text table.
#[derive(Clone, Debug)]
struct TableLine {
    /// The name of the table, such as its file.
    source: Option<Text>,
    /// The line, from 1.
    line: usize,
}

/// The lines of the entries that come from text tables.
#[derive(Clone, Debug, Default)]
pub(super) struct EntryLines(BTreeMap<EntryName, TableLine>);

impl EntryLines {
    /// Notes the line of an entry.
    pub(super) fn insert(&mut self, entry: EntryName, line: usize) {
        self.0.insert(entry, TableLine { source: None, line });
    }

    /// Names the table of all entries that have no name yet.
    pub(super) fn set_source(&mut self, source: &Text) {
        self.0.values_mut().filter(|line| line.source.is_none()).for_each(|line| {
            line.source = Some(source.clone());
        });
    }

    /// Adds the lines of another table.
    pub(super) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Adds the line of an entry to its error. The error of an entry that comes from no text table stays as
    /// it is.
    pub(super) fn locate(&self, entry: &EntryName, cause: VariantError) -> VariantError {
        match self.0.get(entry) {
            Some(TableLine { source, line }) => {
                VariantError::Entry { source_name: source.clone(), line: *line, cause: Box::new(cause) }
            }
            None => cause,
        }
    }
}
