//! A filter that rejects most types of a BTF before their name is read.

use super::candidate_query::CandidateQuery;
use crate::{
    btf::{Kind, KindSet, NamePrefix, Strings},
    ids::{StrOffset, to_usize},
};
use core::ops::Range;

/// The kinds that queries ask for, and hashes of how the queried names begin.
#[derive(Clone, Debug)]
pub(super) struct NameFilter {
    kinds: KindSet,
    /// The lengths of the names that begin with four bytes of this hash.
    beginnings: [NameLength; HASHES],
    /// Whether a long name has [`LATER_BYTES`] of this hash.
    later_bytes: [bool; HASHES],
}

/// The lengths of the queried names that share a beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameLength {
    /// No name begins like this.
    NoName,
    /// All names have [`LATER_BYTES`].
    Long,
    /// Some name ends before [`LATER_BYTES`].
    Short,
}

/// The bytes that distinguish long names with the same beginning: thousands begin with `trace_event_raw_`.
const LATER_BYTES: Range<u32> = 16..20;

impl NameFilter {
    pub(super) fn new<'q>(queries: impl Iterator<Item = &'q CandidateQuery<'q>> + Clone) -> Self {
        let kinds = |kind| if kind == Kind::Enum { [Kind::Enum, Kind::Enum64] } else { [kind; 2] };
        let mut filter = Self {
            kinds: KindSet::new(queries.clone().flat_map(|query| kinds(query.kind))),
            beginnings: [NameLength::NoName; HASHES],
            later_bytes: [false; HASHES],
        };
        queries.for_each(|query| filter.add_name(query.name));
        filter
    }

    fn add_name(&mut self, name: &[u8]) {
        let later = name
            .get(to_usize(LATER_BYTES.start)..to_usize(LATER_BYTES.end))
            .map(|later| NamePrefix::from_name(later, 0));
        if let Some(is_present) = later.and_then(|later| self.later_bytes.get_mut(hash(later))) {
            *is_present = true;
        }
        // The end of the string, or a flavour, follows a name shorter than four bytes.
        for filler in [0, b'_'] {
            let beginning = hash(NamePrefix::from_name(name, filler));
            if let Some(length) = self.beginnings.get_mut(beginning) {
                let is_long = later.is_some() && *length != NameLength::Short;
                *length = if is_long { NameLength::Long } else { NameLength::Short };
            }
        }
    }

    /// The kinds of all queries.
    pub(super) fn kinds(&self) -> &KindSet {
        &self.kinds
    }

    /// Returns whether a query may ask for the name at an offset.
    #[inline]
    pub(super) fn may_match(&self, strings: Strings<'_>, name: StrOffset) -> bool {
        let Some(beginning) = strings.prefix(name) else { return true };
        match self.beginnings.get(hash(beginning)) {
            Some(NameLength::NoName) => false,
            // Behind a shorter name these are bytes of the next name. They match by chance only, which costs time alone.
            Some(NameLength::Long) => {
                let later =
                    name.0.checked_add(LATER_BYTES.start).and_then(|at| strings.prefix(StrOffset(at)));
                later.is_none_or(|later| self.later_bytes.get(hash(later)) == Some(&true))
            }
            _ => true,
        }
    }
}

/// The number of hashes: so many that a hundred names occupy few of them.
const HASHES: usize = 4096;

#[inline]
fn hash(beginning: NamePrefix) -> usize {
    to_usize(beginning.0.wrapping_mul(0x9e37_79b1) >> 20)
}
