//! The plan of a load: all requests to the kernel, as data. The loader executes a plan, and a dry run prints it.
//!
//! A plan is computed from an object, the caller's [`Settings`] and a [`TargetKernel`], which describes the kernel. Planning has no side
//! effects. Decisions that libbpf makes during a load are part of the plan.

mod arg_ctx;
mod attach_target;
mod btf_fixup;
mod display;
mod error;
mod kconfig;
mod kernel_structs;
mod ksyms;
mod map_plan;
mod maps;
mod programs;
mod relocate;
mod sanitize;
mod settings;
mod slots;
mod struct_ops;
mod target_kernel;
#[cfg(test)]
mod tests;
mod usdt;

pub use attach_target::{AttachPlan, find_program_function};
pub use error::{LoadPlanError, Refusal};
pub use ksyms::ModulePlan;
pub use map_plan::{MapPlan, MapRole, ProgramSlot, SEGV_ON_FAULT, SlotPlan};
pub use programs::{Fixup, FixupTarget, POISON_KFUNC, POISON_MAP, ProgramPlan};
pub use relocate::Poisoned;
pub use settings::{AttachTarget, MapSettings, ProgramSettings, Settings, TokenSource};
pub use target_kernel::{ReadSystem, TargetKernel};
pub use usdt::{USDT_MAPS, UsdtPlan};

use crate::{
    elf::key,
    errno::Errno,
    features::Feature,
    globals::{self, ObjectTypes},
    index::{ExternIndex, MapIndex, ModuleIndex, ProgramIndex},
    internal::{InternalError, Invariant as _},
    limits,
    link::{ProgramLinker, externs},
    object::{DataKind, Object, Program},
};
pub use crate::{globals::Global, link::FunctionCopy};
use core_relo::{Endian, btf::Editor, explain::Explanation};
use ksyms::{Modules, ResolvedExtern};
use std::collections::{HashMap, HashSet};

/// The plan of a load: all requests to the kernel.
///
/// `Display` prints the plan as a dry run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadPlan {
    /// The object's name.
    pub name: String,
    /// The programs' license.
    pub license: Vec<u8>,
    /// The kernel version that programs are loaded with. Kernels before 5.0 compare it with their own.
    pub kernel_version: u32,
    /// The object's BTF, adapted to this kernel. `None` if the object or the kernel has no BTF.
    pub btf: Option<Vec<u8>>,
    /// Whether the load fails if the kernel refuses the BTF.
    pub btf_is_mandatory: bool,
    /// The maps, in libbpf's order. Jump tables come last.
    pub maps: Vec<MapPlan>,
    /// The programs to load, in the object's order.
    pub programs: Vec<ProgramPlan>,
    /// The programs that are not loaded.
    pub skipped: Vec<SkippedProgram>,
    /// The modules whose BTF the load needs.
    pub modules: Vec<ModulePlan>,
    /// The modules of the `fd_array` that kfunc calls refer to by index. The first module has index 1, since index 0 is the
    /// kernel's own BTF.
    pub fd_array: Vec<ModuleIndex>,
    /// Whether the load raises `RLIMIT_MEMLOCK`, because this kernel charges maps and programs to that limit.
    pub raise_memlock_limit: bool,
    /// The error of probing the running kernel. The plan then assumes a kernel with every feature, and a load most likely fails.
    pub probe_error: Option<Errno>,
    /// Whether read-only data maps are bound to the programs (`BPF_PROG_BIND_MAP`), even to programs without a reference to them.
    pub bind_rodata: bool,
    /// The struct_ops maps, and the variables that can be read and set after the load.
    pub globals: Vec<Global>,
    /// The types of the variables.
    pub types: ObjectTypes,
    /// The source of a BPF token.
    pub token: TokenSource,
    /// The plan for attaching USDT probes. `None` if the object lacks the [maps](USDT_MAPS) for USDT.
    pub usdt: Option<UsdtPlan>,
    /// The CO-RE relocations whose instructions are poisoned on this kernel. They explain a verifier error at such an instruction.
    pub poisoned: Vec<Poisoned>,
    /// Whether each function's relocations belong to the programs being loaded, by function.
    pub(crate) selected: Vec<bool>,
    /// The names of the externs. [`POISON_KFUNC`] numbers missing kfuncs in this order.
    pub externs: Vec<String>,
    /// The weak kfuncs whose parameters in the kernel differ from the object's declaration.
    pub incompatible_kfuncs: Vec<ExternIndex>,
}

/// A program that is not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedProgram {
    /// The program's name.
    pub program: String,
    /// Why the program is not loaded.
    pub reason: &'static str,
}

