//! User-space binaries and the file offsets of their functions.

use super::{
    elf_code::FilePart,
    elf_file::{ElfFile, RawSection, Segment, Symbol, SymbolFilter, SymbolTable},
    error::AttachError,
    file_range::FileRange,
    function_search::{FunctionMatch, FunctionSearch, WantedFunction},
    indirect_function::{IndirectFunction, implementations},
    missing_function::{ambiguous_function, indirect_function, missing_function},
    pattern_search::PatternSearch,
    stripped::SymbolSource,
};
use core_relo::{Endian, Text};
use object::{
    Endianness,
    elf::{self, ELFCLASS32, ELFCLASS64, ELFMAG, FileHeader32, FileHeader64},
};
use std::path::Path;

/// An ELF file, on its own or in an archive.
#[derive(Debug)]
pub(super) enum Binary {
    Elf32(ElfFile<FileHeader32<Endianness>>),
    Elf64(ElfFile<FileHeader64<Endianness>>),
}

/// Properties of a binary from its ELF header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ElfKind {
    pub(super) is_64: bool,
    pub(super) endian: Endian,
    /// `ET_DYN`: a shared library or a position-independent program.
    pub(super) is_shared: bool,
    /// `ET_EXEC` or `ET_DYN`: not an object file.
    pub(super) is_linked: bool,
}

/// An entry point of a function. They differ on PowerPC only: calls from other binaries start at the global entry point, calls in the same
/// binary at the local one, which the global one reaches as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryPoint {
    /// The first instruction, from which disassemblers count offsets.
    Global,
    /// The first instruction that every call executes.
    Local,
}

/// Evaluates an expression for the ELF file of a [`Binary`], whichever class it has.
macro_rules! with_elf {
    ($binary:expr, $file:ident => $body:expr) => {
        match $binary {
            Self::Elf32($file) => $body,
            Self::Elf64($file) => $body,
        }
    };
}

impl Binary {
    pub(super) fn open(path: &Path) -> Result<Self, AttachError> {
        Self::parse(FileRange::open(path)?)
    }

    /// Parses the headers of a binary.
    pub(super) fn parse(range: FileRange) -> Result<Self, AttachError> {
        let mut start = [0; 5];
        let is_long_enough = range.fill("file header", 0, &mut start).is_ok();
        match start.strip_prefix(&ELFMAG) {
            Some([class]) if is_long_enough && *class == ELFCLASS64.0 => {
                ElfFile::parse(range).map(Self::Elf64)
            }
            Some([class]) if is_long_enough && *class == ELFCLASS32.0 => {
                ElfFile::parse(range).map(Self::Elf32)
            }
            _ => Err(range.error("is not an ELF file")),
        }
    }

    /// Fills a buffer from an offset. Returns `false` if the file is too short.
    pub(super) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> bool {
        self.range().fill("code", offset, buffer).is_ok()
    }

    /// Returns the file offset of a function: `name`, `name@VERSION` or `name@@VERSION` (libbpf: `elf_find_func_offset`).
    ///
    /// libbpf always takes the global entry point.
    pub(super) fn find_function(&self, name: &str, entry: EntryPoint) -> Result<u64, AttachError> {
        self.find_function_of(None, name, entry)
    }

    /// Returns the file offset of a function, as [`find_function`](Self::find_function). Of an indirect function, returns the
    /// implementation that a process uses.
    pub(super) fn find_function_of(
        &self,
        process: Option<u32>,
        name: &str,
        entry: EntryPoint,
    ) -> Result<u64, AttachError> {
        let mut search = FunctionSearch::new([name]);
        self.search(&mut search)?;
        let found = search.matches().next();
        let (wanted, found) =
            found.ok_or_else(|| self.error("internal error: a search for a function has no result"))?;
        self.match_offset(process, wanted, found, entry)
    }

    /// Returns whether several functions at different places have the name.
    pub(super) fn has_several_functions(&self, name: &str) -> Result<bool, AttachError> {
        let mut search = FunctionSearch::new([name]);
        self.search(&mut search)?;
        Ok(search.matches().any(|(_, found)| found.is_ambiguous))
    }

