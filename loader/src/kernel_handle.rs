//! The descriptors of kernel objects that the caller of a load provides.

use crate::sys::Errno;
use core_relo_object::load_plan::KernelHandle;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// Returns the descriptor of an object, `EBADF` for a handle that is no descriptor.
pub(crate) fn descriptor(handle: &KernelHandle) -> Result<BorrowedFd<'_>, Errno> {
    handle.get::<OwnedFd>().map(OwnedFd::as_fd).ok_or(Errno(libc::EBADF))
}
