//! The requirements of an object.

use super::{
    access_lines::AccessLines,
    array_program::ArrayProgram,
    btf::ObjectBtf,
    extern_need::ExternNeed,
    mapped_sections::mapped_sections,
    maps::MapNeed,
    need::NeedTable,
    object_parts::ObjectParts,
    owned_maps::OwnedMaps,
    parameter_tags::ParameterTags,
    program::ProgramNeeds,
    rule_uses::{RuleUse, find_rule_uses, find_unloaded_values},
    used_map::UsedMap,
};
use crate::loaders::{LoaderKind, LoaderRule};
use crate::reach::AnalysisCache;
use alloc::{borrow::Cow, collections::BTreeMap};
use core_relo::{Name, Plan, Relocs};
use core_relo_object::{
    InternalError, MapIndex, ProgramIndex,
    link::{ExternBinding, HeldPrograms, LinkError, MapEntry, MapSource, ProgramLinker},
    load_plan::{
        LoadPlanError, MapSettings, PlanByLoad, ProgramSettings, Settings, SlotPlan, StructOpsTable,
        TokenSource, accepted_object_name,
    },
    object::{DataKind, NullPointers, Object, Program},
};
use std::{
    collections::{HashMap, HashSet},
    sync::OnceLock,
};

/// The requirements of an object.
#[derive(Debug)]
#[non_exhaustive]
pub struct ObjectNeeds<'o, 'd> {
    /// The object.
    pub object: &'o Object<'d>,
    /// The linker of the object's programs.
    pub linker: ProgramLinker<'o, 'd>,
    /// The maps that a load creates.
    pub maps: Vec<MapNeed>,
    /// The externs, in the linker's order.
    pub externs: Vec<ExternNeed>,
    /// The programs that program arrays hold initially, by map and key.
    pub array_programs: Vec<ArrayProgram>,
    /// The maps that belong to the kind of their first program, and the programs that refer to them.
    pub(crate) owned_maps: OwnedMaps,
    /// The programs of struct_ops maps, sorted.
    pub struct_ops_programs: Vec<StructOpsProgram>,
    /// The loader that opens the object.
    pub loader: LoaderKind,
    /// The parts of the object to which rules apply that some loaders have and others do not.
    pub rule_uses: Vec<RuleUse>,
    /// The reason why libbpf would not open the object, if the initial contents of a map are wrong.
    pub contents_error: Option<LoadPlanError>,
    /// The pointers in data sections that no loader sets.
    pub(crate) null_pointers: NullPointers,
    /// The names of maps that the kernel refuses, and libbpf does not change.
    pub(crate) refused_names: Vec<String>,
    /// The programs. Subprograms belong to the programs that call them.
    pub programs: Vec<ProgramNeeds>,
    /// The object's BTF as a loader sends it.
    pub(crate) btf: ObjectBtf,
    /// The analyses of the programs' instructions.
    pub(crate) analyses: AnalysisCache,
    /// The source lines of the accesses of records.
    pub(crate) access_lines: AccessLines,
    /// The data of data maps that user space sets before the load, in place of the object's.
    pub(crate) data: HashMap<MapIndex, Vec<u8>>,
    /// The maps that user space does not create.
    pub(crate) left_out_maps: HashSet<MapIndex>,
    /// Whether these are the requirements of a load with known settings: the programs of the load are judged
    /// as loaded together.
    pub(crate) is_load: bool,
    /// Whether the kernel may lack a strong extern that no loaded program uses.
    pub(crate) allows_unused_externs: bool,
    /// The only program of a load, if the caller asks for one program.
    alone: OnceLock<ProgramIndex>,
    /// The programs of members of struct_ops maps that user space replaces, by map and member.
    pub(crate) struct_ops_members: HashMap<MapIndex, HashMap<String, Option<String>>>,
}

/// A program of a struct_ops map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct StructOpsProgram {
    /// The program.
    pub program: ProgramIndex,
    /// Whether a load creates the map by default, and with it loads all programs of the map.
    pub is_created: bool,
}

