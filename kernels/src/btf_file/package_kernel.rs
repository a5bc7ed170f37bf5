//! The kernel in packages: the BTF in its image, and the configuration and symbols beside the image.

use super::{BtfAndFacts, read_bytes};
use crate::{
    error::{Defect, InputError, escape_path},
    file::InputFile,
    file_kind::is_pacman_name,
    image_facts::ImageFacts,
    limits::{KERNEL_TEXT_BYTES, Limits},
    package::{KernelFile, KernelFileKind, Package, PackageFile, PackageKind, PackageMetadata},
    stream::Descriptor,
};
use core_relo_loader::target::BtfFile;
use core_relo_verdict::kernel::WantedFacts;
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

/// The number of configurations, and of files with symbols, that are read. Packages have one of each.
const TEXTS: usize = 4;

/// Returns whether a file is a package, from its first bytes.
///
/// The first bytes of some packages of pacman do not show their format, so that those with the usual name are
/// opened as packages as well. Other files compressed with xz and zstd are not unpacked for an answer.
pub(crate) fn is_package(path: &Path, head: &[u8]) -> bool {
    let is_stream = head.starts_with(b"\xfd7zXZ") || head.starts_with(b"\x28\xb5\x2f\xfd");
    if is_stream { is_pacman_name(path) } else { PackageKind::detect(head).is_some() }
}

/// Opens a package.
pub(crate) fn open(input: InputFile<'_>, limits: Limits) -> Result<Package<'_>, InputError> {
    let (path, len, stored_bytes) = (input.path, input.len, input.stored_bytes);
    Package::open(path, input.into_stream(), stored_bytes, limits)?.check_length(len)
}

/// Opens the package at a path. Returns `None` if the file is no package, and for a stream, which can be read
/// only once.
pub(crate) fn open_path(path: &Path, limits: Limits) -> Result<Option<Package<'_>>, InputError> {
    if Descriptor::from_path(path).is_some() {
        return Ok(None);
    }
    let input = InputFile::open(path, limits.bytes)?;
    if !is_package(path, &input.head) {
        return Ok(None);
    }
    open(input, limits).map(Some)
}

/// Reads the kernel in packages. `first` is open already. `others` are further packages of the kernel, which
/// are read only as far as they are needed.
pub(crate) fn read(
    first: InputFile<'_>,
    others: &[PathBuf],
    limits: Limits,
    wanted: WantedFacts,
) -> Result<BtfAndFacts, InputError> {
    let path = first.path;
    let mut kernel = PackageKernel::new(limits, wanted);
    kernel.add(open(first, limits)?)?;
    for other in others {
        if !kernel.is_complete()
            && let Some(package) = open_path(other, limits)?
        {
            kernel.add(package)?;
        }
    }
    kernel.finish(path)
}

/// A kernel that is being collected from packages.
struct PackageKernel {
    limits: Limits,
    wanted: WantedFacts,
    image: Option<Image>,
    /// The error of the first image that cannot be used.
    image_error: Option<ImageError>,
    kconfigs: Vec<Text>,
    symbols: Vec<Text>,
    /// The contents of the packages without an image.
    contents: Contents,
}

/// An image with BTF.
struct Image {
    btf: BtfFile,
    facts: ImageFacts,
    release: Option<String>,
}

/// An image that cannot be used.
struct ImageError {
    release: String,
    package: PackageMetadata,
    error: InputError,
}

/// A configuration or a list of symbols.
struct Text {
    release: String,
    origin: String,
    text: String,
}

/// The contents of packages, for the error of packages without a kernel.
#[derive(Default)]
struct Contents {
    packages: Vec<PackageMetadata>,
    file_count: usize,
    module_count: usize,
}

impl PackageKernel {
    fn new(limits: Limits, wanted: WantedFacts) -> Self {
        Self {
            limits,
            wanted,
            image: None,
            image_error: None,
            kconfigs: Vec::new(),
            symbols: Vec::new(),
            contents: Contents::default(),
        }
    }

    /// Returns whether no other file can add to the kernel.
    fn is_complete(&self) -> bool {
        let Some(image) = &self.image else { return false };
        let has_kconfig = image.facts.kconfig.is_some() || !self.kconfigs.is_empty();
        let has_symbols = image.facts.symbols.is_some() || !self.symbols.is_empty();
        (has_kconfig || !self.wanted.version_and_kconfig) && (has_symbols || !self.wanted.symbols)
    }

