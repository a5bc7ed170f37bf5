//! Error numbers of system calls.

use core::fmt;
use std::io;

/// The error number of a failed system call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "it is a number")]
pub struct Errno(pub i32);

/// The numbers below that differ between architectures (`asm/errno.h`): MIPS, SPARC, and everything else.
const ENOSYS: i32 = by_architecture(89, 90, 38);
const EILSEQ: i32 = by_architecture(88, 122, 84);
const EOPNOTSUPP: i32 = by_architecture(122, 45, 95);
const ESTALE: i32 = by_architecture(151, 70, 116);

const fn by_architecture(mips: i32, sparc: i32, other: i32) -> i32 {
    if cfg!(any(
        target_arch = "mips",
        target_arch = "mips32r6",
        target_arch = "mips64",
        target_arch = "mips64r6"
    )) {
        mips
    } else if cfg!(any(target_arch = "sparc", target_arch = "sparc64")) {
        sparc
    } else {
        other
    }
}

impl Errno {
    const EIO: Self = Self(5);

    /// Returns the error number of this thread's last system call.
    pub fn last() -> Self {
        Self::of(&io::Error::last_os_error())
    }

    /// The number behind an error of the standard library; `EIO` if there is none.
    pub fn of(error: &io::Error) -> Self {
        error.raw_os_error().map_or(Self::EIO, Self)
    }

    /// Its name, as `EPERM`, if it is one that bpf(2) and its relatives give.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            1 => "EPERM",
            2 => "ENOENT",
            3 => "ESRCH",
            4 => "EINTR",
            5 => "EIO",
            7 => "E2BIG",
            9 => "EBADF",
            11 => "EAGAIN",
            12 => "ENOMEM",
            13 => "EACCES",
            14 => "EFAULT",
            16 => "EBUSY",
            17 => "EEXIST",
            19 => "ENODEV",
            20 => "ENOTDIR",
            22 => "EINVAL",
            23 => "ENFILE",
            24 => "EMFILE",
            28 => "ENOSPC",
            30 => "EROFS",
            34 => "ERANGE",
            ENOSYS => "ENOSYS",
            EILSEQ => "EILSEQ",
            EOPNOTSUPP => "EOPNOTSUPP",
            ESTALE => "ESTALE",
            524 => "ENOTSUPP",
            _ => return None,
        })
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 524 {
            return f.write_str("ENOTSUPP: not supported by this kernel");
        }
        let text = io::Error::from_raw_os_error(self.0).to_string();
        // The standard library says "Operation not permitted (os error 1)".
        let text = text.split(" (os error").next().unwrap_or_default();
        match self.name() {
            Some(name) => write!(f, "{name}: {text}"),
            None => write!(f, "errno {}: {text}", self.0),
        }
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Errno {}

impl From<Errno> for io::Error {
    fn from(e: Errno) -> Self {
        Self::from_raw_os_error(e.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts() {
        assert_eq!(Errno(1).to_string(), "EPERM: Operation not permitted");
        assert_eq!(Errno(524).to_string(), "ENOTSUPP: not supported by this kernel");
        assert!(Errno(18).to_string().starts_with("errno 18: "));
        assert_eq!(Errno::of(&io::Error::other("x")), Errno::EIO);
    }
}
