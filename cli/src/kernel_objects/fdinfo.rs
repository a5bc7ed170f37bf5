//! Values from `/proc/PID/fdinfo`, which the kernel's info structs do not have.

use std::{
    fs,
    os::fd::{AsFd, AsRawFd as _},
};

/// Returns a value for one of this process's descriptors.
pub(crate) fn fdinfo(fd: &impl AsFd, key: &str) -> Option<u64> {
    fdinfo_value(&read_fdinfo(fd)?, key)
}

/// Reads the values for one of this process's descriptors.
pub(crate) fn read_fdinfo(fd: &impl AsFd) -> Option<String> {
    fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_fd().as_raw_fd())).ok()
}

/// Returns the value of a line `key:\tvalue`.
pub(crate) fn fdinfo_value(text: &str, key: &str) -> Option<u64> {
    let line_value = |line: &str| line.strip_prefix(key)?.strip_prefix(':')?.trim().parse().ok();
    text.lines().find_map(line_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_fdinfo() {
        let text = "pos:\t0\nmap_type:\t1\nmap_id:\t12\nmemlock:\t4096\n";
        assert_eq!(fdinfo_value(text, "map_id"), Some(12));
        assert_eq!(fdinfo_value(text, "map"), None);
        assert_eq!(fdinfo_value(text, "frozen"), None);
    }
}
