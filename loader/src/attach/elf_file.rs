//! The headers, sections and symbols of an ELF file of one class (32 or 64 bits), read in pieces.

use super::{error::AttachError, file_range::FileRange};
use crate::convert::to_u64;
use crate::limits::{
    BINARY_NAMES_BYTES, BINARY_SEGMENTS, BINARY_SYMBOLS_BYTES, BINARY_TABLE_BYTES, NAME_BYTES,
};
use core_relo::Endian;
use core_relo_object::string_at;
use object::{
    Endianness, elf, pod,
    read::elf::{FileHeader, ProgramHeader as _, SectionHeader as _, Sym as _},
};
use std::collections::HashMap;

/// A loaded segment: addresses `start..end` hold the file's bytes from `offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) offset: u64,
    pub(super) is_code: bool,
}

/// A section's data as stored in the file.
#[derive(Clone, Debug)]
pub(super) struct RawSection {
    #[cfg_attr(not(feature = "usdt"), expect(dead_code, reason = "USDT notes have a type of section"))]
    pub(super) sh_type: u32,
    #[cfg_attr(
        not(any(feature = "usdt", feature = "stripped-binaries")),
        expect(dead_code, reason = "uprobes by symbols need no sections of data")
    )]
    pub(super) address: u64,
    pub(super) data: Vec<u8>,
}

/// A symbol of a symbol table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol<'b> {
    pub(super) name: &'b [u8],
    pub(super) version: Option<SymbolVersion<'b>>,
    pub(super) kind: SymbolKind,
    /// The value: an address in the binary.
    pub(super) address: u64,
    /// The file offset of the global entry point. On most architectures, a function has one entry point.
    pub(super) offset: u64,
    /// The distance in bytes from the global to the local entry point.
    pub(super) local_entry: u64,
    pub(super) is_weak: bool,
}

/// The version of a symbol that the file defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SymbolVersion<'b> {
    pub(super) name: &'b [u8],
    /// Whether the linker binds references without a version to this symbol (`f@@V2`). Other versions exist
    /// for programs that were linked before (`f@V1`).
    pub(super) is_default: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SymbolKind {
    Function,
    /// A function whose address is that of its resolver, which returns the address of the implementation
    /// (`STT_GNU_IFUNC`).
    Indirect,
    /// Code without a type, such as a label of assembly code.
    Untyped,
    /// A variable.
    Data,
    /// A symbol that another file defines.
    Imported,
}

/// A symbol table of an ELF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SymbolTable {
    /// The symbols that the dynamic linker uses.
    Dynamic,
    /// All symbols (`.symtab`), which stripped files lack.
    Full,
}

/// The symbols that a search visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SymbolFilter {
    /// Functions and indirect functions that the file defines.
    Functions,
    /// Symbols of every kind. Their names are all read.
    All,
}

/// An ELF file with parsed headers.
#[derive(Debug)]
pub(super) struct ElfFile<H: FileHeader<Endian = Endianness>> {
    pub(super) range: FileRange,
    pub(super) header: H,
    pub(super) e: Endianness,
    pub(super) sections: Vec<H::SectionHeader>,
    /// The names of sections.
    pub(super) names: Vec<u8>,
}

impl<H: FileHeader<Endian = Endianness>> ElfFile<H> {
    pub(super) fn parse(range: FileRange) -> Result<Self, AttachError> {
        let size = usize::try_from(range.len()).map_or(size_of::<H>(), |len| len.min(size_of::<H>()));
        let mut head = vec![0; size];
        range.fill("file header", 0, &mut head)?;
        let header = *H::parse(head.as_slice()).map_err(|e| range.error(e.to_string()))?;
        let e = header.endian().map_err(|e| range.error(e.to_string()))?;
        let sections = section_headers(&range, &header, e)?;
        let mut file = Self { range, header, e, sections, names: Vec::new() };
        if let Some(first) = file.sections.first() {
            let index = if header.e_shstrndx(e) == elf::SHN_XINDEX {
                first.sh_link(e)
            } else {
                header.e_shstrndx(e).0.into()
            };
            file.names = match usize::try_from(index).ok().and_then(|index| file.sections.get(index)) {
                Some(names) if index != 0 => file.data(names, "section names")?,
                _ => {
                    return Err(file
                        .range
                        .error(format!("the names of sections (section {index}) are missing")));
                }
            };
        }
        Ok(file)
    }

