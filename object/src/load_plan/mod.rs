//! Everything that a load asks of the kernel, as data: the loader executes it, and a dry run prints it.
//!
//! A plan is made of an object, a caller's [`Settings`] and a [`Host`] (what the kernel has and can do). Making it changes
//! nothing. Where libbpf decides something while it loads, the decision is made here.

mod arg_ctx;
mod attach_target;
mod btf_fixup;
mod display;
mod error;
mod host;
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
#[cfg(test)]
mod tests;
mod usdt;

pub use attach_target::{AttachPlan, find_program_function};
pub use error::{LoadPlanError, Refusal};
pub use host::{Host, ReadSystem};
pub use ksyms::ModulePlan;
pub use map_plan::{MapPlan, MapRole, ProgramSlot, SEGV_ON_FAULT, SlotPlan};
pub use programs::{Fixup, FixupTarget, POISON_KFUNC, POISON_MAP, ProgramPlan};
pub use relocate::Poisoned;
pub use settings::{AttachTarget, MapSettings, ProgramSettings, Settings, TokenSource};
pub use usdt::{USDT_MAPS, UsdtPlan};

use crate::{
    elf::key,
    errno::Errno,
    features::Feature,
    globals::{self, ObjectTypes},
    index::{ExternIndex, MapIndex, ModuleIndex, ProgramIndex},
    internal::Invariant as _,
    limits,
    link::{ProgramLinker, externs},
    object::{DataKind, Object, Program},
};
pub use crate::{globals::Global, link::FunctionCopy};
use core_relo::{Endian, btf::Editor, explain::Explanation};
use ksyms::{Modules, Resolved};
use std::collections::{HashMap, HashSet};

