//! Without the feature `stripped-binaries`, the symbols of a binary are those of its symbol tables.

use super::{
    binary::Binary,
    elf_file::{Symbol, SymbolFilter},
    error::AttachError,
};
use core::fmt;

/// No source of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SymbolSource {}

impl fmt::Display for SymbolSource {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl SymbolSource {
    pub(super) const ALL: &[Self] = &[];

    /// The note about sources that this build cannot read.
    pub(super) const MISSING: &str =
        " (the agent was built without the feature `stripped-binaries` of the crate core-relo-loader)";

    pub(super) fn symbols(
        self,
        _binary: &Binary,
        _filter: SymbolFilter,
        _each: &mut dyn FnMut(&Symbol<'_>) -> Result<(), AttachError>,
    ) -> Result<(), AttachError> {
        match self {}
    }
}
