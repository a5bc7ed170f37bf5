//! Files as a process sees them: those that it maps, and those in its root directory, which may be that of a container.

use super::process_maps::ProcessMaps;
use alloc::collections::VecDeque;
use std::{
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
};

/// The symbolic links in a path that are followed, as in the kernel (`MAXSYMLINKS`).
const LINKS: u32 = 40;

/// The files of a process.
pub(super) struct ProcessFiles {
    /// `/proc/PID/root`.
    root: PathBuf,
    maps: ProcessMaps,
    has_other_root: bool,
}

impl ProcessFiles {
    /// Returns the files of a process, unless the process has ended or may not be looked at.
    pub(super) fn open(pid: u32) -> Option<Self> {
        let root = PathBuf::from(format!("/proc/{pid}/root"));
        let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
        let is_same = file_id(&root)? == file_id(Path::new("/"))?
            && namespace(&pid.to_string())? == namespace("thread-self")?;
        Some(Self { root, maps: ProcessMaps::open(pid).ok()?, has_other_root: !is_same })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns whether paths of the process may lead to other files than paths of this process.
    pub(super) fn has_other_root(&self) -> bool {
        self.has_other_root
    }

    /// Returns the path of a file with code that the process maps, by its file name.
    pub(super) fn find_mapped(&self, name: &Path) -> Option<PathBuf> {
        let found = self.maps.binaries().find(|path| path.file_name() == Some(name.as_os_str()))?;
        Some(self.short_path(found))
    }

    /// Returns the path to a file of the process, if the process does not map the file that this process has at the path.
    pub(super) fn find_path(&self, path: &Path) -> Option<PathBuf> {
        if !self.has_other_root || !path.is_absolute() || path.starts_with("/proc") {
            return None;
        }
        let own = file_id(path);
        if own.is_some() && self.maps.binaries().any(|mapped| file_id(&mapped) == own) {
            return None;
        }
        self.in_root(path).map(|path| self.short_path(path))
    }

    /// Returns the path by which this process opens a file in the root directory of the process. Absolute links begin at that directory.
    pub(super) fn in_root(&self, path: &Path) -> Option<PathBuf> {
        let names = |path: &Path| -> Vec<OsString> {
            let parts =
                path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
            parts.map(|part| part.as_os_str().to_owned()).collect()
        };
        let mut rest: VecDeque<OsString> = names(path).into();
        let (mut found, mut links) = (self.root.clone(), LINKS);
        let mut depth = 0u32;
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                if let Some(outer) = depth.checked_sub(1) {
                    (depth, _) = (outer, found.pop());
                }
                continue;
            }
            let next = found.join(&name);
            if !fs::symlink_metadata(&next).ok()?.is_symlink() {
                (found, depth) = (next, depth.checked_add(1)?);
                continue;
            }
            links = links.checked_sub(1)?;
            let target = fs::read_link(next).ok()?;
            if target.is_absolute() {
                (found, depth) = (self.root.clone(), 0);
            }
            names(&target).into_iter().rev().for_each(|name| rest.push_front(name));
        }
        found.exists().then_some(found)
    }

    /// Returns the path without the root directory of the process, if that leads to the same file.
    fn short_path(&self, path: PathBuf) -> PathBuf {
        let inside = path.strip_prefix(&self.root).ok().map(|inside| Path::new("/").join(inside));
        inside.filter(|inside| file_id(inside).is_some_and(|id| Some(id) == file_id(&path))).unwrap_or(path)
    }
}

/// The identity of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

fn file_id(path: &Path) -> Option<FileId> {
    let meta = fs::metadata(path).ok()?;
    Some(FileId { device: meta.dev(), inode: meta.ino() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_in_another_root_directory_do_not_leave_it() {
        let root = std::env::temp_dir().join(format!("core-relo-root-{}", std::process::id()));
        fs::create_dir_all(root.join("usr/lib")).unwrap();
        fs::write(root.join("usr/lib/x.so.1"), b"").unwrap();
        symlink("/usr/lib/x.so.1", root.join("usr/lib/absolute")).unwrap();
        symlink("x.so.1", root.join("usr/lib/relative")).unwrap();
        symlink("../../../../usr/lib/x.so.1", root.join("usr/lib/above")).unwrap();
        symlink("usr/lib", root.join("lib")).unwrap();
        symlink("circle", root.join("circle")).unwrap();
        let maps = ProcessMaps::open(std::process::id()).unwrap();
        let files = ProcessFiles { root: root.clone(), maps, has_other_root: true };
        let library = root.join("usr/lib/x.so.1");
        for path in ["/usr/lib/x.so.1", "/lib/absolute", "/lib/relative", "/lib/above", "/../lib/./x.so.1"] {
            assert_eq!(files.in_root(Path::new(path)).as_ref(), Some(&library), "{path}");
        }
        for path in ["/circle", "/lib/none", "/usr/lib/x.so.1/y"] {
            assert_eq!(files.in_root(Path::new(path)), None, "{path}");
        }
        assert_eq!(files.find_path(Path::new("/lib/absolute")), Some(library));
        let exe = std::env::current_exe().unwrap();
        assert_eq!(files.find_path(&exe), None, "the process maps this file");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_mapped_file_is_found_by_its_name() {
        let files = ProcessFiles::open(std::process::id()).unwrap();
        assert!(!files.has_other_root());
        let exe = std::env::current_exe().unwrap();
        let name = Path::new(exe.file_name().unwrap());
        assert_eq!(files.find_mapped(name), Some(fs::canonicalize(&exe).unwrap()));
        assert_eq!(files.find_mapped(Path::new("no-such")), None);
    }
}
