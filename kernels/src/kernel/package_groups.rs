//! Packages of the same kernel: the image in one, the configuration and modules in others.

use crate::{
    btf_file::package_kernel::{is_package, open},
    error::InputError,
    file::InputFile,
    limits::Limits,
    package::KernelFile,
    stream::Descriptor,
};
use std::{
    collections::HashMap,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// Files, of which packages of the same kernel are together.
#[derive(Debug, Default)]
pub(super) struct PackageGroups {
    /// Files that are no packages, and the first package of each kernel, in any order.
    pub(super) files: Vec<PathBuf>,
    /// Packages without files of a kernel.
    pub(super) others: Vec<PathBuf>,
    /// The further packages of a kernel, by its first package.
    pub(super) companions: HashMap<PathBuf, Vec<PathBuf>>,
}

/// The kernel that a package belongs to. Two builds of a kernel may have the same release, but never the same
/// version of their packages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PackageRelease {
    release: String,
    version: String,
    architecture: String,
}

/// Whether a package has debug information. Its image is large, so that the other packages of the kernel are
/// read first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct IsDebug(bool);

/// A file that may be a package.
enum FileRole {
    /// No package, or one that cannot be read.
    File,
    PackageOf(PackageRelease, IsDebug),
    /// A package without files of a kernel.
    OtherPackage,
}

impl PackageGroups {
    /// Groups files. A package is read up to the first path that has the release of a kernel. Errors are
    /// ignored: reading the kernel reports them.
    pub(super) fn new(paths: Vec<PathBuf>, limits: Limits) -> Self {
        let mut groups = Self::default();
        let mut kernels = HashMap::<PackageRelease, Vec<(IsDebug, PathBuf)>>::new();
        for path in paths {
            match role(&path, limits).unwrap_or(FileRole::File) {
                FileRole::File => groups.files.push(path),
                FileRole::OtherPackage => groups.others.push(path),
                FileRole::PackageOf(release, is_debug) => {
                    let packages = kernels.entry(release).or_default();
                    // The user may name a package twice.
                    if !packages.iter().any(|(_, known)| *known == path) {
                        packages.push((is_debug, path));
                    }
                }
            }
        }
        for mut packages in kernels.into_values() {
            packages.sort();
            let mut packages = packages.into_iter().map(|(_, path)| path);
            let Some(first) = packages.next() else { continue };
            let others: Vec<_> = packages.collect();
            if !others.is_empty() {
                groups.companions.insert(first.clone(), others);
            }
            groups.files.push(first);
        }
        groups
    }
}

fn role(path: &Path, limits: Limits) -> Result<FileRole, InputError> {
    // A stream can be read only once.
    if Descriptor::from_path(path).is_some() {
        return Ok(FileRole::File);
    }
    let input = InputFile::open(path, limits.bytes)?;
    if !is_package(path, &input.head) {
        return Ok(FileRole::File);
    }
    let package = open(input, limits)?;
    let architecture = match &*package.metadata.architecture {
        "all" | "noarch" | "any" => String::new(),
        architecture => architecture.to_owned(),
    };
    let version = package.metadata.version.clone();
    let is_debug = IsDebug(package.metadata.is_debug());
    let mut role = FileRole::OtherPackage;
    package.visit_files(&mut |file| match KernelFile::from_path(&file.path) {
        Some(kernel_file) if kernel_file.has_release() => {
            let release = PackageRelease {
                release: kernel_file.release.to_owned(),
                version: version.clone(),
                architecture: architecture.clone(),
            };
            role = FileRole::PackageOf(release, is_debug);
            ControlFlow::Break(())
        }
        // Without a release, the package is a kernel of its own.
        Some(_) => {
            role = FileRole::File;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Continue(()),
    })?;
    Ok(role)
}