    /// Returns the file offsets of functions by their names, as [`find_function`](Self::find_function) (libbpf:
    /// `elf_resolve_syms_offsets`).
    pub(super) fn find_functions(&self, names: &[&str]) -> Result<Vec<u64>, AttachError> {
        self.find_functions_of(None, names)
    }

    /// Returns the file offsets of functions by their names, as [`find_function_of`](Self::find_function_of).
    pub(super) fn find_functions_of(
        &self,
        process: Option<u32>,
        names: &[&str],
    ) -> Result<Vec<u64>, AttachError> {
        let mut search = FunctionSearch::new(names.iter().copied());
        self.search(&mut search)?;
        let matches = search.matches();
        matches.map(|(wanted, found)| self.match_offset(process, wanted, found, EntryPoint::Local)).collect()
    }

    /// Searches the symbol tables. A function in the dynamic symbol table takes precedence: other binaries call that one.
    fn search(&self, search: &mut FunctionSearch<'_>) -> Result<(), AttachError> {
        for table in [SymbolTable::Dynamic, SymbolTable::Full] {
            self.symbols(table, SymbolFilter::Functions, &mut |symbol| {
                search.add(symbol);
                Ok(())
            })?;
            if search.finish_table() {
                return Ok(());
            }
        }
        for source in SymbolSource::ALL {
            // If the function is in no other source, `missing_function` reports the errors of the sources.
            let _error = source.symbols(self, SymbolFilter::Functions, &mut |symbol| {
                search.add(symbol);
                Ok(())
            });
            if search.finish_table() {
                break;
            }
        }
        Ok(())
    }

    fn match_offset(
        &self,
        process: Option<u32>,
        wanted: &WantedFunction<'_>,
        found: &FunctionMatch,
        entry: EntryPoint,
    ) -> Result<u64, AttachError> {
        let name = wanted.name;
        let Some(place) = found.place else { return Err(missing_function(self, wanted)) };
        if found.is_ambiguous {
            return Err(ambiguous_function(self, wanted));
        }
        if let Some(resolver) = place.resolver {
            let function = [IndirectFunction { name: wanted.base.as_bytes(), resolver }];
            let found = process.map(|pid| implementations(self, &function, pid)).transpose()?;
            let found = found.and_then(|found| found.into_iter().next().flatten());
            return found.ok_or_else(|| indirect_function(self, wanted, process, entry));
        }
        let distance = if entry == EntryPoint::Local { place.local_entry } else { 0 };
        self.file_offset(name, place.offset.wrapping_add(distance))
    }

    /// Returns the file offsets of the functions that match a pattern, each once although it may have several names (libbpf:
    /// `elf_resolve_pattern_offsets`).
    /// Of a matching indirect function, adds the implementation that a process uses, if there is one.
    pub(super) fn find_matching_functions(
        &self,
        process: Option<u32>,
        pattern: &str,
    ) -> Result<Vec<u64>, AttachError> {
        let mut search = PatternSearch::new(self, process, pattern)?;
        for table in [SymbolTable::Full, SymbolTable::Dynamic] {
            self.symbols(table, SymbolFilter::Functions, &mut |symbol| search.add(symbol))?;
            if search.has_matches() {
                return search.finish();
            }
        }
        let mut failed = None;
        for source in SymbolSource::ALL {
            match source.symbols(self, SymbolFilter::Functions, &mut |symbol| search.add(symbol)) {
                Ok(()) => {}
                // Some of the matches are missing.
                Err(error) if search.has_matches() => return Err(error),
                Err(error) => failed = failed.or(Some(error)),
            }
            if search.has_matches() {
                break;
            }
        }
        match failed.filter(|_| !search.has_matches()) {
            Some(error) => Err(error),
            None => search.finish(),
        }
    }

