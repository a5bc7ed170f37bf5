//! Calls in a thread with a descriptor table of its own, and the descriptors that the thread passes to the
//! process.
#![expect(unsafe_code, reason = "close_range and dup2 are calls into C")]

use super::{
    descriptor_passing::{receive_descriptors, send_descriptors},
    fd::beyond_stdio,
};
use core_relo_object::Errno;
use std::{
    collections::HashSet,
    io,
    os::{
        fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd},
        unix::net::UnixStream,
    },
    panic::resume_unwind,
    thread,
};
use thiserror::Error;

/// A failed step of a call in a thread with a descriptor table of its own.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[error("{step}: {errno}")]
pub(crate) struct IsolationError {
    /// The step.
    pub step: IsolationStep,
    /// The error number.
    pub errno: Errno,
}

core_relo::debug_as_message!(IsolationError);

/// A step of a call in a thread with a descriptor table of its own.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub(crate) enum IsolationStep {
    /// Sockets are created, which pass descriptors from the thread to the process.
    #[error("creating sockets for the descriptors of the thread")]
    Sockets,
    /// The thread is started.
    #[error("starting a thread")]
    Thread,
    /// The thread gets a descriptor table of its own.
    #[error("close_range: giving the thread descriptors of its own")]
    OwnTable,
    /// The call is made.
    #[error("the call in the thread")]
    Call,
    /// A descriptor of the thread is passed to the process.
    #[error("passing descriptor {0} of the thread")]
    Send(RawFd),
    /// The process receives the descriptors of the thread.
    #[error("receiving the descriptors of the thread")]
    Receive,
}

core_relo::debug_as_message!(IsolationStep);

impl IsolationStep {
    /// Creates the error of the step.
    fn failed(self, errno: Errno) -> IsolationError {
        IsolationError { step: self, errno }
    }

    fn failed_io(self, error: &io::Error) -> IsolationError {
        self.failed(Errno::from_io_error(error))
    }
}

/// Makes a call in a thread whose descriptor table contains `kept` and a socket, and no other descriptor of
/// the process. The call returns its result, and the numbers of the descriptors that the process gets.
///
/// Whatever the call opens, closes or replaces, the descriptors of the process stay as they are. In the
/// thread, the numbers of the standard streams are in use, so that new descriptors are larger.
pub(super) fn call_isolated<T: Send>(
    kept: BorrowedFd<'_>,
    call: impl FnOnce() -> Result<(T, Vec<RawFd>), Errno> + Send,
) -> Result<(T, Vec<OwnedFd>), IsolationError> {
    use IsolationStep::{Call, Receive, Sockets, Thread};
    let (ours, theirs) = UnixStream::pair().map_err(|e| Sockets.failed_io(&e))?;
    let theirs = beyond_stdio(theirs.into()).map_err(|errno| Sockets.failed(errno))?;
    let socket = theirs.as_fd();
    let body = || {
        let table =
            OwnTable::separate([kept, socket]).map_err(|errno| IsolationStep::OwnTable.failed(errno))?;
        let (value, numbers) = call().map_err(|errno| Call.failed(errno))?;
        table.send(&numbers, socket)?;
        Ok((value, numbers.len()))
    };
    let (value, count) = thread::scope(|scope| {
        let builder = thread::Builder::new().name("core-relo-loader".to_owned());
        let thread = builder.spawn_scoped(scope, body).map_err(|e| Thread.failed_io(&e))?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })?;
    // The thread has ended, so all messages are in the socket.
    let descriptors = receive_descriptors(ours.as_fd(), count).map_err(|errno| Receive.failed(errno))?;
    Ok((value, descriptors))
}

/// The descriptor table of this thread, which no other thread shares. The drop closes all its descriptors,
/// because the kernel frees the table of a thread some time after `join` returns.
struct OwnTable {
    /// The descriptors of the process that are in the table.
    kept: [RawFd; 2],
}

