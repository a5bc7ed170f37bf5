//! An index of types by name, for many searches of one BTF.

use super::sorted::{self, Sorted, SortedNames};
use crate::{
    endian::low32,
    format::Kind,
    ids::{StrOffset, TypeId, to_u32, to_usize},
    limits,
    name::Name,
    parse::{Btf, KindSet, NameOrder},
    view::Type,
};
use alloc::{boxed::Box, vec, vec::Vec};
use core::{
    hash::BuildHasher as _,
    iter,
    ops::{ControlFlow, Range},
};
use hashbrown::DefaultHashBuilder;

/// The end of a bucket's chain.
const NONE: u32 = u32::MAX;

/// The kinds whose types have names, except FUNC.
const TYPES: [Kind; 10] = [
    Kind::Int,
    Kind::Struct,
    Kind::Union,
    Kind::Enum,
    Kind::Fwd,
    Kind::Typedef,
    Kind::Var,
    Kind::Datasec,
    Kind::Float,
    Kind::Enum64,
];

/// The own types of one BTF by their essential names.
///
/// Building an index of a kernel's [types](Self::of_types) costs as much as a few searches without one. Most
/// of the named types are functions. They have an index [of their own](Self::of_functions). If all indexed
/// names are in order, as in kernels from 7.0 on, the index uses bisection, which takes two thirds of the
/// time to build and half the memory. The index of a BTF whose order is [trusted](Btf::trust_order) is only
/// this order, and covers every kind.
///
/// An index finds the same types as a search without an index. Every method takes the BTF from which the
/// index was built. With another BTF it finds fewer types, and no wrong ones.
///
/// ```
/// use core_relo_btf::{Btf, Builder, Endian, Kind, NameIndex};
///
/// let mut b = Builder::new(Endian::Little);
/// let long = b.int("long", 8, Builder::SIGNED);
/// let pair = b.structure("pair___old", 8, &[("a", long, 0)]);
/// let btf = Btf::parse(b.finish()).unwrap();
/// let index = NameIndex::of_types(&btf);
/// assert_eq!(index.find(&btf, b"pair___old", Kind::Struct).map(|t| t.id()), Some(pair));
/// assert_eq!(index.flavours(&btf, b"pair").map(|t| t.id()).collect::<Vec<_>>(), [pair]);
/// ```
#[derive(Clone, Debug)]
pub struct NameIndex(IndexKind);

#[derive(Clone, Debug)]
enum IndexKind {
    /// All types are in the order of their names.
    Trusted(NameOrder),
    Indexed(Box<Index>),
}

impl NameIndex {
    /// Indexes a BTF's own named types, functions included. The base has an index of its own.
    pub fn new(btf: &Btf<'_>) -> Self {
        Self::build(btf, || KindSet::new(TYPES.into_iter().chain([Kind::Func])))
    }

    /// Indexes the types for which relocations search: all except functions.
    pub fn of_types(btf: &Btf<'_>) -> Self {
        Self::build(btf, || KindSet::new(TYPES))
    }

    /// Indexes only functions, which programs attach to or call.
    pub fn of_functions(btf: &Btf<'_>) -> Self {
        Self::build(btf, || KindSet::new([Kind::Func]))
    }

    /// Returns the index of a BTF whose order is [trusted](Btf::trust_order).
    pub fn trusted(btf: &Btf<'_>) -> Option<Self> {
        btf.name_order.map(|order| Self(IndexKind::Trusted(order)))
    }

    fn build(btf: &Btf<'_>, kinds: impl FnOnce() -> KindSet) -> Self {
        Self::trusted(btf).unwrap_or_else(|| Self(IndexKind::Indexed(Box::new(Index::build(btf, kinds())))))
    }

    /// Returns whether the index covers types of this kind.
    pub fn covers(&self, kind: Kind) -> bool {
        match &self.0 {
            IndexKind::Trusted(_) => true,
            IndexKind::Indexed(index) => index.kinds.contains(kind.raw()),
        }
    }

