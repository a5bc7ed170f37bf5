//! Functions of stripped binaries: symbols that are outside of the binary's symbol tables.

mod build_id;
mod debug_file;
mod go_functions;
mod go_table;
mod mini_debug_info;

use super::{
    binary::Binary,
    elf_file::{Segment, Symbol, SymbolFilter, SymbolKind, SymbolTable},
    error::AttachError,
};
use core::fmt;

/// A source of symbols outside of the binary's symbol tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SymbolSource {
    /// A file with debug information: that of the build id, or of the section `.gnu_debuglink`.
    DebugFile,
    /// A packed ELF file in the section `.gnu_debugdata`.
    MiniDebugInfo,
    /// The function table of Go programs.
    GoFunctions,
}

impl fmt::Display for SymbolSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DebugFile => "debug file",
            Self::MiniDebugInfo => "section .gnu_debugdata",
            Self::GoFunctions => "table of Go functions",
        })
    }
}

impl SymbolSource {
    /// All sources, the fullest first.
    pub(super) const ALL: &[Self] = &[Self::DebugFile, Self::MiniDebugInfo, Self::GoFunctions];

    /// The note about sources that this build cannot read: none.
    pub(super) const MISSING: &str = "";

    /// Calls `each` for the symbols that the filter lets through, with their offsets in the binary. A binary
    /// without this source has no symbols.
    pub(super) fn symbols(
        self,
        binary: &Binary,
        filter: SymbolFilter,
        each: &mut dyn FnMut(&Symbol<'_>) -> Result<(), AttachError>,
    ) -> Result<(), AttachError> {
        let symbols = match self {
            Self::DebugFile => debug_file::open(binary)?,
            Self::MiniDebugInfo => mini_debug_info::unpack(binary)?,
            Self::GoFunctions => return go_functions::symbols(binary, each),
        };
        let Some(symbols) = symbols else { return Ok(()) };
        let code = CodeRanges::of(binary)?;
        symbols.symbols(SymbolTable::Full, filter, &mut |symbol| {
            let offset = match (symbol.kind, code.file_offset(symbol.address)) {
                (_, Some(offset)) => offset,
                (SymbolKind::Data | SymbolKind::Imported, None) => 0,
                // The address is not one of this binary.
                (SymbolKind::Function | SymbolKind::Indirect | SymbolKind::Untyped, None) => return Ok(()),
            };
            each(&Symbol { offset, ..*symbol })
        })
    }
}

/// The ranges of code, sorted by address. Other files know addresses, not offsets in this file.
struct CodeRanges(Vec<Segment>);

impl CodeRanges {
    fn of(binary: &Binary) -> Result<Self, AttachError> {
        let mut ranges = binary.code()?;
        ranges.sort_by_key(|range| range.start);
        Ok(Self(ranges))
    }

    fn file_offset(&self, address: u64) -> Option<u64> {
        let next = self.0.partition_point(|range| range.start <= address);
        let range = self.0.get(next.checked_sub(1)?).filter(|range| address < range.end)?;
        address.checked_sub(range.start)?.checked_add(range.offset)
    }
}
