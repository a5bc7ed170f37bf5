//! User-space binaries: where a function lies in the file.
//!
//! Files are read piecemeal, for some are big; what is read lies within the file.

use super::{error::AttachError, text::matches};
use crate::{elf::string_at, sys::Errno};
use core_relo::{Endian, Text};
use object::{
    Endianness, FileKind, ReadCache, SectionIndex,
    elf::{self, FileHeader32, FileHeader64},
    read::{
        ReadCacheRange,
        elf::{
            FileHeader, ProgramHeader as _, SectionHeader as _, SectionTable, Sym as _, Version, VersionTable,
        },
    },
};
use std::{
    fs::File,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

/// An ELF file, or one within an archive.
#[derive(Debug)]
pub(super) struct Binary {
    path: PathBuf,
    cache: ReadCache<File>,
    start: u64,
    len: u64,
    is_64: bool,
}

/// A part of the file that is loaded into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) offset: u64,
    pub(super) is_code: bool,
}

/// A section as it lies in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawSection<'b> {
    pub(super) sh_type: u32,
    pub(super) address: u64,
    pub(super) data: &'b [u8],
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

/// A defined function of a symbol table.
struct Symbol<'b> {
    name: &'b [u8],
    version: Option<&'b [u8]>,
    offset: u64,
    is_weak: bool,
}

/// Does something with the file as it is, of 32 or 64 bits.
macro_rules! view {
    ($binary:expr, $view:ident => $body:expr) => {
        if $binary.is_64 {
            let $view = $binary.view::<FileHeader64<Endianness>>()?;
            $body
        } else {
            let $view = $binary.view::<FileHeader32<Endianness>>()?;
            $body
        }
    };
}

impl Binary {
    pub(super) fn open(path: &Path) -> Result<Self, AttachError> {
        Self::open_range(path, 0, None)
    }

    /// Opens a binary that is a part of a file.
    pub(super) fn open_range(path: &Path, start: u64, len: Option<u64>) -> Result<Self, AttachError> {
        let failed = |e: std::io::Error| AttachError::unreadable(path, Errno::of(&e));
        let file = File::open(path).map_err(failed)?;
        let all = file.metadata().map_err(failed)?.len();
        let cache = ReadCache::new(file);
        let len = len.unwrap_or(all);
        let kind = FileKind::parse(cache.range(start, len));
        let is_64 = match kind {
            Ok(FileKind::Elf64) => true,
            Ok(FileKind::Elf32) => false,
            _ => return Err(AttachError::target(path.display().to_string(), "is not an ELF file")),
        };
        Ok(Self { path: path.to_path_buf(), cache, start, len, is_64 })
    }

    /// Fills a buffer from an offset of the file, if it goes that far.
    pub(super) fn read_at(&self, offset: u64, into: &mut [u8]) -> bool {
        // A second descriptor: the cache has the first.
        File::open(&self.path).and_then(|f| f.read_exact_at(into, offset)).is_ok()
    }

