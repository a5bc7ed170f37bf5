//! The steps of planning a load.

use super::{
    btf::{self, Adaptation},
    error::{LoadPlanError, NamedPart},
    externs::{self, Modules, RefusedExterns},
    maps::{MapPlan, MapPlanner, MapRole, SlotPlan},
    object_names::repair_object_names,
    plan::{LoadPlan, SkippedProgram},
    programs::{FixupTarget, ProgramPlan, ProgramPlanner, program_hash},
    relocate::{SelectedFunctions, collect_late_relocs, relocate_code},
    repair::Repairs,
    settings::Settings,
    struct_ops::{self, StructOpsTables},
    target_kernel::TargetKernel,
    usdt::UsdtPlan,
};
use crate::{
    elf::key,
    features::Feature,
    globals::{self, Global, ObjectTypes},
    index::{MapIndex, ProgramIndex},
    internal::{InternalError, Invariant as _},
    link::{
        ExternBinding, HeldPrograms, ProgramLinker,
        maps::{MapEntry, MapSource},
    },
    object::{MapDef, Object, Program},
};
use core_relo::{Endian, btf::Editor};
use hashbrown::HashSet;

impl LoadPlan {
    /// Plans a load.
    pub fn new(
        object: &Object<'_>,
        settings: &Settings,
        kernel: &TargetKernel,
    ) -> Result<Self, LoadPlanError> {
        // Loader programs have the byte order of this machine, too.
        let is_executed = kernel.features.is_live() || kernel.late_binding.has_names();
        if is_executed && object.endian() != Endian::native() {
            return Err(LoadPlanError::Endian { is_big: object.endian() == Endian::Big });
        }
        let linker = ProgramLinker::collect(object)?;
        check_names(object, &linker, settings)?;
        let mut edit = btf::fix_up(&linker)?;
        let mut modules = Modules::default();

        let mut refused = RefusedExterns::default();
        let extra_kconfig = settings.kconfig.as_deref();
        let kconfig = externs::read_values(&linker.externs, kernel, extra_kconfig, &mut refused)?;
        let usdt = UsdtPlan::for_object(&linker, &kconfig, kernel);
        let resolved =
            externs::resolve(object.btf(), &linker.externs, settings, kernel, &mut modules, &mut refused)?;
        if !settings.allows_unused_externs {
            refused.check_none()?;
        }
        let tables = resolve_struct_ops(&linker, settings, kernel, &mut modules)?;
        let planner = MapPlanner::new(object, &linker.maps, settings, kernel, kconfig, &tables);
        let mut maps = planner.plan_maps(&mut edit)?;

        let SelectedPrograms { loaded, held, skipped } = select_programs(&linker, settings, &tables, &maps)?;
        if settings.allows_unused_externs {
            refused.check_unused(&linker, &loaded)?;
        }
        let selected = selected_functions(&linker, &loaded)?;
        let find_caller = |functions: &SelectedFunctions| {
            let caller = linker.find_caller(&loaded, |function| Ok(functions.contains(&function)))?;
            let program = |caller: ProgramIndex| {
                object.programs().get(caller.0).invariant("a loaded program is one of the object's")
            };
            Ok(caller.map(program).transpose()?.map(Program::name))
        };
        let (code, poisoned) = relocate_code(object, &selected, settings, kernel, find_caller)?;
        let late_relocs = collect_late_relocs(object, &selected, kernel)?;
        let mut planner = ProgramPlanner::new(object, &linker, settings, kernel, &resolved, &tables);
        let mut programs =
            planner.plan_programs(&loaded, &code, &late_relocs, &mut maps, &mut modules, &mut edit)?;
        // The programs that use the array reach these programs.
        programs.iter_mut().filter(|plan| held.contains(&plan.function())).for_each(ProgramPlan::unattach);

        set_exclusive_hashes(&mut maps, &programs)?;

        let mut repairs = core::mem::take(&mut planner.repairs);
        repair_object_names(&mut maps, &mut programs, &mut repairs);
        let btf = finish_btf(object, edit, kernel, &mut repairs)?;
        let globals = collect_globals(object, &linker, settings);
        let has_struct_ops = maps.iter().any(|m| m.role() == MapRole::StructOps);
        let has_rodata = maps.iter().any(|m| m.role() == MapRole::Rodata && m.autocreate());
        Ok(Self {
            name: settings.name.clone(),
            // As in libbpf, an object without a license has an empty license.
            license: object.license().unwrap_or(b"").to_vec(),
            // As in libbpf, an object without a version has the version of the kernel.
            kernel_version: object.kernel_version().unwrap_or(kernel.kernel_version),
            btf,
            btf_is_mandatory: has_struct_ops,
            repairs,
            null_pointers: object.null_pointers(),
            binds_rodata: has_rodata && !programs.is_empty() && kernel.features.has(Feature::ProgBindMap),
            probe_error: kernel.features.check_permission().err(),
            raises_memlock_limit: kernel.features.charges_locked_memory(),
            maps,
            programs,
            skipped,
            modules: modules.into_plans(),
            fd_array: planner.into_fd_array(),
            types: if globals.is_empty() { ObjectTypes::default() } else { ObjectTypes::new(object.btf()) },
            globals,
            token: settings.token.clone(),
            usdt,
            poisoned,
            selected,
            externs: linker.externs.iter().map(|e| key(e.name)).collect(),
            incompatible_kfuncs: externs::find_incompatible(object.btf(), &linker.externs, &resolved, kernel),
            late_binding: kernel.late_binding,
            kfunc_replacements: externs::find_replacements(object.btf(), &linker.externs, &resolved, kernel),
        })
    }
}

