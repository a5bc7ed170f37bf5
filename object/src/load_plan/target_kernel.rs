//! The kernel and the machine that a load is planned for.

use super::{kernel_handle::KernelHandle, late_binding::LateBinding};
use crate::{
    errno::Errno,
    features::{Feature, Features},
    lockdown::Lockdown,
    memory_nodes::MemoryNodes,
    object::AttachType,
    target::{KernelBtf, KernelBtfError, KernelType},
};
use alloc::sync::Arc;
use core::fmt;
use core_relo::btf::Kind;
use std::io::{self, BufRead};

/// An attach type whose programs the running machine refuses, although the process has the capabilities: a
/// policy, such as lockdown or another LSM.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "systems build it")]
pub struct RefusedAttachType {
    /// The attach type.
    pub attach_type: AttachType,
    /// The request that the kernel refused, with its error.
    pub answer: String,
}

/// Access to data of the running system that few plans need.
pub trait ReadSystem: fmt::Debug + Send + Sync {
    /// Reads the kernel's configuration: lines such as `CONFIG_HZ=250`.
    fn read_kconfig(&self) -> io::Result<Arc<str>>;

    /// Opens `/proc/kallsyms`, the kernel's symbols.
    fn open_kallsyms(&self) -> io::Result<Box<dyn BufRead>>;

    /// Reads the BTF of a loaded program. Returns `None` if the program was loaded without BTF.
    fn read_program_btf(&self, program: &KernelHandle) -> Result<Option<Vec<u8>>, Errno>;

    /// Returns the attach types of functions and LSM hooks whose programs the machine refuses by a policy. By
    /// default, none is known.
    fn refused_attach_types(&self) -> Vec<RefusedAttachType> {
        Vec::new()
    }

    /// Returns the mode of the machine's lockdown. By default, it is not known to be active.
    fn lockdown(&self) -> Option<Lockdown> {
        None
    }

    /// Returns the memory nodes of the machine. By default, they are not known.
    fn memory_nodes(&self) -> Option<MemoryNodes> {
        None
    }
}

/// The kernel and the machine that a load is planned for: BTF, features, configuration, symbols. Expensive
/// data is read only if a plan needs it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TargetKernel {
    /// The kernel's features.
    pub features: Features,
    /// The BTF of the kernel and its modules.
    pub btf: Arc<KernelBtf>,
    /// The BTF for CO-RE relocation, instead of the kernel's (libbpf: `btf_custom_path`).
    pub relocation_btf: Option<Arc<KernelBtf>>,
    /// The number of possible CPUs, 0 if unknown.
    pub cpus: u32,
    /// The size of a page in bytes.
    pub page_size: u32,
    /// `LINUX_KERNEL_VERSION`: `(major << 16) + (minor << 8) + patch`.
    pub kernel_version: u32,
    /// The text of the kernel's configuration. `None` reads the configuration from `system` if a plan needs
    /// it. Of a kernel that does not run, an empty text stands for an unknown configuration.
    pub kconfig: Option<Arc<str>>,
    /// The text of `/proc/kallsyms`. `None` reads the symbols from `system` if a plan needs them. Of a kernel
    /// that does not run, an empty text stands for unknown symbols.
    pub kallsyms: Option<Arc<str>>,
    /// The running system, from which missing data is read. `None` if this is not the running kernel.
    pub system: Option<Arc<dyn ReadSystem>>,
    /// The parts of the plan that the kernel resolves when a loader program is executed.
    pub late_binding: LateBinding,
}

impl TargetKernel {
    /// Creates a kernel of which only the BTF is known, with every feature. For plans that are not executed.
    pub fn offline(btf: Arc<KernelBtf>) -> Self {
        Self {
            features: Features::newest(),
            btf,
            relocation_btf: None,
            cpus: 1,
            page_size: 4096,
            kernel_version: 0,
            kconfig: Some("".into()),
            kallsyms: Some("".into()),
            system: None,
            late_binding: LateBinding::Nothing,
        }
    }

    /// Creates an unknown kernel with every feature, for a loader program (`loader_program`) that any kernel
    /// can execute: names and CO-RE relocations are left to that kernel.
    pub fn unknown() -> Self {
        Self { late_binding: LateBinding::NamesAndRelocations, ..Self::offline(Arc::new(KernelBtf::none())) }
    }

    /// Finds the first type with a name and kind, also in modules if the kernel has BTF of modules.
    pub(super) fn find_type(
        &self,
        name: &[u8],
        kind: Kind,
    ) -> Result<Option<KernelType<'_>>, KernelBtfError> {
        if self.features.has(Feature::ModuleBtf) {
            return self.btf.find(name, kind);
        }
        let found = self.btf.find_in_vmlinux(name, kind)?;
        Ok(found.map(|ty| KernelType { ty, module: None }))
    }

    /// Returns whether the configuration is known. Of a kernel that does not run, an empty text stands for an
    /// unknown configuration.
    pub(super) fn knows_kconfig(&self) -> bool {
        self.features.is_live() || self.kconfig.as_deref() != Some("")
    }

    /// Returns whether the symbols are known. Of a kernel that does not run, an empty text stands for unknown
    /// symbols.
    pub(super) fn knows_symbols(&self) -> bool {
        self.features.is_live() || self.kallsyms.as_deref() != Some("")
    }

    /// Sets the BTF for CO-RE relocation, instead of the kernel's.
    #[must_use]
    pub fn relocated_against(mut self, btf: Arc<KernelBtf>) -> Self {
        self.relocation_btf = Some(btf);
        self
    }

    /// Returns the running system, if this is the running kernel.
    fn system(&self) -> io::Result<&dyn ReadSystem> {
        let missing = || io::Error::new(io::ErrorKind::Unsupported, "the plan is not for the running kernel");
        self.system.as_deref().ok_or_else(missing)
    }

    /// Returns the text of the kernel's configuration: `kconfig`, or that of the running system.
    pub fn read_kconfig(&self) -> io::Result<Arc<str>> {
        match &self.kconfig {
            Some(config) => Ok(Arc::clone(config)),
            None => self.system()?.read_kconfig(),
        }
    }

    /// Opens the kernel's symbols: `kallsyms`, or those of the running system. The reader is buffered, since
    /// the file has hundreds of thousands of lines.
    pub fn open_kallsyms(&self) -> io::Result<Box<dyn BufRead + '_>> {
        match &self.kallsyms {
            Some(symbols) => Ok(Box::new(symbols.as_bytes())),
            None => self.system()?.open_kallsyms().map(|lines| -> Box<dyn BufRead> { lines }),
        }
    }

    /// Returns the BTF of a loaded program. Returns `None` if the program was loaded without BTF.
    pub(super) fn read_program_btf(&self, program: &KernelHandle) -> Result<Option<Vec<u8>>, String> {
        let system = self.system().map_err(|e| e.to_string())?;
        system.read_program_btf(program).map_err(|e| e.to_string())
    }
}
