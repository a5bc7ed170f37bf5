//! The error of every attach call.

pub(super) use crate::hint::Hint;
use crate::sys::Errno;
use core::fmt;
use core_relo::{Escaped, Text};
use core_relo_object::object::{ProgramType, SectionTargetError};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// `ENOTSUPP` of the kernel, which user space has no name for.
pub(super) const ENOTSUPP: i32 = 524;

/// The reason why a program is not attached, updated or detached.
///
/// The `label` of most variants names the attachment: the section name in libbpf's notation, such as
/// `kprobe/do_exit`, or a text such as `xdp on interface 3`.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AttachError {
    /// The kernel refused a system call.
    #[error("{label}: cannot {action}: {errno}{hint}")]
    Kernel {
        /// The attachment.
        label: Text,
        /// The verb: `attach`, `detach`, `update`.
        action: &'static str,
        /// The kernel's error number.
        errno: Errno,
        /// The likely remedy.
        hint: Hint,
    },
    /// The kernel refused a netlink request.
    #[error("{label}: cannot {action}: {errno}{}{hint}", ext_ack_suffix(ext_ack))]
    Netlink {
        /// The attachment.
        label: Text,
        /// The verb: `attach`, `detach`, `update`, `query`.
        action: &'static str,
        /// The kernel's error number.
        errno: Errno,
        /// The kernel's explanation (extended acknowledgement); empty if the kernel gave none.
        ext_ack: Text,
        /// The likely remedy.
        hint: Hint,
    },
    /// An object's program is not attached.
    #[error("program `{program}`{}: {cause}", SectionSuffix(section, cause))]
    Program {
        /// The program.
        program: Text,
        /// Its section.
        section: Text,
        /// The reason.
        #[source]
        cause: Box<Self>,
    },
    /// The attach target is invalid: a section name without a readable target, a file that is no binary, a
    /// missing program.
    #[error("{label}: {problem}")]
    Target {
        /// The section, file or attachment.
        label: Text,
        /// The problem and what was expected.
        problem: Text,
        /// The error number of the failed system call, if a system call failed.
        errno: Option<Errno>,
    },
    /// The kernel refused a program whose type does not fit the attach target.
    #[error("{label}: cannot attach: wrong program type: {found}, expected {}", TypeList(expected))]
    WrongProgramType {
        /// The attachment.
        label: Text,
        /// The program's type.
        found: ProgramType,
        /// The types that fit.
        expected: Vec<ProgramType>,
    },
    /// A pin cannot be created, opened or removed.
    #[error("{}: {errno}{hint}", Escaped(path.display()))]
    Pin {
        /// The pin's path.
        path: PathBuf,
        /// The kernel's error number.
        errno: Errno,
        /// The likely remedy.
        hint: Hint,
    },
    /// Some or all of the pins of an object exist already.
    #[error("{}: EEXIST: something is pinned there already: {} ({})", Escaped(path.display()), ExistingPins(*existing, *planned), RemoveDir(dir))]
    PinsExist {
        /// The first pin whose path is taken.
        path: PathBuf,
        /// The directory of the pins.
        dir: PathBuf,
        /// The number of the object's pins that other loads created.
        existing: usize,
        /// The number of all pins of the object.
        planned: usize,
    },
    /// The detached link is pinned, and the pin keeps the program attached.
    #[error("{label}: still attached, pinned at {}: remove the pin, or detach by force", Escaped(path.display()))]
    Pinned {
        /// The attachment.
        label: Text,
        /// The pin's path.
        path: PathBuf,
    },
    /// The attachment has no kernel link, so it cannot be pinned.
    #[error("{label}: cannot be pinned: the attachment has no kernel link")]
    NoKernelLink {
        /// The attachment.
        label: Text,
    },
    /// The section name does not name an attach target.
    #[error("{label}: the section name does not name an attach target: attach with an explicit call")]
    NoAutoAttach {
        /// The program and its section.
        label: Text,
    },
}

core_relo::debug_as_message!(AttachError);

impl From<SectionTargetError> for AttachError {
    fn from(error: SectionTargetError) -> Self {
        Self::target(error.section, error.problem)
    }
}

impl AttachError {
    pub(crate) fn kernel(label: &str, action: &'static str, errno: impl Into<Errno>) -> Self {
        let errno = errno.into();
        Self::Kernel { label: label.into(), action, errno, hint: Hint::for_errno(errno) }
    }

    pub(crate) fn kernel_with_hint(label: &str, action: &'static str, errno: Errno, hint: Hint) -> Self {
        Self::Kernel { label: label.into(), action, errno, hint }
    }

