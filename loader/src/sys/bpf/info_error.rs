//! [`InfoError`]: an object of the kernel that cannot be read through its descriptor.

use super::kind::ObjectKind;
use core::fmt;
use core_relo_object::Errno;
use std::os::fd::{AsRawFd as _, BorrowedFd, RawFd};

/// The reason why an object of the kernel cannot be read through its descriptor.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InfoError {
    /// The descriptor is none of an object of the kind.
    #[error("descriptor {fd}: {}", self.problem())]
    OtherKind {
        /// The expected kind.
        kind: ObjectKind,
        /// The kind of the object. `None` for a descriptor of a file, a socket and the like.
        found: Option<ObjectKind>,
        /// The descriptor.
        fd: RawFd,
    },
    /// The kernel refuses the request.
    #[error("{kind} of descriptor {fd}: {}", self.problem())]
    Kernel {
        /// The kind of the object.
        kind: ObjectKind,
        /// The facts that cannot be read.
        facts: ObjectFacts,
        /// The descriptor.
        fd: RawFd,
        /// The kernel's error.
        errno: Errno,
    },
}

core_relo::debug_as_message!(InfoError);

/// Facts of an object that the kernel returns by its descriptor (`BPF_OBJ_GET_INFO_BY_FD`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ObjectFacts {
    /// The struct with the properties.
    Properties,
    /// The name of a BTF.
    Name,
    /// The bytes of a BTF.
    Types,
    /// The maps of a program.
    Maps,
    /// The instructions of a program.
    Instructions,
    /// The function and source line records of a program.
    SourceLines,
    /// The machine code of a program.
    MachineCode,
    /// The attach target of a link.
    Target,
}

/// The noun for messages: `machine code`.
impl fmt::Display for ObjectFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Properties => "properties",
            Self::Name => "name",
            Self::Types => "types",
            Self::Maps => "maps",
            Self::Instructions => "instructions",
            Self::SourceLines => "source lines",
            Self::MachineCode => "machine code",
            Self::Target => "target",
        })
    }
}

impl InfoError {
    pub(super) fn kernel(kind: ObjectKind, facts: ObjectFacts, fd: BorrowedFd<'_>, errno: Errno) -> Self {
        Self::Kernel { kind, facts, fd: fd.as_raw_fd(), errno }
    }

    /// Returns the error as an error number: that of the kernel, or `EINVAL` for an object of another kind.
    pub const fn errno(&self) -> Errno {
        match self {
            Self::OtherKind { .. } => Errno::EINVAL,
            Self::Kernel { errno, .. } => *errno,
        }
    }

    /// Returns the text of the error without the descriptor, for messages that name the object:
    /// `cannot read its properties: EPERM`.
    pub fn problem(&self) -> impl fmt::Display {
        Problem(*self)
    }
}

impl ObjectKind {
    /// Checks a descriptor's kind.
    ///
    /// Without `/proc` the check succeeds. Even then no request accesses memory beyond its buffers.
    pub(super) fn check(self, fd: BorrowedFd<'_>) -> Result<(), InfoError> {
        // A thread may have its own descriptors; `/proc/self` would show those of the first thread.
        let Ok(target) = std::fs::read_link(format!("/proc/thread-self/fd/{}", fd.as_raw_fd())) else {
            return Ok(());
        };
        match Self::from_fd_link(&target) {
            Some(found) if found == self => Ok(()),
            found => Err(InfoError::OtherKind { kind: self, found, fd: fd.as_raw_fd() }),
        }
    }
}

impl From<InfoError> for Errno {
    fn from(error: InfoError) -> Self {
        error.errno()
    }
}

/// The text of an error without its object.
struct Problem(InfoError);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            InfoError::OtherKind { kind, found: Some(found), .. } => {
                write!(f, "is a {found}, expected a {kind}")
            }
            InfoError::OtherKind { kind, found: None, .. } => {
                write!(f, "is no BPF object, expected a {kind}")
            }
            InfoError::Kernel { facts, errno, .. } => write!(f, "cannot read its {facts}: {errno}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_object_and_the_facts() {
        let kind = ObjectKind::Program;
        let (facts, errno) = (ObjectFacts::MachineCode, Errno::EPERM);
        let refused = InfoError::Kernel { kind, facts, fd: 5, errno };
        assert!(
            refused.to_string().starts_with("program of descriptor 5: cannot read its machine code: EPERM")
        );
        let other = InfoError::OtherKind { kind, found: Some(ObjectKind::Map), fd: 5 };
        assert_eq!(other.to_string(), "descriptor 5: is a map, expected a program");
        let file = InfoError::OtherKind { kind, found: None, fd: 5 };
        assert_eq!(file.to_string(), "descriptor 5: is no BPF object, expected a program");
        assert_eq!((refused.errno(), other.errno()), (errno, Errno::EINVAL));
    }
}
