//! Why a variable cannot be read or set.

use crate::load_plan::Near;
use core_relo::Text;
use thiserror::Error;

/// Why a variable cannot be read or set.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GlobalError {
    /// The object has none of that name.
    #[error("it has no global `{name}`{}", Near(name, .near))]
    NoSuch {
        /// What was asked for.
        name: Text,
        /// What it has.
        near: Vec<Text>,
    },
    /// More than one variable has that name.
    #[error("it has more than one global `{name}`: say which, as `{}/{name}` or `{}/{name}`", .sections[0], .sections[1])]
    Ambiguous {
        /// What was asked for.
        name: Text,
        /// Where two of them lie.
        sections: [Text; 2],
    },
    /// The variable does not consist of what was asked for.
    #[error("it has no global `{name}`: {what}")]
    NoPart {
        /// What was asked for.
        name: Text,
        /// What there is instead.
        what: Text,
    },
    /// The value has another size.
    #[error("global `{name}` has {expected} bytes{}, {found} were given", Declared(.c_type))]
    Size {
        /// Its name.
        name: Text,
        /// Its type in C, if that is known.
        c_type: Option<Text>,
        /// Its size in bytes.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// The value is of another type.
    #[error("global `{name}` is `{c_type}`: it takes {takes} or [u8; {size}], not {found}")]
    Type {
        /// Its name.
        name: Text,
        /// Its type in C.
        c_type: Text,
        /// What can be given for it.
        takes: Text,
        /// Its size in bytes.
        size: usize,
        /// The Rust type given.
        found: &'static str,
    },
    /// A `bool` can be 0 or 1 only: compilers count on it.
    #[error("global `{name}` is `{c_type}`: it takes 0 or 1, not {found}")]
    Bool {
        /// Its name.
        name: Text,
        /// Its type in C.
        c_type: Text,
        /// What was given.
        found: u8,
    },
    /// It cannot be done at this time.
    #[error("global `{name}` cannot be {action}: {why}")]
    When {
        /// Its name.
        name: Text,
        /// `read` or `set`.
        action: &'static str,
        /// Why, and what to do.
        why: &'static str,
    },
}

struct Declared<'d>(&'d Option<Text>);

impl core::fmt::Display for Declared<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.as_ref().map_or(Ok(()), |c_type| write!(f, " (`{c_type}`)"))
    }
}