/// Sets the hashes of the programs that maps are exclusive to.
fn set_exclusive_hashes(maps: &mut [MapPlan], programs: &[ProgramPlan]) -> Result<(), LoadPlanError> {
    for map in maps {
        let Some(name) = map.exclusive_to.clone() else { continue };
        let fail = |what: String| LoadPlanError::Map { map: map.name().into(), what: what.into() };
        let program = programs.iter().find(|program| program.name() == name);
        let program = program
            .ok_or_else(|| fail(format!("it is exclusive to program `{name}`, which is not loaded")))?;
        // The kernel's hash includes the descriptors of modules, which are not known before the load.
        if program.fixups().iter().any(|fixup| matches!(fixup.target(), FixupTarget::Module(_))) {
            let what =
                format!("it cannot be exclusive to program `{name}`, which uses variables of a module");
            return Err(fail(what));
        }
        map.exclusive_hash = Some(program_hash(program.insns()));
    }
    Ok(())
}

/// Returns the object's BTF, adapted to the kernel. Returns `None` for a kernel without BTF.
fn finish_btf(
    object: &Object<'_>,
    edit: Option<Editor>,
    kernel: &TargetKernel,
    repairs: &mut Repairs,
) -> Result<Option<Vec<u8>>, InternalError> {
    let Some(mut edit) = edit.filter(|_| kernel.features.has(Feature::Btf)) else { return Ok(None) };
    btf::hide_functions(object, &mut edit);
    btf::adapt(&mut edit, &Adaptation::to_kernel(kernel), repairs)?;
    Ok(Some(edit.finish()))
}

/// Returns the object's variables, with the sizes that the settings give to data maps.
fn collect_globals(object: &Object<'_>, linker: &ProgramLinker<'_, '_>, settings: &Settings) -> Vec<Global> {
    let all = globals::collect(object, &linker.maps, &linker.externs);
    if settings.maps.values().all(|s| s.value_size.is_none()) {
        return all;
    }
    globals::resize_arrays(all, object.btf(), |section| settings.maps.get(section)?.value_size)
}

/// Refuses settings of programs and maps that the object does not have.
fn check_names(
    object: &Object<'_>,
    linker: &ProgramLinker<'_, '_>,
    settings: &Settings,
) -> Result<(), LoadPlanError> {
    // `names` are in the object's order, in which the error lists them.
    let check = |kind, requested: Vec<&String>, names: &[&[u8]]| {
        let known: HashSet<String> = names.iter().map(|name| key(name)).collect();
        let list = || names.iter().map(|name| key(name).into()).collect();
        let missing =
            |name: &String| LoadPlanError::NoSuch { kind, name: name.as_str().into(), known: list() };
        requested.into_iter().find(|name| !known.contains(*name)).map_or(Ok(()), |name| Err(missing(name)))
    };
    let programs: Vec<_> = object.programs().iter().filter(|p| !p.is_subprogram).map(Program::name).collect();
    let mut maps: Vec<_> = linker.maps.entries.iter().map(|m| m.name).collect();
    check(NamedPart::Program, settings.programs.keys().collect(), &programs)?;
    let outer = linker.maps.entries.iter().filter(|entry| match entry.source {
        MapSource::Defined(map) => map.def.as_ref().is_ok_and(MapDef::is_map_of_maps),
        _ => false,
    });
    // Only loads with settings need the names.
    let inner: Vec<_> = if settings.maps.is_empty() {
        Vec::new()
    } else {
        outer.map(|entry| [entry.name, b".inner"].concat()).collect()
    };
    maps.extend(inner.iter().map(Vec::as_slice));
    check(NamedPart::Map, settings.maps.keys().collect(), &maps)?;
    let ksyms: Vec<_> =
        linker.externs.iter().filter(|e| e.binding == ExternBinding::Address).map(|e| e.name).collect();
    check(NamedPart::Symbol, settings.ksyms.keys().collect(), &ksyms)
}

