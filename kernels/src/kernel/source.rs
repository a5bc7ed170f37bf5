//! The places that kernels are read from.

use crate::{file_kind::is_archive_name, kernel::id::KernelId};
use core_relo_loader::target;
use core_relo_verdict::kernel::DistributionKernel;
use std::path::{Path, PathBuf};

/// A kernel, or an archive of kernels, that has not been read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelSource {
    /// The running kernel.
    Running,
    /// A file.
    File {
        /// The path.
        path: PathBuf,
        /// The kernel of a module, if the file is BTF of a module; by default, `vmlinux` in the same
        /// directory.
        base: Option<PathBuf>,
        /// Whether the path is from the list of a directory, so that the user did not name the file.
        is_listed: bool,
    },
    /// A tar archive of any number of kernels.
    Archive(PathBuf),
    /// A kernel in the store of fetched kernels.
    Fetched(FetchedKernel),
    /// BTF that is part of this program.
    Embedded {
        /// The name of the kernel.
        name: &'static str,
        /// The BTF.
        bytes: &'static [u8],
    },
}

/// The files of a fetched kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedKernel {
    /// The name in reports: `debian:12/6.1.0-50-amd64`.
    pub name: String,
    /// The BTF. Files beside it have the configuration, the version and the symbols.
    pub btf: PathBuf,
    /// The directory with the BTF of modules, `MODULE.btf`, which is read when a relocation needs it. The
    /// directory need not exist.
    pub modules: PathBuf,
    /// The image, which need not exist.
    pub image: PathBuf,
    /// The architecture, as `uname -m` prints it.
    pub architecture: String,
    /// The series of which the kernel is a version: `debian:12 x86_64 cloud`.
    pub series: String,
    /// The package that the kernel is from.
    pub distribution: Option<DistributionKernel>,
}

impl KernelSource {
    /// Returns the source for a path. The name decides whether the file is an archive.
    pub fn from_path(path: PathBuf, base: Option<PathBuf>) -> Self {
        if is_archive_name(&path) { Self::Archive(path) } else { Self::File { path, base, is_listed: false } }
    }

    /// Returns the source for a path in the list of a directory.
    pub fn from_listed_path(path: PathBuf) -> Self {
        if is_archive_name(&path) {
            Self::Archive(path)
        } else {
            Self::File { path, base: None, is_listed: true }
        }
    }

    /// Returns whether the user did not name each kernel: the kernels are from a directory or an archive.
    pub const fn is_listed(&self) -> bool {
        matches!(self, Self::File { is_listed: true, .. } | Self::Archive(_))
    }

    /// Returns the file that boots: the image of a fetched kernel, or the file itself.
    pub fn boot_image(&self) -> Option<&Path> {
        match self {
            Self::File { path, .. } => Some(path),
            Self::Fetched(kernel) => Some(&kernel.image),
            Self::Running | Self::Archive(_) | Self::Embedded { .. } => None,
        }
    }

    /// Returns the fetched kernel, if the source is one.
    pub const fn fetched(&self) -> Option<&FetchedKernel> {
        match self {
            Self::Fetched(kernel) => Some(kernel),
            Self::Running | Self::File { .. } | Self::Archive(_) | Self::Embedded { .. } => None,
        }
    }

    /// Returns the identity of the kernel, or of an archive as a whole.
    pub fn id(&self) -> KernelId {
        match self {
            Self::Running => KernelId::Running(running_release()),
            Self::File { path, .. } | Self::Archive(path) => KernelId::File(path.clone().into_os_string()),
            Self::Fetched(kernel) => KernelId::Fetched(format!("{}@{}", kernel.name, kernel.architecture)),
            Self::Embedded { name, .. } => KernelId::Embedded((*name).to_owned()),
        }
    }
}

/// Returns the release of the running kernel, as `uname -r` prints it.
pub fn running_release() -> String {
    target::release().unwrap_or_else(|_| "unknown".to_owned())
}
