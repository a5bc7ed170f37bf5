//! Errors of files and kernels that cannot be read or understood.

use crate::{
    compression::{budget::Exceeded, format::Compression},
    package_defect::PackageDefect,
};
use core_relo::{Endian, Escaped, Name};
use core_relo_loader::target::{ExtractError, TargetError};
use std::{
    io,
    path::{Path, PathBuf},
};
use thiserror::Error;

/// The error of a file or kernel that cannot be read or understood.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{}: {}", escape_path(path), Escaped(&self.what()))]
#[non_exhaustive]
pub struct InputError {
    /// The file, `ARCHIVE//MEMBER` for a member of an archive, or the name of a kernel.
    pub path: PathBuf,
    /// The defect.
    pub defect: Defect,
}

core_relo::debug_as_message!(InputError);

impl InputError {
    /// Creates the error for a file, or for a kernel by its name.
    pub fn new(path: impl AsRef<Path>, defect: Defect) -> Self {
        Self { path: path.as_ref().to_path_buf(), defect }
    }

    /// Returns the text of the defect, without the path.
    pub fn what(&self) -> String {
        let text = self.defect.to_string();
        let path = self.path.display().to_string();
        let rest = text.strip_prefix(&path).and_then(|rest| rest.strip_prefix(": "));
        rest.map(str::to_owned).unwrap_or(text)
    }
}

/// The defect of a file or kernel.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Defect {
    /// The path leads to a directory.
    #[error("is a directory, expected a file")]
    IsDirectory,
    /// Standard input is a device.
    #[error("standard input is a device, expected a file or a pipe")]
    InputIsDevice,
    /// The path leads to a device, a pipe or a socket.
    #[error("is a device, pipe or socket, expected a regular file")]
    NotAFile,
    /// The path of a configuration or a list of symbols leads to a device, a pipe or a socket.
    #[error("is a device, pipe or socket, expected a regular file")]
    TextNotAFile,
    /// The kernel generates the file.
    #[error("has no length, for the kernel writes it while it is read; expected a regular file")]
    Generated,
    /// The file cannot be read.
    #[error("{}", unreadable(.0))]
    Unreadable(IoFailure),
    /// A configuration or a list of symbols cannot be read.
    #[error("cannot be read: {0}")]
    UnreadableText(IoFailure),
    /// A configuration or a list of symbols cannot be decompressed.
    #[error("cannot be unpacked: {0}")]
    PackedText(IoFailure),
    /// A configuration has no option.
    #[error("is no kernel configuration: it has no line `CONFIG_...=`")]
    NoOption,
    /// A list of symbols has no symbol.
    #[error("is no list of symbols: it has no line `ADDRESS TYPE NAME`")]
    NoSymbol,
    /// The file or member is larger than its limit.
    #[error("has {bytes} bytes, at most {limit} are read")]
    TooLong {
        /// The size of the file.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The file grew beyond its limit while it was read.
    #[error("grew while it was read; at most {limit} bytes are read")]
    Grew {
        /// The limit.
        limit: u64,
    },
    /// A pipe or standard input is longer than its limit.
    #[error("has more than {limit} bytes")]
    StreamTooLong {
        /// The limit.
        limit: u64,
    },
    /// Standard input has been read before.
    #[error("standard input is used twice")]
    InputUsedTwice,
    /// The file has no bytes.
    #[error("is empty")]
    Empty,
    /// The archive has no bytes.
    #[error("is empty")]
    EmptyArchive,
    /// The file ends before its BTF.
    #[error("truncated: its header says {expected} bytes, {bytes} are there")]
    TruncatedBtf {
        /// The size of the file.
        bytes: u64,
        /// The size in the header.
        expected: u64,
    },
    /// The boot image ends before the compressed kernel.
    #[error("truncated: its header says the kernel ends at byte {expected}, it has {bytes}")]
    TruncatedImage {
        /// The size of the image.
        bytes: usize,
        /// The end of the kernel in the header.
        expected: usize,
    },
    /// The archive ends within the member.
    #[error("truncated: {bytes} bytes, expected {expected}")]
    TruncatedMember {
        /// The bytes of the member that the archive has.
        bytes: usize,
        /// The size of the member.
        expected: u64,
    },
    /// The compressed kernel in a boot image has none of the known magic numbers.
    #[error("the boot image's header names a payload that is in no known compression")]
    UnknownPayload,
    /// The file or archive exceeds the budget for unpacking it.
    #[error(transparent)]
    Exceeded(#[from] Exceeded),
    /// A compressed stream is damaged, or exceeds the budget.
    #[error("{format} stream: {cause}")]
    Stream {
        /// The format.
        format: Compression,
        /// The error of the decoder.
        cause: IoFailure,
        /// The limit that the stream exceeds.
        exceeded: Option<Exceeded>,
    },
    /// A tar archive is damaged.
    #[error("tar archive: {0}")]
    Archive(IoFailure),
    /// A package is damaged.
    #[error(transparent)]
    Package(#[from] PackageDefect),
    /// Packages contain no kernel image.
    #[error("{}", without_kernel(packages, *file_count, *module_count, kernel_package.as_deref()))]
    PackageWithoutKernel {
        /// The names of the packages.
        packages: Vec<String>,
        /// The number of their files.
        file_count: usize,
        /// The number of modules among the files.
        module_count: usize,
        /// The package that has the kernel, if the names show it.
        kernel_package: Option<String>,
    },
    /// The kernel in a package has no BTF.
    #[error("the kernel has no BTF{}", debug_package_text(debug_package.as_deref()))]
    PackagedKernelWithoutBtf {
        /// The package with the kernel's debug information, if the names show it.
        debug_package: Option<String>,
    },
    /// An ELF has no BTF, and its debug information is in another file, which is not found.
    #[error(
        "no BTF in it, and its debug information is in a file that is not found: `{}`",
        Escaped(debug_file)
    )]
    MissingDebugFile {
        /// The file in `.gnu_debuglink`.
        debug_file: String,
    },
    /// The file has the name of a tar archive, and is none.
    #[error("is no tar archive, although its name ends like one")]
    NotAnArchive,
    /// A tar archive where one kernel is expected.
    #[error("is a tar archive")]
    IsArchive {
        /// Whether the file has the name of a tar archive.
        has_archive_name: bool,
    },
    /// The file has the name of a tar archive where one kernel is expected.
    #[error("is an archive, expected one kernel")]
    NotOneKernel,
    /// The ELF file has no BTF.
    #[error("{}", ExtractError::NoBtf)]
    NoBtf,
    /// The file of an unknown format has no BTF.
    #[error("no BTF in it")]
    NoBtfFound,
    /// The BTF cannot be read.
    #[error(transparent)]
    Btf(Box<TargetError>),
    /// The BTF of a module does not extend the BTF of the kernel.
    #[error(transparent)]
    ForeignModule(Box<TargetError>),
    /// The BTF is damaged, or is that of a module without its kernel.
    #[error(transparent)]
    ModuleOrDamaged(Box<TargetError>),
    /// The member of an archive is BTF of a module.
    #[error(transparent)]
    ModuleInArchive(Box<TargetError>),
    /// BTF of a module without its kernel.
    #[error("is BTF of a module")]
    ModuleWithoutBase,
    /// The types of the running kernel cannot be read.
    #[error(transparent)]
    RunningKernel(Box<TargetError>),
    /// Modules are given for several kernels.
    #[error("modules belong to one kernel: found {kernel_count} kernels, expected 1")]
    ModulesOfSeveralKernels {
        /// The number of kernels.
        kernel_count: usize,
    },
    /// The BTF is minimal and lacks the types that verdicts need.
    #[error("is minimal BTF without the types on which verdicts depend")]
    MinimalBtf,
    /// An object has another byte order than the kernel.
    #[error("the kernel is {}-endian, the object {}-endian", byte_order(*kernel), byte_order(*object))]
    ByteOrder {
        /// The byte order of the kernel.
        kernel: Endian,
        /// The byte order of the object.
        object: Endian,
    },
    /// The directory has no kernel.
    #[error("contains no kernel with BTF")]
    NoKernel,
    /// The directories are nested too deeply.
    #[error("directories nest deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: u32,
    },
}

