//! The rtnetlink requests that create interfaces, without the loader's netlink code, which the tests check.

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink::SocketAddrNetlink, recv, sendto,
    socket_with,
};
use std::{io, os::fd::OwnedFd};

/// An rtnetlink socket of the thread's network namespace at its creation.
pub struct Route(OwnedFd);

const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const REQUEST: u16 = 1;
const ACK: u16 = 4;
const CREATE: u16 = 0x400;
const EXCLUSIVE: u16 = 0x200;
const NLMSG_ERROR: u16 = 2;
const HEADER: usize = 16;

const IFLA_IFNAME: u16 = 3;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFF_UP: u32 = 1;
const AF_INET: u8 = 2;

impl Route {
    pub fn open() -> io::Result<Self> {
        Ok(Self(socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?))
    }

    /// Creates a veth pair, the peer in another namespace.
    pub fn veth(&self, name: &str, peer: &str, peer_netns: u32) -> io::Result<()> {
        let mut far = link(0, 0);
        attribute(&mut far, IFLA_IFNAME, &text(peer));
        attribute(&mut far, IFLA_NET_NS_FD, &peer_netns.to_ne_bytes());
        let mut data = Vec::new();
        attribute(&mut data, VETH_INFO_PEER, &far);
        self.create("veth", name, &data)
    }

    /// Creates a pair of interfaces in this namespace, of a kind with the same peer attribute as veth.
    pub fn pair(&self, kind: &str, name: &str, peer: &str) -> io::Result<()> {
        let mut far = link(0, 0);
        attribute(&mut far, IFLA_IFNAME, &text(peer));
        let mut data = Vec::new();
        attribute(&mut data, VETH_INFO_PEER, &far);
        self.create(kind, name, &data)
    }

    fn create(&self, kind: &str, name: &str, data: &[u8]) -> io::Result<()> {
        let mut info = Vec::new();
        attribute(&mut info, IFLA_INFO_KIND, kind.as_bytes());
        attribute(&mut info, IFLA_INFO_DATA, data);
        let mut message = link(0, 0);
        attribute(&mut message, IFLA_IFNAME, &text(name));
        attribute(&mut message, IFLA_LINKINFO, &info);
        self.request(RTM_NEWLINK, CREATE | EXCLUSIVE, &message)
    }

    /// Adds an IPv4 address with a 24-bit prefix to an interface.
    pub fn address(&self, index: u32, address: [u8; 4]) -> io::Result<()> {
        let mut message = vec![AF_INET, 24, 0, 0];
        message.extend(index.to_ne_bytes());
        attribute(&mut message, IFA_LOCAL, &address);
        self.request(RTM_NEWADDR, CREATE | EXCLUSIVE, &message)
    }

    /// Sets an interface up.
    pub fn up(&self, index: u32) -> io::Result<()> {
        self.request(RTM_NEWLINK, 0, &link(index, IFF_UP))
    }

    /// Returns the index of an interface.
    pub fn index(&self, name: &str) -> io::Result<u32> {
        Ok(rustix::net::netdevice::name_to_index(&self.0, name)?)
    }

    /// Sends a request and waits for the acknowledgement.
    fn request(&self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        let mut message = Vec::new();
        message.extend(u32::try_from(HEADER + body.len()).map_err(io::Error::other)?.to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend((flags | REQUEST | ACK).to_ne_bytes());
        message.extend([0; 8]); // sequence, port
        message.extend(body);
        sendto(&self.0, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut answer = [0; 4096];
        let (_, length) = recv(&self.0, &mut answer[..], RecvFlags::empty())?;
        let answer = answer.get(..length).unwrap_or_default();
        let field = |at: usize, bytes: usize| answer.get(at..at + bytes).map(<[u8]>::to_vec);
        let kind = field(4, 2).map(|b| u16::from_ne_bytes([b[0], b[1]]));
        match (kind, field(HEADER, 4)) {
            (Some(NLMSG_ERROR), Some(b)) => match i32::from_ne_bytes([b[0], b[1], b[2], b[3]]) {
                0 => Ok(()),
                error => Err(io::Error::from_raw_os_error(-error)),
            },
            _ => Err(io::Error::other("netlink: unexpected answer")),
        }
    }
}

/// `struct ifinfomsg`
fn link(index: u32, flags: u32) -> Vec<u8> {
    let mut message = vec![0; 4];
    for word in [index, flags, flags] {
        message.extend(word.to_ne_bytes());
    }
    message
}

fn text(name: &str) -> Vec<u8> {
    [name.as_bytes(), &[0]].concat()
}

fn attribute(message: &mut Vec<u8>, kind: u16, data: &[u8]) {
    let length = u16::try_from(data.len() + 4).expect("short attributes");
    message.extend(length.to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(data);
    message.resize(message.len().next_multiple_of(4), 0);
}
