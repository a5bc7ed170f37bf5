//! Kernel images to boot: files, and images in packages.

use core_relo_kernels::{InputError, Limits, unpack_boot_files};
use core_relo_vm::{KernelImage, VmError};
use std::{io, path::Path};
use tempfile::TempDir;

/// A kernel image to boot. The image of a package is in a temporary directory, which is removed with this
/// value.
pub(crate) struct BootImage {
    pub(crate) kernel: KernelImage,
    _unpacked: Option<TempDir>,
}

impl BootImage {
    /// Opens an image, or the image in a package.
    pub(crate) fn open(path: &Path) -> Result<Self, VmError> {
        let dir = TempDir::with_prefix("core-relo-").map_err(|error| VmError::file(path, &error))?;
        let unpacked = unpack_boot_files(path, dir.path(), Limits::default());
        match unpacked.map_err(|error| unpack_error(path, &error))? {
            Some(image) => Ok(Self { kernel: KernelImage::open(&image)?, _unpacked: Some(dir) }),
            None => Ok(Self { kernel: KernelImage::open(path)?, _unpacked: None }),
        }
    }
}

fn unpack_error(path: &Path, error: &InputError) -> VmError {
    VmError::file(path, &io::Error::other(error.what()))
}
