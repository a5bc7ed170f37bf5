//! A choice of alternatives, and what it loads.

use super::{
    object_variants::ObjectVariants,
    part::{Part, PartKind},
    table::Alternative,
};
use alloc::collections::BTreeSet;
use core_relo_object::load_plan::Settings;

/// The alternatives, programs and maps of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers choose each part")]
pub struct Selection {
    /// The alternative of each group, by index; `None` loads none of its programs.
    pub alternatives: Vec<Option<usize>>,
    /// The programs that belong to no group and are not loaded.
    pub left_out_programs: BTreeSet<String>,
    /// The maps that are not created.
    pub left_out_maps: BTreeSet<String>,
}

impl ObjectVariants {
    /// Returns the first alternative of each group, and every optional part.
    pub fn first_selection(&self) -> Selection {
        Selection { alternatives: vec![Some(0); self.table().groups().len()], ..Selection::default() }
    }

    /// Returns whether a selection loads a program. `settings` are those of the caller.
    pub fn loads(&self, program: &str, selection: &Selection, settings: &Settings) -> bool {
        if let Some((group, alternative)) = self.position(program) {
            return selection.alternatives.get(group).copied().flatten() == Some(alternative);
        }
        let by_default = self.programs.get(program).copied().unwrap_or(false);
        let autoload = settings.programs.get(program).and_then(|program| program.autoload);
        !selection.left_out_programs.contains(program) && autoload.unwrap_or(by_default)
    }

    /// Returns the maps that a selection does not create: those that it leaves out, and those that only
    /// programs use which are not loaded, and are alternatives or optional. The caller's `autocreate` of a
    /// map decides first.
    pub fn uncreated_maps(&self, selection: &Selection, settings: &Settings) -> BTreeSet<String> {
        let mut loaded = BTreeSet::new();
        let mut used_by_others = BTreeSet::new();
        for (program, maps) in &self.maps_of {
            if self.loads(program, selection, settings) {
                loaded.extend(maps);
            } else if self.position(program).is_some() || self.is_program_optional(program) {
                used_by_others.extend(maps);
            } else {
                // The caller left the program out, which does not concern the maps.
                loaded.extend(maps);
            }
        }
        let is_free = |map: &&&String| !loaded.contains(*map) && !self.held_maps.contains(**map);
        let unused = used_by_others.iter().filter(is_free).map(|map| (*map).clone());
        let is_undecided = |map: &String| settings.maps.get(map).and_then(|map| map.autocreate) != Some(true);
        unused.filter(is_undecided).chain(selection.left_out_maps.iter().cloned()).collect()
    }

    /// Returns the maps that some selection does not create: optional maps, and those that only alternatives
    /// and optional programs use. A map that each alternative of a required group uses is always created.
    pub fn maps_of_some_selections(&self) -> BTreeSet<String> {
        let nothing = Selection {
            alternatives: vec![None; self.table().groups().len()],
            left_out_programs: self.optional_programs.clone(),
            left_out_maps: self.optional_maps.clone(),
        };
        let mut maps = self.uncreated_maps(&nothing, &Settings::default());
        for (index, group) in self.table().groups().iter().enumerate() {
            if self.is_group_optional(index) {
                continue;
            }
            let uses =
                |alternative: &Alternative, map: &str| alternative.0.iter().any(|p| self.uses_map(p, map));
            maps.retain(|map| {
                self.is_map_optional(map)
                    || !group.alternatives.iter().all(|alternative| uses(alternative, map))
            });
        }
        maps
    }

    /// Returns whether a group, program or map is part of a load. `uncreated` are the [maps that are not
    /// created](Self::uncreated_maps).
    pub fn is_part_loaded(
        &self,
        part: &Part,
        selection: &Selection,
        uncreated: &BTreeSet<String>,
        settings: &Settings,
    ) -> bool {
        match part.kind {
            Some(PartKind::Group) => {
                let group = self.group_index(&part.name);
                group.and_then(|group| *selection.alternatives.get(group)?).is_some()
            }
            Some(PartKind::Program) => self.loads(&part.name, selection, settings),
            Some(PartKind::Map) => {
                let autocreate = settings.maps.get(&part.name).and_then(|map| map.autocreate);
                autocreate != Some(false) && !uncreated.contains(&part.name)
            }
            // `VariantTable::fit` resolves the kind of each part, which is none of a constant.
            Some(PartKind::Constant) | None => false,
        }
    }
}