    /// Returns whether a search of the index for this number of names is faster than one pass over all types.
    pub fn is_worth(&self, btf: &Btf<'_>, names: usize) -> bool {
        match &self.0 {
            IndexKind::Indexed(index) if index.buckets.is_some() => true,
            _ => names <= btf.table.len() / BISECTION,
        }
    }

    #[cfg(test)]
    pub(super) fn is_bisected(&self) -> bool {
        !matches!(&self.0, IndexKind::Indexed(index) if index.buckets.is_some())
    }

    /// Returns the first own type of this name and kind, as [`Btf::find_own`] does. An empty name finds
    /// nothing.
    pub fn find<'b>(&self, btf: &'b Btf<'_>, name: &[u8], kind: Kind) -> Option<Type<'b>> {
        match &self.0 {
            _ if name.is_empty() || name.contains(&0) => None,
            IndexKind::Trusted(order) => Sorted::new(btf, *order).find(name, kind),
            IndexKind::Indexed(index) if !index.kinds.contains(kind.raw()) => btf.find_own(name, kind),
            IndexKind::Indexed(index) => match &index.buckets {
                None => Sorted::new(btf, &**index).find(name, kind),
                Some(buckets) => {
                    let (entries, buckets, key) = match index.full_names.as_deref() {
                        Some((entries, full_names)) => (entries, full_names, name),
                        None => (&index.entries, buckets, Name::new(name).essential().as_bytes()),
                    };
                    let mut chain = index.chain(entries, buckets, btf, key);
                    chain.find(|t| t.kind() == kind && btf.strings().equals(t.name_offset(), name))
                }
            },
        }
    }

    /// Returns the own types with this essential name, of every kind that the index [covers](Self::covers),
    /// in order of id.
    pub fn flavours<'b>(&self, btf: &'b Btf<'_>, essential: &[u8]) -> impl Iterator<Item = Type<'b>> {
        let (mut trusted, mut sorted, mut hashed) = (None, None, None);
        match &self.0 {
            _ if essential.is_empty() || essential.contains(&0) => {}
            IndexKind::Trusted(order) => trusted = Sorted::new(btf, *order).flavours(essential, None),
            IndexKind::Indexed(index) => match &index.buckets {
                None => sorted = Sorted::new(btf, &**index).flavours(essential, None),
                Some(buckets) => hashed = Some(index.flavours(buckets, btf, essential)),
            },
        }
        let (trusted, sorted) = (trusted.into_iter().flatten(), sorted.into_iter().flatten());
        trusted.chain(sorted).chain(hashed.into_iter().flatten())
    }

    /// Calls `found` with each type of this essential name. Returns `false`, without a call, if a pass over
    /// all types is faster.
    pub fn visit_flavours<'b>(
        &self,
        btf: &'b Btf<'_>,
        essential: &[u8],
        found: impl FnMut(Type<'b>),
    ) -> bool {
        let budget = Some(limits::FLAVOUR_BYTES);
        match &self.0 {
            _ if essential.is_empty() || essential.contains(&0) => true,
            IndexKind::Trusted(order) => call(Sorted::new(btf, *order).flavours(essential, budget), found),
            IndexKind::Indexed(index) => match &index.buckets {
                None => call(Sorted::new(btf, &**index).flavours(essential, budget), found),
                Some(buckets) => call(Some(index.flavours(buckets, btf, essential)), found),
            },
        }
    }
}

fn call<'b>(types: Option<impl Iterator<Item = Type<'b>>>, found: impl FnMut(Type<'b>)) -> bool {
    types.map(|types| types.for_each(found)).is_some()
}

/// Types that one pass visits in the time of one bisection.
pub(super) const BISECTION: usize = 256;

/// The number of flavoured names above which an index has a table of full names too, because a chain of
/// essential names can be long. Kernels have a few such names at most.
const FEW_FLAVOURS: usize = 64;

#[derive(Clone, Debug)]
struct Index {
    first_id: TypeId,
    kinds: KindSet,
    /// In order of id.
    entries: Vec<Entry>,
    /// The entries by essential name. `None` if the entries are in the order of their names as well.
    buckets: Option<Buckets>,
    /// The same entries by full name, if many names have a flavour.
    full_names: Option<Box<(Vec<Entry>, Buckets)>>,
}

