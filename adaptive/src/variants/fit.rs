//! A variant table that fits an object.

use super::{
    entry_lines::EntryName,
    error::VariantError,
    initial_contents::collect_initial_programs,
    object_variants::{ObjectConstant, ObjectVariants, VariantGlobal},
    part::{Part, PartKind},
    table::{Indicator, KernelConstant, VariantGroup, VariantTable},
};
use alloc::collections::{BTreeMap, BTreeSet};
use core_relo::explain::nearest_names;
use core_relo_object::{
    ProgramIndex,
    link::{MapSource, ProgramLinker, RefTarget},
    load_plan::{InitialValues, LoadPlanError, SlotPlan},
    name_key,
    object::Object,
    shown_name,
};
use hashbrown::{HashMap, HashSet};

/// The kinds of parts that can be loaded.
const LOADED_KINDS: [PartKind; 3] = [PartKind::Group, PartKind::Program, PartKind::Map];

/// The kinds of parts that can be optional.
const OPTIONAL_KINDS: [PartKind; 4] = [PartKind::Group, PartKind::Program, PartKind::Map, PartKind::Constant];

impl VariantTable {
    /// Checks the table against an object: every name is one of the object's, and each constant can take its
    /// value.
    pub fn fit(&self, object: &Object<'_>) -> Result<ObjectVariants, VariantError> {
        let linker = ProgramLinker::collect(object)?;
        let names = ObjectNames::collect(object, &linker, self);
        let values = InitialValues::new(object);
        for group in self.groups() {
            let entry = || format!("group `{}`", group.name);
            for program in group.alternatives.iter().flat_map(|alternative| &alternative.0) {
                let checked = names.check(&entry, PartKind::Program, program);
                checked.map_err(|e| self.lines.locate(&EntryName::Group(group.name.clone()), e))?;
            }
        }
        let (maps_of, data_maps_of) = collect_maps(object, &linker);
        let mut fit = ObjectVariants {
            optional_groups: vec![false; self.groups().len()],
            optional_programs: BTreeSet::new(),
            optional_maps: BTreeSet::new(),
            indicators: Vec::new(),
            constants: Vec::new(),
            maps_of,
            data_maps_of,
            held_maps: collect_held_maps(&linker)?,
            initial_programs: Vec::new(),
            programs: names.programs.clone(),
            table: self.clone(),
            positions: positions(self),
            group_indices: self.groups().iter().map(|group| group.name.clone()).zip(0..).collect(),
        };
        let mut optional_constants = HashSet::new();
        for part in self.optional_parts() {
            let resolved = names.resolve(&|| "optional".to_owned(), part, &OPTIONAL_KINDS);
            match resolved.map_err(|e| self.lines.locate(&EntryName::Optional(part.clone()), e))? {
                (PartKind::Map, name) => drop(fit.optional_maps.insert(name)),
                (PartKind::Group, name) => fit.make_group_optional(fit.group_index(&name)),
                // An optional alternative makes its group optional.
                (PartKind::Program, name) => match fit.position(&name) {
                    Some((group, _)) => fit.make_group_optional(Some(group)),
                    None => drop(fit.optional_programs.insert(name)),
                },
                (PartKind::Constant, name) => drop(optional_constants.insert(name)),
            }
        }
        let locate = |global: &str, e| self.lines.locate(&EntryName::Global(global.to_owned()), e);
        for Indicator { global: name, part } in self.indicators() {
            let global = VariantGlobal::find(object, &values, name).map_err(|e| locate(name, e))?;
            let entry = || format!("global `{name}`");
            let resolved = names.resolve(&entry, part, &LOADED_KINDS);
            let (kind, part_name) = resolved.map_err(|e| locate(name, e))?;
            fit.indicators.push((global, Part { kind: Some(kind), name: part_name }));
        }
        for KernelConstant { global: name, value } in self.constants() {
            let global = VariantGlobal::find(object, &values, name).map_err(|e| locate(name, e))?;
            let is_optional = optional_constants.contains(name);
            fit.constants.push(ObjectConstant { global, value: value.clone(), is_optional });
        }
        fit.initial_programs = collect_initial_programs(object, &linker, &fit)?;
        Ok(fit)
    }
}

/// The names of an object that tables refer to.
struct ObjectNames {
    groups: BTreeSet<String>,
    programs: BTreeMap<String, bool>,
    maps: BTreeSet<String>,
    constants: BTreeSet<String>,
}

impl ObjectNames {
    fn collect(object: &Object<'_>, linker: &ProgramLinker<'_, '_>, table: &VariantTable) -> Self {
        let programs = object.programs().iter().filter(|program| !program.is_subprogram);
        let maps = linker.maps().iter().filter(|map| matches!(map.source, MapSource::Defined(_)));
        Self {
            groups: table.groups().iter().map(|group| group.name.clone()).collect(),
            programs: programs.map(|program| (name_key(program.name()), program.autoload())).collect(),
            maps: maps.map(|map| name_key(map.name)).collect(),
            constants: table.constants().iter().map(|constant| constant.global.clone()).collect(),
        }
    }

