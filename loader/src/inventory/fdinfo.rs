//! [`FdInfo`]: values of a descriptor that the kernel's info structs do not have, from `/proc/PID/fdinfo`.

use std::{
    fs,
    os::fd::{AsFd, AsRawFd as _},
    path::Path,
};

/// The values in `/proc/PID/fdinfo` of a descriptor, such as `memlock` and `frozen` of a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FdInfo(String);

impl FdInfo {
    /// Reads the values of a descriptor of this process.
    pub fn read(fd: &impl AsFd) -> Option<Self> {
        Self::read_file(Path::new(&format!("/proc/self/fdinfo/{}", fd.as_fd().as_raw_fd())))
    }

    /// Reads the values in a file below `/proc/PID/fdinfo`.
    pub(super) fn read_file(path: &Path) -> Option<Self> {
        fs::read_to_string(path).ok().map(Self)
    }

    /// Returns the value of a line `key:\tvalue`.
    pub fn get(&self, key: &str) -> Option<u64> {
        let line_value = |line: &str| line.strip_prefix(key)?.strip_prefix(':')?.trim().parse().ok();
        self.0.lines().find_map(line_value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_fdinfo() {
        let info = FdInfo("pos:\t0\nmap_type:\t1\nmap_id:\t12\nmemlock:\t4096\n".into());
        assert_eq!(info.get("map_id"), Some(12));
        assert_eq!(info.get("map"), None);
        assert_eq!(info.get("frozen"), None);
    }
}