/// Matches the object's struct_ops maps with the kernel's structs.
fn resolve_struct_ops(
    linker: &ProgramLinker<'_, '_>,
    settings: &Settings,
    kernel: &TargetKernel,
    modules: &mut Modules,
) -> Result<StructOpsTables, LoadPlanError> {
    let settings_of = |entry: &MapEntry<'_, '_>| settings.maps.get(&key(entry.name));
    let is_created = |entry: &MapEntry<'_, '_>| {
        let is_optional = match entry.source {
            MapSource::StructOps(table) => table.section.name.starts_with(b"?"),
            _ => false,
        };
        // By default a map is created, unless its section is optional.
        settings_of(entry).and_then(|s| s.autocreate).unwrap_or(!is_optional)
    };
    struct_ops::resolve(linker, kernel, modules, is_created, settings_of)
}

/// Returns the functions whose CO-RE relocations belong to the loaded programs.
fn selected_functions(
    linker: &ProgramLinker<'_, '_>,
    loaded: &[bool],
) -> Result<SelectedFunctions, InternalError> {
    let functions = ProgramIndex::enumerate(linker.select_functions(loaded)?);
    Ok(functions.filter(|(_, is_selected)| *is_selected).map(|(function, _)| function).collect())
}

/// The programs of a load.
struct SelectedPrograms {
    /// For each function, whether the function is loaded as a program.
    loaded: Vec<bool>,
    /// The programs that are loaded only because a program array holds them.
    held: HashSet<ProgramIndex>,
    /// The programs that are not loaded.
    skipped: Vec<SkippedProgram>,
}

/// Selects the programs of a load.
fn select_programs(
    linker: &ProgramLinker<'_, '_>,
    settings: &Settings,
    tables: &StructOpsTables,
    maps: &[MapPlan],
) -> Result<SelectedPrograms, InternalError> {
    let reason = |(index, p): (ProgramIndex, &Program<'_>)| {
        let autoload = settings.programs.get(&key(p.name())).and_then(|s| s.autoload);
        // The table of a struct_ops program decides (libbpf: `bpf_object_adjust_struct_ops_autoload`).
        match tables.autoload.get(&index) {
            Some(false) => Some("no struct_ops map that is created uses it"),
            None if autoload == Some(false) => Some("not selected"),
            None if autoload.is_none() && !p.autoload() => Some("its section begins with `?`"),
            Some(true) | None => None,
        }
    };
    let functions = linker.object().programs();
    let reasons: Vec<_> = ProgramIndex::enumerate(functions).map(reason).collect();
    let selected = functions.iter().zip(&reasons).map(|(p, reason)| !p.is_subprogram && reason.is_none());
    let mut loaded: Vec<_> = selected.collect();
    let held = linker.add_held_programs(&mut loaded, held_programs(maps))?;
    let left_out = functions.iter().zip(&loaded).zip(&reasons);
    let left_out = left_out.filter(|((p, is_loaded), _)| !p.is_subprogram && !**is_loaded);
    let skipped = left_out
        .filter_map(|((p, _), reason)| Some(SkippedProgram { program: key(p.name()), reason: (*reason)? }));
    let skipped = skipped.collect();
    Ok(SelectedPrograms { loaded, held: held.into_iter().collect(), skipped })
}

/// Returns the programs that each program array holds initially.
fn held_programs(maps: &[MapPlan]) -> HeldPrograms {
    let mut held = HeldPrograms::new();
    for (index, map) in (0..).map(MapIndex).zip(maps).filter(|(_, map)| map.autocreate()) {
        for slot in map.slots().values() {
            if let SlotPlan::Program(program) = slot {
                held.entry(index).or_default().push(*program);
            }
        }
    }
    held
}
