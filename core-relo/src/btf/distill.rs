//! A split BTF made upon a distilled base, relocated onto the real one (libbpf: `btf__relocate`).
//!
//! A module built apart from its kernel carries, in `.BTF.base`, the few types of the kernel its own types refer to: names,
//! kinds and sizes without contents. Each is looked for in the kernel's BTF; the module's ids and names are then mapped.

use super::{Btf, BtfError, Kind, Type, rewrite};
use crate::{
    ids::{StrOffset, TypeId, to_u32},
    limits,
};
use alloc::{sync::Arc, vec, vec::Vec};
use hashbrown::{HashMap, HashSet};

/// Makes of `split`, which is split from `distilled`, a BTF split from `base`.
pub(super) fn relocate<'d>(
    split: &Btf<'_>,
    distilled: &Btf<'_>,
    base: Arc<Btf<'d>>,
) -> Result<Btf<'d>, BtfError> {
    let ids = map_types(split, distilled, &base)?;
    let strings = split.data.get(split.header.strings.clone()).unwrap_or_default();
    let mut names = Names {
        split,
        distilled_end: distilled.string_end(),
        base_end: base.string_end(),
        next: base.string_end().saturating_add(to_u32(strings.len())),
        known: HashMap::new(),
    };
    let (first, base_end) = (split.first_id(), base.end_id());
    let id = |old: TypeId| match old.0.checked_sub(first.0) {
        Some(own) => TypeId(base_end.0.saturating_add(own)),
        None => ids.get(old.index()).copied().unwrap_or_default(),
    };
    let bytes = rewrite::rewrite(split, id, |old, added| names.map(old, added));
    Btf::parse_split(bytes, base)
}

/// For each distilled type the base's id, by the distilled id.
fn map_types(split: &Btf<'_>, distilled: &Btf<'_>, base: &Btf<'_>) -> Result<Vec<TypeId>, BtfError> {
    let mut wanted: HashMap<&[u8], Vec<Type<'_>>> = HashMap::new();
    for ty in distilled.types() {
        let may_be_distilled = matches!(
            ty.kind(),
            Kind::Int | Kind::Float | Kind::Enum | Kind::Struct | Kind::Union | Kind::Fwd
        );
        if !may_be_distilled || ty.name().is_empty() {
            return Err(BtfError::NotDistilled { id: ty.id(), kind: ty.kind() });
        }
        wanted.entry(ty.name().as_bytes()).or_default().push(ty);
    }
    let embedded = embedded(split);
    let mut candidates: HashMap<&[u8], Vec<Type<'_>>> = HashMap::new();
    for ty in every(base).filter(|ty| wanted.contains_key(ty.name().as_bytes())) {
        candidates.entry(ty.name().as_bytes()).or_default().push(ty);
    }
    let mut ids = vec![TypeId::VOID; distilled.end_id().index()];
    for ty in distilled.types() {
        let named = candidates.get(ty.name().as_bytes()).map_or(&[][..], Vec::as_slice);
        let found = counterparts(ty, named, embedded.contains(&ty.id()));
        let ([one], Some(place)) = (found.as_slice(), ids.get_mut(ty.id().index())) else {
            let found = to_u32(found.len());
            return Err(BtfError::Distilled { id: ty.id(), kind: ty.kind(), found });
        };
        *place = *one;
    }
    Ok(ids)
}

/// The types of one name that `ty` may stand for. A size must agree for what is taken by value; for a composite that is only
/// pointed to, it decides among several.
fn counterparts(ty: Type<'_>, named: &[Type<'_>], embedded: bool) -> Vec<TypeId> {
    let same_size = |other: &Type<'_>| ty.size() == other.size();
    let fits = |other: &&Type<'_>| match ty.kind() {
        Kind::Int => other.kind() == Kind::Int && encoding(ty) == encoding(**other) && same_size(other),
        Kind::Float => other.kind() == Kind::Float && same_size(other),
        // The distilled form of both widths of enumeration.
        Kind::Enum => other.kind().is_enum() && same_size(other),
        // libbpf up to 1.7 asks here for the wrong type's flag.
        Kind::Fwd if ty.kflag() => {
            other.kind() == Kind::Union || (other.kind() == Kind::Fwd && other.kflag())
        }
        Kind::Fwd => other.kind() == Kind::Struct || (other.kind() == Kind::Fwd && !other.kflag()),
        kind => other.kind() == kind && (!embedded || same_size(other)),
    };
    let mut found: Vec<_> = named.iter().filter(fits).copied().collect();
    if found.len() > 1 && ty.kind().is_composite() {
        found.retain(same_size);
    }
    // A base may declare what it also defines.
    if found.len() > 1 && ty.kind() == Kind::Fwd {
        found.retain(|other| other.kind() != Kind::Fwd);
    }
    found.iter().map(|other| other.id()).collect()
}

