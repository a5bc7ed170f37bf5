//! User-space binaries.

use super::{
    elf_code::{CodeOffsets, FilePart},
    elf_file::{ElfFile, RawSection, Segment, Symbol, SymbolFilter, SymbolTable},
    error::AttachError,
    file_range::FileRange,
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

/// An entry point of a function. They differ on PowerPC only: calls from other binaries start at the global
/// entry point, calls in the same binary at the local one, which the global one reaches as well.
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
    #[cfg(feature = "stripped-binaries")]
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

    /// Checks that offsets of the file are those of code in the binary. A probe elsewhere would never run, or
    /// would change data.
    pub(super) fn check_code(&self, file_offsets: &[u64]) -> Result<(), AttachError> {
        let code = with_elf!(self, file => file.code_offsets())?;
        file_offsets.iter().try_for_each(|offset| self.check_code_at(*offset, &code))
    }

    fn check_code_at(&self, file_offset: u64, code: &CodeOffsets) -> Result<(), AttachError> {
        let offset = file_offset.checked_sub(self.range().start());
        let part = match offset.filter(|offset| *offset < self.range().len()) {
            None if self.range().start() != 0 => "outside of the archive's member".to_owned(),
            None => "outside of the file".to_owned(),
            Some(offset) => match with_elf!(self, file => file.part_at(offset, code)) {
                FilePart::Code => return Ok(()),
                FilePart::Header => "in the ELF header".to_owned(),
                FilePart::Section(name) => format!("in section {}", String::from_utf8_lossy(&name)),
                FilePart::NoSection => "in no section".to_owned(),
                FilePart::NoSegment => "in no executable segment".to_owned(),
            },
        };
        Err(self.error(format!("offset {file_offset:#x} is {part}, expected code")))
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
        assert_eq!((binary.check_code(&[F1]), binary.check_code(&[0x100, F1])), (Ok(()), Ok(())));
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
            let error = binary.check_code(&[F1, offset]).unwrap_err().to_string();
            assert!(error.ends_with(&format!("offset {offset:#x} is {place}, expected code")), "{error}");
        }
        // Without sections, the segments show what is code.
        let mut bytes = bytes;
        bytes[40..48].fill(0);
        bytes[60..64].fill(0);
        let file = TempFile::new("segments", &bytes);
        let binary = Binary::open(file.path()).unwrap();
        assert_eq!(binary.check_code(&[F1]), Ok(()));
        let error = binary.check_code(&[TestElf::SEMAPHORE]).unwrap_err().to_string();
        assert!(error.ends_with("is in no executable segment, expected code"), "{error}");
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
