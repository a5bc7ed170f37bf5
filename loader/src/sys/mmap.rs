//! A read-only mapping of a file in sysfs.
#![expect(unsafe_code, reason = "mmap, munmap and fstatfs are calls into C")]

use core::{ffi::c_void, mem::MaybeUninit, ptr::NonNull, slice};
use std::{
    fs::{self, File},
    io,
    os::{fd::AsRawFd as _, unix::fs::MetadataExt as _},
};

/// Bytes of a mapped file.
#[derive(Debug)]
pub(crate) struct Map {
    at: NonNull<c_void>,
    len: usize,
}

// SAFETY: the mapping is private and read-only and belongs to this value alone; any thread may read and unmap it.
unsafe impl Send for Map {}

// SAFETY: nothing can be written through a shared reference, see `Send`.
unsafe impl Sync for Map {}

impl Map {
    /// Maps a BTF that the kernel shows in `/sys/kernel/btf`; of another file, of no length, or where the kernel does not allow
    /// it, an error.
    ///
    /// A regular file is never mapped: somebody could shorten it, and reading beyond its end is SIGBUS. Other files of sysfs are
    /// not either: some are a device's memory, which changes.
    pub(crate) fn sysfs(file: &File) -> io::Result<Self> {
        if !is_sysfs(file)? || !is_btf(file)? {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        // SAFETY: no address is asked for, so no other mapping is touched; the descriptor is open. A length of 0 or one
        // beyond the file is refused by the kernel.
        let at = unsafe {
            libc::mmap(core::ptr::null_mut(), len, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0)
        };
        match NonNull::new(at) {
            Some(at) if at.as_ptr() != libc::MAP_FAILED => Ok(Self { at, len }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `at` is the start of a mapping of `len` readable bytes that lives until `self` is dropped. The kernel
        // never changes the BTF it shows in sysfs, and private pages cannot be written by others.
        unsafe { slice::from_raw_parts(self.at.cast().as_ptr(), self.len) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: `at` and `len` are what `mmap` returned and was given; no slice of it outlives `self`.
        let done = unsafe { libc::munmap(self.at.as_ptr(), self.len) };
        debug_assert_eq!(done, 0, "munmap of an own mapping cannot fail");
    }
}

fn is_sysfs(file: &File) -> io::Result<bool> {
    const SYSFS_MAGIC: u64 = 0x6265_6572;
    let mut stat = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the descriptor is open, and `stat` has room for what is written.
    if unsafe { libc::fstatfs(file.as_raw_fd(), stat.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above succeeded, so it filled `stat`.
    let stat = unsafe { stat.assume_init() };
    Ok(u64::try_from(stat.f_type).is_ok_and(|kind| kind == SYSFS_MAGIC))
}

/// Whether a file of sysfs is the kernel's BTF or a module's: by the folder it lies in, whatever path led there.
fn is_btf(file: &File) -> io::Result<bool> {
    let path = fs::read_link(format!("/proc/thread-self/fd/{}", file.as_raw_fd()))?;
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    let [here, there] =
        [fs::metadata(folder)?, fs::metadata("/sys/kernel/btf")?].map(|of| (of.dev(), of.ino()));
    Ok(here == there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_file_is_never_mapped() {
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(Map::sysfs(&file).unwrap_err().kind(), io::ErrorKind::Unsupported);
    }

    #[test]
    fn of_sysfs_only_btf_is_mapped() {
        for path in ["/sys/kernel/notes", "/sys/kernel/uevent_seqnum"] {
            let Ok(file) = File::open(path) else { continue };
            assert_eq!(Map::sysfs(&file).unwrap_err().kind(), io::ErrorKind::Unsupported, "{path}");
        }
    }

    #[test]
    fn the_kernels_btf_is_mapped_where_allowed_and_reads_the_same() {
        let path = "/sys/kernel/btf/vmlinux";
        let Ok(file) = File::open(path) else { return println!("SKIP: no {path}") };
        match Map::sysfs(&file) {
            Ok(map) => assert!(map.as_ref() == fs::read(path).unwrap()),
            Err(e) => println!("SKIP: cannot map {path}: {e}"),
        }
    }
}
