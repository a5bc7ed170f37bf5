//! Requests to the kernel's routing netlink family: interfaces, qdiscs, classifiers, routes.

use super::{
    error::{AttachError, Hint},
    netlink::{self, ACK, Attributes, DUMP, Message, MessageOutcome, NetlinkError, Request, attribute},
};
use crate::sys::{Errno, Netlink};
use core_relo::Endian;

pub(super) const RTM_GETLINK: u16 = 18;
pub(super) const IFLA_IFNAME: u16 = 3;
/// Bytes of `struct ifinfomsg`.
pub(super) const IFINFOMSG_BYTES: usize = 16;

/// A netlink socket. It stays in the network namespace of the thread that opened it, whichever thread uses it
/// later.
#[derive(Debug)]
pub(super) struct RtnetlinkSocket {
    socket: Netlink,
    sequence: u32,
}

impl RtnetlinkSocket {
    pub(super) fn open() -> Result<Self, NetlinkError> {
        Ok(Self { socket: Netlink::route()?, sequence: 0 })
    }

    /// Turns strict checking on, so that the kernel filters dumps by the attributes of the request and
    /// refuses attributes that it does not know. Older kernels ignore this and dump everything.
    pub(super) fn enable_strict_checking(&self) {
        self.socket.filtered();
    }

    /// Sends a request and passes each message of the answer to `on_message`.
    pub(super) fn request(
        &mut self,
        mut request: Request,
        mut on_message: impl FnMut(&Message<'_>),
    ) -> Result<(), NetlinkError> {
        // Every answer has an end: the end of a dump, or an acknowledgement.
        if request.flags & DUMP != DUMP {
            request.flags |= ACK;
        }
        self.sequence = self.sequence.wrapping_add(1);
        self.socket.send(&request.encode(self.sequence)?)?;
        loop {
            let data = self.socket.receive()?;
            for message in netlink::messages(&data) {
                let message = message?;
                // The rest of an earlier answer that was not read to its end.
                if message.sequence != self.sequence {
                    continue;
                }
                match message.outcome() {
                    MessageOutcome::Data => on_message(&message),
                    MessageOutcome::Done => return Ok(()),
                    MessageOutcome::Error(error) => return Err(error),
                }
            }
        }
    }
}

/// Encodes a `struct ifinfomsg`.
pub(super) fn ifinfomsg(ifindex: u32) -> Vec<u8> {
    let mut out = vec![0; 4];
    let e = Endian::native();
    for word in [ifindex, 0, 0] {
        e.put_u32(&mut out, word);
    }
    out
}

/// Encodes a `struct tcmsg`.
pub(super) fn tcmsg(ifindex: u32, handle: u32, parent: u32, info: u32) -> Vec<u8> {
    let mut out = vec![0; 4];
    for word in [ifindex, handle, parent, info] {
        Endian::native().put_u32(&mut out, word);
    }
    out
}

/// Returns the index of a network interface in the calling thread's network namespace (`if_nametoindex`).
pub fn interface_index(name: &str) -> Result<u32, AttachError> {
    let attributes = Attributes::default().text(IFLA_IFNAME, name);
    let request = Request { kind: RTM_GETLINK, flags: 0, fixed: ifinfomsg(0), attributes };
    let mut index = None;
    let answer = RtnetlinkSocket::open().and_then(|mut socket| {
        socket.request(request, |message| {
            index = message.split(IFINFOMSG_BYTES).and_then(|(fixed, _)| Endian::native().u32(fixed, 4));
        })
    });
    let error = match (answer, index) {
        (Ok(()), Some(index)) => return Ok(index),
        (Ok(()), None) => Errno(libc::ENODEV).into(),
        (Err(error), _) => error,
    };
    Err(netlink_error(&format!("interface {name}"), "find", error))
}

/// Returns the name of a network interface.
pub(super) fn interface_name(socket: &mut RtnetlinkSocket, ifindex: u32) -> Result<String, NetlinkError> {
    let attributes = query_interface_attributes(socket, ifindex)?;
    let name = attribute(&attributes, IFLA_IFNAME).ok_or(NetlinkError::from(Errno(libc::ENODEV)))?;
    Ok(String::from_utf8_lossy(name.strip_suffix(b"\0").unwrap_or(name)).into_owned())
}

/// Returns the attributes of an interface.
pub(super) fn query_interface_attributes(
    socket: &mut RtnetlinkSocket,
    ifindex: u32,
) -> Result<Vec<u8>, NetlinkError> {
    let fixed = ifinfomsg(ifindex);
    let request = Request { kind: RTM_GETLINK, flags: 0, fixed, attributes: Attributes::default() };
    let mut found = Vec::new();
    socket.request(request, |message| {
        if let Some((_, attributes)) = message.split(IFINFOMSG_BYTES) {
            found = attributes.to_vec();
        }
    })?;
    Ok(found)
}

/// Converts a netlink error, with the likely remedy.
pub(super) fn netlink_error(label: &str, action: &'static str, error: NetlinkError) -> AttachError {
    let NetlinkError { errno, ext_ack } = error;
    let hint = match errno.0 {
        libc::ENODEV => Hint("is there such an interface in this network namespace?"),
        libc::EPERM => Hint("needs CAP_NET_ADMIN in the user namespace that owns this network namespace"),
        libc::EBUSY | libc::EEXIST => Hint("something is attached there already, perhaps in another mode"),
        libc::EOPNOTSUPP => Hint("the driver or this kernel's configuration does not support it"),
        _ => Hint::for_errno(errno),
    };
    AttachError::Netlink { label: label.into(), action, errno, ext_ack: ext_ack.into(), hint }
}
