//! A result of the search.

use super::alternative::AlternativeMember;
use crate::explain::text::text;
use alloc::string::String;
use core::fmt::{Display, Formatter, Result};

/// The number of results of each sort.
pub(super) const RESULTS_PER_SORT: usize = 3;

/// A type, member or enumerator with a similar name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::explain) struct NearMatch {
    /// The text in C's notation: `struct task_struct.state`.
    pub(in crate::explain) what: String,
    /// The type in C's notation, the offset and the like: `long int, offset 24`.
    pub(in crate::explain) detail: String,
    /// The declaration for a local flavour, for a member of the type itself with a similar name:
    /// `long int state;`.
    pub(in crate::explain) declaration: Option<String>,
    /// The member as a flavour declares it, for a member with a similar name or a nested member of the same
    /// name.
    pub(in crate::explain) alternative: Option<AlternativeMember>,
}

impl NearMatch {
    pub(super) fn new(what: impl Display, detail: impl Display) -> Self {
        Self { what: text(what), detail: text(detail), declaration: None, alternative: None }
    }
}

impl Display for NearMatch {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if self.detail.is_empty() {
            f.write_str(&self.what)
        } else {
            write!(f, "{} ({})", self.what, self.detail)
        }
    }
}
