//! The description of a kernel in the store.

use crate::fetch::available::{AvailableKernel, KernelPackage};
use serde::{Deserialize, Serialize};

/// The origin of a kernel, and its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// The kernel, with its packages and what protects their hashes.
    pub kernel: AvailableKernel,
    /// The number of modules with BTF.
    pub module_count: usize,
    /// The bytes of the BTF of modules.
    #[serde(default)]
    pub module_bytes: u64,
    /// The origin of the BTF.
    #[serde(default)]
    pub btf_origin: BtfOrigin,
    /// The files, except those of modules.
    pub files: Vec<StoredFile>,
}

/// The origin of a kernel's BTF.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum BtfOrigin {
    /// The image.
    #[default]
    Image,
    /// The debug information in a package, because the image has no BTF.
    DebugInformation {
        /// The package.
        package: KernelPackage,
    },
}

/// A file of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoredFile {
    /// The name.
    pub name: String,
    /// The size in bytes.
    pub bytes: u64,
    /// The SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// The modules of a kernel that have BTF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ModuleTotals {
    pub(super) count: usize,
    /// The bytes of their BTF.
    pub(super) bytes: u64,
}

impl Manifest {
    /// Returns the modules.
    pub(super) const fn modules(&self) -> ModuleTotals {
        ModuleTotals { count: self.module_count, bytes: self.module_bytes }
    }

    pub(super) const fn new(
        kernel: AvailableKernel,
        modules: ModuleTotals,
        btf_origin: BtfOrigin,
        files: Vec<StoredFile>,
    ) -> Self {
        Self { kernel, module_count: modules.count, module_bytes: modules.bytes, btf_origin, files }
    }
}

impl StoredFile {
    pub(super) const fn new(name: String, bytes: u64, sha256: String) -> Self {
        Self { name, bytes, sha256 }
    }
}
