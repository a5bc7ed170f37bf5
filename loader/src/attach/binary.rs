//! User-space binaries and the file offsets of their functions.

use super::{
    elf_file::{ElfFile, RawSection, Segment, Symbol},
    error::AttachError,
    file_range::FileRange,
    names::{Glob, GlobError},
};
use crate::limits::BINARY_MATCHES;
use core_relo::{Endian, Text, sort::sort};
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
        let (base, version) = match name.split_once('@') {
            Some((base, version)) => (base, Some(version.strip_prefix('@').unwrap_or(version))),
            None => (name, None),
        };
        for dynamic in [true, false] {
            let mut found = FunctionMatch::default();
            self.symbols(dynamic, version.is_some(), &mut |s: &Symbol<'_>| {
                if is_named(s, dynamic, name, base, version) {
                    found.add(s);
                }
                Ok(())
            })?;
            match found {
                FunctionMatch { is_ambiguous: true, .. } => {
                    return Err(self.error(format!("has several functions `{name}`, at different places")));
                }
                FunctionMatch { offset: Some(offset), local_entry, .. } => {
                    let distance = if entry == EntryPoint::Local { local_entry } else { 0 };
                    return self.file_offset(name, offset.wrapping_add(distance));
                }
                FunctionMatch { .. } => {}
            }
        }
        Err(self.missing_function(name))
    }

    /// Returns the file offsets of functions by their plain names (libbpf: `elf_resolve_syms_offsets`).
    pub(super) fn find_functions(&self, names: &[&str]) -> Result<Vec<u64>, AttachError> {
        let mut found: Vec<FunctionMatch> = vec![FunctionMatch::default(); names.len()];
        let mut index: Vec<(&[u8], usize)> = names.iter().map(|n| n.as_bytes()).zip(0..).collect();
        sort(&mut index);
        for dynamic in [true, false] {
            self.symbols(dynamic, false, &mut |s: &Symbol<'_>| {
                let first = index.partition_point(|(name, _)| *name < s.name);
                for (_, at) in index.iter().skip(first).take_while(|(name, _)| *name == s.name) {
                    if let Some(found) = found.get_mut(*at) {
                        found.add(s);
                    }
                }
                Ok(())
            })?;
        }
        let to_offset = |(name, found): (&&str, &FunctionMatch)| match *found {
            FunctionMatch { is_ambiguous: true, .. } => {
                Err(self.error(format!("has several functions `{name}`, at different places")))
            }
            FunctionMatch { offset: Some(offset), local_entry, .. } => {
                self.file_offset(name, offset.wrapping_add(local_entry))
            }
            FunctionMatch { .. } => Err(self.missing_function(name)),
        };
        names.iter().zip(&found).map(to_offset).collect()
    }

    /// Returns the file offsets of the functions that match a pattern (libbpf: `elf_resolve_pattern_offsets`).
    pub(super) fn find_matching_functions(&self, pattern: &str) -> Result<Vec<u64>, AttachError> {
        let glob_error = |e: GlobError| self.error(format!("`{pattern}`: {e}"));
        let mut glob = Glob::new(pattern).map_err(glob_error)?;
        for dynamic in [false, true] {
            let mut found = Vec::new();
            self.symbols(dynamic, false, &mut |s: &Symbol<'_>| {
                if glob.matches(s.name).map_err(glob_error)? {
                    if found.len() == BINARY_MATCHES {
                        let problem = format!(
                            "too many functions match `{pattern}`, expected at most {BINARY_MATCHES}"
                        );
                        return Err(self.error(problem));
                    }
                    found.push(s.offset.wrapping_add(s.local_entry));
                }
                Ok(())
            })?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Err(self.error(format!("has no function that `{pattern}` matches")))
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

    pub(super) fn segments(&self) -> Result<Vec<Segment>, AttachError> {
        with_elf!(self, file => file.segments())
    }

    pub(super) fn section(&self, name: &[u8]) -> Result<Option<RawSection>, AttachError> {
        with_elf!(self, file => file.section(name))
    }

    pub(super) fn error(&self, problem: impl Into<Text>) -> AttachError {
        self.range().error(problem)
    }

    fn range(&self) -> &FileRange {
        with_elf!(self, file => &file.range)
    }

    fn missing_function(&self, name: &str) -> AttachError {
        self.error(format!("has no function `{name}` in its symbol tables (stripped? then give an offset)"))
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

    fn symbols(
        &self,
        dynamic: bool,
        with_versions: bool,
        each: &mut dyn FnMut(&Symbol<'_>) -> Result<(), AttachError>,
    ) -> Result<(), AttachError> {
        with_elf!(self, file => file.symbols(dynamic, with_versions, each))
    }
}

/// The function found for a name. A strong symbol takes precedence over weak symbols.
#[derive(Clone, Copy, Debug, Default)]
struct FunctionMatch {
    offset: Option<u64>,
    local_entry: u64,
    is_weak: bool,
    is_ambiguous: bool,
}

impl FunctionMatch {
    fn add(&mut self, symbol: &Symbol<'_>) {
        match self.offset {
            Some(offset) if offset == symbol.offset => {}
            Some(_) if !self.is_weak && !symbol.is_weak => self.is_ambiguous = true,
            Some(_) if symbol.is_weak => {}
            _ => {
                (self.offset, self.local_entry) = (Some(symbol.offset), symbol.local_entry);
                self.is_weak = symbol.is_weak;
            }
        }
    }
}

/// Returns whether a symbol has the wanted name and version. The version of a dynamic symbol is in a table, that of other symbols in
/// the name (libbpf: `symbol_match`).
///
/// `wanted` is the whole name, `base` the name without the version.
fn is_named(symbol: &Symbol<'_>, dynamic: bool, wanted: &str, base: &str, version: Option<&str>) -> bool {
    match symbol.name.strip_prefix(base.as_bytes()) {
        Some([] | [b'@', ..]) => match version {
            None => true,
            Some(version) if dynamic => symbol.version == Some(version.as_bytes()),
            Some(_) => symbol.name == wanted.as_bytes(),
        },
        _ => false,
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
        assert_eq!(binary.find_matching_functions("*"), Ok(vec![entry, F1]));
        assert!(binary.find_matching_functions("take?").is_err(), "defined in another file");
        let long = binary.find_matching_functions(&"*".repeat(513)).unwrap_err().to_string();
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
            let all = (binary.find_functions(&["f1"]), binary.find_matching_functions("f1"));
            assert_eq!(all, (Ok(vec![local]), Ok(vec![local])));
            [local, global]
        };
        // Version 1 of the ABI has no local entry points.
        assert_eq!(places(&bytes), [F1, F1]);
        bytes[48] = 2;
        assert_eq!(places(&bytes), [F1 + 8, F1]);
    }

    #[test]
    fn weak_and_versioned_symbols() {
        let symbol = |offset, is_weak| Symbol { name: b"f", version: None, offset, local_entry: 0, is_weak };
        let find = |symbols: &[Symbol<'_>]| {
            let mut found = FunctionMatch::default();
            for s in symbols {
                found.add(s);
            }
            (found.offset, found.is_ambiguous)
        };
        assert_eq!(find(&[symbol(1, true), symbol(2, false)]), (Some(2), false));
        assert_eq!(find(&[symbol(1, false), symbol(2, true)]), (Some(1), false));
        assert_eq!(find(&[symbol(1, false), symbol(1, false)]), (Some(1), false));
        assert!(find(&[symbol(1, false), symbol(2, false)]).1);
        let dynamic = Symbol { version: Some(b"V_1"), ..symbol(1, false) };
        assert!(is_named(&dynamic, true, "f", "f", None));
        assert!(is_named(&dynamic, true, "f@V_1", "f", Some("V_1")));
        assert!(!is_named(&dynamic, true, "f@V_2", "f", Some("V_2")));
        let plain = Symbol { name: b"f@@V_1", ..symbol(1, false) };
        assert!(is_named(&plain, false, "f", "f", None));
        assert!(is_named(&plain, false, "f@@V_1", "f", Some("V_1")));
        assert!(!is_named(&plain, false, "f@V_1", "f", Some("V_1")));
        assert!(!is_named(&Symbol { name: b"f2", ..symbol(1, false) }, false, "f", "f", None));
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
            let _found = (binary.find_matching_functions("*"), binary.segments(), binary.kind());
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
