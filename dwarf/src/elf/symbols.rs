//! The symbols of functions and per-CPU variables.

use crate::{error::EncodeError, parse_error::ParserResult as _};
use hashbrown::{HashMap, HashSet};
use object::{
    Object as _, ObjectSection as _, ReadRef,
    elf::{STT_FUNC, STT_OBJECT},
    read::elf::{ElfFile, FileHeader, SectionHeader as _, Sym as _},
};

/// The section of per-CPU variables.
const PER_CPU_SECTION: &[u8] = b".data..percpu";

/// The longest name of a symbol that is compared with names of functions, in bytes (the kernel's
/// `KSYM_NAME_LEN`).
const SYMBOL_NAME_BYTES: usize = 512;

/// The functions and per-CPU variables of a file.
#[derive(Debug, Default)]
pub(crate) struct Symbols<'d> {
    /// The names of all functions.
    pub(crate) functions: HashSet<&'d [u8]>,
    pub(crate) per_cpu: Option<PerCpuSymbols<'d>>,
}

/// The section of per-CPU variables and its symbols.
#[derive(Debug)]
pub(crate) struct PerCpuSymbols<'d> {
    /// The address of the section. Zero on x86-64 and in modules.
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// The size of each variable, by address and name.
    pub(crate) variables: HashMap<(u64, &'d [u8]), u64>,
}

impl<'d> Symbols<'d> {
    /// Reads the symbol table of a file.
    pub(super) fn read<H: FileHeader, R: ReadRef<'d>>(file: &ElfFile<'d, H, R>) -> Result<Self, EncodeError> {
        let table = file.elf_symbol_table();
        let endian = file.endian();
        let mut symbols = Self::default();
        if table.is_empty() {
            return Ok(symbols);
        }
        let per_cpu = file.sections().find(|section| section.name_bytes() == Ok(PER_CPU_SECTION));
        let mut variables = HashMap::new();
        let strings = file.elf_section_table().section(table.string_section()).parsed()?;
        let strings = strings.data(endian, file.data()).parsed()?;
        for (index, symbol) in table.enumerate() {
            let kind = symbol.st_type();
            if kind != STT_FUNC && kind != STT_OBJECT {
                continue;
            }
            let Some(section) = table.symbol_section(endian, symbol, index).parsed()? else { continue };
            let Some(name) = name_at(strings, symbol.st_name(endian)) else { continue };
            if kind == STT_FUNC {
                symbols.functions.insert(name);
            } else if per_cpu.as_ref().is_some_and(|per_cpu| per_cpu.index() == section) {
                let (address, size) = (symbol.st_value(endian).into(), symbol.st_size(endian).into());
                variables.insert((address, name), size);
            }
        }
        symbols.per_cpu = per_cpu.map(|section| PerCpuSymbols {
            address: section.address(),
            size: section.size(),
            variables,
        });
        Ok(symbols)
    }
}

/// Returns the name at an offset; `None` for no name, and for a name that no kernel has.
fn name_at(strings: &[u8], offset: u32) -> Option<&[u8]> {
    let rest = strings.get(usize::try_from(offset).ok()?..)?;
    let name = rest.get(..SYMBOL_NAME_BYTES).unwrap_or(rest).split(|byte| *byte == 0).next()?;
    Some(name).filter(|name| !name.is_empty() && name.len() < SYMBOL_NAME_BYTES)
}