fn encoding(ty: Type<'_>) -> Option<u8> {
    ty.int().map(|int| int.encoding)
}

/// The composites of the distilled base that a composite of the split BTF holds by value.
fn embedded(split: &Btf<'_>) -> HashSet<TypeId> {
    let mut found = HashSet::new();
    for member in split.types().flat_map(Type::members) {
        let mut at = member.ty;
        for _ in 0..limits::MODIFIER_HOPS {
            let Some(ty) = split.ty(at) else { break };
            match (ty.kind(), ty.array(), ty.target()) {
                (_, Some(array), _) => at = array.element,
                (kind, _, Some(target)) if kind.is_modifier_or_typedef() => at = target,
                (kind, ..) => {
                    if kind.is_composite() && at < split.first_id() {
                        found.insert(at);
                    }
                    break;
                }
            }
        }
    }
    found
}

/// All types of a BTF, its bases' first.
fn every<'b>(btf: &'b Btf<'_>) -> alloc::boxed::Box<dyn Iterator<Item = Type<'b>> + 'b> {
    match btf.base() {
        Some(base) => alloc::boxed::Box::new(every(base).chain(btf.types())),
        None => alloc::boxed::Box::new(btf.types()),
    }
}

/// Where names lie after the move: the split BTF's own behind the base's; those it took from the distilled base are added.
struct Names<'n> {
    split: &'n Btf<'n>,
    distilled_end: u32,
    base_end: u32,
    next: u32,
    known: HashMap<StrOffset, StrOffset>,
}