impl<'o, 'd> ObjectNeeds<'o, 'd> {
    /// Collects the requirements of an object that libbpf loads. An object without BTF has no `relocs`. Fails
    /// if no loader opens the object.
    pub fn collect<'r>(
        object: &'o Object<'d>,
        relocs: impl Into<Option<&'r Relocs<'r>>>,
        table: &mut NeedTable,
    ) -> Result<Self, LinkError> {
        Self::collect_for(LoaderKind::Libbpf, object, relocs, table)
    }

    /// Collects the requirements of an object, as [`collect`](Self::collect) does, for a loader.
    pub fn collect_for<'r>(
        loader: LoaderKind,
        object: &'o Object<'d>,
        relocs: impl Into<Option<&'r Relocs<'r>>>,
        table: &mut NeedTable,
    ) -> Result<Self, LinkError> {
        let relocs = relocs.into();
        let linker = ProgramLinker::collect(object)?;
        let externs: Vec<_> = linker.externs().iter().map(|entry| ExternNeed::new(entry, table)).collect();
        let struct_ops = |ty| Some(object.btf()?.ty(ty)?.name().as_bytes());
        let maps = (0..).map(MapIndex).zip(linker.maps()).filter_map(|(index, entry)| {
            let name = match entry.source {
                MapSource::StructOps(map) => struct_ops(map.ty),
                _ => None,
            };
            let name = name.map(|name| Name::new(name).essential().as_bytes());
            MapNeed::new((index, entry), object.btf(), name, table)
        });
        let maps = maps.collect();
        let records = relocs.map_or_else(Vec::new, |relocs| records_by_function(object, relocs));
        let sections: Vec<_> = object.code_sections().iter().map(|section| section.code).collect();
        let programs =
            (0..).map(ProgramIndex).zip(object.programs()).filter(|(_, program)| !program.is_subprogram);
        let license = loader.license(object);
        let used_maps = UsedMap::collect(&linker, &Settings::default());
        let tags = ParameterTags::default();
        let parts = ObjectParts {
            sections: &sections,
            linker: &linker,
            license,
            externs: &externs,
            maps: &used_maps,
            tags: &tags,
        };
        let mut programs: Vec<_> = programs
            .map(|(index, program)| {
                let known = known_program(loader, program);
                let mut needs = ProgramNeeds::collect(parts, index, &known, &records, table);
                needs.autoload = program.autoload() || loader.loads_optional_programs();
                needs
            })
            .collect();
        set_struct_ops_members(&linker, &mut programs, table);
        let owned_maps = OwnedMaps::collect(&linker, &programs);
        let mut rule_uses = find_rule_uses(&linker, relocs, &programs, &mapped_sections(&linker, &used_maps));
        let mut contents_error = None;
        let settings = Settings::default();
        let array_programs = array_programs(&linker, &settings).unwrap_or_else(|error| {
            contents_error = Some(error);
            Vec::new()
        });
        rule_uses.extend(find_unloaded_values(&linker, &array_programs, &programs));
        let struct_ops_programs = struct_ops_programs(&linker, &settings).unwrap_or_else(|error| {
            contents_error = Some(error);
            Vec::new()
        });
        let contents_error = contents_error.or_else(|| linker.check_plan().err());
        let refused_names = refused_names(&linker);
        Ok(Self {
            object,
            btf: ObjectBtf::new(&linker, loader.btf_policy()),
            analyses: AnalysisCache::default(),
            access_lines: AccessLines::default(),
            linker,
            maps,
            externs,
            array_programs,
            owned_maps,
            struct_ops_programs,
            loader,
            rule_uses,
            contents_error,
            refused_names,
            null_pointers: object.null_pointers(),
            programs,
            data: HashMap::new(),
            left_out_maps: HashSet::new(),
            is_load: false,
            allows_unused_externs: false,
            alone: OnceLock::new(),
            struct_ops_members: HashMap::new(),
        })
    }
}

