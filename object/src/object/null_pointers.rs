//! Pointers in data sections that stay null: no loader applies the ELF relocations of `.data` and the like.

use super::{DataSection, Object, Reloc, Symbol, SymbolKind, SymbolLocation};
use crate::elf::text;
use core::fmt;
use core_relo::Text;

/// The pointers that are listed. Ours: a hostile object may have millions.
const LISTED: usize = 16;

/// A pointer in a data section that the source initialises with an address, and that no loader sets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NullPointer {
    /// The section of the variable.
    pub section: Text,
    /// The offset of the pointer in the section, in bytes.
    pub offset: u64,
    /// The variable. `None` if no symbol contains the pointer.
    pub variable: Option<Text>,
    /// The symbol whose address the pointer should have. For a part of a section without a symbol, the
    /// section.
    pub symbol: Text,
    /// The value that the pointer has instead: the addend of its relocation, mostly 0.
    pub value: u64,
}

impl fmt::Display for NullPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { section, offset, variable, symbol, value } = self;
        match variable {
            Some(variable) => write!(f, "variable `{variable}` ({section}+{offset:#x})")?,
            None => write!(f, "{section}+{offset:#x}")?,
        }
        match value {
            0 => write!(f, ": the pointer to `{symbol}` stays null"),
            _ => write!(f, ": the pointer to `{symbol}` stays {value:#x}, an offset without the address"),
        }
    }
}

/// The null pointers of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NullPointers {
    /// The first pointers.
    pub listed: Vec<NullPointer>,
    /// The number of all pointers.
    pub count: usize,
}

impl Object<'_> {
    /// Returns the pointers in data sections that no loader sets. libbpf skips these relocations, so that a
    /// damaged one is no error.
    pub fn null_pointers(&self) -> NullPointers {
        let mut found = NullPointers::default();
        let sections = self.data_sections().iter().filter(|section| section.kind.has_skipped_relocs());
        let relocs = sections
            .flat_map(|section| self.elf_relocs_of(section.section_index).map(move |reloc| (section, reloc)));
        let readable = relocs.filter_map(|(section, reloc)| Some((section, reloc.ok()?)));
        for (count, (section, reloc)) in (1..).zip(readable) {
            if found.listed.len() < LISTED {
                found.listed.push(self.null_pointer(section, &reloc));
            }
            found.count = count;
        }
        found
    }

    fn null_pointer(&self, section: &DataSection<'_>, reloc: &Reloc<'_>) -> NullPointer {
        let contains = |symbol: &Symbol<'_>| {
            symbol.kind == SymbolKind::Object
                && symbol.location == SymbolLocation::Section(section.section_index)
                && reloc.offset.checked_sub(symbol.value).is_some_and(|offset| offset < symbol.size)
        };
        // A `.bss` has no bytes.
        let value = reloc.addend_in(section.bytes, self.endian()).unwrap_or(0).cast_unsigned();
        NullPointer {
            section: text(section.name),
            offset: reloc.offset,
            variable: self.symbols().find(contains).map(|symbol| text(symbol.name)),
            symbol: text(self.static_symbol(&reloc.symbol, value).map_or(reloc.symbol.name, |s| s.name)),
            value,
        }
    }

    /// Returns the function or variable at an offset from the symbol of a section, by which compilers refer
    /// to static symbols.
    fn static_symbol(&self, section: &Symbol<'_>, offset: u64) -> Option<Symbol<'_>> {
        let target = section.value.checked_add(offset)?;
        let contains = |symbol: &Symbol<'_>| {
            matches!(symbol.kind, SymbolKind::Function | SymbolKind::Object)
                && symbol.location == section.location
                && target.checked_sub(symbol.value).is_some_and(|distance| distance < symbol.size)
        };
        self.symbols().find(|symbol| section.kind == SymbolKind::Section && contains(symbol))
    }
}
