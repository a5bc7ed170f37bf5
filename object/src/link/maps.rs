//! The maps of an object in libbpf's order: defined maps, data sections, `.kconfig`, struct_ops maps.

use super::error::LinkError;
use crate::{
    elf::text,
    index::{MapIndex, SectionIndex},
    internal::Invariant as _,
    object::{DataKind, DataSection, Map, MapType, Object, Symbol, SymbolKind, SymbolLocation},
};
use core_relo::{
    TypeId,
    btf::{Btf, Kind},
};
use hashbrown::{HashMap, HashSet};

/// The name of the section and map of configuration values.
pub(crate) const KCONFIG: &[u8] = b".kconfig";

/// A map of an object, defined or implicit.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MapEntry<'o, 'd> {
    /// The map's name, or the data section's.
    pub name: &'o [u8],
    /// The part of the object that becomes the map.
    pub source: MapSource<'o, 'd>,
}

/// The part of an object that becomes a map.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum MapSource<'o, 'd> {
    /// A map definition.
    Defined(&'o Map<'d>),
    /// A data section.
    Data(&'o DataSection<'d>),
    /// The configuration values.
    Kconfig,
    /// A variable of a struct_ops section.
    StructOps(StructOps<'o, 'd>),
}

/// A struct_ops map: a variable of a struct_ops section.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StructOps<'o, 'd> {
    /// The section.
    pub section: &'o DataSection<'d>,
    /// The offset in the section, in bytes.
    pub offset: u32,
    /// The struct type, without qualifiers and typedefs.
    pub ty: TypeId,
    /// The struct's size in bytes.
    pub size: u32,
}

/// The maps of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct MapTable<'o, 'd> {
    pub(crate) entries: Vec<MapEntry<'o, 'd>>,
    pub(crate) arena: Option<MapIndex>,
    pub(crate) kconfig: Option<MapIndex>,
    /// The maps of data sections, by section.
    data: HashMap<SectionIndex, MapIndex>,
}

impl<'o, 'd> MapTable<'o, 'd> {
    /// Collects the maps of an object (libbpf: `bpf_object__init_maps`).
    pub(crate) fn collect(object: &'o Object<'d>, has_config: bool) -> Result<Self, LinkError> {
        let mut table = Self::default();
        let (modern, legacy): (Vec<_>, Vec<_>) = object.maps().iter().partition(|m| !m.is_legacy);
        for map in modern {
            table.define(map)?;
        }
        for section in object.data_sections().iter().filter(|s| s.size > 0) {
            if matches!(section.kind, DataKind::Data | DataKind::Rodata | DataKind::Bss) {
                table.data.insert(section.section_index, table.next());
                table.push(section.name, MapSource::Data(section));
            }
        }
        if has_config {
            table.kconfig = Some(table.next());
            table.push(KCONFIG, MapSource::Kconfig);
        }
        let mut struct_ops_sections = HashSet::new();
        for section in object.data_sections() {
            if let DataKind::StructOps { .. } = section.kind {
                if !struct_ops_sections.insert(section.name) {
                    let what = "the object has two sections of this name".into();
                    return Err(LinkError::Datasec { section: text(section.name), what });
                }
                let btf = object.btf().ok_or(LinkError::NoBtf { what: "struct_ops maps" })?;
                table.add_struct_ops(object, btf, section)?;
            }
        }
        for map in legacy {
            table.define(map)?;
        }
        let arena_data = object.data_sections().iter().find(|s| s.kind == DataKind::Arena);
        if let (Some(section), None) = (arena_data, table.arena) {
            let what =
                "it holds arena variables, but the object defines no map of type BPF_MAP_TYPE_ARENA".into();
            return Err(LinkError::MapShape { map: text(section.name), what });
        }
        Ok(table)
    }

    /// Returns the index of the next map.
    fn next(&self) -> MapIndex {
        MapIndex(self.entries.len())
    }

    fn push(&mut self, name: &'o [u8], source: MapSource<'o, 'd>) {
        self.entries.push(MapEntry { name, source });
    }

