//! The standard streams as the process got them.
//!
//! Before `main`, Rust's runtime opens `/dev/null` in place of a closed standard stream. After that, a closed stdout cannot be told from one that
//! was redirected to `/dev/null`, and output would be lost without an error.

#![expect(unsafe_code, reason = "code runs before the runtime; fcntl is a call into C")]

use core::sync::atomic::{AtomicBool, Ordering};

static IS_STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs before Rust's runtime.
#[used]
// SAFETY: the C runtime calls the functions in this section with arguments that a C function may ignore. The function only makes a system call
// and writes an atomic variable.
#[unsafe(link_section = ".init_array")]
static CHECK_STDOUT: extern "C" fn() = check_stdout;

extern "C" fn check_stdout() {
    // SAFETY: the call takes no pointers.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    IS_STDOUT_CLOSED.store(flags < 0, Ordering::Relaxed);
}

/// Returns whether stdout was closed when the process started, as by `>&-` in a shell.
#[doc(hidden)]
pub fn is_stdout_closed_at_start() -> bool {
    IS_STDOUT_CLOSED.load(Ordering::Relaxed)
}
