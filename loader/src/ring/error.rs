//! Why a ring cannot be used.

use crate::{
    attach::Hint,
    object::MapType,
    sys::{self, Errno, MapInfo, OpenFault, RingFault},
};
use core_relo::{Escaped, Text};
use thiserror::Error;

/// Why a ring cannot be opened, read or written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RingError {
    /// The kernel refused.
    #[error("{}cannot {action}: {errno}{hint}", prefix(map))]
    Kernel {
        /// The map; nothing as long as it is not known which.
        map: Text,
        /// What was tried.
        action: &'static str,
        /// Why.
        errno: Errno,
        /// What to do.
        hint: Hint,
    },
    /// The map is of another type.
    #[error("map {map} is of type {found}, not {expected}")]
    Type {
        /// The map.
        map: Text,
        /// The type it should have.
        expected: MapType,
        /// The type it has, or the kernel's number if it has no known name.
        found: Text,
    },
    /// The ring's size cannot be: it is a power of two, and whole pages.
    #[error("map {map}: {size} bytes are no power of two of at least a page")]
    Size {
        /// The map.
        map: Text,
        /// The size the kernel says.
        size: u32,
    },
    /// This process has the ring open already. Readers (or writers) would take it from under each other.
    #[error("map {map} is open already: one reader or writer at a time, shared if need be")]
    InUse {
        /// The map.
        map: Text,
    },
    /// The kernel overwrites the oldest records of this map (`BPF_F_RB_OVERWRITE`), also while they are read.
    #[error("map {map} overwrites old records (BPF_F_RB_OVERWRITE): it cannot be read without copies")]
    Overwritten {
        /// The map.
        map: Text,
    },
    /// What lies in the ring cannot be: something else writes to it.
    #[error("map {map}: {cause}; does something else read or write it?")]
    Corrupt {
        /// The map.
        map: Text,
        /// What cannot be.
        #[source]
        cause: RingFault,
    },
    /// A sample that can never fit.
    #[error(
        "map {map}: a sample of {len} bytes does not fit into a ring of {size}, 8 of which are its header"
    )]
    TooLarge {
        /// The map.
        map: Text,
        /// The sample's size.
        len: usize,
        /// The ring's size.
        size: usize,
    },
    /// There is no room at the moment: programs have not read what was written.
    #[error("map {map}: no room for {len} bytes: the BPF program has not yet drained what was submitted")]
    Full {
        /// The map.
        map: Text,
        /// The sample's size.
        len: usize,
    },
    /// A number of pages that cannot be.
    #[error("map {map}: {pages} pages: a perf buffer has a power of two of them for each processor")]
    Pages {
        /// The map.
        map: Text,
        /// As was asked for.
        pages: usize,
    },
}

/// What is no map, or one that does not say its name.
pub(super) const NAMELESS: &str = "";

fn prefix(map: &str) -> String {
    if map == NAMELESS { "ring: ".into() } else { format!("map {}: ", Escaped(map)) }
}

impl RingError {
    /// What the kernel said, if it was asked.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Kernel { errno, .. } => Some(*errno),
            _ => None,
        }
    }

    pub(crate) fn kernel(map: &str, action: &'static str, errno: Errno) -> Self {
        let hint = match errno.0 {
            libc::EPERM | libc::EACCES if action == sys::PERF_OPEN => {
                Hint("needs CAP_PERFMON, or kernel.perf_event_paranoid of 0 or less")
            }
            libc::EPERM if action == sys::PERF_MAP => Hint(
                "more locked memory than RLIMIT_MEMLOCK and kernel.perf_event_mlock_kb allow, or the map is read-only",
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
            OpenFault::Overwritten => Self::Overwritten { map },
        }
    }

    /// That a map is of the type it should be.
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
    fn an_error_has_a_beginning_with_or_without_a_name() {
        let text = |map| RingError::kernel(map, "wait", Errno(libc::EMFILE)).to_string();
        assert!(text("events").starts_with("map events: cannot wait: EMFILE"), "{}", text("events"));
        assert!(text(NAMELESS).starts_with("ring: cannot wait: EMFILE"), "{}", text(NAMELESS));
    }
}
