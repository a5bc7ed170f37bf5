//! Temporary network namespaces, and a veth pair between two.

use super::netlink::Route;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::{
    fs::File,
    io,
    net::Ipv4Addr,
    os::fd::{AsFd as _, AsRawFd as _},
};

/// A network namespace with `lo` up. The drop removes it with its interfaces.
#[derive(Debug)]
pub struct Netns {
    file: File,
    home: File,
}

const OWN: &str = "/proc/thread-self/ns/net";

impl Netns {
    pub fn new() -> Self {
        Self::try_new().expect("a new network namespace")
    }

    pub fn try_new() -> io::Result<Self> {
        let home = File::open(OWN)?;
        // SAFETY: the call unshares only the network namespace; threads still share descriptors.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
        let new = File::open(OWN).map(|file| Self { file, home });
        let up = Route::open().and_then(|route| route.up(route.index("lo")?));
        match new {
            Ok(new) => {
                enter(&new.home)?;
                up.map(|()| new)
            }
            Err(error) => panic!("the thread cannot return to its network namespace: {error}"),
        }
    }

    /// Calls `act` with this thread in the namespace. Sockets created there stay in the namespace.
    pub fn inside<T>(&self, act: impl FnOnce() -> T) -> T {
        /// A guard that returns the thread to its namespace, also in a panic.
        struct Return<'a>(&'a File);
        impl Drop for Return<'_> {
            fn drop(&mut self) {
                enter(self.0).expect("the original network namespace can be entered");
            }
        }
        enter(&self.file).expect("a network namespace can be entered");
        let _return = Return(&self.home);
        act()
    }

    /// Returns the file of the namespace, as the target of an attach.
    pub fn file(&self) -> &File {
        &self.file
    }
}

/// Moves this thread to a namespace.
fn enter(namespace: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Two namespaces connected by a veth pair.
#[derive(Debug)]
pub struct Veth {
    pub near: Netns,
    pub far: Netns,
    /// The index of the near interface in the near namespace.
    pub near_index: u32,
    /// The index of the far interface in the far namespace.
    pub far_index: u32,
}

impl Veth {
    pub const NEAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
    pub const FAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

    pub fn new() -> Self {
        Self::try_new(Netns::new(), Netns::new()).expect("a pair of interfaces")
    }

    pub fn try_new(near: Netns, far: Netns) -> io::Result<Self> {
        const NAMES: [&str; 2] = ["near0", "far0"];
        let far_fd = far.file.as_raw_fd().cast_unsigned();
        near.inside(|| Route::open()?.veth(NAMES[0], NAMES[1], far_fd))?;
        let set = |netns: &Netns, name: &str, address: Ipv4Addr| {
            netns.inside(|| {
                let route = Route::open()?;
                let index = route.index(name)?;
                route.address(index, address.octets())?;
                route.up(index).map(|()| index)
            })
        };
        let near_index = set(&near, NAMES[0], Self::NEAR)?;
        let far_index = set(&far, NAMES[1], Self::FAR)?;
        Ok(Self { near, far, near_index, far_index })
    }
}
