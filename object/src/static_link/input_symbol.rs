//! The symbols of an object to link.

use super::error::{StaticLinkError, SymbolError};
use crate::{
    elf::{Elf, text},
    object::{
        SymbolLocation,
        symbols::{Symbols, section_of},
    },
};
use object::elf;

/// A symbol of an input, with the fields of an `Elf64_Sym`.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputSymbol<'d> {
    pub(super) name: &'d [u8],
    pub(super) kind: u8,
    pub(super) binding: u8,
    pub(super) other: u8,
    pub(super) location: SymbolLocation,
    pub(super) value: u64,
    pub(super) size: u64,
}

impl InputSymbol<'_> {
    pub(super) fn is_extern(&self) -> bool {
        self.location == SymbolLocation::Undefined
    }

    /// Returns whether the symbol is an uninitialised variable without a section.
    pub(super) fn is_common(&self) -> bool {
        self.location == SymbolLocation::COMMON
    }

    pub(super) const fn is_local(&self) -> bool {
        self.binding == elf::STB_LOCAL.0
    }

    pub(super) const fn is_weak(&self) -> bool {
        self.binding == elf::STB_WEAK.0
    }

    pub(super) const fn is_section(&self) -> bool {
        self.kind == elf::STT_SECTION.0
    }

    pub(super) const fn visibility(&self) -> u8 {
        self.other & 3
    }

    /// Checks that the linker supports the symbol (libbpf: `linker_sanity_check_elf_symtab`).
    fn check(&self) -> Result<(), SymbolError> {
        if self.binding > elf::STB_WEAK.0 {
            return Err(SymbolError::Binding { found: self.binding });
        }
        if self.visibility() != elf::STV_DEFAULT.0 && self.visibility() != elf::STV_HIDDEN.0 {
            return Err(SymbolError::Visibility { found: self.visibility() });
        }
        let is_untyped = self.kind == elf::STT_NOTYPE.0 && self.value == 0 && self.size == 0;
        if self.is_extern() && (self.is_local() || !is_untyped) {
            return Err(SymbolError::Extern);
        }
        if !self.is_extern() && self.is_section() && self.value != 0 {
            return Err(SymbolError::SectionValue { value: self.value });
        }
        Ok(())
    }
}

/// Reads and checks the symbols of an object, including the null symbol.
pub(super) fn read_symbols<'d>(
    file: &str,
    elf: &Elf<'d>,
    table: &Symbols<'d>,
) -> Result<Vec<InputSymbol<'d>>, StaticLinkError> {
    let mut symbols = Vec::with_capacity(table.raw().len());
    for (raw, resolved) in table.raw().iter().zip(table.iter()) {
        let resolved = resolved.map_err(|cause| StaticLinkError::Object { file: file.into(), cause })?;
        let symbol = InputSymbol {
            name: resolved.name,
            kind: raw.st_type().0,
            binding: raw.st_bind().0,
            other: raw.st_other.0,
            location: resolved.location,
            value: resolved.value,
            size: resolved.size,
        };
        let check = if resolved.index == 0 { Ok(()) } else { symbol.check() };
        check.map_err(|cause| {
            // The name of a section symbol is usually the section's.
            let section = section_of(elf, &resolved).filter(|_| symbol.name.is_empty());
            let name = section.map_or(symbol.name, |section| section.name);
            StaticLinkError::Symbol { file: file.into(), symbol: text(name), cause }
        })?;
        symbols.push(symbol);
    }
    Ok(symbols)
}
