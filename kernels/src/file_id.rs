//! The identity of a file's content.

use std::{
    fs::Metadata,
    os::unix::fs::MetadataExt as _,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

/// The time after which two changes of a file have different timestamps, in seconds. FAT has a resolution of
/// two seconds.
const TIMESTAMP_SECONDS: i64 = 3;

/// The identity of a file and its content: inode, size and times. All links to a file have the same identity
/// until the file changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    device: u64,
    inode: u64,
    len: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A file, whatever its name and content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode {
    device: u64,
    number: u64,
}

impl Inode {
    /// Returns the file that metadata describe.
    pub fn new(meta: &Metadata) -> Self {
        Self { device: meta.dev(), number: meta.ino() }
    }
}

impl FileId {
    /// Returns the identity, or `None` if the metadata does not identify the content.
    ///
    /// There are three such cases. A file that has just changed may change again with the same timestamp. The
    /// kernel generates the content of files in `/sys` and `/proc`. Some file systems have no inode numbers.
    pub fn new(path: &Path, meta: &Metadata, now: SystemTime) -> Option<Self> {
        let modified = (meta.mtime(), meta.mtime_nsec());
        let changed = (meta.ctime(), meta.ctime_nsec());
        let now = i64::try_from(now.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()?;
        let is_settled = modified.0.max(changed.0) <= now.checked_sub(TIMESTAMP_SECONDS)?;
        let is_stored = meta.len() > 0 && meta.ino() != 0 && !is_generated(path);
        let (device, inode, len) = (meta.dev(), meta.ino(), meta.len());
        (is_settled && is_stored).then_some(Self { device, inode, len, modified, changed })
    }
}

/// Returns whether the kernel generates the content of a file.
fn is_generated(path: &Path) -> bool {
    path.starts_with("/sys") || path.starts_with("/proc")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use std::{
        fs::{self, File},
        io::Write as _,
        os::unix::fs::symlink,
        thread,
        time::Duration,
    };

    fn id(path: &Path, later: u64) -> Option<FileId> {
        FileId::new(path, &fs::metadata(path).unwrap(), SystemTime::now() + Duration::from_secs(later))
    }

    #[test]
    fn all_names_of_a_file_have_one_identity_until_the_file_changes() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link, copy] = ["file", "link", "copy"].map(|name| dir.path().join(name));
        fs::write(&file, "abc").unwrap();
        assert_eq!(id(&file, 0), None, "the file could change within the same timestamp");
        fs::copy(&file, &copy).unwrap();
        symlink("file", &link).unwrap();
        let first = id(&file, 10).unwrap();
        assert_eq!((id(&file, 20), id(&link, 10)), (Some(first), Some(first)));
        assert_ne!(id(&copy, 10), Some(first));
        // The same length and the same time of modification.
        let modified = fs::metadata(&file).unwrap().modified().unwrap();
        thread::sleep(Duration::from_millis(20));
        let mut changed = File::options().write(true).open(&file).unwrap();
        changed.write_all(b"xyz").unwrap();
        changed.set_modified(modified).unwrap();
        drop(changed);
        let second = id(&file, 10).unwrap();
        assert_eq!((second.len, second.modified, second.inode), (first.len, first.modified, first.inode));
        assert_ne!(second, first);
        fs::write(&copy, "").unwrap();
        assert_eq!(id(&copy, 10), None, "files that the kernel generates may have the length 0");
    }

    #[test]
    fn generated_files_have_no_identity() {
        let path = Path::new("/proc/version");
        if path.exists() {
            assert_eq!(id(path, 10), None);
        }
        let meta = fs::metadata(file!().strip_prefix("kernels/").unwrap()).unwrap();
        let later = SystemTime::now() + Duration::from_secs(10);
        assert!(FileId::new(Path::new("/a"), &meta, later).is_some());
        assert_eq!(FileId::new(Path::new("/sys/kernel/btf/vmlinux"), &meta, later), None);
    }
}
