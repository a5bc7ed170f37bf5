//! Every word of an element that refers to something is looked at, wherever its record lies, and no other.
#![expect(clippy::arithmetic_side_effects, reason = "places and numbers that the tests choose")]

use crate::{
    btf::{
        Btf, Builder, Kind, Way,
        elements::{Bounds, are_there},
        halves,
        header::Header,
        heads,
        quick::{self, HEAD, Room},
        reference::{self, Reference},
        table::BLOCK,
    },
    endian::Endian,
    ids::{TypeId, to_u32, to_usize},
};
use alloc::{sync::Arc, vec, vec::Vec};

const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];

/// Fewer elements than are looked at together, as many, and more.
const COUNTS: [u32; 11] = [0, 1, 3, 4, 5, 6, 7, 8, 9, 12, 13];

type Base = Option<Arc<Btf<'static>>>;

/// Without a base, and with one.
fn bases(endian: Endian) -> [Base; 2] {
    let mut b = Builder::new(endian);
    let int = b.int("int", 4, Builder::SIGNED);
    b.func_proto(int, &[]);
    [None, Some(Arc::new(Btf::parse(b.finish()).unwrap()))]
}

/// Begins with an int and a prototype, as types 1 and 2 if there is no base, which has such.
fn builder(endian: Endian, base: &Base) -> Builder {
    let mut b = base.as_ref().map_or_else(|| Builder::new(endian), |base| Builder::split(base));
    let int = b.int("int", 4, Builder::SIGNED);
    b.func_proto(int, &[]);
    b
}

/// A record each word of whose elements is 1, which is a name and a type.
fn record(b: &mut Builder, kind: Kind, count: u32) -> TypeId {
    let shape = kind.record_shape().unwrap();
    let words = (u32::from(shape.fixed) + count * u32::from(shape.each)) / 4;
    b.raw("", kind, count, false, 0, &vec![1; to_usize(words)])
}

fn kinds() -> impl Iterator<Item = (Kind, u32)> {
    let counted = [Kind::Struct, Kind::Union, Kind::Enum, Kind::Enum64, Kind::FuncProto, Kind::Datasec];
    let counted = counted.into_iter().flat_map(|kind| COUNTS.map(|count| (kind, count)));
    counted.chain([(Kind::Array, 0), (Kind::Array, 2), (Kind::Array, 0xffff)])
}

fn is_taken(data: &[u8], base: &Base) -> bool {
    let header = Header::parse(data).unwrap();
    let (first_id, names) = base.as_ref().map_or((TypeId(1), 0), |base| (base.end_id(), base.string_end()));
    let end = names.saturating_add(header.string_len());
    quick::read(data, &header, base.as_deref(), first_id, end, Way::Quick).is_some()
}

/// Changes each word of the elements of some types: the last that there is does, one more does not.
fn look_at_each_word(data: &[u8], base: &Base, ids: &[TypeId]) {
    assert!(is_taken(data, base), "{ids:?}");
    let mut data = data.to_vec();
    let btf = Btf::parse_by(data.clone().into(), base.clone(), Way::Long).unwrap();
    let (names, end) = (btf.string_end(), btf.end_id().0);
    for id in ids {
        let ty = btf.ty(*id).unwrap();
        let start = btf.table.offset(to_usize(id.0 - btf.first_id.0), btf.header.types.end).unwrap();
        let words = ty.kind().record_shape().unwrap();
        let is_array = ty.kind() == Kind::Array;
        let len = to_usize(words.record_len(if is_array { 0 } else { ty.vlen() }));
        let mut ends = vec![None; len / 4];
        reference::each(ty, btf.endian(), |at, to| {
            ends[at / 4] = Some(match to {
                Reference::Name(_) => names,
                Reference::Id(_) => end,
            });
        });
        for (at, end) in (start..).step_by(4).zip(ends).skip(3) {
            let before: [u8; 4] = data[at..at + 4].try_into().unwrap();
            let set = |data: &mut Vec<u8>, word| {
                data[at..at + 4].copy_from_slice(&btf.endian().u32_bytes(word));
            };
            set(&mut data, end.map_or(u32::MAX, |end| end - 1));
            assert!(is_taken(&data, base), "the last there is, at {at} of {ty:?}");
            for wrong in end.into_iter().flat_map(|end| [end, 0x7fff_ffff, 0x8000_0000, u32::MAX]) {
                set(&mut data, wrong);
                assert!(!is_taken(&data, base), "{wrong:#x}, at {at} of {ty:?}");
            }
            if end.is_some() {
                let [quick, long] = [Way::Quick, Way::Long]
                    .map(|way| Btf::parse_by(data.clone().into(), base.clone(), way).map(|_| ()));
                assert!(quick.is_err() && quick == long, "{quick:?}, {long:?}, at {at} of {ty:?}");
            }
            data[at..at + 4].copy_from_slice(&before);
        }
    }
}

