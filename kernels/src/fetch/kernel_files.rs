//! The files of a kernel in its packages: which ones are stored, and under which names.

use super::{available::is_file_name, error::FetchError, store::StagedKernel};
use crate::{
    Limits, btf_file,
    error::InputError,
    image_facts::{ImageFacts, version_text},
    kernel_text,
    limits::MAX_KERNEL_FILE_BYTES,
    package::{Package, PackageFile},
};
use core_relo_verdict::kernel::WantedFacts;
use std::{
    io::Read,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// The file of a package that belongs to a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
enum KernelFile {
    Image,
    Kconfig,
    Symbols,
    /// The module with this name.
    Module(String),
}

/// Returns the part of a kernel that a path in a package is.
///
/// `boot/vmlinuz-R`, `boot/config-R` and so on are Debian's names, `lib/modules/R/vmlinuz` and so on those of
/// Fedora and Arch. Alpine has `boot/vmlinuz-FLAVOUR`.
fn classify(path: &Path, release: &str, flavour: &str) -> Option<KernelFile> {
    let path = path.to_str()?;
    let path = path.strip_prefix("usr/").unwrap_or(path);
    let in_boot = path.strip_prefix("boot/").and_then(|name| {
        let name = name.strip_suffix(release).or_else(|| name.strip_suffix(flavour));
        name?.strip_suffix('-')
    });
    let in_modules =
        path.strip_prefix("lib/modules/").and_then(|rest| rest.strip_prefix(release)?.strip_prefix('/'));
    match in_boot.or(in_modules) {
        Some("vmlinuz" | "vmlinux" | "Image") => Some(KernelFile::Image),
        Some("config") => Some(KernelFile::Kconfig),
        Some("System.map") => Some(KernelFile::Symbols),
        _ => {
            let file = in_modules?.rsplit('/').next()?;
            let (name, ending) = file.split_once(".ko")?;
            matches!(ending, "" | ".gz" | ".xz" | ".zst")
                .then(|| KernelFile::Module(name.replace('-', "_")))
                .filter(|_| is_file_name(name))
        }
    }
}

/// Stores the files of a kernel that are in a package. The stream is read up to the end of the package's
/// files.
pub(crate) fn unpack_into(
    staged: &mut StagedKernel,
    package_name: &str,
    package: &mut dyn Read,
    package_bytes: u64,
) -> Result<(), FetchError> {
    let in_package =
        |error: InputError| FetchError::Package { name: package_name.to_owned(), error: Box::new(error) };
    let path = PathBuf::from(package_name);
    let package = Package::open(&path, package, package_bytes, Limits::default()).map_err(in_package)?;
    let mut result = Ok(());
    let visited = package.visit_files(&mut |file| {
        let Some(kind) = classify(&file.path, &staged.kernel().release, &staged.kernel().flavour) else {
            return ControlFlow::Continue(());
        };
        result = store_file(staged, kind, file, package_name);
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    result?;
    visited.map_err(in_package)
}

/// Stores one file.
fn store_file(
    staged: &mut StagedKernel,
    kind: KernelFile,
    file: PackageFile<'_>,
    package_name: &str,
) -> Result<(), FetchError> {
    let in_package =
        |error: InputError| FetchError::Package { name: package_name.to_owned(), error: Box::new(error) };
    let release = staged.kernel().release.clone();
    let path = file.name().to_path_buf();
    match kind {
        KernelFile::Kconfig => {
            let text = file.read_whole(MAX_KERNEL_FILE_BYTES).map_err(in_package)?;
            staged.write(format!("config-{release}"), &text)
        }
        KernelFile::Symbols => {
            let text = file.read_whole(MAX_KERNEL_FILE_BYTES).map_err(in_package)?;
            if kernel_text::has_kernel_symbols(&String::from_utf8_lossy(&text)) {
                staged.write(format!("System.map-{release}"), &text)?;
            }
            Ok(())
        }
        KernelFile::Image => {
            if staged.has(&format!("{release}.btf")) {
                return Ok(());
            }
            let (image, budget) = file.read_with_budget(MAX_KERNEL_FILE_BYTES).map_err(in_package)?;
            staged.write(format!("vmlinuz-{release}"), &image)?;
            let wanted = WantedFacts { version_and_kconfig: true, ..WantedFacts::default() };
            let (btf, facts) = btf_file::read_bytes(&path, image, &budget, wanted).map_err(in_package)?;
            staged.write(format!("{release}.btf"), &btf.btf)?;
            write_facts(staged, &release, &facts)
        }
        KernelFile::Module(name) => {
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

/// Stores the facts of an image, which are then found beside its BTF.
fn write_facts(staged: &mut StagedKernel, release: &str, facts: &ImageFacts) -> Result<(), FetchError> {
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
    fn files_of_a_kernel_are_known_by_their_paths() {
        let release = "6.1.0-50-amd64";
        let classify = |path: &str| classify(Path::new(path), release, "lts");
        assert_eq!(classify("boot/vmlinuz-6.1.0-50-amd64"), Some(KernelFile::Image));
        assert_eq!(classify("boot/config-6.1.0-50-amd64"), Some(KernelFile::Kconfig));
        assert_eq!(classify("usr/lib/modules/6.1.0-50-amd64/vmlinuz"), Some(KernelFile::Image));
        assert_eq!(classify("usr/lib/modules/6.1.0-50-amd64/System.map"), Some(KernelFile::Symbols));
        let xfs = Some(KernelFile::Module("nf_tables".to_owned()));
        assert_eq!(classify("lib/modules/6.1.0-50-amd64/kernel/net/nf-tables.ko.xz"), xfs);
        assert_eq!(classify("usr/lib/modules/6.1.0-50-amd64/kernel/net/nf_tables.ko"), xfs);
        assert_eq!(classify("lib/modules/6.1.0-50-amd64/kernel/net/nf_tables.ko.sig"), None);
        assert_eq!(classify("boot/vmlinuz-6.1.0-50-cloud-amd64"), None);
        assert_eq!(classify("boot/vmlinuz-lts"), Some(KernelFile::Image));
        assert_eq!(classify("boot/vmlinuz-6.1.0-50-lts"), None);
        assert_eq!(classify("usr/share/doc/linux-image/config-6.1.0-50-amd64"), None);
    }
}
