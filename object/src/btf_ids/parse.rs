//! Parses `.BTF_ids` by its symbols.

use super::{BtfIds, BtfIdsError, IdName, IdSet, IdSetKind, IdSlot};
use crate::{
    elf::{Elf, ElfClass, Section, string_at, text},
    index::to_usize,
    internal::Invariant as _,
};
use alloc::collections::BTreeMap;
use core_relo::{TypeId, btf::Kind};
use object::elf;

/// The start of the names of symbols for ids and sets.
const PREFIX: &[u8] = b"__BTF_ID__";

/// A symbol of the section.
struct Symbol<'d> {
    name: &'d [u8],
    offset: usize,
    size: usize,
    /// The end in the section.
    end: usize,
}

/// The meaning of a symbol.
enum Meaning<'d> {
    Set { name: &'d [u8], kind: IdSetKind },
    Id { name: &'d [u8], kind: Kind },
    List,
}

impl<'d> BtfIds<'d> {
    /// Parses the section `.BTF_ids` of an ELF file.
    pub fn parse(file: &'d [u8]) -> Result<Self, BtfIdsError> {
        let elf = Elf::parse(file)?;
        let section = *elf.section(b".BTF_ids").ok_or(BtfIdsError::NoSection)?;
        if section.is_compressed() {
            return Err(BtfIdsError::Compressed);
        }
        let range = section.file_range().ok_or(BtfIdsError::NoSection)?;
        let symbols = read_symbols(file, &elf, &section)?;
        let sets = group(&symbols, &elf, section.data)?;
        Ok(Self { file, elf, data: section.data, range, sets })
    }
}

/// Returns the named symbols of a section, in order of their offsets.
fn read_symbols<'d>(
    file: &[u8],
    elf: &Elf<'d>,
    section: &Section<'d>,
) -> Result<Vec<Symbol<'d>>, BtfIdsError> {
    let table = elf.sections.iter().find(|s| s.sh_type == elf::SHT_SYMTAB.0).ok_or(BtfIdsError::NoSymbols)?;
    let strings = elf.sections.get(to_usize(table.link)).ok_or(BtfIdsError::NoSymbols)?.data;
    let entry_len = match elf.class {
        ElfClass::Elf32 => 16,
        ElfClass::Elf64 => 24,
    };
    // In a linked file, the value of a symbol is an address.
    let start = if elf.file_type == elf::ET_REL.0 { 0 } else { section.address };
    let mut name_bytes_left = file.len();
    let mut symbols = Vec::new();
    for (index, entry) in table.data.chunks_exact(entry_len).enumerate() {
        let e = elf.endian;
        let (value, size, section_index, info) = match elf.class {
            ElfClass::Elf32 => {
                let (value, size) = (e.u32(entry, 4).map(u64::from), e.u32(entry, 8).map(u64::from));
                (value, size, e.u16(entry, 14), entry.get(12))
            }
            ElfClass::Elf64 => (e.u64(entry, 8), e.u64(entry, 16), e.u16(entry, 6), entry.get(4)),
        };
        let is_section = info.is_some_and(|info| info & 0xf == elf::STT_SECTION.0);
        if section_index.map(u32::from) != Some(section.index.0) || is_section {
            continue;
        }
        let name = e.u32(entry, 0).and_then(|at| string_at(strings, at));
        let name = name.ok_or(BtfIdsError::SymbolName { index })?;
        // Arm's mapping symbols mark data.
        if name.is_empty() || name.starts_with(b"$") {
            continue;
        }
        let overlapping = BtfIdsError::OverlappingNames { len: file.len() };
        name_bytes_left = name_bytes_left.checked_sub(name.len()).ok_or(overlapping)?;
        let outside = || BtfIdsError::Bounds { symbol: text(name), len: section.data.len() };
        let offset = value.and_then(|value| value.checked_sub(start)).ok_or_else(outside)?;
        let offset = usize::try_from(offset).map_err(|_too_large| outside())?;
        let size = size.and_then(|size| usize::try_from(size).ok()).ok_or_else(outside)?;
        let end = offset.checked_add(size).ok_or_else(outside)?;
        if end > section.data.len() {
            return Err(outside());
        }
        symbols.push(Symbol { name, offset, size, end });
    }
    symbols.sort_by_key(|symbol| symbol.offset);
    Ok(symbols)
}