    pub(super) fn kind(&self) -> ElfKind {
        let (endian, kind) = with_elf!(self, file => (file.endian(), file.file_type()));
        ElfKind {
            is_64: matches!(self, Self::Elf64(_)),
            endian,
            is_shared: kind == elf::ET_DYN,
            is_linked: kind == elf::ET_DYN || kind == elf::ET_EXEC,
        }
    }

    pub(super) fn machine(&self) -> elf::Machine {
        with_elf!(self, file => file.machine())
    }

    pub(super) fn segments(&self) -> Result<Vec<Segment>, AttachError> {
        with_elf!(self, file => file.segments())
    }

    /// Returns the executable sections or, without section headers, the executable segments.
    pub(super) fn code(&self) -> Result<Vec<Segment>, AttachError> {
        with_elf!(self, file => file.code())
    }

    pub(super) fn section(&self, name: &[u8]) -> Result<Option<RawSection>, AttachError> {
        with_elf!(self, file => file.section(name))
    }

    pub(super) fn error(&self, problem: impl Into<Text>) -> AttachError {
        self.range().error(problem)
    }

    pub(super) fn range(&self) -> &FileRange {
        with_elf!(self, file => &file.range)
    }

    /// Converts a function's offset in the binary to the offset in the file, which may be an archive. A function outside of the binary
    /// is an error.
    fn file_offset(&self, name: &str, offset: u64) -> Result<u64, AttachError> {
        let range = self.range();
        let file_offset = range.start().checked_add(offset).filter(|_| offset != 0 && offset < range.len());
        file_offset.ok_or_else(|| {
            let len = range.len();
            self.error(format!(
                "function `{name}` is outside of the file: at {offset:#x}, expected 1 to {len:#x}"
            ))
        })
    }

    /// Checks that an offset of the file is one of code in the binary. A probe elsewhere would never run, or would change data.
    pub(super) fn check_code(&self, file_offset: u64) -> Result<(), AttachError> {
        let offset = file_offset.checked_sub(self.range().start());
        let part = match offset.filter(|offset| *offset < self.range().len()) {
            None => "outside of the file".to_owned(),
            Some(offset) => match with_elf!(self, file => file.part_at(offset))? {
                FilePart::Code => return Ok(()),
                FilePart::Header => "in the ELF header".to_owned(),
                FilePart::Section(name) => format!("in section {}", String::from_utf8_lossy(&name)),
                FilePart::Other => "in no section".to_owned(),
            },
        };
        Err(self.error(format!("offset {file_offset:#x} is {part}, expected code: an executable section")))
    }

    pub(super) fn has_symbol_table(&self, table: SymbolTable) -> bool {
        with_elf!(self, file => file.has_symbol_table(table))
    }

