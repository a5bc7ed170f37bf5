//! Why a map cannot be used.

use crate::{GlobalError, attach::Hint, object::MapType, sys::Errno};
use core::fmt;
use core_relo::{Escaped, Text};
use thiserror::Error;

/// Why a map cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MapError {
    /// The kernel refused.
    #[error("map{}: cannot {action}: {errno}{hint}", spaced(map))]
    Kernel {
        /// The map; nothing as long as the kernel has not said which.
        map: Text,
        /// What was tried.
        action: &'static str,
        /// Why.
        errno: Errno,
        /// What to do.
        hint: Hint,
    },
    /// The map is frozen: only programs write it, if they may.
    #[error("map {map}: cannot {action}: it is frozen, as .rodata is once it is loaded")]
    Frozen {
        /// The map.
        map: Text,
        /// What was tried.
        action: &'static str,
    },
    /// The descriptor was opened for reading or for writing alone, or the map was made so.
    #[error("map {map}: cannot {action}: it was opened {access}")]
    Access {
        /// The map.
        map: Text,
        /// What was tried.
        action: &'static str,
        /// `read-only` or `write-only`.
        access: &'static str,
    },
    /// The map is of another type.
    #[error("map {map} is of type {found}, not {}", names(expected))]
    Type {
        /// The map.
        map: Text,
        /// The types it may have.
        expected: &'static [MapType],
        /// The type it has, or the kernel's number if it has no known name.
        found: Text,
    },
    /// Keys or values have another size than the Rust type.
    #[error("map {map}: its {what} has {found} bytes, the type given {expected}")]
    Size {
        /// The map.
        map: Text,
        /// `key` or `value`.
        what: &'static str,
        /// Bytes of the Rust type.
        expected: usize,
        /// Bytes as the kernel says.
        found: usize,
    },
    /// A per-CPU value that is not one for each possible processor.
    #[error("map {map}: {found} values, but there are {expected} possible CPUs")]
    Cpus {
        /// The map.
        map: Text,
        /// Possible processors.
        expected: usize,
        /// Values given.
        found: usize,
    },
    /// Bytes outside of the map.
    #[error("map {map}: {len} bytes at {offset} are outside of its {size}")]
    Outside {
        /// The map.
        map: Text,
        /// The first byte.
        offset: usize,
        /// How many.
        len: usize,
        /// How many there are.
        size: usize,
    },
    /// The map lacks what the call needs.
    #[error("map {map}: {problem}")]
    Unfit {
        /// The map.
        map: Text,
        /// What it lacks.
        problem: &'static str,
    },
    /// A variable cannot be read or set as was asked.
    #[error(transparent)]
    Global(#[from] GlobalError),
    /// Elements came and went so fast that no walk through the keys came to an end.
    #[error(
        "map {map}: elements are removed faster than its keys can be walked through: stop the writers, or make it a hash map"
    )]
    Restarts {
        /// The map.
        map: Text,
    },
}

impl MapError {
    /// What the kernel said, if it was asked.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Kernel { errno, .. } => Some(*errno),
            // That is how it refuses both.
            Self::Frozen { .. } | Self::Access { .. } => Some(Errno(libc::EPERM)),
            _ => None,
        }
    }

    pub(crate) fn kernel(map: &str, action: &'static str, errno: Errno) -> Self {
        let hint = match (action, errno.0) {
            (INSERT, libc::E2BIG) => Hint("it is full, or the index is beyond its max_entries"),
            (INSERT, libc::EEXIST) => {
                Hint("the element is there already, and the flags say not to replace it")
            }
            (INSERT, libc::ENOENT) => Hint("there is no such element, and the flags say not to make one"),
            (INSERT, libc::EBUSY) => Hint("a program is writing the same bucket: try again"),
            (MAP, libc::ENODEV | libc::EINVAL | 524) => Hint("kernels before 5.5 cannot map arrays"),
            _ => Hint::of(errno),
        };
        Self::Kernel { map: map.into(), action, errno, hint }
    }
}

/// Why not all elements were drained. Those that were are gone from the map, and here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{error}; {} elements had been removed by then", entries.len())]
#[non_exhaustive]
pub struct DrainError<E: fmt::Debug> {
    /// What was removed.
    pub entries: Vec<E>,
    /// Why not more.
    #[source]
    pub error: MapError,
}

impl<E: fmt::Debug> From<DrainError<E>> for MapError {
    fn from(e: DrainError<E>) -> Self {
        e.error
    }
}

/// Actions, as errors name them.
pub(super) const READ: &str = "read an element";
pub(super) const INSERT: &str = "write an element";
pub(super) const REMOVE: &str = "remove an element";
pub(super) const WALK: &str = "walk through its keys";
pub(super) const MAP: &str = "map its memory";
pub(super) const INFO: &str = "ask for its info";
pub(super) const CLONE: &str = "duplicate its descriptor";

/// Behind `map`: it may have no name, or not be known yet.
fn spaced(map: &str) -> String {
    if map.is_empty() { String::new() } else { format!(" {}", Escaped(map)) }
}

fn names(types: &[MapType]) -> String {
    types.iter().map(|t| t.name()).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_errno_and_what_was_drained_come_with_the_error() {
        let map = || "m".into();
        let error = MapError::kernel("m", REMOVE, Errno(libc::EBUSY));
        assert_eq!(error.errno(), Some(Errno(libc::EBUSY)));
        assert!(error.to_string().starts_with("map m: cannot remove an element: EBUSY"), "{error}");
        let nameless = MapError::kernel("", INFO, Errno(libc::EBUSY)).to_string();
        assert!(nameless.starts_with("map: cannot ask for its info: EBUSY"), "{nameless}");
        assert_eq!(MapError::Frozen { map: map(), action: INSERT }.errno(), Some(Errno(libc::EPERM)));
        assert_eq!(MapError::Restarts { map: map() }.errno(), None);
        let drain = DrainError { entries: vec![(1, 2)], error: error.clone() };
        assert!(drain.to_string().ends_with("1 elements had been removed by then"), "{drain}");
        assert_eq!(MapError::from(drain), error);
    }
}
