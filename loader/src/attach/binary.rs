//! User-space binaries: where a function lies in the file.

use super::{
    elf_file::{ElfFile, RawSection, Segment, Symbol},
    error::AttachError,
    file_part::FilePart,
    text::matches,
};
use crate::limits::BINARY_MATCHES;
use core_relo::{Endian, Text};
use object::{
    Endianness,
    elf::{self, ELFCLASS32, ELFCLASS64, ELFMAG, FileHeader32, FileHeader64},
};
use std::path::Path;

/// An ELF file, or one within an archive.
#[derive(Debug)]
pub(super) enum Binary {
    Elf32(ElfFile<FileHeader32<Endianness>>),
    Elf64(ElfFile<FileHeader64<Endianness>>),
}

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) is_64: bool,
    pub(super) endian: Endian,
    /// `ET_DYN`: a shared library or a position-independent program.
    pub(super) is_shared: bool,
    /// Linked: `ET_EXEC` or `ET_DYN`.
    pub(super) is_linked: bool,
}

/// Does something with the file, of 32 or 64 bits.
macro_rules! elf {
    ($binary:expr, $file:ident => $body:expr) => {
        match $binary {
            Self::Elf32($file) => $body,
            Self::Elf64($file) => $body,
        }
    };
}

impl Binary {
    pub(super) fn open(path: &Path) -> Result<Self, AttachError> {
        Self::parse(FilePart::open(path)?)
    }

    /// Reads the headers of a binary.
    pub(super) fn parse(part: FilePart) -> Result<Self, AttachError> {
        let mut start = [0; 5];
        let is_long_enough = part.fill("file header", 0, &mut start).is_ok();
        match start.strip_prefix(&ELFMAG) {
            Some([class]) if is_long_enough && *class == ELFCLASS64.0 => {
                ElfFile::parse(part).map(Self::Elf64)
            }
            Some([class]) if is_long_enough && *class == ELFCLASS32.0 => {
                ElfFile::parse(part).map(Self::Elf32)
            }
            _ => Err(part.error("is not an ELF file")),
        }
    }

    /// Fills a buffer from an offset of the file, if it goes that far.
    pub(super) fn read_at(&self, offset: u64, into: &mut [u8]) -> bool {
        self.part().fill("code", offset, into).is_ok()
    }

