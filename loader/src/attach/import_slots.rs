//! The words in which a dynamic linker stores the addresses of the functions that a binary imports.

use super::{binary::Binary, error::AttachError};
use crate::convert::to_usize;
use object::elf;
use std::collections::HashMap;

/// The sections with relocations.
const RELOCATION_SECTIONS: [&[u8]; 2] = [b".rela.dyn", b".rela.plt"];

/// The bytes of a symbol and of a relocation of 64-bit files.
const RECORD_BYTES: usize = 24;

/// The bytes of the longest name of a function that is searched for.
const NAME_BYTES: usize = 1024;

/// A word with the address of an imported function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ImportSlot {
    /// The position of the function's name among the wanted names.
    pub(super) name: usize,
    /// The address of the word, before the binary is loaded.
    pub(super) address: u64,
}

/// Returns the words with the addresses of functions by their names. Until the first call, such a word may
/// have another address: that of code which asks the dynamic linker.
pub(super) fn import_slots(binary: &Binary, names: &[&[u8]]) -> Result<Vec<ImportSlot>, AttachError> {
    let kind = binary.kind();
    let (true, Some(types)) = (kind.is_64, relocation_types(binary.machine())) else { return Ok(Vec::new()) };
    let (Some(symbols), Some(strings)) = (binary.section(b".dynsym")?, binary.section(b".dynstr")?) else {
        return Ok(Vec::new());
    };
    let names = NameTable::new(names);
    // The indices of symbols ascend.
    let imported: Vec<(u64, usize)> = (0u64..)
        .zip(symbols.data.chunks_exact(RECORD_BYTES))
        .filter_map(|(index, symbol)| {
            // A function of the binary itself has its address in the symbol.
            let is_imported = kind.endian.u16(symbol, 6)? == elf::SHN_UNDEF.0;
            let at = kind.endian.u32(symbol, 0).filter(|_| is_imported)?;
            Some((index, names.position(strings.data.get(to_usize(at)..)?)?))
        })
        .collect();
    let mut slots = Vec::new();
    if imported.is_empty() {
        return Ok(slots);
    }
    for name in RELOCATION_SECTIONS {
        let Some(section) = binary.section(name)? else { continue };
        for record in section.data.chunks_exact(RECORD_BYTES) {
            let (Some(address), Some(info)) = (kind.endian.u64(record, 0), kind.endian.u64(record, 8)) else {
                continue;
            };
            let is_address = types.contains(&(info & 0xffff_ffff));
            let symbol = imported.binary_search_by_key(&(info >> 32), |(index, _)| *index);
            let symbol = symbol.ok().filter(|_| is_address).and_then(|at| imported.get(at));
            slots.extend(symbol.map(|(_, name)| ImportSlot { name: *name, address }));
        }
    }
    Ok(slots)
}

/// The positions of the wanted names. The names of hostile symbols may be long, and overlap.
struct NameTable<'n> {
    positions: HashMap<&'n [u8], usize>,
    /// The bytes of the longest name.
    longest: usize,
}

impl<'n> NameTable<'n> {
    fn new(names: &[&'n [u8]]) -> Self {
        let positions = names.iter().copied().zip(0..).filter(|(name, _)| name.len() <= NAME_BYTES).collect();
        let longest = names.iter().map(|name| name.len()).max().map_or(0, |longest| longest.min(NAME_BYTES));
        Self { positions, longest }
    }

    /// Returns the position of the name that ends at the first null byte.
    fn position(&self, text: &[u8]) -> Option<usize> {
        let end = text.iter().take(self.longest.checked_add(1)?).position(|byte| *byte == 0)?;
        self.positions.get(text.get(..end)?).copied()
    }
}

/// Returns the types of the relocations that store a symbol's address (`R_*_GLOB_DAT`, `R_*_JUMP_SLOT`,
/// `R_*_64`).
const fn relocation_types(machine: elf::Machine) -> Option<[u64; 3]> {
    match machine {
        elf::EM_X86_64 => Some([6, 7, 1]),
        elf::EM_AARCH64 => Some([1025, 1026, 257]),
        // RISC-V has no type of its own for data.
        elf::EM_RISCV => Some([2, 5, 2]),
        elf::EM_S390 => Some([10, 11, 22]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::test_support::elf::{TempFile, TestElf, TestSection},
        *,
    };
    use core_relo::Endian;

    fn words(words: [u64; 3]) -> Vec<u8> {
        words.iter().flat_map(|word| Endian::Little.u64_bytes(*word)).collect()
    }

    /// Returns a symbol with a name, in a section.
    fn symbol(name: u32, section: u16) -> Vec<u8> {
        words([u64::from(name) | u64::from(section) << 48, 0, 0])
    }

    #[test]
    fn words_of_imported_functions_are_found_by_name() {
        let strings = b"\0floor\0sin\0";
        let symbols = [symbol(0, 0), symbol(1, 0), symbol(7, 0), symbol(1, 4)].concat();
        let relocation = |place, symbol: u64, kind| words([place, symbol << 32 | kind, 0]);
        // The second one is of another type, the last one of a function of the binary itself.
        let data = [relocation(0x10, 1, 6), relocation(0x18, 1, 8), relocation(0x20, 3, 6)].concat();
        let calls = [relocation(0x30, 2, 7), relocation(0x38, 1, 7)].concat();
        let section = |name, bytes| TestSection { name, address: 0, bytes };
        let sections = [
            section(".dynsym", &symbols),
            section(".dynstr", strings),
            section(".rela.dyn", &data),
            section(".rela.plt", &calls),
        ];
        let file = TempFile::new("slots", &TestElf::with_sections(&[], &sections));
        let binary = Binary::open(file.path()).unwrap();
        let find = |names: &[&[u8]]| import_slots(&binary, names).unwrap();
        let slot = |name, address| ImportSlot { name, address };
        assert_eq!(find(&[b"floor"]), [slot(0, 0x10), slot(0, 0x38)]);
        assert_eq!(find(&[b"floor", b"sin"]), [slot(0, 0x10), slot(1, 0x30), slot(0, 0x38)]);
        assert_eq!(find(&[b"cos"]), []);
        assert_eq!(find(&[&[b'x'; NAME_BYTES + 1]]), []);
    }
}
