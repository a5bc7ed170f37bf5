//! The functions of a stripped Go program, from its function table.

use super::{
    super::{
        binary::Binary,
        elf_file::{RawSection, Symbol, SymbolKind},
        error::AttachError,
    },
    CodeRanges,
    go_table::GoTable,
};
use core_relo::Endian;

/// The sections with the function table: of position-dependent and of position-independent programs.
const SECTIONS: [&str; 2] = [".gopclntab", ".data.rel.ro.gopclntab"];

/// The section in which an external linker puts the function table of a position-independent program, among
/// other data.
const READ_ONLY_DATA: &str = ".data.rel.ro";

/// The sections that Go programs have.
const GO_SECTIONS: [&str; 2] = [".go.buildinfo", ".note.go.buildid"];

/// The sections with relocations of addresses: of external linkers, and of Go's linker.
const RELOCATION_SECTIONS: [&str; 2] = [".rela.dyn", ".rela"];

/// The section with the data of the program for the runtime (Go from 1.26), in which a word has the start of
/// the code.
const MODULE_SECTION: &str = ".go.module";

/// The offset of that word, after one pointer, six slices and three words.
const MODULE_TEXT: u64 = 22 * 8;

/// Calls `each` for the functions of a Go program. Another binary has none.
pub(super) fn symbols(
    binary: &Binary,
    each: &mut dyn FnMut(&Symbol<'_>) -> Result<(), AttachError>,
) -> Result<(), AttachError> {
    let Some((name, section)) = find_section(binary)? else { return Ok(()) };
    let endian = binary.kind().endian;
    let words = RelocatedWords { binary, endian };
    let find_text_start = |position| words.text_start(&section, position).ok().flatten();
    let table = GoTable::parse(&section.data, endian, find_text_start)
        .map_err(|e| binary.error(format!("section {name} {e}")))?;
    let code = CodeRanges::of(binary)?;
    for function in table.functions() {
        let Some(offset) = code.file_offset(function.address) else { continue };
        each(&Symbol {
            name: function.name,
            version: None,
            kind: SymbolKind::Function,
            address: function.address,
            offset,
            local_entry: 0,
            is_weak: false,
        })?;
    }
    Ok(())
}

fn find_section(binary: &Binary) -> Result<Option<(&'static str, RawSection)>, AttachError> {
    for name in SECTIONS {
        if let Some(section) = binary.section(name.as_bytes())? {
            return Ok(Some((name, section)));
        }
    }
    for name in GO_SECTIONS {
        if binary.section(name.as_bytes())?.is_some() {
            return find_in_data(binary);
        }
    }
    Ok(None)
}

/// Returns the part of the read-only data that begins with the function table.
fn find_in_data(binary: &Binary) -> Result<Option<(&'static str, RawSection)>, AttachError> {
    let Some(mut section) = binary.section(READ_ONLY_DATA.as_bytes())? else { return Ok(None) };
    let Some(start) = GoTable::find(&section.data, binary.kind().endian) else { return Ok(None) };
    let distance = u64::try_from(start).ok();
    let address = distance.and_then(|distance| section.address.checked_add(distance));
    section.data.drain(..start);
    Ok(address.map(|address| (READ_ONLY_DATA, RawSection { address, ..section })))
}

/// The words of a 64-bit program that the dynamic linker relocates.
struct RelocatedWords<'b> {
    binary: &'b Binary,
    endian: Endian,
}

