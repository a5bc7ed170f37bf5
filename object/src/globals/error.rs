//! Why a variable cannot be read or set.

use crate::near::Near;
use core_relo::Text;
use thiserror::Error;

/// Why a variable cannot be read or set.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GlobalError {
    /// The object has none of that name.
    #[error("it has no global `{name}`{}", Near(name, .near))]
    NoSuch {
        /// The requested name.
        name: Text,
        /// The names that the object has.
        near: Vec<Text>,
    },
    /// More than one variable has that name.
    #[error("it has more than one global `{name}`: say which, as `{}/{name}` or `{}/{name}`", .sections[0], .sections[1])]
    Ambiguous {
        /// The requested name.
        name: Text,
        /// The sections of two of them.
        sections: [Text; 2],
    },
    /// The variable does not consist of what was asked for.
    #[error("it has no global `{name}`: {what}")]
    NoPart {
        /// The requested name.
        name: Text,
        /// The parts that exist.
        what: Text,
    },
    /// The value has another size.
    #[error("global `{name}` has {expected} bytes{}, {found} were given", Declared(.c_type))]
    Size {
        /// The name.
        name: Text,
        /// Its type in C, if that is known.
        c_type: Option<Text>,
        /// The size in bytes.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// The value is of another type.
    #[error("global `{name}` is `{c_type}`: it takes {takes} or [u8; {size}], not {found}")]
    Type {
        /// The name.
        name: Text,
        /// The type in C.
        c_type: Text,
        /// The Rust types that the variable takes.
        takes: Text,
        /// The size in bytes.
        size: usize,
        /// The Rust type given.
        found: &'static str,
    },
    /// A `bool` can be 0 or 1 only: compilers count on it.
    #[error("global `{name}` is `{c_type}`: it takes 0 or 1, not {found}")]
    Bool {
        /// The name.
        name: Text,
        /// The type in C.
        c_type: Text,
        /// The given value.
        found: u8,
    },
    /// It cannot be done at this time.
    #[error("global `{name}` cannot be {action}: {why}")]
    When {
        /// The name.
        name: Text,
        /// `read` or `set`.
        action: &'static str,
        /// The reason, and what to do.
        why: &'static str,
    },
}

struct Declared<'d>(&'d Option<Text>);

impl core::fmt::Display for Declared<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.as_ref().map_or(Ok(()), |c_type| write!(f, " (`{c_type}`)"))
    }
}
