//! Netlink sockets that exchange whole messages with the kernel.
#![expect(unsafe_code, reason = "socket, setsockopt, connect, send and recv are calls into C")]

use super::fd::beyond_stdio;
use core::ffi::c_int;
use core_relo_object::Errno;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// The bound on the length of a datagram, far above the kernel's own.
const DATAGRAM_BYTES: usize = 16 << 20;

/// `AF_NETLINK`, in the type of an address's field.
const FAMILY: libc::sa_family_t = 16;
const _: () = assert!(libc::AF_NETLINK == 16);

/// A netlink socket in the network namespace of the thread that opened it. Only the kernel can send to the
/// socket.
#[derive(Debug)]
pub(crate) struct Netlink(OwnedFd);

impl Netlink {
    /// Opens a socket of the family `NETLINK_ROUTE`.
    pub(crate) fn route() -> Result<Self, Errno> {
        // SAFETY: the call takes no pointers.
        let fd = unsafe {
            libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE)
        };
        if fd < 0 {
            return Err(Errno::last());
        }
        // SAFETY: the call above created the descriptor, so it has no other owner.
        let socket = Self(beyond_stdio(unsafe { OwnedFd::from_raw_fd(fd) })?);
        // Kernels before 4.12 have no extended acknowledgements. The socket works without them.
        for option in [libc::NETLINK_EXT_ACK, libc::NETLINK_CAP_ACK] {
            if let Err(errno) = socket.switch_on(option) {
                log::debug!("netlink option {option} is not set: {errno}");
            }
        }
        socket.connect()?;
        Ok(socket)
    }

    /// Makes the kernel use the attributes of a dump request as a filter. Kernels before 4.20 do not filter.
    pub(crate) fn filtered(&self) {
        if let Err(errno) = self.switch_on(libc::NETLINK_GET_STRICT_CHK) {
            log::debug!("netlink does not filter: {errno}");
        }
    }

    fn switch_on(&self, option: c_int) -> Result<(), Errno> {
        let on: c_int = 1;
        let len = socklen::<c_int>();
        let at = (&raw const on).cast();
        // SAFETY: `on` outlives the call, which reads `len` bytes of it.
        let done = unsafe { libc::setsockopt(self.0.as_raw_fd(), libc::SOL_NETLINK, option, at, len) };
        if done < 0 { Err(Errno::last()) } else { Ok(()) }
    }

    /// Connects to the kernel, so that no other process can send to the socket.
    fn connect(&self) -> Result<(), Errno> {
        // SAFETY: the struct consists of integers, for which zeros are valid. Apart from the family, zeros
        // are the kernel's address.
        let mut kernel: libc::sockaddr_nl = unsafe { core::mem::zeroed() };
        kernel.nl_family = FAMILY;
        let len = socklen::<libc::sockaddr_nl>();
        // SAFETY: `kernel` outlives the call, which reads `len` bytes of it.
        let done = unsafe { libc::connect(self.0.as_raw_fd(), (&raw const kernel).cast(), len) };
        if done < 0 { Err(Errno::last()) } else { Ok(()) }
    }

    /// Sends one message.
    pub(crate) fn send(&self, message: &[u8]) -> Result<(), Errno> {
        // SAFETY: the call only reads `message`, whose address and length it gets.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        match usize::try_from(sent) {
            Ok(n) if n == message.len() => Ok(()),
            Ok(_) => Err(Errno(libc::EMSGSIZE)),
            Err(_negative) => Err(Errno::last()),
        }
    }

    /// Waits for the next datagram: one message or several.
    pub(crate) fn receive(&self) -> Result<Vec<u8>, Errno> {
        let len = self.read(&mut [], libc::MSG_PEEK | libc::MSG_TRUNC)?;
        if len > DATAGRAM_BYTES {
            return Err(Errno(libc::EMSGSIZE));
        }
        let mut data = vec![0; len];
        let read = self.read(&mut data, 0)?;
        data.truncate(read);
        Ok(data)
    }

    fn read(&self, into: &mut [u8], flags: c_int) -> Result<usize, Errno> {
        loop {
            // SAFETY: the call writes at most `into.len()` bytes to `into`.
            let n = unsafe { libc::recv(self.0.as_raw_fd(), into.as_mut_ptr().cast(), into.len(), flags) };
            match usize::try_from(n) {
                Ok(n) => return Ok(n),
                Err(_negative) => match Errno::last() {
                    Errno(libc::EINTR) => {}
                    errno => return Err(errno),
                },
            }
        }
    }
}

#[cfg(test)]
impl std::os::fd::AsFd for Netlink {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Returns the size of a type for the kernel.
#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "the assertion below: the size fits"
)]
const fn socklen<T>() -> libc::socklen_t {
    const { assert!(size_of::<T>() < 1 << 16) };
    size_of::<T>() as libc::socklen_t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no netlink sockets")]
    fn the_kernel_answers_a_message_that_it_does_not_know() {
        let socket = Netlink::route().unwrap();
        // A header only: 16 bytes, of a type that does not exist, asking for an answer.
        let e = core_relo::Endian::native();
        let mut message = Vec::new();
        e.put_u32(&mut message, 16);
        e.put_u16(&mut message, 0x7000);
        e.put_u16(&mut message, 1 | 4);
        e.put_u64(&mut message, 7);
        socket.send(&message).unwrap();
        let answer = socket.receive().unwrap();
        assert_eq!(e.u16(&answer, 4), Some(2), "NLMSG_ERROR");
        assert_eq!(e.u32(&answer, 16).map(u32::cast_signed), Some(-libc::EOPNOTSUPP));
    }
}
