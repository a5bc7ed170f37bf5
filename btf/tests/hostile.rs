//! Hostile BTF: parsing gives an error or a table, and no operation on the table panics or runs without end.

#![expect(clippy::std_instead_of_alloc, reason = "a test has std")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    reason = "helpers of tests: a panic is the failure"
)]

use core::fmt::{self, Write as _};
use core_relo_btf::{
    BitOffset, Btf, BtfError, Builder, BuiltMember, BuiltRecord, ByteSize, CType, Endian, Kind, StrOffset,
    Type, TypeId, WalkError, limits,
};
use std::sync::Arc;

const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];

/// The byte values that are written to every position: ends of ranges, signs, kinds, and high bytes of
/// lengths.
const BYTES: [u8; 7] = [0, 1, 4, 13, 0x7f, 0x80, 0xff];

/// Returns a BTF with types of every kind, both encodings of bitfields, and a kind that the library does not
/// know.
fn every_kind(endian: Endian) -> Vec<u8> {
    let mut b = Builder::new(endian);
    let int = b.int("int", 4, Builder::SIGNED);
    let long = b.int("long", 8, Builder::SIGNED);
    let legacy = b.legacy_bitfield("bits", 4, 0, 3, 5);
    let float = b.float("double", 8);
    let fwd = b.forward("later", Kind::Union);
    let fwd_ptr = b.pointer(fwd);
    let row = b.array(int, long, 4);
    let grid = b.array(row, long, 3);
    let plain = b.structure("plain", 48, &[("old", legacy, 0), ("grid", grid, 32)]);
    let union = b.union("u", 8, &[("f", float, 0), ("p", fwd_ptr, 0)]);
    let member = |name, ty, bit_offset, bitfield_bits| BuiltMember { name, ty, bit_offset, bitfield_bits };
    let members = [member("a", int, 0, 3), member("", union, 64, 0), member("s", plain, 128, 0)];
    let flagged = b.composite(Kind::Struct, "flagged___v2", 64, &members);
    let small = b.signed_enumeration("e", 4, &[("A", -1), ("B", 7)]);
    b.enumeration64("e64", 8, &[("C", u64::MAX)]);
    let typedef = b.typedef("t", flagged);
    let mut at = typedef;
    for kind in [Kind::Const, Kind::Volatile, Kind::Restrict] {
        at = b.modifier(kind, at);
    }
    let tagged = b.type_tag("user", at);
    let proto = b.func_proto(tagged, &[("x", small), ("", TypeId::VOID)]);
    b.func("f", proto, 1);
    let var = b.var("v", tagged, 1);
    b.datasec(".data", 64, &[(var, 0, 64)]);
    b.decl_attribute("tag", flagged, 1);
    b.raw("young", BuiltRecord { vlen: 1, words: &[1, 2, 3], ..BuiltRecord::new(Kind::Unknown(20)) });
    let mut layout = [[0, 0]; 21];
    layout[20] = [4, 8];
    b.layout(&layout);
    b.finish()
}

/// Returns a split BTF on `base`, whose types refer to the base and to each other.
fn split_btf(base: &Btf<'_>) -> Vec<u8> {
    let mut b = Builder::split(base);
    let flagged = base.find(b"flagged___v2", Kind::Struct).unwrap().id();
    let ptr = b.pointer(flagged);
    let array = b.array(flagged, TypeId(1), 2);
    b.raw(
        "own",
        BuiltRecord {
            vlen: 2,
            size_or_type: 136,
            words: &[1, ptr.0, 0, 5, array.0, 64],
            ..BuiltRecord::new(Kind::Struct)
        },
    );
    let proto = b.func_proto(flagged, &[("arg", ptr)]);
    b.func("own_f", proto, 1);
    b.finish()
}

/// A writer that keeps only the length of the text.
struct TextLength(usize);

impl fmt::Write for TextLength {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.0 = self.0.checked_add(s.len()).ok_or(fmt::Error)?;
        Ok(())
    }
}

