//! Passes descriptors through a socket (`SCM_RIGHTS`).
#![expect(unsafe_code, reason = "sendmsg and recvmsg are calls into C")]

use super::fd::beyond_stdio;
use core::{mem::MaybeUninit, ptr};
use core_relo_object::Errno;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

/// The number of descriptors in a full message (the kernel's `SCM_MAX_FD`).
const FDS_PER_MESSAGE: usize = 253;

/// A control message with descriptors.
#[repr(C)]
struct Rights {
    header: libc::cmsghdr,
    descriptors: [RawFd; FDS_PER_MESSAGE],
}

const HEADER_BYTES: usize = size_of::<libc::cmsghdr>();
const FD_BYTES: usize = size_of::<RawFd>();

// The descriptors begin at the next multiple of a word (`CMSG_DATA`).
const _: () = assert!(HEADER_BYTES.is_multiple_of(size_of::<usize>()));

impl Rights {
    fn zeroed() -> Self {
        // SAFETY: the struct consists of integers, for which zeros are valid.
        unsafe { MaybeUninit::zeroed().assume_init() }
    }
}

/// Sends descriptors. Does not wait. The error is of the first descriptor of a message.
pub(super) fn send_descriptors(socket: BorrowedFd<'_>, descriptors: &[RawFd]) -> Result<(), (RawFd, Errno)> {
    for part in descriptors.chunks(FDS_PER_MESSAGE) {
        let failed = |errno| (part.first().copied().unwrap_or(-1), errno);
        let mut rights = Rights::zeroed();
        for (place, number) in rights.descriptors.iter_mut().zip(part) {
            *place = *number;
        }
        let bytes = part.len().checked_mul(FD_BYTES).and_then(|bytes| bytes.checked_add(HEADER_BYTES));
        let bytes = bytes.ok_or_else(|| failed(Errno(libc::E2BIG)))?;
        rights.header.cmsg_level = libc::SOL_SOCKET;
        rights.header.cmsg_type = libc::SCM_RIGHTS;
        rights.header.cmsg_len = in_field(bytes).map_err(failed)?;
        exchange(&mut rights, bytes, |message| {
            // SAFETY: the message points to a byte and a control message, which outlive the call. The kernel
            // only reads them.
            unsafe { libc::sendmsg(socket.as_raw_fd(), message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) }
        })
        .map_err(failed)?;
    }
    Ok(())
}

/// Receives descriptors that were sent before. Does not wait. After an error, none of them stays open.
pub(super) fn receive_descriptors(socket: BorrowedFd<'_>, count: usize) -> Result<Vec<OwnedFd>, Errno> {
    let mut received = Vec::new();
    while received.len() < count {
        let mut rights = Rights::zeroed();
        let flags = exchange(&mut rights, size_of::<Rights>(), |message| {
            let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
            // SAFETY: the message points to a byte and to room for a control message of the given length,
            // which outlive the call.
            unsafe { libc::recvmsg(socket.as_raw_fd(), message, flags) }
        })?;
        let before = received.len();
        let is_rights =
            (rights.header.cmsg_level, rights.header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS);
        let bytes = if is_rights { from_field(rights.header.cmsg_len)? } else { 0 };
        let new = bytes.saturating_sub(HEADER_BYTES) / FD_BYTES;
        // Each descriptor gets an owner before any error.
        let new = rights.descriptors.iter().take(new).map(|number| {
            // SAFETY: the kernel has just created the descriptor, so it has no other owner.
            unsafe { OwnedFd::from_raw_fd(*number) }
        });
        received.extend(new);
        // The kernel omits descriptors for which the process has no numbers left.
        if flags & libc::MSG_CTRUNC != 0 {
            return Err(Errno(libc::EMFILE));
        }
        if received.len() == before {
            return Err(Errno(libc::EBADMSG));
        }
    }
    received.into_iter().map(beyond_stdio).collect()
}

