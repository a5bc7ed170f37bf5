//! Read-only mappings of files, and the system calls that decide whether a file may be mapped.
#![expect(unsafe_code, reason = "mmap, munmap, getauxval and geteuid are calls into C")]

use super::open::file_system;
use core::{ffi::c_void, ptr::NonNull, slice};
use std::{
    fs::{self, File},
    io,
    os::{fd::AsRawFd as _, unix::fs::MetadataExt as _},
};

/// A read-only mapping of a file's first bytes.
#[derive(Debug)]
pub(crate) struct FileMapping {
    at: NonNull<c_void>,
    len: usize,
}

// SAFETY: the mapping is private and read-only, and belongs to this value alone. Any thread may read and
// unmap it.
unsafe impl Send for FileMapping {}

// SAFETY: nothing can be written through a shared reference, see `Send`.
unsafe impl Sync for FileMapping {}

impl FileMapping {
    /// Maps the first `len` bytes of a file in `/sys/kernel/btf`. Other files, a length of 0, and kernels
    /// that do not allow the mapping are errors.
    ///
    /// Other files of sysfs are not mapped, because some are the memory of a device, which changes.
    pub(crate) fn new_sysfs(file: &File, len: u64) -> io::Result<Self> {
        if file_system(file)? != SYSFS || !is_btf(file)? {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        Self::map_file(file, len)
    }

    /// Maps the first `len` bytes of a regular file on a local file system that only root and this process's
    /// user may write. Other files are errors.
    ///
    /// If somebody truncates the file, an access to the lost part raises SIGBUS. Users who may write this
    /// file can end the process in other ways as well.
    pub(crate) fn new_trusted(file: &File, len: u64) -> io::Result<Self> {
        const WRITABLE_BY_OTHERS: u32 = 0o022;
        let meta = file.metadata()?;
        let is_own = meta.uid() == 0 || Some(meta.uid()) == trusted_user();
        let is_trusted = is_own && meta.mode() & WRITABLE_BY_OTHERS == 0;
        if !meta.is_file() || !is_trusted || !LOCAL_FILE_SYSTEMS.contains(&file_system(file)?) {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        Self::map_file(file, len)
    }

    fn map_file(file: &File, len: u64) -> io::Result<Self> {
        if len > file.metadata()?.len() {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        // The maximum length of a slice.
        let len = isize::try_from(len).and_then(usize::try_from).map_err(io::Error::other)?;
        let (any_address, fd) = (core::ptr::null_mut(), file.as_raw_fd());
        // SAFETY: the kernel chooses the address, so no other mapping changes. The descriptor is open. The
        // kernel refuses a length of 0.
        let at = unsafe { libc::mmap(any_address, len, libc::PROT_READ, libc::MAP_PRIVATE, fd, 0) };
        match NonNull::new(at) {
            Some(at) if at.as_ptr() != libc::MAP_FAILED => Ok(Self { at, len }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl AsRef<[u8]> for FileMapping {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `at` is the start of a mapping of `len` readable bytes that lives until `self` is dropped.
        // The kernel never changes its BTF in sysfs. The users who may write another mapped file are trusted
        // not to write it meanwhile (see `new_trusted`). Even so, every value that is read from the mapping
        // is checked.
        unsafe { slice::from_raw_parts(self.at.cast().as_ptr(), self.len) }
    }
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        // SAFETY: `at` and `len` are the address and length of the mapping. No slice of it outlives `self`.
        let done = unsafe { libc::munmap(self.at.as_ptr(), self.len) };
        debug_assert_eq!(done, 0, "munmap of an own mapping cannot fail");
    }
}

/// The magic number of sysfs (`SYSFS_MAGIC`).
const SYSFS: u64 = 0x6265_6572;

/// Magic numbers of local file systems, on which this kernel checks owner and mode of every write: ext2 to
/// ext4, XFS, Btrfs, F2FS, ZFS, bcachefs, tmpfs, ramfs, overlayfs, SquashFS, EROFS. On network file systems
/// and FUSE, a server or a process can change files without that check.
const LOCAL_FILE_SYSTEMS: [u64; 11] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0xf2f5_2010,
    0x2fc1_2fc1,
    0xca45_1a4e,
    0x0102_1994,
    0x8584_58f6,
    0x794c_7630,
    0x7371_7368,
    0xe0f5_e1e2,
];

/// Returns the user of this process. Returns `None` for a set-user-ID program and for the overflow user,
/// which stands for many users.
fn trusted_user() -> Option<u32> {
    const OVERFLOW: u32 = 65534;
    // SAFETY: the call takes a number and always succeeds.
    let is_set_user_id = unsafe { libc::getauxval(libc::AT_SECURE) };
    // SAFETY: the call takes no arguments and always succeeds.
    let user = unsafe { libc::geteuid() };
    (is_set_user_id == 0 && user != OVERFLOW).then_some(user)
}

/// Returns whether a file is `/sys/kernel/btf/vmlinux`, also if it was opened by another path.
pub(crate) fn is_vmlinux_btf(file: &File) -> io::Result<bool> {
    if file_system(file)? != SYSFS {
        return Ok(false);
    }
    let meta = file.metadata()?;
    match fs::metadata("/sys/kernel/btf/vmlinux") {
        Ok(vmlinux) => Ok((meta.dev(), meta.ino()) == (vmlinux.dev(), vmlinux.ino())),
        // The file is on another sysfs, or the kernel has no BTF.
        Err(_unknown) => Ok(false),
    }
}

/// Returns whether a file of sysfs lies in `/sys/kernel/btf`, also if it was opened by another path.
fn is_btf(file: &File) -> io::Result<bool> {
    let path = fs::read_link(format!("/proc/thread-self/fd/{}", file.as_raw_fd()))?;
    let dir = path.parent().ok_or(io::ErrorKind::NotFound)?;
    let [parent, btf_dir] =
        [fs::metadata(dir)?, fs::metadata("/sys/kernel/btf")?].map(|meta| (meta.dev(), meta.ino()));
    Ok(parent == btf_dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo_test_support::skip;
    use std::{fs::Permissions, os::unix::fs::PermissionsExt as _};

    #[test]
    #[cfg_attr(miri, ignore = "Miri maps no files")]
    fn a_file_that_others_may_write_is_not_mapped() {
        let path = std::env::temp_dir().join(format!("core-relo-map-{}", std::process::id()));
        fs::write(&path, b"bytes").unwrap();
        if !LOCAL_FILE_SYSTEMS.contains(&file_system(&File::open(&path).unwrap()).unwrap())
            || trusted_user().is_none()
        {
            fs::remove_file(&path).unwrap();
            return skip!("nothing in {} would be mapped", std::env::temp_dir().display());
        }
        let mapped = [0o600, 0o644, 0o664, 0o646].map(|mode| {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            FileMapping::new_trusted(&File::open(&path).unwrap(), 3).map(|map| map.as_ref().to_vec()).ok()
        });
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let file = File::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(mapped, [Some(b"byt".to_vec()), Some(b"byt".to_vec()), None, None]);
        for invalid_len in [0, 6, u64::MAX] {
            assert!(FileMapping::new_trusted(&file, invalid_len).is_err(), "{invalid_len}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri maps no files")]
    fn a_regular_file_is_not_mapped_as_a_file_of_sysfs() {
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(FileMapping::new_sysfs(&file, 1).unwrap_err().kind(), io::ErrorKind::Unsupported);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri maps no files")]
    fn no_file_of_sysfs_but_btf_is_mapped() {
        for path in ["/sys/kernel/notes", "/sys/kernel/uevent_seqnum"] {
            let Ok(file) = File::open(path) else { continue };
            assert_eq!(
                FileMapping::new_sysfs(&file, 1).unwrap_err().kind(),
                io::ErrorKind::Unsupported,
                "{path}"
            );
            assert_eq!(
                FileMapping::new_trusted(&file, 1).unwrap_err().kind(),
                io::ErrorKind::Unsupported,
                "{path}"
            );
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri maps no files")]
    fn the_kernels_btf_is_mapped_where_allowed_and_reads_the_same() {
        let path = "/sys/kernel/btf/vmlinux";
        let Ok(file) = File::open(path) else { return skip!("no {path}") };
        let bytes = fs::read(path).unwrap();
        match FileMapping::new_sysfs(&file, u64::try_from(bytes.len()).unwrap()) {
            Ok(map) => assert!(map.as_ref() == bytes),
            Err(e) => skip!("cannot map {path}: {e}"),
        }
        assert!(
            FileMapping::new_sysfs(&file, u64::try_from(bytes.len() + 1).unwrap()).is_err(),
            "the rest of the last page"
        );
    }
}
