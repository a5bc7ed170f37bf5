//! libbpf's static linker, and libbpf's view of a linked object.

use core_relo_loader::inventory::ProgramInfo;
use libbpf_sys as sys;
use std::{
    ffi::{CStr, c_void},
    fs::File,
    io::{Read as _, Seek as _},
    iter::successors,
    os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _},
    ptr,
};

/// Links objects with `bpf_linker__*`. Returns the linked object or an errno.
pub fn link(objects: &[&[u8]]) -> Result<Vec<u8>, i32> {
    // SAFETY: the name is a C string; the result is a new descriptor or -1.
    let fd = unsafe { libc::memfd_create(c"linked".as_ptr(), libc::MFD_CLOEXEC) };
    assert!(fd >= 0, "memfd_create: {}", std::io::Error::last_os_error());
    // SAFETY: the descriptor is open, and nothing else owns it.
    let mut file = unsafe { File::from_raw_fd(fd) };
    // SAFETY: the descriptor outlives the linker, which does not own it; NULL means default options.
    let linker = unsafe { sys::bpf_linker__new_fd(file.as_raw_fd(), ptr::null_mut()) };
    assert!(!linker.is_null());
    let add = |bytes: &[u8]| {
        let data = bytes.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: libbpf copies the bytes to its own file and does not change them.
        unsafe { sys::bpf_linker__add_buf(linker, data, bytes.len() as _, ptr::null()) }
    };
    let mut error = objects.iter().map(|bytes| add(bytes)).find(|error| *error != 0).unwrap_or(0);
    // SAFETY: the linker is valid and freed once.
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

/// An object that libbpf has opened.
#[derive(Debug)]
pub struct OpenObject(*mut sys::bpf_object);

impl Drop for OpenObject {
    fn drop(&mut self) {
        // SAFETY: bpf_object__open_mem returned the object, and only this drop closes it.
        unsafe { sys::bpf_object__close(self.0) }
    }
}

/// Calls `bpf_object__open_mem`. Returns the object or an errno.
pub fn open(object: &[u8]) -> Result<OpenObject, i32> {
    let options = sys::bpf_object_open_opts {
        sz: size_of::<sys::bpf_object_open_opts>() as _,
        object_name: c"linked".as_ptr(),
        ..Default::default()
    };
    // SAFETY: libbpf copies the object and the options.
    let raw = unsafe { sys::bpf_object__open_mem(object.as_ptr().cast(), object.len() as _, &options) };
    if raw.is_null() {
        return Err(-std::io::Error::last_os_error().raw_os_error().unwrap_or_default());
    }
    Ok(OpenObject(raw))
}

impl OpenObject {
    /// Returns the names of the programs, and for loaded programs the length after verification in bytes.
    pub fn programs(&self) -> Vec<(String, Option<u32>)> {
        let describe = |program: *mut sys::bpf_program| {
            // SAFETY: the object is open, so its programs are valid.
            let (name, fd) = unsafe {
                let name = CStr::from_ptr(sys::bpf_program__name(program));
                (name.to_string_lossy().into_owned(), sys::bpf_program__fd(program))
            };
            // SAFETY: the object owns the open descriptor.
            let fd = (fd >= 0).then(|| unsafe { BorrowedFd::borrow_raw(fd) });
            (name, fd.and_then(|fd| Some(ProgramInfo::query(&fd).ok()?.xlated_prog_len)))
        };
        let next = |last| {
            // SAFETY: the object is open; NULL starts the iteration.
            let next = unsafe { sys::bpf_object__next_program(self.0, last) };
            (!next.is_null()).then_some(next)
        };
        successors(next(ptr::null_mut()), |last| next(*last)).map(describe).collect()
    }

    /// Calls `bpf_object__load` on the running kernel, without pins. Returns an errno on failure.
    pub fn load(&self) -> Result<(), i32> {
        let next = |last: *const sys::bpf_map| {
            // SAFETY: the object is open; NULL starts the iteration.
            let next = unsafe { sys::bpf_object__next_map(self.0, last) };
            (!next.is_null()).then_some(next)
        };
        for map in successors(next(ptr::null()), |last| next(*last)) {
            // SAFETY: the map belongs to the open object; NULL means no path.
            unsafe { sys::bpf_map__set_pin_path(map, ptr::null()) };
        }
        // SAFETY: the object is open.
        match unsafe { sys::bpf_object__load(self.0) } {
            0 => Ok(()),
            error => Err(error),
        }
    }
}
