//! The files of a process that has another root directory or mount namespace than this process, such as one
//! in a container.

use super::{
    binary::Binary,
    error::AttachError,
    process_maps::{MappedFile, ProcessMaps},
    soname::soname,
};
use crate::{limits::MAPPED_BINARIES, sys::Errno};
use alloc::collections::VecDeque;
use std::{
    ffi::OsString,
    fs, io,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Component, Path, PathBuf},
    process,
};

/// The symbolic links in a path that are followed, as in the kernel (`MAXSYMLINKS`).
const LINKS: u32 = 40;

/// The files of a process whose paths may lead to other files than those of this process.
#[derive(Debug)]
pub(super) struct ProcessFiles<'l> {
    pid: u32,
    /// `/proc/PID/root`.
    root: PathBuf,
    /// The attachment in errors.
    label: &'l str,
}

impl<'l> ProcessFiles<'l> {
    /// Returns the files of a process. Returns `None` if the process has the root directory and the mount
    /// namespace of this process, so that all paths are the same.
    pub(super) fn open(pid: u32, label: &'l str) -> Result<Option<Self>, AttachError> {
        if pid == process::id() {
            return Ok(None);
        }
        let root = PathBuf::from(format!("/proc/{pid}/root"));
        let namespace = |process: &str| {
            let link = PathBuf::from(format!("/proc/{process}/ns/mnt"));
            fs::read_link(&link).map_err(|e| root_error(pid, &link, &e, label))
        };
        let id = |path: &Path| file_id(path).map_err(|e| root_error(pid, path, &e, label));
        let has_our_root = id(&root)? == id(Path::new("/"))?;
        let is_same = has_our_root && namespace(&pid.to_string())? == namespace("thread-self")?;
        Ok((!is_same).then_some(Self { pid, root, label }))
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the file that an absolute path names for the process.
    pub(super) fn find_path(&self, path: &Path) -> Result<PathBuf, AttachError> {
        let Self { pid, root, .. } = self;
        let found = self.in_root(path).ok_or_else(|| {
            let (path, root) = (path.display(), root.display());
            self.error(format!(
                "process {pid} has no file {path} in its root directory {root}: a file of this process is /proc/self/root{path}"
            ))
        })?;
        let maps = ProcessMaps::open(*pid).map_err(|e| self.unreadable_maps(&e))?;
        let shown = found.strip_prefix(root).ok().map(|inside| maps.root().join(inside));
        if shown.is_some_and(|shown| maps.maps_deleted_file(&shown)) {
            return Err(self.error(format!(
                "process {pid} runs code of a deleted file {}, and the present file has other code: restart the process",
                path.display()
            )));
        }
        Ok(found)
    }

    /// Returns the file with code of a name or a soname that the process maps. Returns `None` if the process
    /// maps none.
    pub(super) fn find_mapped(&self, name: &Path) -> Result<Option<PathBuf>, AttachError> {
        let pid = self.pid;
        let maps = ProcessMaps::open(pid).map_err(|e| self.unreadable_maps(&e))?;
        let files = maps.code_files();
        if files.len() > MAPPED_BINARIES {
            return Err(self.error(format!(
                "process {pid} maps too many files for a search by name: {}, expected at most {MAPPED_BINARIES}: pass a path",
                files.len()
            )));
        }
        let mut found: Option<(FileId, &MappedFile)> = None;
        for file in &files {
            let Some(id) = self.id_with_name(file, name)? else { continue };
            match found {
                Some((other_id, other)) if other_id != id => {
                    return Err(self.error(format!(
                        "process {pid} maps two files of this name, {} and {}: pass a path",
                        other.shown_path(),
                        file.shown_path()
                    )));
                }
                _ => found = Some((id, file)),
            }
        }
        Ok(found.map(|(id, file)| maps.path_of(file, |path| file_id(path).is_ok_and(|other| other == id))))
    }

    /// Returns the identity of a mapped file if the file has the name or the soname.
    fn id_with_name(&self, file: &MappedFile, name: &Path) -> Result<Option<FileId>, AttachError> {
        let path = file.descriptor_path(self.pid);
        let has_name = file.has_name(name);
        let binary = match Binary::open(&path) {
            Ok(binary) => binary,
            Err(e) if matches!(e.errno(), Some(Errno(libc::EPERM | libc::EACCES))) => {
                let path = path.display();
                return Err(self.error(format!(
                    "the files that process {} maps cannot be read: {path}: {e} (needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN): pass a path",
                    self.pid
                )));
            }
            Err(e) if has_name => return Err(e),
            // A file that is no ELF file, or is not mapped any more.
            Err(_) => return Ok(None),
        };
        let has_soname =
            || soname(&binary).is_ok_and(|soname| soname.as_deref() == Some(name.as_os_str().as_bytes()));
        if !has_name && !has_soname() {
            return Ok(None);
        }
        let id = file_id(&path).map_err(|e| AttachError::unreadable(&path, Errno::from_io_error(&e)))?;
        Ok(Some(id))
    }

    /// Returns the path by which this process opens a file in the root directory of the process. Absolute
    /// links begin at that directory.
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

    fn error(&self, problem: String) -> AttachError {
        AttachError::target(self.label, problem)
    }

    fn unreadable_maps(&self, e: &io::Error) -> AttachError {
        root_error(self.pid, Path::new(&format!("/proc/{}/maps", self.pid)), e, self.label)
    }
}

/// Returns the error of a process whose files are unknown.
fn root_error(pid: u32, path: &Path, e: &io::Error, label: &str) -> AttachError {
    let errno = Errno::from_io_error(e);
    let problem = match errno.0 {
        libc::ENOENT | libc::ESRCH => format!("no such process: {pid} ({} is missing)", path.display()),
        _ => format!(
            "the files of process {pid} are unknown: {} cannot be read: {errno} (needs CAP_SYS_PTRACE): a file of this process has \
             a path below /proc/self/root",
            path.display()
        ),
    };
    AttachError::Target { label: label.to_owned().into(), problem: problem.into(), errno: Some(errno) }
}

/// The identity of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

fn file_id(path: &Path) -> io::Result<FileId> {
    let meta = fs::metadata(path)?;
    Ok(FileId { device: meta.dev(), inode: meta.ino() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_in_another_root_directory_do_not_leave_it() {
        let root = std::env::temp_dir().join(format!("core-relo-root-{}", process::id()));
        fs::create_dir_all(root.join("usr/lib")).unwrap();
        fs::write(root.join("usr/lib/x.so.1"), b"").unwrap();
        symlink("/usr/lib/x.so.1", root.join("usr/lib/absolute")).unwrap();
        symlink("x.so.1", root.join("usr/lib/relative")).unwrap();
        symlink("../../../../usr/lib/x.so.1", root.join("usr/lib/above")).unwrap();
        symlink("usr/lib", root.join("lib")).unwrap();
        symlink("circle", root.join("circle")).unwrap();
        let files = ProcessFiles { pid: process::id(), root: root.clone(), label: "uprobe/x" };
        let library = root.join("usr/lib/x.so.1");
        for path in ["/usr/lib/x.so.1", "/lib/absolute", "/lib/relative", "/lib/above", "/../lib/./x.so.1"] {
            assert_eq!(files.in_root(Path::new(path)).as_ref(), Some(&library), "{path}");
        }
        for path in ["/circle", "/lib/none", "/usr/lib/x.so.1/y"] {
            assert_eq!(files.in_root(Path::new(path)), None, "{path}");
        }
        assert_eq!(files.find_path(Path::new("/lib/absolute")), Ok(library));
        let exe = std::env::current_exe().unwrap();
        let error = files.find_path(&exe).unwrap_err().to_string();
        let expected =
            format!("process {} has no file {} in its root directory", process::id(), exe.display());
        assert!(error.contains(&expected), "{error}");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_process_without_readable_files_is_named() {
        assert!(ProcessFiles::open(process::id(), "x").unwrap().is_none());
        let ended = ProcessFiles::open(4_194_304, "uprobe/libc.so.6:f").unwrap_err();
        assert_eq!(ended.errno(), Some(Errno(libc::ENOENT)));
        let text = ended.to_string();
        assert!(text.starts_with("uprobe/libc.so.6:f: no such process: 4194304"), "{text}");
        let refused = io::Error::from_raw_os_error(libc::EACCES);
        let text = root_error(7, Path::new("/proc/7/root"), &refused, "x").to_string();
        assert!(
            text.contains("/proc/7/root cannot be read: EACCES") && text.contains("CAP_SYS_PTRACE"),
            "{text}"
        );
    }
}
