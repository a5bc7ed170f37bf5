//! The kernel that a loader program is generated for.

use crate::{
    args::gen_loader::{GenLoaderArgs, PAGE_BYTES},
    error::{BadInput, escape_path},
};
use core_relo_kernels::{self, Kernel, KernelSource, Limits, OpenedKernel, WantedFacts, running_release};
use core_relo_loader::{
    load_plan::{KernelFact, LateBinding, Refusal, TargetKernel},
    running_kernel,
};
use core_relo_verdict::kernel::KernelVersion;
use std::path::Path;

/// The value of `--kernel` for the running kernel.
const RUNNING: &str = "running";

/// The kernel that a loader program is generated for: every kernel, or one.
pub(super) struct LoaderTarget {
    pub(super) kernel: TargetKernel,
    /// The release of the running kernel, or the path of the kernel's file; empty for every kernel.
    pub(super) name: String,
    /// The contradiction between the version that the user gives and that of the kernel.
    pub(super) warning: Option<String>,
}

impl LoaderTarget {
    /// Reads the kernel of `--kernel`. Without `--page-size`, pages have the size in the kernel's
    /// configuration, or that of this machine.
    pub(super) fn read(args: &GenLoaderArgs) -> Result<Self, BadInput> {
        let version = args.kernel_version;
        let warn = |kernel: &Kernel| version.and_then(|version| kernel.version_warning(version));
        let (mut kernel, name, warning) = match args.kernel.as_deref() {
            None => (TargetKernel::unknown(), String::new(), None),
            Some(path) if path.as_os_str() == RUNNING => {
                let mut running = running_kernel();
                running.kernel_version = version.map_or(running.kernel_version, KernelVersion::code);
                let warning = match version {
                    Some(_) => warn(&Kernel::read(&KernelSource::Running, &[], Limits::default())?),
                    None => None,
                };
                (running, running_release(), warning)
            }
            Some(path) => {
                let kernel = read_kernel(path)?;
                (kernel.plan_target(version), escape_path(path), warn(&kernel))
            }
        };
        if args.kernel.is_some() {
            kernel.late_binding = LateBinding::Names;
        }
        let configured = kernel.kconfig.as_deref().and_then(configured_page_size);
        kernel.page_size = args.page_size.or(configured).unwrap_or_else(|| running_kernel().page_size);
        Ok(Self { kernel, name, warning })
    }

    /// Returns the options that give the facts which refused externs need. Returns `None` if no fact is
    /// missing.
    pub(super) fn facts_help(&self, refused: &[Refusal]) -> Option<String> {
        let needs = |fact| refused.iter().any(|refusal| refusal.missing == Some(fact));
        let (needs_version, needs_kconfig) = (needs(KernelFact::Version), needs(KernelFact::Kconfig));
        let is_for_every_kernel = self.name.is_empty();
        let version = match is_for_every_kernel {
            true => "name the kernel with --kernel (`running` or an image)",
            false => "give the version with --kernel-version X.Y.Z, or name a kernel image with --kernel",
        };
        let kconfig = match is_for_every_kernel {
            true => "give --kconfig FILE, or name the kernel with --kernel (`running` or an image)",
            false => "give the configuration with --kconfig FILE",
        };
        match (needs_version, needs_kconfig) {
            (false, false) => None,
            (true, false) => Some(version.to_owned()),
            // The kernel has the configuration, too.
            (true, true) if is_for_every_kernel => Some(version.to_owned()),
            (true, true) => Some(format!("{version}; {kconfig}")),
            (false, true) => Some(kconfig.to_owned()),
        }
    }
}

/// Reads a kernel from a file, with the version and the configuration in the file.
fn read_kernel(path: &Path) -> Result<Kernel, BadInput> {
    let wanted = WantedFacts { version_and_kconfig: true, ..WantedFacts::default() };
    let source = KernelSource::File { path: path.to_path_buf(), base: None, is_listed: false };
    Ok(OpenedKernel::open(&source, &[], Limits::default())?.parse_with_facts(wanted)?)
}

/// Returns the size of a page in a configuration. Before Linux 6.9, few architectures have the option.
fn configured_page_size(kconfig: &str) -> Option<u32> {
    const NAMES: [&str; 3] = ["CONFIG_PAGE_SHIFT", "CONFIG_ARM64_PAGE_SHIFT", "CONFIG_PPC_PAGE_SHIFT"];
    let mut options = kconfig.lines().filter_map(|line| line.split_once('='));
    let (_, shift) = options.find(|(name, _)| NAMES.contains(name))?;
    let bytes = 1_u32.checked_shl(shift.trim().parse().ok()?);
    bytes.filter(|bytes| PAGE_BYTES.contains(bytes))
}
