//! Errors of reading and setting variables.

use crate::known_names::KnownNames;
use core_relo::Text;
use thiserror::Error;

/// An error in reading or setting a variable.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GlobalError {
    /// The object has no variable of that name.
    #[error("no global variable `{name}`{}{}", Sections(.sections), KnownNames(name, .known))]
    NotFound {
        /// The requested name.
        name: Text,
        /// The sections that were searched.
        sections: Vec<Text>,
        /// The names that the object has.
        known: Vec<Text>,
    },
    /// More than one variable has that name.
    #[error("it has more than one global `{name}`: specify `{}/{name}` or `{}/{name}`", .sections[0], .sections[1])]
    Ambiguous {
        /// The requested name.
        name: Text,
        /// The sections of two of the variables.
        sections: [Text; 2],
    },
    /// The variable has no such member or element.
    #[error("no global variable `{name}`: {what}")]
    NoSuchPart {
        /// The requested name.
        name: Text,
        /// The problem, and the parts that exist.
        what: Text,
    },
    /// The value does not have the size of the variable.
    #[error("global `{name}`: value size {found}, expected {expected}{}", CTypeNote(.c_type))]
    Size {
        /// The variable's name.
        name: Text,
        /// The type in C, if known.
        c_type: Option<Text>,
        /// The variable's size in bytes.
        expected: usize,
        /// The value's size in bytes.
        found: usize,
    },
    /// The value's type does not fit the variable's.
    #[error("global `{name}` of type `{c_type}`: {found}, expected {expected} or [u8; {size}]")]
    Type {
        /// The variable's name.
        name: Text,
        /// The type in C.
        c_type: Text,
        /// The Rust types that fit the variable.
        expected: Text,
        /// The variable's size in bytes.
        size: usize,
        /// The value's Rust type.
        found: &'static str,
    },
    /// The value of a `bool` is neither 0 nor 1, which compilers rely on.
    #[error("global `{name}` of type `{c_type}`: {found}, expected 0 or 1")]
    Bool {
        /// The variable's name.
        name: Text,
        /// The type in C.
        c_type: Text,
        /// The value.
        found: u8,
    },
    /// The variable cannot be read or set in this way or at this time.
    #[error("global `{name}` cannot be {action}: {reason}")]
    Inaccessible {
        /// The variable's name.
        name: Text,
        /// `read` or `set`.
        action: &'static str,
        /// The reason, and what to do.
        reason: &'static str,
    },
}

core_relo::debug_as_message!(GlobalError);

/// The sections that were searched, after the name.
struct Sections<'s>(&'s [Text]);

impl core::fmt::Display for Sections<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Some((last, others)) = self.0.split_last() else { return Ok(()) };
        match others {
            [] => write!(f, " in {last}"),
            [first, others @ ..] => {
                write!(f, " in {first}")?;
                others.iter().try_for_each(|section| write!(f, ", {section}"))?;
                write!(f, " and {last}")
            }
        }
    }
}

/// The declared type in parentheses, if known.
struct CTypeNote<'d>(&'d Option<Text>);

impl core::fmt::Display for CTypeNote<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.as_ref().map_or(Ok(()), |c_type| write!(f, " (`{c_type}`)"))
    }
}
