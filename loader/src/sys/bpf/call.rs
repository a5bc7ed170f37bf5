//! The bpf(2) system call and the encoding of its attributes.

use crate::{convert::to_u64, sys::fd::beyond_stdio};
use core::ffi::c_long;
use core_relo_object::Errno;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

/// Bytes of the name of a map or program, with the NUL (`BPF_OBJ_NAME_LEN`).
pub const OBJ_NAME_LEN: usize = 16;

/// Bytes of the name without the NUL.
const NAME_BYTES: usize = OBJ_NAME_LEN - 1;

/// The attributes of a command: integers without implicit padding.
///
/// # Safety
///
/// The type is `repr(C)`, consists of integers and has no implicit padding. Code that fills a value makes
/// sure that each address is 0, or points to as much memory as the command and the counts in the value let
/// the kernel read or write.
pub(super) unsafe trait Attr: Default {}

/// Declares structs of attributes.
macro_rules! attr {
    ($($(#[$doc:meta])* struct $name:ident { $($field:ident: $ty:ty,)* })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default)]
        struct $name { $($field: $ty,)* }

        // SAFETY: the fields are integers, and the assertion below compares the sizes, so there is no
        // padding.
        unsafe impl $crate::sys::bpf::call::Attr for $name {}

        const _: () = assert!(size_of::<$name>() == 0 $(+ size_of::<$ty>())*);
    )*};
}
pub(super) use attr;

/// Numbers of commands (`enum bpf_cmd`).
#[derive(Clone, Copy, Debug)]
#[repr(i32)]
pub(super) enum Cmd {
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
    TaskFdQuery = 20,
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
    EnableStats = 32,
    IterCreate = 33,
    LinkDetach = 34,
    ProgBindMap = 35,
    TokenCreate = 36,
    ProgStreamRead = 37,
    ProgAssocStructOps = 38,
}

/// Makes a call. The kernel may write to `attr`.
pub(super) fn call<A: Attr>(cmd: Cmd, attr: &mut A) -> Result<c_long, Errno> {
    #[expect(clippy::as_conversions, reason = "the discriminant of a plain enum")]
    let cmd = cmd as i32;
    // SAFETY: `attr` is an `Attr` of the given size, whose addresses are valid for the command.
    let done = unsafe { libc::syscall(libc::SYS_bpf, cmd, core::ptr::from_mut(attr), size_of::<A>()) };
    if done < 0 { Err(Errno::last()) } else { Ok(done) }
}

/// `BPF_COMMON_ATTRS` of the command.
const COMMON_ATTRS: i32 = 1 << 16;

attr! {
    /// `struct bpf_common_attr`.
    struct CommonAttr { log_buf: u64, log_size: u32, log_level: u32, log_true_size: u32, pad: u32, }
}

/// Makes a call that returns a new descriptor, with a log of the request in `log`: Linux 7.2 has it, 6.18
/// does not. Older kernels return `EINVAL` and write nothing.
pub(super) fn call_fd_with_log<A: Attr>(cmd: Cmd, attr: &mut A, log: &mut [u8]) -> Result<OwnedFd, Errno> {
    let mut common = CommonAttr {
        log_buf: address_mut(log),
        log_size: count(log)?,
        log_level: 1,
        ..CommonAttr::default()
    };
    #[expect(clippy::as_conversions, reason = "the discriminant of a plain enum")]
    let cmd = cmd as i32 | COMMON_ATTRS;
    // SAFETY: `attr` and `common` are `Attr`s of the given sizes, whose addresses are valid for the command.
    // Kernels without common attributes do not know the command, and read neither of them.
    let done = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            cmd,
            core::ptr::from_mut(attr),
            size_of::<A>(),
            core::ptr::from_mut(&mut common),
            size_of::<CommonAttr>(),
        )
    };
    owned_fd(if done < 0 { Err(Errno::last()) } else { Ok(done) })
}

/// Makes a call that returns a new descriptor.
pub(super) fn call_fd<A: Attr>(cmd: Cmd, attr: &mut A) -> Result<OwnedFd, Errno> {
    owned_fd(call(cmd, attr))
}

/// Takes the new descriptor that a call returned.
fn owned_fd(done: Result<c_long, Errno>) -> Result<OwnedFd, Errno> {
    let fd = RawFd::try_from(done?).map_err(|_too_large| Errno(libc::EBADF))?;
    // SAFETY: the call created the descriptor, so it has no other owner.
    beyond_stdio(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes a call without a result.
pub(super) fn call_done<A: Attr>(cmd: Cmd, attr: &mut A) -> Result<(), Errno> {
    call(cmd, attr).map(drop)
}

/// Converts a descriptor to a field of the kernel's structs.
pub(super) fn fd(fd: BorrowedFd<'_>) -> u32 {
    fd.as_raw_fd().cast_unsigned()
}

/// Converts an optional descriptor to a field of the kernel's structs, in which 0 stands for none.
pub(super) fn opt_fd(optional: Option<BorrowedFd<'_>>) -> u32 {
    optional.map_or(0, fd)
}

/// Returns the address of a slice that the kernel reads; 0 for an empty slice.
pub(super) fn address<T>(slice: &[T]) -> u64 {
    if slice.is_empty() { 0 } else { to_u64(slice.as_ptr().expose_provenance()) }
}

/// Returns the address of a slice that the kernel writes; 0 for an empty slice.
pub(super) fn address_mut<T>(slice: &mut [T]) -> u64 {
    if slice.is_empty() { 0 } else { to_u64(slice.as_mut_ptr().expose_provenance()) }
}

/// Returns the length of a slice for a field of the kernel's structs. A length that does not fit is `E2BIG`.
pub(super) fn count<T>(slice: &[T]) -> Result<u32, Errno> {
    u32::try_from(slice.len()).map_err(|_too_many| Errno(libc::E2BIG))
}

/// Cuts a name to 15 bytes and pads it with zeros (libbpf: `libbpf_strlcpy`). The kernel accepts letters,
/// digits, `_` and `.`.
pub(super) fn object_name(name: &[u8]) -> [u8; OBJ_NAME_LEN] {
    let mut out = [0; OBJ_NAME_LEN];
    for (to, from) in out.iter_mut().take(NAME_BYTES).zip(name) {
        *to = *from;
    }
    out
}
