//! The initial contents of maps of maps and program arrays, from the `values` of their definitions (libbpf:
//! `bpf_object__collect_map_relos`).

use super::{
    LoadPlanError,
    map_plan::{MapPlan, SlotPlan},
};
use crate::{
    elf::text,
    index::{MapIndex, ProgramIndex, SectionIndex},
    internal::Invariant as _,
    link::maps::{MapSource, MapTable},
    object::{MapType, Object, Reloc, Symbol, SymbolKind, SymbolLocation},
};
use core_relo::btf::Kind;
use std::collections::HashMap;

/// Fills the slots of the map plans from the relocations of `.maps`.
pub(super) fn fill(
    object: &Object<'_>,
    table: &MapTable<'_, '_>,
    plans: &mut [MapPlan],
) -> Result<(), LoadPlanError> {
    let Some(first) = object.maps().iter().find(|m| !m.is_legacy) else { return Ok(()) };
    let mut relocs = object.elf_relocs_of(first.section_index).peekable();
    if relocs.peek().is_none() {
        return Ok(());
    }
    let index = DefinitionIndex::new(object, table, first.section_index);
    for reloc in relocs {
        let reloc = reloc?;
        let position = index.find(reloc.offset).ok_or_else(|| LoadPlanError::Map {
            map: text(reloc.symbol.name),
            what: format!("it is referred to at byte {} of .maps, where no map is defined", reloc.offset)
                .into(),
        })?;
        let plan = plans.get_mut(position.map.0).invariant("each map of the table has a plan")?;
        let (key, slot) = index.resolve(position, plan, &reloc)?;
        plan.slots.insert(key, slot);
    }
    Ok(())
}

/// A position in the definition of a map.
#[derive(Clone, Copy)]
struct DefinitionPosition<'o> {
    map: MapIndex,
    name: &'o [u8],
    /// The offset in the definition, in bytes.
    byte: u64,
}

/// An index of map definitions, maps and programs, for the relocations of `.maps`.
struct DefinitionIndex<'o> {
    /// The first map of each name.
    maps: HashMap<&'o [u8], MapIndex>,
    /// The programs by section and byte offset.
    programs: HashMap<(SectionIndex, u64), ProgramIndex>,
    /// The start, size, map and name of each definition, sorted by start.
    definitions: Vec<(u64, u64, MapIndex, &'o [u8])>,
    /// The offset of `values` in a map's definition in bytes, by map name.
    values: HashMap<&'o [u8], u64>,
}

impl<'o> DefinitionIndex<'o> {
    fn new(object: &'o Object<'_>, table: &MapTable<'o, '_>, section: SectionIndex) -> Self {
        // In reverse, so that the first map of a name replaces the later ones.
        let maps = table.entries.iter().enumerate().rev().map(|(n, e)| (e.name, MapIndex(n))).collect();
        let programs = ProgramIndex::enumerate(object.programs()).filter(|(_, p)| !p.is_subprogram);
        // A product of 32 bits and 8 does not saturate.
        let start = |start: u32| u64::from(start).saturating_mul(8);
        let programs = programs.map(|(index, p)| ((p.section_index, start(p.start().0)), index)).collect();
        let mut definitions: Vec<_> = MapIndex::enumerate(&table.entries)
            .filter_map(|(map, e)| match e.source {
                MapSource::Defined(m) if m.section_index == section => Some((m.offset, m.size, map, e.name)),
                _ => None,
            })
            .collect();
        definitions.sort_unstable();
        Self { maps, programs, definitions, values: values_offsets(object) }
    }

    /// Finds the definition that contains the eight bytes at an offset of `.maps`.
    fn find(&self, offset: u64) -> Option<DefinitionPosition<'o>> {
        let after = self.definitions.partition_point(|(start, ..)| *start <= offset);
        let (start, size, map, name) = *self.definitions.get(after.checked_sub(1)?)?;
        let byte = offset.checked_sub(start)?;
        (byte.checked_add(8)? <= size).then_some(DefinitionPosition { map, name, byte })
    }

    /// Returns the key and the contents of the slot that a relocation fills.
    fn resolve(
        &self,
        DefinitionPosition { name, byte, .. }: DefinitionPosition<'_>,
        plan: &MapPlan,
        reloc: &Reloc<'_>,
    ) -> Result<(u32, SlotPlan), LoadPlanError> {
        let symbol = &reloc.symbol;
        let fail = |what: String| LoadPlanError::Map { map: text(name), what: what.into() };
        let shown = text(symbol.name);
        let key = self.key(name, byte).ok_or_else(|| {
            fail(format!(
                "byte {byte} of its definition refers to `{shown}`, but is not an element of `values`"
            ))
        })?;
        let slot = match plan.known_type() {
            Some(MapType::HashOfMaps) if plan.key_size != 4 => {
                let size = plan.key_size;
                let what =
                    format!("wrong key size of a hash of maps with initial values: {size} bytes, expected 4");
                return Err(fail(what));
            }
            Some(MapType::ArrayOfMaps | MapType::HashOfMaps) => {
                let map = self.maps.get(symbol.name).copied();
                SlotPlan::Map(
                    map.ok_or_else(|| fail(format!("its value `{shown}` is not a map of the object")))?,
                )
            }
            _ => SlotPlan::Program(
                self.program(symbol)
                    .ok_or_else(|| fail(format!("its value `{shown}` is not a program of the object")))?,
            ),
        };
        Ok((key, slot))
    }

    /// Returns the index of the element of `values` that begins at a byte of a definition.
    fn key(&self, map: &[u8], byte: u64) -> Option<u32> {
        let within = byte.checked_sub(*self.values.get(map)?)?;
        u32::try_from(within.checked_div(8).filter(|_| within.is_multiple_of(8))?).ok()
    }

    /// Returns the program that a symbol refers to.
    fn program(&self, symbol: &Symbol<'_>) -> Option<ProgramIndex> {
        match symbol.location {
            SymbolLocation::Section(section) if symbol.kind == SymbolKind::Function => {
                self.programs.get(&(section, symbol.value)).copied()
            }
            _ => None,
        }
    }
}

/// Returns the byte offset of `values` in each definition whose last member it is, by map name.
fn values_offsets<'o>(object: &'o Object<'_>) -> HashMap<&'o [u8], u64> {
    let mut found = HashMap::new();
    let Some(btf) = object.btf() else { return found };
    let Some(section) = btf.find(b".maps", Kind::Datasec) else { return found };
    for var in section.secinfos().filter_map(|i| btf.ty(i.ty)) {
        let definition = var.target().and_then(|id| btf.strip(id).ok());
        let last = definition.and_then(|d| d.member(d.vlen().checked_sub(1)?));
        if let Some(values) = last.filter(|m| m.name.as_bytes() == b"values") {
            found.entry(var.name().as_bytes()).or_insert(u64::from(values.bit_offset.0 / 8));
        }
    }
    found
}
