//! The BTF of a kernel and of its modules, found in an archive.

use super::{
    choose::{ArchiveChoice, EntryEvidence},
    error::ArchiveError,
    identity::KernelIdentity,
    read::BtfArchive,
};
use crate::target::KernelBtf;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use core::fmt;
use core_relo::btf::Btf;

/// The BTF of a kernel, and where it comes from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FoundBtf {
    /// The BTF of the kernel and its modules, for [`TargetKernel::btf`](crate::load_plan::TargetKernel).
    pub btf: Arc<KernelBtf>,
    /// The origin of the BTF.
    pub origin: BtfOrigin,
}

impl FoundBtf {
    /// Creates the result for a kernel that has BTF itself.
    pub fn of_kernel(btf: Arc<KernelBtf>) -> Self {
        Self { btf, origin: BtfOrigin::Kernel }
    }
}

/// The origin of a kernel's BTF.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BtfOrigin {
    /// The kernel itself, or an image of it.
    Kernel,
    /// An archive.
    Archive {
        /// The name of the entry: `ubuntu/20.04/x86_64/5.4.0-42-generic.btf`.
        file: String,
        /// The evidence that the entry belongs to the kernel.
        evidence: EntryEvidence,
    },
}

impl fmt::Display for BtfOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel => f.write_str("the kernel"),
            Self::Archive { file, evidence } => write!(f, "{file} of the archive, by {}", evidence.words()),
        }
    }
}

/// Finds the BTF of a kernel, and of its loaded modules, in an archive. Reads nothing of the running kernel.
pub fn find_in_archive(
    archive: &[u8],
    kernel: &KernelIdentity,
    loaded_modules: &BTreeSet<String>,
) -> Result<FoundBtf, ArchiveError> {
    let archive = BtfArchive::parse(archive)?;
    let ArchiveChoice { entry, evidence } = archive.choose(kernel)?;
    let damaged = |name: &str, cause| ArchiveError::Btf { name: name.to_owned().into(), cause };
    let vmlinux = Btf::parse(archive.read(entry)?).map_err(|cause| damaged(&entry.content, cause))?;
    let vmlinux = Arc::new(vmlinux);
    let mut modules = Vec::new();
    for module in entry.modules.iter().filter(|module| loaded_modules.contains(*module)) {
        let bytes = archive.read_module(entry, module)?;
        let btf = Btf::parse_split(bytes, Arc::clone(&vmlinux))
            .map_err(|cause| damaged(&entry.module_member(module), cause))?;
        modules.push((module.clone(), Arc::new(btf)));
    }
    let origin = BtfOrigin::Archive { file: entry.file.clone(), evidence };
    Ok(FoundBtf { btf: Arc::new(KernelBtf::from_btf(vmlinux, modules)), origin })
}