/// Calls every read function of a table. Returns the length of all printed text.
fn walk(btf: &Btf<'_>) -> usize {
    let mut text = TextLength(0);
    let end = btf.end_id().0;
    assert!(btf.types().count() * 12 <= btf.as_bytes().len(), "a type takes 12 bytes of the data");
    for id in (0..=end).chain([u32::MAX]).map(TypeId) {
        let ty = btf.ty(id);
        assert_eq!(ty.is_some(), id.0 < end, "exactly the ids below the end are types");
        let (stripped, size) = (btf.strip(id), btf.size_of(id));
        write!(text, "{}{stripped:?}{size:?}", CType::new(btf, id)).unwrap();
        let Some(ty) = ty else { continue };
        assert!(btf.name(ty.name_offset()).is_some(), "the name of {id}");
        write!(text, "{ty:?}\n{}", ty.raw()).unwrap();
        write!(text, "{:?}{:?}{:?}", ty.size(), ty.target(), ty.array()).unwrap();
        write!(text, "{:?}{:?}{:?}", ty.int(), ty.linkage(), ty.component_index()).unwrap();
        let expect_len =
            |count: usize, is_kind: bool| assert_eq!(count, if is_kind { ty.vlen() as usize } else { 0 });
        let kind = ty.kind();
        expect_len(ty.members().count(), kind.is_composite());
        expect_len(ty.enumerators().count(), kind.is_enum());
        expect_len(ty.params().count(), kind == Kind::FuncProto);
        expect_len(ty.secinfos().count(), kind == Kind::Datasec);
        for m in ty.members() {
            assert!(btf.ty(m.ty).is_some() && btf.name(m.name_offset).is_some());
            write!(text, "{:?}{}", btf.member_extent(&m), m.name.essential()).unwrap();
        }
        for v in ty.enumerators() {
            assert!(btf.name(v.name_offset).is_some());
            write!(text, "{}{}", v.name, v.c_value()).unwrap();
        }
        assert!(ty.params().all(|p| btf.ty(p.ty).is_some() && btf.name(p.name_offset).is_some()));
        assert!(ty.secinfos().all(|s| btf.ty(s.ty).is_some()));
        for past in [ty.vlen(), u32::MAX] {
            assert!(ty.member(past).is_none() && ty.enumerator(past).is_none());
            assert!(ty.param(past).is_none() && ty.secinfo(past).is_none());
        }
    }
    for at in [0, 1, 2, 50, 0x7fff_ffff, u32::MAX] {
        write!(text, "{:?}", btf.name(StrOffset(at))).unwrap();
    }
    for kind in (0..=21).map(Kind::from_raw) {
        for name in [&b""[..], b"int", b"flagged___v2", b"nowhere", b"\xff"] {
            let found = btf.find(name, kind);
            assert!(found.is_none_or(|ty| ty.kind() == kind && ty.name().as_bytes() == name));
        }
    }
    write!(text, "{}", btf.pointer_size()).unwrap();
    text.0
}

/// Parses every prefix of `data`, and `data` with every byte of `BYTES` at every position. Returns the number
/// of changed inputs that parse.
fn attack(data: &[u8], parse: impl Fn(&[u8]) -> Result<(), BtfError>) -> usize {
    assert_eq!(parse(data), Ok(()));
    let mut parsed = 0;
    for len in 0..data.len() {
        let Err(error) = parse(&data[..len]) else { panic!("a prefix of {len} bytes parses") };
        assert!(error.to_string().contains("BTF"), "{error}");
    }
    let mut changed = data.to_vec();
    for at in 0..data.len() {
        for byte in BYTES {
            changed[at] = byte;
            match parse(&changed) {
                Ok(()) => parsed += 1,
                Err(error) => assert!(error.to_string().contains("BTF"), "{error}"),
            }
        }
        changed[at] = data[at];
    }
    parsed
}

