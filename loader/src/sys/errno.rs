//! What a failed system call says.

use core::fmt;
use std::io;

/// The number a failed system call leaves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "it is a number")]
pub struct Errno(pub i32);

impl Errno {
    /// The last call's of this thread.
    pub(super) fn last() -> Self {
        Self::of(&io::Error::last_os_error())
    }

    /// The number behind an error of the standard library; `EIO` if there is none.
    pub fn of(error: &io::Error) -> Self {
        Self(error.raw_os_error().unwrap_or(libc::EIO))
    }

    /// Its name, as `EPERM`, if it is one that bpf(2) and its relatives give.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            libc::EPERM => "EPERM",
            libc::ENOENT => "ENOENT",
            libc::ESRCH => "ESRCH",
            libc::EINTR => "EINTR",
            libc::EIO => "EIO",
            libc::E2BIG => "E2BIG",
            libc::EBADF => "EBADF",
            libc::EAGAIN => "EAGAIN",
            libc::ENOMEM => "ENOMEM",
            libc::EACCES => "EACCES",
            libc::EFAULT => "EFAULT",
            libc::EBUSY => "EBUSY",
            libc::EEXIST => "EEXIST",
            libc::ENODEV => "ENODEV",
            libc::ENOTDIR => "ENOTDIR",
            libc::EINVAL => "EINVAL",
            libc::ENFILE => "ENFILE",
            libc::EMFILE => "EMFILE",
            libc::ENOSPC => "ENOSPC",
            libc::EROFS => "EROFS",
            libc::ERANGE => "ERANGE",
            libc::ENOSYS => "ENOSYS",
            libc::EILSEQ => "EILSEQ",
            libc::EOPNOTSUPP => "EOPNOTSUPP",
            libc::ESTALE => "ESTALE",
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
        assert_eq!(Errno(libc::EPERM).to_string(), "EPERM: Operation not permitted");
        assert_eq!(Errno(524).to_string(), "ENOTSUPP: not supported by this kernel");
        assert!(Errno(libc::EXDEV).to_string().starts_with("errno 18: "));
        assert_eq!(Errno::of(&io::Error::other("x")), Errno(libc::EIO));
    }
}
