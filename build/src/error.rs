//! Errors of a build.

use crate::{skeleton::SkeletonError, vmlinux_error::VmlinuxError};
use core::fmt;
use std::{io, path::PathBuf};
use thiserror::Error;

/// The reason why a BPF program cannot be built. The debug output is the message, for a `main` that returns
/// the error.
#[derive(Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No clang was found that compiles for BPF.
    #[error(
        "no clang that compiles BPF programs was found{}\nhelp: install clang {minimum} or later (Debian, Ubuntu: apt install clang; \
         Fedora: dnf install clang; Alpine: apk add clang; Arch: pacman -S clang), or set CLANG to its path",
        refused_note(.refused)
    )]
    NoClang {
        /// The oldest version that fits.
        minimum: u32,
        /// The compilers that were found, and why each does not fit.
        refused: Vec<(PathBuf, String)>,
    },
    /// No source was given.
    #[error("no source was given: call `Builder::source`")]
    NoSource,
    /// The file name of a source does not end with `.bpf.c` or `.c`.
    #[error("{}: the name of a source ends with .bpf.c", .source_file.display())]
    SourceName {
        /// The path of the source.
        source_file: PathBuf,
    },
    /// Two sources have the same name, so their skeletons would, too.
    #[error("{} and {}: both skeletons would be called `{name}`", .files[0].display(), .files[1].display())]
    SameName {
        /// The paths of the sources.
        files: [PathBuf; 2],
        /// The name of the skeletons.
        name: String,
    },
    /// The skeleton's module would have the name of a crate, whose paths then mean the module.
    #[error(
        "{}: the skeleton's module would be called `{module}`, as a crate that the program can use\n\
         help: rename the source, such as `{module}_bpf.bpf.c`",
        .source_file.display()
    )]
    CrateName {
        /// The path of the source.
        source_file: PathBuf,
        /// The name of the module and of the crate.
        module: String,
    },
    /// Cargo's environment is missing.
    #[error("the environment variable {variable} is not set: the builder runs in a build script")]
    Environment {
        /// The variable.
        variable: &'static str,
    },
    /// A variable of the environment is not text.
    #[error("the environment variable {variable} is not UTF-8")]
    NotText {
        /// The variable.
        variable: &'static str,
    },
    /// An option of the skeletons names something that no source has.
    #[error("no source has {what}")]
    Unused {
        /// The map or type.
        what: String,
    },
    /// clang refused a source.
    #[error("{}: clang reports errors:\n{diagnostics}{}", .source_file.display(), type_help(.diagnostics))]
    Compile {
        /// The path of the source.
        source_file: PathBuf,
        /// What clang printed.
        diagnostics: String,
    },
    /// A file cannot be read or written, or a program cannot be started.
    #[error("{}: cannot {action}: {cause}", .path.display())]
    Io {
        /// The path of the file or program.
        path: PathBuf,
        /// The action, a verb.
        action: &'static str,
        /// The error.
        #[source]
        cause: io::Error,
    },
    /// The caller has cancelled the work.
    #[error("cancelled")]
    Cancelled,
    /// The headers do not know the registers of the machine that
    /// [`Builder::machine`](crate::Builder::machine) names.
    #[error("no machine is called `{machine}`, expected one of {}", .known.join(", "))]
    UnknownMachine {
        /// The name.
        machine: String,
        /// The names of the machines that the headers know.
        known: Vec<&'static str>,
    },
    /// clang's list of headers cannot be read.
    #[error("{}: no list of dependencies: {problem}", .path.display())]
    Dependencies {
        /// The path of the list.
        path: PathBuf,
        /// The problem.
        problem: &'static str,
    },
    /// There is no `vmlinux.h` for cargo's target.
    #[error("{}: {cause}", .path.display())]
    Vmlinux {
        /// The path of the kernel's types.
        path: PathBuf,
        /// The reason.
        #[source]
        cause: VmlinuxError,
    },
    /// No skeleton can be generated from a compiled source.
    #[error("{}: no skeleton: {cause}", .source_file.display())]
    Skeleton {
        /// The path of the source.
        source_file: PathBuf,
        /// The reason.
        #[source]
        cause: SkeletonError,
    },
}

impl BuildError {
    /// Returns a function that adds a path and an action to an error of the operating system.
    pub(crate) fn io(path: impl Into<PathBuf>, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| Self::Io { path, action, cause }
    }
}

impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

fn refused_note(refused: &[(PathBuf, String)]) -> String {
    let lines: Vec<_> = refused.iter().map(|(path, why)| format!("\n  {}: {why}", path.display())).collect();
    lines.concat()
}

/// Returns advice if clang misses a type, of which the headers have only the most common ones, or finds a
/// type twice.
fn type_help(diagnostics: &str) -> &'static str {
    let misses = |text| diagnostics.contains(text);
    if misses("'vmlinux.h' file not found") {
        "help: `Builder::vmlinux_of_running_kernel` and `Builder::vmlinux_of` make `vmlinux.h` at each build; \
         `core-relo btf dump /sys/kernel/btf/vmlinux --format c > src/bpf/vmlinux.h` writes one to keep with the sources"
    } else if diagnostics.contains("'asm/") && diagnostics.contains("file not found") {
        "help: the kernel's headers of the target are not installed (Debian, Ubuntu: apt install linux-libc-dev-arm64-cross, or the like): \
         install them, or include `vmlinux.h` (from `Builder::vmlinux_of`) or `bpf/bpf_types.h` instead"
    } else if misses("the registers depend on the machine") {
        "help: the builder does not know the registers of cargo's target: `Builder::define(\"__TARGET_ARCH_arm64\", \"1\")` chooses those of another"
    } else if (misses("redefinition of '") || misses("typedef redefinition")) && misses("vmlinux.h:") {
        "help: `vmlinux.h` has a type of this name: rename the source's, or write a `vmlinux.h` that leaves out the source's own types: \
         `core-relo gen vmlinux SOURCE -o src/bpf/vmlinux.h`"
    } else if misses("unknown type name")
        || misses("incomplete definition of type")
        || misses("has incomplete type")
    {
        "help: for types that `bpf_helpers.h` lacks, include `vmlinux.h` (from `Builder::vmlinux_of_running_kernel`, or \
         `Builder::vmlinux_of`) or `<linux/bpf.h>` before it"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(diagnostics: &str) -> String {
        BuildError::Compile { source_file: "agent.bpf.c".into(), diagnostics: format!("{diagnostics}\n") }
            .to_string()
    }

    #[test]
    fn missing_types_are_errors_with_a_way_out() {
        for diagnostics in [
            "a.c:1:1: error: unknown type name 'u64'",
            "a.c:1:1: error: incomplete definition of type 'struct bpf_perf_event_data'",
            "a.c:1:1: error: variable has incomplete type 'struct bpf_fib_lookup'",
        ] {
            let message = message(diagnostics);
            assert!(
                message.contains("\nhelp: for types that `bpf_helpers.h` lacks, include `vmlinux.h`"),
                "{message}"
            );
        }
        let message = message("a.c:1:10: fatal error: 'vmlinux.h' file not found");
        assert!(message.contains("\nhelp: `Builder::vmlinux_of_running_kernel` and"), "{message}");
    }

    #[test]
    fn types_that_vmlinux_has_too_are_errors_with_a_way_out() {
        let message = message(
            "a.c:2:8: error: redefinition of 'key'\n/out/include/vmlinux.h:7:8: note: previous definition is here",
        );
        assert!(
            message.contains("\nhelp: `vmlinux.h` has a type of this name: rename the source's"),
            "{message}"
        );
        let typedef = self::message(
            "a.c:2:13: error: typedef redefinition with different types ('int' vs 'u32')\n/out/include/vmlinux.h:7:8: note: previous definition is here",
        );
        assert!(typedef.contains("\nhelp: `vmlinux.h` has a type of this name"), "{typedef}");
        let own = self::message(
            "a.c:2:8: error: redefinition of 'key'\na.c:1:8: note: previous definition is here",
        );
        assert!(!own.contains("help:"), "{own}");
    }

    #[test]
    fn missing_headers_of_the_target_are_errors_with_a_way_out() {
        let message = message("types.h:5:10: fatal error: 'asm/types.h' file not found");
        assert!(
            message.contains("\nhelp: the kernel's headers of the target are not installed"),
            "{message}"
        );
    }

    #[test]
    fn other_errors_of_clang_have_no_advice() {
        assert_eq!(
            message("a.c:1:1: error: expected ';'"),
            "agent.bpf.c: clang reports errors:\na.c:1:1: error: expected ';'\n"
        );
    }
}
