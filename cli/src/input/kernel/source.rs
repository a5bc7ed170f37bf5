//! The places that kernels are read from.

use crate::input::{file_kind::is_archive_name, kernel::id::KernelId};
use core_relo_loader::target;
use std::path::PathBuf;

/// A kernel, or an archive of kernels, that has not been read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KernelSource {
    /// The running kernel.
    Running,
    /// A file. If it is BTF of a module, `base` is the kernel of the module; by default, `vmlinux` in the same directory.
    File { path: PathBuf, base: Option<PathBuf> },
    /// A tar archive of any number of kernels.
    Archive(PathBuf),
    /// BTF that is part of this program.
    Embedded { name: &'static str, bytes: &'static [u8] },
}

impl KernelSource {
    /// Returns the source for a path. The name decides whether the file is an archive.
    pub(crate) fn from_path(path: PathBuf, base: Option<PathBuf>) -> Self {
        if is_archive_name(&path) { Self::Archive(path) } else { Self::File { path, base } }
    }

    /// Returns the identity of the kernel, or of an archive as a whole.
    pub(crate) fn id(&self) -> KernelId {
        match self {
            Self::Running => KernelId::Running(running_release()),
            Self::File { path, .. } | Self::Archive(path) => KernelId::File(path.clone().into_os_string()),
            Self::Embedded { name, .. } => KernelId::Embedded((*name).to_owned()),
        }
    }
}

/// Returns the release of the running kernel, as `uname -r` prints it.
pub(crate) fn running_release() -> String {
    target::release().unwrap_or_else(|_| "unknown".to_owned())
}
