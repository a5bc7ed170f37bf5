//! References of instructions to maps, data, externs and functions, from ELF relocations.

use super::{error::LinkError, externs::ExternEntry, maps::MapTable};
use crate::{
    elf::text,
    index::{ExternIndex, MapIndex, SectionIndex},
    object::{DataKind, Linkage, Object, Reloc, SymbolKind, SymbolLocation, calls::function_containing},
};
use core_relo::insn::{Insn, LD_IMM64, opcode, pseudo};
use hashbrown::{HashMap, HashSet};

/// The target of an instruction's reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefTarget {
    /// A map.
    Map(MapIndex),
    /// A position in a map's value: the symbol's offset, to which the instruction's immediate is added.
    Data {
        /// The map.
        map: MapIndex,
        /// The offset in bytes.
        offset: u64,
    },
    /// An extern.
    Extern(ExternIndex),
    /// A function that is called or whose address is loaded: the symbol's section, and its offset in bytes,
    /// to which the instruction's immediate is added.
    Function {
        /// The section.
        section: SectionIndex,
        /// The offset in bytes.
        offset: u64,
    },
    /// A jump table in `.jumptables`.
    JumpTable {
        /// The offset in the section, in bytes.
        offset: u64,
        /// The size in bytes.
        size: u64,
    },
}

/// The references of a code section.
#[derive(Clone, Debug)]
struct SectionRefs {
    section: SectionIndex,
    /// The instructions with a reference, sorted.
    refs: Vec<(u32, RefTarget)>,
}

/// The references of all code sections.
#[derive(Clone, Debug, Default)]
pub(crate) struct RefTable {
    /// The sections with code, sorted by index.
    by_section: Vec<SectionRefs>,
    /// The sections with functions that relocations refer to.
    called: HashSet<SectionIndex>,
}

impl RefTable {
    /// Collects the references of an object (libbpf: `bpf_object__collect_prog_relos`).
    ///
    /// Relocations outside of functions are skipped: they belong to overridden weak functions.
    pub(crate) fn collect(
        object: &Object<'_>,
        maps: &MapTable<'_, '_>,
        externs: &[ExternEntry<'_>],
    ) -> Result<Self, LinkError> {
        let resolver = Resolver {
            maps,
            code_sections: object.code_indices(),
            externs: externs.iter().enumerate().map(|(index, e)| (e.symbol, ExternIndex(index))).collect(),
            defined: maps.defined(),
            sections: object.data_sections().iter().map(|s| (s.section_index, s.kind)).collect(),
        };
        let mut table = Self::default();
        for (section_index, code) in object.code_indices().iter().zip(object.code_sections()) {
            let mut refs = Vec::new();
            for reloc in object.elf_relocs_of(*section_index) {
                let reloc = reloc?;
                let fail = |what| reference_error(&reloc, what);
                if !reloc.offset.is_multiple_of(8) {
                    return Err(fail("its offset is in the middle of an instruction"));
                }
                let insn_index =
                    u32::try_from(reloc.offset / 8).map_err(|_large| fail("its offset is too large"))?;
                if function_containing(object.programs(), *section_index, insn_index).is_none() {
                    continue;
                }
                let start = usize::try_from(reloc.offset).ok();
                let raw = start.and_then(|start| code.code.get(start..)).and_then(|rest| rest.first_chunk());
                let insn = Insn::decode(
                    object.endian(),
                    *raw.ok_or_else(|| fail("it lies past the section's end"))?,
                );
                refs.push((insn_index, resolver.resolve(&reloc, insn_index, insn)?));
            }
            refs.sort_by_key(|(insn, _)| *insn);
            let duplicate = refs.iter().zip(refs.iter().skip(1)).find(|((a, _), (b, _))| a == b);
            if let Some(((insn, _), _)) = duplicate {
                return Err(LinkError::TwoReferences { section: text(code.name), insn: *insn });
            }
            table.called.extend(refs.iter().filter_map(|(_, target)| match target {
                RefTarget::Function { section, .. } => Some(*section),
                _ => None,
            }));
            table.by_section.push(SectionRefs { section: *section_index, refs });
        }
        table.by_section.sort_by_key(|refs| refs.section);
        Ok(table)
    }

    /// Returns whether a relocation refers to a function of the section.
    pub(crate) fn has_calls_to(&self, section: SectionIndex) -> bool {
        self.called.contains(&section)
    }

    /// Returns the target of an instruction's reference; `None` if the instruction has no reference.
    pub(crate) fn find(&self, section: SectionIndex, insn: u32) -> Option<RefTarget> {
        let refs = self.of_section(section);
        let position = refs.partition_point(|(n, _)| *n < insn);
        refs.get(position).filter(|(n, _)| *n == insn).map(|(_, target)| *target)
    }

    /// Returns the references of a section, sorted by instruction.
    fn of_section(&self, section: SectionIndex) -> &[(u32, RefTarget)] {
        let position = self.by_section.partition_point(|refs| refs.section < section);
        let found = self.by_section.get(position).filter(|refs| refs.section == section);
        found.map_or(&[], |refs| &refs.refs)
    }

    /// Returns the references of `len` instructions of a section.
    pub(crate) fn in_range(
        &self,
        section: SectionIndex,
        start: u32,
        len: u32,
    ) -> impl Iterator<Item = &(u32, RefTarget)> {
        let refs = self.of_section(section);
        let first = refs.partition_point(|(n, _)| *n < start);
        let is_in_range =
            move |(n, _): &&(u32, RefTarget)| n.checked_sub(start).is_some_and(|index| index < len);
        refs.iter().skip(first).take_while(is_in_range)
    }
}

/// A resolver of relocations, with the tables that it looks symbols up in.
struct Resolver<'c, 'o, 'd> {
    maps: &'c MapTable<'o, 'd>,
    /// The indices of code sections, sorted.
    code_sections: &'c [SectionIndex],
    /// Externs by symbol index.
    externs: HashMap<u32, ExternIndex>,
    /// Defined maps by section and offset.
    defined: HashMap<(SectionIndex, u64), MapIndex>,
    /// Kinds of data sections by section index.
    sections: HashMap<SectionIndex, DataKind>,
}

