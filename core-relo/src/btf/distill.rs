//! A split BTF made upon a distilled base, relocated onto the real one (libbpf: `btf__relocate`).
//!
//! A module built apart from its kernel carries, in `.BTF.base`, the few types of the kernel its own types refer to: names,
//! kinds and sizes without contents. Each is looked for in the kernel's BTF; the module's ids and names are then mapped.

use super::{Btf, BtfError, Kind, Type, rewrite};
use crate::{
    ids::{ByteSize, StrOffset, TypeId, to_u32},
    limits,
    name::Name,
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
    let mut wanted = HashSet::new();
    for ty in distilled.types() {
        let may_be_distilled = matches!(
            ty.kind(),
            Kind::Int | Kind::Float | Kind::Enum | Kind::Struct | Kind::Union | Kind::Fwd
        );
        if !may_be_distilled || ty.name().is_empty() {
            return Err(BtfError::NotDistilled { id: ty.id(), kind: ty.kind() });
        }
        wanted.insert(ty.name());
    }
    let mut tallies = Tallies::default();
    for ty in every(base).filter(|ty| wanted.contains(&ty.name())) {
        tallies.count(ty);
    }
    let embedded = embedded(split);
    let mut ids = vec![TypeId::VOID; distilled.end_id().index()];
    for ty in distilled.types() {
        let tally = tallies.counterparts(ty, embedded.contains(&ty.id()));
        let (1, Some(place)) = (tally.found, ids.get_mut(ty.id().index())) else {
            return Err(BtfError::Distilled { id: ty.id(), kind: ty.kind(), found: tally.found });
        };
        *place = tally.first;
    }
    Ok(ids)
}

/// The base's types by what a distilled type may know of them.
///
/// Counted once and then looked up: types of one name and all sizes must not be compared each with each.
#[derive(Default)]
struct Tallies<'b>(HashMap<Mark<'b>, Tally>);

/// What a type has in common with its counterpart; the size only where it is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Mark<'b> {
    name: Name<'b>,
    shape: Shape,
    size: Option<ByteSize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Shape {
    Int {
        encoding: u8,
    },
    Float,
    /// Of either width: both are distilled to the narrow one.
    Enum,
    Struct,
    Union,
    Fwd {
        is_union: bool,
    },
}

/// How many types bear a mark, and the first of them.
#[derive(Clone, Copy, Default)]
struct Tally {
    first: TypeId,
    found: u32,
}

impl<'b> Tallies<'b> {
    fn count(&mut self, ty: Type<'b>) {
        let Some(shape) = Shape::of(ty) else { return };
        self.add(ty, shape, ty.size());
        if ty.kind().is_composite() {
            self.add(ty, shape, None);
        }
    }

    fn add(&mut self, ty: Type<'b>, shape: Shape, size: Option<ByteSize>) {
        let tally = self.0.entry(Mark { name: ty.name(), shape, size }).or_default();
        if tally.found == 0 {
            tally.first = ty.id();
        }
        tally.found = tally.found.saturating_add(1);
    }

    /// The types that `ty` may stand for. A size must agree for what is taken by value; for a composite that is only pointed
    /// to, it decides among several.
    ///
    /// A struct is never taken for another kind of its name: libbpf up to 1.7 maps it to a union or an enum, or finds the two
    /// ambiguous.
    fn counterparts(&self, ty: Type<'_>, embedded: bool) -> Tally {
        let Some(shape) = Shape::of(ty) else { return Tally::default() };
        let get =
            |shape, size| self.0.get(&Mark { name: ty.name(), shape, size }).copied().unwrap_or_default();
        match shape {
            Shape::Struct | Shape::Union => match get(shape, None) {
                several if embedded || several.found > 1 => get(shape, ty.size()),
                one => one,
            },
            // A base may declare what it also defines. libbpf up to 1.7 asks here for the wrong type's flag.
            Shape::Fwd { is_union } => match get(if is_union { Shape::Union } else { Shape::Struct }, None) {
                Tally { found: 0, .. } => get(shape, None),
                defined => defined,
            },
            Shape::Int { .. } | Shape::Float | Shape::Enum => get(shape, ty.size()),
        }
    }
}

