//! The kernels in a list of packages.

use super::{path::resolve, primary::ListedPackage};
use crate::fetch::{
    available::{AvailableKernel, KernelLine, KernelPackage, PackageRole, Protection},
    distribution::{Architecture, Archive, Distribution, DistributionRelease, Suite},
    rpm_layout::{ImagePackage, PackageVersion, RpmLayout},
    rpm_md_defect::RpmMdDefect,
};
use std::collections::BTreeMap;

/// The least size of the files of a package with an image. Others have only dependencies.
const MIN_IMAGE_BYTES: u64 = 1 << 20;

/// The end of the name of an image whose modules are in packages of their own.
const CORE: &str = "-core";

/// The end of the names of packages with debug information.
const DEBUG: &str = "-debuginfo";

/// The place of a list of packages.
#[derive(Clone, Copy, Debug)]
pub(in crate::fetch) struct ListOrigin<'o> {
    pub(in crate::fetch) distribution: &'static Distribution,
    pub(in crate::fetch) layout: &'static RpmLayout,
    pub(in crate::fetch) release: &'static DistributionRelease,
    pub(in crate::fetch) suite: &'static Suite,
    pub(in crate::fetch) architecture: Architecture,
    pub(in crate::fetch) protection: &'o Protection,
    /// The path of the repository below the mirror.
    pub(in crate::fetch) path: &'o str,
}

/// Finds the kernels in a list of packages.
pub(in crate::fetch) fn find_kernels(
    list: &[ListedPackage],
    origin: ListOrigin<'_>,
) -> Result<Vec<AvailableKernel>, RpmMdDefect> {
    let machine = origin.architecture.machine();
    let of_architecture = || list.iter().filter(|package| package.architecture == machine);
    let mut by_name = BTreeMap::new();
    for package in of_architecture() {
        by_name.entry((package.name.clone(), package.full_version())).or_insert(package);
    }
    let mut kernels = Vec::new();
    for package in of_architecture() {
        let image = origin.layout.images.iter().find(|image| image.name == package.name);
        let has_image = package.installed_bytes.is_none_or(|bytes| bytes >= MIN_IMAGE_BYTES);
        if let Some(image) = image.filter(|_| has_image) {
            kernels.extend(kernel(package, image, &by_name, origin)?);
        }
    }
    Ok(kernels)
}

/// Creates the kernel of a package with an image. Returns `None` if its release,
/// version or a name is damaged.
fn kernel(
    package: &ListedPackage,
    image: &ImagePackage,
    by_name: &BTreeMap<(String, String), &ListedPackage>,
    origin: ListOrigin<'_>,
) -> Result<Option<AvailableKernel>, RpmMdDefect> {
    let ListOrigin { distribution, layout, release, suite, architecture, protection, path } = origin;
    let ListedPackage { version, release: package_release, architecture: machine, .. } = package;
    let package_version = PackageVersion { version, release: package_release, architecture: machine };
    let provided = package.kernel_release.clone();
    let kernel_release = provided.unwrap_or_else(|| layout.kernel_release(image, package_version));
    let version = package.full_version();
    let archive = suite.archive.mirror_key(distribution.name);
    let mut packages = vec![kernel_package(package, PackageRole::Image, &archive, path)?];
    for (endings, role) in
        [(layout.modules, PackageRole::Modules), (layout.extra_modules, PackageRole::ExtraModules)]
    {
        for ending in endings {
            let name = format!("{}{ending}", base_name(&package.name));
            if let Some(part) = by_name.get(&(name, version.clone())) {
                packages.push(kernel_package(part, role, &archive, path)?);
            }
        }
    }
    let is_additional = image.is_additional || layout.additional_suites.contains(&suite.name);
    let kernel = AvailableKernel {
        distribution: distribution.name.to_owned(),
        distribution_release: release.number.to_owned(),
        release: kernel_release,
        version,
        architecture: architecture.machine().to_owned(),
        flavour: image.flavour.to_owned(),
        line: if is_additional { KernelLine::Additional } else { KernelLine::Default },
        packages,
        protection: protection.clone(),
    };
    Ok(Some(kernel).filter(AvailableKernel::is_well_formed))
}

/// Finds the package with the debug information of a kernel in a list of packages.
pub(in crate::fetch) fn find_debug_package(
    list: &[ListedPackage],
    kernel: &AvailableKernel,
    path: &str,
) -> Result<Option<KernelPackage>, RpmMdDefect> {
    let image = kernel.packages.iter().find(|package| package.role == PackageRole::Image);
    let Some(image) = image else { return Ok(None) };
    let name = format!("{}{DEBUG}", base_name(&image.name));
    let package = list.iter().find(|package| {
        package.name == name
            && package.architecture == kernel.architecture
            && package.full_version() == kernel.version
    });
    let archive = Archive::Main.mirror_key(&kernel.distribution);
    package.map(|package| kernel_package(package, PackageRole::Debug, &archive, path)).transpose()
}

/// Returns the name from which those of the packages beside an image are made: `kernel` of `kernel-core`.
fn base_name(name: &str) -> &str {
    name.strip_suffix(CORE).unwrap_or(name)
}

fn kernel_package(
    package: &ListedPackage,
    role: PackageRole,
    archive: &str,
    path: &str,
) -> Result<KernelPackage, RpmMdDefect> {
    Ok(KernelPackage {
        name: package.name.clone(),
        role,
        bytes: package.bytes,
        hash: package.hash.clone(),
        archive: archive.to_owned(),
        path: resolve(path, &package.path)?,
    })
}

#[cfg(test)]
mod tests;
