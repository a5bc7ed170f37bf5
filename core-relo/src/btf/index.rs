//! Types by name, for who looks for many in one BTF.

use super::{
    Btf, Kind, KindSet, Type,
    sorted::{self, Names, Order, Sorted},
};
use crate::{
    ids::{StrOffset, TypeId, to_u32, to_usize},
    limits,
    name::Name,
};
use alloc::{boxed::Box, vec, vec::Vec};
use core::{
    hash::BuildHasher as _,
    iter,
    ops::{ControlFlow, Range},
};
use hashbrown::DefaultHashBuilder;

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// The kinds whose types have names of their own, but for functions.
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
/// Making one of a kernel's [types](Self::of_types) costs as much as a few searches without; functions are most of what has
/// a name, and only who looks for them needs them [indexed](Self::of_functions). If their names are in order, as in kernels
/// from 7.0 on, which all of them are compared for, they are looked for by bisection: that takes two thirds as long to make and
/// half the memory. Of a BTF whose order is [trusted](Btf::trust_order) it is only that order, and covers every kind.
///
/// What is found is the same as without. The BTF is given anew each time: with another than the index was made of, less is
/// found, and nothing wrong.
///
/// ```
/// use core_relo::{btf::{Btf, Builder, Kind, NameIndex}, Endian};
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
pub struct NameIndex(Form);

#[derive(Clone, Debug)]
enum Form {
    /// All types are in order of their names.
    Trusted(Order),
    Indexed(Box<Index>),
}

impl NameIndex {
    /// Indexes a BTF's own types that have a name, functions included; the base has an index of its own, if any.
    pub fn new(btf: &Btf<'_>) -> Self {
        Self::of(btf, || KindSet::new(TYPES.into_iter().chain([Kind::Func])))
    }

    /// All but functions: what relocations look for.
    pub fn of_types(btf: &Btf<'_>) -> Self {
        Self::of(btf, || KindSet::new(TYPES))
    }

    /// Functions alone: what programs are attached to, and what they call.
    pub fn of_functions(btf: &Btf<'_>) -> Self {
        Self::of(btf, || KindSet::new([Kind::Func]))
    }

    /// Of a BTF whose order is [trusted](Btf::trust_order), which needs none.
    pub(crate) fn trusted(btf: &Btf<'_>) -> Option<Self> {
        btf.order.map(|order| Self(Form::Trusted(order)))
    }

    fn of(btf: &Btf<'_>, kinds: impl FnOnce() -> KindSet) -> Self {
        Self::trusted(btf).unwrap_or_else(|| Self(Form::Indexed(Box::new(Index::of(btf, kinds())))))
    }

    /// Whether types of this kind are in it.
    pub fn covers(&self, kind: Kind) -> bool {
        match &self.0 {
            Form::Trusted(_) => true,
            Form::Indexed(index) => index.kinds.has(kind.raw()),
        }
    }

    /// Whether so many names are found faster in it than by a pass over all types.
    pub(crate) fn is_worth(&self, btf: &Btf<'_>, names: usize) -> bool {
        match &self.0 {
            Form::Indexed(index) if index.buckets.is_some() => true,
            _ => names <= btf.table.len() / BISECTION,
        }
    }

    #[cfg(test)]
    pub(super) fn is_bisected(&self) -> bool {
        !matches!(&self.0, Form::Indexed(index) if index.buckets.is_some())
    }

    /// The first own type of this name and kind, as [`Btf::find_own`] finds it; an empty name finds nothing.
    pub fn find<'b>(&self, btf: &'b Btf<'_>, name: &[u8], kind: Kind) -> Option<Type<'b>> {
        match &self.0 {
            _ if name.is_empty() || name.contains(&0) => None,
            Form::Trusted(order) => Sorted::new(btf, *order).find(name, kind),
            Form::Indexed(index) if !index.kinds.has(kind.raw()) => btf.find_own(name, kind),
            Form::Indexed(index) => match &index.buckets {
                None => Sorted::new(btf, &**index).find(name, kind),
                Some(buckets) => {
                    let (strings, essential) = (btf.strings(), Name::new(name).essential().as_bytes());
                    let mut chain = index.chain(buckets, btf, essential);
                    chain.find(|t| t.kind() == kind && strings.is(t.name_offset(), name))
                }
            },
        }
    }

    /// The own types that are of this name, whatever their flavour and of whatever kind [is here](Self::covers), in order of id.
    pub fn flavours<'b>(&self, btf: &'b Btf<'_>, essential: &[u8]) -> impl Iterator<Item = Type<'b>> {
        let (mut trusted, mut sorted, mut hashed) = (None, None, None);
        match &self.0 {
            _ if essential.is_empty() || essential.contains(&0) => {}
            Form::Trusted(order) => trusted = Sorted::new(btf, *order).flavours(essential, None),
            Form::Indexed(index) => match &index.buckets {
                None => sorted = Sorted::new(btf, &**index).flavours(essential, None),
                Some(buckets) => hashed = Some(index.flavours(buckets, btf, essential)),
            },
        }
        let (trusted, sorted) = (trusted.into_iter().flatten(), sorted.into_iter().flatten());
        trusted.chain(sorted).chain(hashed.into_iter().flatten())
    }

