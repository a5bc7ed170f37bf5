//! A minimal BPF object parser for the reference: sections, functions, types and relocation records.

use super::{ffi::Btf, relo_core::Relo};
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind, SymbolKind};
use std::collections::HashMap;

/// A CO-RE record with the section of its group.
#[derive(Clone, Debug)]
pub struct RawRecord {
    pub section: String,
    pub index: u32,
    pub insn_offset: u32,
    pub root: u32,
    pub access: u32,
    pub kind: u32,
}

impl RawRecord {
    /// Returns the record as libbpf's struct.
    pub fn relo(&self) -> Relo {
        let Self { insn_offset: insn_off, root: type_id, access: access_str_off, kind, .. } = *self;
        Relo { insn_off, type_id, access_str_off, kind }
    }
}

/// An object as input for libbpf's functions.
#[derive(Debug)]
pub struct LibbpfObject {
    pub is_big_endian: bool,
    pub btf: Btf,
    pub records: Vec<RawRecord>,
    /// Code by section name.
    pub code: HashMap<String, Vec<u8>>,
    /// Start and end of the functions of each section, in bytes.
    pub functions: HashMap<String, Vec<(u64, u64)>>,
}

impl LibbpfObject {
    /// Parses an object. Returns `None` if it has no `.BTF` and `.BTF.ext`.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let elf = object::File::parse(bytes).ok()?;
        let is_big_endian = elf.endianness() == Endianness::Big;
        let mut btf = Btf::parse(elf.section_by_name_bytes(b".BTF")?.data().ok()?, None)?;
        btf.set_pointer_size(8);
        let ext = elf.section_by_name_bytes(b".BTF.ext")?.data().ok()?;
        let (mut code, mut functions, mut names) =
            (HashMap::new(), HashMap::<_, Vec<_>>::new(), HashMap::new());
        for section in elf.sections().filter(|s| s.kind() == SectionKind::Text) {
            let name = section.name().ok()?.to_owned();
            names.insert(section.index(), name.clone());
            code.entry(name).or_insert(section.data().ok()?.to_vec());
        }
        for symbol in elf.symbols().filter(|s| s.kind() == SymbolKind::Text) {
            let Some(name) = symbol.section_index().and_then(|at| names.get(&at)) else { continue };
            let span = (symbol.address(), symbol.address() + symbol.size());
            functions.entry(name.clone()).or_default().push(span);
        }
        let records = parse_records(ext, is_big_endian, &btf)?;
        Some(Self { is_big_endian, btf, records, code, functions })
    }
}

fn parse_records(ext: &[u8], is_big_endian: bool, btf: &Btf) -> Option<Vec<RawRecord>> {
    let word = |at: usize| {
        let raw = ext.get(at..at + 4)?.try_into().ok()?;
        Some(if is_big_endian { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) })
    };
    let header_len = word(4)?;
    let mut records = Vec::new();
    if header_len < 32 || word(28)? == 0 {
        return Some(records);
    }
    let start = (header_len + word(24)?) as usize;
    let end = start + word(28)? as usize;
    let size = word(start)? as usize;
    let mut at = start + 4;
    while at < end {
        let section = btf.string(word(at)?)?;
        let count = word(at + 4)?;
        at += 8;
        for index in 0..count {
            let (insn_offset, root, access, kind) = (word(at)?, word(at + 4)?, word(at + 8)?, word(at + 12)?);
            records.push(RawRecord { section: section.clone(), index, insn_offset, root, access, kind });
            at += size;
        }
    }
    Some(records)
}
