//! ELF relocations of code: what each instruction refers to.

use super::{LinkError, externs::ExternEntry, maps::MapTable};
use crate::{
    elf::text,
    object::{
        DataKind, Linkage, Object, Place, Reloc, SymbolKind,
        calls::{CALL, PSEUDO_CALL, around},
    },
};
use core_relo::insn::{INSN_BYTES, Insn, LD_IMM64};
use std::collections::{HashMap, HashSet};

/// What an instruction refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ref {
    /// A map, by number.
    Map(usize),
    /// A place in a map's value: the symbol's offset, to which the instruction's own is added.
    Data { map: usize, offset: u64 },
    /// An extern, by number.
    Extern(usize),
    /// A function that is called or whose address is taken: the symbol's section and its offset there in bytes, to which the
    /// instruction's own is added.
    Function { section: u32, offset: u64 },
    /// A table of jump targets.
    JumpTable { offset: u64, size: u64 },
}

/// The references of all code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refs {
    /// By section and instruction.
    of: HashMap<u32, Vec<(u32, Ref)>>,
    /// The sections that functions are referred to in.
    called: HashSet<u32>,
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
            externs: externs.iter().enumerate().map(|(at, e)| (e.symbol, at)).collect(),
            defined: maps.defined(),
            sections: object.data_sections().iter().map(|s| (s.section_index, s.kind)).collect(),
        };
        let mut found = Self::default();
        for (section_index, code) in object.code_indices().iter().zip(object.code_sections()) {
            let mut refs = Vec::new();
            for reloc in object.elf_relocs_of(*section_index) {
                let reloc = reloc?;
                let fail = |what| reference_error(&reloc, what);
                let bytes = u64::try_from(INSN_BYTES).unwrap_or(8);
                if !reloc.offset.is_multiple_of(bytes) {
                    return Err(fail("its offset is in the middle of an instruction"));
                }
                let at = reloc.offset.checked_div(bytes).and_then(|n| u32::try_from(n).ok());
                let at = at.ok_or_else(|| fail("its offset is too large"))?;
                if around(object.programs(), *section_index, at).is_none() {
                    continue;
                }
                let start = usize::try_from(reloc.offset).unwrap_or(usize::MAX);
                let raw = code.code.get(start..).and_then(|rest| rest.first_chunk());
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
            found.of.insert(*section_index, refs);
        }
        Ok(found)
    }

    /// Whether a relocation refers to a function of the section.
    pub(crate) fn lead_to(&self, section: u32) -> bool {
        self.called.contains(&section)
    }

    /// What the instruction of a section refers to.
    pub(crate) fn at(&self, section: u32, insn: u32) -> Option<Ref> {
        let refs = self.of.get(&section)?;
        let at = refs.partition_point(|(n, _)| *n < insn);
        refs.get(at).filter(|(n, _)| *n == insn).map(|(_, found)| *found)
    }

    /// The references within a run of a section's instructions.
    pub(crate) fn within(&self, section: u32, start: u32, len: u32) -> &[(u32, Ref)] {
        let refs = self.of.get(&section).map(Vec::as_slice).unwrap_or_default();
        let from = refs.partition_point(|(n, _)| *n < start);
        let to = refs.partition_point(|(n, _)| *n < start.saturating_add(len));
        refs.get(from..to).unwrap_or_default()
    }
}

/// What references are looked up in.
struct Context<'c, 'o, 'd> {
    maps: &'c MapTable<'o, 'd>,
    /// Sections of code, in order.
    code_sections: &'c [u32],
    /// Externs by symbol.
    externs: HashMap<u32, usize>,
    /// Defined maps by section and offset.
    defined: HashMap<(u32, u64), usize>,
    /// Data sections by number.
    sections: HashMap<u32, DataKind>,
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
                let map = self.maps.of_section(section).ok_or_else(|| fail("its section is empty"))?;
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
    let insn = u32::try_from(reloc.offset / 8).unwrap_or(u32::MAX);
    LinkError::Reference { section: text(reloc.section), insn, symbol: text(reloc.symbol.name), what }
}