    /// Calls `each` for the symbols of a table that the filter lets through.
    pub(super) fn symbols(
        &self,
        table: SymbolTable,
        filter: SymbolFilter,
        each: &mut dyn FnMut(&Symbol<'_>) -> Result<(), AttachError>,
    ) -> Result<(), AttachError> {
        with_elf!(self, file => file.symbols(table, filter, each))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::test_support::elf::{F1, TempFile, TestElf},
        *,
    };

    #[test]
    fn functions_are_found_by_name_and_by_pattern() {
        let file = TempFile::new("functions", &TestElf::bytes());
        let binary = Binary::open(file.path()).unwrap();
        let entry = 0x100;
        assert_eq!(binary.find_function("f1", EntryPoint::Local), Ok(F1));
        assert_eq!(binary.find_functions(&["f1", "entry", "f1"]), Ok(vec![F1, entry, F1]));
        assert_eq!(binary.find_matching_functions(None, "*"), Ok(vec![entry, F1]));
        assert!(binary.find_matching_functions(None, "take?").is_err(), "defined in another file");
        let long = binary.find_matching_functions(None, &"*".repeat(513)).unwrap_err().to_string();
        assert!(long.contains("the pattern is too long: 513 bytes, expected at most 512"), "{long}");
        // A label is not a function.
        for missing in ["label", "taken", "f", "f1@V_1", "F1", ""] {
            assert!(binary.find_function(missing, EntryPoint::Local).is_err(), "{missing}");
        }
        let kind = ElfKind { is_64: true, endian: Endian::Little, is_shared: false, is_linked: true };
        assert_eq!(binary.kind(), kind);
        let code: Vec<bool> = binary.segments().unwrap().iter().map(|s| s.is_code).collect();
        assert_eq!(code, [true, false]);
    }

    #[test]
    fn offsets_outside_of_code_are_refused_with_their_place() {
        let file = TempFile::new("offsets", &TestElf::bytes());
        let binary = Binary::open(file.path()).unwrap();
        assert_eq!((binary.check_code(F1), binary.check_code(0x100)), (Ok(()), Ok(())));
        let symbols = binary.section(b".symtab").unwrap().unwrap();
        let bytes = TestElf::bytes();
        let symbols = bytes.windows(symbols.data.len()).position(|bytes| *bytes == symbols.data).unwrap();
        for (offset, place) in [
            (0, "in the ELF header"),
            (0x3f, "in the ELF header"),
            (u64::try_from(symbols).unwrap(), "in section .symtab"),
            (0x40, "in no section"),
            (u64::try_from(bytes.len()).unwrap(), "outside of the file"),
            (u64::MAX, "outside of the file"),
        ] {
            let error = binary.check_code(offset).unwrap_err().to_string();
            assert!(error.contains(&format!("offset {offset:#x} is {place}, expected code")), "{error}");
        }
    }

    #[test]
    fn functions_of_powerpc_are_probed_at_their_local_entry_point() {
        let e = Endian::Little;
        let mut bytes = TestElf::bytes();
        bytes[18..20].copy_from_slice(&e.u16_bytes(elf::EM_PPC64.0));
        let headers = usize::try_from(e.u64(&bytes, 40).unwrap()).unwrap();
        let header = bytes[headers..].chunks_exact(64).find(|header| header[4] == 2).unwrap();
        let symbols = usize::try_from(e.u64(header, 24).unwrap()).unwrap();
        // `f1` is the third symbol. The value 3 stands for a distance of 2 instructions.
        bytes[symbols + 2 * 24 + 5] = 3 << 5;
        let places = |bytes: &[u8]| {
            let file = TempFile::new("powerpc", bytes);
            let binary = Binary::open(file.path()).unwrap();
            let [local, global] = [EntryPoint::Local, EntryPoint::Global]
                .map(|entry| binary.find_function("f1", entry).unwrap());
            let all = (binary.find_functions(&["f1"]), binary.find_matching_functions(None, "f1"));
            assert_eq!(all, (Ok(vec![local]), Ok(vec![local])));
            [local, global]
        };
        // Version 1 of the ABI has no local entry points.
        assert_eq!(places(&bytes), [F1, F1]);
        bytes[48] = 2;
        assert_eq!(places(&bytes), [F1 + 8, F1]);
    }

    #[test]
    fn a_function_of_the_c_library_has_its_version() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let libc =
            maps.lines().filter_map(|l| l.split_ascii_whitespace().nth(5)).find(|p| p.contains("/libc.so"));
        let Some(libc) = libc else { return println!("SKIP: no shared C library here") };
        let libc = Binary::open(Path::new(libc)).unwrap();
        let plain = libc.find_function("getppid", EntryPoint::Local).unwrap();
        assert!(libc.find_function("getppid@NO_SUCH", EntryPoint::Local).is_err());
        if cfg!(target_arch = "x86_64") {
            assert_eq!(libc.find_function("getppid@GLIBC_2.2.5", EntryPoint::Local), Ok(plain));
            assert_eq!(libc.find_function("getppid@@GLIBC_2.2.5", EntryPoint::Local), Ok(plain));
            let find = |name: &str| libc.find_function(name, EntryPoint::Local).unwrap();
            let [plain, new, old] = ["", "@@GLIBC_2.3.2", "@GLIBC_2.2.5"]
                .map(|version| find(&format!("pthread_cond_wait{version}")));
            assert_eq!(plain, new);
            assert_ne!(plain, old);
            let unknown = libc.find_function("getppid@NO_SUCH", EntryPoint::Local).unwrap_err().to_string();
            assert!(
                unknown.ends_with("has no version `NO_SUCH` of `getppid`: found `GLIBC_2.2.5`"),
                "{unknown}"
            );
            let memcpy = libc.find_function("memcpy", EntryPoint::Local).unwrap_err().to_string();
            assert!(memcpy.contains("`memcpy` is an indirect function (IFUNC)"), "{memcpy}");
        }
    }

