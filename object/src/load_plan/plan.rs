//! The load plan.

use super::{
    externs::{IncompatibleKfunc, KfuncReplacement, ModulePlan},
    late_binding::LateBinding,
    maps::MapPlan,
    programs::ProgramPlan,
    relocate::{self, PoisonedReloc, SelectedFunctions},
    repair::{Repair, Repairs},
    settings::{Settings, TokenSource},
    target_kernel::TargetKernel,
    usdt::UsdtPlan,
};
use crate::{
    errno::Errno,
    globals::{Global, ObjectTypes},
    index::{ExternIndex, MapIndex, ModuleIndex, ProgramIndex},
    internal::{InternalError, Invariant as _},
    object::{NullPointers, Object},
};
use core_relo::{
    Endian,
    btf::{BtfViolation, KernelBtfRules, kernel_violations},
    explain::Explanation,
};

/// The plan of a load: all bpf(2) requests that load an object, as data.
///
/// An index ([`MapIndex`], [`ModuleIndex`], [`ExternIndex`]) is valid only in the plan that contains it.
/// `Display` prints the plan as a dry run.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    pub(super) name: String,
    pub(super) license: Vec<u8>,
    pub(super) kernel_version: u32,
    pub(super) btf: Option<Vec<u8>>,
    pub(super) btf_is_mandatory: bool,
    pub(super) repairs: Repairs,
    pub(super) null_pointers: NullPointers,
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
    pub(super) poisoned: Vec<PoisonedReloc>,
    pub(super) selected: SelectedFunctions,
    pub(super) externs: Vec<String>,
    pub(super) incompatible_kfuncs: Vec<IncompatibleKfunc>,
    pub(super) kfunc_replacements: Vec<(ExternIndex, KfuncReplacement)>,
    pub(super) late_binding: LateBinding,
}

/// A program that is not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedProgram {
    /// The program's name.
    pub program: String,
    /// The reason why the program is not loaded.
    pub reason: &'static str,
}

/// Maps, programs and modules.
impl LoadPlan {
    /// Returns the maps to create or reuse, in libbpf's order. The maps for jump tables come last.
    pub fn maps(&self) -> &[MapPlan] {
        &self.maps
    }

    /// Returns a map by its index. Fails if the index is not from this plan.
    pub fn map(&self, index: MapIndex) -> Result<&MapPlan, InternalError> {
        self.maps.get(index.0).invariant("a map index of a plan refers to a map of the plan")
    }

    /// Returns the programs to load, in the order of [`Object::programs`].
    pub fn programs(&self) -> &[ProgramPlan] {
        &self.programs
    }

    /// Returns the plan of a program by the index of its function in [`Object::programs`]. Returns `None` if
    /// the plan does not load the program.
    pub fn program(&self, function: ProgramIndex) -> Option<&ProgramPlan> {
        let position = self.programs.binary_search_by_key(&function, ProgramPlan::function);
        self.programs.get(position.ok()?)
    }

    /// Returns the programs that are not loaded.
    pub fn skipped(&self) -> &[SkippedProgram] {
        &self.skipped
    }

    /// Returns the kernel modules whose BTF the load needs.
    pub fn modules(&self) -> &[ModulePlan] {
        &self.modules
    }

    /// Returns a module by its index. Fails if the index is not from this plan.
    pub fn module(&self, index: ModuleIndex) -> Result<&ModulePlan, InternalError> {
        self.modules.get(index.0).invariant("a module index of a plan refers to a module of the plan")
    }

    /// Returns the modules whose BTF descriptors form the `fd_array` of `BPF_PROG_LOAD`. Calls of the
    /// modules' kfuncs refer to them by index, from 1 on. Index 0 stands for the kernel's own BTF, which is
    /// not in the slice.
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

    /// Returns the programs' license, without the final NUL; empty if the object has none.
    pub fn license(&self) -> &[u8] {
        &self.license
    }

    /// Returns the `kern_version` of `BPF_PROG_LOAD`, encoded like `KERNEL_VERSION(major, minor, patch)`.
    /// Kernels before 5.0 compare it with their own version for kprobe programs.
    pub const fn kernel_version(&self) -> u32 {
        self.kernel_version
    }

    /// Returns the object's BTF, adapted to this kernel (libbpf: `bpf_object__sanitize_and_load_btf`).
    /// Returns `None` if the object has no BTF, or the kernel does not load BTF.
    pub fn btf(&self) -> Option<&[u8]> {
        self.btf.as_deref()
    }

