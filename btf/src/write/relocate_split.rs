//! Relocation of a split BTF from its distilled base onto the real base (libbpf: `btf__relocate`).
//!
//! A module that is built out of tree has a distilled base in `.BTF.base`: the names, kinds and sizes of the
//! kernel types to which the module's types refer. Relocation finds each of these types in the kernel's BTF,
//! and replaces the module's references to the distilled base.

use super::rewrite::rewrite;
use crate::{
    data::Data,
    format::Kind,
    ids::{ByteSize, StrOffset, TypeId, to_u32},
    limits,
    name::Name,
    parse::{Btf, BtfError},
    view::Type,
};
use alloc::{sync::Arc, vec::Vec};
use hashbrown::{HashMap, HashSet};

impl<'d> Btf<'d> {
    /// Parses a split BTF and its `distilled` base (`.BTF.base`), and relocates the split BTF onto the real
    /// `base` (libbpf: `btf__relocate`).
    ///
    /// The result is a copy that refers only to `base`.
    pub fn relocate_split(
        data: impl Into<Data<'d>>,
        distilled: impl Into<Data<'d>>,
        base: Arc<Self>,
    ) -> Result<Self, BtfError> {
        let distilled = Arc::new(Self::parse(distilled)?);
        let split = Self::parse_split(data, Arc::clone(&distilled))?;
        relocate(&split, &distilled, base)
    }
}

/// Returns `split`, which is split from `distilled`, as a BTF split from `base`.
fn relocate<'d>(split: &Btf<'_>, distilled: &Btf<'_>, base: Arc<Btf<'d>>) -> Result<Btf<'d>, BtfError> {
    let ids = map_types(split, distilled, &base)?;
    let mut names = NameMap {
        split,
        distilled_end: distilled.string_end(),
        base_end: base.string_end(),
        added_start: base
            .string_end()
            .checked_add(to_u32(split.strings_section().len()))
            .ok_or(BtfError::TooManyTypes)?,
        appended: HashMap::new(),
    };
    let (first, base_end) = (split.first_id(), base.end_id());
    let map_id = |old: TypeId| match old.0.checked_sub(first.0) {
        // If the addition saturates, parsing rejects the result, because no such id exists.
        Some(own) => TypeId(base_end.0.saturating_add(own)),
        None => ids.get(old.index()).copied().unwrap_or(TypeId(u32::MAX)),
    };
    let bytes = rewrite(split, map_id, |old, added| names.map(old, added));
    Btf::parse_split(bytes, base)
}

/// Returns the id of each distilled type's counterpart in the base, indexed by the distilled id.
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
    let mut candidates = BaseTypes::default();
    for ty in base.all_types().filter(|ty| wanted.contains(&ty.name())) {
        candidates.insert(ty);
    }
    let embedded = embedded_types(split);
    let types = distilled.end_id().index();
    let mut ids = Vec::new();
    ids.try_reserve_exact(types).map_err(|_no_memory| BtfError::OutOfMemory { types })?;
    ids.resize(types, TypeId::VOID);
    for ty in distilled.types() {
        let matches = candidates.find(ty, embedded.contains(&ty.id()));
        let (1, Some(id)) = (matches.count, ids.get_mut(ty.id().index())) else {
            return Err(BtfError::Distilled { id: ty.id(), kind: ty.kind(), found: matches.count });
        };
        *id = matches.first;
    }
    Ok(ids)
}

/// The base's types, by the properties that a distilled type has in common with them.
///
/// With this map, hostile BTF with many types of one name takes no quadratic time.
#[derive(Default)]
struct BaseTypes<'b>(HashMap<TypeKey<'b>, Matches>);

/// The properties that a distilled type shares with its counterpart. Without a size, types of every size
/// match.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct TypeKey<'b> {
    name: Name<'b>,
    kind: DistilledKind,
    size: Option<ByteSize>,
}

/// The kind of a type in a distilled base.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum DistilledKind {
    Int {
        encoding: u8,
    },
    Float,
    /// An ENUM or ENUM64. Both are distilled to an ENUM.
    Enum,
    Struct,
    Union,
    Fwd {
        is_union: bool,
    },
}

/// The number of types with a key, and the first of them.
#[derive(Clone, Copy, Default)]
struct Matches {
    first: TypeId,
    count: u32,
}