    /// Writes the test ELF with a section of the given size, and extends the file sparsely.
    fn sparse(section: [u8; 4], size: u64, file_len: u64) -> TempFile {
        let mut bytes = TestElf::bytes();
        let e = Endian::Little;
        let headers = usize::try_from(e.u64(&bytes, 40).unwrap()).unwrap();
        // Sections are identified by their type.
        let header = bytes[headers..].chunks_exact_mut(64).find(|header| header[4..8] == section).unwrap();
        header[32..40].copy_from_slice(&e.u64_bytes(size));
        let file = TempFile::new("sparse", &bytes);
        std::fs::OpenOptions::new().write(true).open(file.path()).unwrap().set_len(file_len).unwrap();
        file
    }

    #[test]
    fn sizes_claimed_by_a_sparse_file_are_limited() {
        const SYMTAB: [u8; 4] = [2, 0, 0, 0];
        const NOTE: [u8; 4] = [7, 0, 0, 0];
        let (huge, len) = (6 << 30, 1 << 40);
        let file = sparse(SYMTAB, huge, len);
        let text = Binary::open(file.path())
            .unwrap()
            .find_function("f1", EntryPoint::Local)
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("symbol table is too large: 6442450944 bytes, expected at most 1073741824"),
            "{text}"
        );
        // A table within the limit is read in chunks, and only the names of functions are read.
        let file = sparse(SYMTAB, 24 << 20, len);
        assert_eq!(Binary::open(file.path()).unwrap().find_function("f1", EntryPoint::Local), Ok(F1));
        let file = sparse(NOTE, huge, len);
        let text = Binary::open(file.path()).unwrap().section(b".note.stapsdt").unwrap_err().to_string();
        assert!(
            text.contains(".note.stapsdt is too large: 6442450944 bytes, expected at most 67108864"),
            "{text}"
        );
        let mut bytes = TestElf::bytes();
        // A section count of 0 in the ELF header moves the count to the size of the first section header.
        bytes[60..62].fill(0);
        let first = usize::try_from(Endian::Little.u64(&bytes, 40).unwrap()).unwrap();
        bytes[first..][32..40].fill(0x0f);
        let file = TempFile::new("sections", &bytes);
        std::fs::OpenOptions::new().write(true).open(file.path()).unwrap().set_len(len).unwrap();
        let text = Binary::open(file.path()).unwrap_err().to_string();
        assert!(text.contains("table of sections"), "{text}");
    }

    #[test]
    fn no_damaged_file_is_read_past_its_end() {
        let whole = TestElf::bytes();
        let look = |bytes: &[u8]| {
            let file = TempFile::new("damaged", bytes);
            let Ok(binary) = Binary::open(file.path()) else { return };
            let within = |at: u64| assert!(usize::try_from(at).unwrap() < bytes.len());
            if let Ok(at) = binary.find_function("f1", EntryPoint::Local) {
                within(at);
            }
            let _found = (binary.find_matching_functions(None, "*"), binary.segments(), binary.kind());
            let _notes = binary.section(b".note.stapsdt").map(|s| s.map(|s| s.data.len()));
        };
        for cut in (0..whole.len()).step_by(23) {
            look(&whole[..cut]);
        }
        let records = (0..0x120).chain(0x1000..whole.len());
        for at in records.step_by(3) {
            let mut bytes = whole.clone();
            bytes[at] = 0xff;
            look(&bytes);
        }
    }
}