impl ObjectNeeds<'_, '_> {
    /// Applies settings of user space: types and targets of programs, programs that are loaded, sizes and
    /// contents of maps, inner maps, maps that are not created, programs in program arrays and struct_ops
    /// maps.
    ///
    /// Each program is still judged alone, unless [`judge_as_load`](Self::judge_as_load) is called.
    pub fn apply_settings(&mut self, settings: &Settings, table: &mut NeedTable) {
        // The settings change data that analyses read.
        self.analyses = AnalysisCache::default();
        // The caller may set the type of the program, or leave out the map that refers to it.
        if matches!(self.contents_error, Some(LoadPlanError::Program { .. })) {
            let sets_type = settings.programs.values().any(ProgramSettings::has_type);
            let is_changed = |map: &MapSettings| map.autocreate.is_some() || !map.programs.is_empty();
            if sets_type || settings.maps.values().any(is_changed) {
                self.contents_error = None;
            }
        }
        self.allows_unused_externs = settings.allows_unused_externs;
        for (needed, entry) in self.externs.iter_mut().zip(self.linker.externs()) {
            if settings.ksyms.is_empty() || entry.binding != ExternBinding::Address {
                continue;
            }
            needed.chosen = settings.ksyms.get(&*String::from_utf8_lossy(entry.name)).cloned();
        }
        // Whether there is a token to find is known at the load alone.
        let has_token = matches!(settings.token, TokenSource::Path(_));
        self.maps.iter_mut().for_each(|needs| needs.has_token = has_token);
        for needs in self.maps.iter_mut().filter(|_| !settings.maps.is_empty()) {
            let (own, inner) = (settings.maps.get(&needs.name), settings.inner_map(&needs.name));
            if own.is_some() || inner.is_some() {
                needs.apply_settings(own, inner, self.object.btf(), table);
            }
        }
        self.rule_uses.retain_mut(|found| {
            let depends_on_variables = !found.variables.is_empty();
            found.variables.retain(|variable| !settings.maps.contains_key(&variable.map));
            !depends_on_variables || !found.variables.is_empty()
        });
        for (name, map) in &settings.maps {
            if let Some(data) = &map.data {
                self.set_data(name, data.clone());
            }
            if map.autocreate == Some(false) {
                // A program that may use the map is refused.
                self.left_out_maps.extend(self.map_index(name));
                self.maps.retain(|known| known.name != *name);
            }
        }
        let (object, loader) = (self.object, self.loader);
        let is_needed =
            !settings.maps.is_empty() || settings.programs.values().any(ProgramSettings::has_type);
        let used_maps = if is_needed { UsedMap::collect(&self.linker, settings) } else { Vec::new() };
        let changes_uses = is_needed && used_maps != UsedMap::collect(&self.linker, &Settings::default());
        let tags = ParameterTags::default();
        let parts = ObjectParts {
            sections: &[],
            linker: &self.linker,
            license: loader.license(object),
            externs: &self.externs,
            maps: &used_maps,
            tags: &tags,
        };
        for needs in self.programs.iter_mut().filter(|_| changes_uses || !settings.programs.is_empty()) {
            if changes_uses {
                needs.collect_uses(parts, table);
            }
            let Some(own) = settings.programs.get(&needs.name) else { continue };
            needs.autoload = own.autoload.unwrap_or(needs.autoload);
            needs.is_device_bound = own.ifindex != 0;
            if let Some(program) = object.programs().get(needs.index.0).filter(|_| own.has_type()) {
                let known = known_program(loader, program);
                needs.set_type(parts, &known, own, table);
            }
            // The caller attaches it, perhaps elsewhere, or as another type.
            if own.autoattach == Some(false) || own.program_type.is_some() {
                needs.attaches_by = None;
            }
        }
        self.apply_initial_programs(settings);
    }

    /// Makes the judge take the programs that are loaded for those of one load: they are judged as loaded
    /// together, the others alone.
    pub const fn judge_as_load(&mut self) {
        self.is_load = true;
    }

    /// Applies the caller's programs in program arrays and struct_ops maps.
    fn apply_initial_programs(&mut self, settings: &Settings) {
        for (name, map) in settings.maps.iter().filter(|(_, map)| !map.programs.is_empty()) {
            if let Some(index) = self.map_index(name) {
                self.struct_ops_members.insert(index, map.programs.clone());
                // The caller moves programs to other members.
                for program in &mut self.programs {
                    program.forget_struct_ops_member();
                }
            }
        }
        let replaced = array_programs(&self.linker, settings)
            .and_then(|arrays| Ok((arrays, struct_ops_programs(&self.linker, settings)?)));
        match replaced {
            Ok((arrays, struct_ops)) => {
                (self.array_programs, self.struct_ops_programs) = (arrays, struct_ops);
            }
            Err(error) => self.contents_error = Some(error),
        }
        self.rule_uses.retain(|found| found.rule != LoaderRule::UnloadedValue);
        self.rule_uses.extend(find_unloaded_values(&self.linker, &self.array_programs, &self.programs));
    }

    /// Records that user space sets the data of a data map, such as `.rodata`, before the load.
    pub fn set_data(&mut self, map: &str, data: Vec<u8>) {
        if let Some(index) = self.map_index(map) {
            self.data.insert(index, data);
        }
    }

    /// Records that a load has a single program, whose relocations alone eliminate candidates. Only the first
    /// call counts. Without a program of the name, nothing changes.
    pub fn relocate_alone(&self, name: &str) {
        if let Some(program) = self.programs.iter().find(|program| program.name == name) {
            self.alone.get_or_init(|| program.index);
        }
    }

