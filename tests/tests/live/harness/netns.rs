//! Network namespaces of a test's own, and a cable between two.

use super::netlink::Route;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::{
    fs::File,
    io,
    net::Ipv4Addr,
    os::fd::{AsFd as _, AsRawFd as _},
};

/// A network namespace with `lo` up. It goes with this, and its interfaces with it.
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
        // SAFETY: of all that threads share only the network namespace is left; descriptors stay in common.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
        let new = File::open(OWN).map(|file| Self { file, home });
        let up = Route::open().and_then(|route| route.up(route.index("lo")?));
        match new {
            Ok(new) => {
                go(&new.home)?;
                up.map(|()| new)
            }
            Err(why) => panic!("a thread lost in a network namespace: {why}"),
        }
    }

    /// Does something with this thread in the namespace. Sockets made there stay there.
    pub fn inside<T>(&self, act: impl FnOnce() -> T) -> T {
        /// Goes home also in a panic.
        struct Back<'a>(&'a File);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                go(self.0).expect("the way home");
            }
        }
        go(&self.file).expect("a network namespace can be entered");
        let _back = Back(&self.home);
        act()
    }

    /// What it is to be attached to by.
    pub fn file(&self) -> &File {
        &self.file
    }
}

fn go(to: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(to.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Two namespaces with an interface each, joined.
#[derive(Debug)]
pub struct Veth {
    pub near: Netns,
    pub far: Netns,
    /// The numbers of the two interfaces, each in its namespace.
    pub near_index: u32,
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
