//! System calls for tests.
#![expect(unsafe_code, reason = "unshare, close and prctl are calls into C")]

use core_relo_object::Errno;

/// Gives the calling thread a network namespace of its own.
pub(crate) fn own_network() -> Result<(), Errno> {
    // SAFETY: the call takes no pointers. It changes only the network namespace of this thread.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0 { Ok(()) } else { Err(Errno::last()) }
}

/// Creates a pid namespace for the later children of the calling thread.
pub(crate) fn new_pid_namespace_for_children() -> Result<(), Errno> {
    // SAFETY: the call takes no pointers. It changes only the namespace of this thread's children.
    if unsafe { libc::unshare(libc::CLONE_NEWPID) } == 0 { Ok(()) } else { Err(Errno::last()) }
}

/// Closes standard input, so that the next descriptor gets its number.
pub(crate) fn close_stdin() {
    // SAFETY: nobody owns the descriptor: the standard library uses it by number, and tolerates that it is
    // closed.
    assert_eq!(unsafe { libc::close(libc::STDIN_FILENO) }, 0);
}

/// Makes `close_range` fail with `EPERM` in this thread and in those that it starts.
pub(crate) fn forbid_close_range() -> Result<(), Errno> {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let insn = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let number = u32::try_from(libc::SYS_close_range).map_err(|_large| Errno(libc::EINVAL))?;
    let mut filter = [
        insn(LOAD_NUMBER, 0, 0, 0),
        insn(JUMP_EQUAL, 0, 1, number),
        insn(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned()),
        insn(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: 4, filter: filter.as_mut_ptr() };
    let (on, none): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: the call takes no pointers. It changes only this thread.
    let done = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, on, none, none, none) };
    if done != 0 {
        return Err(Errno::last());
    }
    let mode = libc::c_ulong::from(libc::SECCOMP_MODE_FILTER);
    // SAFETY: the program points to four instructions, which outlive the call. It changes only this thread.
    let done = unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) };
    if done != 0 { Err(Errno::last()) } else { Ok(()) }
}
