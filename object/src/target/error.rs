//! Errors of finding and reading target BTF.

use crate::{elf::ElfError, internal::InternalError, limits};
use core_relo::{Escaped, Text, btf::BtfError};
use std::{io, path::PathBuf};
use thiserror::Error;

/// An error in finding BTF in bytes.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The bytes are neither BTF nor ELF.
    #[error("neither BTF nor ELF")]
    NeitherBtfNorElf,
    /// The ELF file is damaged.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// The ELF file has no `.BTF`.
    #[error("no section `.BTF`")]
    NoBtf,
    /// `.BTF` or `.BTF.base` exists more than once, is compressed, is empty, or is not `SHT_PROGBITS`.
    #[error("section `{section}` {what}")]
    Section {
        /// `.BTF` or `.BTF.base`.
        section: &'static str,
        /// The problem.
        what: &'static str,
    },
    /// A broken invariant of this crate.
    #[error(transparent)]
    Internal(#[from] InternalError),
}

core_relo::debug_as_message!(ExtractError);

/// An error in reading target BTF.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TargetError {
    /// A file or directory cannot be read.
    #[error("{path}: {}", os_text(*kind, *errno), path = Escaped(path.display()))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The kind of error.
        kind: io::ErrorKind,
        /// The error number, if the error came from the system.
        errno: Option<i32>,
    },
    /// The path names a directory, a device or a pipe.
    #[error("{path}: not a regular file", path = Escaped(path.display()))]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A file of proc, tracefs or a similar file system. The kernel generates its contents on read, possibly
    /// without end.
    #[error("{path}: a file without a length, which the kernel generates on read", path = Escaped(path.display()))]
    PseudoFile {
        /// The path.
        path: PathBuf,
    },
    /// The file is larger than any kernel image.
    #[error("{path}: too large: more than {} GiB", limits::FILE_BYTES >> 30, path = Escaped(path.display()))]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file holds no BTF.
    #[error("{path}: {cause}", path = Escaped(path.display()))]
    Extract {
        /// The file.
        path: PathBuf,
        /// The problem.
        #[source]
        cause: ExtractError,
    },
    /// The file's BTF is damaged.
    #[error("{path}: {cause}", path = Escaped(path.display()))]
    Btf {
        /// The file.
        path: PathBuf,
        /// The problem.
        #[source]
        cause: BtfError,
    },
    /// The running kernel exposes no BTF, and no kernel image with BTF was found.
    #[error(
        "the running kernel {release} has no BTF in /sys/kernel/btf, and no vmlinux image was found: use a kernel built with CONFIG_DEBUG_INFO_BTF=y, or name a file with its BTF"
    )]
    NoKernelBtf {
        /// The kernel's release (`uname -r`).
        release: Text,
    },
}

core_relo::debug_as_message!(TargetError);

/// Returns the system's message for an error number, which is more precise than the kind's.
fn os_text(kind: io::ErrorKind, errno: Option<i32>) -> String {
    errno.map_or_else(|| kind.to_string(), |number| io::Error::from_raw_os_error(number).to_string())
}