    /// The offset in the file of a function: `name`, `name@VERSION` or `name@@VERSION` (libbpf: `elf_find_func_offset`).
    pub(super) fn function(&self, name: &str) -> Result<u64, AttachError> {
        let (base, version) = match name.split_once('@') {
            Some((base, version)) => (base, Some(version.strip_prefix('@').unwrap_or(version))),
            None => (name, None),
        };
        for dynamic in [true, false] {
            let mut found = Found::default();
            self.symbols(dynamic, version.is_some(), &mut |s: &Symbol<'_>| {
                if is_named(s, dynamic, name, base, version) {
                    found.add(s);
                }
                Ok(())
            })?;
            match found {
                Found { ambiguous: true, .. } => {
                    return Err(self.error(format!("has several functions `{name}`, at different places")));
                }
                Found { offset: Some(offset), .. } => return self.within(name, offset),
                Found { .. } => {}
            }
        }
        Err(self.missing(name))
    }

    /// The offsets of several functions by their plain names (libbpf: `elf_resolve_syms_offsets`).
    pub(super) fn functions(&self, names: &[&str]) -> Result<Vec<u64>, AttachError> {
        let mut found: Vec<Found> = vec![Found::default(); names.len()];
        let mut index: Vec<(&[u8], usize)> = names.iter().map(|n| n.as_bytes()).zip(0..).collect();
        index.sort_unstable();
        for dynamic in [true, false] {
            self.symbols(dynamic, false, &mut |s: &Symbol<'_>| {
                let from = index.partition_point(|(name, _)| *name < s.name);
                for (_, at) in index.iter().skip(from).take_while(|(name, _)| *name == s.name) {
                    if let Some(found) = found.get_mut(*at) {
                        found.add(s);
                    }
                }
                Ok(())
            })?;
        }
        let of = |(name, found): (&&str, &Found)| match *found {
            Found { ambiguous: true, .. } => {
                Err(self.error(format!("has several functions `{name}`, at different places")))
            }
            Found { offset: Some(offset), .. } => self.within(name, offset),
            Found { .. } => Err(self.missing(name)),
        };
        names.iter().zip(&found).map(of).collect()
    }

    /// The offsets of all functions of a pattern (libbpf: `elf_resolve_pattern_offsets`).
    pub(super) fn functions_like(&self, pattern: &str) -> Result<Vec<u64>, AttachError> {
        for dynamic in [false, true] {
            let mut found = Vec::new();
            self.symbols(dynamic, false, &mut |s: &Symbol<'_>| {
                if matches(s.name, pattern.as_bytes()) {
                    if found.len() == BINARY_MATCHES {
                        let problem = format!(
                            "more functions match `{pattern}` than the kernel takes: {BINARY_MATCHES}"
                        );
                        return Err(self.error(problem));
                    }
                    found.push(s.offset);
                }
                Ok(())
            })?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Err(self.error(format!("has no function that `{pattern}` matches")))
    }

    pub(super) fn kind(&self) -> Kind {
        let (endian, kind) = elf!(self, file => (file.endian(), file.file_type()));
        Kind {
            is_64: matches!(self, Self::Elf64(_)),
            endian,
            is_shared: kind == elf::ET_DYN,
            is_linked: kind == elf::ET_DYN || kind == elf::ET_EXEC,
        }
    }

    pub(super) fn segments(&self) -> Result<Vec<Segment>, AttachError> {
        elf!(self, file => file.segments())
    }

    pub(super) fn section(&self, name: &[u8]) -> Result<Option<RawSection>, AttachError> {
        elf!(self, file => file.section(name))
    }

    pub(super) fn error(&self, problem: impl Into<Text>) -> AttachError {
        self.part().error(problem)
    }

    fn part(&self) -> &FilePart {
        elf!(self, file => &file.part)
    }

    fn missing(&self, name: &str) -> AttachError {
        self.error(format!("has no function `{name}` in its symbol tables (stripped? then give an offset)"))
    }

    fn within(&self, name: &str, offset: u64) -> Result<u64, AttachError> {
        let part = self.part();
        let at = part.start().checked_add(offset).filter(|_| offset != 0 && offset < part.len());
        at.ok_or_else(|| self.error(format!("has the function `{name}` elsewhere than in its bytes")))
    }

    fn symbols(
        &self,
        dynamic: bool,
        with_versions: bool,
        each: &mut dyn FnMut(&Symbol<'_>) -> Result<(), AttachError>,
    ) -> Result<(), AttachError> {
        elf!(self, file => file.symbols(dynamic, with_versions, each))
    }
}

/// One offset for a name; a function that is not weak goes before those that are.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    offset: Option<u64>,
    is_weak: bool,
    ambiguous: bool,
}

impl Found {
    fn add(&mut self, symbol: &Symbol<'_>) {
        match self.offset {
            Some(offset) if offset == symbol.offset => {}
            Some(_) if !self.is_weak && !symbol.is_weak => self.ambiguous = true,
            Some(_) if symbol.is_weak => {}
            _ => (self.offset, self.is_weak) = (Some(symbol.offset), symbol.is_weak),
        }
    }
}

