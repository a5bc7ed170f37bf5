//! The maps that belong to the kind of their first program, and the programs that refer to them.

use super::program::ProgramNeeds;
use core_relo::Name;
use core_relo_object::{
    MapIndex, ProgramIndex,
    link::{MapEntry, MapSource, ProgramLinker, RefTarget},
    map_owner::{CgroupStorages, has_owner},
    object::MapType,
};
use hashbrown::HashMap;

/// The maps of an object that have an owner in the kernel, with the programs that may own them.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnedMaps {
    /// The maps, in the object's order.
    pub(crate) maps: Vec<OwnedMap>,
    /// The maps that each program refers to, as positions in `maps`.
    by_program: HashMap<ProgramIndex, Vec<usize>>,
    /// The maps of cgroup storage, of the programs that refer to a map with an owner.
    storages: HashMap<ProgramIndex, CgroupStorages>,
}

/// A map that has an owner in the kernel.
#[derive(Clone, Debug)]
pub(crate) struct OwnedMap {
    pub(crate) index: MapIndex,
    pub(crate) name: String,
    pub(crate) map_type: MapType,
    /// The programs that refer to the map, in the order of a load. Dead code counts: the kernel collects the
    /// maps of a program before it follows any path (kernel: `resolve_pseudo_ldimm64`).
    pub(crate) users: Vec<ProgramIndex>,
}

impl OwnedMaps {
    /// Collects the maps and the programs that refer to them.
    pub(super) fn collect(linker: &ProgramLinker<'_, '_>, programs: &[ProgramNeeds]) -> Self {
        let entries = (0..).map(MapIndex).zip(linker.maps());
        let maps: Vec<_> = entries.filter_map(|(index, entry)| OwnedMap::new(index, entry)).collect();
        let mut owned = Self { maps, ..Self::default() };
        if !owned.maps.is_empty() {
            for program in programs {
                owned.add_program(linker, program);
            }
        }
        owned
    }

    /// Returns the cgroup storage of a program that refers to a map with an owner.
    #[expect(
        clippy::disallowed_methods,
        reason = "a program that refers to no cgroup storage is not in the table"
    )]
    pub(crate) fn storages(&self, program: ProgramIndex) -> CgroupStorages {
        self.storages.get(&program).copied().unwrap_or_default()
    }

    /// Returns the maps that a program refers to.
    pub(crate) fn maps_of(&self, program: ProgramIndex) -> impl Iterator<Item = &OwnedMap> {
        let positions = self.by_program.get(&program).into_iter().flatten();
        positions.filter_map(|position| self.maps.get(*position))
    }

    /// Returns the first program array that a program refers to.
    pub(crate) fn program_array_of(&self, program: ProgramIndex) -> Option<&OwnedMap> {
        self.maps_of(program).find(|map| map.map_type == MapType::ProgArray)
    }

    fn add_program(&mut self, linker: &ProgramLinker<'_, '_>, program: &ProgramNeeds) {
        let Ok(code) = &program.code else { return };
        let (mut is_user, mut storages) = (false, CgroupStorages::default());
        for (_, target) in &code.refs {
            let RefTarget::Map(map) = target else { continue };
            if let Ok(position) = self.maps.binary_search_by_key(map, |owned| owned.index) {
                is_user = true;
                let users = self.maps.get_mut(position).map(|owned| &mut owned.users);
                users.into_iter().filter(|users| users.last() != Some(&program.index)).for_each(|users| {
                    users.push(program.index);
                    self.by_program.entry(program.index).or_default().push(position);
                });
            }
            match linker.maps().get(map.0).and_then(map_type) {
                Some(MapType::CgroupStorage) => storages.shared = Some(*map),
                Some(MapType::PercpuCgroupStorage) => storages.per_cpu = Some(*map),
                _ => {}
            }
        }
        if is_user {
            self.storages.insert(program.index, storages);
        }
    }
}

impl OwnedMap {
    fn new(index: MapIndex, entry: &MapEntry<'_, '_>) -> Option<Self> {
        let map_type = map_type(entry).filter(|map_type| has_owner(*map_type))?;
        let name = core_relo::explain::text(Name::new(entry.name).shortened());
        Some(Self { index, name, map_type, users: Vec::new() })
    }
}

fn map_type(entry: &MapEntry<'_, '_>) -> Option<MapType> {
    match entry.source {
        MapSource::Defined(map) => map.def.as_ref().ok()?.known_type(),
        _ => None,
    }
}
