//! Errors of ring buffers and perf buffers.

use crate::{
    hint::Hint,
    sys::{self, Errno, MapInfo, OpenFault, RingFault},
};
use core_relo::{Escaped, Text};
use core_relo_object::object::MapType;
use thiserror::Error;

/// The invariant that epoll returns only tokens that were added to it.
pub(super) const TOKEN_IS_RING_INDEX: RingFault =
    RingFault::Invariant("epoll's token is the index of a ring");

/// The reason why a ring cannot be opened, read or written.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RingError {
    /// The kernel refused a request.
    #[error("{}cannot {action}: {errno}{hint}", prefix(map))]
    Kernel {
        /// The map's name; empty if the name is not known yet.
        map: Text,
        /// The action, a verb with its object.
        action: &'static str,
        /// The kernel's error number.
        errno: Errno,
        /// The likely remedy.
        hint: Hint,
    },
    /// The map is of another type.
    #[error("map {map}: wrong map type: {found}, expected {expected}")]
    Type {
        /// The map's name.
        map: Text,
        /// The type that fits.
        expected: MapType,
        /// The map's type, or its number if this library does not know the type.
        found: Text,
    },
    /// The ring's size is not a power of two, or less than a page.
    #[error("map {map}: wrong ring size: {size} bytes, expected a power of two of at least a page")]
    Size {
        /// The map's name.
        map: Text,
        /// The size in bytes.
        size: u32,
    },
    /// This process has opened the ring already. Two readers (or writers) would overwrite each other's
    /// position.
    #[error("map {map}: the ring is open already: only one reader or writer at a time, threads can share it")]
    InUse {
        /// The map's name.
        map: Text,
    },
    /// The ring's memory is inconsistent, so another process writes to it.
    #[error("map {map}: {cause}; does another process read or write the ring?")]
    Corrupt {
        /// The map's name.
        map: Text,
        /// The inconsistency.
        #[source]
        cause: RingFault,
    },
    /// The sample is larger than the ring.
    #[error("map {map}: sample too large: {len} bytes and a header of 8, expected at most {size}")]
    TooLarge {
        /// The map's name.
        map: Text,
        /// The size of the sample in bytes.
        len: usize,
        /// The size of the ring in bytes.
        size: usize,
    },
    /// The ring has no room at the moment, because the BPF program has not drained it.
    #[error(
        "map {map}: no room for {len} bytes: the BPF program has not drained the samples submitted before"
    )]
    Full {
        /// The map's name.
        map: Text,
        /// The size of the sample in bytes.
        len: usize,
    },
    /// The number of pages is not a power of two.
    #[error("map {map}: wrong number of pages for each CPU: {pages}, expected a power of two")]
    Pages {
        /// The map's name.
        map: Text,
        /// The number of pages.
        pages: usize,
    },
}

core_relo::debug_as_message!(RingError);

/// The map name of errors that concern no map, or a map whose name is not known.
pub(super) const NO_NAME: &str = "";

fn prefix(map: &str) -> String {
    if map == NO_NAME { "ring: ".into() } else { format!("map {}: ", Escaped(map)) }
}

impl RingError {
    /// Returns the error number, if the kernel refused a request.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Kernel { errno, .. } => Some(*errno),
            _ => None,
        }
    }

    pub(crate) fn kernel(map: &str, action: &'static str, errno: impl Into<Errno>) -> Self {
        let errno = errno.into();
        let hint = match errno.0 {
            libc::EPERM | libc::EACCES if action == sys::PERF_OPEN => {
                Hint("needs CAP_PERFMON, or kernel.perf_event_paranoid of 0 or less")
            }
            libc::EPERM if action == sys::PERF_MAP => Hint(
                "RLIMIT_MEMLOCK and kernel.perf_event_mlock_kb do not allow that much locked memory, or the map is read-only",
            ),
            _ => Hint::for_errno(errno),
        };
        Self::Kernel { map: map.into(), action, errno, hint }
    }

    pub(super) fn open(info: &MapInfo, fault: OpenFault) -> Self {
        let map: Text = info.name().into();
        match fault {
            OpenFault::Errno(errno) => Self::kernel(&map, sys::PERF_MAP, errno),
            OpenFault::InUse => Self::InUse { map },
            OpenFault::Size(size) => Self::Size { map, size },
        }
    }

    /// Checks the type of a map.
    pub(super) fn check_type(info: &MapInfo, expected: MapType) -> Result<(), Self> {
        if info.map_type == expected.number() {
            return Ok(());
        }
        let found = MapType::from_number(info.map_type)
            .map_or_else(|| info.map_type.to_string(), |known| known.name().to_owned());
        Err(Self::Type { map: info.name().into(), expected, found: found.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_begins_with_the_map_or_with_ring() {
        let text = |map| RingError::kernel(map, "wait", Errno(libc::EMFILE)).to_string();
        assert!(text("events").starts_with("map events: cannot wait: EMFILE"), "{}", text("events"));
        assert!(text(NO_NAME).starts_with("ring: cannot wait: EMFILE"), "{}", text(NO_NAME));
    }
}
