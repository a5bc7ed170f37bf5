//! The search for many types in one pass.

use super::{name_index::BISECTION, sorted::Sorted};
use crate::{
    endian::{Endian, high32},
    format::Kind,
    ids::{StrOffset, TypeId, to_usize},
    parse::{Btf, KindSet, Strings},
    view::Type,
};
use alloc::{boxed::Box, vec, vec::Vec};
use core::{hash::BuildHasher as _, ops::ControlFlow};
use hashbrown::{DefaultHashBuilder, HashTable};

/// The pairs of a name and a kind that [`Btf::find_all_own`] searches for.
///
/// A query is prepared once and used for many kernels.
///
/// ```
/// use core_relo_btf::{Btf, Builder, Endian, Kind, TypeQuery};
///
/// let mut query = TypeQuery::new();
/// let task = query.insert(b"task_struct", Kind::Struct);
/// let fget = query.insert(b"fget", Kind::Func);
///
/// let mut b = Builder::new(Endian::Little);
/// let id = b.structure("task_struct", 8, &[]);
/// let btf = Btf::parse(b.finish()).unwrap();
/// let found = btf.find_all_own(&query);
/// assert_eq!((found[task], found[fget]), (Some(id), None));
/// ```
#[derive(Clone, Debug, Default)]
pub struct TypeQuery {
    entries: Vec<Entry>,
    /// The positions of the entries, by name and kind.
    positions: HashTable<usize>,
    hasher: DefaultHashBuilder,
    prefixes: PrefixFilter,
}

#[derive(Clone, Debug)]
struct Entry {
    name: Box<[u8]>,
    kind: Kind,
}

impl TypeQuery {
    /// Creates a query without pairs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a pair, unless the query has the pair. Returns the position of the pair.
    ///
    /// An empty name, or a name with a NUL, finds no type.
    pub fn insert(&mut self, name: &[u8], kind: Kind) -> usize {
        if let Some(position) = self.position(name, kind) {
            return position;
        }
        let position = self.entries.len();
        self.entries.push(Entry { name: name.into(), kind });
        let (entries, hasher) = (&self.entries, &self.hasher);
        let hash_of = |position: &usize| match entries.get(*position) {
            Some(entry) => hasher.hash_one((&*entry.name, entry.kind)),
            None => 0,
        };
        self.positions.insert_unique(hasher.hash_one((name, kind)), position, hash_of);
        if !name.is_empty() && !name.contains(&0) {
            self.prefixes.insert(name);
        }
        position
    }

    /// Returns the position of a pair.
    pub fn position(&self, name: &[u8], kind: Kind) -> Option<usize> {
        let is_pair = |position: &usize| {
            self.entries.get(*position).is_some_and(|entry| entry.kind == kind && *entry.name == *name)
        };
        self.positions.find(self.hasher.hash_one((name, kind)), is_pair).copied()
    }

    /// Returns the number of pairs.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the query has no pairs.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the names and kinds, by position.
    pub fn pairs(&self) -> impl Iterator<Item = (&[u8], Kind)> {
        self.entries.iter().map(|entry| (&*entry.name, entry.kind))
    }
}

impl Btf<'_> {
    /// Returns, for each pair of a query by position, the first own type of this name and kind.
    ///
    /// Finds the same types as one [`find_own`](Self::find_own) for each pair, in the time of one pass over
    /// the types.
    pub fn find_all_own(&self, query: &TypeQuery) -> Vec<Option<TypeId>> {
        self.find_own_of_kinds(query, |_| true)
    }

    /// Returns the same for the pairs whose kind `is_wanted`, and `None` for the others, whose types are not
    /// visited.
    pub fn find_own_of_kinds(
        &self,
        query: &TypeQuery,
        is_wanted: impl Fn(Kind) -> bool,
    ) -> Vec<Option<TypeId>> {
        let mut found = vec![None; query.len()];
        if let Some(order) = self.name_order.filter(|_| query.len() <= self.table.len() / BISECTION) {
            let sorted = Sorted::new(self, order);
            for (slot, (name, kind)) in found.iter_mut().zip(query.pairs()) {
                let is_name = !name.is_empty() && !name.contains(&0);
                *slot = if is_name && is_wanted(kind) { sorted.find(name, kind).map(Type::id) } else { None };
            }
            return found;
        }
        let kinds =
            KindSet::new(query.entries.iter().map(|entry| entry.kind).filter(|kind| is_wanted(*kind)));
        self.visit_named(
            &kinds,
            |strings, name| query.prefixes.may_contain(strings, name),
            |ty| {
                let name = ty.name().as_bytes();
                let position = query.position(name, ty.kind()).filter(|_| !name.is_empty());
                if let Some(slot) = position.and_then(|position| found.get_mut(position)) {
                    // The pass visits the types in order of id.
                    *slot = slot.or(Some(ty.id()));
                }
            },
        );
        found
    }

    /// Calls `visit` with each own type of a kind, in order of id. Records of other kinds are not read.
    pub fn visit_kind<'b>(&'b self, kind: Kind, mut visit: impl FnMut(Type<'b>)) {
        self.visit(&KindSet::new([kind]), |ty| {
            visit(ty);
            ControlFlow::<()>::Continue(())
        });
    }
}

