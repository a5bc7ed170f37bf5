//! Error numbers (`errno`) of system calls.

use core::fmt;
use std::io;

/// The error number of a failed system call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "an errno is a number")]
pub struct Errno(pub i32);

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
    /// Returns `errno` of this thread's last system call.
    pub fn last() -> Self {
        Self::from_io_error(&io::Error::last_os_error())
    }

    /// Returns the error number in an [`io::Error`], or `EIO` if the error did not come from the system.
    pub fn from_io_error(error: &io::Error) -> Self {
        error.raw_os_error().map_or(Self::EIO, Self)
    }

    /// Returns whether the error is a lack of memory or descriptors, or the interruption by a signal, which
    /// say nothing about the request. The verifier ends with `EAGAIN` after a signal.
    pub const fn is_shortage(self) -> bool {
        matches!(self, Self::EMFILE | Self::ENFILE | Self::ENOMEM | Self::EINTR | Self::EAGAIN)
    }
}

/// Defines the constants, and their names.
macro_rules! errnos {
    ($($name:ident = $number:expr,)*) => {
        /// The error numbers that bpf(2) and related system calls return.
        impl Errno {
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                pub const $name: Self = Self($number);
            )*

            /// Returns the symbolic name, such as `EPERM`. Returns `None` for a number that is no constant of
            /// this type.
            pub const fn name(self) -> Option<&'static str> {
                Some(match self {
                    $(Self::$name => stringify!($name),)*
                    _ => return None,
                })
            }
        }
    };
}

// Numbers that differ between architectures (`asm/errno.h`) are those of MIPS, of SPARC, and of all others.
errnos! {
    EPERM = 1,
    ENOENT = 2,
    ESRCH = 3,
    EINTR = 4,
    EIO = 5,
    ENXIO = 6,
    E2BIG = 7,
    EBADF = 9,
    EAGAIN = 11,
    ENOMEM = 12,
    EACCES = 13,
    EFAULT = 14,
    EBUSY = 16,
    EEXIST = 17,
    ENODEV = 19,
    ENOTDIR = 20,
    EINVAL = 22,
    ENFILE = 23,
    EMFILE = 24,
    ENOSPC = 28,
    EROFS = 30,
    ERANGE = 34,
    ENOSYS = arch_errno(89, 90, 38),
    EILSEQ = arch_errno(88, 122, 84),
    EOPNOTSUPP = arch_errno(122, 45, 95),
    ENOLINK = arch_errno(67, 82, 67),
    ESTALE = arch_errno(151, 70, 116),
    ENOPKG = arch_errno(65, 113, 65),
    EBADMSG = arch_errno(77, 76, 74),
    ENOKEY = arch_errno(161, 128, 126),
    EKEYEXPIRED = arch_errno(162, 129, 127),
    EKEYREVOKED = arch_errno(163, 130, 128),
    EKEYREJECTED = arch_errno(164, 131, 129),
    EDEADLK = arch_errno(45, 78, 35),
    ELOOP = arch_errno(90, 62, 40),
    EPROTO = arch_errno(71, 86, 71),
    EOVERFLOW = arch_errno(79, 92, 75),
    ENOTSUPP = 524,
    EMSGSIZE = arch_errno(97, 40, 90),
    EINPROGRESS = arch_errno(150, 36, 115),
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ENOTSUPP {
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
        assert_eq!(Errno::EPERM.to_string(), "EPERM: Operation not permitted");
        assert_eq!(Errno::ENOTSUPP.to_string(), "ENOTSUPP: not supported by this kernel");
        assert_eq!(Errno::EPROTO.to_string(), "EPROTO: Protocol error");
        assert!(Errno(18).to_string().starts_with("errno 18: "));
        assert_eq!(Errno::from_io_error(&io::Error::other("x")), Errno::EIO);
    }
}
