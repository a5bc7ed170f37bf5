//! The file systems that this process sees mounted, from `/proc/self/mounts`.

use std::{ffi::OsString, fs, io, os::unix::ffi::OsStringExt as _, path::PathBuf};

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers test their rules with mounts of their own")]
pub struct Mount {
    /// The mount point.
    pub dir: PathBuf,
    /// The options, separated by commas.
    pub options: String,
}

/// Returns the mounts of a type of file system, such as `bpf`, in the order in which they were mounted.
pub fn mounts(fs_type: &str) -> io::Result<Vec<Mount>> {
    let lines = fs::read("/proc/self/mounts")?;
    Ok(lines.split(|b| *b == b'\n').filter_map(|line| parse_line(line, fs_type)).collect())
}

/// Parses a line of `/proc/self/mounts`. Returns `None` for another type of file system.
fn parse_line(line: &[u8], fs_type: &str) -> Option<Mount> {
    let mut words = line.split(|b| *b == b' ').skip(1);
    let (dir, found_type, options) = (words.next()?, words.next()?, words.next()?);
    (found_type == fs_type.as_bytes()).then(|| Mount {
        dir: PathBuf::from(OsString::from_vec(unescape(dir))),
        options: String::from_utf8_lossy(options).into_owned(),
    })
}

/// Decodes `\040`: the kernel writes blanks and backslashes as three octal digits.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        let octal = after.split_at_checked(3).filter(|_| *byte == b'\\').and_then(|(digits, after)| {
            Some((u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok()?, after))
        });
        let (decoded, after) = octal.unwrap_or((*byte, after));
        out.push(decoded);
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_mounts() {
        let dir = |line: &str| parse_line(line.as_bytes(), "bpf").map(|mount| mount.dir);
        assert_eq!(dir("none /sys/fs/bpf bpf rw,mode=700 0 0"), Some("/sys/fs/bpf".into()));
        assert_eq!(dir("bpf /tmp/a\\040b bpf rw 0 0"), Some("/tmp/a b".into()));
        assert_eq!(dir("bpf /bpf tmpfs rw 0 0"), None);
        assert_eq!(dir(""), None);
        assert_eq!(unescape(b"a\\134\\04"), b"a\\\\04");
        let cgroup = parse_line(b"cgroup2 /c cgroup2 rw,relatime 0 0", "cgroup2");
        assert_eq!(cgroup.map(|mount| mount.options).as_deref(), Some("rw,relatime"));
    }
}
