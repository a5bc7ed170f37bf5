//! The file that an output path leads to.

use core_relo_loader::standard_streams;
use rustix::{
    fd::{AsFd as _, AsRawFd as _, OwnedFd},
    fs::{self, AtFlags, FileType, Mode, OFlags, Stat},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read as _},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

/// The maximum number of symbolic links in a path (kernel: `MAXSYMLINKS`).
const FOLLOWED_LINKS: usize = 40;

/// A name in an open directory. Renaming the directory or its parents does not change it.
#[derive(Debug)]
pub(crate) struct Destination {
    pub(crate) dir: OwnedFd,
    pub(crate) name: OsString,
    pub(crate) kind: DestinationKind,
}

/// The kind of file with the name.
#[derive(Debug)]
pub(crate) enum DestinationKind {
    /// No file has the name.
    Free,
    /// A regular file.
    File(Stat),
    /// A device, pipe or socket.
    Special(Stat),
    /// An open file of a process: `/proc/self/fd/1`, the target of the link `/dev/stdout`.
    OpenFile,
}

/// The error for a path that cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DestinationError {
    #[error("is a directory, expected a file")]
    Directory,
    #[error("has more than {FOLLOWED_LINKS} symbolic links")]
    TooManyLinks,
    #[error("belongs to user {owner}, in a directory where every user may create files")]
    Foreign { owner: u32 },
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Errno> for DestinationError {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

impl Destination {
    /// Finds the file at a path. If the last name of the path is a link, the function checks the link and
    /// continues with its target, whose last name may be a link again. Each link is open while it is checked,
    /// so that nobody can replace it in between.
    ///
    /// As the last name, a link, pipe or device of another user in a directory like `/tmp` is an error,
    /// whatever the values of `fs.protected_symlinks` and `fs.protected_fifos` are. The kernel resolves the
    /// directories before the last name. Whether it follows links of other users to directories there depends
    /// on `fs.protected_symlinks`.
    ///
    /// A standard stream of this process that was closed when it started is an error.
    pub(crate) fn find(path: &Path) -> Result<Self, DestinationError> {
        let mut link_dir: Option<OwnedFd> = None;
        let mut rest = path.to_path_buf();
        for _ in 0..FOLLOWED_LINKS {
            let (parent, name) = split(&rest)?;
            let start = link_dir.as_ref().map_or(fs::CWD, OwnedFd::as_fd);
            let dir = fs::openat(start, parent, OPEN_DIR, Mode::empty())?;
            let name = name.to_os_string();
            let entry = match fs::openat(&dir, &name, OPEN_ENTRY, Mode::empty()) {
                Err(Errno::NOENT) => return Ok(Self { dir, name, kind: DestinationKind::Free }),
                entry => entry?,
            };
            let stat = fs::fstat(&entry)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => return Err(DestinationError::Directory),
                FileType::RegularFile => return Ok(Self { dir, name, kind: DestinationKind::File(stat) }),
                FileType::Symlink => {
                    refuse_foreign(&dir, &stat)?;
                    if fs::fstatfs(&dir)?.f_type == fs::PROC_SUPER_MAGIC {
                        refuse_closed_stream(&dir, &name)?;
                        return Ok(Self { dir, name, kind: DestinationKind::OpenFile });
                    }
                    let target = fs::readlinkat(&entry, c"", Vec::new())?;
                    rest = PathBuf::from(OsString::from_vec(target.into_bytes()));
                    link_dir = Some(dir);
                }
                _ => {
                    refuse_foreign(&dir, &stat)?;
                    return Ok(Self { dir, name, kind: DestinationKind::Special(stat) });
                }
            }
        }
        Err(DestinationError::TooManyLinks)
    }

    /// Opens the file, which must be the one that was found. Creates a file if the name was free; the error
    /// is `EEXIST` if another file has taken the name since.
    pub(crate) fn open(&self, flags: OFlags, mode: Mode) -> Result<File, DestinationError> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
        let (flags, found) = match &self.kind {
            // A link in `/proc/PID/fd` leads to an open file, which may have no path. Only the kernel can
            // follow it.
            DestinationKind::OpenFile => (flags, None),
            DestinationKind::Free => (flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW, None),
            DestinationKind::File(stat) | DestinationKind::Special(stat) => {
                (flags | OFlags::NOFOLLOW, Some(stat))
            }
        };
        let file = File::from(fs::openat(&self.dir, &self.name, flags, mode)?);
        let now = fs::fstat(&file)?;
        if found.is_some_and(|found| (found.st_dev, found.st_ino) != (now.st_dev, now.st_ino)) {
            return Err(io::Error::other("was replaced while it was opened").into());
        }
        Ok(file)
    }

    /// Returns whether a write replaces or creates a regular file, and is not appended to something.
    pub(crate) const fn is_replaced(&self) -> bool {
        matches!(self.kind, DestinationKind::Free | DestinationKind::File(_))
    }

    /// Returns a path of the open directory, which leads to it whatever happens to the path by which it was
    /// found.
    pub(crate) fn dir_path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.dir.as_raw_fd()))
    }

    /// Returns a path of the name in the open directory.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir_path().join(&self.name)
    }

    /// Returns the first bytes of the file.
    pub(crate) fn read_head(&self, max_bytes: u64) -> Result<Vec<u8>, DestinationError> {
        let file = self.open(OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty())?;
        let mut head = Vec::new();
        file.take(max_bytes).read_to_end(&mut head)?;
        Ok(head)
    }

    /// Removes the file that [`open`](Self::open) created, if the name is still that of the file. A file that
    /// existed before stays.
    pub(crate) fn remove_new(&self, file: &File) -> io::Result<()> {
        let is_new = matches!(self.kind, DestinationKind::Free);
        let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
        let named = || fs::statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        if is_new && identity(named()?) == identity(fs::fstat(file)?) {
            fs::unlinkat(&self.dir, &self.name, AtFlags::empty())?;
        }
        Ok(())
    }

    /// Refuses a regular file of another user in a directory like `/tmp`: the rule of `fs.protected_regular`,
    /// for files that are not replaced.
    pub(crate) fn refuse_foreign_file(&self) -> Result<(), DestinationError> {
        match &self.kind {
            DestinationKind::File(stat) => refuse_foreign(&self.dir, stat),
            _ => Ok(()),
        }
    }
}