impl Resolver<'_, '_, '_> {
    /// Resolves a relocation (libbpf: `bpf_program__record_reloc`, which accepts functions in `.text` only).
    fn resolve(&self, reloc: &Reloc<'_>, insn_index: u32, insn: Insn) -> Result<RefTarget, LinkError> {
        let fail = |what| reference_error(reloc, what);
        let symbol = &reloc.symbol;
        let is_call = insn.code == opcode::CALL;
        if !is_call && insn.code != LD_IMM64 {
            let (section, symbol) = (text(reloc.section), text(symbol.name));
            return Err(LinkError::Instruction { section, insn: insn_index, symbol, code: insn.code });
        }
        if symbol.is_extern() {
            return self
                .externs
                .get(&symbol.index)
                .copied()
                .map(RefTarget::Extern)
                .ok_or_else(|| fail("it is not among the externs"));
        }
        let section = match symbol.location {
            SymbolLocation::Section(index) => index,
            SymbolLocation::Undefined => {
                return Err(fail("it is undefined, and not an extern of the kernel"));
            }
            SymbolLocation::COMMON => {
                return Err(fail(
                    "it is uninitialised and in no section (a common symbol): compile with -fno-common",
                ));
            }
            SymbolLocation::Reserved(_) => return Err(fail("it is in no section")),
        };
        let is_code = self.code_sections.binary_search(&section).is_ok();
        if is_call {
            return match () {
                () if insn.src != pseudo::CALL => Err(fail("the instruction is not a call of a subprogram")),
                () if !is_code => Err(fail("its section is not code, expected a function")),
                () if !symbol.value.is_multiple_of(8) => {
                    Err(fail("the function begins in the middle of an instruction"))
                }
                () => Ok(RefTarget::Function { section, offset: symbol.value }),
            };
        }
        let is_local_section = symbol.linkage == Linkage::Static && symbol.kind == SymbolKind::Section;
        if is_code && (is_local_section || symbol.kind == SymbolKind::Function) {
            if !symbol.value.is_multiple_of(8) || insn.imm.rem_euclid(8) != 0 {
                return Err(fail("the function begins in the middle of an instruction"));
            }
            return Ok(RefTarget::Function { section, offset: symbol.value });
        }
        match self.sections.get(&section) {
            Some(DataKind::Arena) => match self.maps.arena {
                Some(map) => Ok(RefTarget::Data { map, offset: symbol.value }),
                None => Err(fail("the object defines no arena")),
            },
            Some(DataKind::JumpTables) => {
                Ok(RefTarget::JumpTable { offset: symbol.value, size: symbol.size })
            }
            Some(DataKind::Data | DataKind::Rodata | DataKind::Bss) => {
                let map = self.maps.for_section(section).ok_or_else(|| fail("its section is empty"))?;
                Ok(RefTarget::Data { map, offset: symbol.value })
            }
            Some(DataKind::StructOps { .. }) => Err(fail("programs cannot refer to struct_ops maps")),
            // The section symbol does not identify a map. libbpf takes the section's first map.
            None if symbol.kind == SymbolKind::Section && insn.imm != 0 => {
                Err(fail("a section symbol does not identify a map: remove `static` from the map"))
            }
            None => {
                let map = self.defined.get(&(section, symbol.value)).copied();
                map.map(RefTarget::Map).ok_or_else(|| fail("it is neither in a data section nor a map: expected a BTF-defined map in section `.maps`"))
            }
        }
    }
}

fn reference_error(reloc: &Reloc<'_>, what: &'static str) -> LinkError {
    let insn = reloc.offset / 8;
    LinkError::Reference { section: text(reloc.section), insn, symbol: text(reloc.symbol.name), what }
}
