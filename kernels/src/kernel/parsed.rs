//! Parsed kernels.

use crate::{
    btf_file,
    error::{Defect, InputError, escape_path},
    file::bad_btf,
    image_facts::{ImageFact, ImageFacts},
    kernel::{
        further_modules::FurtherModules,
        module::{find_base, is_split_without_base, missing_base, module_name, parse_split, read_module},
        module_packages::{ModulePackages, is_package_path},
        source::{FetchedKernel, running_release},
    },
    limits::Limits,
};
use core_relo::{
    Endian, Name, Plan, Target,
    btf::{Btf, ModuleFilter},
    minimise::MinimalBtf,
};
use core_relo_loader::{
    load_plan::{ReadSystem, TargetKernel},
    running_kernel,
    target::{self, BtfFile, KernelBtf, TargetError},
};
use core_relo_verdict::fleet::JudgedKernel;
use core_relo_verdict::kernel::{
    DistributionKernel, KernelFacts, KernelInputs, KernelVersion, SymbolScope, WantedFacts,
};
use std::{
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The name of the kernel's own BTF in lists of candidates.
const MAIN_BTF: &str = "vmlinux";

/// A kernel that has been read and parsed.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The name in reports.
    pub name: String,
    /// The types of the kernel and of its modules.
    pub target: Target<'static>,
    is_running: bool,
    /// The modules that are added when a relocation needs them.
    further_modules: FurtherModules,
    facts: ImageFacts,
}

impl Kernel {
    /// Creates a kernel without modules.
    pub(super) fn new(name: String, btf: Btf<'static>) -> Self {
        let target = Target::new(MAIN_BTF, Arc::new(btf));
        let (further_modules, facts) = (FurtherModules::None, ImageFacts::default());
        Self { name, target, is_running: false, further_modules, facts }
    }

    /// Reads the running kernel. [`Self::with_needed_modules`] adds its modules.
    pub(super) fn running() -> Result<Self, InputError> {
        let no_btf = |e: TargetError| InputError::new("running kernel", Defect::RunningKernel(Box::new(e)));
        let file = target::kernel().map_err(no_btf)?;
        let btf = file.parse(None).map_err(no_btf)?;
        let name = format!("linux {} (running)", running_release());
        Ok(Self { is_running: true, further_modules: FurtherModules::Running, ..Self::new(name, btf) })
    }

    /// Parses a member of an archive. A member has no base.
    pub(super) fn from_member(path: &Path, file: &BtfFile) -> Result<Self, InputError> {
        let btf = file.parse(None).map_err(|e| {
            let is_module = is_split_without_base(&e);
            let e = Box::new(e);
            InputError::new(path, if is_module { Defect::ModuleInArchive(e) } else { Defect::Btf(e) })
        })?;
        Ok(Self::new(escape_path(path), btf))
    }

    /// Parses a file. For split BTF, reads the base as well.
    pub(super) fn from_file(
        path: &Path,
        file: &BtfFile,
        base: Option<&Path>,
        limits: Limits,
    ) -> Result<Self, InputError> {
        let name = escape_path(path);
        let parsed = file.parse(None);
        let is_module = file.base.is_some() || parsed.as_ref().is_err_and(is_split_without_base);
        if !is_module {
            let btf = parsed.map_err(|e| bad_btf(path, e))?;
            return Ok(Self::new(name, btf));
        }
        let base = match base {
            Some(base) => base.to_path_buf(),
            None => find_base(path).ok_or_else(|| missing_base(path, parsed.as_ref().err()))?,
        };
        let kernel = Self::from_file(&base, &btf_file::read(&base, limits)?, None, limits)?;
        let module = parse_split(path, file, &kernel.target.vmlinux().btf)?;
        let target = kernel.target.with_modules([(module_name(path), Arc::new(module))]);
        Ok(Self { name, target, ..kernel })
    }

    /// Adds the facts that the kernel's image contains.
    pub(super) fn with_facts(self, facts: ImageFacts) -> Self {
        Self { facts, ..self }
    }

    /// Sets the packages that may have modules of the kernel.
    pub(super) fn with_module_packages(self, paths: Vec<PathBuf>, limits: Limits) -> Self {
        Self { further_modules: FurtherModules::InPackages(ModulePackages::new(paths, limits)), ..self }
    }

    /// Adds the name and the modules of a fetched kernel.
    pub(super) fn with_fetched_parts(self, kernel: &FetchedKernel) -> Self {
        let further_modules = FurtherModules::InDirectory(kernel.modules.clone());
        let facts = ImageFacts { distribution: kernel.distribution.clone(), ..self.facts };
        Self { name: kernel.name.clone(), further_modules, facts, ..self }
    }

