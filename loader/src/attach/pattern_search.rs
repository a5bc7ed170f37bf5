//! The search for functions that match a pattern in the symbol tables of a binary.

use super::{
    binary::Binary,
    elf_file::{Symbol, SymbolKind},
    error::AttachError,
    function_search::split_version,
    indirect_function::{IndirectFunction, implementations},
    names::{Glob, GlobError},
};
use crate::limits::BINARY_MATCHES;

/// A search for functions by a pattern. The caller adds the symbols of one table after the other, until one
/// has matches.
pub(super) struct PatternSearch<'p> {
    binary: &'p Binary,
    pattern: &'p str,
    glob: Glob<'p>,
    /// The file offsets of the matching functions.
    offsets: Vec<u64>,
    /// The process whose implementations of indirect functions count.
    process: Option<u32>,
    /// The matching indirect functions, with the addresses of their resolvers.
    indirect: Vec<(Vec<u8>, u64)>,
}

impl<'p> PatternSearch<'p> {
    pub(super) fn new(
        binary: &'p Binary,
        process: Option<u32>,
        pattern: &'p str,
    ) -> Result<Self, AttachError> {
        let glob = Glob::new(pattern).map_err(|e| glob_error(binary, pattern, e))?;
        Ok(Self { binary, pattern, glob, offsets: Vec::new(), process, indirect: Vec::new() })
    }

    pub(super) fn add(&mut self, symbol: &Symbol<'_>) -> Result<(), AttachError> {
        let Self { binary, pattern, .. } = *self;
        if !self.glob.matches(symbol.name).map_err(|e| glob_error(binary, pattern, e))? {
            return Ok(());
        }
        if symbol.kind == SymbolKind::Indirect {
            if self.indirect.len() == BINARY_MATCHES {
                return Err(self.too_many());
            }
            self.indirect.push((split_version(symbol).0.to_vec(), symbol.address));
            return Ok(());
        }
        if self.offsets.len() == BINARY_MATCHES {
            return Err(self.too_many());
        }
        self.offsets.push(symbol.offset.wrapping_add(symbol.local_entry));
        Ok(())
    }

    fn too_many(&self) -> AttachError {
        let pattern = self.pattern;
        self.binary.error(format!("too many functions match `{pattern}`, expected at most {BINARY_MATCHES}"))
    }

    pub(super) const fn has_matches(&self) -> bool {
        !self.offsets.is_empty()
    }

    /// Returns the file offset of each matching function once.
    pub(super) fn finish(mut self) -> Result<Vec<u64>, AttachError> {
        let pattern = self.pattern;
        self.add_implementations()?;
        if self.has_matches() {
            self.offsets.sort_unstable();
            self.offsets.dedup();
            return Ok(self.offsets);
        }
        Err(self.binary.error(match (self.indirect.is_empty(), self.process) {
            (true, _) => format!("has no function that `{pattern}` matches"),
            (false, None) => {
                format!("only indirect functions (IFUNC) match `{pattern}`: name a process, or probe their implementations by name")
            }
            (false, Some(pid)) => format!(
                "only indirect functions (IFUNC) match `{pattern}`, and the code that process {pid} uses is not found in the binary: probe \
                 their implementations by name"
            ),
        }))
    }

    /// Adds the code that the process uses for the matching indirect functions.
    fn add_implementations(&mut self) -> Result<(), AttachError> {
        let Some(pid) = self.process.filter(|_| !self.indirect.is_empty()) else { return Ok(()) };
        self.indirect.sort();
        self.indirect.dedup();
        let functions: Vec<_> = self
            .indirect
            .iter()
            .map(|(name, resolver)| IndirectFunction { name, resolver: *resolver })
            .collect();
        match implementations(self.binary, &functions, pid) {
            Ok(found) => self.offsets.extend(found.into_iter().flatten()),
            Err(error) if !self.has_matches() => return Err(error),
            Err(error) => log::warn!("indirect functions (IFUNC) are not probed: {error}"),
        }
        Ok(())
    }
}

fn glob_error(binary: &Binary, pattern: &str, error: GlobError) -> AttachError {
    binary.error(format!("`{pattern}`: {error}"))
}