/// With nothing behind the record, and with so much that what is looked at together is there, or nearly.
#[test]
fn near_the_end_and_away_from_it() {
    for endian in ORDERS {
        for base in bases(endian) {
            for ((kind, count), behind) in
                kinds().flat_map(|kind| [0, 1, 3, 4, 5].map(|behind| (kind, behind)))
            {
                let mut b = builder(endian, &base);
                let id = record(&mut b, kind, count);
                for _ in 0..behind {
                    b.forward("int", false);
                }
                look_at_each_word(&b.finish(), &base, &[id]);
            }
        }
    }
}

/// A kernel's size, and in places more than low halves of offsets can tell apart in two blocks, though not in one.
fn large(endian: Endian, base: &Base) -> (Vec<u8>, Vec<TypeId>) {
    let mut b = builder(endian, base);
    let proto = TypeId(2);
    let mut all = Vec::new();
    for round in 0..30 {
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
fn in_a_large_one() {
    for endian in ORDERS {
        for base in bases(endian) {
            let (data, all) = large(endian, &base);
            assert!(data.len() > 2 * halves::WORTH_IT);
            let some: Vec<_> = all.iter().step_by(all.len() / 45).copied().collect();
            let btf = Btf::parse_by(data.clone().into(), base.clone(), Way::Long).unwrap();
            let ids: Vec<_> = btf.types().map(|ty| ty.id().0 - btf.first_id.0).collect();
            let offset = |place: u32| btf.table.offset(to_usize(place), btf.header.types.end).unwrap();
            assert!(ids.chunks_exact(64).any(|pair| offset(pair[63]) - offset(pair[0]) > 0xffff));
            let short = |id: &TypeId| btf.ty(*id).unwrap().vlen() < 10;
            let some: Vec<_> = some.into_iter().filter(short).collect();
            assert!(some.len() > 20);
            look_at_each_word(&data, &base, &some);
        }
    }
}

#[test]
fn a_func_in_a_large_one_refers_to_a_prototype() {
    for endian in ORDERS {
        for base in bases(endian) {
            let (good, _) = large(endian, &base);
            let btf = Btf::parse_by(good.clone().into(), base.clone(), Way::Long).unwrap();
            let funcs: Vec<_> = btf.types().filter(|ty| ty.kind() == Kind::Func).collect();
            let protos: Vec<_> = btf.types().filter(|ty| ty.kind() == Kind::FuncProto).collect();
            let last = protos.last().unwrap().id();
            for func in funcs.iter().step_by(funcs.len() / 9).chain(funcs.last()) {
                let place = to_usize(func.id().0 - btf.first_id.0);
                let at = btf.table.offset(place, btf.header.types.end).unwrap() + 8;
                let with = |target: TypeId| {
                    let mut data = good.clone();
                    data[at..at + 4].copy_from_slice(&endian.u32_bytes(target.0));
                    let [quick, long] = [Way::Quick, Way::Long]
                        .map(|way| Btf::parse_by(data.clone().into(), base.clone(), way).map(|_| ()));
                    assert_eq!(quick, long, "{:?} refers to {target}", func.id());
                    assert_eq!(is_taken(&data, &base), quick.is_ok());
                    quick.is_ok()
                };
                assert!(with(last) && with(TypeId(2)));
                let wrong = [0, 1, func.id().0, btf.end_id().0 - 1, btf.end_id().0, u32::MAX];
                assert!(!wrong.map(TypeId).into_iter().any(with));
            }
            assert_eq!(to_u32(btf.types().count()) + btf.first_id.0, btf.end_id().0);
        }
    }
}

/// Two passes that meet leave behind the last record what the second of them wrote there.
#[test]
fn what_is_behind_the_last_record_plays_no_part() {
    for (id, is_right) in [(34, true), (35, false)] {
        let mut b = Builder::new(Endian::Little);
        // More than low halves of offsets can tell apart in two blocks: the struct is told from the middle of the first enum by `blocks`.
        record(&mut b, Kind::Enum, 5000);
        for _ in 1..BLOCK {
            b.forward("a", false);
        }
        record(&mut b, Kind::Enum, 5000);
        b.raw("", Kind::Struct, 1, false, 0, &[1, id, 1]);
        let data = b.finish();
        let types = &data[Header::parse(&data).unwrap().types];
        let mut room = Room::new(types.len() / HEAD);
        let names = 3;
        let count = heads::pass::<false>(types, 0, names, room.part()).unwrap().count;
        assert_eq!(count, 34);
        let first = room.blocks[0];
        room.blocks[2..].fill(first);
        room.kinds[count..].fill(Kind::Struct.raw());
        let bounds = Bounds { names, first_id: 1, ids: 35 };
        assert_eq!(are_there::<false>(types, room.part(), count, bounds, None), is_right);
    }
}