    /// Returns the first violation of the kernel's rules in [`btf`](Self::btf), by the rules of the release
    /// of [`kernel_version`](Self::kernel_version). A load asks for it if the kernel refuses the BTF.
    pub fn btf_violation(&self) -> Option<BtfViolation> {
        let [_, major, minor, _] = Endian::Big.u32_bytes(self.kernel_version());
        let violations = kernel_violations(self.btf()?, &KernelBtfRules::of_release(major, minor));
        violations.first().cloned()
    }

    /// Returns the parts of the load that the plan changes because the kernel would refuse them. The list
    /// ends after 1,024 repairs.
    pub fn repairs(&self) -> &[Repair] {
        &self.repairs.listed
    }

    /// Returns the number of all repairs, listed or not.
    pub const fn repair_count(&self) -> usize {
        self.repairs.count
    }

    /// Returns the pointers in data maps that the source initialises, and that stay null.
    pub const fn null_pointers(&self) -> &NullPointers {
        &self.null_pointers
    }

    /// Returns whether the load fails if the kernel refuses the BTF (libbpf: `kernel_needs_btf`).
    pub const fn btf_is_mandatory(&self) -> bool {
        self.btf_is_mandatory
    }

    /// Returns whether the load raises `RLIMIT_MEMLOCK`, because this kernel charges maps and programs to
    /// that limit (kernels before 5.11; libbpf: `bump_rlimit_memlock`).
    pub const fn raises_memlock_limit(&self) -> bool {
        self.raises_memlock_limit
    }

    /// Returns the error, if the features of the running kernel could not be probed. The plan then assumes
    /// that the kernel has every feature, and a load most likely fails.
    pub const fn probe_error(&self) -> Option<Errno> {
        self.probe_error
    }

    /// Returns whether the load binds the read-only data maps to every program (`BPF_PROG_BIND_MAP`),
    /// including programs without a reference to them.
    pub const fn binds_rodata(&self) -> bool {
        self.binds_rodata
    }

    /// Returns the parts that the kernel resolves when a loader program is executed.
    pub const fn late_binding(&self) -> LateBinding {
        self.late_binding
    }

    /// Returns the global variables and the struct_ops maps. [`Global::kind`] decides which can be read and
    /// set after the load.
    pub fn globals(&self) -> &[Global] {
        &self.globals
    }

    /// Returns the types of the global variables.
    pub const fn types(&self) -> &ObjectTypes {
        &self.types
    }

    /// Returns the source of the load's BPF token.
    pub const fn token(&self) -> &TokenSource {
        &self.token
    }

    /// Returns the plan for attaching USDT probes. Returns `None` if the object lacks the
    /// [maps](super::USDT_MAPS) for USDT.
    pub const fn usdt(&self) -> Option<UsdtPlan> {
        self.usdt
    }
}

/// Poisoned instructions and externs, with which a loader explains errors of the verifier.
impl LoadPlan {
    /// Returns the CO-RE relocations whose instructions are poisoned on this kernel.
    pub fn poisoned(&self) -> &[PoisonedReloc] {
        &self.poisoned
    }

    /// Explains why a CO-RE relocation is poisoned, by its [record](PoisonedReloc::record).
    ///
    /// `object`, `settings` and `kernel` have to be those of the plan. Returns `None` if the plan has no such
    /// record.
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

    /// Returns the names of the externs. The call that replaces a missing kfunc has the number
    /// [`POISON_KFUNC`](super::POISON_KFUNC) plus the extern's index.
    pub fn externs(&self) -> &[String] {
        &self.externs
    }

    /// Returns the weak kfunc externs whose declaration in the object is incompatible with the kernel's
    /// function. Their calls are poisoned, like those of missing kfuncs.
    pub fn incompatible_kfuncs(&self) -> &[IncompatibleKfunc] {
        &self.incompatible_kfuncs
    }

    /// Returns the kernel's function that does the job of a missing or incompatible kfunc extern, if the
    /// kernel has one.
    pub fn kfunc_replacement(&self, kfunc: ExternIndex) -> Option<&KfuncReplacement> {
        self.kfunc_replacements.iter().find(|(index, _)| *index == kfunc).map(|(_, replacement)| replacement)
    }
}