/// The flags for a handle of a directory.
const OPEN_DIR: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// The flags for a handle of an entry of a directory. A link is opened itself, not followed.
const OPEN_ENTRY: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Splits a path into its directory and its last name.
fn split(path: &Path) -> Result<(&OsStr, &OsStr), DestinationError> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.is_empty() {
        return Err(Errno::NOENT.into());
    }
    let slash = bytes.iter().rposition(|byte| *byte == b'/');
    let (parent, name) = match slash {
        None => (&b"."[..], bytes),
        Some(slash) => {
            let (parent, name) = bytes.split_at(slash.saturating_add(1));
            (parent, name)
        }
    };
    match name {
        b"" | b"." | b".." => Err(DestinationError::Directory),
        name => Ok((OsStr::from_bytes(parent), OsStr::from_bytes(name))),
    }
}

/// Refuses an entry of another user in a directory where every user may create entries and only owners remove
/// them, unless the entry belongs to the directory's owner.
fn refuse_foreign(dir: &OwnedFd, entry: &Stat) -> Result<(), DestinationError> {
    let dir = fs::fstat(dir)?;
    let shared = Mode::SVTX | Mode::WOTH;
    let is_shared = Mode::from_raw_mode(dir.st_mode).contains(shared);
    let owner = entry.st_uid;
    if is_shared && owner != rustix::process::geteuid().as_raw() && owner != dir.st_uid {
        return Err(DestinationError::Foreign { owner });
    }
    Ok(())
}