    /// Reads the files of a package until the kernel is complete.
    fn add(&mut self, package: Package<'_>) -> Result<(), InputError> {
        let metadata = package.metadata.clone();
        let mut result = Ok(());
        package.visit_files(&mut |file| {
            self.contents.file_count += 1;
            if let Err(e) = self.add_file(file, &metadata) {
                result = Err(e);
                return ControlFlow::Break(());
            }
            // A package with debug information has nothing but images.
            let is_read = self.is_complete() || metadata.is_debug() && self.image.is_some();
            if is_read { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        self.contents.packages.push(metadata);
        result
    }

    fn add_file(&mut self, file: PackageFile<'_>, package: &PackageMetadata) -> Result<(), InputError> {
        let path = file.path.clone();
        let Some(KernelFile { kind, release }) = KernelFile::from_path(&path) else { return Ok(()) };
        match kind {
            KernelFileKind::Image if self.image.is_none() => self.add_image(file, release, package),
            KernelFileKind::Config if self.wanted.version_and_kconfig && self.kconfigs.len() < TEXTS => {
                self.kconfigs.push(read_text(file, release)?);
            }
            KernelFileKind::Symbols if self.wanted.symbols && self.symbols.len() < TEXTS => {
                self.symbols.push(read_text(file, release)?);
            }
            KernelFileKind::Module => {
                self.contents.module_count += 1;
            }
            _ => {}
        }
        Ok(())
    }

    fn add_image(&mut self, file: PackageFile<'_>, release: &str, package: &PackageMetadata) {
        let name = file.name().to_path_buf();
        let found = file
            .read_with_budget(self.limits.bytes)
            .and_then(|(bytes, budget)| read_bytes(&name, bytes, &budget, self.wanted));
        match found {
            Ok((btf, facts)) => {
                let is_release = release.starts_with(|first: char| first.is_ascii_digit());
                let release = is_release.then(|| release.to_owned()).or_else(|| facts.release.clone());
                self.image = Some(Image { btf, facts, release });
            }
            Err(error) if self.image_error.is_none() => {
                let (release, package) = (release.to_owned(), package.clone());
                self.image_error = Some(ImageError { release, package, error });
            }
            Err(error) => log::info!("{error}"),
        }
    }

    /// Returns the kernel, or the error of packages without one.
    fn finish(self, path: &Path) -> Result<BtfAndFacts, InputError> {
        let Self { image, image_error, kconfigs, symbols, contents, .. } = self;
        let Some(Image { btf, mut facts, release }) = image else {
            return Err(match image_error {
                Some(error) => error.into_input_error(),
                None => InputError::new(path, contents.into_defect()),
            });
        };
        if let Some(Text { origin, text, .. }) = choose(kconfigs, release.as_deref()) {
            facts = facts.with_kconfig(text, origin);
        }
        if let Some(Text { origin, text, .. }) = choose(symbols, release.as_deref()) {
            facts = facts.with_symbols(text, origin);
        }
        Ok((btf, facts))
    }
}

/// Returns the text of a release. Without a known release, the only text.
fn choose(texts: Vec<Text>, release: Option<&str>) -> Option<Text> {
    let is_only = texts.len() == 1;
    texts.into_iter().find(|text| match release {
        Some(release) => text.release == release,
        None => is_only,
    })
}

fn read_text(file: PackageFile<'_>, release: &str) -> Result<Text, InputError> {
    let origin = escape_path(file.name());
    let bytes = file.read_whole(KERNEL_TEXT_BYTES)?;
    Ok(Text { release: release.to_owned(), origin, text: String::from_utf8_lossy(&bytes).into_owned() })
}

impl ImageError {
    /// Returns the error of the image. That of an image without BTF names the package with debug information.
    fn into_input_error(self) -> InputError {
        let Self { release, package, error } = self;
        if !matches!(error.defect, Defect::NoBtf | Defect::NoBtfFound) {
            return error;
        }
        let debug_package = package.debug_package(&release);
        InputError::new(error.path, Defect::PackagedKernelWithoutBtf { debug_package })
    }
}

impl Contents {
    fn into_defect(self) -> Defect {
        let Self { packages, file_count, module_count } = self;
        let kernel_package = packages.iter().find_map(PackageMetadata::kernel_package);
        let packages = packages.into_iter().map(|package| package.name).collect();
        Defect::PackageWithoutKernel { packages, file_count, module_count, kernel_package }
    }
}