/// The number of bits of a filter, as a power of two. The bits of a thousand names fill a quarter of the
/// filter.
const FILTER_BITS: u32 = 12;
type Bits = [u64; 1 << (FILTER_BITS - 6)];

/// A filter of names by their first bytes. Most names of a kernel are rejected without a read of the rest of
/// the name.
#[derive(Clone, Debug)]
struct PrefixFilter {
    /// The first four bytes. They reject most names, and need no search for the NUL: a name of fewer bytes
    /// sets all bits.
    first: Box<Bits>,
    /// The first eight bytes.
    short: Box<Bits>,
    /// The first sixteen bytes: many names of a kernel share the first eight, such as `__tracei`.
    long: Box<Bits>,
}

impl Default for PrefixFilter {
    fn default() -> Self {
        let [first, short, long] = core::array::from_fn(|_| Box::new([0; 1 << (FILTER_BITS - 6)]));
        Self { first, short, long }
    }
}

impl PrefixFilter {
    fn insert(&mut self, name: &[u8]) {
        let byte = |at| name.get(at).copied().unwrap_or(0);
        let short = hash_short(core::array::from_fn(byte));
        let long = hash_long(core::array::from_fn(byte));
        // The NUL of a name of three bytes is the fourth byte.
        if name.len() < 3 {
            self.first.fill(u64::MAX);
        }
        let first = hash_first(core::array::from_fn(byte));
        for (bits, hash) in [(&mut self.first, first), (&mut self.short, short), (&mut self.long, long)] {
            let (word, bit) = position(hash);
            if let Some(word) = bits.get_mut(word) {
                *word |= bit;
            }
        }
    }

    /// Returns whether the string at an offset may be one of the names.
    #[inline]
    fn may_contain(&self, strings: Strings<'_>, name: StrOffset) -> bool {
        let has_bit = |bits: &Bits, hash| {
            let (word, bit) = position(hash);
            bits.get(word).is_some_and(|word| word & bit != 0)
        };
        strings.own_bytes(name).map(hash_first).is_none_or(|hash| has_bit(&self.first, hash))
            && strings.own_bytes(name).map(hash_short).is_none_or(|hash| has_bit(&self.short, hash))
            && strings.own_bytes(name).map(hash_long).is_none_or(|hash| has_bit(&self.long, hash))
    }
}

/// Returns the word and the bit of a filter for a hash.
#[inline]
fn position(hash: u64) -> (usize, u64) {
    let hash = high32(hash) >> (32 - FILTER_BITS);
    (to_usize(hash / 64), 1u64.wrapping_shl(hash % 64))
}

/// The highest bits of a product depend on all bytes of the factor (Fibonacci hashing).
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the hash of four bytes.
#[inline]
fn hash_first(bytes: [u8; 4]) -> u64 {
    u64::from(Endian::Little.word(bytes)).wrapping_mul(FACTOR)
}

/// Returns the hash of a string that begins with these bytes, or ends among them.
#[inline]
fn hash_short(bytes: [u8; 8]) -> u64 {
    until_nul(Endian::Little.u64_of(bytes)).wrapping_mul(FACTOR)
}

/// Returns the hash of a string that begins with these bytes, or ends among them.
fn hash_long(bytes: [u8; 16]) -> u64 {
    let (eights, _) = bytes.as_chunks();
    let mut hash = 0u64;
    for eight in eights {
        hash = hash.rotate_left(32).wrapping_add(hash_short(*eight)).wrapping_mul(FACTOR);
        if eight.contains(&0) {
            break;
        }
    }
    hash
}

