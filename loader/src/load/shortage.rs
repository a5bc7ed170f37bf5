//! Errors that say nothing about the request.

use crate::sys::Errno;

/// Returns whether an error is a lack of memory or descriptors, or the interruption by a signal. The verifier ends with `EAGAIN` then.
pub(crate) const fn is_shortage(errno: Errno) -> bool {
    matches!(errno.0, libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EINTR | libc::EAGAIN)
}