/// Dynamic symbols have their version beside them; others have it in the name (libbpf: `symbol_match`).
fn is_named(symbol: &Symbol<'_>, dynamic: bool, whole: &str, base: &str, version: Option<&str>) -> bool {
    match symbol.name.strip_prefix(base.as_bytes()) {
        Some([] | [b'@', ..]) => match version {
            None => true,
            Some(version) if dynamic => symbol.version == Some(version.as_bytes()),
            Some(_) => symbol.name == whole.as_bytes(),
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing_elf::{F1, TempFile, TestElf},
        *,
    };

    #[test]
    fn functions_by_name_names_and_pattern() {
        let file = TempFile::new("functions", &TestElf::bytes());
        let binary = Binary::open(file.path()).unwrap();
        let entry = 0x100;
        assert_eq!(binary.function("f1"), Ok(F1));
        assert_eq!(binary.functions(&["f1", "entry", "f1"]), Ok(vec![F1, entry, F1]));
        assert_eq!(binary.functions_like("*"), Ok(vec![entry, F1]));
        assert!(binary.functions_like("take?").is_err(), "it is defined elsewhere");
        // A label is no function.
        for missing in ["label", "taken", "f", "f1@V_1", "F1", ""] {
            assert!(binary.function(missing).is_err(), "{missing}");
        }
        let kind = Kind { is_64: true, endian: Endian::Little, is_shared: false, is_linked: true };
        assert_eq!(binary.kind(), kind);
        let code: Vec<bool> = binary.segments().unwrap().iter().map(|s| s.is_code).collect();
        assert_eq!(code, [true, false]);
    }

    #[test]
    fn weak_and_versioned_symbols() {
        let symbol = |offset, is_weak| Symbol { name: b"f", version: None, offset, is_weak };
        let of = |symbols: &[Symbol<'_>]| {
            let mut found = Found::default();
            for s in symbols {
                found.add(s);
            }
            (found.offset, found.ambiguous)
        };
        assert_eq!(of(&[symbol(1, true), symbol(2, false)]), (Some(2), false));
        assert_eq!(of(&[symbol(1, false), symbol(2, true)]), (Some(1), false));
        assert_eq!(of(&[symbol(1, false), symbol(1, false)]), (Some(1), false));
        assert!(of(&[symbol(1, false), symbol(2, false)]).1);
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
        let plain = libc.function("getppid").unwrap();
        assert!(libc.function("getppid@NO_SUCH").is_err());
        if cfg!(target_arch = "x86_64") {
            assert_eq!(libc.function("getppid@GLIBC_2.2.5"), Ok(plain));
            assert_eq!(libc.function("getppid@@GLIBC_2.2.5"), Ok(plain));
        }
    }

    /// The test's ELF, with the size of a section made as large as the file, which is sparse from its own end on.
    fn sparse(section: [u8; 4], size: u64, file_len: u64) -> TempFile {
        let mut bytes = TestElf::bytes();
        let e = Endian::Little;
        let headers = usize::try_from(e.u64(&bytes, 40).unwrap()).unwrap();
        // The symbol table links to its strings; the others are known by their type.
        let header = bytes[headers..].chunks_exact_mut(64).find(|header| header[4..8] == section).unwrap();
        header[32..40].copy_from_slice(&e.u64_bytes(size));
        let file = TempFile::new("sparse", &bytes);
        std::fs::OpenOptions::new().write(true).open(file.path()).unwrap().set_len(file_len).unwrap();
        file
    }

    #[test]
    fn sizes_that_a_sparse_file_claims_are_limited_and_named() {
        const SYMTAB: [u8; 4] = [2, 0, 0, 0];
        const NOTE: [u8; 4] = [7, 0, 0, 0];
        let (huge, len) = (6 << 30, 1 << 40);
        let file = sparse(SYMTAB, huge, len);
        let text = Binary::open(file.path()).unwrap().function("f1").unwrap_err().to_string();
        assert!(
            text.contains("symbol table is too large: 6442450944 bytes, expected at most 1073741824"),
            "{text}"
        );
        // What is within the limit is read part by part, and only names of functions are.
        let file = sparse(SYMTAB, 24 << 20, len);
        assert_eq!(Binary::open(file.path()).unwrap().function("f1"), Ok(F1));
        let file = sparse(NOTE, huge, len);
        let text = Binary::open(file.path()).unwrap().section(b".note.stapsdt").unwrap_err().to_string();
        assert!(
            text.contains(".note.stapsdt is too large: 6442450944 bytes, expected at most 67108864"),
            "{text}"
        );
        let mut bytes = TestElf::bytes();
        // More sections than the header has room for, by the first one's size.
        bytes[60..62].fill(0);
        let first = usize::try_from(Endian::Little.u64(&bytes, 40).unwrap()).unwrap();
        bytes[first..][32..40].fill(0x0f);
        let file = TempFile::new("sections", &bytes);
        std::fs::OpenOptions::new().write(true).open(file.path()).unwrap().set_len(len).unwrap();
        let text = Binary::open(file.path()).unwrap_err().to_string();
        assert!(text.contains("table of sections"), "{text}");
    }

    #[test]
    fn no_damage_to_a_file_is_read_past_its_end() {
        let whole = TestElf::bytes();
        let look = |bytes: &[u8]| {
            let file = TempFile::new("damaged", bytes);
            let Ok(binary) = Binary::open(file.path()) else { return };
            let within = |at: u64| assert!(usize::try_from(at).unwrap() < bytes.len());
            if let Ok(at) = binary.function("f1") {
                within(at);
            }
            let _found = (binary.functions_like("*"), binary.segments(), binary.kind());
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
