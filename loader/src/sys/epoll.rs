//! epoll: waiting for several descriptors.
#![expect(unsafe_code, reason = "epoll is calls into C")]

use super::fd::beyond_stdio;
use crate::convert::to_usize;
use core::time::Duration;
use core_relo_object::Errno;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// The number of events that one wait returns at most.
const EVENTS: u32 = 64;

/// The event to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// The descriptor is readable (level-triggered).
    Readable,
    /// The descriptor got more room for writing (edge-triggered).
    MoreRoom,
    /// The descriptor got more data for reading (edge-triggered), as reactors wait.
    #[cfg(test)]
    MoreToRead,
}

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// Descriptors are ready.
    Ready,
    /// The time is over.
    TimedOut,
    /// A signal arrived.
    Interrupted,
}

/// An epoll instance.
#[derive(Debug)]
pub(crate) struct Epoll(OwnedFd);

impl Epoll {
    pub(crate) fn new() -> Result<Self, Errno> {
        // SAFETY: the call takes no pointers.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(Errno::last());
        }
        // SAFETY: the call created the descriptor, so it has no other owner.
        beyond_stdio(unsafe { OwnedFd::from_raw_fd(fd) }).map(Self)
    }

    /// Adds a descriptor. The entry ends when the last descriptor of the same file closes.
    pub(crate) fn add(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> Result<(), Errno> {
        let events = match interest {
            Interest::Readable => libc::EPOLLIN,
            Interest::MoreRoom => libc::EPOLLOUT | libc::EPOLLET,
            #[cfg(test)]
            Interest::MoreToRead => libc::EPOLLIN | libc::EPOLLET,
        };
        let mut event = libc::epoll_event { events: events.cast_unsigned(), u64: token };
        // SAFETY: `event` outlives the call, which only reads it. Both descriptors are open.
        let done = unsafe {
            libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_ADD, fd.as_raw_fd(), &raw mut event)
        };
        if done < 0 { Err(Errno::last()) } else { Ok(()) }
    }

    /// Waits and writes the tokens of at most [`EVENTS`] ready descriptors to `ready`. Without a timeout,
    /// waits forever. A signal ends the wait early, without tokens.
    pub(crate) fn wait(&self, ready: &mut Vec<u64>, timeout: Option<Duration>) -> Result<Waited, Errno> {
        ready.clear();
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; to_usize(EVENTS)];
        // SAFETY: `events` has room for the `EVENTS` events that the call may write.
        let n = unsafe {
            libc::epoll_wait(
                self.0.as_raw_fd(),
                events.as_mut_ptr(),
                EVENTS.cast_signed(),
                milliseconds(timeout),
            )
        };
        match usize::try_from(n) {
            Ok(0) => Ok(Waited::TimedOut),
            Ok(n) => {
                ready.extend(events.iter().take(n).map(|e| e.u64));
                Ok(Waited::Ready)
            }
            Err(_negative) => match Errno::last() {
                Errno(libc::EINTR) => Ok(Waited::Interrupted),
                e => Err(e),
            },
        }
    }
}

impl AsFd for Epoll {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Converts a timeout to milliseconds, rounded up so that a short wait stays a wait. -1 means forever.
fn milliseconds(timeout: Option<Duration>) -> i32 {
    let Some(timeout) = timeout else { return -1 };
    // The call takes at most 24 days. A longer wait ends early, as after a signal.
    i32::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Write as _, pipe};

    #[test]
    fn timeouts_round_up() {
        assert_eq!(milliseconds(None), -1);
        assert_eq!(milliseconds(Some(Duration::ZERO)), 0);
        assert_eq!(milliseconds(Some(Duration::from_nanos(1))), 1);
        assert_eq!(milliseconds(Some(Duration::from_millis(7))), 7);
        assert_eq!(milliseconds(Some(Duration::MAX)), i32::MAX);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no level-triggered epoll")]
    fn says_who_is_ready() {
        let (reader, mut writer) = pipe().unwrap();
        let epoll = Epoll::new().unwrap();
        epoll.add(reader.as_fd(), 7, Interest::Readable).unwrap();
        let mut ready = vec![1];
        epoll.wait(&mut ready, Some(Duration::ZERO)).unwrap();
        assert_eq!(ready, []);
        writer.write_all(b"x").unwrap();
        epoll.wait(&mut ready, None).unwrap();
        assert_eq!(ready, [7]);
        assert_eq!(epoll.add(reader.as_fd(), 7, Interest::Readable), Err(Errno(libc::EEXIST)));
    }
}
