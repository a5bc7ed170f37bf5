//! Network interfaces, by name or index.

use super::{
    error::AttachError,
    rtnetlink::{self, RtnetlinkSocket, netlink_error},
};
use core::fmt;

/// A network interface in the calling thread's network namespace, by name or index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InterfaceRef<'a> {
    /// The interface index.
    Index(u32),
    /// The interface name, such as `eth0`.
    Name(&'a str),
}

impl InterfaceRef<'_> {
    /// Returns the interface index. A name is looked up in the calling thread's network namespace.
    pub fn index(self) -> Result<u32, AttachError> {
        match self {
            Self::Index(index) => Ok(index),
            Self::Name(name) => rtnetlink::interface_index(name),
        }
    }

    /// Returns the interface name. An index is looked up in the calling thread's network namespace.
    pub fn name(self) -> Result<String, AttachError> {
        match self {
            Self::Name(name) => Ok(name.to_owned()),
            Self::Index(index) => RtnetlinkSocket::open()
                .and_then(|mut socket| rtnetlink::interface_name(&mut socket, index))
                .map_err(|error| netlink_error(&self.to_string(), "find", error)),
        }
    }
}

impl From<u32> for InterfaceRef<'_> {
    fn from(index: u32) -> Self {
        Self::Index(index)
    }
}

impl<'a> From<&'a str> for InterfaceRef<'a> {
    fn from(name: &'a str) -> Self {
        Self::Name(name)
    }
}

impl<'a> From<&'a String> for InterfaceRef<'a> {
    fn from(name: &'a String) -> Self {
        Self::Name(name)
    }
}

impl fmt::Display for InterfaceRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "interface {index}"),
            Self::Name(name) => write!(f, "interface {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::Errno;

    #[test]
    fn an_interface_is_found_by_name_and_by_index() {
        assert_eq!(InterfaceRef::from(7).index(), Ok(7));
        assert_eq!(InterfaceRef::from("lo").index(), Ok(1));
        let error = InterfaceRef::from("nowhere0").index().unwrap_err();
        assert_eq!(error.errno(), Some(Errno(libc::ENODEV)));
        assert!(error.to_string().starts_with("interface nowhere0: cannot find: ENODEV"), "{error}");
    }
}