#[test]
fn any_byte_anywhere_gives_an_error_or_a_sound_table() {
    for endian in ORDERS {
        let data = every_kind(endian);
        let kinds: Vec<_> = Btf::parse(&data).unwrap().types().map(|ty| ty.kind().raw()).collect();
        assert!((1..=20).all(|raw| kinds.contains(&raw)), "every kind is present");
        let parsed = attack(&data, |data| {
            let btf = Btf::parse(data)?;
            assert!(walk(&btf) > 0);
            Ok(())
        });
        assert!((data.len()..data.len() * BYTES.len()).contains(&parsed), "{parsed} changed inputs parse");
    }
}

#[test]
fn any_byte_anywhere_in_a_split_btf_gives_an_error_or_a_sound_table() {
    for endian in ORDERS {
        let base = Arc::new(Btf::parse(every_kind(endian)).unwrap());
        let split = split_btf(&base);
        attack(&split, |data| {
            let btf = Btf::parse_split(data.to_vec(), Arc::clone(&base))?;
            assert!(walk(&btf) > 0);
            Ok(())
        });
    }
}

#[test]
fn a_damaged_base_gives_an_error_or_a_sound_split_btf() {
    for endian in ORDERS {
        let whole = every_kind(endian);
        let split = split_btf(&Btf::parse(&whole).unwrap());
        attack(&whole, |data| {
            let base = Arc::new(Btf::parse(data.to_vec())?);
            // If the base has fewer types, the split BTF has invalid references and is refused.
            if let Ok(btf) = Btf::parse_split(split.clone(), base) {
                assert!(walk(&btf) > 0);
            }
            Ok(())
        });
    }
}

#[test]
fn any_byte_anywhere_in_a_distilled_base_relocates_or_is_an_error() {
    for endian in ORDERS {
        let real = Arc::new(Btf::parse(every_kind(endian)).unwrap());
        let mut b = Builder::new(endian);
        let int = b.int("int", 4, Builder::SIGNED);
        let plain = b.structure("plain", 48, &[]);
        b.signed_enumeration("e", 4, &[]);
        let small = b.finish();
        let mut b = Builder::split(&Btf::parse(&small).unwrap());
        b.structure("own", 56, &[("plain", plain, 0), ("int", int, 384)]);
        let split = b.finish();
        let relocate = |split: &[u8], small: &[u8]| -> Result<(), BtfError> {
            let btf = Btf::relocate_split(split.to_vec(), small.to_vec(), Arc::clone(&real))?;
            assert!(walk(&btf) > 0);
            Ok(())
        };
        assert_eq!(relocate(&split, &small), Ok(()));
        for (data, is_small) in [(&small, true), (&split, false)] {
            for at in 0..data.len() {
                for byte in BYTES {
                    let mut changed = data.clone();
                    changed[at] = byte;
                    let (split, small) = if is_small { (&split, &changed) } else { (&changed, &small) };
                    if let Err(error) = relocate(split, small) {
                        assert!(!error.to_string().is_empty());
                    }
                }
            }
        }
    }
}

