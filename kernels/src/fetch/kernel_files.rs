//! The files of a kernel in its packages: which ones are stored, and under which names.

use super::{
    available::{AvailableKernel, KernelPackage, is_file_name},
    error::FetchError,
    store::StagedKernel,
};
use crate::{
    Limits, btf_file,
    error::{Defect, InputError},
    image_facts::{ImageFacts, version_text},
    kernel_text,
    limits::{MAX_DEBUG_IMAGE_BYTES, MAX_KERNEL_FILE_BYTES},
    package::{KernelFile, KernelFileKind, Package, PackageFile},
};
use core_relo_verdict::kernel::WantedFacts;
use std::{
    fs,
    io::{self, Read, Write as _},
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// The directory of debug information in packages.
const DEBUG_DIR: &str = "usr/lib/debug";

/// The number of bytes that are copied at once.
const COPIED_BYTES: usize = 1 << 20;

/// Returns the file of a kernel at a path in a package: that of a release, not in a directory of debug
/// information. Alpine's images have the flavour in their names: `boot/vmlinuz-lts`.
fn classify<'p>(path: &'p Path, release: &str, flavour: &str) -> Option<KernelFile<'p>> {
    let is_of_kernel = |file: &KernelFile<'_>| file.release == release || file.release == flavour;
    KernelFile::from_path(path).filter(|file| is_of_kernel(file) && !path.starts_with(DEBUG_DIR))
}

/// Returns the name of the module in a file: `nf_tables` of `nf-tables.ko.xz`.
pub(super) fn module_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.split(".ko").next()?;
    is_file_name(name).then(|| name.replace('-', "_"))
}

/// A function that receives the files of a kernel.
pub(crate) type FileVisitor<'v> = dyn FnMut(KernelFileKind, PackageFile<'_>) -> Result<(), FetchError> + 'v;

/// Stores the files of a kernel that are in a package. The stream is read up to the end of the package's
/// files.
pub(crate) fn unpack_into(
    staged: &mut StagedKernel,
    package: &KernelPackage,
    stream: &mut dyn Read,
) -> Result<(), FetchError> {
    let kernel = staged.kernel().clone();
    visit_kernel_files(&kernel, package, stream, &mut |kind, file| {
        store_file(staged, kind, file, &package.name)
    })
}