    /// Returns the requirements of a program.
    pub(crate) fn program(&self, index: ProgramIndex) -> Option<&ProgramNeeds> {
        let position = self.programs.binary_search_by_key(&index, |program| program.index).ok()?;
        self.programs.get(position)
    }

    /// Returns the plan by load: that of the default load or of a load with known settings, and that of each
    /// other program by itself. `plan` has all relocations of the object.
    pub fn plan_by_load<'c, 'p>(&self, plan: Cow<'c, Plan<'p>>) -> Result<PlanByLoad<'c, 'p>, InternalError> {
        if !plan.depends_on_selection() {
            return Ok(PlanByLoad::undivided(plan));
        }
        let held = self.held_programs();
        PlanByLoad::new(plan, &self.linker, &self.selected_functions(), &held)
    }

    /// Returns the programs of the default load, or of a load with the applied settings. Those that program
    /// arrays of the load hold are among them, and those that struct_ops maps of the load use, also if a
    /// setting leaves them out.
    pub fn programs_of_load(&self) -> Result<Vec<ProgramIndex>, InternalError> {
        let mut loaded = self.selected_functions();
        self.linker.add_held_programs(&mut loaded, self.held_programs())?;
        Ok((0..)
            .map(ProgramIndex)
            .zip(loaded)
            .filter(|(_, is_loaded)| *is_loaded)
            .map(|(index, _)| index)
            .collect())
    }

    fn held_programs(&self) -> HeldPrograms {
        let mut held = HeldPrograms::new();
        for element in &self.array_programs {
            held.entry(element.map_index).or_default().push(element.program);
        }
        held
    }

    /// Returns, for each function of the object, whether a load selects the function as a program: by default
    /// or by its settings, or with its `struct_ops` map.
    fn selected_functions(&self) -> Vec<bool> {
        let mut selected = vec![false; self.object.programs().len()];
        for program in &self.programs {
            let table = self.struct_ops_programs.binary_search_by_key(&program.index, |known| known.program);
            let table = table.ok().and_then(|position| self.struct_ops_programs.get(position));
            let is_selected = match self.alone.get() {
                Some(alone) => *alone == program.index,
                None => table.map_or(program.autoload, |table| table.is_created),
            };
            selected.get_mut(program.index.0).into_iter().for_each(|slot| *slot = is_selected);
        }
        selected
    }

    pub(crate) fn map_index(&self, map: &str) -> Option<MapIndex> {
        self.linker.maps().iter().position(|entry| entry.name == map.as_bytes()).map(MapIndex)
    }
}

/// Returns a program as libbpf would know it, if only the loader knows the name of its section.
fn known_program<'d>(loader: LoaderKind, program: &Program<'d>) -> Program<'d> {
    let mut known = *program;
    if let Some(section) = loader.canonical_section(program.section_name()) {
        known.section = section;
    }
    known
}

/// Returns the names of maps that the kernel refuses. libbpf changes those of data maps.
fn refused_names(linker: &ProgramLinker<'_, '_>) -> Vec<String> {
    let is_created = |entry: &MapEntry<'_, '_>| match entry.source {
        MapSource::Defined(_) => true,
        MapSource::StructOps(map) => !matches!(map.section.kind, DataKind::StructOps { optional: true, .. }),
        _ => false,
    };
    let refused =
        linker.maps().iter().filter(|entry| is_created(entry) && accepted_object_name(entry.name).is_some());
    refused.map(|entry| core_relo::explain::text(Name::new(entry.name).shortened())).collect()
}

/// Returns the programs that program arrays hold initially, each once for each map. Arrays that are not
/// created hold none.
fn array_programs(
    linker: &ProgramLinker<'_, '_>,
    settings: &Settings,
) -> Result<Vec<ArrayProgram>, LoadPlanError> {
    let mut elements = BTreeMap::new();
    for element in linker.initial_elements()? {
        if let SlotPlan::Program(program) = element.slot {
            elements.insert((element.map, element.key), program);
        }
    }
    for (index, entry) in (0..).map(MapIndex).zip(linker.maps()) {
        let Some(map) = settings.maps.get(&*String::from_utf8_lossy(entry.name)) else { continue };
        for (key, program) in &map.elements {
            match program {
                Some(name) => drop(elements.insert((index, *key), find_program(linker, entry.name, name)?)),
                None => drop(elements.remove(&(index, *key))),
            }
        }
        if map.autocreate == Some(false) {
            elements.retain(|(array, _), _| *array != index);
        }
    }
    let mut known = HashSet::new();
    let programs = elements.into_iter().map(|((map, _), program)| (map, program));
    let programs = programs.filter(|element| known.insert(*element));
    let name = |map: MapIndex| linker.maps().get(map.0).map(|entry| Name::new(entry.name).shortened());
    let programs = programs.filter_map(|(map_index, program)| {
        let map = core_relo::explain::text(name(map_index)?);
        Some(ArrayProgram { map, map_index, program })
    });
    Ok(programs.collect())
}

