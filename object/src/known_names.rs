//! The known names that an error lists after an unknown name.

use crate::elf::text;
use core::fmt;
use core_relo::Text;

/// The number of names in a list.
pub(crate) const SHOWN_COUNT: usize = 8;

/// A list of known names for an unknown one, sorted by the length of the common prefix.
pub(crate) struct KnownNames<'n>(pub(crate) &'n str, pub(crate) &'n [Text]);

impl fmt::Display for KnownNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "; it has {}", SimilarNames(self.0, self.1))
    }
}

/// The names of an object that resemble an unknown name most, or `none`.
pub(crate) struct SimilarNames<'n>(pub(crate) &'n str, pub(crate) &'n [Text]);

impl fmt::Display for SimilarNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(unknown, names) = self;
        if names.is_empty() {
            return f.write_str("none");
        }
        let common_prefix =
            |name: &str| name.bytes().zip(unknown.bytes()).take_while(|(a, b)| a == b).count();
        let mut shown: Vec<&str> = names.iter().map(|n| &**n).collect();
        shown.sort_by_key(|name| core::cmp::Reverse(common_prefix(name)));
        shown.truncate(SHOWN_COUNT);
        let shown: Vec<_> = shown.into_iter().map(|name| text(name.as_bytes()).to_string()).collect();
        f.write_str(&shown.join(", "))?;
        match names.len().checked_sub(SHOWN_COUNT) {
            None | Some(0) => Ok(()),
            Some(more) => write!(f, " and {more} more"),
        }
    }
}
