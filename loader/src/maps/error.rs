//! Errors of map operations.

use crate::{hint::Hint, sys::Errno};
use core::fmt;
use core_relo::{Escaped, Text};
use core_relo_object::{
    InternalError,
    globals::{GlobalError, LayoutMismatch},
    object::MapType,
};
use thiserror::Error;

/// The reason why a map operation failed.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MapError {
    /// The kernel refused a request.
    #[error("map{}: cannot {action}: {errno}{hint}", name_suffix(map))]
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
    /// The map is frozen, so user space cannot write it.
    #[error("map {map}: cannot {action}: the map is frozen, as .rodata is after the load")]
    Frozen {
        /// The map's name.
        map: Text,
        /// The action, a verb with its object.
        action: &'static str,
    },
    /// The map or its descriptor allows only reading or only writing.
    #[error("map {map}: cannot {action}: the map was opened {access}")]
    Access {
        /// The map's name.
        map: Text,
        /// The action, a verb with its object.
        action: &'static str,
        /// `read-only` or `write-only`.
        access: &'static str,
    },
    /// The map is of another type.
    #[error("map {map}: wrong map type: {found}, expected {}", names(expected))]
    Type {
        /// The map's name.
        map: Text,
        /// The types that fit.
        expected: &'static [MapType],
        /// The map's type, or its number if this library does not know the type.
        found: Text,
    },
    /// Keys or values have another size than the Rust type.
    #[error("map {map}: wrong {part} size: {found} bytes, expected {expected}")]
    Size {
        /// The map's name.
        map: Text,
        /// `key` or `value`.
        part: &'static str,
        /// The size of the Rust type in bytes.
        expected: usize,
        /// The size in the map in bytes.
        found: usize,
    },
    /// Keys or values have another layout in C than the Rust type.
    #[error(
        "map {map}: the {part} is no `{found}`: {mismatch}; `Loaded::map_handle` opens the map without this check"
    )]
    Layout {
        /// The map's name.
        map: Text,
        /// `key` or `value`.
        part: &'static str,
        /// The name of the Rust type.
        found: &'static str,
        /// The difference.
        #[source]
        mismatch: Box<LayoutMismatch>,
    },
    /// A per-CPU value does not have one value for each possible CPU.
    #[error("map {map}: wrong number of values: {found}, expected {expected}, one for each possible CPU")]
    Cpus {
        /// The map's name.
        map: Text,
        /// The number of possible CPUs.
        expected: usize,
        /// The number of values.
        found: usize,
    },
    /// An access reaches beyond the end of the map's memory.
    #[error("map {map}: access beyond the end: {len} bytes at {offset}, expected an end of at most {size}")]
    Outside {
        /// The map's name.
        map: Text,
        /// The offset of the access in bytes.
        offset: usize,
        /// The length of the access in bytes.
        len: usize,
        /// The size of the map's memory in bytes.
        size: usize,
    },
    /// The map lacks a property that the call needs.
    #[error("map {map}: {problem}")]
    Unfit {
        /// The map's name.
        map: Text,
        /// The missing property.
        problem: &'static str,
    },
    /// A broken invariant of this library.
    #[error("map {map}: {cause}")]
    Internal {
        /// The map's name.
        map: Text,
        /// The invariant.
        #[source]
        cause: InternalError,
    },
    /// A global variable cannot be read or set.
    #[error(transparent)]
    Global(#[from] GlobalError),
    /// Removals sent the iteration back to the first key too often.
    #[error(
        "map {map}: elements are removed faster than the keys can be read: stop the writers, or make the map a hash map"
    )]
    Restarts {
        /// The map's name.
        map: Text,
    },
}

core_relo::debug_as_message!(MapError);

impl MapError {
    /// Returns the error number, if the kernel refused a request.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Kernel { errno, .. } => Some(*errno),
            // The kernel's error number in both cases.
            Self::Frozen { .. } | Self::Access { .. } => Some(Errno(libc::EPERM)),
            _ => None,
        }
    }

    /// Creates the error of a request for one CPU that the kernel does not support.
    pub(crate) fn cpu_flags(map: &str, action: &'static str, errno: Errno) -> Self {
        let hint =
            Hint("does this kernel read and write the value of one CPU? Linux 7.2 can do so, 6.18 cannot");
        Self::Kernel { map: map.into(), action, errno, hint }
    }

    pub(crate) fn kernel(map: &str, action: &'static str, errno: impl Into<Errno>) -> Self {
        let errno = errno.into();
        let hint = match (action, errno.0) {
            (INSERT, libc::E2BIG) => Hint("the map is full, or the index is beyond max_entries"),
            (INSERT, libc::EEXIST) => Hint("the element exists already, and the flags forbid to replace it"),
            (INSERT, libc::ENOENT) => Hint("there is no such element, and the flags forbid to create it"),
            (INSERT, libc::EBUSY) => Hint("a program is writing the same bucket: try again"),
            (MAP, libc::ENODEV | libc::EINVAL | 524) => Hint("kernels before 5.5 cannot map arrays"),
            _ => Hint::for_errno(errno),
        };
        Self::Kernel { map: map.into(), action, errno, hint }
    }
}

/// The error of a drain that stopped early, with the elements removed before.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{error}; {} elements had been removed by then", entries.len())]
#[non_exhaustive]
pub struct DrainError<E: fmt::Debug> {
    /// The removed elements.
    pub entries: Vec<E>,
    /// The reason why the drain stopped.
    #[source]
    pub error: MapError,
}

impl<E: fmt::Debug> fmt::Debug for DrainError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<E: fmt::Debug> From<DrainError<E>> for MapError {
    fn from(e: DrainError<E>) -> Self {
        e.error
    }
}

/// Actions in error messages.
pub(super) const READ: &str = "read an element";
pub(super) const INSERT: &str = "write an element";
pub(super) const REMOVE: &str = "remove an element";
pub(super) const NEXT_KEY: &str = "read the next key";
pub(super) const MAP: &str = "map its memory";
pub(super) const INFO: &str = "read its properties";
pub(super) const CLONE: &str = "duplicate its descriptor";

/// Returns a space and the map's name; empty for a map without a known name.
fn name_suffix(map: &str) -> String {
    if map.is_empty() { String::new() } else { format!(" {}", Escaped(map)) }
}

fn names(types: &[MapType]) -> String {
    types.iter().map(|t| t.name()).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_the_errno_and_the_drained_elements() {
        let map = || "m".into();
        let error = MapError::kernel("m", REMOVE, Errno(libc::EBUSY));
        assert_eq!(error.errno(), Some(Errno(libc::EBUSY)));
        assert!(error.to_string().starts_with("map m: cannot remove an element: EBUSY"), "{error}");
        let nameless = MapError::kernel("", INFO, Errno(libc::EBUSY)).to_string();
        assert!(nameless.starts_with("map: cannot read its properties: EBUSY"), "{nameless}");
        assert_eq!(MapError::Frozen { map: map(), action: INSERT }.errno(), Some(Errno(libc::EPERM)));
        assert_eq!(MapError::Restarts { map: map() }.errno(), None);
        let drain = DrainError { entries: vec![(1, 2)], error: error.clone() };
        assert!(drain.to_string().ends_with("1 elements had been removed by then"), "{drain}");
        assert_eq!(MapError::from(drain), error);
    }
}