    pub(crate) fn pin(path: &Path, errno: Errno) -> Self {
        let missing_bpffs = match errno.0 {
            libc::ENOENT | libc::EPERM | libc::EINVAL | libc::ENODEV => Hint::missing_bpffs(path),
            _ => None,
        };
        let hint = missing_bpffs.unwrap_or_else(|| match errno.0 {
            libc::EPERM | libc::EINVAL | libc::ENODEV => Hint::NOT_BPFFS,
            libc::EEXIST => Hint::PIN_EXISTS,
            libc::ENOENT => {
                Hint("the directory above the pin's directory does not exist: create that directory first")
            }
            _ => Hint::for_errno(errno),
        });
        Self::Pin { path: path.to_path_buf(), errno, hint }
    }

    /// Creates the error of a pin that cannot be opened or removed.
    pub(crate) fn missing_pin(path: &Path, errno: Errno) -> Self {
        match errno.0 {
            libc::ENOENT => {
                let hint = Hint::missing_bpffs(path).unwrap_or(Hint("nothing is pinned there"));
                Self::Pin { path: path.to_path_buf(), errno, hint }
            }
            _ => Self::pin(path, errno),
        }
    }

    /// Creates the error of an invalid attach target.
    pub fn target(label: impl Into<Text>, problem: impl Into<Text>) -> Self {
        Self::Target { label: label.into(), problem: problem.into(), errno: None }
    }

    /// Creates the error of a file that cannot be read.
    pub(crate) fn unreadable(path: &Path, errno: Errno) -> Self {
        let problem = format!("cannot be read: {errno}").into();
        Self::Target { label: path.display().to_string().into(), problem, errno: Some(errno) }
    }

    /// Creates the error of a file that cannot be opened.
    pub(crate) fn unopened(path: &Path, errno: Errno) -> Self {
        let problem = format!("cannot be opened: {errno}").into();
        Self::Target { label: path.display().to_string().into(), problem, errno: Some(errno) }
    }

    /// Returns the error number, if a system call failed.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Kernel { errno, .. } | Self::Netlink { errno, .. } | Self::Pin { errno, .. } => {
                Some(*errno)
            }
            Self::Target { errno, .. } => *errno,
            Self::PinsExist { .. } => Some(Errno(libc::EEXIST)),
            Self::WrongProgramType { .. } => Some(Errno(libc::EINVAL)),
            Self::Program { cause, .. } => cause.errno(),
            Self::Pinned { .. } | Self::NoKernelLink { .. } | Self::NoAutoAttach { .. } => None,
        }
    }
}

/// The likely origin of existing pins: their number, and the number of all pins of the object.
struct ExistingPins(usize, usize);

impl fmt::Display for ExistingPins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(existing, planned) = self;
        if existing == planned {
            return write!(
                f,
                "all {planned} pins of this load exist, so it is loaded, or another object with the same names is"
            );
        }
        write!(
            f,
            "{existing} of the {planned} pins of this load exist, made by another load, or left by one that was killed"
        )
    }
}

/// The remedy for pins that exist in a directory.
struct RemoveDir<'e>(&'e Path);

impl fmt::Display for RemoveDir<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dir = Escaped(self.0.display());
        write!(f, "`rm -r {dir}` unloads all that is pinned there and detaches its links; or pin elsewhere")
    }
}

/// A program's section in parentheses; empty if the cause's text begins with the section.
struct SectionSuffix<'e>(&'e str, &'e AttachError);

impl fmt::Display for SectionSuffix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(section, cause) = self;
        let section = section.strip_prefix('?').unwrap_or(section);
        let label = match cause {
            AttachError::Kernel { label, .. }
            | AttachError::Netlink { label, .. }
            | AttachError::Target { label, .. } => label,
            _ => "",
        };
        if label.starts_with(section) { Ok(()) } else { write!(f, " (section {})", Escaped(section)) }
    }
}

/// Program types, separated by `or`.
struct TypeList<'e>(&'e [ProgramType]);

impl fmt::Display for TypeList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, program_type) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { " or " };
            write!(f, "{separator}{program_type}")?;
        }
        Ok(())
    }
}

fn ext_ack_suffix(ext_ack: &str) -> String {
    if ext_ack.is_empty() { String::new() } else { format!(", the kernel says: {}", Escaped(ext_ack)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_once_and_its_section_once() {
        let program_error = |section: &str, cause| {
            let (program, section) = ("main".into(), section.into());
            AttachError::Program { program, section, cause: Box::new(cause) }
        };
        let missing =
            program_error("?kprobe/x", AttachError::kernel("kprobe/x", "attach", Errno(libc::ENOENT)));
        assert!(
            missing.to_string().starts_with("program `main`: kprobe/x: cannot attach: ENOENT"),
            "{missing}"
        );
        assert_eq!(missing.errno(), Some(Errno(libc::ENOENT)));
        let binary =
            program_error("usdt/libc.so.6:a:b", AttachError::target("/lib/libc.so.6", "has no USDT probes"));
        assert_eq!(
            binary.to_string(),
            "program `main` (section usdt/libc.so.6:a:b): /lib/libc.so.6: has no USDT probes"
        );
        assert_eq!(binary.clone(), binary);
    }
}