#[test]
fn sizes_up_to_and_beyond_4_gib_are_exact_or_an_error() {
    for endian in ORDERS {
        let mut b = Builder::new(endian);
        let max = b.int("max", u32::MAX, 0);
        let byte = b.int("char", 1, Builder::CHAR);
        let just = b.array(byte, byte, u32::MAX);
        let over = b.array(b.next_id(), byte, 2);
        let two = b.array(just, byte, 2);
        let none = b.array(two, byte, 0);
        let edge = b.array(byte, byte, 0x1_0000);
        let square = b.array(edge, byte, 0x1_0000);
        let far = u32::MAX;
        let s = b.structure("s", u32::MAX, &[("a", just, 0), ("b", two, far), ("c", max, far)]);
        let of_s = b.array(s, byte, 1);
        let legacy = b.legacy_bitfield("bits", u32::MAX, 0, 255, 255);
        b.union("u", 0, &[("bits", legacy, far)]);
        let btf = Btf::parse(b.finish()).unwrap();
        for id in [max, just, s, of_s] {
            assert_eq!(btf.size_of(id), Ok(ByteSize(u32::MAX)));
        }
        for id in [over, two, square] {
            assert_eq!(btf.size_of(id), Err(WalkError::TooLarge(id)));
        }
        assert_eq!(btf.size_of(none), Ok(ByteSize(0)));
        let extents: Vec<_> = btf.ty(s).unwrap().members().map(|m| btf.member_extent(&m)).collect();
        assert_eq!(extents[0].unwrap().bits, u64::from(u32::MAX) * 8);
        assert_eq!(extents[1], Err(WalkError::TooLarge(two)));
        let c = extents[2].unwrap();
        assert_eq!((c.bit_offset, c.bits, c.is_bitfield), (BitOffset(far), 255, true));
        let bits = btf.find(b"u", Kind::Union).unwrap().member(0).unwrap();
        assert_eq!(btf.member_extent(&bits), Err(WalkError::BitfieldOffset(legacy)), "does not wrap");
        assert!(walk(&btf) > 0);
    }
}

#[test]
fn deep_nesting_and_cycles_of_every_kind_terminate() {
    for endian in ORDERS {
        let mut b = Builder::new(endian);
        let int = b.int("int", 4, 0);
        let (mut constant, mut array, mut pointer, mut proto, mut inside) = (int, int, int, int, int);
        for _ in 0..1000 {
            constant = b.modifier(Kind::Const, constant);
            array = b.array(array, int, 1);
            pointer = b.pointer(pointer);
            proto = b.func_proto(proto, &[("", proto), ("", proto)]);
            inside = b.structure("", 4, &[("", inside, 0), ("", inside, 0)]);
        }
        let next = |b: &Builder| TypeId(b.next_id().0 + 1);
        let cycle = b.typedef("t", next(&b));
        b.type_tag("tag", cycle);
        let of_itself = b.array(b.next_id(), b.next_id(), 1);
        b.pointer(b.next_id());
        b.func_proto(b.next_id(), &[("f", b.next_id())]);
        let recursive = b.structure("recursive", 4, &[("itself", b.next_id(), 0)]);
        b.var("v", b.next_id(), 0);
        b.datasec("sec", 4, &[(b.next_id(), 0, 4)]);
        b.decl_tag("tag", b.next_id(), 0);
        let btf = Btf::parse(b.finish()).unwrap();
        assert_eq!(btf.strip(constant).map(Type::id), Err(WalkError::Endless(constant)));
        assert_eq!(btf.size_of(array), Err(WalkError::Endless(array)));
        assert_eq!(btf.size_of(cycle), Err(WalkError::Endless(cycle)));
        assert_eq!(btf.size_of(of_itself), Err(WalkError::Endless(of_itself)));
        assert_eq!(btf.size_of(recursive), Ok(ByteSize(4)));
        assert!(walk(&btf) > 0);
    }
}

#[test]
fn chains_resolve_up_to_the_hop_limit() {
    for endian in ORDERS {
        let chain = |modifiers: u32| {
            let mut b = Builder::new(endian);
            let mut at = b.int("int", 4, 0);
            for _ in 0..modifiers {
                at = b.modifier(Kind::Const, at);
            }
            (Btf::parse(b.finish()).unwrap(), at)
        };
        for (hops, resolves) in [(limits::MODIFIER_HOPS - 1, true), (limits::MODIFIER_HOPS, false)] {
            let (btf, at) = chain(hops);
            assert_eq!(btf.strip(at).is_ok(), resolves, "{hops} modifiers");
        }
        for (hops, resolves) in [(limits::SIZE_HOPS - 1, true), (limits::SIZE_HOPS, false)] {
            let (btf, at) = chain(hops);
            assert_eq!(btf.size_of(at).is_ok(), resolves, "{hops} modifiers");
        }
    }
}
