//! `vmlinux.h`: the types of a kernel of the target as a C header.

mod reduced;
#[cfg(test)]
mod tests;

use crate::{architecture, environment::Environment, error::BuildError, output, vmlinux_error::VmlinuxError};
use core_relo::{
    Endian,
    btf::{Btf, CHeader},
};
use core_relo_object::target::{extract, find_architecture};
#[cfg(feature = "btf-archive")]
use core_relo_object::{archive::ArchiveEntry, archive::BtfArchive};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The BTF of the running kernel.
const RUNNING_KERNEL: &str = "/sys/kernel/btf/vmlinux";

/// The bytes with which gzip data begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The kernel whose types the header has.
#[derive(Clone, Debug)]
pub(crate) enum KernelTypes {
    /// The kernel of the machine that builds.
    Running,
    /// A file: BTF, an ELF file with BTF, or an archive of the BTF of many kernels.
    File(PathBuf),
}

impl KernelTypes {
    /// Returns the path of the types.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Running => Path::new(RUNNING_KERNEL),
            Self::File(path) => path,
        }
    }

    /// Writes `vmlinux.h` below the output directory, and returns its directory.
    pub(crate) fn write(&self, environment: &Environment) -> Result<PathBuf, BuildError> {
        let path = self.path();
        let located = |cause| BuildError::Vmlinux { path: path.to_path_buf(), cause };
        if matches!(self, Self::Running) && !environment.is_native() {
            return Err(located(VmlinuxError::ForeignTarget { target: environment.arch.clone() }));
        }
        let bytes = fs::read(path).map_err(BuildError::io(path, "read the kernel's types"))?;
        let text = header(bytes, environment).map_err(located)?;
        write_text(&environment.out_dir, &text)
    }
}

/// Writes the text of a `vmlinux.h` below the output directory, and returns its directory. It has no other
/// headers: sources of a build without `vmlinux.h` do not see the one of an earlier build.
pub(crate) fn write_text(out_dir: &Path, text: &str) -> Result<PathBuf, BuildError> {
    let directory = out_dir.join("vmlinux");
    fs::create_dir_all(&directory).map_err(BuildError::io(&directory, "create the directory"))?;
    output::replace(&directory.join("vmlinux.h"), text.as_bytes())?;
    Ok(directory)
}

/// Returns the header of the types in a file.
fn header(bytes: Vec<u8>, environment: &Environment) -> Result<String, VmlinuxError> {
    let target = &environment.arch;
    let expected =
        environment.header_arch().ok_or_else(|| VmlinuxError::UnknownTarget { target: target.clone() })?;
    let bytes = if bytes.starts_with(&GZIP) { from_archive(&bytes, target, expected)? } else { bytes };
    let extracted = extract(&bytes)?;
    if extracted.base.is_some() {
        return Err(VmlinuxError::Module);
    }
    let mut btf = Btf::parse(extracted.btf)?;
    if let Some(size) = extracted.format.pointer_size() {
        btf.set_pointer_size(size);
    }
    let machine = find_architecture(&btf);
    let is_expected = machine.is_none_or(|machine| architecture::of_kernel(machine) == Some(expected));
    let is_same_order = (btf.endian() == Endian::Big) == environment.is_big_endian;
    let word = btf.pointer_size().0;
    // The registers do not tell the size of words.
    let fits_word_size = !btf.pointer_size_is_known() || architecture::fits_word_size(target, word);
    if !is_expected || !is_same_order || !fits_word_size {
        let order = if btf.endian() == Endian::Big { "big-endian" } else { "little-endian" };
        let found = match machine {
            Some(machine) if !is_expected => format!("a kernel of {machine}"),
            _ if !is_same_order => format!("a {order} kernel"),
            _ => format!("a kernel with words of {word} bytes"),
        };
        return Err(VmlinuxError::OtherTarget { found, target: target.clone() });
    }
    Ok(CHeader::new(&btf).to_string() + &reduced::missing_types(&btf))
}

/// Returns the BTF of the newest kernel of the target's architecture in an archive.
#[cfg(feature = "btf-archive")]
fn from_archive(bytes: &[u8], target: &str, expected: &str) -> Result<Vec<u8>, VmlinuxError> {
    let archive = BtfArchive::parse(bytes)?;
    let is_of_target =
        |entry: &&ArchiveEntry| architecture::of_kernel(&entry.kernel.architecture) == Some(expected);
    let newest = archive.entries().iter().filter(is_of_target).max_by_key(|entry| {
        let word = architecture::word_bytes_of_kernel(&entry.kernel.architecture);
        let fits = word.is_some_and(|word| architecture::fits_word_size(target, word));
        (fits, release_numbers(&entry.kernel.release))
    });
    let newest = newest.ok_or_else(|| {
        let mut found: Vec<_> =
            archive.entries().iter().map(|entry| entry.kernel.architecture.clone()).collect();
        found.sort();
        found.dedup();
        VmlinuxError::NoKernel { target: target.to_owned(), found }
    })?;
    Ok(archive.read(newest)?)
}

#[cfg(not(feature = "btf-archive"))]
fn from_archive(_bytes: &[u8], _target: &str, _expected: &str) -> Result<Vec<u8>, VmlinuxError> {
    Err(VmlinuxError::NoArchives)
}

/// Returns the numbers in a release, by which releases are ordered: 6, 12 and 43 of `6.12.43-generic`.
#[cfg(feature = "btf-archive")]
fn release_numbers(release: &str) -> Vec<u64> {
    release.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}