    pub(super) fn endian(&self) -> Endian {
        if self.e == Endianness::Little { Endian::Little } else { Endian::Big }
    }

    pub(super) fn file_type(&self) -> elf::FileType {
        self.header.e_type(self.e)
    }

    pub(super) fn segments(&self) -> Result<Vec<Segment>, AttachError> {
        let (e, size) = (self.e, size_of::<H::ProgramHeader>());
        let count = match (self.header.e_phnum(e), self.sections.first()) {
            (elf::PN_XNUM, Some(first)) => first.sh_info(e),
            (count, _) => count.into(),
        };
        if count == 0 || self.header.e_phoff(e).into() == 0 {
            return Ok(Vec::new());
        }
        if usize::from(self.header.e_phentsize(e)) != size {
            return Err(self.range.error("its program headers have another size than expected"));
        }
        let what = "table of program headers";
        let bytes = table(&self.range, what, self.header.e_phoff(e).into(), count.into(), size)?;
        let headers = records::<H::ProgramHeader>(&self.range, what, &bytes)?;
        let segment = |h: &H::ProgramHeader| {
            let (start, size): (u64, u64) = (h.p_vaddr(e).into(), h.p_memsz(e).into());
            let is_code = h.p_flags(e).contains(elf::PF_X);
            // The size is the file's claim. A segment ends at the last address at most.
            Segment { start, end: start.saturating_add(size), offset: h.p_offset(e).into(), is_code }
        };
        let loaded = headers.iter().filter(|h| h.p_type(e) == elf::PT_LOAD);
        let segments: Vec<_> = loaded.map(segment).collect();
        if segments.len() > BINARY_SEGMENTS {
            let count = segments.len();
            return Err(self
                .range
                .error(format!("it has {count} loaded segments, expected at most {BINARY_SEGMENTS}")));
        }
        Ok(segments)
    }

    pub(super) fn section(&self, name: &[u8]) -> Result<Option<RawSection>, AttachError> {
        let is_named = |s: &&H::SectionHeader| string_at(&self.names, s.sh_name(self.e)) == Some(name);
        let Some(section) = self.sections.iter().find(is_named) else { return Ok(None) };
        let (sh_type, address) = (section.sh_type(self.e).0, section.sh_addr(self.e).into());
        let data = self.data(section, &format!("section {}", String::from_utf8_lossy(name)))?;
        Ok(Some(RawSection { sh_type, address, data }))
    }

    pub(super) fn machine(&self) -> elf::Machine {
        self.header.e_machine(self.e)
    }

    pub(super) fn has_symbol_table(&self, table: SymbolTable) -> bool {
        self.symbol_table(table).is_some()
    }

    fn symbol_table(&self, table: SymbolTable) -> Option<&H::SectionHeader> {
        let kind = match table {
            SymbolTable::Dynamic => elf::SHT_DYNSYM,
            SymbolTable::Full => elf::SHT_SYMTAB,
        };
        self.sections.iter().find(|s| s.sh_type(self.e) == kind)
    }

