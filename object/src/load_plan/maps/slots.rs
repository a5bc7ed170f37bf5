//! The initial contents of maps of maps and program arrays, from the `values` of their definitions (libbpf:
//! `bpf_object__collect_map_relos`).

use super::plan::{MapPlan, SlotPlan};
use crate::{
    elf::text,
    index::{MapIndex, ProgramIndex, SectionIndex},
    internal::Invariant as _,
    link::{
        ProgramLinker,
        maps::{MapSource, MapTable},
    },
    load_plan::{error::LoadPlanError, program_offsets::ProgramOffsets, settings::Settings},
    object::{MapType, Object, Program, Reloc, Symbol, SymbolKind, SymbolLocation},
};
use core_relo::btf::Kind;
use hashbrown::HashMap;

/// The initial content of an element of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InitialElement {
    /// The map.
    pub map: MapIndex,
    /// The key.
    pub key: u32,
    /// The map or program that the element holds.
    pub slot: SlotPlan,
}

/// Fills the slots of the map plans from the relocations of `.maps`.
pub(super) fn fill(
    object: &Object<'_>,
    table: &MapTable<'_, '_>,
    plans: &mut [MapPlan],
) -> Result<(), LoadPlanError> {
    let kinds: Vec<_> = plans.iter().map(|plan| (plan.known_type(), plan.key_size())).collect();
    for InitialElement { map, key, slot } in collect(object, table, |map| kinds.get(map.0).copied())? {
        let plan = plans.get_mut(map.0).invariant("each map of the table has a plan")?;
        plan.slots.insert(key, slot);
    }
    Ok(())
}

/// Replaces programs of program arrays by those of the caller.
pub(super) fn apply_settings(
    object: &Object<'_>,
    settings: &Settings,
    plans: &mut [MapPlan],
) -> Result<(), LoadPlanError> {
    for plan in plans {
        let Some(settings) = settings.maps.get(&plan.name).filter(|map| !map.elements.is_empty()) else {
            continue;
        };
        let map = plan.name.clone();
        let fail = |what: String| LoadPlanError::Map { map: map.as_str().into(), what: what.into() };
        if plan.known_type() != Some(MapType::ProgArray) {
            return Err(fail(
                "it is no program array, but the settings have programs for its elements".into(),
            ));
        }
        for (key, program) in &settings.elements {
            let Some(name) = program else {
                plan.slots.remove(key);
                continue;
            };
            let is_match = |p: &Program<'_>| p.name() == name.as_bytes() && !p.is_subprogram;
            let index = object
                .programs()
                .iter()
                .position(is_match)
                .ok_or_else(|| fail(format!("element {key}: the object has no program `{name}`")))?;
            plan.slots.insert(*key, SlotPlan::Program(ProgramIndex(index)));
        }
    }
    Ok(())
}

impl ProgramLinker<'_, '_> {
    /// Returns the initial elements of the maps of maps and the program arrays. Fails if libbpf would not
    /// open the object.
    pub fn initial_elements(&self) -> Result<Vec<InitialElement>, LoadPlanError> {
        collect(self.object(), &self.maps, |map| match self.maps().get(map.0)?.source {
            MapSource::Defined(map) => map.def.as_ref().ok().map(|def| (def.known_type(), def.key_size)),
            _ => None,
        })
    }
}

/// Collects the initial elements from the relocations of `.maps`. `kind_of` returns the type and the key size
/// of a map.
fn collect(
    object: &Object<'_>,
    table: &MapTable<'_, '_>,
    kind_of: impl Fn(MapIndex) -> Option<MapKind>,
) -> Result<Vec<InitialElement>, LoadPlanError> {
    let mut elements = Vec::new();
    let Some(first) = object.maps().iter().find(|m| !m.is_legacy) else { return Ok(elements) };
    let mut relocs = object.elf_relocs_of(first.section_index).peekable();
    if relocs.peek().is_none() {
        return Ok(elements);
    }
    let definitions = DefinitionIndex::new(object, table, first.section_index);
    for reloc in relocs {
        let reloc = reloc?;
        let position = definitions.find(reloc.offset).ok_or_else(|| {
            let what =
                format!("it is referred to at byte {} of .maps, where no map is defined", reloc.offset);
            LoadPlanError::Map { map: text(reloc.symbol.name), what: what.into() }
        })?;
        let kind = kind_of(position.map).invariant("a map with elements has a definition")?;
        let (key, slot) = definitions.resolve(position, kind, &reloc)?;
        elements.push(InitialElement { map: position.map, key, slot });
    }
    Ok(elements)
}