/// An indexed type.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The own index of the type.
    own_index: u32,
    /// With buckets, the position of the next entry of the bucket; otherwise the offset of the name.
    link: u32,
}

/// A hash table of entries by name.
#[derive(Clone, Debug)]
struct Buckets {
    hasher: DefaultHashBuilder,
    /// The position of the first entry of each bucket.
    heads: Vec<u32>,
}

impl SortedNames for &Index {
    fn positions(self) -> Range<usize> {
        0..self.entries.len()
    }

    #[inline]
    fn name_and_own_index(self, _: &Btf<'_>, position: usize) -> Option<(StrOffset, usize)> {
        self.entries.get(position).map(|entry| (StrOffset(entry.link), to_usize(entry.own_index)))
    }
}

impl Index {
    fn build(btf: &Btf<'_>, kinds: KindSet) -> Self {
        let first_id = btf.first_id();
        let mut entries = Vec::new();
        btf.visit(&kinds, |ty| {
            let (own_index, link) = (ty.id().0.saturating_sub(first_id.0), ty.name_offset().0);
            if link != 0 {
                entries.push(Entry { own_index, link });
            }
            ControlFlow::<()>::Continue(())
        });
        entries.shrink_to_fit();
        let mut index = Self { first_id, kinds, entries, buckets: None, full_names: None };
        if !are_in_order(&index.entries, btf) {
            let (buckets, flavours) = Buckets::build(&mut index.entries, btf, essential_name);
            index.buckets = Some(buckets);
            if flavours > FEW_FLAVOURS {
                index.full_names = Some(Box::new(index.by_full_name(btf)));
            }
        }
        index
    }

    fn by_full_name(&self, btf: &Btf<'_>) -> (Vec<Entry>, Buckets) {
        let named =
            |entry: &Entry| Some(Entry { link: self.ty(btf, entry.own_index)?.name_offset().0, ..*entry });
        let mut entries: Vec<_> = self.entries.iter().filter_map(named).collect();
        let (buckets, _) = Buckets::build(&mut entries, btf, full_name);
        (entries, buckets)
    }

    fn flavours<'b>(
        &self,
        buckets: &Buckets,
        btf: &'b Btf<'_>,
        essential: &[u8],
    ) -> impl Iterator<Item = Type<'b>> {
        let chain = self.chain(&self.entries, buckets, btf, essential);
        chain.filter(move |t| t.name().essential().as_bytes() == essential)
    }

    /// Returns the types of a name's bucket.
    fn chain<'b>(
        &self,
        entries: &[Entry],
        buckets: &Buckets,
        btf: &'b Btf<'_>,
        name: &[u8],
    ) -> impl Iterator<Item = Type<'b>> {
        let entry = move |position: u32| entries.get(to_usize(position));
        let first = buckets.head(name).and_then(entry);
        iter::successors(first, move |e| entry(e.link)).filter_map(|e| self.ty(btf, e.own_index))
    }

    fn ty<'b>(&self, btf: &'b Btf<'_>, own_index: u32) -> Option<Type<'b>> {
        btf.ty(TypeId(self.first_id.0.checked_add(own_index)?))
    }
}

/// Returns whether the names of all entries are in order.
///
/// A separate function leaves more registers to the loop of [`Buckets::build`].
#[inline(never)]
fn are_in_order(entries: &[Entry], btf: &Btf<'_>) -> bool {
    sorted::are_in_order(btf.strings(), entries.iter().map(|entry| StrOffset(entry.link)))
}

