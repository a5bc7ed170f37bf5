//! ELF relocations of code: what each instruction refers to.

use super::{LinkError, externs::ExternEntry, maps::MapTable};
use crate::{
    elf::text,
    index::{ExternIndex, MapIndex, SectionIndex},
    object::{
        DataKind, Linkage, Object, Place, Reloc, SymbolKind,
        calls::{CALL, PSEUDO_CALL, around},
    },
};
use core_relo::insn::{Insn, LD_IMM64};
use std::collections::{HashMap, HashSet};

/// The target of an instruction's reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ref {
    /// A map.
    Map(MapIndex),
    /// A place in a map's value: the symbol's offset, to which the instruction's own is added.
    Data { map: MapIndex, offset: u64 },
    /// An extern.
    Extern(ExternIndex),
    /// A function that is called or whose address is taken: the symbol's section and its offset there in bytes, to which the
    /// instruction's own is added.
    Function { section: SectionIndex, offset: u64 },
    /// A table of jump targets.
    JumpTable { offset: u64, size: u64 },
}

/// The references of all code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refs {
    /// References by section, in order of their instructions.
    by_section: HashMap<SectionIndex, Vec<(u32, Ref)>>,
    /// The sections whose functions relocations refer to.
    called: HashSet<SectionIndex>,
}

impl Refs {
    /// libbpf: `bpf_object__collect_prog_relos`. Relocations outside of any function belong to a weak one that was
    /// overridden: they are passed over.
    pub(crate) fn collect(
        object: &Object<'_>,
        maps: &MapTable<'_, '_>,
        externs: &[ExternEntry<'_>],
    ) -> Result<Self, LinkError> {
        let context = Context {
            maps,
            code_sections: object.code_indices(),
            externs: externs.iter().enumerate().map(|(at, e)| (e.symbol, ExternIndex(at))).collect(),
            defined: maps.defined(),
            sections: object.data_sections().iter().map(|s| (s.section_index, s.kind)).collect(),
        };
        let mut found = Self::default();
        for (section_index, code) in object.code_indices().iter().zip(object.code_sections()) {
            let mut refs = Vec::new();
            for reloc in object.elf_relocs_of(*section_index) {
                let reloc = reloc?;
                let fail = |what| reference_error(&reloc, what);
                if !reloc.offset.is_multiple_of(8) {
                    return Err(fail("its offset is in the middle of an instruction"));
                }
                let at = u32::try_from(reloc.offset / 8).map_err(|_large| fail("its offset is too large"))?;
                if around(object.programs(), *section_index, at).is_none() {
                    continue;
                }
                let start = usize::try_from(reloc.offset).ok();
                let raw = start.and_then(|start| code.code.get(start..)).and_then(|rest| rest.first_chunk());
                let insn = Insn::decode(
                    object.endian(),
                    *raw.ok_or_else(|| fail("it lies past the section's end"))?,
                );
                refs.push((at, context.resolve(&reloc, at, insn)?));
            }
            refs.sort_by_key(|(at, _)| *at);
            let twice = refs.iter().zip(refs.iter().skip(1)).find(|((a, _), (b, _))| a == b);
            if let Some(((insn, _), _)) = twice {
                return Err(LinkError::TwoReferences { section: text(code.name), insn: *insn });
            }
            found.called.extend(refs.iter().filter_map(|(_, to)| match to {
                Ref::Function { section, .. } => Some(*section),
                _ => None,
            }));
            found.by_section.insert(*section_index, refs);
        }
        Ok(found)
    }

    /// Returns whether a relocation refers to a function of the section.
    pub(crate) fn has_calls_to(&self, section: SectionIndex) -> bool {
        self.called.contains(&section)
    }

    /// Returns the reference of an instruction.
    pub(crate) fn at(&self, section: SectionIndex, insn: u32) -> Option<Ref> {
        let refs = self.by_section.get(&section)?;
        let at = refs.partition_point(|(n, _)| *n < insn);
        refs.get(at).filter(|(n, _)| *n == insn).map(|(_, found)| *found)
    }

    /// The references within a run of a section's instructions.
    pub(crate) fn within(
        &self,
        section: SectionIndex,
        start: u32,
        len: u32,
    ) -> impl Iterator<Item = &(u32, Ref)> {
        let refs = self.by_section.get(&section).map_or(&[][..], Vec::as_slice);
        let from = refs.partition_point(|(n, _)| *n < start);
        let is_within = move |(n, _): &&(u32, Ref)| n.checked_sub(start).is_some_and(|within| within < len);
        refs.iter().skip(from).take_while(is_within)
    }
}

/// The tables in which references are looked up.
struct Context<'c, 'o, 'd> {
    maps: &'c MapTable<'o, 'd>,
    /// Sections of code, in order.
    code_sections: &'c [SectionIndex],
    /// Externs by symbol.
    externs: HashMap<u32, ExternIndex>,
    /// Defined maps by section and offset.
    defined: HashMap<(SectionIndex, u64), MapIndex>,
    /// Data sections by number.
    sections: HashMap<SectionIndex, DataKind>,
}

