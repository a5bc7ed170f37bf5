//! The standard streams as the process got them.
//!
//! Before `main`, Rust's runtime opens `/dev/null` in place of a closed standard stream. After that, a closed
//! stdout cannot be told from one that was redirected to `/dev/null`, and output would be lost without an
//! error.

#![expect(unsafe_code, reason = "code runs before the runtime; fcntl is a call into C")]

use core::sync::atomic::{AtomicBool, Ordering};

/// Whether stdin, stdout and stderr were closed, by their descriptors.
static ARE_CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Runs before Rust's runtime.
#[used]
// SAFETY: the C runtime calls the functions in this section with arguments that a C function may ignore. The
// function only makes system calls and writes atomic variables.
#[unsafe(link_section = ".init_array")]
static CHECK_STREAMS: extern "C" fn() = check_streams;

extern "C" fn check_streams() {
    for (is_closed, descriptor) in ARE_CLOSED.iter().zip(libc::STDIN_FILENO..) {
        // SAFETY: the call takes no pointers.
        let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFD) };
        is_closed.store(flags < 0, Ordering::Relaxed);
    }
}

/// Returns whether a descriptor is a standard stream that was closed when the process started, as stdout by
/// `>&-` in a shell.
pub fn is_closed_at_start(descriptor: i32) -> bool {
    let stream = usize::try_from(descriptor).ok().and_then(|index| ARE_CLOSED.get(index));
    stream.is_some_and(|is_closed| is_closed.load(Ordering::Relaxed))
}

/// Returns whether stdout was closed when the process started.
pub fn is_stdout_closed_at_start() -> bool {
    is_closed_at_start(libc::STDOUT_FILENO)
}
