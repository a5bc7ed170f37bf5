//! BTF of kernels without BTF, from the debug information in another package.

use super::{
    available::{AvailableKernel, KernelPackage, PackageRole},
    distribution::{Distribution, IndexFormat},
    error::FetchError,
    fetcher::Fetcher,
    kernel_files::{copy_debug_image, write_facts},
    store::{BtfOrigin, StagedKernel},
};
use crate::{
    compression::budget::Budget,
    elf_sections::{BtfSections, read_btf},
    error::InputError,
    file::InputFile,
    image_facts::ImageFacts,
    limits::{Limits, MAX_DEBUG_IMAGE_BYTES},
};
use core_relo_dwarf::{EncodeSettings, encode_file};
use core_relo_verdict::kernel::WantedFacts;
use std::{
    fs::{self, File},
    path::Path,
    thread,
};

impl Fetcher<'_> {
    /// Stores the BTF of a kernel whose image has none. It is made from the kernel's debug information if the
    /// options allow it, else the error names the package.
    pub(super) fn store_btf_from_debug_info(&self, staged: &mut StagedKernel) -> Result<(), FetchError> {
        let kernel = staged.kernel().clone();
        let name = kernel.name();
        if !self.options.from_debuginfo {
            // The search is for the message only.
            let package = self.find_debug_package(&kernel).unwrap_or_else(|error| {
                log::info!("{error}");
                None
            });
            let debug_package = package.map(|package| (package.name, package.bytes));
            return Err(FetchError::NoBtf { name, debug_package });
        }
        let package = self.find_debug_package(&kernel)?;
        let package = package.ok_or(FetchError::NoBtf { name, debug_package: None })?;
        let mib = package.bytes.div_ceil(1 << 20);
        let text =
            format!("{}: has no BTF; its debug information is in {}, {mib} MiB", kernel.name(), package.name);
        self.progress.note(&text);
        let path = staged.temporary_path("vmlinux");
        let mut is_copied = false;
        self.read_package(&kernel, &package, &mut |download, bytes| {
            is_copied = copy_debug_image(&kernel.release, &package.name, download, bytes, &path)?;
            Ok(())
        })?;
        if !is_copied {
            return Err(FetchError::NoImage { name: kernel.name(), packages: vec![package.name] });
        }
        let (btf, facts) = read_debug_image(&path, &package.name)?;
        fs::remove_file(&path).map_err(|error| FetchError::store(&path, &error))?;
        staged.write(format!("{}.btf", kernel.release), &btf)?;
        write_facts(staged, &kernel.release, &facts)?;
        staged.set_btf_origin(BtfOrigin::DebugInformation { package });
        Ok(())
    }

    /// Finds the package with the debug information of a kernel.
    fn find_debug_package(&self, kernel: &AvailableKernel) -> Result<Option<KernelPackage>, FetchError> {
        let listed = kernel.packages.iter().find(|package| package.role == PackageRole::Debug);
        if listed.is_some() {
            return Ok(listed.cloned());
        }
        let Some(distribution) = Distribution::from_name(&kernel.distribution) else { return Ok(None) };
        match distribution.format {
            IndexFormat::RpmMd(layout) => {
                let _user = self.store.enter()?;
                self.find_rpm_debug_package(kernel, distribution, layout)
            }
            IndexFormat::Apt | IndexFormat::Apk | IndexFormat::Pacman => Ok(None),
        }
    }
}

/// Returns the BTF of a vmlinux, made from its debug information unless it has BTF, and its facts.
fn read_debug_image(path: &Path, package: &str) -> Result<(Vec<u8>, ImageFacts), FetchError> {
    let in_package =
        |error: InputError| FetchError::Package { name: package.to_owned(), error: Box::new(error) };
    let input = InputFile::open(path, MAX_DEBUG_IMAGE_BYTES).map_err(in_package)?;
    let wanted = WantedFacts { version_and_kconfig: true, ..WantedFacts::default() };
    let budget = Budget::for_kernel(Limits::default(), input.stored_bytes);
    let facts = ImageFacts::from_elf_file(&input, &budget, wanted);
    if let BtfSections::Found(file) = read_btf(path, &input, MAX_DEBUG_IMAGE_BYTES) {
        return Ok((file.btf.to_vec(), facts));
    }
    let file = File::open(path).map_err(|error| FetchError::store(path, &error))?;
    let mut settings = EncodeSettings::default();
    settings.threads = thread::available_parallelism().unwrap_or(settings.threads);
    let encoded = encode_file(file, &settings)
        .map_err(|error| FetchError::DebugInfo { name: package.to_owned(), error: Box::new(error) })?;
    Ok((encoded.bytes, facts))
}
