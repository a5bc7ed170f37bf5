//! The requirements of an object.

use super::{
    maps::{MapInput, MapNeed},
    need::{Need, NeedId, NeedTable},
    program::ProgramNeeds,
};
use core_relo::{Name, Relocs};
use core_relo_object::{
    MapIndex, ProgramIndex,
    link::{ExternBinding, ExternEntry, LinkError, MapSource, ProgramLinker},
    load_plan::{LoadPlanError, Settings, SlotPlan},
    object::{DataKind, Object},
};
use std::collections::{HashMap, HashSet};

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
    /// The programs that program arrays hold initially.
    pub array_programs: Vec<ArrayProgram>,
    /// The programs of struct_ops maps, sorted.
    pub struct_ops_programs: Vec<StructOpsProgram>,
    /// The reason why libbpf would not open the object, if the initial contents of a map are wrong.
    pub contents_error: Option<LoadPlanError>,
    /// The programs. Subprograms belong to the programs that call them.
    pub programs: Vec<ProgramNeeds>,
    /// The data of data maps that user space sets before the load, in place of the object's.
    pub(crate) data: HashMap<MapIndex, Vec<u8>>,
    /// The maps that user space does not create.
    pub(crate) left_out_maps: HashSet<MapIndex>,
}

/// A program in a program array. The load fails if the program is not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArrayProgram {
    /// The program array's name.
    pub map: String,
    /// The program.
    pub program: ProgramIndex,
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

/// An extern of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExternNeed {
    /// The requirement.
    pub id: NeedId,
    /// Whether the object loads without the extern, whose address or value is 0 then.
    pub is_weak: bool,
}

impl<'o, 'd> ObjectNeeds<'o, 'd> {
    /// Collects the requirements of an object. An object without BTF has no `relocs`. Fails if libbpf would not open the object.
    pub fn collect<'r>(
        object: &'o Object<'d>,
        relocs: impl Into<Option<&'r Relocs<'r>>>,
        table: &mut NeedTable,
    ) -> Result<Self, LinkError> {
        let linker = ProgramLinker::collect(object)?;
        let externs: Vec<_> = linker.externs().iter().map(|entry| ExternNeed::new(entry, table)).collect();
        let struct_ops = |ty| Some(object.btf()?.ty(ty)?.name().as_bytes());
        let maps = (0..).map(MapIndex).zip(linker.maps()).filter_map(|(index, entry)| {
            let name = match entry.source {
                MapSource::StructOps(map) => struct_ops(map.ty),
                _ => None,
            };
            let name = name.map(|name| Name::new(name).essential().as_bytes());
            MapNeed::new((index, entry), name, table)
        });
        let maps = maps.collect();
        let records = relocs.into().map_or_else(Vec::new, |relocs| records_by_function(object, relocs));
        let sections: Vec<_> = object.code_sections().iter().map(|section| section.code).collect();
        let programs =
            (0..).map(ProgramIndex).zip(object.programs()).filter(|(_, program)| !program.is_subprogram);
        let programs = programs
            .map(|program| {
                ProgramNeeds::collect((object, &sections), &linker, program, &externs, &records, table)
            })
            .collect();
        let mut contents_error = None;
        let array_programs = array_programs(&linker).unwrap_or_else(|error| {
            contents_error = Some(error);
            Vec::new()
        });
        let struct_ops_programs = struct_ops_programs(&linker).unwrap_or_else(|error| {
            contents_error = Some(error);
            Vec::new()
        });
        Ok(Self {
            object,
            linker,
            maps,
            externs,
            array_programs,
            struct_ops_programs,
            contents_error,
            programs,
            data: HashMap::new(),
            left_out_maps: HashSet::new(),
        })
    }

    /// Records that user space sets an attribute of a map, so that the judge does not ask for it.
    pub fn set_input(&mut self, map: &str, input: MapInput) {
        let maps = self.maps.iter_mut().filter(|known| known.name == map);
        maps.for_each(|known| known.inputs.retain(|missing| *missing != input));
    }
}

