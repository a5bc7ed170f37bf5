//! The image of the kernel in a package, unpacked into a directory for programs that need files: to boot it,
//! or to read its debug information.

use crate::{
    btf_file::package_kernel::open_path,
    error::{Defect, InputError},
    file::{too_long, unreadable},
    limits::{KERNEL_TEXT_BYTES, Limits},
    package::{KernelFile, KernelFileKind, PackageFile, PackageMetadata},
};
use std::{
    fs::File,
    io,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// The names of the unpacked files. The configuration is found beside the image by its name.
const IMAGE: &str = "vmlinuz";
const CONFIG: &str = "config";

/// Writes the image of the kernel in a package, and the configuration before it, into a directory. Returns
/// the path of the image, or `None` if the file is no package, or a stream.
pub fn unpack_image(package: &Path, dir: &Path, limits: Limits) -> Result<Option<PathBuf>, InputError> {
    let Some(opened) = open_path(package, limits)? else { return Ok(None) };
    let metadata = opened.metadata.clone();
    let mut files = ImageFiles { dir, limits, image: None, config_release: None, file_count: 0 };
    let mut result = Ok(());
    opened.visit_files(&mut |file| {
        result = files.add(file);
        let is_complete = result.is_err() || files.image.is_some();
        if is_complete { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    result?;
    files.finish(package, &metadata).map(Some)
}

/// The files that have been unpacked.
struct ImageFiles<'d> {
    dir: &'d Path,
    limits: Limits,
    /// The path of the image, and the release in its path in the package.
    image: Option<(PathBuf, String)>,
    config_release: Option<String>,
    file_count: usize,
}

impl ImageFiles<'_> {
    fn add(&mut self, file: PackageFile<'_>) -> Result<(), InputError> {
        self.file_count += 1;
        let path = file.path.clone();
        let Some(KernelFile { kind, release }) = KernelFile::from_path(&path) else { return Ok(()) };
        match kind {
            KernelFileKind::Image => {
                let path = self.dir.join(IMAGE);
                write(file, &path, self.limits.bytes)?;
                self.image = Some((path, release.to_owned()));
            }
            // In the order of the paths, the configuration is before the image.
            KernelFileKind::Config if self.config_release.is_none() => {
                write(file, &self.dir.join(CONFIG), KERNEL_TEXT_BYTES)?;
                self.config_release = Some(release.to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(self, package: &Path, metadata: &PackageMetadata) -> Result<PathBuf, InputError> {
        let Some((path, release)) = self.image else {
            let defect = Defect::PackageWithoutKernel {
                packages: vec![metadata.name.clone()],
                file_count: self.file_count,
                module_count: 0,
                kernel_package: metadata.kernel_package(),
            };
            return Err(InputError::new(package, defect));
        };
        if self.config_release.is_some_and(|config| config != release) {
            let config = self.dir.join(CONFIG);
            std::fs::remove_file(&config).map_err(|e| unreadable(&config, &e))?;
        }
        Ok(path)
    }
}

/// Writes a file of at most `limit` bytes.
fn write(mut file: PackageFile<'_>, path: &Path, limit: u64) -> Result<(), InputError> {
    if file.len > limit {
        return Err(too_long(file.name(), file.len, limit));
    }
    let mut written = File::create_new(path).map_err(|e| unreadable(path, &e))?;
    io::copy(&mut file, &mut written).map_err(|e| unreadable(file.name(), &e))?;
    Ok(())
}