    /// Calls `each` for the symbols of a table that the filter lets through. Dynamic symbols carry their
    /// version.
    pub(super) fn symbols(
        &self,
        table: SymbolTable,
        filter: SymbolFilter,
        each: &mut dyn FnMut(&Symbol<'_>) -> Result<(), AttachError>,
    ) -> Result<(), AttachError> {
        // A multiple of the size of a symbol of either class, 16 and 24 bytes.
        const CHUNK_BYTES: u64 = 768 * 1024;
        let e = self.e;
        let has_local_entries =
            self.header.e_machine(e) == elf::EM_PPC64 && self.header.e_flags(e).0 & EF_PPC64_ABI == 2;
        let what = match table {
            SymbolTable::Dynamic => "dynamic symbol table",
            SymbolTable::Full => "symbol table",
        };
        let Some(symbols) = self.symbol_table(table) else { return Ok(()) };
        let missing = || self.range.error(format!("the names of its {what} are missing"));
        let link = usize::try_from(symbols.sh_link(e)).ok().filter(|link| *link != 0);
        let strings = link.and_then(|link| self.sections.get(link)).ok_or_else(missing)?;
        let mut names = Names::new(&self.range, strings.sh_offset(e).into(), strings.sh_size(e).into())?;
        let versions = match table {
            SymbolTable::Dynamic => Versions::read(self, &mut names)?,
            SymbolTable::Full => Versions::default(),
        };
        let (offset, bytes): (u64, u64) = (symbols.sh_offset(e).into(), symbols.sh_size(e).into());
        let size = to_u64(size_of::<H::Sym>());
        if !bytes.is_multiple_of(size) {
            return Err(self
                .range
                .error(format!("its {what} has {bytes} bytes, expected a multiple of {size}")));
        }
        if bytes > BINARY_SYMBOLS_BYTES {
            let problem =
                format!("its {what} is too large: {bytes} bytes, expected at most {BINARY_SYMBOLS_BYTES}");
            return Err(self.range.error(problem));
        }
        let broken =
            || self.range.error("internal error: a chunk of symbols is larger than the rest of the table");
        let (mut at, mut rest, mut indices) = (offset, bytes, 0usize..);
        while rest > 0 {
            let len = rest.min(CHUNK_BYTES);
            let chunk = self.range.read(what, at, len, BINARY_SYMBOLS_BYTES)?;
            rest = rest.checked_sub(len).ok_or_else(broken)?;
            at = at.checked_add(len).ok_or_else(broken)?;
            for (symbol, nth) in records::<H::Sym>(&self.range, what, &chunk)?.iter().zip(&mut indices) {
                let section = symbol.st_shndx(e).index().and_then(|at| self.sections.get(usize::from(at)));
                let Some(kind) = self.symbol_kind(symbol, section, filter) else { continue };
                let address: u64 = symbol.st_value(e).into();
                let offset = section.map_or(0, |section| {
                    let (start, offset): (u64, u64) =
                        (section.sh_addr(e).into(), section.sh_offset(e).into());
                    address.wrapping_sub(start).wrapping_add(offset)
                });
                let Some(name) = names.get(symbol.st_name(e))? else { continue };
                each(&Symbol {
                    name,
                    version: versions.version(nth),
                    kind,
                    address,
                    offset,
                    local_entry: if has_local_entries { local_entry(symbol.st_other().0) } else { 0 },
                    is_weak: symbol.st_bind() == elf::STB_WEAK,
                })?;
            }
        }
        Ok(())
    }

    /// Returns the kind of a symbol. Returns `None` if the filter excludes the symbol.
    fn symbol_kind(
        &self,
        symbol: &H::Sym,
        section: Option<&H::SectionHeader>,
        filter: SymbolFilter,
    ) -> Option<SymbolKind> {
        let e = self.e;
        let is_code = |section: &H::SectionHeader| section.sh_flags(e).contains(elf::SHF_EXECINSTR);
        match (symbol.st_type(), section) {
            (elf::STT_FUNC, Some(_)) => Some(SymbolKind::Function),
            (elf::STT_GNU_IFUNC, Some(_)) => Some(SymbolKind::Indirect),
            _ if filter == SymbolFilter::Functions => None,
            (elf::STT_SECTION | elf::STT_FILE, _) => None,
            _ if symbol.is_undefined(e) => Some(SymbolKind::Imported),
            (elf::STT_NOTYPE, Some(section)) if is_code(section) => Some(SymbolKind::Untyped),
            _ => Some(SymbolKind::Data),
        }
    }

    fn data(&self, section: &H::SectionHeader, what: &str) -> Result<Vec<u8>, AttachError> {
        if section.sh_type(self.e) == elf::SHT_NOBITS {
            return Ok(Vec::new());
        }
        let (at, len) = (section.sh_offset(self.e).into(), section.sh_size(self.e).into());
        self.range.read(what, at, len, BINARY_TABLE_BYTES)
    }
}

/// The bits of `e_flags` with the version of the PowerPC ABI.
const EF_PPC64_ABI: u32 = 3;

/// Returns the distance from a function's global to its local entry point in version 2 of the PowerPC ABI,
/// from `st_other`. The instructions between them set up the register r2. Calls within a binary skip them.
fn local_entry(st_other: u8) -> u64 {
    match st_other >> 5 {
        exponent @ 2..=6 => 1 << exponent,
        _ => 0,
    }
}

fn section_headers<H: FileHeader<Endian = Endianness>>(
    range: &FileRange,
    header: &H,
    e: Endianness,
) -> Result<Vec<H::SectionHeader>, AttachError> {
    let (what, at) = ("table of sections", header.e_shoff(e).into());
    let size = size_of::<H::SectionHeader>();
    if at == 0 {
        return Ok(Vec::new());
    }
    if usize::from(header.e_shentsize(e)) != size {
        return Err(range.error("its section headers have another size than expected"));
    }
    let count = match header.e_shnum(e) {
        // A count of more than 16 bits is stored in the first section header.
        0 => {
            let first = table(range, what, at, 1, size)?;
            records::<H::SectionHeader>(range, what, &first)?
                .first()
                .map_or(0, |first| first.sh_size(e).into())
        }
        count => count.into(),
    };
    let bytes = table(range, what, at, count, size)?;
    let headers = records::<H::SectionHeader>(range, what, &bytes)?;
    let mut copied = with_room(range, what, headers.len())?;
    copied.extend_from_slice(headers);
    Ok(copied)
}

/// Returns an empty vector with room for `count` elements of a table.
fn with_room<T>(range: &FileRange, what: &str, count: usize) -> Result<Vec<T>, AttachError> {
    let mut room = Vec::new();
    let reserved = room.try_reserve_exact(count);
    reserved.map_err(|_no_memory| {
        range.error(format!("there is too little memory for its {what}: {count} entries"))
    })?;
    Ok(room)
}

fn table(range: &FileRange, what: &str, at: u64, count: u64, size: usize) -> Result<Vec<u8>, AttachError> {
    let bytes = count.checked_mul(to_u64(size));
    let bytes = bytes.ok_or_else(|| range.error(format!("its {what} is too large: {count} entries")))?;
    range.read(what, at, bytes, BINARY_TABLE_BYTES)
}

fn records<'b, T: pod::Pod>(range: &FileRange, what: &str, bytes: &'b [u8]) -> Result<&'b [T], AttachError> {
    pod::slice_from_all_bytes(bytes).map_err(|()| range.error(format!("its {what} is damaged")))
}

