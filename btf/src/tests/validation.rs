//! Tests of validation: every word of an element that refers to a name or a type is checked, at any position
//! in the type section. Other words may have any value.
#![expect(clippy::arithmetic_side_effects, reason = "offsets and numbers that the tests choose")]

use crate::{
    Btf, BtfError, Builder, BuiltRecord, Kind, Type,
    endian::Endian,
    format::{References, WordMeaning},
    ids::{TypeId, to_usize},
    parse::Validation,
};
use alloc::{sync::Arc, vec, vec::Vec};

const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];

/// Element counts of the tested records.
const COUNTS: [u32; 5] = [0, 1, 3, 4, 13];

type Base = Option<Arc<Btf<'static>>>;

/// Returns the two cases of each test: a BTF without a base, and a split BTF with a base.
fn bases(endian: Endian) -> [Base; 2] {
    let mut b = Builder::new(endian);
    let int = b.int("int", 4, Builder::SIGNED);
    b.func_proto(int, &[]);
    [None, Some(Arc::new(Btf::parse(b.finish()).unwrap()))]
}

/// Returns a builder with an INT and a FUNC_PROTO. Type 1 is an INT and type 2 a FUNC_PROTO, in the base if
/// there is one.
fn builder(endian: Endian, base: &Base) -> Builder {
    let mut b = base.as_ref().map_or_else(|| Builder::new(endian), |base| Builder::split(base));
    let int = b.int("int", 4, Builder::SIGNED);
    b.func_proto(int, &[]);
    b
}

/// Adds a record whose words after the third are all 1, which is a valid name offset and a valid type id.
fn record(b: &mut Builder, kind: Kind, count: u32) -> TypeId {
    let words = kind.layout().unwrap().size().trailer_words(count);
    b.raw("", BuiltRecord { vlen: count, words: &vec![1; words], ..BuiltRecord::new(kind) })
}

/// Returns the kinds with elements, each with several values of vlen. The vlen of an ARRAY does not change
/// the record's length.
fn kinds() -> impl Iterator<Item = (Kind, u32)> {
    let counted = [Kind::Struct, Kind::Union, Kind::Enum, Kind::Enum64, Kind::FuncProto, Kind::Datasec];
    let counted = counted.into_iter().flat_map(|kind| COUNTS.map(|count| (kind, count)));
    counted.chain([(Kind::Array, 0), (Kind::Array, 2), (Kind::Array, 0xffff)])
}

/// Parses with the fast path and without, and returns the result, which must be the same for errors.
fn parse(data: &[u8], base: &Base) -> Result<Btf<'static>, BtfError> {
    let [fast, slow] = [Validation::All, Validation::AllWithoutFastPath]
        .map(|validation| Btf::parse_with(data.to_vec().into(), base.clone(), validation));
    assert_eq!(fast.as_ref().err(), slow.as_ref().err());
    slow
}

/// Changes each word of the elements of some types to the highest valid value, and to values that are too
/// high.
fn change_each_word(data: &[u8], base: &Base, ids: &[TypeId]) {
    let mut data = data.to_vec();
    let btf = parse(&data, base).unwrap();
    let (types, types_start) = (btf.types_section(), 24);
    for id in ids {
        let ty = btf.ty(*id).unwrap();
        let start = types_start + btf.table.offset(btf.own_index(*id).unwrap(), types.len()).unwrap();
        let len = to_usize(ty.kind().layout().unwrap().size().record_len(ty.vlen()));
        let mut ends = vec![None; len / 4];
        for (index, meaning) in References::new(ty.kind(), len / 4) {
            ends[index] = Some(if meaning == WordMeaning::Name { btf.string_end() } else { btf.end_id().0 });
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
                    b.forward("int", Kind::Struct);
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
                let own_index = btf.own_index(*func).unwrap();
                let at = 24 + btf.table.offset(own_index, btf.types_section().len()).unwrap() + 8;
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
