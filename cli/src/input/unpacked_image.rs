//! Images of kernels for programs that need files: the user's files, and the images in packages.

use core_relo_kernels::{InputError, Limits, file::unreadable, unpack_image};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// An image of a kernel in a file. The image of a package is in a temporary directory, which is removed with
/// this value.
pub(crate) struct UnpackedImage {
    /// The path of the image.
    pub(crate) path: PathBuf,
    _dir: Option<TempDir>,
}

impl UnpackedImage {
    /// Unpacks the image in a package. Other files stay where they are.
    pub(crate) fn new(path: &Path, limits: Limits) -> Result<Self, InputError> {
        let dir = TempDir::with_prefix("core-relo-").map_err(|e| unreadable(&std::env::temp_dir(), &e))?;
        Ok(match unpack_image(path, dir.path(), limits)? {
            Some(image) => Self { path: image, _dir: Some(dir) },
            None => Self { path: path.to_path_buf(), _dir: None },
        })
    }
}
