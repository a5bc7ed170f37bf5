//! bpf(2): its attributes as plain structs, and the one call.
#![expect(unsafe_code, reason = "bpf(2) has no wrapper")]

mod attach;
mod btf;
mod ids;
mod info;
mod kind;
mod link;
mod map;
mod pin;
mod prog;

pub use attach::{ProgAttach, QueryResult, prog_attach, prog_detach, prog_query};
pub use btf::{BtfLoad, btf_load};
pub use ids::{
    btf_fd_by_id, link_fd_by_id, map_fd_by_id, next_btf_id, next_link_id, next_map_id, next_prog_id,
    prog_fd_by_id,
};
pub use info::{
    BtfInfo, LinkInfo, MapInfo, ProgInfo, ProgLines, btf_bytes, btf_info, btf_name, link_info,
    link_target_name, map_info, prog_info, prog_lines, prog_map_ids, prog_translated,
};
pub(crate) use link::link_create_on_closed_fd;
pub use link::{
    LinkCreate, LinkExtra, LinkTarget, iter_create, link_create, link_detach, link_update,
    raw_tracepoint_open,
};
pub use map::{
    Batch, MapCreate, MapFd, MapShape, map_create, map_delete, map_delete_batch, map_freeze, map_lookup,
    map_lookup_and_delete, map_lookup_batch, map_next_key, map_update, map_update_batch,
};
pub use pin::{make_pin_folder, obj_get, obj_pin, rename_pin, token_create};
pub use prog::{
    ProgLoad, StreamId, TestRun, TestRunResult, prog_assoc_struct_ops, prog_bind_map, prog_load,
    prog_stream_read, prog_test_run,
};

use super::{Errno, fd::beyond_stdio};
use core::ffi::c_long;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

/// Bytes of a map's or program's name, its NUL included (`BPF_OBJ_NAME_LEN`).
pub const OBJ_NAME_LEN: usize = 16;

/// Attributes of a command: numbers only, no padding that is not named.
///
/// # Safety
///
/// The type is `repr(C)`, holds nothing but integers and has no implicit padding. Whoever fills one sees to it that each
/// address in it is 0, or that of as much memory as the command and the counts beside it let the kernel read or write.
unsafe trait Attr: Default {}

/// A struct of attributes.
macro_rules! attr {
    ($($(#[$doc:meta])* struct $name:ident { $($field:ident: $ty:ty,)* })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default)]
        struct $name { $($field: $ty,)* }

        // SAFETY: integers only, and the assertion below: the size is that of the fields, so there is no padding.
        unsafe impl $crate::sys::bpf::Attr for $name {}

        const _: () = assert!(size_of::<$name>() == 0 $(+ size_of::<$ty>())*);
    )*};
}
use attr;

/// Numbers of commands (`enum bpf_cmd`).
#[derive(Clone, Copy, Debug)]
#[repr(i32)]
enum Cmd {
    MapCreate = 0,
    MapLookup = 1,
    MapUpdate = 2,
    MapDelete = 3,
    MapNextKey = 4,
    ProgLoad = 5,
    ObjPin = 6,
    ObjGet = 7,
    ProgAttach = 8,
    ProgDetach = 9,
    ProgTestRun = 10,
    ProgNextId = 11,
    MapNextId = 12,
    ProgFdById = 13,
    MapFdById = 14,
    ObjInfo = 15,
    ProgQuery = 16,
    RawTracepointOpen = 17,
    BtfLoad = 18,
    BtfFdById = 19,
    MapLookupAndDelete = 21,
    MapFreeze = 22,
    BtfNextId = 23,
    MapLookupBatch = 24,
    MapLookupAndDeleteBatch = 25,
    MapUpdateBatch = 26,
    MapDeleteBatch = 27,
    LinkCreate = 28,
    LinkUpdate = 29,
    LinkFdById = 30,
    LinkNextId = 31,
    IterCreate = 33,
    LinkDetach = 34,
    ProgBindMap = 35,
    TokenCreate = 36,
    ProgStreamRead = 37,
    ProgAssocStructOps = 38,
}

/// Makes the call. The kernel may write into `attr`.
fn call<A: Attr>(cmd: Cmd, attr: &mut A) -> Result<c_long, Errno> {
    #[expect(clippy::as_conversions, reason = "the discriminant of a plain enum")]
    let cmd = cmd as i32;
    // SAFETY: `attr` is memory of the size stated, that of an `Attr`, whose addresses are good for what the command does.
    let done = unsafe { libc::syscall(libc::SYS_bpf, cmd, core::ptr::from_mut(attr), size_of::<A>()) };
    if done < 0 { Err(Errno::last()) } else { Ok(done) }
}

/// Makes a call that gives a new descriptor.
fn call_fd<A: Attr>(cmd: Cmd, attr: &mut A) -> Result<OwnedFd, Errno> {
    let fd = RawFd::try_from(call(cmd, attr)?).map_err(|_too_large| Errno(libc::EBADF))?;
    // SAFETY: the kernel just made it for this call; nobody else has it.
    beyond_stdio(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes a call that only succeeds or fails.
fn call_done<A: Attr>(cmd: Cmd, attr: &mut A) -> Result<(), Errno> {
    call(cmd, attr).map(drop)
}

/// A descriptor as the kernel's structs hold it.
fn fd(fd: BorrowedFd<'_>) -> u32 {
    fd.as_raw_fd().cast_unsigned()
}

/// The same, of a descriptor that may be missing: 0.
fn opt_fd(of: Option<BorrowedFd<'_>>) -> u32 {
    of.map_or(0, fd)
}

/// Where a slice lies, for the kernel to read; 0 of an empty one.
fn address<T>(of: &[T]) -> u64 {
    if of.is_empty() { 0 } else { u64::try_from(of.as_ptr().expose_provenance()).unwrap_or_default() }
}

/// Where a slice lies, for the kernel to write; 0 of an empty one.
fn address_mut<T>(of: &mut [T]) -> u64 {
    if of.is_empty() { 0 } else { u64::try_from(of.as_mut_ptr().expose_provenance()).unwrap_or_default() }
}

/// How many, as the kernel's structs hold it; one that does not fit is `E2BIG`.
fn count<T>(of: &[T]) -> Result<u32, Errno> {
    u32::try_from(of.len()).map_err(|_too_many| Errno(libc::E2BIG))
}

/// A name as the kernel takes it: 15 bytes of letters, digits, `_` and `.`, then zeros (libbpf: `libbpf_strlcpy`).
fn object_name(name: &[u8]) -> [u8; OBJ_NAME_LEN] {
    let mut out = [0; OBJ_NAME_LEN];
    for (to, from) in out.iter_mut().take(OBJ_NAME_LEN.saturating_sub(1)).zip(name) {
        *to = *from;
    }
    out
}
