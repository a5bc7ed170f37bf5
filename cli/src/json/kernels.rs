//! Fetched kernels as JSON.

use crate::error::escape_path;
use core_relo_kernels::fetch::{AvailableKernel, KernelSpec, Manifest, StoredKernel};
use serde::Serialize;
use std::path::Path;

/// A kernel on a mirror.
#[derive(Debug, Serialize)]
pub(crate) struct ListedKernel {
    pub(crate) name: String,
    #[serde(rename = "fetched")]
    pub(crate) is_fetched: bool,
    pub(crate) version: String,
    pub(crate) architecture: String,
    pub(crate) flavour: String,
    pub(crate) download_bytes: u64,
    kernel: AvailableKernel,
}

impl ListedKernel {
    pub(crate) fn new(kernel: &AvailableKernel, is_fetched: bool) -> Self {
        Self {
            name: kernel.name(),
            is_fetched,
            version: kernel.version.clone(),
            architecture: kernel.architecture.clone(),
            flavour: kernel.flavour.clone(),
            download_bytes: kernel.download_bytes(),
            kernel: kernel.clone(),
        }
    }
}

/// A kernel in the store.
#[derive(Debug, Serialize)]
pub(crate) struct StoredKernelJson {
    pub(crate) name: String,
    btf: String,
    image: String,
    pub(crate) bytes: u64,
    pub(crate) manifest: Manifest,
}

impl StoredKernelJson {
    pub(crate) fn new(kernel: &StoredKernel) -> Self {
        Self {
            name: kernel.manifest.kernel.name(),
            btf: escape_path(&kernel.btf()),
            image: escape_path(&kernel.image()),
            bytes: kernel.bytes(),
            manifest: kernel.manifest.clone(),
        }
    }
}

/// A kernel that was copied into a directory.
#[derive(Debug, Serialize)]
pub(crate) struct ExportedKernel {
    name: String,
    directory: String,
}

impl ExportedKernel {
    pub(crate) fn new(name: String, directory: &Path) -> Self {
        Self { name, directory: escape_path(directory) }
    }
}

/// A kernel that was added to the lock file, or removed from it.
#[derive(Debug, Serialize)]
pub(crate) struct LockChange {
    spec: String,
    pub(crate) name: String,
    pub(crate) version: String,
    #[serde(rename = "added")]
    pub(crate) is_added: bool,
}

impl LockChange {
    pub(crate) fn new(spec: &KernelSpec, kernel: &AvailableKernel, is_added: bool) -> Self {
        Self { spec: spec.to_string(), name: kernel.name(), version: kernel.version.clone(), is_added }
    }
}
