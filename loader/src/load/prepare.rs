//! A load in two steps: first BTF and maps, then programs one at a time.

use super::{
    error::LoadError,
    kernel::Kernel,
    loaded::{Loaded, LoadedProgram},
    loading::Loading,
    replaceable::{Refusals, ReplaceablePrograms},
};
use crate::sys::Errno;
use core_relo_object::load_plan::{LateBinding, LoadPlan, LoadPlanError, NamedPart};
use std::collections::HashSet;

/// Executes the first half of a plan: loads BTF and creates maps (libbpf: `bpf_object__prepare`).
///
/// The caller can read and fill the maps before any program is loaded.
///
/// ```no_run
/// use core_relo_loader::{Loader, load::{self, RunningKernel}, object::Object};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bytes = std::fs::read("exec.bpf.o")?;
/// let object = Object::parse(&bytes)?;
/// let plan = Loader::new(&object).plan()?;
/// let mut prepared = load::prepare(&plan, &RunningKernel)?;
/// println!("{} maps", prepared.loaded().maps().len());
/// if let Err(error) = prepared.load_program("not_on_every_kernel") {
///     println!("left out: {error}");
/// }
/// prepared.load_program("needed")?;
/// let loaded = prepared.finish_partial()?;
/// # Ok(())
/// # }
/// ```
pub fn prepare<'p, K: Kernel>(plan: &'p LoadPlan, kernel: &'p K) -> Result<Prepared<'p, K>, LoadError> {
    let mut prepared = Prepared { plan, loading: Loading::new(plan, kernel) };
    prepared.create_maps().map_err(|error| prepared.loading.add_btf_refusal(error))?;
    Ok(prepared)
}

/// An object with its maps, whose programs are still to load. Dropping the value undoes the load.
#[derive(Debug)]
#[must_use = "dropping it undoes what was loaded"]
pub struct Prepared<'p, K: Kernel> {
    plan: &'p LoadPlan,
    loading: Loading<'p, K>,
}

impl<K: Kernel> Prepared<'_, K> {
    /// Returns the maps and programs that are loaded so far.
    pub fn loaded(&self) -> &Loaded {
        &self.loading.loaded
    }

    /// Loads a program of the plan and returns it. A program that is loaded already is not loaded again.
    ///
    /// If the kernel refuses the program, the maps and the other programs stay loaded.
    pub fn load_program(&mut self, name: &str) -> Result<&LoadedProgram, LoadError> {
        if self.loaded().program(name).is_none() {
            let planned = self.plan.programs().iter().find(|p| p.name() == name);
            let planned = planned.ok_or_else(|| LoadError::Plan {
                object: self.plan.name().into(),
                cause: LoadPlanError::NoSuch {
                    kind: NamedPart::PlannedProgram,
                    name: name.into(),
                    known: self.plan.programs().iter().map(|p| p.name().into()).collect(),
                },
            })?;
            let result = self.loading.load_program(self.plan, planned);
            result.map_err(|error| self.loading.add_btf_refusal(error))?;
        }
        let missing = || self.loading.error(format!("program `{name}`"), Errno(libc::ENOENT));
        self.loaded().program(name).ok_or_else(missing)
    }

    /// Loads the remaining programs, writes programs to the maps that contain programs, and pins maps.
    ///
    /// If another process took one of the pins in the meantime, the load is undone ([`LoadError::PinTaken`]).
    /// The caller can prepare the object again, which then uses the other map.
    pub fn finish(mut self) -> Result<Loaded, LoadError> {
        self.load_programs(&ReplaceablePrograms::default())?;
        self.finish_and_pin()
    }

    /// Leaves out the remaining programs, writes the loaded programs to the maps that contain programs, and
    /// pins maps. The map elements of programs that are left out stay empty.
    pub fn finish_partial(self) -> Result<Loaded, LoadError> {
        self.finish_and_pin()
    }

    /// Loads the remaining programs and writes programs to the maps that contain programs. After a refusal,
    /// continues with the programs that are replaceable, and fails with all refusals.
    pub(crate) fn finish_unpinned(mut self, replaceable: &ReplaceablePrograms) -> Result<Loaded, LoadError> {
        self.load_programs(replaceable)?;
        self.fill_maps_with_programs()
    }

    /// Executes all steps before the programs.
    fn create_maps(&mut self) -> Result<(), LoadError> {
        let (plan, loading) = (self.plan, &mut self.loading);
        if plan.late_binding() != LateBinding::Nothing {
            return Err(LoadError::Plan { object: plan.name().into(), cause: LoadPlanError::LateBinding });
        }
        if let [first, ..] = plan.repairs() {
            let more = plan.repair_count().saturating_sub(1);
            let more = if more > 0 { format!(" (and {more} more repairs)") } else { String::new() };
            log::warn!("{}: repaired: {first}{more}", plan.name());
        }
        for pointer in &plan.null_pointers().listed {
            log::warn!("{}: {pointer}", plan.name());
        }
        loading.create_token(plan)?;
        if let Some(errno) = plan.probe_error() {
            let mut error = loading.error("the kernel lets this process load nothing".into(), errno);
            if let (LoadError::Kernel { hint, .. }, true) = (&mut error, plan.raises_memlock_limit()) {
                hint.0.push_str(
                    "; this kernel also charges maps and programs to the limit on locked memory: `ulimit -l unlimited`",
                );
            }
            return Err(error);
        }
        if plan.raises_memlock_limit() {
            // The limit may be high enough as it is.
            if let Err(errno) = loading.kernel.raise_memlock_limit() {
                log::info!("the limit on locked memory stays: {errno}");
            }
        }
        for module in plan.modules() {
            let request = || format!("BTF of module `{}`", module.name);
            let btf =
                loading.kernel.btf_by_id(module.btf_id).map_err(|errno| loading.error(request(), errno))?;
            loading.loaded.modules.push(btf);
        }
        loading.load_btf(plan)?;
        plan.maps().iter().try_for_each(|map| loading.load_map(map))?;
        loading.fill_maps_of_maps()
    }

    fn load_programs(&mut self, replaceable: &ReplaceablePrograms) -> Result<(), LoadError> {
        // Programs may share a name, so the function identifies the program.
        let loaded: HashSet<_> = self.loaded().programs().iter().map(|p| p.plan.function()).collect();
        let mut refusals = Refusals::new(self.plan, replaceable);
        for program in self.plan.programs().iter().filter(|program| !loaded.contains(&program.function())) {
            if !refusals.is_worth_loading(program) {
                continue;
            }
            let result = self.loading.load_program(self.plan, program);
            if let Err(error) = result.map_err(|error| self.loading.add_btf_refusal(error))
                && !refusals.add(program, error)
            {
                break;
            }
        }
        refusals.into_result()
    }

    fn finish_and_pin(self) -> Result<Loaded, LoadError> {
        let kernel = self.loading.kernel;
        let mut loaded = self.fill_maps_with_programs()?;
        loaded.pin_maps(kernel)?;
        Ok(loaded)
    }

    fn fill_maps_with_programs(mut self) -> Result<Loaded, LoadError> {
        let result = self.loading.fill_maps_with_programs();
        result.map_err(|error| self.loading.add_btf_refusal(error))?;
        Ok(self.loading.loaded)
    }
}
