//! The target of a plan: a kernel and a machine.

use crate::{errno::Errno, features::Features, target::KernelTypes};
use alloc::sync::Arc;
use core::fmt;
use std::{
    io::{self, BufRead},
    os::fd::BorrowedFd,
};

/// Access to data of the running system that few plans need.
pub trait ReadSystem: fmt::Debug + Send + Sync {
    /// Reads the kernel's configuration: lines such as `CONFIG_HZ=250`.
    fn read_kconfig(&self) -> io::Result<Arc<str>>;

    /// Opens `/proc/kallsyms`, the kernel's symbols.
    fn open_kallsyms(&self) -> io::Result<Box<dyn BufRead>>;

    /// Reads the BTF of a loaded program. Returns `None` if the program was loaded without BTF.
    fn read_program_btf(&self, program: BorrowedFd<'_>) -> Result<Option<Vec<u8>>, Errno>;
}

/// The kernel and the machine that a plan is for. Expensive data is read only if a plan needs it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Host {
    /// The kernel's features.
    pub features: Features,
    /// The kernel's types.
    pub types: Arc<KernelTypes>,
    /// The types for CO-RE relocation, instead of the kernel's (libbpf: `btf_custom_path`).
    pub relocation_types: Option<Arc<KernelTypes>>,
    /// The number of possible CPUs, 0 if unknown.
    pub cpus: u32,
    /// The size of a page in bytes.
    pub page_size: u32,
    /// `LINUX_KERNEL_VERSION`: `(major << 16) + (minor << 8) + patch`.
    pub kernel_version: u32,
    /// The text of the kernel's configuration. `None` reads the configuration from `system` if a plan needs it.
    pub kconfig: Option<Arc<str>>,
    /// The text of `/proc/kallsyms`. `None` reads the symbols from `system` if a plan needs them.
    pub kallsyms: Option<Arc<str>>,
    /// The running system, from which missing data is read. `None` if the host is not the running system.
    pub system: Option<Arc<dyn ReadSystem>>,
}

impl Host {
    /// Creates a host of which only the types are known, with every kernel feature. For plans that are not executed.
    pub fn offline(types: Arc<KernelTypes>) -> Self {
        Self {
            features: Features::newest(),
            types,
            relocation_types: None,
            cpus: 1,
            page_size: 4096,
            kernel_version: 0,
            kconfig: Some("".into()),
            kallsyms: Some("".into()),
            system: None,
        }
    }

    /// Returns whether nothing but the types is known: the host is not the running system, and has no configuration and no symbols.
    pub(super) fn knows_types_only(&self) -> bool {
        let is_empty = |text: &Option<Arc<str>>| text.as_deref() == Some("");
        !self.features.is_live() && is_empty(&self.kconfig) && is_empty(&self.kallsyms)
    }

    /// Sets the types for CO-RE relocation, instead of the kernel's.
    #[must_use]
    pub fn relocated_against(mut self, types: Arc<KernelTypes>) -> Self {
        self.relocation_types = Some(types);
        self
    }

    /// Returns the running system, if the host is that system.
    fn system(&self) -> io::Result<&dyn ReadSystem> {
        let missing = || io::Error::new(io::ErrorKind::Unsupported, "the plan is not for the running kernel");
        self.system.as_deref().ok_or_else(missing)
    }

    /// Returns the kernel's configuration.
    pub(super) fn read_kconfig(&self) -> io::Result<Arc<str>> {
        match &self.kconfig {
            Some(config) => Ok(Arc::clone(config)),
            None => self.system()?.read_kconfig(),
        }
    }

    /// Opens the kernel's symbols. The reader is buffered, since the file has hundreds of thousands of lines.
    pub(super) fn kallsyms(&self) -> io::Result<Box<dyn BufRead + '_>> {
        match &self.kallsyms {
            Some(symbols) => Ok(Box::new(symbols.as_bytes())),
            None => self.system()?.open_kallsyms().map(|lines| -> Box<dyn BufRead> { lines }),
        }
    }

    /// Returns the BTF of a loaded program. Returns `None` if the program was loaded without BTF.
    pub(super) fn read_program_btf(&self, program: BorrowedFd<'_>) -> Result<Option<Vec<u8>>, String> {
        let system = self.system().map_err(|e| e.to_string())?;
        system.read_program_btf(program).map_err(|e| e.to_string())
    }
}
