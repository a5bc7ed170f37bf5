//! Matches the struct_ops tables of an object with the kernel's structs.

use super::{
    kernel_structs::KernelStructs,
    kernel_table::{KernelTable, MemberSlot, match_table},
    local_table::{TableRelocs, read_table},
};
use crate::{
    elf::text,
    index::{MapIndex, ProgramIndex},
    internal::Invariant as _,
    limits,
    link::maps::{MapEntry, MapSource, MapTable},
    load_plan::{error::LoadPlanError, externs::Modules, settings::MapSettings, target_kernel::TargetKernel},
    object::Object,
};
use std::collections::HashMap;

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
    object: &Object<'_>,
    maps: &MapTable<'_, '_>,
    kernel: &TargetKernel,
    modules: &mut Modules,
    is_created: impl Fn(&MapEntry<'_, '_>) -> bool,
    settings_of: impl Fn(&MapEntry<'_, '_>) -> Option<&'s MapSettings>,
) -> Result<StructOpsTables, LoadPlanError> {
    let mut tables = StructOpsTables::default();
    let Some(btf) = object.btf() else { return Ok(tables) };
    let mut relocs = TableRelocs::new(object);
    let mut structs = KernelStructs::new(kernel);
    let mut member_count = 0usize;
    for (map, entry) in MapIndex::enumerate(&maps.entries) {
        let MapSource::StructOps(table) = entry.source else { continue };
        // Any number of empty tables can share an offset and a type with many members, so the work is limited.
        let ty = btf.ty(table.ty).invariant("a struct_ops map's type was found in the BTF")?;
        let total = member_count.checked_add(ty.members().len());
        member_count = total.filter(|total| *total <= limits::STRUCT_OPS_MEMBERS).ok_or_else(|| {
            let limit = limits::STRUCT_OPS_MEMBERS;
            let what = format!("the struct_ops maps have too many members: expected at most {limit}");
            LoadPlanError::Map { map: text(entry.name), what: what.into() }
        })?;
        let mut local = read_table(&mut relocs, btf, entry.name, table)?;
        if let Some(settings) = settings_of(entry) {
            if let Some(data) = &settings.data {
                local.data.clone_from(data);
            }
            for (member, program) in &settings.programs {
                let previous = local.replace_program(btf, object, member, program.as_deref())?;
                if let Some(program) = previous {
                    tables.autoload.entry(program).or_insert(false);
                }
            }
        }
        for program in local.programs.values() {
            *tables.autoload.entry(*program).or_insert(false) |= is_created(entry);
        }
        if is_created(entry) {
            let table = match_table(btf, &local, &mut structs, modules, &mut tables.slots)?;
            tables.by_map.insert(map, table);
        }
    }
    Ok(tables)
}