/// The names of a symbol table, read in blocks on demand.
struct Names<'f> {
    range: &'f FileRange,
    start: u64,
    len: u64,
    blocks: HashMap<u64, Vec<u8>>,
    /// The number of bytes that may still be read. `None` if the limit was exceeded.
    bytes_left: Option<u64>,
}

impl<'f> Names<'f> {
    const WHAT: &'static str = "table of symbol names";
    const BLOCK: u64 = 64 * 1024;
    const BLOCK_MASK: u64 = !(Self::BLOCK - 1);
    /// Each read extends past its block by the longest name, so a name that starts in a block also ends in
    /// the read.
    const READ_BYTES: u64 = Self::BLOCK + to_u64(NAME_BYTES);

    fn new(range: &'f FileRange, start: u64, len: u64) -> Result<Self, AttachError> {
        // The offset of an empty table has no meaning.
        if len > 0 {
            range.check_within(Self::WHAT, start, len)?;
        }
        Ok(Self { range, start, len, blocks: HashMap::new(), bytes_left: Some(BINARY_NAMES_BYTES) })
    }

    /// Returns the name at an offset, unless the name is too long.
    fn get(&mut self, offset: u32) -> Result<Option<&[u8]>, AttachError> {
        let offset = u64::from(offset);
        if offset >= self.len {
            return Ok((offset == 0).then_some(&[]));
        }
        let from = offset & Self::BLOCK_MASK;
        if !self.blocks.contains_key(&from) {
            let (start, rest) =
                self.start.checked_add(from).zip(self.len.checked_sub(from)).ok_or_else(|| {
                    self.range.error("internal error: a block of names lies outside of its table")
                })?;
            let len = rest.min(Self::READ_BYTES);
            self.bytes_left = self.bytes_left.and_then(|left| left.checked_sub(len));
            if self.bytes_left.is_none() {
                let problem = "are too many: expected at most";
                return Err(self
                    .range
                    .error(format!("the names of its functions {problem} {BINARY_NAMES_BYTES} bytes")));
            }
            let block = self.range.read(Self::WHAT, start, len, len)?;
            self.blocks.insert(from, block);
        }
        let within = u32::try_from(offset & !Self::BLOCK_MASK).ok();
        Ok(self.blocks.get(&from).zip(within).and_then(|(block, within)| string_at(block, within)))
    }
}