impl<'b> BaseTypes<'b> {
    fn insert(&mut self, ty: Type<'b>) {
        let Some(kind) = DistilledKind::from_type(ty) else { return };
        self.insert_key(ty, kind, ty.size());
        if ty.kind().is_composite() {
            self.insert_key(ty, kind, None);
        }
    }

    fn insert_key(&mut self, ty: Type<'b>, kind: DistilledKind, size: Option<ByteSize>) {
        let matches = self.0.entry(TypeKey { name: ty.name(), kind, size }).or_default();
        if matches.count == 0 {
            matches.first = ty.id();
        }
        // Does not saturate: ids have 32 bits.
        matches.count = matches.count.saturating_add(1);
    }

    /// Returns the counterparts of a distilled type. The size of an embedded type must match. The size of any
    /// other composite only selects among several counterparts.
    ///
    /// A struct matches no other kind. libbpf up to 1.7 maps it to a union or an enum of its name, or reports
    /// the two as ambiguous.
    fn find(&self, ty: Type<'_>, is_embedded: bool) -> Matches {
        let Some(kind) = DistilledKind::from_type(ty) else { return Matches::default() };
        let get = |kind, size| {
            let found = self.0.get(&TypeKey { name: ty.name(), kind, size });
            found.map_or_else(Matches::default, |matches| *matches)
        };
        match kind {
            DistilledKind::Struct | DistilledKind::Union => match get(kind, None) {
                several if is_embedded || several.count > 1 => get(kind, ty.size()),
                single => single,
            },
            // A base may contain both a declaration and a definition. libbpf up to 1.7 reads the kflag of the
            // wrong type here.
            DistilledKind::Fwd { is_union } => {
                let definition = if is_union { DistilledKind::Union } else { DistilledKind::Struct };
                match get(definition, None) {
                    Matches { count: 0, .. } => get(kind, None),
                    defined => defined,
                }
            }
            DistilledKind::Int { .. } | DistilledKind::Float | DistilledKind::Enum => get(kind, ty.size()),
        }
    }
}