/// Passes the files of a kernel that are in a package to `visit`.
pub(crate) fn visit_kernel_files(
    kernel: &AvailableKernel,
    package: &KernelPackage,
    stream: &mut dyn Read,
    visit: &mut FileVisitor<'_>,
) -> Result<(), FetchError> {
    let in_package =
        |error: InputError| FetchError::Package { name: package.name.clone(), error: Box::new(error) };
    let path = PathBuf::from(&package.name);
    let opened = Package::open(&path, stream, package.bytes, Limits::default()).map_err(in_package)?;
    let mut result = Ok(());
    let visited = opened.visit_files(&mut |file| {
        let Some(KernelFile { kind, .. }) = classify(&file.path, &kernel.release, &kernel.flavour) else {
            return ControlFlow::Continue(());
        };
        result = visit(kind, file);
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    result?;
    visited.map_err(in_package)
}

/// Stores one file.
fn store_file(
    staged: &mut StagedKernel,
    kind: KernelFileKind,
    file: PackageFile<'_>,
    package_name: &str,
) -> Result<(), FetchError> {
    let in_package =
        |error: InputError| FetchError::Package { name: package_name.to_owned(), error: Box::new(error) };
    let release = staged.kernel().release.clone();
    let path = file.name().to_path_buf();
    match kind {
        KernelFileKind::Config => {
            let text = file.read_whole(MAX_KERNEL_FILE_BYTES).map_err(in_package)?;
            staged.write(format!("config-{release}"), &text)
        }
        KernelFileKind::Symbols => {
            let text = file.read_whole(MAX_KERNEL_FILE_BYTES).map_err(in_package)?;
            if kernel_text::has_kernel_symbols(&String::from_utf8_lossy(&text)) {
                staged.write(format!("System.map-{release}"), &text)?;
            }
            Ok(())
        }
        KernelFileKind::Image => {
            if staged.has(&format!("{release}.btf")) {
                return Ok(());
            }
            let (image, budget) = file.read_with_budget(MAX_KERNEL_FILE_BYTES).map_err(in_package)?;
            let name = format!("vmlinuz-{release}");
            if !staged.has(&name) {
                staged.write(name, &image)?;
            }
            let wanted = WantedFacts { version_and_kconfig: true, ..WantedFacts::default() };
            let (btf, facts) = match btf_file::read_bytes(&path, image, &budget, wanted) {
                // The debug information may have the types.
                Err(InputError { defect: Defect::NoBtf | Defect::NoBtfFound, .. }) => return Ok(()),
                found => found.map_err(in_package)?,
            };
            staged.write(format!("{release}.btf"), &btf.btf)?;
            write_facts(staged, &release, &facts)
        }
        KernelFileKind::Module => {
            let Some(name) = module_name(&file.path) else { return Ok(()) };
            let (module, budget) = file.read_with_budget(MAX_KERNEL_FILE_BYTES).map_err(in_package)?;
            match btf_file::read_bytes(&path, module, &budget, WantedFacts::default()) {
                // The types of a module with a base of its own are not those of this kernel's BTF.
                Ok((btf, _)) if btf.base.is_none() => staged.write_module(&name, &btf.btf),
                Ok(_) => Ok(()),
                Err(error) => {
                    log::debug!("{error}: the module is left out");
                    Ok(())
                }
            }
        }
    }
}

/// Copies the vmlinux of a kernel from a package with debug information to a file. Returns whether the
/// package has it.
pub(super) fn copy_debug_image(
    release: &str,
    package_name: &str,
    package: &mut dyn Read,
    package_bytes: u64,
    target: &Path,
) -> Result<bool, FetchError> {
    let in_package =
        |error: InputError| FetchError::Package { name: package_name.to_owned(), error: Box::new(error) };
    let path = PathBuf::from(package_name);
    let package = Package::open(&path, package, package_bytes, Limits::default()).map_err(in_package)?;
    let mut copied = Ok(false);
    let visited = package.visit_files(&mut |mut file| {
        let is_image = KernelFile::from_path(&file.path)
            .is_some_and(|file| file.kind == KernelFileKind::Image && file.release == release);
        if !is_image {
            return ControlFlow::Continue(());
        }
        copied = copy_file(&mut file, target).map(|()| true).map_err(|error| match error {
            CopyError::Source(error) => {
                in_package(InputError::new(file.name(), Defect::Unreadable((&error).into())))
            }
            CopyError::Target(error) => FetchError::store(target, &error),
            CopyError::TooLong => {
                let (bytes, limit) = (file.len, MAX_DEBUG_IMAGE_BYTES);
                in_package(InputError::new(file.name(), Defect::TooLong { bytes, limit }))
            }
        });
        ControlFlow::Break(())
    });
    visited.map_err(in_package)?;
    copied
}

/// The error of a copy.
enum CopyError {
    Source(io::Error),
    Target(io::Error),
    TooLong,
}

/// Copies a file of a package.
fn copy_file(file: &mut PackageFile<'_>, target: &Path) -> Result<(), CopyError> {
    if file.len > MAX_DEBUG_IMAGE_BYTES {
        return Err(CopyError::TooLong);
    }
    let mut output = fs::File::create(target).map_err(CopyError::Target)?;
    let mut part = vec![0; COPIED_BYTES];
    loop {
        let count = file.read(&mut part).map_err(CopyError::Source)?;
        match part.get(..count).filter(|part| !part.is_empty()) {
            Some(part) => output.write_all(part).map_err(CopyError::Target)?,
            None => return Ok(()),
        }
    }
}

/// Stores the facts of an image, which are then found beside its BTF.
pub(super) fn write_facts(
    staged: &mut StagedKernel,
    release: &str,
    facts: &ImageFacts,
) -> Result<(), FetchError> {
    if let Some(text) = version_text(facts) {
        staged.write(format!("version-{release}"), text.as_bytes())?;
    }
    let name = format!("config-{release}");
    match &facts.kconfig {
        Some(kconfig) if !staged.has(&name) => staged.write(name, kconfig.value.as_bytes()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_kernel_are_those_of_its_release() {
        let release = "6.1.0-50-amd64";
        let kind = |path: &str| classify(Path::new(path), release, "lts").map(|file| file.kind);
        assert_eq!(kind("boot/vmlinuz-6.1.0-50-amd64"), Some(KernelFileKind::Image));
        assert_eq!(kind("usr/lib/modules/6.1.0-50-amd64/image"), Some(KernelFileKind::Image));
        assert_eq!(kind("usr/lib/modules/6.1.0-50-amd64/System.map.gz"), Some(KernelFileKind::Symbols));
        assert_eq!(kind("lib/modules/6.1.0-50-amd64/kernel/net/x.ko.xz"), Some(KernelFileKind::Module));
        assert_eq!(kind("boot/vmlinuz-6.1.0-50-cloud-amd64"), None);
        assert_eq!(kind("boot/vmlinuz-lts"), Some(KernelFileKind::Image));
        assert_eq!(kind("boot/vmlinuz-6.1.0-50-lts"), None);
        assert_eq!(kind("usr/lib/debug/boot/vmlinux-6.1.0-50-amd64"), None);
        assert_eq!(module_name(Path::new("net/nf-tables.ko.xz")).as_deref(), Some("nf_tables"));
        assert_eq!(module_name(Path::new("net/nf_tables.ko")).as_deref(), Some("nf_tables"));
        assert_eq!(module_name(Path::new("net/.ko")), None);
    }
}