/// The versions of the dynamic symbols that the file defines. Versions required from other files are left
/// out.
#[derive(Debug, Default)]
struct Versions {
    /// The version index of each symbol; the highest bit is a flag.
    numbers: Vec<u16>,
    names: HashMap<u16, Vec<u8>>,
}

impl Versions {
    fn read<H: FileHeader<Endian = Endianness>>(
        file: &ElfFile<H>,
        names: &mut Names<'_>,
    ) -> Result<Self, AttachError> {
        let e = file.endian();
        let find_section = |kind| file.sections.iter().find(|s| s.sh_type(file.e) == kind);
        let (Some(numbers), Some(definitions)) =
            (find_section(elf::SHT_GNU_VERSYM), find_section(elf::SHT_GNU_VERDEF))
        else {
            return Ok(Self::default());
        };
        let what = "table of symbol versions";
        let stored = file.data(numbers, what)?;
        let mut numbers = with_room(&file.range, what, stored.len() / 2)?;
        numbers.extend(stored.chunks_exact(2).filter_map(|n| e.u16(n, 0)));
        let bytes = file.data(definitions, "table of version definitions")?;
        let mut versions = Self { numbers, names: HashMap::new() };
        let mut at = 0usize;
        // A version index has 15 bits, so there are no more definitions.
        for _ in 0..=0x7fff {
            let Some(record) = bytes.get(at..) else { break };
            let (Some(number), Some(aux), Some(next)) =
                (e.u16(record, 4), e.u32(record, 12), e.u32(record, 16))
            else {
                break;
            };
            let name = usize::try_from(aux).ok().and_then(|aux| e.u32(record, aux));
            if let Some(name) = name.map(|name| names.get(name)).transpose()?.flatten() {
                versions.names.insert(number & 0x7fff, name.to_vec());
            }
            match usize::try_from(next).ok().and_then(|next| at.checked_add(next)) {
                Some(next) if next != at => at = next,
                _ => break,
            }
        }
        Ok(versions)
    }

    fn version(&self, symbol: usize) -> Option<SymbolVersion<'_>> {
        const HIDDEN: u16 = 0x8000;
        let number = *self.numbers.get(symbol)?;
        // 0 and 1 stand for symbols without a version.
        let index = Some(number & !HIDDEN).filter(|index| *index > 1)?;
        let name = self.names.get(&index)?;
        Some(SymbolVersion { name, is_default: number & HIDDEN == 0 })
    }
}