    fn define(&mut self, map: &'o Map<'d>) -> Result<(), LinkError> {
        if let Ok(def) = &map.def
            && def.known_type() == Some(MapType::Arena)
        {
            if self.arena.is_some() {
                let what = "a second arena, expected at most one".into();
                return Err(LinkError::MapShape { map: text(map.name), what });
            }
            self.arena = Some(self.next());
        }
        if let Err(cause) = &map.def {
            return Err(LinkError::Map { map: text(map.name), cause: cause.clone() });
        }
        self.push(map.name, MapSource::Defined(map));
        Ok(())
    }

    /// Adds the struct_ops maps of a section (libbpf: `init_struct_ops_maps`).
    fn add_struct_ops(
        &mut self,
        object: &'o Object<'d>,
        btf: &'o Btf<'d>,
        section: &'o DataSection<'d>,
    ) -> Result<(), LinkError> {
        let fail = |what: &str| LinkError::Datasec { section: text(section.name), what: what.into() };
        let datasec = btf
            .find(section.name, Kind::Datasec)
            .ok_or_else(|| fail("the object's BTF does not describe it"))?;
        // Clang leaves the size and offsets 0; the symbols have the offsets.
        let lacks_offsets = datasec.size_or_type() == 0;
        let is_here = |s: &Symbol<'d>| {
            s.location == SymbolLocation::Section(section.section_index) && s.kind == SymbolKind::Object
        };
        let symbols: HashMap<_, _> = object.symbols().filter(is_here).map(|s| (s.name, s.value)).collect();
        let mut maps = Vec::new();
        for info in datasec.secinfos() {
            let var = btf.ty(info.ty).filter(|t| t.kind() == Kind::Var);
            let var = var.ok_or_else(|| fail("it has an entry that is not a VAR"))?;
            let name = var.name().as_bytes();
            let shape = |what: &str| LinkError::MapShape { map: text(name), what: what.into() };
            let ty = var.target().and_then(|id| btf.strip(id).ok());
            let ty = ty.ok_or_else(|| shape("its type cannot be followed"))?;
            if ty.kind() != Kind::Struct || ty.name().is_empty() {
                return Err(shape("its type is not a named struct"));
            }
            let offset = match symbols.get(name) {
                Some(symbol_value) if lacks_offsets => *symbol_value,
                _ => info.offset.into(),
            };
            let size = ty.size_or_type();
            let fits = offset.checked_add(size.into()).is_some_and(|end| end <= section.size);
            let offset = u32::try_from(offset).ok().filter(|_| fits);
            let offset = offset.ok_or_else(|| shape("it reaches past the end of its section"))?;
            maps.push((name, StructOps { section, offset, ty: ty.id(), size }));
        }
        maps.sort_by_key(|(_, map)| map.offset);
        let mut end = 0u64;
        for (name, map) in maps {
            // Overlaps would multiply the bytes and relocations, which are copied for each map.
            if u64::from(map.offset) < end {
                let what = "it overlaps the struct_ops map before it".into();
                return Err(LinkError::MapShape { map: text(name), what });
            }
            let sum = u64::from(map.offset).checked_add(map.size.into());
            end = sum.invariant("the sum of two 32-bit numbers fits 64 bits")?;
            self.push(name, MapSource::StructOps(map));
        }
        Ok(())
    }

    /// Returns the map of a data section.
    pub(crate) fn for_section(&self, index: SectionIndex) -> Option<MapIndex> {
        self.data.get(&index).copied()
    }

    /// Returns the defined maps by section and offset.
    pub(crate) fn defined(&self) -> HashMap<(SectionIndex, u64), MapIndex> {
        let location = |(index, e): (MapIndex, &MapEntry<'_, '_>)| match e.source {
            MapSource::Defined(m) => Some(((m.section_index, m.offset), index)),
            _ => None,
        };
        MapIndex::enumerate(&self.entries).filter_map(location).collect()
    }
}