impl Context<'_, '_, '_> {
    /// libbpf: `bpf_program__record_reloc`, which lets functions be in `.text` alone.
    fn resolve(&self, reloc: &Reloc<'_>, at: u32, insn: Insn) -> Result<Ref, LinkError> {
        let fail = |what| reference_error(reloc, what);
        let symbol = &reloc.symbol;
        let is_call = insn.code == CALL;
        if !is_call && insn.code != LD_IMM64 {
            let (section, symbol) = (text(reloc.section), text(symbol.name));
            return Err(LinkError::Instruction { section, insn: at, symbol, code: insn.code });
        }
        if symbol.is_extern() {
            return self
                .externs
                .get(&symbol.index)
                .copied()
                .map(Ref::Extern)
                .ok_or_else(|| fail("it is not among the externs"));
        }
        let section = match symbol.place {
            Place::Section(index) => index,
            Place::Undefined => {
                return Err(fail("it is not defined, and not an extern the kernel could supply"));
            }
            Place::Reserved(_) => {
                return Err(fail(
                    "it lies in no section: a global that is not initialised? (compile with -fno-common)",
                ));
            }
        };
        let is_code = self.code_sections.binary_search(&section).is_ok();
        if is_call {
            return match () {
                () if insn.src != PSEUDO_CALL => Err(fail("the call is not one of a subprogram")),
                () if !is_code => Err(fail("functions lie in sections of code")),
                () if !symbol.value.is_multiple_of(8) => {
                    Err(fail("the function begins in the middle of an instruction"))
                }
                () => Ok(Ref::Function { section, offset: symbol.value }),
            };
        }
        let is_local_section = symbol.linkage == Linkage::Static && symbol.kind == SymbolKind::Section;
        if is_code && (is_local_section || symbol.kind == SymbolKind::Function) {
            if !symbol.value.is_multiple_of(8) || insn.imm.rem_euclid(8) != 0 {
                return Err(fail("the function begins in the middle of an instruction"));
            }
            return Ok(Ref::Function { section, offset: symbol.value });
        }
        match self.sections.get(&section) {
            Some(DataKind::Arena) => match self.maps.arena {
                Some(map) => Ok(Ref::Data { map, offset: symbol.value }),
                None => Err(fail("the object defines no arena")),
            },
            Some(DataKind::JumpTables) => Ok(Ref::JumpTable { offset: symbol.value, size: symbol.size }),
            Some(DataKind::Data | DataKind::Rodata | DataKind::Bss) => {
                let map = self.maps.for_section(section).ok_or_else(|| fail("its section is empty"))?;
                Ok(Ref::Data { map, offset: symbol.value })
            }
            Some(DataKind::StructOps { .. }) => Err(fail("a program cannot refer to a struct_ops table")),
            // libbpf takes the section's first map, whichever is meant.
            None if symbol.kind == SymbolKind::Section && insn.imm != 0 => {
                Err(fail("it says no map by its name: a static one? (drop `static`)"))
            }
            None => {
                let map = self.defined.get(&(section, symbol.value)).copied();
                map.map(Ref::Map)
                    .ok_or_else(|| fail("no map is defined there, and the section holds no data"))
            }
        }
    }
}

fn reference_error(reloc: &Reloc<'_>, what: &'static str) -> LinkError {
    // An offset beyond 32 bits is refused; the message then shows the largest number.
    let insn = u32::try_from(reloc.offset / 8).unwrap_or(u32::MAX);
    LinkError::Reference { section: text(reloc.section), insn, symbol: text(reloc.symbol.name), what }
}