/// The type of a map, if known, and the size of its keys in bytes.
type MapKind = (Option<MapType>, u32);

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
    /// The programs, without subprograms.
    programs: ProgramOffsets,
    /// The definitions, sorted by start.
    definitions: Vec<Definition<'o>>,
    /// The offset of `values` in a map's definition in bytes, by map name.
    values_offsets: HashMap<&'o [u8], u64>,
}

/// The definition of a map in `.maps`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Definition<'o> {
    /// The offset in the section, in bytes.
    start: u64,
    /// The size in bytes.
    size: u64,
    map: MapIndex,
    name: &'o [u8],
}

impl<'o> DefinitionIndex<'o> {
    fn new(object: &'o Object<'_>, table: &MapTable<'o, '_>, section: SectionIndex) -> Self {
        // In reverse, so that the first map of a name replaces the later ones.
        let maps = table.entries.iter().enumerate().rev().map(|(n, e)| (e.name, MapIndex(n))).collect();
        let programs = ProgramOffsets::new(object, |program| !program.is_subprogram);
        let mut definitions: Vec<_> = MapIndex::enumerate(&table.entries)
            .filter_map(|(map, entry)| match entry.source {
                MapSource::Defined(m) if m.section_index == section => {
                    Some(Definition { start: m.offset, size: m.size, map, name: entry.name })
                }
                _ => None,
            })
            .collect();
        definitions.sort();
        Self { maps, programs, definitions, values_offsets: values_offsets(object) }
    }

    /// Finds the definition that contains the eight bytes at an offset of `.maps`.
    fn find(&self, offset: u64) -> Option<DefinitionPosition<'o>> {
        let end = self.definitions.partition_point(|definition| definition.start <= offset);
        let definition = self.definitions.get(end.checked_sub(1)?)?;
        let byte = offset.checked_sub(definition.start)?;
        let position = DefinitionPosition { map: definition.map, name: definition.name, byte };
        (byte.checked_add(8)? <= definition.size).then_some(position)
    }

    /// Returns the key and the contents of the slot that a relocation fills.
    fn resolve(
        &self,
        DefinitionPosition { name, byte, .. }: DefinitionPosition<'_>,
        (map_type, key_size): MapKind,
        reloc: &Reloc<'_>,
    ) -> Result<(u32, SlotPlan), LoadPlanError> {
        let symbol = &reloc.symbol;
        let fail = |what: String| LoadPlanError::Map { map: text(name), what: what.into() };
        let symbol_name = text(symbol.name);
        let key = self.key(name, byte).ok_or_else(|| {
            fail(format!(
                "byte {byte} of its definition refers to `{symbol_name}`, but is not an element of `values`"
            ))
        })?;
        let slot =
            match map_type {
                Some(MapType::HashOfMaps) if key_size != 4 => {
                    let what = format!(
                        "wrong key size of a hash of maps with initial values: {key_size} bytes, expected 4"
                    );
                    return Err(fail(what));
                }
                Some(MapType::ArrayOfMaps | MapType::HashOfMaps) => {
                    self.maps.get(symbol.name).copied().map(SlotPlan::Map).ok_or_else(|| {
                        fail(format!("its value `{symbol_name}` is not a map of the object"))
                    })?
                }
                _ => self.program(symbol).map(SlotPlan::Program).ok_or_else(|| {
                    fail(format!("its value `{symbol_name}` is not a program of the object"))
                })?,
            };
        Ok((key, slot))
    }

    /// Returns the index of the element of `values` that begins at a byte of a definition.
    fn key(&self, map: &[u8], byte: u64) -> Option<u32> {
        let offset = byte.checked_sub(*self.values_offsets.get(map)?)?;
        u32::try_from(offset / 8).ok().filter(|_| offset.is_multiple_of(8))
    }

    /// Returns the program that a symbol refers to.
    fn program(&self, symbol: &Symbol<'_>) -> Option<ProgramIndex> {
        match symbol.location {
            SymbolLocation::Section(section) if symbol.kind == SymbolKind::Function => {
                self.programs.find(section, symbol.value)
            }
            _ => None,
        }
    }
}

/// Returns the byte offset of `values` in each definition whose last member it is, by map name.
fn values_offsets<'o>(object: &'o Object<'_>) -> HashMap<&'o [u8], u64> {
    let mut offsets = HashMap::new();
    let Some(btf) = object.btf() else { return offsets };
    let Some(section) = btf.find(b".maps", Kind::Datasec) else { return offsets };
    for var in section.secinfos().filter_map(|i| btf.ty(i.ty)) {
        let definition = var.target().and_then(|id| btf.strip(id).ok());
        let last = definition.and_then(|d| d.member(d.vlen().checked_sub(1)?));
        if let Some(values) = last.filter(|m| m.name.as_bytes() == b"values") {
            offsets.entry(var.name().as_bytes()).or_insert(u64::from(values.bit_offset.0 / 8));
        }
    }
    offsets
}