impl Shape {
    fn of(ty: Type<'_>) -> Option<Self> {
        Some(match ty.kind() {
            Kind::Int => Self::Int { encoding: ty.int()?.encoding },
            Kind::Float => Self::Float,
            Kind::Enum | Kind::Enum64 => Self::Enum,
            Kind::Struct => Self::Struct,
            Kind::Union => Self::Union,
            Kind::Fwd => Self::Fwd { is_union: ty.kflag() },
            _ => return None,
        })
    }
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
        btf::{Builder, BuiltMember, WalkError},
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
        assert_eq!(btf.size_of(TypeId(9)), Ok(ByteSize(8)));
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
    fn an_integer_is_found_by_name_size_and_encoding() {
        let int = |size, encoding| {
            move |b: &mut Builder| {
                b.int("int", size, encoding);
            }
        };
        let from = |base| moved(int(4, Builder::SIGNED), |_| {}, base).err();
        let missing = BtfError::Distilled { id: TypeId(1), kind: Kind::Int, found: 0 };
        assert_eq!(from(int(4, Builder::SIGNED)), None);
        assert_eq!(from(int(4, 0)), Some(missing));
        assert_eq!(from(int(8, Builder::SIGNED)), Some(missing));
        let twice = |b: &mut Builder| {
            int(4, Builder::SIGNED)(b);
            int(4, Builder::SIGNED)(b);
        };
        let error = moved(int(4, Builder::SIGNED), |_| {}, twice).err();
        assert_eq!(error, Some(BtfError::Distilled { id: TypeId(1), kind: Kind::Int, found: 2 }));
    }

    #[test]
    fn an_enum_of_either_width_and_a_float_are_found_by_name_and_size() {
        let small = |b: &mut Builder| {
            b.enumeration("e", 8, false, &[]);
            b.float("f", 8);
        };
        let base = |size, wide: bool| {
            move |b: &mut Builder| {
                b.float("f", 8);
                if wide {
                    b.enumeration64("e", size, true, &[("A", 1)]);
                } else {
                    b.enumeration("e", size, true, &[("A", 1)]);
                }
            }
        };
        assert_eq!(moved(small, |_| {}, base(8, true)).err(), None);
        assert_eq!(moved(small, |_| {}, base(8, false)).err(), None);
        let missing = |id, kind| Some(BtfError::Distilled { id: TypeId(id), kind, found: 0 });
        assert_eq!(moved(small, |_| {}, base(4, true)).err(), missing(1, Kind::Enum));
        let shorter = |b: &mut Builder| {
            b.float("f", 4);
            b.enumeration("e", 8, false, &[]);
        };
        assert_eq!(moved(small, |_| {}, shorter).err(), missing(2, Kind::Float));
    }

    /// The id in the base that a distilled forward declaration, of a union if `is_union`, is mapped to.
    fn declared(is_union: bool, base: impl Fn(&mut Builder)) -> Result<u32, BtfError> {
        let small = |b: &mut Builder| {
            b.forward("f", is_union);
        };
        let split = |b: &mut Builder| {
            b.pointer(TypeId(1));
        };
        moved(small, split, base).map(|btf| btf.ty(btf.first_id()).unwrap().size_or_type())
    }

    #[test]
    fn a_declaration_is_its_definition_of_any_size_or_else_a_declaration() {
        let missing = |found| Err(BtfError::Distilled { id: TypeId(1), kind: Kind::Fwd, found });
        let both = |b: &mut Builder| {
            b.forward("f", false);
            b.forward("f", true);
            b.structure("f", 24, &[]);
            b.union("f", 8, &[]);
        };
        assert_eq!((declared(false, both), declared(true, both)), (Ok(3), Ok(4)));
        let declarations = |b: &mut Builder| {
            b.forward("f", false);
            b.forward("f", true);
        };
        assert_eq!((declared(false, declarations), declared(true, declarations)), (Ok(1), Ok(2)));
        let two = |b: &mut Builder| {
            b.structure("f", 8, &[]);
            b.structure("f", 16, &[]);
        };
        assert_eq!((declared(false, two), declared(true, two)), (missing(2), missing(0)));
        let declared_twice = |b: &mut Builder| {
            b.forward("f", false);
            b.forward("f", false);
        };
        assert_eq!(declared(false, declared_twice), missing(2));
    }

