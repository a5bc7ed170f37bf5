//! What maps of maps and arrays of programs hold from the start: the `values` of their definitions (libbpf:
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

/// Fills the plans' slots from the relocations of `.maps`.
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
    let places = Places::new(object, table, first.section_index);
    for reloc in relocs {
        let reloc = reloc?;
        let definition = places.definition(reloc.offset).ok_or_else(|| LoadPlanError::Map {
            map: text(reloc.symbol.name),
            what: format!("byte {} of .maps refers to it, and no map is defined there", reloc.offset).into(),
        })?;
        let plan = plans.get_mut(definition.map.0).invariant("each map of the table has a plan")?;
        let (key, slot) = places.slot(definition, plan, &reloc)?;
        plan.slots.insert(key, slot);
    }
    Ok(())
}

/// The definition of a map, and a byte of it that is referred from.
#[derive(Clone, Copy)]
struct Definition<'o> {
    map: MapIndex,
    name: &'o [u8],
    byte: u64,
}

/// The tables in which relocations of `.maps` are looked up.
struct Places<'o> {
    /// Maps by name, the first of a name.
    maps: HashMap<&'o [u8], MapIndex>,
    /// Programs by section and byte.
    programs: HashMap<(SectionIndex, u64), ProgramIndex>,
    /// Definitions by their start: size, map, name.
    definitions: Vec<(u64, u64, MapIndex, &'o [u8])>,
    /// The offset of `values` in a map's definition, in bytes.
    values: HashMap<&'o [u8], u64>,
}

impl<'o> Places<'o> {
    fn new(object: &'o Object<'_>, table: &MapTable<'o, '_>, section: SectionIndex) -> Self {
        let maps = table.entries.iter().enumerate().rev().map(|(at, e)| (e.name, MapIndex(at))).collect();
        let programs = ProgramIndex::enumerate(object.programs()).filter(|(_, p)| !p.is_subprogram);
        // 32 bits times 8 do not overflow 64.
        let start = |start: u32| u64::from(start).saturating_mul(8);
        let programs = programs.map(|(at, p)| ((p.section_index, start(p.start.0)), at)).collect();
        let mut definitions: Vec<_> = MapIndex::enumerate(&table.entries)
            .filter_map(|(at, e)| match e.source {
                MapSource::Defined(m) if m.section_index == section => Some((m.offset, m.size, at, e.name)),
                _ => None,
            })
            .collect();
        definitions.sort_unstable();
        Self { maps, programs, definitions, values: values(object) }
    }

    /// The definition around a byte of `.maps`, which holds the eight bytes from there on.
    fn definition(&self, offset: u64) -> Option<Definition<'o>> {
        let after = self.definitions.partition_point(|(start, ..)| *start <= offset);
        let (start, size, map, name) = *self.definitions.get(after.checked_sub(1)?)?;
        let byte = offset.checked_sub(start)?;
        (byte.checked_add(8)? <= size).then_some(Definition { map, name, byte })
    }

    fn slot(
        &self,
        Definition { name, byte, .. }: Definition<'_>,
        plan: &MapPlan,
        reloc: &Reloc<'_>,
    ) -> Result<(u32, SlotPlan), LoadPlanError> {
        let to = &reloc.symbol;
        let fail = |what: String| LoadPlanError::Map { map: text(name), what: what.into() };
        let shown = text(to.name);
        let key = self.key(name, byte).ok_or_else(|| {
            fail(format!("byte {byte} of its definition refers to `{shown}`, and is no element of `values`"))
        })?;
        let slot = match plan.known_type() {
            Some(MapType::HashOfMaps) if plan.key_size != 4 => {
                return Err(fail("a hash of maps with initial values has to have keys of 4 bytes".into()));
            }
            Some(MapType::ArrayOfMaps | MapType::HashOfMaps) => {
                let map = self.maps.get(to.name).copied();
                SlotPlan::Map(
                    map.ok_or_else(|| fail(format!("its value `{shown}` is no map of the object")))?,
                )
            }
            _ => SlotPlan::Program(
                self.program(to)
                    .ok_or_else(|| fail(format!("its value `{shown}` is no program of the object")))?,
            ),
        };
        Ok((key, slot))
    }

    /// Returns the element of `values` at a byte of a definition.
    fn key(&self, map: &[u8], byte: u64) -> Option<u32> {
        let within = byte.checked_sub(*self.values.get(map)?)?;
        u32::try_from(within.checked_div(8).filter(|_| within.is_multiple_of(8))?).ok()
    }

    fn program(&self, symbol: &Symbol<'_>) -> Option<ProgramIndex> {
        match symbol.location {
            SymbolLocation::Section(section) if symbol.kind == SymbolKind::Function => {
                self.programs.get(&(section, symbol.value)).copied()
            }
            _ => None,
        }
    }
}

/// Returns the offsets of `values` in definitions of which it is the last member.
fn values<'o>(object: &'o Object<'_>) -> HashMap<&'o [u8], u64> {
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
