//! Errors for bpf(2) calls that the kernel refuses.

use crate::error::BadInput;
use core_relo_loader::{
    Errno, Hint,
    inventory::{InfoError, ObjectKind},
};

/// Creates the error for a refused request about objects of a kind.
pub(crate) fn refused(kind: ObjectKind, request: &str, errno: Errno) -> BadInput {
    let bad = BadInput::new("running kernel", format_args!("cannot {request} {kind}s: {errno}"));
    with_hint(bad, errno)
}

/// Creates the error for facts of an object that cannot be read by its descriptor.
pub(crate) fn unreadable_info(kind: ObjectKind, id: u32, error: InfoError) -> BadInput {
    with_hint(BadInput::new(format!("{kind} {id}"), error.problem()), error.errno())
}

/// Creates the error for other facts of an object that cannot be read.
pub(crate) fn unreadable(kind: ObjectKind, id: u32, facts: &str, errno: Errno) -> BadInput {
    let bad = BadInput::new(format!("{kind} {id}"), format_args!("cannot read {facts}: {errno}"));
    with_hint(bad, errno)
}

/// Adds the usual remedy for an error of bpf(2).
pub(crate) fn with_hint(bad: BadInput, errno: Errno) -> BadInput {
    match hint(errno) {
        Some(help) => bad.help(help),
        None => bad,
    }
}

/// Returns the usual remedy for an error of bpf(2).
pub(crate) fn hint(errno: Errno) -> Option<&'static str> {
    match errno {
        Errno::EPERM => {
            Some("needs CAP_SYS_ADMIN in the initial user namespace: run it as root, outside of a container")
        }
        Errno::EINVAL => Some("this kernel may be too old for it"),
        _ => Some(Hint::for_errno(errno).0).filter(|help| !help.is_empty()),
    }
}

/// Returns the name of an object in messages: `program 5 (handle_exec)`.
pub(crate) fn object_name(kind: ObjectKind, id: u32, name: &str) -> String {
    if name.is_empty() { format!("{kind} {id}") } else { format!("{kind} {id} ({name})") }
}
