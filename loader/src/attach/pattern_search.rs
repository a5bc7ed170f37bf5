//! The search for functions that match a pattern in the symbol tables of a binary.

use super::{
    binary::Binary,
    elf_file::{Symbol, SymbolKind},
    error::AttachError,
    names::{Glob, GlobError},
};
use crate::limits::BINARY_MATCHES;
use core_relo::sort::sort;

/// A search for functions by a pattern. The caller adds the symbols of one table after the other, until one has matches.
pub(super) struct PatternSearch<'p> {
    binary: &'p Binary,
    pattern: &'p str,
    glob: Glob<'p>,
    /// The file offsets of the matching functions.
    offsets: Vec<u64>,
    /// Whether an indirect function matches.
    has_indirect: bool,
}

impl<'p> PatternSearch<'p> {
    pub(super) fn new(binary: &'p Binary, pattern: &'p str) -> Result<Self, AttachError> {
        let glob = Glob::new(pattern).map_err(|e| glob_error(binary, pattern, e))?;
        Ok(Self { binary, pattern, glob, offsets: Vec::new(), has_indirect: false })
    }

    pub(super) fn add(&mut self, symbol: &Symbol<'_>) -> Result<(), AttachError> {
        let Self { binary, pattern, .. } = *self;
        if !self.glob.matches(symbol.name).map_err(|e| glob_error(binary, pattern, e))? {
            return Ok(());
        }
        if symbol.kind == SymbolKind::Indirect {
            self.has_indirect = true;
            return Ok(());
        }
        if self.offsets.len() == BINARY_MATCHES {
            let problem = format!("too many functions match `{pattern}`, expected at most {BINARY_MATCHES}");
            return Err(binary.error(problem));
        }
        self.offsets.push(symbol.offset.wrapping_add(symbol.local_entry));
        Ok(())
    }

    pub(super) const fn has_matches(&self) -> bool {
        !self.offsets.is_empty()
    }

    /// Returns the file offset of each matching function once.
    pub(super) fn finish(mut self) -> Result<Vec<u64>, AttachError> {
        let pattern = self.pattern;
        if self.has_matches() {
            sort(&mut self.offsets);
            self.offsets.dedup();
            return Ok(self.offsets);
        }
        Err(self.binary.error(if self.has_indirect {
            format!("only indirect functions (IFUNC) match `{pattern}`: probe their implementations by name")
        } else {
            format!("has no function that `{pattern}` matches")
        }))
    }
}

fn glob_error(binary: &Binary, pattern: &str, error: GlobError) -> AttachError {
    binary.error(format!("`{pattern}`: {error}"))
}