impl ObjectNeeds<'_, '_> {
    /// Applies the settings of a load: sizes and contents of maps, maps that are not created, programs that are loaded.
    pub fn apply_settings(&mut self, settings: &Settings) {
        for (name, map) in &settings.maps {
            let needs = self.maps.iter_mut().filter(|needs| needs.name == *name);
            needs.for_each(|needs| needs.apply_settings(map));
            if let Some(data) = &map.data {
                self.set_data(name, data.clone());
            }
            if map.autocreate == Some(false) {
                self.leave_out_map(name);
            }
        }
        for program in &mut self.programs {
            let settings = settings.programs.get(&program.name);
            if let Some(autoload) = settings.and_then(|settings| settings.autoload) {
                program.autoload = autoload;
            }
        }
    }

    /// Replaces the attach targets of section names by those that a load sets.
    pub fn apply_attach_targets(&mut self, settings: &Settings, table: &mut NeedTable) {
        let object = self.object;
        for needs in &mut self.programs {
            let target = settings.programs.get(&needs.name).and_then(|settings| settings.attach_to.as_ref());
            if let (Some(target), Some(program)) = (target, object.programs().get(needs.index.0)) {
                needs.set_attach_target(object, program, target, table);
            }
        }
    }

    /// Records that user space sets the data of a data map, such as `.rodata`, before the load.
    pub fn set_data(&mut self, map: &str, data: Vec<u8>) {
        if let Some(index) = self.map_index(map) {
            self.data.insert(index, data);
        }
    }

    /// Records that user space does not create a map. A program that may use the map is refused.
    pub fn leave_out_map(&mut self, map: &str) {
        self.left_out_maps.extend(self.map_index(map));
        self.maps.retain(|known| known.name != map);
    }

    fn map_index(&self, map: &str) -> Option<MapIndex> {
        self.linker.maps().iter().position(|entry| entry.name == map.as_bytes()).map(MapIndex)
    }
}

impl ExternNeed {
    fn new(entry: &ExternEntry<'_>, table: &mut NeedTable) -> Self {
        // As in libbpf, only functions have flavours.
        let function = || Name::new(entry.name).essential().as_bytes().into();
        let need = match entry.binding {
            ExternBinding::Config(_) => Need::Kconfig(String::from_utf8_lossy(entry.name).into()),
            ExternBinding::Variable(_) => Need::Variable(entry.name.into()),
            ExternBinding::Function(_) => Need::Kfunc(function()),
            _ => Need::Symbol(entry.name.into()),
        };
        Self { id: table.add(need), is_weak: entry.is_weak }
    }
}

/// Returns the programs that program arrays hold initially, each once for each map.
fn array_programs(linker: &ProgramLinker<'_, '_>) -> Result<Vec<ArrayProgram>, LoadPlanError> {
    let mut programs = Vec::new();
    for element in linker.initial_elements()? {
        let SlotPlan::Program(program) = element.slot else { continue };
        programs.push((element.map, program));
    }
    programs.sort_unstable();
    programs.dedup();
    let name = |map: MapIndex| linker.maps().get(map.0).map(|entry| Name::new(entry.name).shortened());
    let programs = programs.into_iter().filter_map(|(map, program)| {
        Some(ArrayProgram { map: core_relo::explain::text(name(map)?), program })
    });
    Ok(programs.collect())
}

/// Returns the programs of struct_ops maps. A map that is created decides on its programs.
fn struct_ops_programs(linker: &ProgramLinker<'_, '_>) -> Result<Vec<StructOpsProgram>, LoadPlanError> {
    let is_created = |map: MapIndex| match linker.maps().get(map.0).map(|entry| entry.source) {
        Some(MapSource::StructOps(map)) => {
            !matches!(map.section.kind, DataKind::StructOps { optional: true, .. })
        }
        _ => false,
    };
    let mut programs = Vec::new();
    for (map, table) in linker.struct_ops_tables()? {
        let is_created = is_created(map);
        programs.extend(table.programs().map(|program| StructOpsProgram { program, is_created }));
    }
    programs.sort_unstable_by_key(|program| (program.program, !program.is_created));
    programs.dedup_by_key(|program| program.program);
    Ok(programs)
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
    records.sort_unstable();
    records
}
