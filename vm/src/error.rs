//! The reasons why a guest does not run.

use crate::arch::Arch;
use core::fmt;
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// A reason why a guest does not run.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VmError {
    /// QEMU is not installed.
    #[error("{} is not installed\nhelp: install the package {} (Debian, Ubuntu)", .0.qemu(), .0.qemu_package())]
    NoQemu(Arch),
    /// QEMU cannot be started.
    #[error("{program}: {reason}")]
    Qemu {
        /// The name of the program.
        program: &'static str,
        /// The error of the system, or QEMU's own message.
        reason: String,
    },
    /// QEMU does not start the kernel.
    #[error("{}: {program}: {reason}", .kernel.display())]
    KernelNotStarted {
        /// The kernel image.
        kernel: PathBuf,
        /// The name of the program.
        program: &'static str,
        /// QEMU's own message, without the program's name.
        reason: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {reason}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        reason: String,
    },
    /// The file is no kernel image that QEMU boots.
    #[error("{}: not a bootable kernel image: {reason}, expected a bzImage, an ELF vmlinux of x86-64 (with a PVH note) or ppc64le, an Image of arm64 or riscv64, or an s390x image", .path.display())]
    NotBootable {
        /// The file.
        path: PathBuf,
        /// The contents of the file.
        reason: String,
    },
    /// The guest cannot run an executable.
    #[error("{}: {reason}", .path.display())]
    Executable {
        /// The executable.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// The executable is for another architecture than the kernel.
    #[error("{}: an executable for ELF machine {machine}, expected {expected}, the architecture of the kernel", .path.display())]
    ForeignExecutable {
        /// The executable.
        path: PathBuf,
        /// The executable's `e_machine`.
        machine: u16,
        /// The architecture of the kernel.
        expected: Arch,
    },
    /// A shared library of an executable is not found.
    #[error("{}: shared library not found: {library}", .path.display())]
    MissingLibrary {
        /// The executable or library that needs the library.
        path: PathBuf,
        /// The name of the library.
        library: String,
    },
    /// The commands print too much.
    #[error("the output of the guest is too large: expected at most {limit_bytes} bytes")]
    Output {
        /// The limit in bytes.
        limit_bytes: u64,
    },
    /// The kernel did not start the first process.
    #[error("{}: the kernel did not boot{}", .kernel.display(), within(.timed_out))]
    NoBoot {
        /// The kernel image.
        kernel: PathBuf,
        /// The time limit, if the machine reached the limit.
        timed_out: Option<u64>,
        /// The last lines of the kernel's console and of QEMU's messages.
        console: String,
    },
}

/// The message, as `fn main() -> Result<(), Box<dyn Error>>` prints it. Messages contain their causes.
impl fmt::Debug for VmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl VmError {
    /// Creates the error for a file that cannot be read or written.
    pub fn file(path: &Path, error: &std::io::Error) -> Self {
        let reason = match error.kind() {
            // The standard library adds the number of the error.
            ErrorKind::NotFound => "no such file or directory".to_owned(),
            ErrorKind::PermissionDenied => "permission denied".to_owned(),
            _ => error.to_string(),
        };
        Self::File { path: path.to_path_buf(), reason }
    }

    pub(crate) fn executable(path: &Path, reason: impl ToString) -> Self {
        Self::Executable { path: path.to_path_buf(), reason: reason.to_string() }
    }
}

fn within(time_limit: &Option<u64>) -> String {
    time_limit.map_or_else(String::new, |seconds| format!(" within {seconds} s"))
}
