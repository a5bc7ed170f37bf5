//! Packages of Linux distributions, read from a stream: `.deb`, `.rpm`, `.apk` and packages of pacman.
//!
//! [`Package::open`] reads the metadata. [`Package::visit_files`] passes each regular file to a function,
//! which decides by the path whether to read the file. Nothing is written to the disk, nothing of a package
//! is executed, and links are not followed. All unpacked bytes are taken from a budget
//! ([`Limits`]).
//!
//! ```no_run
//! use core_relo_kernels::{Limits, package::Package};
//! use std::{fs::File, ops::ControlFlow, path::Path};
//!
//! let path = Path::new("linux-image-6.1.0-50-amd64_6.1.1_amd64.deb");
//! let file = File::open(path)?;
//! let len = file.metadata()?.len();
//! let package = Package::open(path, file, len, Limits::default())?;
//! println!("{} {}", package.metadata.name, package.metadata.version);
//! package.visit_files(&mut |file| {
//!     println!("{}: {} bytes", file.path.display(), file.len);
//!     ControlFlow::Continue(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ar;
mod cpio;
mod deb;
mod file;
mod kernel_file;
mod metadata;
mod payload;
mod related;
mod rpm;
mod rpm_header;
mod stream;
mod tar_package;

pub use crate::{package_defect::PackageDefect, package_kind::PackageKind};
pub use file::PackageFile;
pub use kernel_file::{KernelFile, KernelFileKind};
pub use metadata::PackageMetadata;

use crate::{
    compression::budget::Budget,
    error::{Defect, InputError},
    limits::Limits,
};
use deb::DebParts;
use file::FileSource;
use rpm::RpmFiles;
use std::{
    fmt,
    io::{BufRead, BufReader, Cursor, Read},
    ops::ControlFlow,
    path::{Path, PathBuf},
};
use stream::read_up_to;

/// The size of the buffer for a package, in bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// The number of bytes at the start of a package from which its format is detected: more than the first
/// compressed block of a package of pacman.
pub(crate) const HEAD_BYTES: u64 = 256 << 10;

/// A package whose metadata has been read, and whose files have not.
pub struct Package<'r> {
    path: PathBuf,
    /// The format.
    pub kind: PackageKind,
    /// The metadata.
    pub metadata: PackageMetadata,
    payload: Payload<'r>,
    budget: Budget,
    limits: Limits,
    /// The bytes that a whole package has at least, if its headers say so.
    least_bytes: Option<u64>,
}

impl fmt::Debug for Package<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, kind, metadata, .. } = self;
        f.debug_struct("Package")
            .field("path", path)
            .field("kind", kind)
            .field("metadata", metadata)
            .finish_non_exhaustive()
    }
}

/// The files of a package, unpacked.
enum Payload<'r> {
    Tar {
        /// The name for messages.
        name: PathBuf,
        stream: Box<dyn Read + 'r>,
    },
    Cpio {
        stream: Box<dyn Read + 'r>,
        files: RpmFiles,
    },
}

impl<'r> Package<'r> {
    /// Reads the metadata of a package.
    ///
    /// `path` names the package in errors. `stored_bytes` is the size of the package, on which the budget
    /// depends.
    pub fn open(
        path: &Path,
        stream: impl Read + 'r,
        stored_bytes: u64,
        limits: Limits,
    ) -> Result<Self, InputError> {
        let mut stream = BufReader::with_capacity(BUFFER_BYTES, stream);
        let head = read_up_to(path, &mut stream, HEAD_BYTES)?;
        if head.is_empty() {
            return Err(InputError::new(path, Defect::Empty));
        }
        let unknown = || InputError::new(path, PackageDefect::UnknownFormat.into());
        let kind = PackageKind::detect(&head).ok_or_else(unknown)?;
        let stream: Box<dyn BufRead + 'r> = Box::new(Cursor::new(head).chain(stream));
        let budget = Budget::for_archive(limits, stored_bytes);
        let mut least_bytes = None;
        let (metadata, payload) = match kind {
            PackageKind::Deb => {
                let DebParts { metadata, name, stream, end } = deb::open(path, stream, &budget)?;
                least_bytes = Some(end);
                (metadata, Payload::Tar { name, stream })
            }
            PackageKind::Rpm => {
                let (metadata, files, stream) = rpm::open(path, stream, &budget)?;
                (metadata, Payload::Cpio { stream, files })
            }
            PackageKind::Apk | PackageKind::Pacman => {
                let (metadata, stream) = tar_package::open(path, kind, stream, &budget)?;
                (metadata, Payload::Tar { name: path.to_path_buf(), stream })
            }
        };
        Ok(Self { path: path.to_path_buf(), kind, metadata, payload, budget, limits, least_bytes })
    }

    /// Checks that a package of a known length is not cut off. Without this check, a package whose kernel is
    /// whole looks complete, because the files after the kernel are not read.
    pub(crate) fn check_length(self, bytes: u64) -> Result<Self, InputError> {
        if self.least_bytes.is_none_or(|least| bytes >= least) {
            return Ok(self);
        }
        let defect = PackageDefect::Truncated { offset: bytes, expected: "the rest of the member data.tar" };
        Err(InputError::new(&self.path, defect.into()))
    }

    /// Passes each regular file to `visit`, in the order of the package. Bytes that `visit` does not read are
    /// skipped. After `ControlFlow::Break`, the rest of the package is not read.
    ///
    /// Of the names of a file with hard links, only the name with the content is visited.
    pub fn visit_files(
        self,
        visit: &mut dyn FnMut(PackageFile<'_>) -> ControlFlow<()>,
    ) -> Result<(), InputError> {
        let Self { path, payload, budget, limits, .. } = self;
        let source = FileSource { package: &path, budget: &budget, limits };
        match payload {
            Payload::Cpio { stream, files } => cpio::visit(&source, stream, &files, visit),
            Payload::Tar { name, stream } => tar_package::visit(&source, &name, stream, visit),
        }
    }
}

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
