//! A filter that rejects most types of a BTF before their whole name is read.

use super::candidate_query::CandidateQuery;
use crate::{
    btf::{Kind, KindSet, NamePrefix, Strings},
    ids::{StrOffset, to_usize},
};
use core::ops::Range;

/// The kinds of all queries, and hash sets of parts of the queried names.
///
/// A name passes if a queried name has the same first four bytes. If all queried names with these bytes are long, the bytes at
/// [`LATER_BYTES`] must match, too.
#[derive(Clone, Debug)]
pub(super) struct NameFilter {
    kinds: KindSet,
    /// For each hash of four bytes, the lengths of the queried names that begin with such bytes.
    prefixes: [NameLength; HASHES],
    /// For each hash of four bytes, whether a queried name has such bytes at [`LATER_BYTES`].
    later_bytes: [bool; HASHES],
}

/// The lengths of the queried names whose prefixes have the same hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameLength {
    /// No queried name has the prefix.
    NoName,
    /// All names reach to the end of [`LATER_BYTES`].
    Long,
    /// A name ends before the end of [`LATER_BYTES`].
    Short,
}

/// The bytes that distinguish long names with the same prefix. Thousands of names begin with `trace_event_raw_`.
const LATER_BYTES: Range<u32> = 16..20;

impl NameFilter {
    pub(super) fn new<'q>(queries: impl Iterator<Item = &'q CandidateQuery<'q>> + Clone) -> Self {
        let kinds = |kind| if kind == Kind::Enum { [Kind::Enum, Kind::Enum64] } else { [kind; 2] };
        let mut filter = Self {
            kinds: KindSet::new(queries.clone().flat_map(|query| kinds(query.kind))),
            prefixes: [NameLength::NoName; HASHES],
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
        // If the name is shorter than four bytes, a NUL or the `___` of a flavour follows.
        for filler in [0, b'_'] {
            let prefix = hash(NamePrefix::from_name(name, filler));
            if let Some(length) = self.prefixes.get_mut(prefix) {
                let is_long = later.is_some() && *length != NameLength::Short;
                *length = if is_long { NameLength::Long } else { NameLength::Short };
            }
        }
    }

    /// Returns the kinds of all queries.
    pub(super) fn kinds(&self) -> &KindSet {
        &self.kinds
    }

    /// Returns whether the name at an offset may be a queried name or a flavour of one. May be wrong only if it returns `true`.
    #[inline]
    pub(super) fn may_match(&self, strings: Strings<'_>, name: StrOffset) -> bool {
        let Some(prefix) = strings.prefix(name) else { return true };
        match self.prefixes.get(hash(prefix)) {
            Some(NameLength::NoName) => false,
            // If the name is shorter, these are bytes of the next string. A match by chance costs only time.
            Some(NameLength::Long) => {
                let later =
                    name.0.checked_add(LATER_BYTES.start).and_then(|at| strings.prefix(StrOffset(at)));
                later.is_none_or(|later| self.later_bytes.get(hash(later)) == Some(&true))
            }
            _ => true,
        }
    }
}

/// The number of hash values. A hundred names use few of them, so that few other names collide.
const HASHES: usize = 4096;

#[inline]
fn hash(prefix: NamePrefix) -> usize {
    to_usize(prefix.0.wrapping_mul(0x9e37_79b1) >> 20)
}