/// Finds a program that the settings name for an element of a map.
fn find_program(
    linker: &ProgramLinker<'_, '_>,
    map: &[u8],
    name: &str,
) -> Result<ProgramIndex, LoadPlanError> {
    let is_match = |p: &Program<'_>| p.name() == name.as_bytes() && !p.is_subprogram;
    let index = linker.object().programs().iter().position(is_match);
    index.map(ProgramIndex).ok_or_else(|| LoadPlanError::Map {
        map: core_relo::explain::text(Name::new(map).shortened()).into(),
        what: format!("the object has no program `{name}`").into(),
    })
}

/// Sets the members of struct_ops maps that programs are loaded for. Programs of several different members
/// keep none.
fn set_struct_ops_members(
    linker: &ProgramLinker<'_, '_>,
    programs: &mut [ProgramNeeds],
    table: &mut NeedTable,
) {
    let Some(btf) = linker.object().btf() else { return };
    // An error is one of the object's contents.
    let Ok(tables) = linker.struct_ops_tables() else { return };
    let mut members = Vec::new();
    for (map, known) in &tables {
        let Some(MapSource::StructOps(map)) = linker.maps().get(map.0).map(|entry| entry.source) else {
            continue;
        };
        let name = btf.ty(map.ty).map(|ty| ty.name().essential().as_bytes());
        let text = |bytes| core::str::from_utf8(bytes).ok();
        let Some(name) = name.and_then(text) else { continue };
        let known = known.members(btf).filter_map(|(member, program)| Some((program, name, text(member)?)));
        members.extend(known);
    }
    members.sort();
    members.dedup();
    for program in programs {
        let first = members.partition_point(|(index, ..)| *index < program.index);
        let mut own = members.iter().skip(first).take_while(|(index, ..)| *index == program.index);
        if let (Some((_, name, member)), None) = (own.next(), own.next()) {
            program.set_struct_ops_member(name, member, table);
        }
    }
}

/// Returns the programs of struct_ops maps. A map that is created decides on its programs.
fn struct_ops_programs(
    linker: &ProgramLinker<'_, '_>,
    settings: &Settings,
) -> Result<Vec<StructOpsProgram>, LoadPlanError> {
    let mut programs = Vec::new();
    for (map, mut table) in linker.struct_ops_tables()? {
        let Some(entry) = linker.maps().get(map.0) else { continue };
        let mut is_created = match entry.source {
            MapSource::StructOps(map) => {
                !matches!(map.section.kind, DataKind::StructOps { optional: true, .. })
            }
            _ => false,
        };
        if let Some(settings) = settings.maps.get(&*String::from_utf8_lossy(entry.name)) {
            is_created = settings.autocreate.unwrap_or(is_created);
            replace_members(linker.object(), &mut table, &settings.programs)?;
        }
        programs.extend(table.programs().map(|program| StructOpsProgram { program, is_created }));
    }
    programs.sort_by_key(|program| (program.program, !program.is_created));
    programs.dedup_by_key(|program| program.program);
    Ok(programs)
}

/// Replaces the programs of members of a struct_ops table by those of the caller.
pub(crate) fn replace_members(
    object: &Object<'_>,
    table: &mut StructOpsTable<'_>,
    members: &HashMap<String, Option<String>>,
) -> Result<(), LoadPlanError> {
    let Some(btf) = object.btf() else { return Ok(()) };
    members.iter().try_for_each(|(member, program)| {
        table.replace_program(btf, object, member, program.as_deref()).map(drop)
    })
}

/// Returns the function, the instruction in the section and the index of each record, sorted.
fn records_by_function(object: &Object<'_>, relocs: &Relocs<'_>) -> Vec<(ProgramIndex, u32, usize)> {
    let mut records = Vec::new();
    for (index, record) in relocs.records().iter().enumerate() {
        let Some(insn) = record.insn else { continue };
        let Some((section, function)) = record.function_position() else { continue };
        let Some(section) = object.code_indices().get(section) else { continue };
        // The functions of a section are in the order of the object's functions.
        let first = object.programs().partition_point(|p| p.section_index < *section);
        let function = first.checked_add(function).map(ProgramIndex);
        records.extend(function.map(|function| (function, insn.0, index)));
    }
    records.sort();
    records
}