impl DistilledKind {
    fn from_type(ty: Type<'_>) -> Option<Self> {
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

/// Returns the composites of the distilled base that are members, by value, of composites of the split BTF.
fn embedded_types(split: &Btf<'_>) -> HashSet<TypeId> {
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

/// The mapping from old to new name offsets. The split BTF's own strings follow the base's strings. Names
/// from the distilled base follow the own strings.
struct NameMap<'n> {
    split: &'n Btf<'n>,
    distilled_end: u32,
    base_end: u32,
    /// The offset of the first appended name.
    added_start: u32,
    /// The new offset of each appended name, by its old offset.
    appended: HashMap<StrOffset, StrOffset>,
}

impl NameMap<'_> {
    fn map(&mut self, old: StrOffset, added: &mut Vec<u8>) -> StrOffset {
        if old.0 == 0 {
            return old;
        }
        if let Some(own) = old.0.checked_sub(self.distilled_end) {
            // If the addition saturates, parsing rejects the result, because no such offset exists.
            return StrOffset(self.base_end.saturating_add(own));
        }
        if let Some(new) = self.appended.get(&old) {
            return *new;
        }
        // Parsing has validated every name.
        let Some(name) = self.split.name(old) else { return StrOffset(u32::MAX) };
        let at = StrOffset(self.added_start.saturating_add(to_u32(added.len())));
        added.extend_from_slice(name.as_bytes());
        added.push(0);
        self.appended.insert(old, at);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, BuiltMember, Endian, WalkError};

    /// Relocates a split BTF from its distilled base onto a base.
    fn relocated(
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

    fn struct_of_8_bytes(b: &mut Builder) {
        b.structure("s", 8, &[]);
    }

    #[test]
    fn ids_and_names_are_the_real_bases() {
        let got = relocated(
            |b| {
                b.int("int", 4, Builder::SIGNED);
                b.structure("s", 8, &[]);
                b.enumeration("e", 4, &[]);
                b.forward("f", Kind::Struct);
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
                b.enumeration64("e", 4, &[("A", 1)]);
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
    fn an_embedded_type_has_the_same_size() {
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
        assert_eq!(relocated(struct_of_8_bytes, by_value, larger).err(), Some(missing));
        assert!(relocated(struct_of_8_bytes, by_value, struct_of_8_bytes).is_ok());
        assert!(relocated(struct_of_8_bytes, pointer, larger).is_ok());
    }

    #[test]
    fn several_types_of_one_name_differ_in_size_or_are_refused() {
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
        let got = relocated(struct_of_8_bytes, pointer, two([16, 8])).unwrap();
        assert_eq!(got.ty(TypeId(3)).unwrap().target(), Some(TypeId(2)));
        let refused = |found| Some(BtfError::Distilled { id: TypeId(1), kind: Kind::Struct, found });
        assert_eq!(relocated(struct_of_8_bytes, pointer, two([8, 8])).err(), refused(2));
        assert_eq!(relocated(struct_of_8_bytes, pointer, |_| {}).err(), refused(0));
        assert_eq!(
            relocated(struct_of_8_bytes, pointer, |b| {
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
        let from = |base| relocated(int(4, Builder::SIGNED), |_| {}, base).err();
        let missing = BtfError::Distilled { id: TypeId(1), kind: Kind::Int, found: 0 };
        assert_eq!(from(int(4, Builder::SIGNED)), None);
        assert_eq!(from(int(4, 0)), Some(missing));
        assert_eq!(from(int(8, Builder::SIGNED)), Some(missing));
        let twice = |b: &mut Builder| {
            int(4, Builder::SIGNED)(b);
            int(4, Builder::SIGNED)(b);
        };
        let error = relocated(int(4, Builder::SIGNED), |_| {}, twice).err();
        assert_eq!(error, Some(BtfError::Distilled { id: TypeId(1), kind: Kind::Int, found: 2 }));
    }

    #[test]
    fn an_enum_of_either_width_and_a_float_are_found_by_name_and_size() {
        let small = |b: &mut Builder| {
            b.enumeration("e", 8, &[]);
            b.float("f", 8);
        };
        let base = |size, wide: bool| {
            move |b: &mut Builder| {
                b.float("f", 8);
                if wide {
                    b.signed_enumeration64("e", size, &[("A", 1)]);
                } else {
                    b.signed_enumeration("e", size, &[("A", 1)]);
                }
            }
        };
        assert_eq!(relocated(small, |_| {}, base(8, true)).err(), None);
        assert_eq!(relocated(small, |_| {}, base(8, false)).err(), None);
        let missing = |id, kind| Some(BtfError::Distilled { id: TypeId(id), kind, found: 0 });
        assert_eq!(relocated(small, |_| {}, base(4, true)).err(), missing(1, Kind::Enum));
        let shorter = |b: &mut Builder| {
            b.float("f", 4);
            b.enumeration("e", 8, &[]);
        };
        assert_eq!(relocated(small, |_| {}, shorter).err(), missing(2, Kind::Float));
    }

    /// The id in the base that a distilled forward declaration of a struct or union is mapped to.
    fn declared(kind: Kind, base: impl Fn(&mut Builder)) -> Result<u32, BtfError> {
        let small = |b: &mut Builder| {
            b.forward("f", kind);
        };
        let split = |b: &mut Builder| {
            b.pointer(TypeId(1));
        };
        relocated(small, split, base).map(|btf| btf.ty(btf.first_id()).unwrap().size_or_type())
    }

    #[test]
    fn a_declaration_is_its_definition_of_any_size_or_else_a_declaration() {
        let missing = |found| Err(BtfError::Distilled { id: TypeId(1), kind: Kind::Fwd, found });
        let both = |b: &mut Builder| {
            b.forward("f", Kind::Struct);
            b.forward("f", Kind::Union);
            b.structure("f", 24, &[]);
            b.union("f", 8, &[]);
        };
        assert_eq!((declared(Kind::Struct, both), declared(Kind::Union, both)), (Ok(3), Ok(4)));
        let declarations = |b: &mut Builder| {
            b.forward("f", Kind::Struct);
            b.forward("f", Kind::Union);
        };
        assert_eq!(
            (declared(Kind::Struct, declarations), declared(Kind::Union, declarations)),
            (Ok(1), Ok(2))
        );
        let two = |b: &mut Builder| {
            b.structure("f", 8, &[]);
            b.structure("f", 16, &[]);
        };
        assert_eq!((declared(Kind::Struct, two), declared(Kind::Union, two)), (missing(2), missing(0)));
        let declared_twice = |b: &mut Builder| {
            b.forward("f", Kind::Struct);
            b.forward("f", Kind::Struct);
        };
        assert_eq!(declared(Kind::Struct, declared_twice), missing(2));
    }

    #[test]
    fn a_struct_with_bitfields_is_still_a_struct() {
        let base = |b: &mut Builder| {
            let int = b.int("int", 4, 0);
            let bit = BuiltMember { name: "bit", ty: int, bit_offset: 0, bitfield_bits: 1 };
            b.composite(Kind::Struct, "f", 4, &[bit]);
        };
        assert_eq!(declared(Kind::Struct, base), Ok(2));
    }

    #[test]
    fn types_behind_typedefs_arrays_and_modifiers_are_embedded() {
        let larger = |b: &mut Builder| {
            b.structure("s", 16, &[]);
        };
        let missing = BtfError::Distilled { id: TypeId(1), kind: Kind::Struct, found: 0 };
        let behind = |b: &mut Builder| {
            let s = b.modifier(Kind::Const, TypeId(1));
            let s = b.typedef("t", s);
            let s = b.type_tag("tag", s);
            let s = b.array(s, TypeId::VOID, 2);
            b.structure("", 16, &[("", s, 0)]);
        };
        assert_eq!(relocated(struct_of_8_bytes, behind, larger).err(), Some(missing));
        let circle = |b: &mut Builder| {
            let first = b.modifier(Kind::Const, TypeId(3));
            b.modifier(Kind::Volatile, first);
            b.structure("own", 16, &[("m", first, 0)]);
        };
        assert_eq!(
            relocated(struct_of_8_bytes, circle, larger).err(),
            None,
            "a circle of modifiers embeds nothing"
        );
    }

    #[test]
    fn a_composite_is_not_taken_for_another_kind_of_its_name() {
        let pointer = |b: &mut Builder| {
            b.pointer(TypeId(1));
        };
        let others = |b: &mut Builder| {
            b.union("s", 8, &[]);
            b.enumeration("s", 8, &[]);
            b.forward("s", Kind::Struct);
        };
        let missing = BtfError::Distilled { id: TypeId(1), kind: Kind::Struct, found: 0 };
        assert_eq!(relocated(struct_of_8_bytes, pointer, others).err(), Some(missing));
        let and_it = |b: &mut Builder| {
            others(b);
            b.structure("s", 16, &[]);
        };
        let btf = relocated(struct_of_8_bytes, pointer, and_it).unwrap();
        assert_eq!(btf.ty(btf.first_id()).unwrap().target(), Some(TypeId(4)));
    }

    #[test]
    fn two_distilled_types_may_stand_for_one() {
        let small = |b: &mut Builder| {
            b.structure("s", 8, &[]);
            b.forward("s", Kind::Struct);
        };
        let split = |b: &mut Builder| {
            b.pointer(TypeId(1));
            b.pointer(TypeId(2));
        };
        let btf = relocated(small, split, struct_of_8_bytes).unwrap();
        assert!(btf.types().all(|ty| ty.target() == Some(TypeId(1))));
    }

    #[test]
    fn a_name_borrowed_from_the_distilled_base_is_found_again() {
        let split = |b: &mut Builder| {
            b.structure("own", 8, &[("s", TypeId(1), 0), ("more", TypeId::VOID, 0), ("s", TypeId::VOID, 0)]);
        };
        let btf = relocated(struct_of_8_bytes, split, struct_of_8_bytes).unwrap();
        let own = btf.ty(btf.first_id()).unwrap();
        let names: Vec<_> = own.members().map(|m| m.name.as_bytes()).collect();
        let expected: [&[u8]; 3] = [b"s", b"more", b"s"];
        assert_eq!((own.name().as_bytes(), names.as_slice()), (&b"own"[..], &expected[..]));
        assert_eq!(btf.string_end() - btf.string_start(), 11, "own, more and, once, s");
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
        let btf = relocated(many, split, many).unwrap();
        assert_eq!(btf.ty(btf.first_id()).unwrap().target(), Some(TypeId(7)));
    }

    #[test]
    fn types_that_cannot_be_distilled_are_refused() {
        let typedef = |b: &mut Builder| {
            b.typedef("t", TypeId::VOID);
        };
        let got = relocated(typedef, |_| {}, typedef).err();
        assert_eq!(got, Some(BtfError::NotDistilled { id: TypeId(1), kind: Kind::Typedef }));
        let anonymous = |b: &mut Builder| {
            b.structure("", 8, &[]);
        };
        let got = relocated(anonymous, |_| {}, anonymous).err();
        assert_eq!(got, Some(BtfError::NotDistilled { id: TypeId(1), kind: Kind::Struct }));
    }
}
