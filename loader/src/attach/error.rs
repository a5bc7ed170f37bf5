//! Why a program is not attached.

use crate::{object::SectionTargetError, privileges, sys::Errno};
use core::fmt;
use core_relo::{Escaped, Text};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a program is not attached.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AttachError {
    /// The kernel refused.
    #[error("{what}: cannot {action}: {errno}{hint}")]
    Kernel {
        /// What was to be attached where: `kprobe/do_exit`.
        what: Text,
        /// `attach`, `detach`, `update`.
        action: &'static str,
        /// Why.
        errno: Errno,
        /// What to do.
        hint: Hint,
    },
    /// The kernel refused over netlink.
    #[error("{what}: cannot {action}: {errno}{}{hint}", quoted(said))]
    Netlink {
        /// What was to be attached where: `xdp on interface 3`.
        what: Text,
        /// `attach`, `detach`, `update`, `query`.
        action: &'static str,
        /// Why.
        errno: Errno,
        /// Why, in the kernel's own words (its extended acknowledgement); may be empty.
        said: Text,
        /// What to do.
        hint: Hint,
    },
    /// One of an object's programs could not be attached.
    #[error("program `{program}`{}: {cause}", In(section, cause))]
    Program {
        /// The program.
        program: Text,
        /// Its section.
        section: Text,
        /// Why.
        #[source]
        cause: Box<Self>,
    },
    /// The section's name does not say what to attach to, or in a form that cannot be read.
    #[error("{what}: {problem}")]
    Target {
        /// The section or the target.
        what: Text,
        /// What is wrong, and what was expected.
        problem: Text,
        /// The errno behind that, if the system said so.
        errno: Option<Errno>,
    },
    /// A pin cannot be made, opened or removed.
    #[error("{}: {errno}{hint}", Escaped(path.display()))]
    Pin {
        /// The pin.
        path: PathBuf,
        /// Why.
        errno: Errno,
        /// What to do.
        hint: Hint,
    },
    /// A pinned link was to be detached: its pin keeps the program attached.
    #[error("{what}: it stays attached, for it is pinned at {}: remove that, or detach by force", Escaped(path.display()))]
    Pinned {
        /// What is attached.
        what: Text,
        /// The pin.
        path: PathBuf,
    },
    /// The attachment is of an older kind that has no link which could be pinned.
    #[error("{what} is not attached by a link of the kernel's, so it cannot be pinned")]
    NotALink {
        /// What is attached.
        what: Text,
    },
    /// Programs of this kind are attached by an explicit call only: the section's name cannot say to what.
    #[error("{what}: programs of this kind do not attach by themselves: say what to attach to")]
    NotAutomatic {
        /// The program's section.
        what: Text,
    },
}

impl From<SectionTargetError> for AttachError {
    fn from(error: SectionTargetError) -> Self {
        Self::target(error.section, error.problem)
    }
}

impl AttachError {
    pub(crate) fn kernel(what: &str, action: &'static str, errno: Errno) -> Self {
        Self::Kernel { what: what.into(), action, errno, hint: Hint::of(errno) }
    }

    pub(crate) fn hinted(what: &str, action: &'static str, errno: Errno, hint: Hint) -> Self {
        Self::Kernel { what: what.into(), action, errno, hint }
    }

    pub(crate) fn pin(path: &Path, errno: Errno) -> Self {
        let hint = match errno.0 {
            libc::EPERM | libc::EINVAL | libc::ENODEV => Hint::NOT_BPFFS,
            libc::EEXIST => Hint::EXISTS,
            libc::ENOENT => Hint("the folder that it is to be made in has none above it: make that first"),
            _ => Hint::of(errno),
        };
        Self::Pin { path: path.to_path_buf(), errno, hint }
    }

    /// A pin that was there.
    pub(crate) fn no_pin(path: &Path, errno: Errno) -> Self {
        match errno.0 {
            libc::ENOENT => {
                Self::Pin { path: path.to_path_buf(), errno, hint: Hint("nothing is pinned there") }
            }
            _ => Self::pin(path, errno),
        }
    }

    /// A target that cannot be read.
    pub fn target(what: impl Into<Text>, problem: impl Into<Text>) -> Self {
        Self::Target { what: what.into(), problem: problem.into(), errno: None }
    }

    /// A file that cannot be read.
    pub(crate) fn unreadable(path: &Path, errno: Errno) -> Self {
        let problem = format!("cannot be read: {errno}").into();
        Self::Target { what: path.display().to_string().into(), problem, errno: Some(errno) }
    }

    /// What the kernel said, if it was asked.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Kernel { errno, .. } | Self::Netlink { errno, .. } | Self::Pin { errno, .. } => {
                Some(*errno)
            }
            Self::Target { errno, .. } => *errno,
            Self::Program { cause, .. } => cause.errno(),
            Self::Pinned { .. } | Self::NotALink { .. } | Self::NotAutomatic { .. } => None,
        }
    }
}

/// A program's section, unless the cause begins with it.
struct In<'e>(&'e str, &'e AttachError);

impl fmt::Display for In<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(section, cause) = self;
        let section = section.strip_prefix('?').unwrap_or(section);
        let said = match cause {
            AttachError::Kernel { what, .. }
            | AttachError::Netlink { what, .. }
            | AttachError::Target { what, .. } => what,
            _ => "",
        };
        if said.starts_with(section) { Ok(()) } else { write!(f, " (section {})", Escaped(section)) }
    }
}

fn quoted(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(", the kernel says: {}", Escaped(said)) }
}

/// A way out, printed after the errno in parentheses; may be empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is a text")]
pub struct Hint(pub &'static str);

impl Hint {
    const NOT_BPFFS: Self = Self("is it below a mounted bpffs, and without a `.` in its name?");
    const EXISTS: Self = Self("something is pinned there already: remove it, or pin elsewhere");

    /// What usually helps against an error of bpf(2).
    pub fn of(errno: Errno) -> Self {
        Self(match errno.0 {
            libc::EPERM | libc::EACCES => privileges::lacking(),
            libc::EMFILE => "this process has too many files open: raise RLIMIT_NOFILE (`ulimit -n`)",
            libc::ENFILE => "the system has too many files open: raise fs.file-max",
            libc::ENOSYS => "this kernel was built without bpf(2)",
            libc::EROFS => "the file system is mounted read-only",
            _ => "",
        })
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " ({})", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_once_and_its_section_once() {
        let of = |section: &str, cause| {
            let (program, section) = ("main".into(), section.into());
            AttachError::Program { program, section, cause: Box::new(cause) }
        };
        let missing = of("?kprobe/x", AttachError::kernel("kprobe/x", "attach", Errno(libc::ENOENT)));
        assert!(
            missing.to_string().starts_with("program `main`: kprobe/x: cannot attach: ENOENT"),
            "{missing}"
        );
        assert_eq!(missing.errno(), Some(Errno(libc::ENOENT)));
        let binary = of("usdt/libc.so.6:a:b", AttachError::target("/lib/libc.so.6", "has no USDT probes"));
        assert_eq!(
            binary.to_string(),
            "program `main` (section usdt/libc.so.6:a:b): /lib/libc.so.6: has no USDT probes"
        );
        assert_eq!(binary.clone(), binary);
    }
}
