//! What a plan has to know about a kernel and its machine.

use crate::{errno::Errno, features::Features, target::KernelTypes};
use alloc::sync::Arc;
use core::fmt;
use std::{
    io::{self, BufRead},
    os::fd::BorrowedFd,
};

/// Reads from a running system what plans rarely need.
pub trait ReadSystem: fmt::Debug + Send + Sync {
    /// Reads the kernel's configuration: lines such as `CONFIG_HZ=250`.
    fn read_kconfig(&self) -> io::Result<Arc<str>>;

    /// Opens `/proc/kallsyms`, the kernel's symbols.
    fn open_kallsyms(&self) -> io::Result<Box<dyn BufRead>>;

    /// Reads the BTF of a loaded program; none if it was loaded without.
    fn read_program_btf(&self, program: BorrowedFd<'_>) -> Result<Option<Vec<u8>>, Errno>;
}

/// A kernel and its machine, as far as a plan asks. What is expensive is read when it is needed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Host {
    /// What the kernel can do.
    pub features: Features,
    /// The kernel's types.
    pub types: Arc<KernelTypes>,
    /// Types to relocate against instead of the kernel's (libbpf: `btf_custom_path`).
    pub relocation_types: Option<Arc<KernelTypes>>,
    /// Processors there may be; 0 if that cannot be told.
    pub cpus: u32,
    /// Bytes of a page.
    pub page_size: u32,
    /// `LINUX_KERNEL_VERSION`: `(major << 16) + (minor << 8) + patch`.
    pub kernel_version: u32,
    /// The kernel's configuration; none: read from the running system when needed.
    pub kconfig: Option<Arc<str>>,
    /// Text of `/proc/kallsyms`; none: read from the running system when needed.
    pub kallsyms: Option<Arc<str>>,
    /// Reads what is not given here; none: nothing can be read.
    pub system: Option<Arc<dyn ReadSystem>>,
}

impl Host {
    /// A kernel of which only the types are known, taken to be able to do everything: for plans that are not carried out.
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

    /// Whether a kernel's configuration and symbols are not this machine's and were not given either.
    pub(super) fn knows_types_only(&self) -> bool {
        let is_empty = |text: &Option<Arc<str>>| text.as_deref() == Some("");
        !self.features.is_live() && is_empty(&self.kconfig) && is_empty(&self.kallsyms)
    }

    /// With types to relocate against instead of the kernel's own.
    #[must_use]
    pub fn relocated_against(mut self, types: Arc<KernelTypes>) -> Self {
        self.relocation_types = Some(types);
        self
    }

    fn system(&self) -> io::Result<&dyn ReadSystem> {
        let missing = || io::Error::new(io::ErrorKind::Unsupported, "the plan is not for the running kernel");
        self.system.as_deref().ok_or_else(missing)
    }

    /// Returns the kernel's configuration.
    pub(super) fn read_kconfig(&self) -> io::Result<Arc<str>> {
        match &self.kconfig {
            Some(given) => Ok(Arc::clone(given)),
            None => self.system()?.read_kconfig(),
        }
    }

    /// Returns the kernel's symbols, a line each: read line by line, since there are hundreds of thousands.
    pub(super) fn kallsyms(&self) -> io::Result<Box<dyn BufRead + '_>> {
        match &self.kallsyms {
            Some(given) => Ok(Box::new(given.as_bytes())),
            None => self.system()?.open_kallsyms().map(|lines| -> Box<dyn BufRead> { lines }),
        }
    }

    /// Returns the BTF of a loaded program; none if it was loaded without.
    pub(super) fn read_program_btf(&self, program: BorrowedFd<'_>) -> Result<Option<Vec<u8>>, String> {
        let system = self.system().map_err(|e| e.to_string())?;
        system.read_program_btf(program).map_err(|e| e.to_string())
    }
}