/// Groups the symbols of ids by the list or set that contains them.
fn group<'d>(symbols: &[Symbol<'d>], elf: &Elf<'d>, data: &[u8]) -> Result<Vec<IdSet<'d>>, BtfIdsError> {
    // The lists and sets by offset, with the end of sets, and the symbols of ids by offset.
    let mut starts: BTreeMap<usize, (IdSetKind, &'d [u8], Option<usize>)> = BTreeMap::new();
    let mut names: BTreeMap<usize, IdName<'d>> = BTreeMap::new();
    for symbol in symbols {
        let offset = symbol.offset;
        match meaning(symbol.name)? {
            Meaning::Set { name, kind } => {
                if let Some((IdSetKind::Set | IdSetKind::FlagSet, ..)) = starts.get(&offset) {
                    return Err(BtfIdsError::Overlap { symbol: text(symbol.name) });
                }
                let (header, slot) = (kind.header_len(), kind.slot_len());
                let slots = symbol.size.checked_sub(header).filter(|len| len.is_multiple_of(slot));
                if slots.is_none() {
                    let (symbol, len) = (text(symbol.name), symbol.size);
                    return Err(BtfIdsError::SetLength { symbol, len, header, slot });
                }
                starts.insert(offset, (kind, name, Some(symbol.end)));
            }
            Meaning::List => {
                // A set has a second symbol, with the plain name.
                starts.entry(offset).or_insert((IdSetKind::List, symbol.name, None));
            }
            Meaning::Id { name, kind } => {
                let has_bytes = offset.checked_add(4).is_some_and(|end| end <= data.len());
                if !has_bytes || names.insert(offset, IdName { offset, kind, name }).is_some() {
                    return Err(BtfIdsError::Slot { symbol: text(symbol.name) });
                }
            }
        }
    }
    if let Some(first) = names.keys().next().copied()
        && starts.keys().next().is_none_or(|start| *start > first)
    {
        starts.insert(first, (IdSetKind::List, b"", None));
    }
    build_sets(&starts, &names, elf, data)
}

/// Returns the meaning of a symbol's name.
fn meaning(symbol: &[u8]) -> Result<Meaning<'_>, BtfIdsError> {
    let Some(rest) = symbol.strip_prefix(PREFIX) else { return Ok(Meaning::List) };
    for (prefix, kind) in [(&b"set8__"[..], IdSetKind::FlagSet), (b"set__", IdSetKind::Set)] {
        if let Some(name) = rest.strip_prefix(prefix) {
            return Ok(Meaning::Set { name, kind });
        }
    }
    let kinds: [(&[u8], Kind); 4] = [
        (b"struct__", Kind::Struct),
        (b"union__", Kind::Union),
        (b"typedef__", Kind::Typedef),
        (b"func__", Kind::Func),
    ];
    let unknown = || BtfIdsError::Symbol { symbol: text(symbol) };
    let kind = kinds.iter().find_map(|(prefix, kind)| Some((rest.strip_prefix(*prefix)?, *kind)));
    let (name, kind) = kind.ok_or_else(unknown)?;
    // A number follows the name, so that symbols are unique.
    let end = name.windows(2).rposition(|pair| pair == b"__").ok_or_else(unknown)?;
    let name = name.get(..end).filter(|name| !name.is_empty()).ok_or_else(unknown)?;
    Ok(Meaning::Id { name, kind })
}

/// Reads the counts, flags and ids of each list and set.
fn build_sets<'d>(
    starts: &BTreeMap<usize, (IdSetKind, &'d [u8], Option<usize>)>,
    names: &BTreeMap<usize, IdName<'d>>,
    elf: &Elf<'d>,
    data: &[u8],
) -> Result<Vec<IdSet<'d>>, BtfIdsError> {
    let mut sets = Vec::new();
    let mut last_end = 0;
    let ends = starts.keys().skip(1).copied().chain([data.len()]);
    for ((offset, (kind, name, end)), next) in starts.iter().zip(ends) {
        let (offset, kind, name) = (*offset, *kind, *name);
        if offset < last_end {
            return Err(BtfIdsError::Overlap { symbol: text(name) });
        }
        // A list ends where the next one starts.
        let end = end.unwrap_or(next);
        let first_slot = offset.checked_add(kind.header_len()).invariant("a set contains its header")?;
        let read = |at: usize| elf.endian.u32(data, at);
        let slot = |offset: usize| {
            let flags = if kind == IdSetKind::FlagSet { read(offset.checked_add(4)?) } else { None };
            Some(IdSlot { offset, id: TypeId(read(offset)?), flags })
        };
        let offsets = (first_slot..end).step_by(kind.slot_len());
        let has_id = |offset: usize| offset.checked_add(4).is_some_and(|id_end| id_end <= end);
        // The last bytes of a list may be padding of less than a slot.
        let slots = offsets.map_while(|offset| slot(offset).filter(|_| has_id(offset)));
        let own_names: Vec<_> = names.range(offset..end).map(|(_, name)| *name).collect();
        let is_slot = |name: &IdName<'_>| {
            let in_slots = name.offset.checked_sub(first_slot);
            has_id(name.offset) && in_slots.is_some_and(|at| at.is_multiple_of(kind.slot_len()))
        };
        if let Some(name) = own_names.iter().find(|name| !is_slot(name)) {
            return Err(BtfIdsError::Slot { symbol: text(name.name) });
        }
        sets.push(IdSet {
            name,
            kind,
            offset,
            len: end.checked_sub(offset).invariant("a list ends after its start")?,
            count: if kind == IdSetKind::List { None } else { read(offset) },
            flags: offset.checked_add(4).filter(|_| kind == IdSetKind::FlagSet).and_then(read),
            slots: slots.collect(),
            names: own_names,
        });
        last_end = end;
    }
    // A set may end before the next list starts. Its ids would belong to no list.
    let outside = names.keys().find(|at| {
        let set = sets.partition_point(|set| set.offset <= **at).checked_sub(1).and_then(|nth| sets.get(nth));
        let distance = set.and_then(|set| Some((at.checked_sub(set.offset)?, set.len)));
        distance.is_none_or(|(distance, len)| distance >= len)
    });
    match outside.and_then(|at| names.get(at)) {
        Some(name) => Err(BtfIdsError::Slot { symbol: text(name.name) }),
        None => Ok(sets),
    }
}
