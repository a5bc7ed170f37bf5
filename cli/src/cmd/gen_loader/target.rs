//! The kernel that a loader program is generated for.

use crate::{
    args::gen_loader::PAGE_BYTES,
    error::{BadInput, escape_path},
    input::{
        image_facts::WantedFacts,
        kernel::{
            image::KernelImage,
            source::{KernelSource, running_release},
        },
        limits::Limits,
    },
};
use core_relo_loader::{
    load_plan::{LateBinding, Refusal, TargetKernel},
    running_kernel,
    target::KernelBtf,
};
use core_relo_verdict::kernel::KernelInputs;
use std::{path::Path, sync::Arc};

/// The value of `--kernel` for the running kernel.
const RUNNING: &str = "running";

/// The kernel that a loader program is generated for: every kernel, or one.
pub(super) struct LoaderTarget {
    pub(super) kernel: TargetKernel,
    /// The release of the running kernel, or the path of the kernel's file; empty for every kernel.
    pub(super) name: String,
}

impl LoaderTarget {
    /// Reads the kernel of `--kernel`. Without `page_size`, pages have the size in the kernel's configuration, or that of this machine.
    pub(super) fn read(path: Option<&Path>, page_size: Option<u32>) -> Result<Self, BadInput> {
        let (mut kernel, name) = match path {
            None => (TargetKernel::unknown(), String::new()),
            Some(path) if path.as_os_str() == RUNNING => (running_kernel(), running_release()),
            Some(path) => (read_file(path)?, escape_path(path)),
        };
        if path.is_some() {
            kernel.late_binding = LateBinding::Names;
        }
        let configured = kernel.kconfig.as_deref().and_then(configured_page_size);
        kernel.page_size = page_size.or(configured).unwrap_or_else(|| running_kernel().page_size);
        Ok(Self { kernel, name })
    }

    /// Returns the remedy for refused externs. Returns `None` if each refusal has its remedy.
    pub(super) fn externs_help(&self, refused: &[Refusal], has_kconfig: bool) -> Option<String> {
        let needs_version = refused.iter().any(|refusal| &*refusal.name == "LINUX_KERNEL_VERSION");
        let needs_kconfig = refused.iter().any(|refusal| refusal.name.starts_with("CONFIG_"));
        if self.name.is_empty() {
            let help =
                "the version and the configuration are those of one kernel: name the kernel with --kernel";
            return (needs_version || needs_kconfig).then(|| help.to_owned());
        }
        if needs_version && self.kernel.kernel_version == 0 {
            let help = "BTF has no version: name a kernel image or `running` with --kernel";
            return Some(help.to_owned());
        }
        let is_unknown = self.kernel.read_kconfig().map_or(true, |kconfig| kconfig.is_empty());
        let help = || format!("name the configuration of {} with --kconfig", self.name);
        (needs_kconfig && is_unknown && !has_kconfig).then(help)
    }
}

/// Reads a kernel from a file.
fn read_file(path: &Path) -> Result<TargetKernel, BadInput> {
    let wanted = WantedFacts { version_and_kconfig: true, symbols: false };
    let source = KernelSource::File { path: path.to_path_buf(), base: None, is_listed: false };
    let kernel = KernelImage::open(&source, &[], Limits::default())?.parse_with_facts(wanted)?;
    let facts = kernel.inputs(&KernelInputs::default(), wanted);
    let btf = KernelBtf::from_btf(Arc::clone(&kernel.target.vmlinux().btf), []);
    let mut target = TargetKernel::offline(Arc::new(btf));
    if let Some(version) = facts.version {
        // `KERNEL_VERSION`, in which the patch level has one byte.
        let [major, minor] = [version.major, version.minor].map(u32::from);
        target.kernel_version = (major << 16) | (minor << 8) | u32::from(version.patch.min(255));
    }
    if let Some(kconfig) = facts.kconfig {
        target.kconfig = Some(kconfig);
    }
    Ok(target)
}

/// Returns the size of a page in a configuration. Before Linux 6.9, few architectures have the option.
fn configured_page_size(kconfig: &str) -> Option<u32> {
    const NAMES: [&str; 3] = ["CONFIG_PAGE_SHIFT", "CONFIG_ARM64_PAGE_SHIFT", "CONFIG_PPC_PAGE_SHIFT"];
    let mut options = kconfig.lines().filter_map(|line| line.split_once('='));
    let (_, shift) = options.find(|(name, _)| NAMES.contains(name))?;
    let bytes = 1_u32.checked_shl(shift.trim().parse().ok()?);
    bytes.filter(|bytes| PAGE_BYTES.contains(bytes))
}
