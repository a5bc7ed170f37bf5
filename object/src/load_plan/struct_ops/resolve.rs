//! Matches the struct_ops tables of an object with the kernel's structs.

use super::{
    kernel_structs::KernelStructs,
    kernel_table::{KernelTable, MemberSlot, StructOpsMatcher},
};
use crate::{
    elf::key,
    index::{MapIndex, ProgramIndex},
    internal::Invariant as _,
    link::{ProgramLinker, maps::MapEntry},
    load_plan::{error::LoadPlanError, externs::Modules, settings::MapSettings, target_kernel::TargetKernel},
};
use hashbrown::HashMap;

/// All tables of an object.
#[derive(Clone, Debug, Default)]
pub(in crate::load_plan) struct StructOpsTables {
    /// The tables that are created, by map.
    pub(in crate::load_plan) by_map: HashMap<MapIndex, KernelTable>,
    /// The member of each program in a created table.
    pub(in crate::load_plan) slots: HashMap<ProgramIndex, MemberSlot>,
    /// Whether a program of a table is loaded: at least one of the tables with the program is created.
    pub(in crate::load_plan) autoload: HashMap<ProgramIndex, bool>,
}

/// Matches every table that is created with the kernel's struct.
///
/// `is_created` returns whether a map is created, and `settings_of` returns the caller's settings of a map.
pub(in crate::load_plan) fn resolve<'s>(
    linker: &ProgramLinker<'_, '_>,
    kernel: &TargetKernel,
    modules: &mut Modules,
    is_created: impl Fn(&MapEntry<'_, '_>) -> bool,
    settings_of: impl Fn(&MapEntry<'_, '_>) -> Option<&'s MapSettings>,
) -> Result<StructOpsTables, LoadPlanError> {
    let mut tables = StructOpsTables::default();
    let object = linker.object();
    let Some(btf) = object.btf() else { return Ok(tables) };
    let mut structs = KernelStructs::new(kernel);
    let mut matcher = StructOpsMatcher::default();
    for (map, mut local) in linker.struct_ops_tables()? {
        let entry = linker.maps().get(map.0).invariant("a table belongs to a map")?;
        if let Some(settings) = settings_of(entry) {
            if let Some(data) = &settings.data {
                local.set_data(data.clone());
            }
            for (member, program) in &settings.programs {
                let previous = local.replace_program(btf, object, member, program.as_deref())?;
                if let Some(program) = previous {
                    tables.autoload.entry(program).or_insert(false);
                }
            }
        }
        for program in local.programs() {
            *tables.autoload.entry(program).or_insert(false) |= is_created(entry);
        }
        if is_created(entry) {
            if kernel.late_binding.has_names() {
                let what = "cannot be put in a loader program: its value has the layout of one kernel: load the object with `core-relo load`";
                return Err(LoadPlanError::Map { map: key(entry.name).into(), what: what.into() });
            }
            let ty = btf.ty(local.table.ty).invariant("a struct_ops map's type was found in the BTF")?;
            let (kernel_struct, module) = structs.find(local.name, ty.name().essential(), modules)?;
            let table = matcher.match_table(btf, &local, &kernel_struct, module)?;
            tables.by_map.insert(map, table);
        }
    }
    tables.slots = matcher.into_slots();
    Ok(tables)
}
