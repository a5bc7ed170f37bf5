//! Split BTF: ids, names and searches through several levels of bases.

use crate::{
    Btf, BtfError, Builder, BuiltRecord, Endian, Kind, Type,
    ids::{ByteSize, StrOffset, TypeId},
    limits,
};
use alloc::{sync::Arc, vec::Vec};

const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];

/// A BTF of `int` and `struct s { int a; }`.
fn base(endian: Endian) -> Arc<Btf<'static>> {
    let mut b = Builder::new(endian);
    let int = b.int("int", 4, Builder::SIGNED);
    b.structure("s", 4, &[("a", int, 0)]);
    Arc::new(Btf::parse(b.finish()).unwrap())
}

fn build_split<T>(base: &Arc<Btf<'static>>, build: impl Fn(&mut Builder) -> T) -> Arc<Btf<'static>> {
    let mut b = Builder::split(base);
    build(&mut b);
    Arc::new(Btf::parse_split(b.finish(), Arc::clone(base)).unwrap())
}

#[test]
fn ids_and_names_continue_through_several_levels() {
    for endian in ORDERS {
        let base = base(endian);
        let middle = build_split(&base, |b| {
            b.typedef("t", TypeId(2));
            b.structure("own", 8, &[("of_base", TypeId(2), 0), ("of_own", TypeId(3), 32)]);
        });
        let top = build_split(&middle, |b| {
            b.pointer(TypeId(4));
            b.structure("s", 99, &[]);
        });
        let ends = [&base, &middle, &top].map(|btf| (btf.first_id().0, btf.end_id().0));
        assert_eq!(ends, [(1, 3), (3, 5), (5, 7)]);
        let strings = [&base, &middle, &top].map(|btf| (btf.string_start(), btf.string_end()));
        assert_eq!(strings, [(0, 9), (9, 30), (30, 32)]);
        let name = |at| top.name(StrOffset(at)).map(|name| name.as_bytes().to_vec());
        assert_eq!(name(0).unwrap(), b"");
        assert_eq!(name(1).unwrap(), b"int");
        assert_eq!(name(9).unwrap(), b"t");
        assert_eq!(name(14).unwrap(), b"", "the end of a string is one");
        assert_eq!(name(30).unwrap(), b"s");
        assert_eq!(name(32), None);
        let names: Vec<_> = (0..7).map(|id| top.ty(TypeId(id)).unwrap().name().as_bytes()).collect();
        let expected: [&[u8]; 7] = [b"", b"int", b"s", b"t", b"own", b"", b"s"];
        assert_eq!(names, expected);
        assert!(top.ty(TypeId(7)).is_none());
        let own: Vec<_> = top.types().map(Type::id).collect();
        assert_eq!(own, [TypeId(5), TypeId(6)], "types() are the BTF's own");
        assert_eq!(top.find(b"s", Kind::Struct).unwrap().id(), TypeId(2), "the base's first");
        assert_eq!(top.find(b"own", Kind::Struct).unwrap().members().count(), 2);
        assert_eq!(top.find(b"own", Kind::Union).map(Type::id), None);
        assert_eq!(top.size_of(TypeId(3)), Ok(ByteSize(4)));
        assert_eq!(top.ty(TypeId(1)).unwrap().btf().end_id(), TypeId(3), "a type knows whose it is");
        assert_eq!(top.base().unwrap().base().unwrap().base().map(|_| ()), None);
    }
}

#[test]
fn a_split_btf_without_strings_of_its_own_is_sound_and_one_without_a_base_is_not() {
    for endian in ORDERS {
        let base = base(endian);
        let anonymous = build_split(&base, |b| {
            b.pointer(TypeId(2));
            b.raw(
                "",
                BuiltRecord { vlen: 1, size_or_type: 4, words: &[1, 1, 0], ..BuiltRecord::new(Kind::Struct) },
            );
        });
        assert_eq!(anonymous.string_end(), base.string_end());
        let member = anonymous.ty(TypeId(4)).unwrap().member(0).unwrap();
        assert_eq!(member.name.as_bytes(), b"int", "names may be the base's");
        let above = build_split(&anonymous, |b| {
            b.typedef("above", TypeId(4));
        });
        assert_eq!(above.ty(TypeId(5)).unwrap().name().as_bytes(), b"above");

        let mut b = Builder::split(&base);
        b.pointer(TypeId(2));
        let alone = Btf::parse(b.finish()).err();
        assert_eq!(alone, Some(BtfError::Strings { must: "contain anything", split_without_base: false }));
        b.typedef("t", TypeId(2));
        let alone = Btf::parse(b.finish()).err();
        assert_eq!(alone, Some(BtfError::Strings { must: "begin with NUL", split_without_base: true }));
    }
}

#[test]
fn strings_end_with_nul_split_or_not() {
    for endian in ORDERS {
        let unended = BtfError::Strings { must: "end with NUL", split_without_base: false };
        let base = base(endian);
        let mut b = Builder::split(&base);
        b.typedef("t", TypeId(1));
        let mut data = b.finish();
        *data.last_mut().unwrap() = b'x';
        assert_eq!(Btf::parse_split(data, Arc::clone(&base)).err(), Some(unended));
        let mut data = base.as_bytes().to_vec();
        *data.last_mut().unwrap() = b'x';
        assert_eq!(Btf::parse(data).err(), Some(unended));
    }
}

#[test]
fn base_and_split_are_of_one_byte_order() {
    for [one, other] in [ORDERS, [Endian::Big, Endian::Little]] {
        let split = Builder::split(&base(one)).finish();
        assert!(Btf::parse_split(split.clone(), base(one)).is_ok());
        assert_eq!(Btf::parse_split(split, base(other)).err(), Some(BtfError::BaseEndian));
    }
}

#[test]
fn levels_are_limited() {
    for endian in ORDERS {
        let mut top = base(endian);
        for _ in 1..limits::SPLIT_LEVELS {
            top = build_split(&top, |b| b.pointer(TypeId(1)));
        }
        assert_eq!(top.ty(TypeId(1)).unwrap().name().as_bytes(), b"int");
        let one_more = Btf::parse_split(Builder::split(&top).finish(), top).err();
        assert_eq!(one_more, Some(BtfError::TooManyBases { limit: limits::SPLIT_LEVELS }));
    }
}

#[test]
fn the_size_of_pointers_is_the_bases() {
    for endian in ORDERS {
        let mut b = Builder::new(endian);
        b.int("long", 4, Builder::SIGNED);
        let base = Arc::new(Btf::parse(b.finish()).unwrap());
        let top = build_split(&base, |b| b.int("long", 8, Builder::SIGNED));
        assert_eq!(top.pointer_size(), ByteSize(4));
    }
}
