//! The likely remedy that an error adds to the kernel's error number.

use crate::{
    privileges,
    sys::{Errno, file_system, open_path},
};
use core::fmt;
use std::{io, path::Path};

/// The directory of the usual bpffs.
const BPFFS: &str = "/sys/fs/bpf";

/// The magic number of a bpffs (`BPF_FS_MAGIC`).
const BPFFS_MAGIC: u64 = 0xcafe_4a11;

/// A likely remedy, printed in parentheses after the error number; may be empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a plain text")]
pub struct Hint(pub &'static str);

impl Hint {
    pub(crate) const NOT_BPFFS: Self = Self("is it below a mounted bpffs, and without a `.` in its name?");
    pub(crate) const PIN_EXISTS: Self =
        Self("something is pinned there already: remove it, or pin elsewhere");

    /// Returns the remedy for a pin below `/sys/fs/bpf` if no bpffs is mounted there. `None` if one is, if
    /// that cannot be found out, or for another path.
    ///
    /// `ip netns exec` mounts a new sysfs, which hides the bpffs.
    pub fn missing_bpffs(path: &Path) -> Option<Self> {
        Self::missing_bpffs_at(Path::new(BPFFS), path)
    }

    /// Returns the remedy for a pin below a directory that should be a bpffs.
    fn missing_bpffs_at(bpffs: &Path, path: &Path) -> Option<Self> {
        // The root of a bpffs may be closed to other users.
        let is_missing = || match open_path(bpffs).and_then(|dir| file_system(&dir)) {
            Ok(magic) => magic != BPFFS_MAGIC,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        (path.starts_with(bpffs) && is_missing()).then_some(Self(
            "no bpffs is mounted at /sys/fs/bpf; `ip netns exec` hides it, `nsenter --net=/run/netns/NAME` does not; \
             `mount -t bpf bpf /sys/fs/bpf` mounts a new one",
        ))
    }

    /// Returns the usual remedy for an error of bpf(2).
    pub fn for_errno(errno: Errno) -> Self {
        Self(match errno.0 {
            libc::EPERM | libc::EACCES => privileges::missing_privilege(),
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
    #[cfg_attr(miri, ignore = "Miri has no fstatfs")]
    fn a_directory_that_is_no_bpffs_is_named() {
        let hint = |at: &Path| Hint::missing_bpffs_at(at, &at.join("pin"));
        let dir = std::env::temp_dir();
        assert!(hint(&dir).is_some(), "another file system");
        assert!(hint(&dir.join("core-relo-absent")).is_some());
        assert_eq!(Hint::missing_bpffs_at(&dir, Path::new("/elsewhere/pin")), None);
        // What cannot be opened may be a bpffs.
        let program = std::env::current_exe().unwrap();
        assert_eq!(hint(&program.join("below")), None);
    }
}
