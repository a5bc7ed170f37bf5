//! Types by name, for who looks for many in one BTF.

use super::{Btf, Kind, Type};
use crate::{
    ids::{TypeId, to_u32, to_usize},
    name::Name,
};
use alloc::{vec, vec::Vec};
use core::{hash::BuildHasher as _, iter};
use hashbrown::DefaultHashBuilder;

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// The own types of one BTF by their essential names.
///
/// Making it costs as much as about ten searches without; what it finds is the same. The BTF is given anew each time: with
/// another than it was made of, less is found, and nothing wrong.
///
/// ```
/// use core_relo::{btf::{Btf, Builder, Kind, NameIndex}, Endian};
///
/// let mut b = Builder::new(Endian::Little);
/// let long = b.int("long", 8, Builder::SIGNED);
/// let pair = b.structure("pair___old", 8, &[("a", long, 0)]);
/// let btf = Btf::parse(b.finish()).unwrap();
/// let index = NameIndex::new(&btf);
/// assert_eq!(index.find(&btf, b"pair___old", Kind::Struct).map(|t| t.id()), Some(pair));
/// assert_eq!(index.flavours(&btf, b"pair").map(|t| t.id()).collect::<Vec<_>>(), [pair]);
/// ```
#[derive(Clone, Debug)]
pub struct NameIndex {
    hasher: DefaultHashBuilder,
    first_id: TypeId,
    /// The first own type of each bucket, by place.
    heads: Vec<u32>,
    /// The next one of the same bucket, of a higher id.
    next: Vec<u32>,
}

impl NameIndex {
    /// Indexes a BTF's own types; the base has an index of its own, if any.
    pub fn new(btf: &Btf<'_>) -> Self {
        let len = btf.offsets.len();
        let mut index = Self {
            hasher: DefaultHashBuilder::default(),
            first_id: btf.first_id(),
            heads: vec![NONE; len.next_power_of_two()],
            next: vec![NONE; len],
        };
        // From the last to the first, so that each chain is in order of id.
        for place in (0..to_u32(len)).rev() {
            let Some(ty) = index.at(btf, place) else { continue };
            let name = ty.name();
            if name.is_empty() {
                continue;
            }
            let bucket = index.bucket(name.essential().as_bytes());
            let (Some(head), Some(next)) = (index.heads.get_mut(bucket), index.next.get_mut(to_usize(place)))
            else {
                continue;
            };
            *next = core::mem::replace(head, place);
        }
        index
    }

    /// The first own type of this name and kind, as [`Btf::find_own`] finds it; an empty name finds nothing.
    pub fn find<'b>(&self, btf: &'b Btf<'_>, name: &[u8], kind: Kind) -> Option<Type<'b>> {
        let essential = Name::new(name).essential().as_bytes();
        self.chain(btf, essential).find(|t| t.kind() == kind && t.name().as_bytes() == name)
    }

    /// The own types that are of this name, whatever their flavour and kind, in order of id.
    pub fn flavours<'b>(&self, btf: &'b Btf<'_>, essential: &[u8]) -> impl Iterator<Item = Type<'b>> {
        self.chain(btf, essential).filter(move |t| t.name().essential().as_bytes() == essential)
    }

    /// The types of a name's bucket.
    fn chain<'b>(&self, btf: &'b Btf<'_>, essential: &[u8]) -> impl Iterator<Item = Type<'b>> {
        let first = self.heads.get(self.bucket(essential)).copied();
        let next = |place: &u32| self.next.get(to_usize(*place)).copied();
        iter::successors(first, next).filter_map(|place| self.at(btf, place))
    }

    fn at<'b>(&self, btf: &'b Btf<'_>, place: u32) -> Option<Type<'b>> {
        btf.ty(TypeId(self.first_id.0.checked_add(place)?))
    }

    fn bucket(&self, essential: &[u8]) -> usize {
        // The number of buckets is a power of two.
        let mask = self.heads.len().saturating_sub(1);
        let hash = self.hasher.hash_one(essential);
        to_usize(u32::try_from(hash & u64::from(u32::MAX)).unwrap_or_default()) & mask
    }
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
        b
    }

    #[test]
    fn it_finds_what_a_search_of_all_types_finds() {
        let btf = Btf::parse(many().finish()).unwrap();
        let index = NameIndex::new(&btf);
        for ty in btf.types() {
            let name = ty.name();
            for kind in [ty.kind(), Kind::Enum] {
                let one = |t: Type<'_>| t.id();
                let expected = btf.find_own(name.as_bytes(), kind).filter(|_| !name.is_empty()).map(one);
                assert_eq!(index.find(&btf, name.as_bytes(), kind).map(one), expected, "{name}");
            }
            let name = name.essential();
            let expected: Vec<_> = btf
                .types()
                .filter(|t| !name.is_empty() && t.name().essential() == name)
                .map(Type::id)
                .collect();
            let found: Vec<_> = index.flavours(&btf, name.as_bytes()).map(Type::id).collect();
            assert_eq!(found, expected, "{name}");
        }
        assert!(index.find(&btf, b"s", Kind::Struct).is_none());
        assert!(index.find(&btf, b"", Kind::Ptr).is_none());
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
