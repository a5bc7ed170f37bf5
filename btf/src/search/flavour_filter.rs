//! A filter that rejects most types of a BTF before their whole name is read.

use crate::{
    format::Kind,
    ids::{StrOffset, to_usize},
    parse::{Btf, KindSet, NamePrefix, Strings},
    view::Type,
};
use core::ops::Range;

/// A filter that accepts all types of some kinds whose [essential name](crate::Name::essential) is one of the
/// filter's, and few others.
///
/// ```
/// use core_relo_btf::{Btf, Builder, Endian, FlavourFilter, Kind, Name};
///
/// let mut filter = FlavourFilter::new([Kind::Struct]);
/// filter.insert(b"task_struct");
///
/// let mut b = Builder::new(Endian::Little);
/// let (plain, flavour) = (b.structure("task_struct", 8, &[]), b.structure("task_struct___old", 8, &[]));
/// let btf = Btf::parse(b.finish()).unwrap();
/// let mut found = Vec::new();
/// let name = Name::new(b"task_struct");
/// btf.visit_flavours(&filter, |ty| if ty.name().same_essential(name) { found.push(ty.id()) });
/// assert_eq!(found, [plain, flavour]);
/// ```
// A name passes if a wanted name has the same first four bytes. If all wanted names with these bytes are
// long, the bytes at `LATER_BYTES` must match, too.
#[derive(Clone, Debug)]
pub struct FlavourFilter {
    kinds: KindSet,
    /// For each hash of four bytes, the lengths of the wanted names that begin with such bytes.
    prefixes: [NameLength; HASHES],
    /// For each hash of four bytes, whether a wanted name has such bytes at [`LATER_BYTES`].
    later_bytes: [bool; HASHES],
}

/// The lengths of the wanted names whose prefixes have the same hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameLength {
    /// No wanted name has the prefix.
    NoName,
    /// All names reach to the end of [`LATER_BYTES`].
    Long,
    /// A name ends before the end of [`LATER_BYTES`].
    Short,
}

/// The bytes that distinguish long names with the same prefix. Thousands of names begin with
/// `trace_event_raw_`.
const LATER_BYTES: Range<u32> = 16..20;

impl FlavourFilter {
    /// Creates a filter for types of these kinds, without names.
    pub fn new(kinds: impl IntoIterator<Item = Kind>) -> Self {
        Self {
            kinds: KindSet::new(kinds),
            prefixes: [NameLength::NoName; HASHES],
            later_bytes: [false; HASHES],
        }
    }

    /// Adds a name, which has no flavour.
    pub fn insert(&mut self, essential: &[u8]) {
        let later = essential
            .get(to_usize(LATER_BYTES.start)..to_usize(LATER_BYTES.end))
            .map(|later| NamePrefix::from_name(later, 0));
        if let Some(is_present) = later.and_then(|later| self.later_bytes.get_mut(hash(later))) {
            *is_present = true;
        }
        // If the name is shorter than four bytes, a NUL or the `___` of a flavour follows.
        for filler in [0, b'_'] {
            let prefix = hash(NamePrefix::from_name(essential, filler));
            if let Some(length) = self.prefixes.get_mut(prefix) {
                let is_long = later.is_some() && *length != NameLength::Short;
                *length = if is_long { NameLength::Long } else { NameLength::Short };
            }
        }
    }

    /// Returns whether the name at an offset may be a wanted name or a flavour of one. May be wrong only if
    /// it returns `true`.
    #[inline]
    fn may_match(&self, strings: Strings<'_>, name: StrOffset) -> bool {
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

impl Btf<'_> {
    /// Calls `found` with each own type that the filter accepts, in order of id.
    ///
    /// The pass over the types finds all flavours of the filter's names, and may find types of other names.
    #[inline]
    pub fn visit_flavours<'b>(&'b self, filter: &FlavourFilter, found: impl FnMut(Type<'b>)) {
        self.visit_named(&filter.kinds, |strings, name| filter.may_match(strings, name), found);
    }
}

/// The number of hash values. A hundred names use few of them, so that few other names collide.
const HASHES: usize = 4096;

#[inline]
fn hash(prefix: NamePrefix) -> usize {
    to_usize(prefix.0.wrapping_mul(0x9e37_79b1) >> 20)
}
