//! Error numbers (`errno`) of system calls.

use core::fmt;
use std::io;

/// The error number of a failed system call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "an errno is a number")]
pub struct Errno(pub i32);

// Numbers that differ between architectures (`asm/errno.h`): MIPS, SPARC, all others.
const ENOSYS: i32 = arch_errno(89, 90, 38);
const EILSEQ: i32 = arch_errno(88, 122, 84);
const EOPNOTSUPP: i32 = arch_errno(122, 45, 95);
const ENOLINK: i32 = arch_errno(67, 82, 67);
const ESTALE: i32 = arch_errno(151, 70, 116);
const ENOPKG: i32 = arch_errno(65, 113, 65);
const EBADMSG: i32 = arch_errno(77, 76, 74);
const ENOKEY: i32 = arch_errno(161, 128, 126);
const EKEYEXPIRED: i32 = arch_errno(162, 129, 127);
const EKEYREVOKED: i32 = arch_errno(163, 130, 128);
const EKEYREJECTED: i32 = arch_errno(164, 131, 129);
const EDEADLK: i32 = arch_errno(45, 78, 35);
const ELOOP: i32 = arch_errno(90, 62, 40);
const EPROTO: i32 = arch_errno(71, 86, 71);
const EOVERFLOW: i32 = arch_errno(79, 92, 75);

const fn arch_errno(mips: i32, sparc: i32, other: i32) -> i32 {
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

    /// Returns `errno` of this thread's last system call.
    pub fn last() -> Self {
        Self::from_io_error(&io::Error::last_os_error())
    }

    /// Returns the error number in an [`io::Error`], or `EIO` if the error did not come from the system.
    pub fn from_io_error(error: &io::Error) -> Self {
        error.raw_os_error().map_or(Self::EIO, Self)
    }

    /// Returns the symbolic name, such as `EPERM`, of an error number that bpf(2) and related system calls return.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            1 => "EPERM",
            2 => "ENOENT",
            3 => "ESRCH",
            4 => "EINTR",
            5 => "EIO",
            6 => "ENXIO",
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
            ENOLINK => "ENOLINK",
            ESTALE => "ESTALE",
            ENOPKG => "ENOPKG",
            EBADMSG => "EBADMSG",
            ENOKEY => "ENOKEY",
            EKEYEXPIRED => "EKEYEXPIRED",
            EKEYREVOKED => "EKEYREVOKED",
            EKEYREJECTED => "EKEYREJECTED",
            EDEADLK => "EDEADLK",
            ELOOP => "ELOOP",
            EPROTO => "EPROTO",
            EOVERFLOW => "EOVERFLOW",
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
        // The standard library writes "Operation not permitted (os error 1)".
        let text = text.split_once(" (os error").map_or(&*text, |(text, _)| text);
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
        assert_eq!(Errno(EPROTO).to_string(), "EPROTO: Protocol error");
        assert!(Errno(18).to_string().starts_with("errno 18: "));
        assert_eq!(Errno::from_io_error(&io::Error::other("x")), Errno::EIO);
    }
}
