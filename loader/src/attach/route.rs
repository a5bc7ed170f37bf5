//! A conversation with the kernel about network interfaces and routes.

use super::{
    AttachError, Hint,
    netlink::{self, ACK, Attributes, DUMP, Meaning, Message, Refused, Request},
};
use crate::sys::{Errno, Netlink};
use core_relo::Endian;

const RTM_GETLINK: u16 = 18;
const IFLA_IFNAME: u16 = 3;

/// A conversation about the interfaces of one network namespace: that of the thread which opened it, whoever goes on with it.
#[derive(Debug)]
pub(super) struct Route {
    socket: Netlink,
    sequence: u32,
}

impl Route {
    pub(super) fn open() -> Result<Self, Refused> {
        Ok(Self { socket: Netlink::route()?, sequence: 0 })
    }

    /// Has the kernel take the attributes of a question as a filter, if it can; it then refuses those it does not know.
    pub(super) fn filtered(&self) {
        self.socket.filtered();
    }

    /// Has something done. Each message that comes back is given to `each`.
    pub(super) fn ask(
        &mut self,
        mut request: Request,
        mut each: impl FnMut(&Message<'_>),
    ) -> Result<(), Refused> {
        // Every conversation has an end: that of a dump, or an acknowledgement.
        if request.flags & DUMP != DUMP {
            request.flags |= ACK;
        }
        self.sequence = self.sequence.wrapping_add(1);
        self.socket.send(&request.encode(self.sequence)?)?;
        loop {
            let data = self.socket.receive()?;
            for message in netlink::messages(&data) {
                let message = message?;
                // What is left of a conversation that ended early.
                if message.sequence != self.sequence {
                    continue;
                }
                match message.meaning() {
                    Meaning::Data => each(&message),
                    Meaning::Done => return Ok(()),
                    Meaning::Refused(refused) => return Err(refused),
                }
            }
        }
    }
}

/// `struct ifinfomsg`.
pub(super) fn interface_header(ifindex: u32) -> Vec<u8> {
    let mut out = vec![0; 4];
    let e = Endian::native();
    for word in [ifindex, 0, 0] {
        e.put_u32(&mut out, word);
    }
    out
}

/// Bytes of `struct ifinfomsg`.
pub(super) const INTERFACE_HEADER: usize = 16;

/// The number of a network interface, in the calling thread's network namespace.
pub fn interface(name: &str) -> Result<u32, AttachError> {
    let attributes = Attributes::default().text(IFLA_IFNAME, name);
    let request = Request { kind: RTM_GETLINK, flags: 0, fixed: interface_header(0), attributes };
    let mut number = None;
    let asked = Route::open().and_then(|mut route| {
        route.ask(request, |message| {
            number = message.split(INTERFACE_HEADER).and_then(|(fixed, _)| Endian::native().u32(fixed, 4));
        })
    });
    let refused = match (asked, number) {
        (Ok(()), Some(number)) => return Ok(number),
        (Ok(()), None) => Errno(libc::ENODEV).into(),
        (Err(refused), _) => refused,
    };
    Err(refusal(&format!("interface {name}"), "find", refused))
}

/// Asks about one interface; the attributes of the answer.
pub(super) fn interface_attributes(route: &mut Route, ifindex: u32) -> Result<Vec<u8>, Refused> {
    let fixed = interface_header(ifindex);
    let request = Request { kind: RTM_GETLINK, flags: 0, fixed, attributes: Attributes::default() };
    let mut found = Vec::new();
    route.ask(request, |message| {
        if let Some((_, attributes)) = message.split(INTERFACE_HEADER) {
            found = attributes.to_vec();
        }
    })?;
    Ok(found)
}

/// The error that a refusal makes.
pub(super) fn refusal(what: &str, action: &'static str, refused: Refused) -> AttachError {
    let Refused { errno, said } = refused;
    let hint = match errno.0 {
        libc::ENODEV => Hint("is there such an interface in this network namespace?"),
        libc::EPERM => Hint("needs CAP_NET_ADMIN in the user namespace that owns this network namespace"),
        libc::EBUSY | libc::EEXIST => Hint("something is attached there already, perhaps in another mode"),
        libc::EOPNOTSUPP => Hint("the driver or this kernel's configuration cannot do it"),
        _ => Hint::of(errno),
    };
    AttachError::Netlink { what: what.into(), action, errno, said: said.into(), hint }
}