    /// The offset in the file of a function: `name`, `name@VERSION` or `name@@VERSION` (libbpf: `elf_find_func_offset`).
    pub(super) fn function(&self, name: &str) -> Result<u64, AttachError> {
        let (base, version) = match name.split_once('@') {
            Some((base, version)) => (base, Some(version.strip_prefix('@').unwrap_or(version))),
            None => (name, None),
        };
        for dynamic in [true, false] {
            let mut found = Found::default();
            self.symbols(dynamic, &mut |s: &Symbol<'_>| {
                if is_named(s, dynamic, name, base, version) {
                    found.add(s);
                }
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
            self.symbols(dynamic, &mut |s: &Symbol<'_>| {
                let from = index.partition_point(|(name, _)| *name < s.name);
                for (_, at) in index.iter().skip(from).take_while(|(name, _)| *name == s.name) {
                    if let Some(found) = found.get_mut(*at) {
                        found.add(s);
                    }
                }
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
            self.symbols(dynamic, &mut |s: &Symbol<'_>| {
                if matches(s.name, pattern.as_bytes()) {
                    found.push(s.offset);
                }
            })?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Err(self.error(format!("has no function that `{pattern}` matches")))
    }

    pub(super) fn kind(&self) -> Result<Kind, AttachError> {
        view!(self, view => {
            let kind = view.header.e_type(view.e);
            Ok(Kind {
                is_64: self.is_64,
                endian: if view.e == Endianness::Little { Endian::Little } else { Endian::Big },
                is_shared: kind == elf::ET_DYN,
                is_linked: kind == elf::ET_DYN || kind == elf::ET_EXEC,
            })
        })
    }

    pub(super) fn segments(&self) -> Result<Vec<Segment>, AttachError> {
        view!(self, view => {
            let headers = view.header.program_headers(view.e, view.data).map_err(|e| self.error(e.to_string()))?;
            let loaded = headers.iter().filter(|h| h.p_type(view.e) == elf::PT_LOAD);
            let segment = |h: &_| view.segment(h);
            Ok(loaded.map(segment).collect())
        })
    }

    pub(super) fn section(&self, name: &[u8]) -> Result<Option<RawSection<'_>>, AttachError> {
        view!(self, view => view.section(name).map_err(|e| self.error(e.to_string())))
    }

    pub(super) fn error(&self, problem: impl Into<Text>) -> AttachError {
        AttachError::target(self.path.display().to_string(), problem)
    }

    fn missing(&self, name: &str) -> AttachError {
        self.error(format!("has no function `{name}` in its symbol tables (stripped? then give an offset)"))
    }

    fn within(&self, name: &str, offset: u64) -> Result<u64, AttachError> {
        let at = self.start.checked_add(offset).filter(|_| offset != 0 && offset < self.len);
        at.ok_or_else(|| self.error(format!("has the function `{name}` elsewhere than in its bytes")))
    }

    fn symbols(&self, dynamic: bool, each: &mut dyn FnMut(&Symbol<'_>)) -> Result<(), AttachError> {
        view!(self, view => view.symbols(dynamic, each).map_err(|e| self.error(e.to_string())))
    }

    fn view<H: FileHeader<Endian = Endianness>>(&self) -> Result<View<'_, H>, AttachError> {
        let data = self.cache.range(self.start, self.len);
        View::parse(data).map_err(|e| self.error(e.to_string()))
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

type Data<'b> = ReadCacheRange<'b, File>;

/// The parsed headers of a file of one class.
struct View<'b, H: FileHeader<Endian = Endianness>> {
    header: &'b H,
    e: Endianness,
    sections: SectionTable<'b, H, Data<'b>>,
    data: Data<'b>,
}

impl<'b, H: FileHeader<Endian = Endianness>> View<'b, H> {
    fn parse(data: Data<'b>) -> object::Result<Self> {
        let header = H::parse(data)?;
        let e = header.endian()?;
        Ok(Self { header, e, sections: header.sections(e, data)?, data })
    }

    fn segment(&self, h: &H::ProgramHeader) -> Segment {
        let start: u64 = h.p_vaddr(self.e).into();
        let size: u64 = h.p_memsz(self.e).into();
        let is_code = h.p_flags(self.e).contains(elf::PF_X);
        Segment { start, end: start.saturating_add(size), offset: h.p_offset(self.e).into(), is_code }
    }

    fn section(&self, name: &[u8]) -> object::Result<Option<RawSection<'b>>> {
        let Some((_, section)) = self.sections.section_by_name(self.e, name) else { return Ok(None) };
        let (sh_type, address) = (section.sh_type(self.e).0, section.sh_addr(self.e).into());
        Ok(Some(RawSection { sh_type, address, data: section.data(self.e, self.data)? }))
    }

    fn symbols(&self, dynamic: bool, each: &mut dyn FnMut(&Symbol<'_>)) -> object::Result<()> {
        let kind = if dynamic { elf::SHT_DYNSYM } else { elf::SHT_SYMTAB };
        let Some(table) = self.sections.iter().find(|s| s.sh_type(self.e) == kind) else { return Ok(()) };
        let symbols: &[H::Sym] = table.data_as_array(self.e, self.data)?;
        // Read at once: name by name it would be a system call for each.
        let strings = self.sections.section(table.link(self.e))?.data(self.e, self.data)?;
        let versions = if dynamic { self.versions() } else { None };
        for (index, symbol) in symbols.iter().enumerate().filter(|(_, s)| s.st_type() == elf::STT_FUNC) {
            let section = symbol.st_shndx(self.e).index();
            let section = section.and_then(|i| self.sections.section(SectionIndex(i.into())).ok());
            let (Some(section), Some(name)) = (section, string_at(strings, symbol.st_name(self.e))) else {
                continue;
            };
            let (value, address): (u64, u64) =
                (symbol.st_value(self.e).into(), section.sh_addr(self.e).into());
            let offset: u64 = section.sh_offset(self.e).into();
            let version = versions.as_ref().and_then(|table| {
                let index = table.version_index(self.e, object::SymbolIndex(index)).index();
                // Versions that are needed from other files are not those of functions defined here.
                table.version(index).ok().flatten().filter(|v| v.file().is_none()).map(Version::name)
            });
            each(&Symbol {
                name,
                version,
                offset: value.wrapping_sub(address).wrapping_add(offset),
                is_weak: symbol.st_bind() == elf::STB_WEAK,
            });
        }
        Ok(())
    }

    fn versions(&self) -> Option<VersionTable<'b, H>> {
        self.sections.versions(self.e, self.data).ok().flatten()
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
        assert_eq!(binary.kind(), Ok(kind));
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
