//! Memory that the kernel and BPF programs share with this process and may change at any time.
#![expect(unsafe_code, reason = "mmap is a call into C, and what it gives are addresses")]

#[cfg(all(test, miri))]
use super::miri_mmap::{mmap, munmap};
use super::{memory::page_size, pod::Pod as _};
use crate::convert::to_u64;
use core::{
    ffi::c_void,
    ptr::NonNull,
    slice,
    sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence},
};
use core_relo_object::Errno;
#[cfg(not(all(test, miri)))]
use libc::{mmap, munmap};
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// The access that a mapping allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// A shared mapping of a map or a perf event.
///
/// The functions with `#[inline]` run for each record of a ring, in loops that are compiled with their
/// callbacks, in the caller's crate.
#[derive(Debug)]
pub(crate) struct Mapping {
    at: NonNull<u8>,
    len: usize,
    access: Access,
}

// SAFETY: the memory belongs to this value, and any thread may read, write and unmap it.
unsafe impl Send for Mapping {}

// SAFETY: through a shared reference, only atomics and the unsafe functions below read and write the memory.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `len` bytes at `offset`, a multiple of the page's size.
    pub(crate) fn new(fd: BorrowedFd<'_>, offset: usize, len: usize, access: Access) -> Result<Self, Errno> {
        Self::map(fd, core::ptr::null_mut(), offset, len, access)
    }

    /// Maps `len` bytes writable at an address. An existing mapping there is `EEXIST`.
    pub(crate) fn new_at(fd: BorrowedFd<'_>, address: u64, len: usize) -> Result<Self, Errno> {
        let address = usize::try_from(address).map_err(|_high| Errno(libc::ENOMEM))?;
        let wanted = core::ptr::with_exposed_provenance_mut(address);
        let mapping = Self::map(fd, wanted, 0, len, Access::Write)?;
        // Kernels before 4.17 take the address as a hint.
        if mapping.at.as_ptr().addr() == address { Ok(mapping) } else { Err(Errno(libc::EEXIST)) }
    }

    fn map(
        fd: BorrowedFd<'_>,
        wanted: *mut c_void,
        offset: usize,
        len: usize,
        access: Access,
    ) -> Result<Self, Errno> {
        let rights =
            if access == Access::Write { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        let flags =
            if wanted.is_null() { libc::MAP_SHARED } else { libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE };
        let offset = libc::off_t::try_from(offset).map_err(|_far| Errno(libc::EOVERFLOW))?;
        // SAFETY: the call replaces no mapping: the kernel chooses the address, or MAP_FIXED_NOREPLACE
        // forbids a replacement.
        let at = unsafe { mmap(wanted, len, rights, flags, fd.as_raw_fd(), offset) };
        match NonNull::new(at) {
            Some(at) if at.as_ptr() != libc::MAP_FAILED => Ok(Self { at: at.cast(), len, access }),
            _ => Err(Errno::last()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn access(&self) -> Access {
        self.access
    }

    /// Returns the address of the first byte.
    pub(crate) fn address(&self) -> u64 {
        to_u64(self.at.as_ptr().expose_provenance())
    }

    /// Returns the address of `size` bytes at an offset, if they are inside of the mapping and, with
    /// `aligned`, aligned to `size`.
    #[inline]
    fn place(&self, at: usize, size: usize, aligned: bool) -> Option<*mut u8> {
        if at.checked_add(size)? > self.len || (aligned && !at.is_multiple_of(size)) {
            return None;
        }
        Some(self.at.as_ptr().wrapping_add(at))
    }

    /// Reads a machine word with acquire ordering.
    #[inline]
    pub(super) fn load_acquire(&self, at: usize) -> Option<usize> {
        let place = self.place(at, size_of::<usize>(), true)?;
        // SAFETY: the place is in the mapping, which lives as long as `self`. It is aligned, because a
        // mapping begins at a page.
        let word = unsafe { AtomicUsize::from_ptr(place.cast()) };
        // On read-only pages Rust allows relaxed loads only. The fence adds the acquire ordering.
        let value = word.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        Some(value)
    }

    /// Writes a machine word with release ordering. The mapping must be writable.
    #[inline]
    pub(super) fn store_release(&self, at: usize, value: usize) -> Option<()> {
        self.word(at)?.store(value, Ordering::Release);
        Some(())
    }

    /// Returns a machine word that this process writes. The mapping must be writable.
    #[inline]
    pub(super) fn word(&self, at: usize) -> Option<&AtomicUsize> {
        let place = self.writable(at, size_of::<usize>())?;
        // SAFETY: the place is in the mapping, which is writable and lives as long as `self`. It is aligned,
        // because a mapping begins at a page.
        Some(unsafe { AtomicUsize::from_ptr(place.cast()) })
    }

    /// Reads four bytes with acquire ordering.
    #[inline]
    pub(super) fn load_u32_acquire(&self, at: usize) -> Option<u32> {
        let place = self.place(at, 4, true)?;
        // SAFETY: the place is in the mapping, which lives as long as `self`, and it is aligned.
        let word = unsafe { AtomicU32::from_ptr(place.cast()) };
        let value = word.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        Some(value)
    }

    /// Writes four bytes with acquire and release ordering. Returns the old value.
    pub(super) fn swap_u32(&self, at: usize, value: u32) -> Option<u32> {
        let place = self.writable(at, 4)?;
        // SAFETY: as above, and the mapping is writable.
        let word = unsafe { AtomicU32::from_ptr(place.cast()) };
        Some(word.swap(value, Ordering::AcqRel))
    }

    #[inline]
    fn writable(&self, at: usize, size: usize) -> Option<*mut u8> {
        if self.access == Access::Write { self.place(at, size, true) } else { None }
    }

    /// Lends out a part of the mapping.
    ///
    /// # Safety
    ///
    /// Nobody writes there while the slice lives.
    #[inline]
    pub(super) unsafe fn bytes(&self, at: usize, len: usize) -> Option<&[u8]> {
        let place = self.place(at, len, false)?;
        // SAFETY: the place is in the mapping, which lives as long as `self`. The caller ensures that nobody
        // writes there.
        Some(unsafe { slice::from_raw_parts(place, len) })
    }

    /// Lends out a writable part of the mapping.
    ///
    /// # Safety
    ///
    /// Nobody else reads or writes there while the slice lives, in particular there is no other slice of any
    /// of it.
    #[expect(clippy::mut_from_ref, reason = "the caller ensures that there is no other reference")]
    pub(super) unsafe fn bytes_mut(&self, at: usize, len: usize) -> Option<&mut [u8]> {
        let place = if self.access == Access::Write { self.place(at, len, false)? } else { return None };
        // SAFETY: the place is in the mapping, which is writable and lives as long as `self`. The caller
        // ensures that this is the only reference to any part of it.
        Some(unsafe { slice::from_raw_parts_mut(place, len) })
    }

    /// Copies bytes that others may write concurrently. Reading an aligned number up to the size of a word is
    /// atomic.
    pub(crate) fn read(&self, mut at: usize, mut into: &mut [u8]) -> Option<()> {
        self.place(at, into.len(), false)?;
        while !into.is_empty() {
            let (word, from, len) = self.word_part(at, into.len())?;
            let (now, rest) = into.split_at_mut_checked(len)?;
            now.copy_from_slice(word.load(Ordering::Relaxed).as_bytes().get(from..from.checked_add(len)?)?);
            at = at.checked_add(len)?;
            into = rest;
        }
        Some(())
    }

    /// Writes bytes that others may read concurrently. Writing an aligned number up to the size of a word is
    /// atomic. The other bytes of that word keep concurrent writes of others.
    pub(crate) fn write(&self, mut at: usize, mut from: &[u8]) -> Option<()> {
        self.place(at, from.len(), false)?;
        if self.access != Access::Write {
            return None;
        }
        while !from.is_empty() {
            let (word, to, len) = self.word_part(at, from.len())?;
            let (now, rest) = from.split_at_checked(len)?;
            if let Some(whole) = usize::from_bytes(now) {
                word.store(whole, Ordering::Relaxed);
            } else {
                let change = |mut old: usize| {
                    old.as_bytes_mut().get_mut(to..to.checked_add(len)?)?.copy_from_slice(now);
                    Some(old)
                };
                word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change).ok()?;
            }
            at = at.checked_add(len)?;
            from = rest;
        }
        Some(())
    }

    /// Returns the word that contains the byte at an offset, the byte's index in the word, and how many of
    /// `left` bytes are in the word.
    ///
    /// Every access has the width of a word, because Rust does not define concurrent atomic accesses of
    /// different widths.
    fn word_part(&self, at: usize, left: usize) -> Option<(&AtomicUsize, usize, usize)> {
        let within = at.checked_rem(WORD)?;
        let start = at.checked_sub(within)?;
        // A mapping consists of whole pages, whatever its length.
        if start.checked_add(WORD)? > to_pages(self.len)? {
            return None;
        }
        let place = self.at.as_ptr().wrapping_add(start);
        // SAFETY: the word is in the mapping's pages, which live as long as `self`. It is aligned, because a
        // mapping begins at a page. Callers that write have checked that the mapping is writable.
        let word = unsafe { AtomicUsize::from_ptr(place.cast()) };
        Some((word, within, left.min(WORD.checked_sub(within)?)))
    }
}

/// Bytes of a machine word.
const WORD: usize = size_of::<usize>();

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `at` and `len` are the address and length of the mapping. No slice of it outlives `self`.
        let done = unsafe { munmap(self.at.as_ptr().cast(), self.len) };
        debug_assert_eq!(done, 0, "munmap of an own mapping cannot fail");
    }
}

