//! The plan of a load, with the tables that its indices refer to.

use super::{
    externs::ModulePlan,
    maps::MapPlan,
    programs::ProgramPlan,
    relocate::{self, Poisoned, SelectedFunctions},
    settings::{Settings, TokenSource},
    target_kernel::TargetKernel,
    usdt::UsdtPlan,
};
use crate::{
    errno::Errno,
    globals::{Global, ObjectTypes},
    index::{ExternIndex, MapIndex, ModuleIndex, ProgramIndex},
    internal::{InternalError, Invariant as _},
    object::Object,
};
use core_relo::explain::Explanation;

/// The plan of a load: all requests to the kernel.
///
/// Each index in a plan is valid in the plan's own tables. `Display` prints the plan as a dry run.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    pub(super) name: String,
    pub(super) license: Vec<u8>,
    pub(super) kernel_version: u32,
    pub(super) btf: Option<Vec<u8>>,
    pub(super) btf_is_mandatory: bool,
    pub(super) maps: Vec<MapPlan>,
    /// The programs, sorted by function.
    pub(super) programs: Vec<ProgramPlan>,
    pub(super) skipped: Vec<SkippedProgram>,
    pub(super) modules: Vec<ModulePlan>,
    pub(super) fd_array: Vec<ModuleIndex>,
    pub(super) raises_memlock_limit: bool,
    pub(super) probe_error: Option<Errno>,
    pub(super) binds_rodata: bool,
    pub(super) globals: Vec<Global>,
    pub(super) types: ObjectTypes,
    pub(super) token: TokenSource,
    pub(super) usdt: Option<UsdtPlan>,
    pub(super) poisoned: Vec<Poisoned>,
    pub(super) selected: SelectedFunctions,
    pub(super) externs: Vec<String>,
    pub(super) incompatible_kfuncs: Vec<ExternIndex>,
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

/// Maps, programs and modules.
impl LoadPlan {
    /// Returns the maps, in libbpf's order. Jump tables come last.
    pub fn maps(&self) -> &[MapPlan] {
        &self.maps
    }

    /// Returns a map by its index.
    pub fn map(&self, index: MapIndex) -> Result<&MapPlan, InternalError> {
        self.maps.get(index.0).invariant("a map index of a plan refers to a map of the plan")
    }

    /// Returns the programs to load, in the object's order.
    pub fn programs(&self) -> &[ProgramPlan] {
        &self.programs
    }

    /// Returns the plan of a program. Returns `None` if the program is not loaded.
    pub fn program(&self, function: ProgramIndex) -> Option<&ProgramPlan> {
        let position = self.programs.binary_search_by_key(&function, ProgramPlan::function);
        self.programs.get(position.ok()?)
    }

    /// Returns the programs that are not loaded.
    pub fn skipped(&self) -> &[SkippedProgram] {
        &self.skipped
    }

    /// Returns the modules whose BTF the load needs.
    pub fn modules(&self) -> &[ModulePlan] {
        &self.modules
    }

    /// Returns a module by its index.
    pub fn module(&self, index: ModuleIndex) -> Result<&ModulePlan, InternalError> {
        self.modules.get(index.0).invariant("a module index of a plan refers to a module of the plan")
    }

    /// Returns the modules of the `fd_array` that kfunc calls refer to by index. The first module has index 1, since index 0 is the
    /// kernel's own BTF.
    pub fn fd_array(&self) -> &[ModuleIndex] {
        &self.fd_array
    }
}

/// Properties of the whole load.
impl LoadPlan {
    /// Returns the object's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the programs' license.
    pub fn license(&self) -> &[u8] {
        &self.license
    }

    /// Returns the kernel version that programs are loaded with. Kernels before 5.0 compare it with their own.
    pub const fn kernel_version(&self) -> u32 {
        self.kernel_version
    }

    /// Returns the object's BTF, adapted to this kernel. Returns `None` if the object or the kernel has no BTF.
    pub fn btf(&self) -> Option<&[u8]> {
        self.btf.as_deref()
    }

    /// Returns whether the load fails if the kernel refuses the BTF.
    pub const fn btf_is_mandatory(&self) -> bool {
        self.btf_is_mandatory
    }

    /// Returns whether the load raises `RLIMIT_MEMLOCK`, because this kernel charges maps and programs to that limit.
    pub const fn raises_memlock_limit(&self) -> bool {
        self.raises_memlock_limit
    }

    /// Returns the error of probing the running kernel. The plan then assumes a kernel with every feature, and a load most likely
    /// fails.
    pub const fn probe_error(&self) -> Option<Errno> {
        self.probe_error
    }

    /// Returns whether read-only data maps are bound to the programs (`BPF_PROG_BIND_MAP`), even to programs without a reference to
    /// them.
    pub const fn binds_rodata(&self) -> bool {
        self.binds_rodata
    }

    /// Returns the struct_ops maps, and the variables that can be read and set after the load.
    pub fn globals(&self) -> &[Global] {
        &self.globals
    }

    /// Returns the types of the variables.
    pub const fn types(&self) -> &ObjectTypes {
        &self.types
    }

    /// Returns the source of a BPF token.
    pub const fn token(&self) -> &TokenSource {
        &self.token
    }

    /// Returns the plan for attaching USDT probes. Returns `None` if the object lacks the [maps](super::USDT_MAPS) for USDT.
    pub const fn usdt(&self) -> Option<UsdtPlan> {
        self.usdt
    }
}

/// Instructions that are poisoned on this kernel, which explain errors of the verifier.
impl LoadPlan {
    /// Returns the CO-RE relocations whose instructions are poisoned.
    pub fn poisoned(&self) -> &[Poisoned] {
        &self.poisoned
    }

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

    /// Returns whether the CO-RE relocations of a function belong to the programs being loaded.
    #[cfg(test)]
    pub(crate) fn is_selected(&self, function: ProgramIndex) -> bool {
        self.selected.contains(&function)
    }

    /// Returns the names of the externs. [`POISON_KFUNC`](super::POISON_KFUNC) numbers missing kfuncs in this order.
    pub fn externs(&self) -> &[String] {
        &self.externs
    }

    /// Returns the weak kfuncs whose parameters in the kernel differ from the object's declaration.
    pub fn incompatible_kfuncs(&self) -> &[ExternIndex] {
        &self.incompatible_kfuncs
    }
}