    /// Calls `found` with each of them; false, and none, if it is better to look for this name among all types.
    pub(crate) fn few_flavours<'b>(
        &self,
        btf: &'b Btf<'_>,
        essential: &[u8],
        found: impl FnMut(Type<'b>),
    ) -> bool {
        let budget = Some(limits::FLAVOUR_BYTES);
        match &self.0 {
            _ if essential.is_empty() || essential.contains(&0) => true,
            Form::Trusted(order) => call(Sorted::new(btf, *order).flavours(essential, budget), found),
            Form::Indexed(index) => match &index.buckets {
                None => call(Sorted::new(btf, &**index).flavours(essential, budget), found),
                Some(buckets) => call(Some(index.flavours(buckets, btf, essential)), found),
            },
        }
    }
}

fn call<'b>(types: Option<impl Iterator<Item = Type<'b>>>, found: impl FnMut(Type<'b>)) -> bool {
    types.map(|types| types.for_each(found)).is_some()
}

/// Types that a pass over all of them has behind it when a name is found by bisection.
const BISECTION: usize = 256;

#[derive(Clone, Debug)]
struct Index {
    first_id: TypeId,
    kinds: KindSet,
    /// In order of id.
    entries: Vec<Entry>,
    /// None if the entries are in order of their names as well.
    buckets: Option<Buckets>,
}

/// A type that has a name.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Its number among the own types.
    place: u32,
    /// The next entry of the same bucket, of a higher id; without buckets where its name lies.
    link: u32,
}

/// Entries by their essential names.
#[derive(Clone, Debug)]
struct Buckets {
    hasher: DefaultHashBuilder,
    /// The first entry of each.
    heads: Vec<u32>,
}

impl Names for &Index {
    fn numbers(self) -> Range<usize> {
        0..self.entries.len()
    }

    #[inline]
    fn at(self, _: &Btf<'_>, number: usize) -> Option<(StrOffset, u32)> {
        self.entries.get(number).map(|entry| (StrOffset(entry.link), entry.place))
    }
}

impl Index {
    fn of(btf: &Btf<'_>, kinds: KindSet) -> Self {
        let first_id = btf.first_id();
        let mut entries = Vec::new();
        btf.visit(&kinds, |ty| {
            let (place, link) = (ty.id().0.saturating_sub(first_id.0), ty.name_offset().0);
            if link != 0 {
                entries.push(Entry { place, link });
            }
            ControlFlow::<()>::Continue(())
        });
        entries.shrink_to_fit();
        let buckets = (!are_in_order(&entries, btf)).then(|| Buckets::of(&mut entries, btf));
        Self { first_id, kinds, entries, buckets }
    }

    fn flavours<'b>(
        &self,
        buckets: &Buckets,
        btf: &'b Btf<'_>,
        essential: &[u8],
    ) -> impl Iterator<Item = Type<'b>> {
        self.chain(buckets, btf, essential).filter(move |t| t.name().essential().as_bytes() == essential)
    }

    /// The types of a name's bucket.
    fn chain<'b>(
        &self,
        buckets: &Buckets,
        btf: &'b Btf<'_>,
        essential: &[u8],
    ) -> impl Iterator<Item = Type<'b>> {
        let entry = |number: u32| self.entries.get(to_usize(number));
        let first = buckets.head(essential).and_then(entry);
        iter::successors(first, move |e| entry(e.link)).filter_map(|e| self.at(btf, e.place))
    }

    fn at<'b>(&self, btf: &'b Btf<'_>, place: u32) -> Option<Type<'b>> {
        btf.ty(TypeId(self.first_id.0.checked_add(place)?))
    }
}

/// A function of its own: what it does to the strings costs registers, and the buckets need them.
#[inline(never)]
fn are_in_order(entries: &[Entry], btf: &Btf<'_>) -> bool {
    sorted::are_in_order(btf.strings(), entries.iter().map(|entry| StrOffset(entry.link)))
}

impl Buckets {
    /// Links those of a bucket.
    #[inline(never)]
    fn of(entries: &mut [Entry], btf: &Btf<'_>) -> Self {
        let strings = btf.strings();
        let hasher = DefaultHashBuilder::default();
        let mut heads = vec![NONE; entries.len().next_power_of_two()];
        // From the last to the first, so that each chain is in order of id.
        for (number, entry) in entries.iter_mut().enumerate().rev() {
            let name = strings.name(StrOffset(entry.link)).unwrap_or_default();
            let bucket = bucket(&hasher, heads.len(), name.essential().as_bytes());
            entry.link = match heads.get_mut(bucket) {
                Some(head) if !name.is_empty() => core::mem::replace(head, to_u32(number)),
                _ => NONE,
            };
        }
        Self { hasher, heads }
    }

    /// The first entry of a name's bucket.
    fn head(&self, essential: &[u8]) -> Option<u32> {
        self.heads.get(bucket(&self.hasher, self.heads.len(), essential)).copied()
    }
}

/// A name's bucket among so many, which are a power of two.
#[inline]
fn bucket(hasher: &DefaultHashBuilder, count: usize, essential: &[u8]) -> usize {
    let hash = hasher.hash_one(essential);
    to_usize(u32::try_from(hash & u64::from(u32::MAX)).unwrap_or_default()) & count.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{btf::Builder, endian::Endian};
    use alloc::{format, sync::Arc};

    fn many() -> Builder {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        for n in 0..300 {
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
    fn it_finds_what_a_search_of_all_types_finds() {
        let btf = Btf::parse(many().finish()).unwrap();
        for index in [NameIndex::new(&btf), NameIndex::of_types(&btf), NameIndex::of_functions(&btf)] {
            finds_the_same(&btf, &index);
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
    fn a_split_one_has_its_own_types_and_another_btf_is_no_harm() {
        let base = Arc::new(Btf::parse(many().finish()).unwrap());
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
