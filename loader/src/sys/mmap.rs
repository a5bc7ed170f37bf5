//! A read-only mapping of a file.
#![expect(unsafe_code, reason = "mmap, munmap, fstatfs and geteuid are calls into C")]

use super::page_size;
use core::{ffi::c_void, mem::MaybeUninit, ops::Range, ptr::NonNull, slice};
use std::{
    fs::{self, File},
    io,
    os::{fd::AsRawFd as _, unix::fs::MetadataExt as _},
};

/// Bytes of a mapped file.
#[derive(Debug)]
pub(crate) struct Map {
    at: NonNull<c_void>,
    /// Bytes that are mapped.
    len: usize,
    /// Bytes of the first page that were not asked for.
    before: usize,
}

// SAFETY: the mapping is private and read-only and belongs to this value alone; any thread may read and unmap it.
unsafe impl Send for Map {}

// SAFETY: nothing can be written through a shared reference, see `Send`.
unsafe impl Sync for Map {}

impl Map {
    /// Maps bytes of a BTF that the kernel shows in `/sys/kernel/btf`; of another file, of no length, or where the kernel does not
    /// allow it, an error.
    ///
    /// Other files of sysfs are not mapped: some are a device's memory, which changes.
    pub(crate) fn sysfs(file: &File, range: Range<u64>) -> io::Result<Self> {
        if !is_sysfs(file)? || !is_btf(file)? {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        Self::part(file, range)
    }

    /// Maps bytes of a regular file that nobody but root and who runs us may write; of any other, an error.
    ///
    /// Reading beyond the end of a file that was shortened is SIGBUS. Whoever can write this one can end the process in other
    /// ways as well.
    pub(crate) fn own(file: &File, range: Range<u64>) -> io::Result<Self> {
        const WRITTEN_BY_OTHERS: u32 = 0o022;
        let meta = file.metadata()?;
        // SAFETY: it takes nothing and always succeeds.
        let we = unsafe { libc::geteuid() };
        let is_own = [0, we].contains(&meta.uid()) && meta.mode() & WRITTEN_BY_OTHERS == 0;
        if !meta.is_file() || !is_own || range.end > meta.len() || is_sysfs(file)? {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        Self::part(file, range)
    }

    fn part(file: &File, range: Range<u64>) -> io::Result<Self> {
        let page = u64::try_from(page_size()).map_err(io::Error::other)?;
        let before = range.start.checked_rem(page).unwrap_or_default();
        let start = range.start.saturating_sub(before);
        let offset = libc::off_t::try_from(start).map_err(io::Error::other)?;
        let len = usize::try_from(range.end.saturating_sub(start)).map_err(io::Error::other)?;
        let before = usize::try_from(before).map_err(io::Error::other)?;
        if range.is_empty() {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let (any, fd) = (core::ptr::null_mut(), file.as_raw_fd());
        // SAFETY: no address is asked for, so no other mapping is touched; the descriptor is open.
        let at = unsafe { libc::mmap(any, len, libc::PROT_READ, libc::MAP_PRIVATE, fd, offset) };
        match NonNull::new(at) {
            Some(at) if at.as_ptr() != libc::MAP_FAILED => Ok(Self { at, len, before }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `at` is the start of a mapping of `len` readable bytes that lives until `self` is dropped. The kernel
        // never changes the BTF it shows in sysfs; who may write another mapped file is trusted not to do so meanwhile (see
        // `own`), and what is read from it is checked each time all the same.
        let mapped: &[u8] = unsafe { slice::from_raw_parts(self.at.cast().as_ptr(), self.len) };
        mapped.get(self.before..).unwrap_or_default()
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
    use std::{fs::Permissions, os::unix::fs::PermissionsExt as _};

    #[test]
    fn a_file_that_others_may_write_is_not_mapped() {
        let path = std::env::temp_dir().join(format!("core-relo-map-{}", std::process::id()));
        fs::write(&path, b"bytes").unwrap();
        let mapped = [0o600, 0o644, 0o664, 0o646].map(|mode| {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            Map::own(&File::open(&path).unwrap(), 1..4).map(|map| map.as_ref().to_vec()).ok()
        });
        // Nothing is to be had from a mapping of no length.
        fs::write(&path, b"").unwrap();
        let empty = Map::own(&File::open(&path).unwrap(), 0..0);
        fs::remove_file(&path).unwrap();
        assert_eq!(mapped, [Some(b"yte".to_vec()), Some(b"yte".to_vec()), None, None]);
        assert!(empty.is_err());
    }

    #[test]
    fn a_part_may_begin_within_a_page_and_must_lie_within_the_file() {
        let path = std::env::temp_dir().join(format!("core-relo-map-part-{}", std::process::id()));
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(3 * page_size() + 7).collect();
        fs::write(&path, &bytes).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let file = File::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let (page, end) = (page_size(), bytes.len());
        for range in [0..end, 1..end, page - 1..page + 1, 2 * page..end, 2 * page + 3..end - 1, end - 1..end]
        {
            let of_file = u64::try_from(range.start).unwrap()..u64::try_from(range.end).unwrap();
            assert!(Map::own(&file, of_file).unwrap().as_ref() == &bytes[range]);
        }
        let end = u64::try_from(end).unwrap();
        for range in [0..end + 1, end..end + 1, end..end, u64::MAX - 1..u64::MAX] {
            assert!(Map::own(&file, range.clone()).is_err(), "{range:?}");
        }
    }

    #[test]
    fn a_regular_file_is_not_taken_for_the_kernels() {
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(Map::sysfs(&file, 0..1).unwrap_err().kind(), io::ErrorKind::Unsupported);
    }

    #[test]
    fn of_sysfs_only_btf_is_mapped() {
        for path in ["/sys/kernel/notes", "/sys/kernel/uevent_seqnum"] {
            let Ok(file) = File::open(path) else { continue };
            assert_eq!(Map::sysfs(&file, 0..1).unwrap_err().kind(), io::ErrorKind::Unsupported, "{path}");
            assert_eq!(Map::own(&file, 0..1).unwrap_err().kind(), io::ErrorKind::Unsupported, "{path}");
        }
    }

    #[test]
    fn the_kernels_btf_is_mapped_where_allowed_and_reads_the_same() {
        let path = "/sys/kernel/btf/vmlinux";
        let Ok(file) = File::open(path) else { return println!("SKIP: no {path}") };
        let bytes = fs::read(path).unwrap();
        match Map::sysfs(&file, 0..u64::try_from(bytes.len()).unwrap()) {
            Ok(map) => assert!(map.as_ref() == bytes),
            Err(e) => println!("SKIP: cannot map {path}: {e}"),
        }
    }
}
