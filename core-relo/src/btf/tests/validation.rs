//! Validation checks every word of an element that refers to a name or a type, wherever the record lies, and no other word.
#![expect(clippy::arithmetic_side_effects, reason = "offsets and numbers that the tests choose")]

use crate::{
    btf::{
        Btf, BtfError, Builder, Kind, Type,
        format::{References, Word},
        parse::Validation,
    },
    endian::Endian,
    ids::{TypeId, to_usize},
};
use alloc::{sync::Arc, vec, vec::Vec};

const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];

/// Numbers of elements.
const COUNTS: [u32; 5] = [0, 1, 3, 4, 13];

type Base = Option<Arc<Btf<'static>>>;

/// Returns no base, and a base.
fn bases(endian: Endian) -> [Base; 2] {
    let mut b = Builder::new(endian);
    let int = b.int("int", 4, Builder::SIGNED);
    b.func_proto(int, &[]);
    [None, Some(Arc::new(Btf::parse(b.finish()).unwrap()))]
}

/// Returns a builder with an int and a prototype. Types 1 and 2 are such types with and without a base.
fn builder(endian: Endian, base: &Base) -> Builder {
    let mut b = base.as_ref().map_or_else(|| Builder::new(endian), |base| Builder::split(base));
    let int = b.int("int", 4, Builder::SIGNED);
    b.func_proto(int, &[]);
    b
}

/// Adds a record. Each word of its elements is 1, which is a valid name and a valid type.
fn record(b: &mut Builder, kind: Kind, count: u32) -> TypeId {
    let words = kind.layout().unwrap().size().trailer_words(count);
    b.raw("", kind, count, false, 0, &vec![1; words])
}

fn kinds() -> impl Iterator<Item = (Kind, u32)> {
    let counted = [Kind::Struct, Kind::Union, Kind::Enum, Kind::Enum64, Kind::FuncProto, Kind::Datasec];
    let counted = counted.into_iter().flat_map(|kind| COUNTS.map(|count| (kind, count)));
    counted.chain([(Kind::Array, 0), (Kind::Array, 2), (Kind::Array, 0xffff)])
}

/// Parses with the fast path and without, and returns the common result.
fn parse(data: &[u8], base: &Base) -> Result<Btf<'static>, BtfError> {
    let [fast, slow] = [Validation::All, Validation::AllWithoutFastPath]
        .map(|validation| Btf::parse_with(data.to_vec().into(), base.clone(), validation));
    assert_eq!(fast.as_ref().err(), slow.as_ref().err());
    slow
}

/// Changes each word of the elements of some types to the highest valid value, and to values that are too high.
fn change_each_word(data: &[u8], base: &Base, ids: &[TypeId]) {
    let mut data = data.to_vec();
    let btf = parse(&data, base).unwrap();
    let (types, types_start) = (btf.types_section(), 24);
    for id in ids {
        let ty = btf.ty(*id).unwrap();
        let start = types_start + btf.table.offset(btf.place_of(*id).unwrap(), types.len()).unwrap();
        let len = to_usize(ty.kind().layout().unwrap().size().record_len(ty.vlen()));
        let mut ends = vec![None; len / 4];
        for (number, meaning) in References::new(ty.kind(), len / 4) {
            ends[number] = Some(if meaning == Word::Name { btf.string_end() } else { btf.end_id().0 });
        }
        for (at, end) in (start..).step_by(4).zip(ends).skip(3) {
            let before: [u8; 4] = data[at..at + 4].try_into().unwrap();
            let set = |data: &mut Vec<u8>, word| {
                data[at..at + 4].copy_from_slice(&btf.endian().u32_bytes(word));
            };
            set(&mut data, end.map_or(u32::MAX, |end| end - 1));
            assert!(parse(&data, base).is_ok(), "the highest value, at {at} of {ty:?}");
            for wrong in end.into_iter().flat_map(|end| [end, 0x7fff_ffff, 0x8000_0000, u32::MAX]) {
                set(&mut data, wrong);
                assert!(parse(&data, base).is_err(), "{wrong:#x}, at {at} of {ty:?}");
            }
            data[at..at + 4].copy_from_slice(&before);
        }
    }
}

#[test]
fn every_word_of_an_element_is_validated() {
    for endian in ORDERS {
        for base in bases(endian) {
            for ((kind, count), following) in
                kinds().flat_map(|kind| [0, 1].map(|following| (kind, following)))
            {
                let mut b = builder(endian, &base);
                let id = record(&mut b, kind, count);
                for _ in 0..following {
                    b.forward("int", false);
                }
                change_each_word(&b.finish(), &base, &[id]);
            }
        }
    }
}

/// Builds a BTF of many blocks of records, some of which are long.
fn large(endian: Endian, base: &Base) -> (Vec<u8>, Vec<TypeId>) {
    let mut b = builder(endian, base);
    let proto = TypeId(2);
    let mut all = Vec::new();
    for round in 0..7 {
        for (kind, count) in kinds() {
            all.push(record(&mut b, kind, count));
            if all.len() % 23 == 0 {
                all.push(record(&mut b, Kind::Enum, 3000));
            }
            for _ in 0..round % 7 {
                b.func("int", proto, 1);
            }
        }
    }
    (b.finish(), all)
}

#[test]
fn every_word_is_validated_in_any_block() {
    for endian in ORDERS {
        for base in bases(endian) {
            let (data, all) = large(endian, &base);
            let btf = parse(&data, &base).unwrap();
            let is_short = |id: &&TypeId| btf.ty(**id).unwrap().vlen() < 10;
            let sample: Vec<_> = all.iter().filter(is_short).step_by(23).copied().collect();
            assert!(sample.len() > 5, "{}", sample.len());
            change_each_word(&data, &base, &sample);
        }
    }
}

#[test]
fn a_func_in_any_block_refers_to_a_prototype() {
    for endian in ORDERS {
        for base in bases(endian) {
            let (good, _) = large(endian, &base);
            let btf = parse(&good, &base).unwrap();
            let ids = |kind| btf.types().filter(move |ty| ty.kind() == kind).map(Type::id);
            let (funcs, last) = (ids(Kind::Func).collect::<Vec<_>>(), ids(Kind::FuncProto).last().unwrap());
            for func in funcs.iter().step_by(funcs.len() / 9).chain(funcs.last()) {
                let place = btf.place_of(*func).unwrap();
                let at = 24 + btf.table.offset(place, btf.types_section().len()).unwrap() + 8;
                let is_valid = |target: TypeId| {
                    let mut data = good.clone();
                    data[at..at + 4].copy_from_slice(&endian.u32_bytes(target.0));
                    parse(&data, &base).is_ok()
                };
                assert!(is_valid(last) && is_valid(TypeId(2)));
                let wrong = [0, 1, func.0, btf.end_id().0 - 1, btf.end_id().0, u32::MAX];
                assert!(!wrong.map(TypeId).into_iter().any(is_valid));
            }
        }
    }
}
