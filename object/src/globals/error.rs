//! Errors of reading and setting variables.

use crate::{
    elf::text,
    known_names::{SHOWN_COUNT, SimilarNames},
};
use core_relo::Text;
use thiserror::Error;

/// An error in reading or setting a variable.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GlobalError {
    /// The object has no variable of that name.
    #[error("no global variable `{name}`{}; the object has {}", Sections(.sections), SimilarNames(name, .known))]
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

/// The sections that were searched, after the name. An object may have thousands.
struct Sections<'s>(&'s [Text]);

impl core::fmt::Display for Sections<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let last = self.0.len().saturating_sub(1);
        for (index, section) in self.0.iter().take(SHOWN_COUNT).enumerate() {
            let separator = match index {
                0 => " in ",
                _ if index == last => " and ",
                _ => ", ",
            };
            write!(f, "{separator}`{}`", text(section.as_bytes()))?;
        }
        match self.0.len().checked_sub(SHOWN_COUNT) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, " and {more} more sections"),
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

#[cfg(test)]
mod tests {
    use super::GlobalError;
    use alloc::{format, string::ToString as _};

    /// The message listed all sections of an object, in a line of megabytes.
    #[test]
    fn messages_about_unknown_globals_are_bounded() {
        let sections = (0..60_000).map(|n| format!(".data.{n}").into()).collect();
        let error = GlobalError::NotFound { name: "sett".into(), sections, known: ["set".into()].into() };
        let text = error.to_string();
        assert!(text.starts_with("no global variable `sett` in `.data.0`, `.data.1`, "), "{text:.200}");
        assert!(text.ends_with(" and 59992 more sections; the object has set"), "{text:.200}");
    }
}
