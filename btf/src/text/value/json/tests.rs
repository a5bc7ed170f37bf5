//! Values of every kind as JSON, and the way back.

use crate::{
    Btf, Builder, Endian, Kind,
    ids::TypeId,
    text::{
        LongDouble, ValueParser,
        test_support::{KEY_BYTES, key_type},
    },
};
use alloc::{string::ToString as _, vec, vec::Vec};
use serde_json::json;

fn json_of(bytes: &[u8], build: impl Fn(&mut Builder) -> TypeId) -> serde_json::Value {
    let mut b = Builder::new(Endian::Little);
    let ty = build(&mut b);
    let btf = Btf::parse(b.finish()).unwrap();
    serde_json::to_value(btf.value(ty, bytes)).unwrap()
}

#[test]
fn structs_arrays_and_anonymous_members() {
    let build = |b: &mut Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        let char = b.int("char", 1, Builder::SIGNED);
        let comm = b.array(char, int, 4);
        let pair = b.array(int, int, 2);
        let ptr = b.pointer(TypeId::VOID);
        let either = b.union("", 4, &[("a", int, 0), ("b", comm, 0)]);
        b.structure("s", 24, &[("comm", comm, 0), ("pair", pair, 32), ("", either, 96), ("p", ptr, 128)])
    };
    let bytes =
        [b's', b'h', 0, 0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0];
    let expected = json!({"comm": "sh", "pair": [1, -1], "a": 255, "b": [255, 0, 0, 0], "p": "0x10"});
    assert_eq!(json_of(&bytes, build), expected);
    assert_eq!(json_of(&bytes[..4], build)["p"], json!(null));
}

#[test]
fn variables_with_the_same_name_are_numbered() {
    let build = |b: &mut Builder| {
        let char = b.int("char", 1, 0);
        let variables = [0u32, 1, 2].map(|at| (b.var("n", char, 0), at, 1));
        b.datasec(".data", 3, &variables)
    };
    assert_eq!(json_of(&[1, 2, 3], build), json!({"n": 1, "n___2": 2, "n___3": 3}));
    let numbered = |b: &mut Builder| {
        let char = b.int("char", 1, 0);
        let variables = [("n", 0u32), ("n___2", 1), ("n", 2)].map(|(name, at)| (b.var(name, char, 0), at, 1));
        b.datasec(".data", 3, &variables)
    };
    assert_eq!(json_of(&[1, 2, 3], numbered), json!({"n": 1, "n___2": 2, "n___3": 3}));
}

#[test]
fn scalars() {
    let wide = |b: &mut Builder| b.int("unsigned __int128", 16, 0);
    assert_eq!(json_of(&[255; 16], wide), json!("340282366920938463463374607431768211455"));
    assert_eq!(json_of(&[255; 8], |b| b.int("long", 8, 0)), json!(u64::MAX));
    let state = |b: &mut Builder| b.signed_enumeration("e", 4, &[("ON", 1)]);
    assert_eq!(json_of(&[1, 0, 0, 0], state), json!("ON"));
    assert_eq!(json_of(&[255; 4], state), json!(-1));
    assert_eq!(
        json_of(&Endian::Little.u64_bytes(f64::NAN.to_bits()), |b| b.float("double", 8)),
        json!("NaN")
    );
    let payload = |bits: u64| json_of(&Endian::Little.u64_bytes(bits), |b| b.float("double", 8));
    assert_eq!(payload(f64::NAN.to_bits() | 1), json!("0x010000000000f87f"));
    assert_eq!(payload(f64::NEG_INFINITY.to_bits()), json!("-Infinity"));
    assert_eq!(json_of(&[1], |b| b.int("_Bool", 1, 4)), json!(true));
    assert_eq!(json_of(&[65], |b| b.int("char", 1, 0)), json!(65));
    assert_eq!(json_of(&[1, 2], |b| b.forward("later", Kind::Struct)), json!("0x0102"));
}

/// A value of a map is changed by what a dump of the map has.
#[test]
fn json_comes_back() {
    let doubles = [1.5, f64::NAN, f64::NEG_INFINITY, -0.0, 5e-324].map(f64::to_bits);
    let payload = f64::NAN.to_bits() | 1;
    for endian in [Endian::Little, Endian::Big] {
        let (btf, ty) = key_type(endian);
        let mut state = 7u64;
        for round in 0..400 {
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state
            };
            let mut bytes: Vec<u8> = (0..KEY_BYTES).map(|_| u8::try_from(next() >> 56).unwrap()).collect();
            // Padding is zero, and text has no bytes after its end.
            bytes[18..24].fill(0);
            bytes[56..64].fill(0);
            let special =
                doubles.get(round % 8).copied().unwrap_or(if round % 8 == 5 { payload } else { next() });
            bytes[48..56].copy_from_slice(&endian.u64_bytes(special));
            let value = btf.value(ty, &bytes).long_double(LongDouble::X86);
            let json = serde_json::to_value(value).unwrap();
            if let Some(text) = json["comm"].as_str() {
                bytes[text.len()..4].fill(0);
            }
            let parser = ValueParser::new(&btf).long_double(LongDouble::X86);
            let parsed = parser.parse(ty, &json.to_string(), vec![0; KEY_BYTES]);
            assert_eq!(parsed.as_ref(), Ok(&bytes), "{endian:?} {json}");
        }
    }
}
