//! libbpf's static linker.

use libbpf_sys as sys;
use std::{
    ffi::c_void,
    fs::File,
    io::{Read as _, Seek as _},
    os::fd::{AsRawFd as _, FromRawFd as _},
    ptr,
};

/// Links objects with `bpf_linker__*`: the linked object, or an errno.
pub fn link(objects: &[&[u8]]) -> Result<Vec<u8>, i32> {
    // SAFETY: a new file descriptor, or -1, which is checked.
    let fd = unsafe { libc::memfd_create(c"linked".as_ptr(), libc::MFD_CLOEXEC) };
    assert!(fd >= 0, "memfd_create: {}", std::io::Error::last_os_error());
    // SAFETY: it is open and ours.
    let mut file = unsafe { File::from_raw_fd(fd) };
    // SAFETY: the descriptor outlives the linker, which does not own it; NULL stands for no options.
    let linker = unsafe { sys::bpf_linker__new_fd(file.as_raw_fd(), ptr::null_mut()) };
    assert!(!linker.is_null());
    let add = |bytes: &[u8]| {
        let data = bytes.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: libbpf writes the bytes to a file of its own, and does not change them.
        unsafe { sys::bpf_linker__add_buf(linker, data, bytes.len() as _, ptr::null()) }
    };
    let mut error = objects.iter().map(|bytes| add(bytes)).find(|error| *error != 0).unwrap_or(0);
    // SAFETY: the linker is valid, and freed once.
    unsafe {
        if error == 0 {
            error = sys::bpf_linker__finalize(linker);
        }
        sys::bpf_linker__free(linker);
    }
    if error != 0 {
        return Err(error);
    }
    let mut linked = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut linked)).expect("a memfd can be read");
    Ok(linked)
}

/// `bpf_object__open_mem`: the number of programs and of maps, or an errno.
pub fn open(object: &[u8]) -> Result<(usize, usize), i32> {
    let options = sys::bpf_object_open_opts {
        sz: size_of::<sys::bpf_object_open_opts>() as _,
        object_name: c"linked".as_ptr(),
        ..Default::default()
    };
    // SAFETY: libbpf copies what it needs of object and options; programs and maps live until the object is closed.
    unsafe {
        let raw = sys::bpf_object__open_mem(object.as_ptr().cast(), object.len() as _, &options);
        if raw.is_null() {
            return Err(-std::io::Error::last_os_error().raw_os_error().unwrap_or_default());
        }
        let first = sys::bpf_object__next_program(raw, ptr::null_mut());
        let programs = std::iter::successors((!first.is_null()).then_some(first), |p| {
            let next = sys::bpf_object__next_program(raw, *p);
            (!next.is_null()).then_some(next)
        });
        let programs = programs.count();
        let first = sys::bpf_object__next_map(raw, ptr::null());
        let maps = std::iter::successors((!first.is_null()).then_some(first), |m| {
            let next = sys::bpf_object__next_map(raw, *m);
            (!next.is_null()).then_some(next)
        });
        let maps = maps.count();
        sys::bpf_object__close(raw);
        Ok((programs, maps))
    }
}