    /// Adds modules that the user named. Of a package, all modules are added.
    pub(super) fn with_modules(mut self, paths: &[PathBuf], limits: Limits) -> Result<Self, InputError> {
        let mut modules = Vec::new();
        let base = &self.target.vmlinux().btf;
        for path in paths {
            if is_package_path(path, limits)? {
                modules.extend(ModulePackages::new(vec![path.clone()], limits).read_all(base)?);
            } else {
                modules.push((module_name(path), read_module(path, base, limits)?));
            }
        }
        if !modules.is_empty() {
            self.target = self.target.with_modules(modules);
        }
        Ok(self)
    }

    /// Passes the name and the types of each module that is read when a relocation needs it to `visit`.
    /// Modules that cannot be read are left out with a warning in the log.
    pub fn visit_further_modules(&self, visit: &mut dyn FnMut(String, Btf<'static>)) {
        let base = &self.target.vmlinux().btf;
        self.further_modules.visit(&mut |name, file| match file.parse(Some(base)) {
            Ok(btf) => visit(name, btf),
            Err(e) => log::warn!("the module {name} is left out: {e}"),
        });
    }

    /// Returns whether this is the running kernel.
    pub const fn is_running(&self) -> bool {
        self.is_running
    }

    /// Returns whether the kernel's files or the running system may contain the configuration.
    pub const fn has_own_kconfig(&self) -> bool {
        self.is_running || self.facts.kconfig.is_some()
    }

    /// Returns the kernel with those of its modules that may have types which the plans need and vmlinux
    /// lacks. Returns `None` if the plans need no modules, or if the kernel has none.
    pub fn with_needed_modules<'p>(&self, plans: impl Iterator<Item = &'p Plan<'p>> + Clone) -> Option<Self> {
        let needs_modules = plans.clone().any(Plan::needs_modules);
        needs_modules.then(|| self.with_modules_named(plans.flat_map(Plan::names_for_modules)))?
    }

    /// Returns the kernel with those of its modules that may have types of these names. Returns `None` if the
    /// kernel has no modules.
    fn with_modules_named<'n>(&self, names: impl Iterator<Item = Name<'n>>) -> Option<Self> {
        if self.further_modules == FurtherModules::None {
            return None;
        }
        let base = Arc::clone(&self.target.vmlinux().btf);
        let mut module_filter = ModuleFilter::new(&base, names);
        let (mut modules, mut excluded, mut unread_count) = (Vec::new(), Vec::new(), 0usize);
        self.further_modules.visit(&mut |name, file| match file.may_contain(&mut module_filter) {
            true => match file.parse(Some(&base)) {
                Ok(btf) => modules.push((name, Arc::new(btf))),
                Err(e) => {
                    log::warn!("the module {name} is left out: {e}");
                    unread_count += 1;
                }
            },
            false => excluded.push(name),
        });
        let name = &self.name;
        log::info!("{name}: {} modules are searched, {} excluded", modules.len(), excluded.len());
        if modules.is_empty() && excluded.is_empty() && unread_count == 0 {
            return None;
        }
        let target = self.target.clone().with_modules(modules);
        let target = target.with_excluded_modules(excluded, &module_filter).with_unread_modules(unread_count);
        Some(Self { target, further_modules: FurtherModules::None, ..self.clone() })
    }

    /// Returns the version in the kernel's image, or that of the running kernel.
    fn version(&self) -> Option<ImageFact<KernelVersion>> {
        if !self.is_running {
            return self.facts.version.clone();
        }
        let version = KernelVersion::from_code(running_kernel().kernel_version)?;
        Some(ImageFact { value: version, origin: "running kernel".into() })
    }

    /// Returns the version string in the kernel's image, as `uname -v` prints it.
    pub fn version_string(&self) -> Option<&str> {
        self.facts.version_string.as_deref()
    }

    /// Returns the build id in the kernel's image, in hexadecimal digits.
    pub fn build_id(&self) -> Option<&str> {
        self.facts.build_id.as_deref()
    }

    /// Returns the release, as `uname -r` prints it, if the kernel runs or its image contains the release.
    pub fn release(&self) -> Option<String> {
        if self.is_running { Some(running_release()) } else { self.facts.release.clone() }
    }

    /// Returns the package of a distribution that the kernel is from, if it is known.
    pub const fn distribution(&self) -> Option<&DistributionKernel> {
        self.facts.distribution.as_ref()
    }

    /// Returns the contradiction between the version that the user gives and that of the kernel, if there is
    /// one.
    pub fn version_warning(&self, given: KernelVersion) -> Option<String> {
        let ImageFact { value, origin } = self.version()?;
        (!is_compatible(given, value))
            .then(|| format!("the given version is {given}, but that of the kernel is {value} ({origin})"))
    }

    /// Returns the kernel as the target of load plans that are not executed on this machine: its types, and
    /// its version and configuration if they are known. A version that the user gives takes precedence.
    pub fn plan_target(&self, given: Option<KernelVersion>) -> TargetKernel {
        let given = KernelInputs { version: given, ..KernelInputs::default() };
        let wanted = WantedFacts { version_and_kconfig: true, ..WantedFacts::default() };
        let facts = self.inputs(&given, wanted);
        let btf = KernelBtf::from_btf(Arc::clone(&self.target.vmlinux().btf), []);
        let mut target = TargetKernel::offline(Arc::new(btf));
        target.kernel_version = facts.version.map_or(target.kernel_version, KernelVersion::code);
        target.kconfig = facts.kconfig.or(target.kconfig);
        target
    }

    /// Returns whether the target contains the types of a module.
    pub fn has_modules(&self) -> bool {
        self.target.vmlinux().btf.base().is_some() || !self.target.modules().is_empty()
    }

    /// Returns an error if the kernel's BTF lacks the types on which verdicts depend.
    pub fn check_for_verdicts(&self) -> Result<(), InputError> {
        if self.minimal() != Some(MinimalBtf::ForLoading) {
            return Ok(());
        }
        Err(InputError::new(&self.name, Defect::MinimalBtf))
    }

    /// Returns the purpose of the kernel's BTF if it is minimal.
    fn minimal(&self) -> Option<MinimalBtf> {
        MinimalBtf::find(&self.target.vmlinux().btf)
    }

    /// Returns an error if an object has another byte order than the kernel.
    pub fn check_byte_order(&self, object: Endian) -> Result<(), InputError> {
        let own = self.target.vmlinux().btf.endian();
        if own == object {
            return Ok(());
        }
        Err(InputError::new(&self.name, Defect::ByteOrder { kernel: own, object }))
    }
}

