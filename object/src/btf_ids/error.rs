//! Errors of `.BTF_ids`.

use crate::{elf::ElfError, internal::InternalError, object::RewriteError};
use core_relo::Text;
use thiserror::Error;

/// The reason why `.BTF_ids` cannot be read or resolved.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BtfIdsError {
    /// The ELF file is damaged.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// There is no section `.BTF_ids`.
    #[error("no section `.BTF_ids`")]
    NoSection,
    /// The section is compressed.
    #[error("section `.BTF_ids` is compressed")]
    Compressed,
    /// There is no symbol table.
    #[error("no symbol table, which names the ids: the file was stripped")]
    NoSymbols,
    /// The symbol table has a damaged entry.
    #[error("symbol {index}: its name lies outside of the string table, or is too long")]
    SymbolName {
        /// The index of the symbol.
        index: usize,
    },
    /// A symbol lies outside of the section.
    #[error("symbol `{symbol}` lies outside of the {len} bytes of `.BTF_ids`")]
    Bounds {
        /// The name of the symbol.
        symbol: Text,
        /// The length of the section.
        len: usize,
    },
    /// A symbol begins with `__BTF_ID__` and is not of a known form.
    #[error(
        "symbol `{symbol}` is no `__BTF_ID__KIND__NAME__N` with the kind struct, union, typedef, func, set or set8"
    )]
    Symbol {
        /// The name of the symbol.
        symbol: Text,
    },
    /// A set has a size that is not a count and whole slots.
    #[error("set `{symbol}` has {len} bytes, expected {header} and a multiple of {slot}")]
    SetLength {
        /// The name of the symbol.
        symbol: Text,
        /// The size of the symbol.
        len: usize,
        /// The bytes before the first slot.
        header: usize,
        /// The bytes of a slot.
        slot: usize,
    },
    /// Two sets overlap.
    #[error("set `{symbol}` overlaps the set before it")]
    Overlap {
        /// The name of the symbol.
        symbol: Text,
    },
    /// A symbol of an id is not at the start of a slot, or shares the slot with another symbol.
    #[error("symbol `{symbol}` has no slot of its own")]
    Slot {
        /// The name of the type.
        symbol: Text,
    },
    /// The names of the symbols have more bytes than the file.
    #[error("the names of the symbols overlap: they have more than the {len} bytes of the file")]
    OverlappingNames {
        /// The length of the file.
        len: usize,
    },
    /// The ids were filled in before. Sorted sets no longer have the order of their symbols.
    #[error("set `{set}` contains ids already")]
    AlreadyResolved {
        /// The name of the set.
        set: Text,
    },
    /// The file and the BTF have different byte orders.
    #[error("the file and the BTF have different byte orders")]
    ByteOrder,
    /// The file is 32-bit, and cannot be changed.
    #[error("32-bit ELF file, expected 64-bit")]
    Elf32,
    /// A broken invariant of this crate.
    #[error(transparent)]
    Internal(#[from] InternalError),
    /// The section shares bytes with another part of the file.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
}

core_relo::debug_as_message!(BtfIdsError);