/// Rounds a length up to whole pages.
pub(crate) fn to_pages(len: usize) -> Option<usize> {
    len.checked_next_multiple_of(page_size())
}

#[cfg(all(test, miri))]
pub(super) use super::miri_mmap::memory_file;

/// A file of zeros in memory.
#[cfg(test)]
#[cfg(not(miri))]
pub(super) fn memory_file(len: usize) -> std::fs::File {
    // SAFETY: the name is a C string.
    let fd = unsafe { libc::memfd_create(c"test".as_ptr(), libc::MFD_CLOEXEC) };
    assert!(fd >= 0, "{}", Errno::last());
    // SAFETY: the call created the descriptor, so it has no other owner.
    let file: std::fs::File = unsafe { std::os::fd::FromRawFd::from_raw_fd(fd) };
    file.set_len(u64::try_from(len).unwrap()).unwrap();
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd as _;

    fn memory(access: Access) -> Mapping {
        Mapping::new(memory_file(page_size()).as_fd(), 0, page_size(), access).unwrap()
    }

    #[test]
    fn reads_what_was_written_at_any_alignment_and_nothing_outside() {
        let memory = memory(Access::Write);
        let bytes: Vec<u8> = (0..=40).collect();
        for at in 0..9 {
            memory.write(at, &bytes).unwrap();
            let mut back = [0; 41];
            memory.read(at, &mut back).unwrap();
            assert_eq!(back.as_slice(), bytes);
        }
        let end = memory.len();
        assert_eq!(memory.write(end - 40, &bytes), None);
        assert_eq!(memory.read(usize::MAX, &mut [0]), None);
        assert_eq!(memory.load_acquire(end), None);
        assert_eq!(memory.load_acquire(1), None, "not aligned");
        assert_eq!(memory.store_release(end - 8, 7), Some(()));
    }

    #[test]
    fn neighbours_in_a_word_do_not_undo_each_other() {
        let memory = memory(Access::Write);
        std::thread::scope(|scope| {
            for at in [0, 1, 2, 4] {
                let memory = &memory;
                scope.spawn(move || {
                    for n in (0..=u8::MAX).step_by(if cfg!(miri) { 51 } else { 1 }) {
                        memory.write(at, &[n]).unwrap();
                        let mut back = [0];
                        memory.read(at, &mut back).unwrap();
                        assert_eq!(back, [n]);
                    }
                });
            }
        });
        let mut all = [0; 8];
        memory.read(0, &mut all).unwrap();
        assert_eq!(all, [255, 255, 255, 0, 255, 0, 0, 0]);
    }

    #[test]
    fn a_read_only_mapping_is_not_written() {
        let memory = memory(Access::Read);
        assert_eq!(memory.write(0, &[1]), None);
        assert_eq!(memory.store_release(0, 1), None);
        assert_eq!(memory.swap_u32(0, 1), None);
        assert_eq!(memory.load_u32_acquire(0), Some(0));
        // SAFETY: it is not given out.
        assert!(unsafe { memory.bytes_mut(0, 1) }.is_none());
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no MAP_FIXED_NOREPLACE")]
    fn an_address_in_use_is_not_taken() {
        let first = memory(Access::Write);
        let file = memory_file(page_size());
        let refused = Mapping::new_at(file.as_fd(), first.address(), page_size());
        assert_eq!(refused.unwrap_err(), Errno(libc::EEXIST));
    }
}