core_relo::debug_as_message!(Defect);

/// An error of the system or of a decoder, in a form that can be compared.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct IoFailure {
    /// The kind of error.
    pub kind: io::ErrorKind,
    /// The text of the error.
    pub message: String,
}

core_relo::debug_as_message!(IoFailure);

impl From<&io::Error> for IoFailure {
    fn from(e: &io::Error) -> Self {
        Self { kind: e.kind(), message: e.to_string() }
    }
}

impl From<io::Error> for IoFailure {
    fn from(e: io::Error) -> Self {
        Self::from(&e)
    }
}

fn unreadable(e: &IoFailure) -> String {
    match e.kind {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => format!("cannot be read: {e}"),
    }
}

fn without_kernel(
    packages: &[String],
    file_count: usize,
    module_count: usize,
    kernel_package: Option<&str>,
) -> String {
    let names: Vec<_> = packages.iter().map(|name| format!("`{}`", Escaped(name))).collect();
    let kind = if names.len() == 1 { "package" } else { "packages" };
    let files = if file_count == 1 { "file" } else { "files" };
    let modules = match module_count {
        0 => String::new(),
        1 => ", 1 of them a module".to_owned(),
        count => format!(", {count} of them modules"),
    };
    let kernel = kernel_package.map(|name| format!("; the kernel is in the package `{}`", Escaped(name)));
    format!(
        "no kernel in the {kind} {}, which has {file_count} {files}{modules}{}",
        names.join(" and "),
        kernel.as_deref().unwrap_or("")
    )
}

fn debug_package_text(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| {
        format!("; its debug information is in the package `{}`", Escaped(name))
    })
}

const fn byte_order(endian: Endian) -> &'static str {
    match endian {
        Endian::Little => "little",
        Endian::Big => "big",
    }
}

/// Returns a path as one line of text, with control characters and invisible characters escaped.
pub(crate) fn escape_path(path: &Path) -> String {
    Name::new(path.as_os_str().as_encoded_bytes()).to_string()
}