/// The plan of a load: everything that it asks of the kernel.
///
/// `Display` prints it as the dry run of a load.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadPlan {
    /// The object's name.
    pub name: String,
    /// The programs' license.
    pub license: Vec<u8>,
    /// The kernel's version as programs are given it (kernels before 5.0 compare it).
    pub kernel_version: u32,
    /// The object's BTF as this kernel takes it.
    pub btf: Option<Vec<u8>>,
    /// Whether nothing can be loaded if the kernel refuses the BTF.
    pub btf_is_mandatory: bool,
    /// Maps, in libbpf's order; jump tables last.
    pub maps: Vec<MapPlan>,
    /// Programs that are loaded, in the object's order.
    pub programs: Vec<ProgramPlan>,
    /// Programs that are not loaded.
    pub skipped: Vec<SkippedProgram>,
    /// Modules whose BTF is needed.
    pub modules: Vec<ModulePlan>,
    /// The modules in the array of descriptors that instructions refer to by index, from index 1 on. Index 0 is the kernel's.
    pub fd_array: Vec<ModuleIndex>,
    /// Whether this kernel charges maps and programs to the limit on locked memory, which is raised then.
    pub raise_memlock_limit: bool,
    /// Why the running kernel could not be probed. The plan is then for a kernel that can do everything, and its execution most
    /// likely fails.
    pub probe_error: Option<Errno>,
    /// Whether programs hold the maps of constants though they do not mention them.
    pub bind_rodata: bool,
    /// Variables that can be read and set once it is loaded, and struct_ops maps.
    pub globals: Vec<Global>,
    /// The types of the variables.
    pub types: ObjectTypes,
    /// The source of a BPF token.
    pub token: TokenSource,
    /// How USDT probes are attached; none if the object lacks the maps for that.
    pub usdt: Option<UsdtPlan>,
    /// CO-RE relocations whose instructions are traps on this kernel, in case the verifier gets there.
    pub poisoned: Vec<Poisoned>,
    /// The functions whose relocations took part.
    pub(crate) selected: Vec<bool>,
    /// Names of the externs in the order in which missing functions are numbered.
    pub externs: Vec<String>,
    /// The weak kfuncs among the externs that the kernel has with other parameters than the object declares, by place.
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
    pub fn new(object: &Object<'_>, settings: &Settings, host: &Host) -> Result<Self, LoadPlanError> {
        if host.features.is_live() && object.endian() != Endian::native() {
            return Err(LoadPlanError::Endian { is_big: object.endian() == Endian::Big });
        }
        let parts = ProgramLinker::collect(object)?;
        check_names(object, &parts, settings)?;
        let mut edit = btf_fixup::mended(object, &parts.externs)?;
        let mut modules = Modules::default();

        let kconfig_size = externs::config_size(&parts.externs);
        if u64::from(kconfig_size) > limits::DATA_BYTES {
            let what = format!("its variables have {kconfig_size} bytes, {} is the most", limits::DATA_BYTES);
            return Err(LoadPlanError::Map { map: ".kconfig".into(), what: what.into() });
        }
        let kconfig = kconfig::values(&parts.externs, kconfig_size, host, settings.kconfig.as_deref())?;
        let usdt = UsdtPlan::plan(&parts, &kconfig, host);
        let resolved = ksyms::resolve(object.btf(), &parts.externs, host, &mut modules)?;
        let tables = struct_ops_tables(object, &parts, settings, host, &mut modules)?;
        let mut maps = maps::Planning {
            object,
            table: &parts.maps,
            settings,
            host,
            kconfig,
            struct_ops: &tables,
            values: HashMap::new(),
        }
        .maps(&mut edit)?;

        let (loaded, skipped) = select(object, settings, &tables);
        let selected = parts.select_functions(&loaded);
        let (code, poisoned) = relocate::relocated(object, &selected, settings, host)?;
        let mut planning = programs::Planning {
            object,
            parts: &parts,
            host,
            externs: &resolved,
            struct_ops: &tables,
            log_level: settings.log_level,
            fd_array: Vec::new(),
            jump_targets: object.data_sections().iter().find(|s| s.kind == DataKind::JumpTables),
            jump_tables: HashMap::new(),
            jump_bytes: 0,
            context_tags: object.btf().map(arg_ctx::tags).unwrap_or_default(),
        };
        let default = ProgramSettings::default();
        let (mut programs, mut total) = (Vec::new(), 0usize);
        for (function, program) in ProgramIndex::enumerate(object.programs()) {
            if !*loaded.get(function.0).invariant("each program is selected or not")? {
                continue;
            }
            let own = settings.programs.get(&key(program.name)).unwrap_or(&default);
            let plan = planning.plan_program(function, &code, own, &mut maps, &mut modules, &mut edit)?;
            // Programs share subprograms, and with them their records.
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
        let fd_array = planning.fd_array;
        let globals = variables(object, &parts, settings);
        let has_struct_ops = maps.iter().any(|m| m.role == MapRole::StructOps);
        let has_rodata = maps.iter().any(|m| m.role == MapRole::Rodata && m.autocreate);
        let btf = finish_btf(object, edit, host);
        Ok(Self {
            name: settings.name.clone(),
            // An object without license has an empty one, as for libbpf.
            license: object.license().unwrap_or(b"").to_vec(),
            kernel_version: object.kernel_version().unwrap_or(host.kernel_version),
            btf,
            btf_is_mandatory: has_struct_ops,
            bind_rodata: has_rodata && !programs.is_empty() && host.features.has(Feature::ProgBindMap),
            probe_error: host.features.check_permission().err(),
            raise_memlock_limit: host.features.charges_locked_memory(),
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
            incompatible_kfuncs: incompatible(&resolved),
        })
    }
}

impl LoadPlan {
    /// Explains a relocation that is a trap, by its [record](Poisoned::record). The plan has to have been made of the same
    /// object, settings and host.
    pub fn explain(
        &self,
        object: &Object<'_>,
        settings: &Settings,
        host: &Host,
        record: usize,
    ) -> Option<Explanation> {
        relocate::explain_record(object, &self.selected, settings, host, record)
    }
}

/// Returns the object's BTF as the kernel takes it; none if the kernel takes none.
fn finish_btf(object: &Object<'_>, edit: Option<Editor>, host: &Host) -> Option<Vec<u8>> {
    let mut edit = edit.filter(|_| host.features.has(Feature::Btf))?;
    btf_fixup::hide_functions(object, &mut edit);
    sanitize::sanitize(&mut edit, &host.features);
    Some(edit.finish())
}