    fn contains(&self, kind: PartKind, name: &str) -> bool {
        match kind {
            PartKind::Group => self.groups.contains(name),
            PartKind::Program => self.programs.contains_key(name),
            PartKind::Map => self.maps.contains(name),
            PartKind::Constant => self.constants.contains(name),
        }
    }

    fn check(&self, entry: &dyn Fn() -> String, kind: PartKind, name: &str) -> Result<(), VariantError> {
        if self.contains(kind, name) {
            Ok(())
        } else {
            Err(self.unknown(&entry(), kind.word(), name, &[kind]))
        }
    }

    /// Returns the kind and the name of a part, which is one of `kinds`.
    fn resolve(
        &self,
        entry: &dyn Fn() -> String,
        part: &Part,
        kinds: &[PartKind],
    ) -> Result<(PartKind, String), VariantError> {
        let name = &part.name;
        if let Some(kind) = part.kind.filter(|kind| kinds.contains(kind)) {
            return self.check(entry, kind, name).map(|()| (kind, name.clone()));
        }
        let mut found =
            kinds.iter().copied().filter(|kind| part.kind.is_none() && self.contains(*kind, name));
        match (found.next(), found.next()) {
            (Some(kind), None) => Ok((kind, name.clone())),
            (Some(first), Some(second)) => Err(VariantError::Ambiguous {
                entry: shown_name(entry().as_bytes()),
                name: shown_name(name.as_bytes()),
                kinds: [first.word(), second.word()],
            }),
            (None, _) if kinds.contains(&PartKind::Constant) => {
                Err(self.unknown(&entry(), "group, program, map or constant", &part.to_string(), kinds))
            }
            (None, _) => Err(self.unknown(&entry(), "group, program or map", &part.to_string(), kinds)),
        }
    }

    fn unknown(&self, entry: &str, kind: &'static str, name: &str, kinds: &[PartKind]) -> VariantError {
        let mut known: Vec<&[u8]> = Vec::new();
        for kind in kinds {
            match kind {
                PartKind::Group => known.extend(self.groups.iter().map(String::as_bytes)),
                PartKind::Program => known.extend(self.programs.keys().map(String::as_bytes)),
                PartKind::Map => known.extend(self.maps.iter().map(String::as_bytes)),
                PartKind::Constant => known.extend(self.constants.iter().map(String::as_bytes)),
            }
        }
        let near = nearest_names(name.as_bytes(), known)
            .into_iter()
            .map(|near| shown_name(near.as_bytes()))
            .collect();
        VariantError::Unknown {
            entry: shown_name(entry.as_bytes()),
            kind,
            name: shown_name(name.as_bytes()),
            near,
        }
    }
}

/// Returns the group and the alternative of each program of a table, by their indices.
fn positions(table: &VariantTable) -> HashMap<String, (usize, usize)> {
    let mut positions = HashMap::new();
    for (group, VariantGroup { alternatives, .. }) in table.groups().iter().enumerate() {
        for (index, alternative) in alternatives.iter().enumerate() {
            positions.extend(alternative.0.iter().map(|program| (program.clone(), (group, index))));
        }
    }
    positions
}

/// The maps of each program.
type MapsOfPrograms = BTreeMap<String, BTreeSet<String>>;

/// Returns the maps that each program uses, and the data maps. A program that cannot be linked uses none;
/// planning the load reports the error.
fn collect_maps(object: &Object<'_>, linker: &ProgramLinker<'_, '_>) -> (MapsOfPrograms, MapsOfPrograms) {
    let code: Vec<_> = object.code_sections().iter().map(|section| section.code).collect();
    let (mut maps_of, mut data_maps_of) = (MapsOfPrograms::new(), MapsOfPrograms::new());
    for (index, program) in ProgramIndex::enumerate(object.programs()) {
        if program.is_subprogram {
            continue;
        }
        #[expect(clippy::disallowed_methods, reason = "planning the load reports the error")]
        let linked = linker.link(&code, index).map(|linked| linked.refs).unwrap_or_default();
        let (mut maps, mut data_maps) = (BTreeSet::new(), BTreeSet::new());
        for (_, target) in &linked {
            let (map, uses) = match target {
                RefTarget::Map(map) => (map, &mut maps),
                RefTarget::Data { map, .. } => (map, &mut data_maps),
                _ => continue,
            };
            uses.extend(linker.maps().get(map.0).map(|map| name_key(map.name)));
        }
        maps_of.insert(name_key(program.name()), maps);
        data_maps_of.insert(name_key(program.name()), data_maps);
    }
    (maps_of, data_maps_of)
}

/// Returns the maps that other maps hold initially.
fn collect_held_maps(linker: &ProgramLinker<'_, '_>) -> Result<BTreeSet<String>, LoadPlanError> {
    let held = linker.initial_elements()?.into_iter().filter_map(|element| match element.slot {
        SlotPlan::Map(map) => linker.maps().get(map.0).map(|map| name_key(map.name)),
        _ => None,
    });
    Ok(held.collect())
}
