//! System calls for tests.
#![expect(unsafe_code, reason = "unshare and close are calls into C")]

use core_relo_object::Errno;

/// Gives the calling thread a network namespace of its own.
pub(crate) fn own_network() -> Result<(), Errno> {
    // SAFETY: the call takes no pointers. It changes only the network namespace of this thread.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0 { Ok(()) } else { Err(Errno::last()) }
}

/// Closes standard input, so that the next descriptor gets its number.
pub(crate) fn close_stdin() {
    // SAFETY: nobody owns the descriptor: the standard library uses it by number, and tolerates that it is closed.
    assert_eq!(unsafe { libc::close(libc::STDIN_FILENO) }, 0);
}