impl JudgedKernel for Kernel {
    fn target(&self) -> &Target<'static> {
        &self.target
    }

    fn inputs(&self, given: &KernelInputs, wanted: WantedFacts) -> KernelInputs {
        let mut inputs = given.clone();
        if let (None, Some(ImageFact { value, origin })) = (inputs.version, self.version()) {
            (inputs.version, inputs.origins.version) = (Some(value), Some(origin));
        }
        if let (None, Some(ImageFact { value, origin })) = (&inputs.kconfig, &self.facts.kconfig) {
            inputs.kconfig = Some(Arc::clone(value));
            inputs.origins.kconfig = Some(Arc::clone(origin));
        }
        if let (None, Some(ImageFact { value, origin })) = (&inputs.kallsyms, &self.facts.symbols) {
            inputs.kallsyms = Some(Arc::clone(value));
            inputs.origins.kallsyms = Some(Arc::clone(origin));
            inputs.symbol_scope = SymbolScope::Linked;
        }
        if !self.is_running {
            return inputs;
        }
        inputs.perf_event_max_stack = inputs.perf_event_max_stack.or_else(read_perf_event_max_stack);
        if let Some(system) = running_kernel().system {
            inputs.lockdown = system.lockdown();
            inputs.memory_nodes = system.memory_nodes();
            if wanted.refused_attach_types {
                inputs.refused_attach_types = system.refused_attach_types();
            }
            if inputs.kconfig.is_none() && wanted.version_and_kconfig {
                match system.read_kconfig() {
                    Ok(kconfig) => inputs.kconfig = Some(kconfig),
                    Err(e) => inputs.kconfig_error = Some(e.to_string().into()),
                }
            }
            if inputs.kallsyms.is_none() && wanted.symbols {
                inputs.kallsyms = read_symbols(&*system);
            }
        }
        inputs
    }

    fn is_running(&self) -> bool {
        self.is_running
    }

    fn can_add_modules(&self) -> bool {
        self.further_modules != FurtherModules::None
    }

    fn with_modules_for(&self, names: &mut dyn Iterator<Item = Name<'_>>) -> Option<Self> {
        self.with_modules_named(names)
    }

    fn warnings(&self, given: &KernelInputs, facts: &KernelFacts<'_>) -> Vec<String> {
        let mut warnings = self.facts.warnings.clone();
        if self.minimal().is_some() {
            warnings
                .push("minimal BTF, whose verdicts hold for the objects for which it was written".to_owned());
        }
        let Some(given) = given.version else { return warnings };
        warnings.extend(self.version_warning(given));
        warnings.extend(facts.contradictions());
        warnings
    }
}

/// Reads the symbols of the running kernel. Returns `None` if they cannot be read.
fn read_symbols(system: &dyn ReadSystem) -> Option<Arc<str>> {
    let mut bytes = Vec::new();
    system.open_kallsyms().and_then(|mut symbols| symbols.read_to_end(&mut bytes)).ok()?;
    Some(String::from_utf8_lossy(&bytes).into())
}

/// Reads the sysctl that limits the frames of a stack trace. Returns `None` if it cannot be read.
fn read_perf_event_max_stack() -> Option<u32> {
    let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_stack").ok()?;
    text.trim().parse().ok()
}

/// Returns whether a version that the user gives may be that of a kernel. Without a patch level, it stands
/// for all of them.
fn is_compatible(given: KernelVersion, kernel: KernelVersion) -> bool {
    (given.major, given.minor) == (kernel.major, kernel.minor)
        && (given.patch == 0 || given.patch == kernel.patch)
}