/// Makes a call with a message of one byte and a control message. Returns the flags of the message.
fn exchange(
    rights: &mut Rights,
    control_bytes: usize,
    call: impl Fn(*mut libc::msghdr) -> isize,
) -> Result<libc::c_int, Errno> {
    let mut byte = [0_u8];
    let mut data = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: byte.len() };
    // SAFETY: the struct consists of integers and pointers, for which zeros are valid.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut data;
    message.msg_iovlen = in_field(1)?;
    message.msg_control = ptr::from_mut(rights).cast();
    message.msg_controllen = in_field(control_bytes)?;
    match call(&raw mut message) {
        1 => Ok(message.msg_flags),
        0 => Err(Errno(libc::EBADMSG)),
        _ => Err(Errno::last()),
    }
}

/// Converts a length to the type of a field, which differs between C libraries.
fn in_field<T: TryFrom<usize>>(len: usize) -> Result<T, Errno> {
    T::try_from(len).map_err(|_large| Errno(libc::E2BIG))
}

/// Converts the length in a field, whose type differs between C libraries.
fn from_field<T>(len: T) -> Result<usize, Errno>
where
    usize: TryFrom<T>,
{
    usize::try_from(len).map_err(|_large| Errno(libc::EBADMSG))
}

#[cfg(test)]
mod tests {
    use super::{Errno, FDS_PER_MESSAGE, receive_descriptors, send_descriptors};
    use std::{
        fs::{self, File},
        io::Write as _,
        os::{
            fd::{AsFd as _, AsRawFd as _},
            unix::net::UnixStream,
        },
        process::Command,
    };

    /// Set in the process of this test that has a limit on open files.
    const AGAIN: &str = "CORE_RELO_TEST_OPEN_FILES";

    /// The number of descriptors that this process has open, with that of the directory.
    fn open_count() -> usize {
        fs::read_dir("/proc/self/fd").unwrap().count()
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri starts no processes and passes no descriptors")]
    fn descriptors_beyond_the_limit_are_an_error_and_none_of_them_stays_open() {
        if std::env::var_os(AGAIN).is_none() {
            let test = "sys::descriptor_passing::tests::descriptors_beyond_the_limit_are_an_error_and_none_of_them_stays_open";
            // The limit leaves numbers for the first of two messages, but not for both.
            let script = format!("ulimit -n {}; exec \"$@\"", FDS_PER_MESSAGE + 60);
            let mut command = Command::new("sh");
            command.args(["-c", &script, "sh"]).arg(std::env::current_exe().unwrap());
            command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(AGAIN, "1");
            let output = command.output().unwrap();
            let out = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && out.contains("1 passed"), "{out}");
            return;
        }
        let (ours, theirs) = UnixStream::pair().unwrap();
        let file = File::open("/dev/null").unwrap();
        let numbers = vec![file.as_raw_fd(); 2 * FDS_PER_MESSAGE];
        let before = open_count();
        send_descriptors(theirs.as_fd(), &numbers).unwrap();
        let received = receive_descriptors(ours.as_fd(), numbers.len());
        assert_eq!(received.unwrap_err(), Errno(libc::EMFILE));
        assert_eq!(open_count(), before);
        // The socket is empty, and fewer descriptors can be passed.
        assert_eq!(receive_descriptors(ours.as_fd(), 1).unwrap_err(), Errno(libc::EAGAIN));
        send_descriptors(theirs.as_fd(), &numbers[..FDS_PER_MESSAGE]).unwrap();
        let received = receive_descriptors(ours.as_fd(), FDS_PER_MESSAGE).unwrap();
        assert_eq!((received.len(), open_count().abs_diff(before)), (FDS_PER_MESSAGE, FDS_PER_MESSAGE));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri passes no descriptors")]
    fn a_message_without_descriptors_is_an_error() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"x").unwrap();
        assert_eq!(receive_descriptors(ours.as_fd(), 1).unwrap_err(), Errno(libc::EBADMSG));
        drop(theirs);
        assert_eq!(receive_descriptors(ours.as_fd(), 1).unwrap_err(), Errno(libc::EBADMSG));
    }
}