/// Refuses the link in `/proc` to a standard stream of this process that was closed when it started. Rust's
/// runtime has opened `/dev/null` in its place, where output would be lost without an error.
fn refuse_closed_stream(dir: &OwnedFd, name: &OsStr) -> Result<(), DestinationError> {
    let descriptor = name.to_str().and_then(|name| name.parse().ok());
    if !descriptor.is_some_and(standard_streams::is_closed_at_start) {
        return Ok(());
    }
    let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
    let dir = identity(fs::fstat(dir)?);
    for own in ["/proc/self/fd", "/proc/thread-self/fd"] {
        if identity(fs::stat(own)?) == dir {
            return Err(Errno::BADF.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use core_relo_test_support::skip;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    fn kind(path: &Path) -> Result<&'static str, String> {
        match Destination::find(path).map_err(|e| e.to_string())?.kind {
            DestinationKind::Free => Ok("free"),
            DestinationKind::File(_) => Ok("file"),
            DestinationKind::Special(_) => Ok("special"),
            DestinationKind::OpenFile => Ok("open file"),
        }
    }

    #[test]
    fn links_lead_to_what_they_name() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("below")).unwrap();
        std::fs::write(at("below/file"), "").unwrap();
        symlink("below/file", at("relative")).unwrap();
        symlink(at("relative"), at("below/absolute")).unwrap();
        symlink("below/new", at("dangling")).unwrap();
        symlink("round", at("round")).unwrap();
        symlink("below", at("directory")).unwrap();
        symlink("/dev/null", at("device")).unwrap();
        symlink("/proc/self/fd/2", at("descriptor")).unwrap();
        for (name, expected) in [
            ("below/file", Ok("file")),
            ("below/absolute", Ok("file")),
            ("directory/file", Ok("file")),
            ("dangling", Ok("free")),
            ("new", Ok("free")),
            ("device", Ok("special")),
            ("descriptor", Ok("open file")),
            ("round", Err("has more than 40 symbolic links")),
            ("directory", Err("is a directory, expected a file")),
            ("new/", Err("is a directory, expected a file")),
            ("below/..", Err("is a directory, expected a file")),
        ] {
            assert_eq!(kind(&at(name)), expected.map_err(str::to_owned), "{name}");
        }
        let found = Destination::find(&at("dangling")).unwrap();
        assert_eq!(found.name, "new");
        let open = || found.open(OFlags::RDWR, Mode::RUSR).map_err(|e| e.to_string());
        // What takes the name after it was found free is neither opened nor followed.
        std::fs::write(at("below/new"), "theirs").unwrap();
        open().unwrap_err();
        std::fs::remove_file(at("below/new")).unwrap();
        symlink("file", at("below/new")).unwrap();
        open().unwrap_err();
        std::fs::remove_file(at("below/new")).unwrap();
        open().unwrap();
        assert!(at("below/new").is_file());
        std::fs::remove_file(at("below/new")).unwrap();
        assert!(matches!(Destination::find(&at("no/where")), Err(DestinationError::Io(_))));
        assert!(matches!(Destination::find(Path::new("")), Err(DestinationError::Io(_))));
    }

    #[test]
    fn links_and_pipes_of_others_in_a_shared_directory_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let shared = dir.path().join("shared");
        std::fs::create_dir(&shared).unwrap();
        let (own, foreign, pipe, file) =
            (shared.join("own"), shared.join("foreign"), shared.join("pipe"), shared.join("file"));
        symlink("target", &own).unwrap();
        symlink("target", &foreign).unwrap();
        fs::mknodat(fs::CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
        std::fs::write(&file, "").unwrap();
        if [&foreign, &pipe, &file].iter().any(|path| lchown(path, Some(65533), Some(65533)).is_err()) {
            skip!("only root gives files to others");
            return;
        }
        let mode = |mode| std::fs::set_permissions(&shared, PermissionsExt::from_mode(mode)).unwrap();
        let refused =
            Err("belongs to user 65533, in a directory where every user may create files".to_owned());
        mode(0o1777);
        assert_eq!([kind(&own), kind(&foreign)], [Ok("free"), refused.clone()]);
        assert_eq!([kind(&pipe), kind(&file)], [refused, Ok("file")], "a file is replaced, not written to");
        for other in [0o755, 0o777, 0o1755] {
            mode(other);
            assert_eq!([kind(&foreign), kind(&pipe)], [Ok("free"), Ok("special")], "{other:o}");
        }
        // The directory's owner may.
        std::os::unix::fs::chown(&shared, Some(65533), None).unwrap();
        mode(0o1777);
        assert_eq!([kind(&foreign), kind(&pipe)], [Ok("free"), Ok("special")]);
    }
}
