//! The network interfaces of a network namespace, with their XDP programs.

use super::{
    error::AttachError,
    netlink::{Attributes, DUMP, Request, attribute},
    rtnetlink::{IFINFOMSG_BYTES, IFLA_IFNAME, RTM_GETLINK, RtnetlinkSocket, ifinfomsg, netlink_error},
    xdp::{XdpPrograms, parse_interface_attributes},
};
use core_relo::Endian;

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NetworkInterface {
    /// The interface index.
    pub ifindex: u32,
    /// The interface name.
    pub name: String,
    /// The XDP programs.
    pub xdp: XdpPrograms,
}

/// Returns the network interfaces of the calling thread's network namespace, by index.
pub fn network_interfaces() -> Result<Vec<NetworkInterface>, AttachError> {
    let attributes = Attributes::default();
    let request = Request { kind: RTM_GETLINK, flags: DUMP, fixed: ifinfomsg(0), attributes };
    let mut found = Vec::new();
    let answer = RtnetlinkSocket::open().and_then(|mut socket| {
        socket.request(request, |message| {
            let Some((fixed, attributes)) = message.split(IFINFOMSG_BYTES) else { return };
            let (Some(ifindex), Some(name)) =
                (Endian::native().u32(fixed, 4), attribute(attributes, IFLA_IFNAME))
            else {
                return;
            };
            let name = String::from_utf8_lossy(name.strip_suffix(b"\0").unwrap_or(name)).into_owned();
            found.push(NetworkInterface { ifindex, name, xdp: parse_interface_attributes(attributes) });
        })
    });
    answer.map_err(|error| netlink_error("network interfaces", "list", error))?;
    found.sort_by_key(|interface| interface.ifindex);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_listed() {
        let found = network_interfaces().unwrap();
        assert_eq!(found.first().map(|first| (first.ifindex, &*first.name)), Some((1, "lo")));
    }
}