impl Names<'_> {
    fn map(&mut self, old: StrOffset, added: &mut Vec<u8>) -> StrOffset {
        if old.0 == 0 {
            return old;
        }
        if let Some(own) = old.0.checked_sub(self.distilled_end) {
            return StrOffset(self.base_end.saturating_add(own));
        }
        if let Some(known) = self.known.get(&old) {
            return *known;
        }
        let name = self.split.name(old).unwrap_or_default();
        let at = StrOffset(self.next.saturating_add(to_u32(added.len())));
        added.extend_from_slice(name.as_bytes());
        added.push(0);
        self.known.insert(old, at);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Endian,
        btf::{Builder, WalkError},
    };

    /// Builds a distilled base and a split BTF upon it, and moves that onto a base.
    fn moved(
        distilled: impl Fn(&mut Builder),
        split: impl Fn(&mut Builder),
        base: impl Fn(&mut Builder),
    ) -> Result<Btf<'static>, BtfError> {
        let mut results = [Endian::Little, Endian::Big].map(|endian| {
            let mut b = Builder::new(endian);
            distilled(&mut b);
            let small = b.finish();
            let mut s = Builder::split(&Btf::parse(small.clone()).unwrap());
            split(&mut s);
            let mut b = Builder::new(endian);
            base(&mut b);
            let base = Arc::new(Btf::parse(b.finish()).unwrap());
            Btf::relocate_split(s.finish(), small, base)
        });
        let [little, big] = &results;
        assert_eq!(little.as_ref().err(), big.as_ref().err(), "both byte orders agree");
        core::mem::replace(&mut results[0], Err(BtfError::BaseEndian))
    }

    fn one(b: &mut Builder) {
        b.structure("s", 8, &[]);
    }

    #[test]
    fn ids_and_names_are_the_real_bases() {
        let got = moved(
            |b| {
                b.int("int", 4, Builder::SIGNED);
                b.structure("s", 8, &[]);
                b.enumeration("e", 4, false, &[]);
                b.forward("f", false);
            },
            |b| {
                let int = TypeId(1);
                let s = b.pointer(TypeId(2));
                let own = b.structure("own", 24, &[("int", int, 0), ("s", s, 64), ("e", TypeId(3), 128)]);
                let f = b.pointer(TypeId(4));
                b.typedef("t", f);
                b.func_proto(own, &[("arg", f)]);
            },
            |b| {
                b.enumeration64("e", 4, false, &[("A", 1)]);
                b.structure("f", 8, &[]);
                b.int("unrelated", 4, 0);
                b.structure("s", 16, &[]);
                b.int("int", 4, Builder::SIGNED);
            },
        );
        let btf = got.unwrap();
        assert_eq!((btf.first_id(), btf.end_id()), (TypeId(6), TypeId(11)));
        let own = btf.ty(TypeId(7)).unwrap();
        let members: Vec<_> = own.members().map(|m| (m.name.as_bytes(), m.ty)).collect();
        let expected: [(&[u8], TypeId); 3] = [(b"int", TypeId(5)), (b"s", TypeId(6)), (b"e", TypeId(1))];
        assert_eq!(members, expected);
        assert_eq!(btf.ty(TypeId(6)).unwrap().target(), Some(TypeId(4)));
        assert_eq!(btf.strip(TypeId(9)).map(Type::target), Ok(Some(TypeId(2))));
        assert_eq!(btf.size_of(TypeId(9)), Ok(crate::ByteSize(8)));
        assert_eq!(btf.ty(TypeId(10)).unwrap().params().next().unwrap().name.as_bytes(), b"arg");
        assert!(matches!(btf.size_of(TypeId(10)), Err(WalkError::NoSize { .. })));
    }

    #[test]
    fn what_is_held_by_value_must_be_of_the_same_size() {
        let by_value = |b: &mut Builder| {
            b.structure("own", 8, &[("s", TypeId(1), 0)]);
        };
        let pointer = |b: &mut Builder| {
            b.pointer(TypeId(1));
        };
        let larger = |b: &mut Builder| {
            b.structure("s", 16, &[]);
        };
        let missing = BtfError::Distilled { id: TypeId(1), kind: Kind::Struct, found: 0 };
        assert_eq!(moved(one, by_value, larger).err(), Some(missing));
        assert!(moved(one, by_value, one).is_ok());
        assert!(moved(one, pointer, larger).is_ok());
    }

    #[test]
    fn several_of_one_name_are_told_apart_by_size_or_refused() {
        let pointer = |b: &mut Builder| {
            b.pointer(TypeId(1));
        };
        let two = |sizes: [u32; 2]| {
            move |b: &mut Builder| {
                for size in sizes {
                    b.structure("s", size, &[]);
                }
            }
        };
        let got = moved(one, pointer, two([16, 8])).unwrap();
        assert_eq!(got.ty(TypeId(3)).unwrap().target(), Some(TypeId(2)));
        let refused = |found| Some(BtfError::Distilled { id: TypeId(1), kind: Kind::Struct, found });
        assert_eq!(moved(one, pointer, two([8, 8])).err(), refused(2));
        assert_eq!(moved(one, pointer, |_| {}).err(), refused(0));
        assert_eq!(
            moved(one, pointer, |b| {
                b.union("s", 8, &[]);
            })
            .err(),
            refused(0)
        );
    }

    #[test]
    fn what_cannot_be_distilled_is_refused() {
        let typedef = |b: &mut Builder| {
            b.typedef("t", TypeId::VOID);
        };
        let got = moved(typedef, |_| {}, typedef).err();
        assert_eq!(got, Some(BtfError::NotDistilled { id: TypeId(1), kind: Kind::Typedef }));
        let anonymous = |b: &mut Builder| {
            b.structure("", 8, &[]);
        };
        let got = moved(anonymous, |_| {}, anonymous).err();
        assert_eq!(got, Some(BtfError::NotDistilled { id: TypeId(1), kind: Kind::Struct }));
    }
}