impl LoadPlan {
    /// Plans a load.
    pub fn new(
        object: &Object<'_>,
        settings: &Settings,
        kernel: &TargetKernel,
    ) -> Result<Self, LoadPlanError> {
        if kernel.features.is_live() && object.endian() != Endian::native() {
            return Err(LoadPlanError::Endian { is_big: object.endian() == Endian::Big });
        }
        let parts = ProgramLinker::collect(object)?;
        check_names(object, &parts, settings)?;
        let mut edit = btf_fixup::fix_up(object, &parts.externs)?;
        let mut modules = Modules::default();

        let kconfig_size = externs::config_size(&parts.externs)?;
        if u64::from(kconfig_size) > limits::DATA_BYTES {
            let most = limits::DATA_BYTES;
            let what = format!("its variables are too large: {kconfig_size} bytes, expected at most {most}");
            return Err(LoadPlanError::Map { map: ".kconfig".into(), what: what.into() });
        }
        let kconfig =
            kconfig::read_values(&parts.externs, kconfig_size, kernel, settings.kconfig.as_deref())?;
        let usdt = UsdtPlan::for_object(&parts, &kconfig, kernel);
        let resolved = ksyms::resolve(object.btf(), &parts.externs, kernel, &mut modules)?;
        let tables = resolve_struct_ops(object, &parts, settings, kernel, &mut modules)?;
        let mut maps = maps::MapPlanner {
            object,
            table: &parts.maps,
            settings,
            kernel,
            kconfig,
            struct_ops: &tables,
            value_types: HashMap::new(),
        }
        .plan_maps(&mut edit)?;

        let (loaded, skipped) = select_programs(object, settings, &tables);
        let selected = parts.select_functions(&loaded)?;
        let (code, poisoned) = relocate::relocate_code(object, &selected, settings, kernel)?;
        let mut planner = programs::ProgramPlanner {
            object,
            parts: &parts,
            kernel,
            externs: &resolved,
            struct_ops: &tables,
            log_level: settings.log_level,
            fd_array: Vec::new(),
            jump_targets: object.data_sections().iter().find(|s| s.kind == DataKind::JumpTables),
            jump_tables: HashMap::new(),
            jump_bytes: 0,
            context_tags: object.btf().map(arg_ctx::collect_tags).unwrap_or_default(),
        };
        let default_settings = ProgramSettings::default();
        let (mut programs, mut total) = (Vec::new(), 0usize);
        for (function, program) in ProgramIndex::enumerate(object.programs()) {
            if !*loaded.get(function.0).invariant("each program is selected or not")? {
                continue;
            }
            let settings = settings.programs.get(&key(program.name())).unwrap_or(&default_settings);
            let plan = planner.plan_program(function, &code, settings, &mut maps, &mut modules, &mut edit)?;
            // Each program has its own copy of a shared subprogram, so the sum has no relation to the object's size.
            let counts = [
                plan.insns.len() / 8,
                plan.func_info.len() / 8,
                plan.line_info.len() / 16,
                plan.fixups.len(),
                plan.functions.len(),
            ];
            let sum = counts.into_iter().try_fold(total, usize::checked_add);
            let sum = sum.filter(|sum| *sum <= limits::OBJECT_INSNS);
            total = sum.ok_or(LoadPlanError::TooLong { limit: limits::OBJECT_INSNS })?;
            programs.push(plan);
        }
        let fd_array = planner.fd_array;
        let globals = collect_globals(object, &parts, settings);
        let has_struct_ops = maps.iter().any(|m| m.role == MapRole::StructOps);
        let has_rodata = maps.iter().any(|m| m.role == MapRole::Rodata && m.autocreate);
        let btf = finish_btf(object, edit, kernel)?;
        Ok(Self {
            name: settings.name.clone(),
            // As in libbpf, an object without a license has an empty license.
            license: object.license().unwrap_or(b"").to_vec(),
            kernel_version: object.kernel_version().unwrap_or(kernel.kernel_version),
            btf,
            btf_is_mandatory: has_struct_ops,
            bind_rodata: has_rodata && !programs.is_empty() && kernel.features.has(Feature::ProgBindMap),
            probe_error: kernel.features.check_permission().err(),
            raise_memlock_limit: kernel.features.charges_locked_memory(),
            maps,
            programs,
            skipped,
            modules: modules.0,
            fd_array,
            types: if globals.is_empty() { ObjectTypes::default() } else { ObjectTypes::new(object.btf()) },
            globals,
            token: settings.token.clone(),
            usdt,
            poisoned,
            selected,
            externs: parts.externs.iter().map(|e| key(e.name)).collect(),
            incompatible_kfuncs: incompatible_kfuncs(&resolved),
        })
    }
}