impl RelocatedWords<'_> {
    /// Returns the start of the code, whose word at a position of the function table's header is 0 in the
    /// file.
    fn text_start(&self, table: &RawSection, position: u64) -> Result<Option<u64>, AttachError> {
        if !self.binary.kind().is_64 {
            return Ok(None);
        }
        if let Some(address) = table.address.checked_add(position)
            && let Some(start) = self.addend(address)?
        {
            return Ok(Some(start));
        }
        let Some(module) = self.binary.section(MODULE_SECTION.as_bytes())? else { return Ok(None) };
        // The first word is the address of the function table, which shows that the layout is the expected
        // one.
        let is_known = self.word(&module, 0)? == Some(table.address);
        if is_known { self.word(&module, MODULE_TEXT) } else { Ok(None) }
    }

    /// Returns the word at an offset of a section, after relocation.
    fn word(&self, section: &RawSection, offset: u64) -> Result<Option<u64>, AttachError> {
        if let Some(address) = section.address.checked_add(offset)
            && let Some(addend) = self.addend(address)?
        {
            return Ok(Some(addend));
        }
        let stored = usize::try_from(offset).ok().and_then(|at| self.endian.u64(&section.data, at));
        Ok(stored.filter(|word| *word != 0))
    }

    /// Returns the addend of the relocation at an address: the address in the file that the word refers to.
    fn addend(&self, address: u64) -> Result<Option<u64>, AttachError> {
        for name in RELOCATION_SECTIONS {
            let Some(section) = self.binary.section(name.as_bytes())? else { continue };
            for record in section.data.chunks_exact(24) {
                let [place, info, addend] = [0, 8, 16].map(|at| self.endian.u64(record, at));
                // Without a symbol, the relocation adds the load address to the addend.
                let has_symbol = info.is_none_or(|info| info >> 32 != 0);
                if place == Some(address) && !has_symbol {
                    return Ok(addend);
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            super::{
                binary::EntryPoint,
                test_support::elf::{BASE, F1, TempFile, TestElf, TestSection},
            },
            go_table::tests::table,
        },
        *,
    };

    const TABLE: u64 = 0x70_0000;
    const MODULE: u64 = 0x71_0000;
    const TEXT_START: u64 = BASE + 0x100;

    fn open(table: &[u8], further: &[TestSection<'_>]) -> (Binary, TempFile) {
        let mut sections = vec![TestSection { name: SECTIONS[0], address: TABLE, bytes: table }];
        sections.extend(further.iter().map(|s| TestSection { ..*s }));
        let file = TempFile::new("go", &TestElf::with_sections(&[], &sections));
        (Binary::open(file.path()).unwrap(), file)
    }

    fn find(table: &[u8], further: &[TestSection<'_>]) -> u64 {
        let (binary, _file) = open(table, further);
        let found = binary.find_function("main.f", EntryPoint::Local).unwrap();
        assert_eq!(binary.find_matching_functions(None, "main.*"), Ok(vec![0x100, found]));
        found
    }

    fn error(table: &[u8], further: &[TestSection<'_>]) -> String {
        let (binary, _file) = open(table, further);
        binary.find_function("main.f", EntryPoint::Local).unwrap_err().to_string()
    }

    const fn section(bytes: &[u8]) -> TestSection<'_> {
        TestSection { name: MODULE_SECTION, address: MODULE, bytes }
    }

    /// Returns a relocation without a symbol.
    fn relocation(place: u64, addend: u64) -> Vec<u8> {
        [place, 8, addend].iter().flat_map(|word| Endian::Little.u64_bytes(*word)).collect()
    }

    #[test]
    fn functions_of_a_stripped_program_are_found() {
        for magic in [0xffff_fffb, 0xffff_fffa, 0xffff_fff0, 0xffff_fff1] {
            assert_eq!(find(&table(magic, TEXT_START, 25), &[]), F1, "{magic:#x}");
        }
    }

    #[test]
    fn the_start_of_the_code_is_found_by_relocations_and_in_the_data_for_the_runtime() {
        let table = table(0xffff_fff1, 0, 25);
        let unknown = error(&table, &[]);
        let expected = "section .gopclntab counts from a start of the code that the file does not contain";
        assert!(unknown.ends_with(expected), "{unknown}");
        for name in RELOCATION_SECTIONS {
            let [before, own] = [relocation(TABLE, 1), relocation(TABLE + 24, TEXT_START)];
            let bytes = [before, own].concat();
            assert_eq!(find(&table, &[TestSection { name, address: 0, bytes: &bytes }]), F1);
        }
        let mut module = vec![0; 200];
        module[..8].copy_from_slice(&Endian::Little.u64_bytes(TABLE));
        module[176..184].copy_from_slice(&Endian::Little.u64_bytes(TEXT_START));
        assert_eq!(find(&table, &[section(&module)]), F1);
        let relocations = [relocation(MODULE, TABLE), relocation(MODULE + 176, TEXT_START)].concat();
        let relocations = TestSection { name: ".rela.dyn", address: 0, bytes: &relocations };
        assert_eq!(find(&table, &[section(&[0; 200]), relocations]), F1);
        module[..8].fill(1);
        assert!(error(&table, &[section(&module)]).ends_with(expected), "data of another layout");
    }

    #[test]
    fn the_table_of_a_position_independent_program_of_an_external_linker_is_among_other_data() {
        let table = table(0xffff_fff1, 0, 25);
        // What looks like a header is none: it has no functions.
        let fake = [&[0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8][..], &[0; 24]].concat();
        let data = [&fake[..], &table].concat();
        let relocation = relocation(TABLE + 32 + 24, TEXT_START);
        let find = |sections: &[TestSection<'_>]| {
            let file = TempFile::new("go", &TestElf::with_sections(&[], sections));
            let binary = Binary::open(file.path()).unwrap();
            binary.find_function("main.f", EntryPoint::Local)
        };
        let data = || TestSection { name: READ_ONLY_DATA, address: TABLE, bytes: &data };
        let relocation = || TestSection { name: ".rela.dyn", address: 0, bytes: &relocation };
        for name in GO_SECTIONS {
            let mark = TestSection { name, address: 0, bytes: b"go" };
            assert_eq!(find(&[mark, data(), relocation()]), Ok(F1));
        }
        assert!(find(&[data(), relocation()]).is_err(), "no Go program");
    }

    #[test]
    fn a_damaged_table_is_named() {
        let unknown = error(&[0xff; 64], &[]);
        assert!(
            unknown.ends_with("section .gopclntab is of an unknown version: magic 0xffffffff"),
            "{unknown}"
        );
        let mut wild = table(0xffff_fff1, TEXT_START, 25);
        wild[8..16].fill(0xff);
        let wild = error(&wild, &[]);
        assert!(wild.contains("has too many functions: 18446744073709551615"), "{wild}");
    }
}
