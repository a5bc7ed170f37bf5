//! Two network namespaces with a veth pair between them, by rtnetlink. This module does not use BPF.

use core::net::Ipv4Addr;
use core_relo::Endian;
use rustix::{
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netdevice::name_to_index,
        netlink::SocketAddrNetlink, recv, sendto, socket_with,
    },
    thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe},
};
use std::{
    fs::File,
    io,
    os::fd::{AsFd as _, AsRawFd as _},
};

/// Two network namespaces connected by a veth pair. The kernel removes them when their last file and socket
/// is closed.
pub(crate) struct VethPair {
    home: File,
    near: File,
    far: File,
    /// The index of the far interface in its namespace.
    pub(crate) far_index: u32,
}

const OWN: &str = "/proc/thread-self/ns/net";
const NAMES: [&str; 2] = ["near0", "far0"];

impl VethPair {
    pub(crate) const NEAR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
    pub(crate) const FAR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

    pub(crate) fn new() -> io::Result<Self> {
        let home = File::open(OWN)?;
        let namespaces = new_namespace().and_then(|near| Ok((near, new_namespace()?)));
        enter(&home)?;
        let (near, far) = namespaces?;
        let mut pair = Self { home, near, far, far_index: 0 };
        let far_fd = pair.far.as_raw_fd().cast_unsigned();
        pair.near(|| create_veth_pair(far_fd))??;
        pair.near(|| set_up(NAMES[0], Self::NEAR))??;
        pair.far_index = pair.far(|| set_up(NAMES[1], Self::FAR))??;
        Ok(pair)
    }

    /// Calls `act` with this thread in the near namespace.
    pub(crate) fn near<T>(&self, act: impl FnOnce() -> T) -> io::Result<T> {
        self.inside(&self.near, act)
    }

    /// Calls `act` with this thread in the far namespace.
    pub(crate) fn far<T>(&self, act: impl FnOnce() -> T) -> io::Result<T> {
        self.inside(&self.far, act)
    }

    fn inside<T>(&self, namespace: &File, act: impl FnOnce() -> T) -> io::Result<T> {
        enter(namespace)?;
        let result = act();
        enter(&self.home).map(|()| result)
    }
}

/// Moves this thread to a namespace.
fn enter(namespace: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Moves this thread to a new network namespace.
fn new_namespace() -> io::Result<File> {
    #[expect(unsafe_code, reason = "with other flags, the call would unshare the open files of the threads")]
    // SAFETY: the call unshares only the network namespace.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
    File::open(OWN)
}

const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
/// NLM_F_REQUEST and NLM_F_ACK.
const REQUEST: u16 = 5;
/// NLM_F_CREATE and NLM_F_EXCL.
const CREATE: u16 = 0x600;

/// Creates a veth pair, with the peer in another namespace.
fn create_veth_pair(far: u32) -> io::Result<()> {
    let peer = Message::link(0, 0).text(3, NAMES[1]).number(28, far); // IFLA_IFNAME, IFLA_NET_NS_FD
    let data = Message::default().nested(1, &peer); // VETH_INFO_PEER
    let info = Message::default().text(1, "veth").nested(2, &data); // IFLA_INFO_KIND, IFLA_INFO_DATA
    Message::link(0, 0).text(3, NAMES[0]).nested(18, &info).send(RTM_NEWLINK, CREATE) // IFLA_LINKINFO
}

/// Adds an address to an interface and sets the interface up. Returns its index.
fn set_up(name: &str, address: Ipv4Addr) -> io::Result<u32> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let index = name_to_index(socket, name)?;
    let mut message = Message(vec![2, 24, 0, 0]); // struct ifaddrmsg: AF_INET, a network of 24 bits
    Endian::native().put_u32(&mut message.0, index);
    message.attribute(2, &address.octets()).send(RTM_NEWADDR, CREATE)?; // IFA_LOCAL
    Message::link(index, 1).send(RTM_NEWLINK, 0)?; // IFF_UP
    Ok(index)
}

/// The body of an rtnetlink request: a structure followed by attributes.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// Returns a `struct ifinfomsg`.
    fn link(index: u32, flags: u32) -> Self {
        let mut message = vec![0; 4];
        for word in [index, flags, flags] {
            Endian::native().put_u32(&mut message, word);
        }
        Self(message)
    }

    fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        let length = u16::try_from([&[0; 4], value].concat().len()).unwrap_or(u16::MAX);
        Endian::native().put_u16(&mut self.0, length);
        Endian::native().put_u16(&mut self.0, kind);
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    fn text(self, kind: u16, value: &str) -> Self {
        self.attribute(kind, &[value.as_bytes(), &[0]].concat())
    }

    fn number(self, kind: u16, value: u32) -> Self {
        let mut bytes = Vec::new();
        Endian::native().put_u32(&mut bytes, value);
        self.attribute(kind, &bytes)
    }

    fn nested(self, kind: u16, inner: &Self) -> Self {
        self.attribute(kind, &inner.0)
    }

    /// Sends the request and waits for the answer.
    fn send(&self, kind: u16, flags: u16) -> io::Result<()> {
        let e = Endian::native();
        let mut request = Vec::new();
        let length = u32::try_from([&[0; 16], &self.0[..]].concat().len()).unwrap_or(u32::MAX);
        e.put_u32(&mut request, length);
        e.put_u16(&mut request, kind);
        e.put_u16(&mut request, flags | REQUEST);
        request.resize(16, 0); // sequence number and port
        request.extend(&self.0);
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut answer = [0; 1024];
        recv(&socket, &mut answer[..], RecvFlags::empty())?;
        // The header is followed by 0 or a negative errno.
        match e.u32(&answer, 16).map(u32::cast_signed) {
            Some(0) => Ok(()),
            Some(error) => Err(io::Error::from_raw_os_error(error.saturating_neg())),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