    #[test]
    fn a_struct_with_bitfields_is_still_a_struct() {
        let base = |b: &mut Builder| {
            let int = b.int("int", 4, 0);
            let bit = BuiltMember { name: "bit", ty: int, bit_offset: 0, bitfield_bits: 1 };
            b.composite(Kind::Struct, "f", 4, &[bit]);
        };
        assert_eq!(declared(false, base), Ok(2));
    }

    #[test]
    fn what_is_embedded_behind_typedefs_arrays_and_modifiers_is_held_by_value() {
        let larger = |b: &mut Builder| {
            b.structure("s", 16, &[]);
        };
        let missing = BtfError::Distilled { id: TypeId(1), kind: Kind::Struct, found: 0 };
        let behind = |b: &mut Builder| {
            let s = b.modifier(Kind::Const, TypeId(1));
            let s = b.typedef("t", s);
            let s = b.type_tag("tag", s, false);
            let s = b.array(s, TypeId::VOID, 2);
            b.structure("", 16, &[("", s, 0)]);
        };
        assert_eq!(moved(one, behind, larger).err(), Some(missing));
        let circle = |b: &mut Builder| {
            let first = b.modifier(Kind::Const, TypeId(3));
            b.modifier(Kind::Volatile, first);
            b.structure("own", 16, &[("m", first, 0)]);
        };
        assert_eq!(moved(one, circle, larger).err(), None, "a circle of modifiers embeds nothing");
    }

    #[test]
    fn a_composite_is_not_taken_for_another_kind_of_its_name() {
        let pointer = |b: &mut Builder| {
            b.pointer(TypeId(1));
        };
        let others = |b: &mut Builder| {
            b.union("s", 8, &[]);
            b.enumeration("s", 8, false, &[]);
            b.forward("s", false);
        };
        let missing = BtfError::Distilled { id: TypeId(1), kind: Kind::Struct, found: 0 };
        assert_eq!(moved(one, pointer, others).err(), Some(missing));
        let and_it = |b: &mut Builder| {
            others(b);
            b.structure("s", 16, &[]);
        };
        let btf = moved(one, pointer, and_it).unwrap();
        assert_eq!(btf.ty(btf.first_id()).unwrap().target(), Some(TypeId(4)));
    }

    #[test]
    fn two_distilled_types_may_stand_for_one() {
        let small = |b: &mut Builder| {
            b.structure("s", 8, &[]);
            b.forward("s", false);
        };
        let split = |b: &mut Builder| {
            b.pointer(TypeId(1));
            b.pointer(TypeId(2));
        };
        let btf = moved(small, split, one).unwrap();
        assert!(btf.types().all(|ty| ty.target() == Some(TypeId(1))));
    }

    #[test]
    fn a_name_borrowed_from_the_distilled_base_is_found_again() {
        let split = |b: &mut Builder| {
            b.structure("own", 8, &[("s", TypeId(1), 0), ("more", TypeId::VOID, 0), ("s", TypeId::VOID, 0)]);
        };
        let btf = moved(one, split, one).unwrap();
        let own = btf.ty(btf.first_id()).unwrap();
        let names: Vec<_> = own.members().map(|m| m.name.as_bytes()).collect();
        let expected: [&[u8]; 3] = [b"s", b"more", b"s"];
        assert_eq!((own.name().as_bytes(), names.as_slice()), (&b"own"[..], &expected[..]));
        assert_eq!(btf.string_end() - btf.string_start, 11, "own, more and, once, s");
    }

    /// Comparing each with each would take minutes here.
    #[test]
    fn many_of_one_name_take_no_longer_than_many_names() {
        let many = |b: &mut Builder| {
            for size in 0..30_000 {
                b.structure("s", size, &[]);
            }
        };
        let split = |b: &mut Builder| {
            b.pointer(TypeId(7));
        };
        let btf = moved(many, split, many).unwrap();
        assert_eq!(btf.ty(btf.first_id()).unwrap().target(), Some(TypeId(7)));
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