impl OwnTable {
    /// Gives the thread a table with copies of two descriptors, of which the first also replaces the standard
    /// streams.
    fn separate(kept: [BorrowedFd<'_>; 2]) -> Result<Self, Errno> {
        // The last number is no descriptor, so this call only separates the table.
        close_range(u32::MAX, u32::MAX, libc::CLOSE_RANGE_UNSHARE)?;
        let table = Self { kept: kept.map(|fd| fd.as_raw_fd()) };
        let [first, _] = table.kept;
        for stream in STREAMS {
            // SAFETY: the call takes no pointers. It changes the table of this thread alone, so no owner of a
            // descriptor is affected.
            if unsafe { libc::dup2(first, stream) } < 0 {
                return Err(Errno::last());
            }
        }
        let mut kept = table.kept.map(RawFd::cast_unsigned);
        kept.sort_unstable();
        let mut start = FIRST_BEYOND_STREAMS;
        for number in kept {
            if let Some(last) = number.checked_sub(1).filter(|last| start <= *last) {
                close_range(start, last, 0)?;
            }
            start = start.max(number.checked_add(1).ok_or(Errno(libc::EBADF))?);
        }
        close_range(start, u32::MAX, 0)?;
        Ok(table)
    }

    /// Sends descriptors to the process. Fails with `EBADF` for a number that is not open, that occurs twice,
    /// or that the thread did not open.
    fn send(&self, numbers: &[RawFd], socket: BorrowedFd<'_>) -> Result<(), IsolationError> {
        let mut sent = HashSet::new();
        for number in numbers {
            let failed = |errno| IsolationStep::Send(*number).failed(errno);
            if STREAMS.contains(number) || self.kept.contains(number) || !sent.insert(*number) {
                return Err(failed(Errno(libc::EBADF)));
            }
            // SAFETY: the call takes no pointers, and changes nothing.
            if unsafe { libc::fcntl(*number, libc::F_GETFD) } < 0 {
                return Err(failed(Errno::last()));
            }
        }
        send_descriptors(socket, numbers).map_err(|(number, errno)| IsolationStep::Send(number).failed(errno))
    }
}

impl Drop for OwnTable {
    fn drop(&mut self) {
        if let Err(errno) = close_range(0, u32::MAX, 0) {
            log::debug!("the thread's descriptors stay open until it has ended: {errno}");
        }
    }
}

/// The numbers of the standard streams.
const STREAMS: [RawFd; 3] = [libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO];
const FIRST_BEYOND_STREAMS: u32 = 3;

/// Calls close_range(2), which Linux has since 5.9.
///
/// A call with `CLOSE_RANGE_UNSHARE` needs no privilege, while container runtimes often forbid the same by
/// unshare(2).
fn close_range(first: u32, last: u32, flags: libc::c_uint) -> Result<(), Errno> {
    // SAFETY: the call takes no pointers. It closes descriptors only after the table of this thread was
    // separated from that of the process.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
    if done < 0 { Err(Errno::last()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{Errno, IsolationError, IsolationStep, call_isolated};
    use crate::sys::testing::forbid_close_range;
    use core_relo_test_support::skip;
    use std::{
        fs::{self, File},
        io::Read as _,
        os::fd::{AsFd as _, AsRawFd as _, IntoRawFd as _, RawFd},
        thread,
    };

    /// The numbers of this thread's descriptors.
    fn numbers() -> Vec<RawFd> {
        let entries = fs::read_dir("/proc/thread-self/fd").unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "close_range is not emulated")]
    fn the_thread_has_no_descriptor_of_the_process_and_passes_its_own() {
        // More than a message contains.
        const COUNT: usize = 300;
        let kept = File::open("/dev/null").unwrap();
        let other = File::open("/dev/zero").unwrap();
        let call = || {
            // The standard streams, the kept descriptor, the socket and the directory.
            let open = numbers().len();
            let files = (0..COUNT).map(|_| File::open("/dev/zero").unwrap().into_raw_fd());
            Ok((open, files.collect()))
        };
        let (open, descriptors) = call_isolated(kept.as_fd(), call).unwrap();
        assert_eq!((open, descriptors.len()), (6, COUNT));
        for descriptor in descriptors {
            File::from(descriptor).read_exact(&mut [1]).unwrap();
        }
        (&other).read_exact(&mut [1]).unwrap();
    }

    #[test]
    #[cfg_attr(miri, ignore = "close_range is not emulated")]
    fn only_descriptors_that_the_thread_opened_are_passed() {
        let kept = File::open("/dev/null").unwrap();
        for wrong in [-1, 0, 1, 2, kept.as_raw_fd(), 100_000] {
            let passed = call_isolated(kept.as_fd(), || Ok(((), vec![wrong])));
            let expected = IsolationError { step: IsolationStep::Send(wrong), errno: Errno(libc::EBADF) };
            assert_eq!(passed.unwrap_err(), expected);
        }
        let twice = call_isolated(kept.as_fd(), || {
            let file = File::open("/dev/null").unwrap().into_raw_fd();
            Ok(((), vec![file, file]))
        });
        assert!(matches!(twice.unwrap_err().step, IsolationStep::Send(_)));
        let failed: Result<((), _), _> = call_isolated(kept.as_fd(), || Err(Errno(libc::EPERM)));
        assert_eq!(failed.unwrap_err().step, IsolationStep::Call);
    }

    #[test]
    #[cfg_attr(miri, ignore = "seccomp filters are not emulated")]
    fn a_forbidden_close_range_is_an_error_and_no_call_is_made() {
        let error = thread::spawn(|| {
            let kept = File::open("/dev/null").unwrap();
            if let Err(errno) = forbid_close_range() {
                skip!("no seccomp filter here: {errno}");
                return None;
            }
            let called = call_isolated(kept.as_fd(), || -> Result<((), Vec<RawFd>), Errno> {
                panic!("the call is made with the descriptors of the process")
            });
            Some(called.unwrap_err())
        });
        if let Some(error) = error.join().unwrap() {
            assert_eq!((error.step, error.errno), (IsolationStep::OwnTable, Errno(libc::EPERM)));
        }
    }
}
