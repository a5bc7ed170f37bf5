//! Shared mappings of files under Miri, which maps no files: the memory of each file is one allocation.
//!
//! Several mappings of one file show the same bytes, as the kernel's do. Miri then checks every access
//! through them: its bounds, its alignment, and that no reference to the bytes is alive meanwhile. Miri does
//! not see an access after `munmap` nor a write to a read-only mapping.
#![expect(unsafe_code, reason = "the functions replace mmap and munmap, which are calls into C")]

use super::memory::page_size;
use core::{
    alloc::Layout,
    ffi::{c_int, c_void},
    sync::atomic::{AtomicPtr, Ordering},
};
use std::{
    fs::File,
    os::fd::AsRawFd as _,
    sync::{Mutex, PoisonError},
};

/// The memory of each file, by the number of its descriptor. A closed descriptor's number may come back: the
/// last entry counts.
static FILES: Mutex<Vec<(c_int, AtomicPtr<u8>, usize)>> = Mutex::new(Vec::new());

/// Creates a file of zeros in memory.
pub(super) fn memory_file(len: usize) -> File {
    let file = File::open("/dev/null").unwrap();
    let layout = Layout::from_size_align(len, page_size()).unwrap();
    assert_ne!(len, 0, "a file without bytes has no memory");
    // SAFETY: the layout has bytes.
    let memory = unsafe { std::alloc::alloc_zeroed(layout) };
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    files.push((file.as_raw_fd(), AtomicPtr::new(memory), len));
    file
}

/// Returns where the bytes of a [`memory_file`] lie from `offset` on.
pub(super) unsafe fn mmap(
    wanted: *mut c_void,
    len: usize,
    _rights: c_int,
    _flags: c_int,
    fd: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    let files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, memory, file_len) = files.iter().rev().find(|file| file.0 == fd).expect("a `memory_file`");
    let offset = usize::try_from(offset).unwrap();
    assert!(wanted.is_null() && offset + len <= *file_len, "a mapping beyond the file, or at an address");
    memory.load(Ordering::Relaxed).wrapping_add(offset).cast()
}

/// Does nothing: the memory stays for the file's other mappings.
pub(super) unsafe fn munmap(_at: *mut c_void, _len: usize) -> c_int {
    0
}