fn essential_name(name: Name<'_>) -> Name<'_> {
    name.essential()
}

fn full_name(name: Name<'_>) -> Name<'_> {
    name
}

impl Buckets {
    /// Links the entries of each bucket. Returns the buckets, and the number of names that differ from their
    /// `key`.
    #[inline(never)]
    #[expect(clippy::arithmetic_side_effects, reason = "counts the entries of a slice")]
    fn build(entries: &mut [Entry], btf: &Btf<'_>, key: impl Fn(Name<'_>) -> Name<'_>) -> (Self, usize) {
        let (strings, mut shortened) = (btf.strings(), 0_usize);
        let hasher = DefaultHashBuilder::default();
        let mut heads = vec![NONE; entries.len().next_power_of_two()];
        // From the last entry to the first, so that each chain is in order of id.
        for (position, entry) in entries.iter_mut().enumerate().rev() {
            let name = strings.checked_name(StrOffset(entry.link));
            let key = key(name).as_bytes();
            shortened += usize::from(key.len() != name.as_bytes().len());
            let bucket = bucket(&hasher, heads.len(), key);
            entry.link = match heads.get_mut(bucket) {
                Some(head) if !name.is_empty() => core::mem::replace(head, to_u32(position)),
                _ => NONE,
            };
        }
        (Self { hasher, heads }, shortened)
    }

    /// Returns the position of the first entry of a name's bucket.
    fn head(&self, name: &[u8]) -> Option<u32> {
        self.heads.get(bucket(&self.hasher, self.heads.len(), name)).copied()
    }
}

/// Returns the index of a name's bucket. The `count` of buckets is a power of two.
#[inline]
fn bucket(hasher: &DefaultHashBuilder, count: usize, name: &[u8]) -> usize {
    let hash = hasher.hash_one(name);
    to_usize(low32(hash)) & count.wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, endian::Endian};
    use alloc::{format, sync::Arc};

    fn builder(count: usize) -> Builder {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        for n in 0..count {
            b.structure(&format!("s{}___f{n}", n % 7), 4, &[("a", int, 0)]);
            b.typedef(&format!("s{}", n % 40), int);
            b.pointer(int);
        }
        b.composite(Kind::Union, "s1", 0, &[]);
        let proto = b.func_proto(int, &[]);
        b.func("s1", proto, 1);
        b.func("s2___old", proto, 1);
        b
    }

    #[test]
    fn the_index_finds_what_a_search_of_all_types_finds() {
        // With a table of full names and without.
        for count in [300, FEW_FLAVOURS / 2] {
            let btf = Btf::parse(builder(count).finish()).unwrap();
            for index in [NameIndex::new(&btf), NameIndex::of_types(&btf), NameIndex::of_functions(&btf)] {
                finds_the_same(&btf, &index);
            }
        }
    }

    fn finds_the_same(btf: &Btf<'_>, index: &NameIndex) {
        for ty in btf.types() {
            let name = ty.name();
            for kind in [ty.kind(), Kind::Enum, Kind::Func] {
                let one = |t: Type<'_>| t.id();
                let expected = btf.find_own(name.as_bytes(), kind).filter(|_| !name.is_empty()).map(one);
                assert_eq!(index.find(btf, name.as_bytes(), kind).map(one), expected, "{name}");
            }
            let name = name.essential();
            let expected: Vec<_> = btf
                .types()
                .filter(|t| !name.is_empty() && t.name().essential() == name && index.covers(t.kind()))
                .map(Type::id)
                .collect();
            let found: Vec<_> = index.flavours(btf, name.as_bytes()).map(Type::id).collect();
            assert_eq!(found, expected, "{name}");
        }
        assert!(index.find(btf, b"s", Kind::Struct).is_none());
        assert!(index.find(btf, b"", Kind::Ptr).is_none());
    }

    #[test]
    fn the_index_of_a_split_btf_has_its_own_types() {
        let base = Arc::new(Btf::parse(builder(300).finish()).unwrap());
        let mut b = Builder::split(&base);
        let own = b.typedef("s1", TypeId(1));
        let split = Btf::parse_split(b.finish(), Arc::clone(&base)).unwrap();
        let index = NameIndex::new(&split);
        assert_eq!(index.flavours(&split, b"s1").map(Type::id).collect::<Vec<_>>(), [own]);
        let empty = Btf::parse(Builder::new(Endian::Little).finish()).unwrap();
        assert_eq!(NameIndex::new(&base).flavours(&empty, b"s1").count(), 0);
        assert_eq!(NameIndex::new(&empty).flavours(&base, b"s1").count(), 0);
    }
}