/// Returns the kfuncs that the kernel has with other parameters.
fn incompatible(resolved: &[Resolved]) -> Vec<ExternIndex> {
    let externs = resolved.iter().enumerate();
    externs.filter(|(_, r)| **r == Resolved::Incompatible).map(|(n, _)| ExternIndex(n)).collect()
}

/// The object's variables, as large as the settings make them.
fn variables(object: &Object<'_>, parts: &ProgramLinker<'_, '_>, settings: &Settings) -> Vec<Global> {
    let all = globals::collect(object, &parts.maps, &parts.externs);
    if settings.maps.values().all(|s| s.value_size.is_none()) {
        return all;
    }
    globals::resize_arrays(all, object.btf(), |section| settings.maps.get(section)?.value_size)
}

/// A setting for something the object does not have is a mistake of the caller's.
fn check_names(
    object: &Object<'_>,
    parts: &ProgramLinker<'_, '_>,
    settings: &Settings,
) -> Result<(), LoadPlanError> {
    // In the object's order, for the error.
    let check = |kind, asked: Vec<&String>, names: &[&[u8]]| {
        let has: HashSet<String> = names.iter().map(|name| key(name)).collect();
        let known = || names.iter().map(|name| key(name).into()).collect();
        let missing =
            |name: &String| LoadPlanError::NoSuch { kind, name: name.as_str().into(), known: known() };
        asked.into_iter().find(|name| !has.contains(*name)).map_or(Ok(()), |name| Err(missing(name)))
    };
    let programs: Vec<_> = object.programs().iter().filter(|p| !p.is_subprogram).map(|p| p.name).collect();
    let maps: Vec<_> = parts.maps.entries.iter().map(|m| m.name).collect();
    check("program", settings.programs.keys().collect(), &programs)?;
    check("map", settings.maps.keys().collect(), &maps)
}

fn struct_ops_tables(
    object: &Object<'_>,
    parts: &ProgramLinker<'_, '_>,
    settings: &Settings,
    host: &Host,
    modules: &mut Modules,
) -> Result<struct_ops::Tables, LoadPlanError> {
    let of = |at: MapIndex| {
        let entry = parts.maps.entries.get(at.0)?;
        Some((entry, settings.maps.get(&key(entry.name))))
    };
    let created = |at: MapIndex| {
        let Some((entry, settings)) = of(at) else { return false };
        let optional = match entry.source {
            crate::link::maps::MapSource::StructOps(table) => table.section.name.starts_with(b"?"),
            _ => false,
        };
        settings.and_then(|s| s.autocreate).unwrap_or(!optional)
    };
    let changed = |at: MapIndex| of(at).and_then(|(_, settings)| settings);
    struct_ops::resolve(object, &parts.maps, host, modules, created, changed)
}

/// Returns, for each function, whether it is loaded as a program, and the programs that are not loaded.
fn select(
    object: &Object<'_>,
    settings: &Settings,
    tables: &struct_ops::Tables,
) -> (Vec<bool>, Vec<SkippedProgram>) {
    let mut skipped = Vec::new();
    let mut is_selected = |(at, p): (ProgramIndex, &Program<'_>)| {
        if p.is_subprogram {
            return false;
        }
        let name = key(p.name);
        let wanted = settings.programs.get(&name).and_then(|s| s.autoload);
        // Where it stands in a table, the table decides (libbpf: `bpf_object_adjust_struct_ops_autoload`).
        let reason = match tables.autoload.get(&at) {
            Some(false) => "no struct_ops map that is created uses it",
            None if wanted == Some(false) => "not wanted",
            None if wanted.is_none() && !p.autoload() => "its section begins with `?`",
            Some(true) | None => return true,
        };
        skipped.push(SkippedProgram { program: name, reason });
        false
    };
    let selected = ProgramIndex::enumerate(object.programs()).map(&mut is_selected).collect();
    (selected, skipped)
}
