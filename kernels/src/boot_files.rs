//! The files to boot the kernel in a package, unpacked into a directory.

use crate::{
    btf_file::package_kernel::open_path,
    error::{Defect, InputError},
    file::unreadable,
    limits::{KERNEL_TEXT_BYTES, Limits},
    package::{KernelFile, KernelFileKind, PackageFile, PackageMetadata},
};
use core_relo::Data;
use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// The names of the unpacked files. The configuration is found beside the image by its name.
const IMAGE: &str = "vmlinuz";
const CONFIG: &str = "config";

/// A file of a kernel, and the release in its path.
struct BootFile {
    release: String,
    content: Data<'static>,
}

/// The files of a kernel.
#[derive(Default)]
struct BootFiles {
    image: Option<BootFile>,
    config: Option<BootFile>,
    file_count: usize,
}

/// Writes the image of the kernel in a package, and its configuration, into a directory. Returns the path of
/// the image, or `None` if the file is no package.
pub fn unpack_boot_files(package: &Path, dir: &Path, limits: Limits) -> Result<Option<PathBuf>, InputError> {
    let Some(opened) = open_path(package, limits)? else { return Ok(None) };
    let metadata = opened.metadata.clone();
    let (mut files, mut result) = (BootFiles::default(), Ok(()));
    opened.visit_files(&mut |file| {
        if let Err(e) = files.add(file, limits) {
            result = Err(e);
        }
        let is_complete = result.is_err() || files.image.is_some() && files.config.is_some();
        if is_complete { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    result?;
    files.write(package, &metadata, dir).map(Some)
}

impl BootFiles {
    fn add(&mut self, file: PackageFile<'_>, limits: Limits) -> Result<(), InputError> {
        self.file_count += 1;
        let path = file.path.clone();
        let Some(KernelFile { kind, release }) = KernelFile::from_path(&path) else { return Ok(()) };
        let (place, limit) = match kind {
            KernelFileKind::Image => (&mut self.image, limits.bytes),
            KernelFileKind::Config => (&mut self.config, KERNEL_TEXT_BYTES),
            _ => return Ok(()),
        };
        if place.is_none() {
            *place = Some(BootFile { release: release.to_owned(), content: file.read_whole(limit)? });
        }
        Ok(())
    }

    fn write(self, package: &Path, metadata: &PackageMetadata, dir: &Path) -> Result<PathBuf, InputError> {
        let Some(image) = self.image else {
            let defect = Defect::PackageWithoutKernel {
                packages: vec![metadata.name.clone()],
                file_count: self.file_count,
                module_count: 0,
                kernel_package: metadata.kernel_package(),
            };
            return Err(InputError::new(package, defect));
        };
        let path = dir.join(IMAGE);
        write(&path, &image.content)?;
        if let Some(config) = self.config.filter(|config| config.release == image.release) {
            write(&dir.join(CONFIG), &config.content)?;
        }
        Ok(path)
    }
}

fn write(path: &Path, content: &[u8]) -> Result<(), InputError> {
    fs::write(path, content).map_err(|e| unreadable(path, &e))
}
