//! The maps of an object in libbpf's order: those it defines, its data sections, `.kconfig`, its struct_ops tables.

use super::LinkError;
use crate::{
    elf::text,
    object::{DataKind, DataSection, Map, MapType, Object, Place, Symbol, SymbolKind},
};
use core_relo::{
    TypeId,
    btf::{Btf, Kind},
};
use std::collections::{HashMap, HashSet};

/// Name of the section of configuration values.
pub(crate) const KCONFIG: &[u8] = b".kconfig";

/// A map of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapEntry<'o, 'd> {
    /// Its name: of a data section the section's.
    pub(crate) name: &'o [u8],
    /// What it is made of.
    pub(crate) source: MapSource<'o, 'd>,
}

/// What a map is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MapSource<'o, 'd> {
    /// A definition.
    Defined(&'o Map<'d>),
    /// A data section.
    Data(&'o DataSection<'d>),
    /// Configuration values.
    Kconfig,
    /// A table of programs.
    StructOps(StructOps<'o, 'd>),
}

/// A variable of a struct_ops section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StructOps<'o, 'd> {
    /// Its section.
    pub(crate) section: &'o DataSection<'d>,
    /// Where in the section it lies.
    pub(crate) offset: u32,
    /// Its struct type, stripped.
    pub(crate) ty: TypeId,
    /// The struct's size in bytes.
    pub(crate) size: u32,
}

/// Every map, and which one is the arena.
#[derive(Clone, Debug, Default)]
pub(crate) struct MapTable<'o, 'd> {
    pub(crate) entries: Vec<MapEntry<'o, 'd>>,
    pub(crate) arena: Option<usize>,
    pub(crate) kconfig: Option<usize>,
    /// Data sections' maps by section.
    data: HashMap<u32, usize>,
}

impl<'o, 'd> MapTable<'o, 'd> {
    /// libbpf: `bpf_object__init_maps`.
    pub(crate) fn collect(object: &'o Object<'d>, has_config: bool) -> Result<Self, LinkError> {
        let mut table = Self::default();
        let (modern, legacy): (Vec<_>, Vec<_>) = object.maps().iter().partition(|m| !m.is_legacy);
        for map in modern {
            table.define(map)?;
        }
        for section in object.data_sections().iter().filter(|s| s.size > 0) {
            if matches!(section.kind, DataKind::Data | DataKind::Rodata | DataKind::Bss) {
                table.data.insert(section.section_index, table.entries.len());
                table.push(section.name, MapSource::Data(section));
            }
        }
        if has_config {
            table.kconfig = Some(table.entries.len());
            table.push(KCONFIG, MapSource::Kconfig);
        }
        let mut tables = HashSet::new();
        for section in object.data_sections() {
            if let DataKind::StructOps { .. } = section.kind {
                if !tables.insert(section.name) {
                    let what = "the object has two sections of this name".into();
                    return Err(LinkError::Datasec { section: text(section.name), what });
                }
                let btf = object.btf().ok_or(LinkError::NoBtf { what: "struct_ops tables" })?;
                table.struct_ops(object, btf, section)?;
            }
        }
        for map in legacy {
            table.define(map)?;
        }
        let arena_data = object.data_sections().iter().find(|s| s.kind == DataKind::Arena);
        if let (Some(section), None) = (arena_data, table.arena) {
            let what =
                "it holds variables of the arena, but no map of type BPF_MAP_TYPE_ARENA is defined".into();
            return Err(LinkError::MapShape { map: text(section.name), what });
        }
        Ok(table)
    }

    fn push(&mut self, name: &'o [u8], source: MapSource<'o, 'd>) {
        self.entries.push(MapEntry { name, source });
    }

    fn define(&mut self, map: &'o Map<'d>) -> Result<(), LinkError> {
        if let Ok(def) = &map.def
            && def.known_type() == Some(MapType::Arena)
        {
            if self.arena.is_some() {
                let what = "an object can have one arena only".into();
                return Err(LinkError::MapShape { map: text(map.name), what });
            }
            self.arena = Some(self.entries.len());
        }
        if let Err(cause) = &map.def {
            return Err(LinkError::Map { map: text(map.name), cause: cause.clone() });
        }
        self.push(map.name, MapSource::Defined(map));
        Ok(())
    }

    /// libbpf: `init_struct_ops_maps`.
    fn struct_ops(
        &mut self,
        object: &'o Object<'d>,
        btf: &'o Btf<'d>,
        section: &'o DataSection<'d>,
    ) -> Result<(), LinkError> {
        let fail = |what: &str| LinkError::Datasec { section: text(section.name), what: what.into() };
        let datasec =
            btf.find(section.name, Kind::Datasec).ok_or_else(|| fail("the BTF does not describe it"))?;
        // Clang leaves the offsets to whoever reads the symbols.
        let is_unset = datasec.size_or_type() == 0;
        let here =
            |s: &Symbol<'d>| s.place == Place::Section(section.section_index) && s.kind == SymbolKind::Object;
        let symbols: HashMap<_, _> = object.symbols().filter(here).map(|s| (s.name, s.value)).collect();
        let mut found = Vec::new();
        for info in datasec.secinfos() {
            let var = btf.ty(info.ty).filter(|t| t.kind() == Kind::Var);
            let var = var.ok_or_else(|| fail("it has something that is no VAR"))?;
            let name = var.name().as_bytes();
            let shape = |what: &str| LinkError::MapShape { map: text(name), what: what.into() };
            let ty = var.target().and_then(|id| btf.strip(id).ok());
            let ty = ty.ok_or_else(|| shape("its type cannot be followed"))?;
            if ty.kind() != Kind::Struct || ty.name().is_empty() {
                return Err(shape("a struct_ops table has to be a struct with a name"));
            }
            let symbol = symbols.get(name).copied().filter(|_| is_unset);
            let offset = symbol.unwrap_or(info.offset.into());
            let size = ty.size_or_type();
            let fits = offset.checked_add(size.into()).is_some_and(|end| end <= section.size);
            let offset = u32::try_from(offset).ok().filter(|_| fits);
            let offset = offset.ok_or_else(|| shape("it reaches past the end of its section"))?;
            found.push((name, StructOps { section, offset, ty: ty.id(), size }));
        }
        found.sort_by_key(|(_, table)| table.offset);
        let mut end = 0u64;
        for (name, table) in found {
            // Each table is copied, and its relocations with it.
            if u64::from(table.offset) < end {
                let what = "it overlaps the table before it".into();
                return Err(LinkError::MapShape { map: text(name), what });
            }
            end = u64::from(table.offset).saturating_add(table.size.into());
            self.push(name, MapSource::StructOps(table));
        }
        Ok(())
    }

    /// The map that a data section is.
    pub(crate) fn of_section(&self, index: u32) -> Option<usize> {
        self.data.get(&index).copied()
    }

    /// Defined maps by section and offset.
    pub(crate) fn defined(&self) -> HashMap<(u32, u64), usize> {
        let place = |(at, e): (usize, &MapEntry<'_, '_>)| match e.source {
            MapSource::Defined(m) => Some(((m.section_index, m.offset), at)),
            _ => None,
        };
        self.entries.iter().enumerate().filter_map(place).collect()
    }
}
