//! What tests need of the system besides.
#![expect(unsafe_code, reason = "unshare is a call into C")]

use super::errno::Errno;

/// Gives the calling thread a network namespace of its own.
pub(crate) fn own_network() -> Result<(), Errno> {
    // SAFETY: no memory is passed; only what this thread sees of the network changes.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0 { Ok(()) } else { Err(Errno::last()) }
}
