//! Why there is no target BTF.

use crate::{elf::ElfError, limits};
use core_relo::{Escaped, Text, btf::BtfError};
use std::{io, path::PathBuf};
use thiserror::Error;

/// Why bytes hold no BTF to relocate against.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// Neither BTF nor ELF.
    #[error("neither BTF nor ELF")]
    NeitherBtfNorElf,
    /// A damaged ELF.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// An ELF without `.BTF`.
    #[error("no section `.BTF`")]
    NoBtf,
    /// `.BTF` or `.BTF.base` stands more than once, is compressed, empty, or of another type than `SHT_PROGBITS`.
    #[error("section `{section}` {what}")]
    Section {
        /// `.BTF` or `.BTF.base`.
        section: &'static str,
        /// What is wrong.
        what: &'static str,
    },
}

/// Why a target could not be had.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TargetError {
    /// A file or folder cannot be read.
    #[error("{path}: {}", os_text(*kind, *errno), path = Escaped(path.display()))]
    Io {
        /// What was to be read.
        path: PathBuf,
        /// Why it was not.
        kind: io::ErrorKind,
        /// The system's number of that, if it came from the system.
        errno: Option<i32>,
    },
    /// A folder, a device, a pipe.
    #[error("{path}: not a file, so it is not read", path = Escaped(path.display()))]
    NotAFile {
        /// What was to be read.
        path: PathBuf,
    },
    /// A file of proc, tracefs or the like that has no length: the kernel writes it while it is read, and it may have no end.
    #[error("{path}: a file without a length, which the kernel writes while it is read, so it is not read", path = Escaped(path.display()))]
    PseudoFile {
        /// What was to be read.
        path: PathBuf,
    },
    /// A file that is larger than any kernel image.
    #[error("{path}: more than {} GiB, the most that is read", limits::FILE_BYTES >> 30, path = Escaped(path.display()))]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// A file holds no BTF.
    #[error("{path}: {cause}", path = Escaped(path.display()))]
    Extract {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        cause: ExtractError,
    },
    /// A file's BTF is damaged.
    #[error("{path}: {cause}", path = Escaped(path.display()))]
    Btf {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        cause: BtfError,
    },
    /// The running kernel shows no BTF, and none of the files that might hold it is there.
    #[error(
        "the running kernel {release} has no BTF in /sys/kernel/btf, and no vmlinux image was found: it has to be built with CONFIG_DEBUG_INFO_BTF=y, or its types given in a file"
    )]
    NoKernelBtf {
        /// Its release, `uname -r`.
        release: Text,
    },
}

/// The system's own words, which say more than the kind does.
fn os_text(kind: io::ErrorKind, errno: Option<i32>) -> String {
    errno.map_or_else(|| kind.to_string(), |number| io::Error::from_raw_os_error(number).to_string())
}
