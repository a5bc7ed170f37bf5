//! The contents of maps that follow the choice of alternatives.

use super::{
    entry_lines::EntryName,
    error::VariantError,
    initial_program::{InitialProgram, MapPosition},
    object_variants::ObjectVariants,
    selection::Selection,
};
use core_relo_object::{
    ProgramIndex,
    link::ProgramLinker,
    load_plan::{Settings, SlotPlan},
    name_key,
    object::Object,
    shown_name,
};

/// Collects the programs that maps contain initially and that some selection does not load.
///
/// # Errors
///
/// * The contents of maps have an error, with which planning the load fails, too.
/// * The alternatives of a group have different numbers of programs, so that none stands for the program in
///   the map.
pub(super) fn collect_initial_programs(
    object: &Object<'_>,
    linker: &ProgramLinker<'_, '_>,
    variants: &ObjectVariants,
) -> Result<Vec<InitialProgram>, VariantError> {
    let mut found = Vec::new();
    let map_name =
        |index: core_relo_object::MapIndex| linker.maps().get(index.0).map(|map| name_key(map.name));
    let mut add = |map: Option<String>, position: MapPosition, program: ProgramIndex| {
        let program = object.programs().get(program.0).map(|program| name_key(program.name()));
        if let Some((map, program)) = map.zip(program)
            && variants.may_leave_out(&program)
        {
            found.push(InitialProgram { map, position, program });
        }
    };
    for element in linker.initial_elements()? {
        if let SlotPlan::Program(program) = element.slot {
            add(map_name(element.map), MapPosition::Key(element.key), program);
        }
    }
    if let Some(btf) = object.btf() {
        for (map, table) in linker.struct_ops_tables()? {
            for (member, program) in table.members(btf) {
                add(map_name(map), MapPosition::Member(name_key(member)), program);
            }
        }
    }
    found.iter().try_for_each(|initial| initial.check(variants))?;
    Ok(found)
}

impl InitialProgram {
    /// Checks that each alternative of the program's group has a program for this position.
    fn check(&self, variants: &ObjectVariants) -> Result<(), VariantError> {
        let Some((group, alternative)) = variants.position(&self.program) else { return Ok(()) };
        let Some(group) = variants.table().groups().get(group) else { return Ok(()) };
        let count = group.alternatives.get(alternative).map(|alternative| alternative.0.len());
        match group.alternatives.iter().find(|other| Some(other.0.len()) != count) {
            None => Ok(()),
            Some(other) => {
                let error = VariantError::InitialProgram {
                    map: shown_name(self.map.as_bytes()),
                    position: self.position.to_string().into(),
                    program: shown_name(self.program.as_bytes()),
                    group: shown_name(group.name.as_bytes()),
                    other: shown_name(other.to_string().as_bytes()),
                };
                Err(variants.table().lines.locate(&EntryName::Group(group.name.clone()), error))
            }
        }
    }

    /// Replaces the program in the settings of a load, if a selection does not load the program. The position
    /// then contains the program at the same place of the chosen alternative, or nothing. The caller's
    /// setting of the position decides first.
    pub(super) fn apply(&self, variants: &ObjectVariants, selection: &Selection, settings: &mut Settings) {
        let content = match self.content(variants, selection) {
            Content::Unchanged => return,
            Content::Program(program) => Some(program),
            Content::Empty => None,
        };
        let map = settings.map_mut(&self.map);
        match &self.position {
            MapPosition::Key(key) => drop(map.elements.entry(*key).or_insert(content)),
            MapPosition::Member(member) => drop(map.programs.entry(member.clone()).or_insert(content)),
        }
    }

    /// Returns the content of the position in a load of a selection.
    fn content(&self, variants: &ObjectVariants, selection: &Selection) -> Content {
        let Some((group, alternative)) = variants.position(&self.program) else {
            let is_left_out = selection.left_out_programs.contains(&self.program);
            return if is_left_out { Content::Empty } else { Content::Unchanged };
        };
        let programs = |alternative: usize| {
            let alternatives = &variants.table().groups().get(group)?.alternatives;
            alternatives.get(alternative).map(|alternative| &alternative.0)
        };
        let chosen = selection.alternatives.get(group).copied().flatten();
        if chosen == Some(alternative) {
            return Content::Unchanged;
        }
        let place =
            programs(alternative).and_then(|own| own.iter().position(|program| *program == self.program));
        let program = place.and_then(|place| programs(chosen?)?.get(place).cloned());
        program.map_or(Content::Empty, Content::Program)
    }
}

/// The content of a position in a load.
enum Content {
    /// The program of the object.
    Unchanged,
    /// Another program, by name.
    Program(String),
    /// No program.
    Empty,
}