impl LoadPlan {
    /// Explains a poisoned relocation by its [record](Poisoned::record). Object, settings and kernel have to be those of the plan.
    pub fn explain(
        &self,
        object: &Object<'_>,
        settings: &Settings,
        kernel: &TargetKernel,
        record: usize,
    ) -> Option<Explanation> {
        relocate::explain_record(object, &self.selected, settings, kernel, record)
    }
}

/// Returns the object's BTF, adapted to the kernel. Returns `None` for a kernel without BTF.
fn finish_btf(
    object: &Object<'_>,
    edit: Option<Editor>,
    kernel: &TargetKernel,
) -> Result<Option<Vec<u8>>, InternalError> {
    let Some(mut edit) = edit.filter(|_| kernel.features.has(Feature::Btf)) else { return Ok(None) };
    btf_fixup::hide_functions(object, &mut edit);
    sanitize::sanitize(&mut edit, &kernel.features)?;
    Ok(Some(edit.finish()))
}

/// Returns the kfuncs whose parameters in the kernel differ from the object's declaration.
fn incompatible_kfuncs(resolved: &[ResolvedExtern]) -> Vec<ExternIndex> {
    let externs = resolved.iter().enumerate();
    externs.filter(|(_, r)| **r == ResolvedExtern::Incompatible).map(|(n, _)| ExternIndex(n)).collect()
}

/// Returns the object's variables, with the sizes that the settings give to data maps.
fn collect_globals(object: &Object<'_>, parts: &ProgramLinker<'_, '_>, settings: &Settings) -> Vec<Global> {
    let all = globals::collect(object, &parts.maps, &parts.externs);
    if settings.maps.values().all(|s| s.value_size.is_none()) {
        return all;
    }
    globals::resize_arrays(all, object.btf(), |section| settings.maps.get(section)?.value_size)
}

/// Refuses settings of programs and maps that the object does not have.
fn check_names(
    object: &Object<'_>,
    parts: &ProgramLinker<'_, '_>,
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
    let maps: Vec<_> = parts.maps.entries.iter().map(|m| m.name).collect();
    check("program", settings.programs.keys().collect(), &programs)?;
    check("map", settings.maps.keys().collect(), &maps)
}

/// Matches the object's struct_ops maps with the kernel's structs.
fn resolve_struct_ops(
    object: &Object<'_>,
    parts: &ProgramLinker<'_, '_>,
    settings: &Settings,
    kernel: &TargetKernel,
    modules: &mut Modules,
) -> Result<struct_ops::StructOpsTables, LoadPlanError> {
    let find = |map: MapIndex| {
        let entry = parts.maps.entries.get(map.0)?;
        Some((entry, settings.maps.get(&key(entry.name))))
    };
    let is_created = |map: MapIndex| {
        let Some((entry, settings)) = find(map) else { return false };
        let is_optional = match entry.source {
            crate::link::maps::MapSource::StructOps(table) => table.section.name.starts_with(b"?"),
            _ => false,
        };
        settings.and_then(|s| s.autocreate).unwrap_or(!is_optional)
    };
    let settings_of = |map: MapIndex| find(map).and_then(|(_, settings)| settings);
    struct_ops::resolve(object, &parts.maps, kernel, modules, is_created, settings_of)
}

/// Returns, for each function, whether the function is loaded as a program. Also returns the programs that are not loaded.
fn select_programs(
    object: &Object<'_>,
    settings: &Settings,
    tables: &struct_ops::StructOpsTables,
) -> (Vec<bool>, Vec<SkippedProgram>) {
    let mut skipped = Vec::new();
    let mut is_selected = |(index, p): (ProgramIndex, &Program<'_>)| {
        if p.is_subprogram {
            return false;
        }
        let name = key(p.name());
        let autoload = settings.programs.get(&name).and_then(|s| s.autoload);
        // The table of a struct_ops program decides (libbpf: `bpf_object_adjust_struct_ops_autoload`).
        let reason = match tables.autoload.get(&index) {
            Some(false) => "no struct_ops map that is created uses it",
            None if autoload == Some(false) => "not selected",
            None if autoload.is_none() && !p.autoload() => "its section begins with `?`",
            Some(true) | None => return true,
        };
        skipped.push(SkippedProgram { program: name, reason });
        false
    };
    let selected = ProgramIndex::enumerate(object.programs()).map(&mut is_selected).collect();
    (selected, skipped)
}
