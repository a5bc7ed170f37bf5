//! Kernel images to boot: files, and images in packages.

use crate::input::unpacked_image::UnpackedImage;
use core_relo_kernels::Limits;
use core_relo_vm::{KernelImage, VmError};
use std::{io, path::Path};

/// A kernel image to boot.
pub(crate) struct BootImage {
    pub(crate) kernel: KernelImage,
    _unpacked: UnpackedImage,
}

impl BootImage {
    /// Opens an image, or the image in a package.
    pub(crate) fn open(path: &Path) -> Result<Self, VmError> {
        let unpacked = UnpackedImage::new(path, Limits::default())
            .map_err(|error| VmError::file(path, &io::Error::other(error.what())))?;
        Ok(Self { kernel: KernelImage::open(&unpacked.path)?, _unpacked: unpacked })
    }
}