/// Returns eight bytes of a string without the bytes from its NUL on.
#[inline]
fn until_nul(word: u64) -> u64 {
    const LOW_BITS: u64 = 0x0101_0101_0101_0101;
    // Sets the highest bit of the first zero byte, and of some bytes after it.
    let zeros = word.wrapping_sub(LOW_BITS) & !word & (LOW_BITS << 7);
    // The lowest bit alone. Without a zero byte, the mask has all bits. No branch: the lengths of names are
    // unpredictable.
    let lowest = zeros & zeros.wrapping_neg();
    word & (lowest >> 7).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, BuiltRecord};
    use alloc::{format, sync::Arc};

    const KINDS: [Kind; 6] = [Kind::Struct, Kind::Typedef, Kind::Func, Kind::Enum, Kind::Var, Kind::Union];

    /// Builds types whose names repeat, share prefixes, or differ in length only.
    fn build(mut b: Builder, count: usize) -> Vec<u8> {
        for (n, kind) in (0..count).zip(KINDS.into_iter().cycle()) {
            let name = match n % 7 {
                0 => format!("f{}", n % 100),
                1 => format!("eight_by{}", n % 50),
                2 => "x".repeat(n % 40),
                3 => format!("sixteen_bytes_lo{}", n % 50),
                _ => format!("bpf_name_{}", n % 300),
            };
            let trailer: &[u32] = if kind == Kind::Var { &[1] } else { &[] };
            b.raw(&name, BuiltRecord { words: trailer, ..BuiltRecord::new(kind) });
        }
        b.finish()
    }

    fn query(btf: &Btf<'_>) -> TypeQuery {
        let mut query = TypeQuery::new();
        let absent = [&b"absent"[..], b"", b"a\0b", b"eight_by", b"sixteen_bytes_lo", b"x", b"bpf_name_300"];
        for name in btf.types().map(|ty| ty.name().as_bytes()).chain(absent) {
            for kind in KINDS.into_iter().chain([Kind::Ptr]) {
                query.insert(name, kind);
            }
        }
        query
    }

    fn assert_finds_all(btf: &Btf<'_>, query: &TypeQuery) {
        let found = btf.find_all_own(query);
        assert_eq!(found.len(), query.len());
        for ((name, kind), (position, found)) in query.pairs().zip(found.iter().enumerate()) {
            assert_eq!(query.position(name, kind), Some(position));
            let expected = btf.find_own(name, kind).filter(|_| !name.is_empty());
            assert_eq!(*found, expected.map(Type::id), "{kind} {name:?}");
        }
    }

    #[test]
    fn one_pass_finds_what_single_searches_find() {
        for endian in [Endian::Little, Endian::Big] {
            let base = Arc::new(Btf::parse_unvalidated(build(Builder::new(endian), 1000), None).unwrap());
            assert_finds_all(&base, &query(&base));
            let split = build(Builder::split(&base), 500);
            let split = Btf::parse_unvalidated(split, Some(Arc::clone(&base))).unwrap();
            assert_finds_all(&split, &query(&split));
            assert_finds_all(&split, &query(&base));
        }
    }

    #[test]
    fn a_trusted_order_finds_the_same() {
        let mut b = Builder::new(Endian::Little);
        for n in 0..20_000 {
            b.raw(format!("name_{:05}", n / 2), BuiltRecord::new(KINDS[n % 4]));
        }
        let mut btf = Btf::parse_unvalidated(b.finish(), None).unwrap();
        assert!(btf.trust_order());
        let mut query = TypeQuery::new();
        for name in ["name_00000", "name_00017", "name_09999", "name_10000", "", "name"] {
            for kind in KINDS {
                query.insert(name.as_bytes(), kind);
            }
        }
        assert!(query.len() <= btf.table.len() / BISECTION);
        assert_finds_all(&btf, &query);
        for n in 0..200 {
            query.insert(format!("name_{n:05}").as_bytes(), Kind::Struct);
        }
        assert!(query.len() > btf.table.len() / BISECTION);
        assert_finds_all(&btf, &query);
    }

    #[test]
    fn a_pair_is_inserted_once() {
        let mut query = TypeQuery::new();
        assert!(query.is_empty());
        assert_eq!(query.insert(b"a", Kind::Func), 0);
        assert_eq!(query.insert(b"a", Kind::Struct), 1);
        assert_eq!(query.insert(b"a", Kind::Func), 0);
        assert_eq!(query.position(b"a", Kind::Union), None);
        assert_eq!(query.len(), 2);
    }

    #[test]
    fn types_of_a_kind_are_visited_in_order() {
        let btf = Btf::parse_unvalidated(build(Builder::new(Endian::Little), 200), None).unwrap();
        let mut found = Vec::new();
        btf.visit_kind(Kind::Func, |ty| found.push(ty.id()));
        let expected = btf.types().filter(|ty| ty.kind() == Kind::Func).map(Type::id);
        assert!(!found.is_empty() && found.iter().copied().eq(expected));
    }
}
