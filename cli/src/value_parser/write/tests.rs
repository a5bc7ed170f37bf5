//! Values that fit their types, and values that do not.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use super::*;
use crate::json::value::value_to_json;
use core_relo::btf::{Builder, BuiltMember};
use serde_json::json;

/// Types of every kind that a key can have, in both byte orders. Returns the id of the struct.
fn types(endian: Endian) -> (Btf<'static>, TypeId) {
    let mut b = Builder::new(endian);
    let int = b.int("int", 4, Builder::SIGNED);
    let char = b.int("char", 1, Builder::SIGNED);
    let byte = b.int("unsigned char", 1, 0);
    let wide = b.int("unsigned __int128", 16, 0);
    let bool = b.int("_Bool", 1, 4);
    let comm = b.array(char, int, 4);
    let address = b.array(byte, int, 4);
    let mode = b.enumeration("mode", 4, false, &[("A", 1), ("B", 2), ("C", 4), ("D", 8)]);
    let long = b.enumeration("level", 4, true, &[("LOW", -1), ("HIGH", 1)]);
    let pointer = b.pointer(TypeId::VOID);
    let double = b.float("double", 8);
    let either = b.union("", 4, &[("word", int, 0), ("bytes", address, 0)]);
    let field = |name, ty, bit_offset, bitfield_bits| BuiltMember { name, ty, bit_offset, bitfield_bits };
    let members = [
        field("comm", comm, 0, 0),
        field("", either, 32, 0),
        field("mode", mode, 64, 0),
        field("level", long, 96, 0),
        field("low", int, 128, 3),
        field("high", byte, 131, 5),
        field("flag", bool, 136, 0),
        field("p", pointer, 192, 0),
        field("wide", wide, 256, 0),
        field("d", double, 384, 0),
    ];
    let ty = b.composite(Kind::Struct, "key", 56, &members);
    (Btf::parse(b.finish()).unwrap(), ty)
}

#[test]
fn the_json_of_a_dump_gives_the_same_bytes() {
    for endian in [Endian::Little, Endian::Big] {
        let (btf, ty) = types(endian);
        let mut state = 7u64;
        for _ in 0..200 {
            let mut bytes: Vec<u8> = (0..56)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    state.to_le_bytes()[7]
                })
                .collect();
            // Padding is zero, a bool is 0 or 1, a float is finite, and text has no bytes after its end.
            bytes[17] &= 1;
            bytes[18..24].fill(0);
            bytes[48..56].copy_from_slice(&1.5f64.to_bits().to_ne_bytes());
            let json = value_to_json(&btf.value(ty, &bytes)).unwrap();
            if let Some(text) = json["comm"].as_str() {
                bytes[text.len()..4].fill(0);
            }
            assert_eq!(
                write_value(&btf, ty, &json.to_string(), vec![0; 56]).as_ref(),
                Ok(&bytes),
                "{endian:?} {json}"
            );
        }
    }
}

#[test]
fn nested_unions_do_not_make_the_search_long() {
    let mut b = Builder::new(Endian::native());
    let mut ty = b.int("int", 4, Builder::SIGNED);
    for _ in 0..40 {
        ty = b.union("", 4, &[("", ty, 0), ("", ty, 0), ("", ty, 0)]);
    }
    let btf = Btf::parse(b.finish()).unwrap();
    assert!(write_value(&btf, ty, &json!({"nosuch": 1}).to_string(), vec![0; 4]).is_err());
}

#[test]
fn values_that_do_not_fit_are_named_by_their_path() {
    let (btf, ty) = types(Endian::native());
    let error = |json: serde_json::Value| write_value(&btf, ty, &json.to_string(), vec![0; 56]).unwrap_err();
    assert_eq!(error(json!({"nosuch": 1})), "`struct key` has no member `nosuch`");
    assert_eq!(error(json!({"low": 4})), "low: 4 does not fit, expected -4 to 3");
    assert_eq!(error(json!({"high": -1})), "high: -1 does not fit, expected 0 to 31");
    assert_eq!(error(json!({"bytes": [1, 2, 3, 4, 5]})), "bytes: 5 elements, expected at most 4");
    assert_eq!(error(json!({"bytes": [1, 300]})), "bytes[1]: 300 does not fit, expected 0 to 255");
    assert_eq!(error(json!({"comm": "abcde"})), "comm: 5 elements, expected at most 4");
    assert_eq!(error(json!({"mode": "E"})), "mode: `mode` has no enumerator `E`");
    assert_eq!(error(json!({"p": null})), "p: null is no value of `void *`, expected a number");
    assert_eq!(
        error(json!(7)),
        "7 is no value of `struct key`, expected members as `{.NAME = VALUE}` or as JSON"
    );
    assert_eq!(
        error(json!({"word": 1, "bytes": [9, 9, 9, 9]})),
        "bytes[0]: contradicts another member of the union: give one of them"
    );
    assert_eq!(write_value(&btf, ty, &json!({}).to_string(), vec![0; 56]), Ok(vec![0; 56]));
}

#[test]
fn variables_that_the_json_leaves_out_keep_their_bytes() {
    for endian in [Endian::Little, Endian::Big] {
        let mut b = Builder::new(endian);
        let int = b.int("int", 4, Builder::SIGNED);
        let short = b.int("short", 2, Builder::SIGNED);
        let pair = b.structure("pair", 8, &[("a", int, 0), ("b", int, 32)]);
        let (low, both) = (b.var("low", short, 1), b.var("both", pair, 1));
        let section = b.datasec(".data", 12, &[(low, 0, 2), (both, 4, 8)]);
        let btf = Btf::parse(b.finish()).unwrap();
        let old: Vec<u8> = vec![0xff; 12];
        let write = |json: serde_json::Value| write_value(&btf, section, &json.to_string(), old.clone());
        let seven = endian.u32_bytes(7);
        assert_eq!(write(json!({"both": {"b": 7}})), Ok([&old[..8], &seven].concat()), "{endian:?}");
        assert_eq!(write(json!({"low": 0})), Ok([&[0; 2], &old[2..]].concat()), "{endian:?}");
        assert_eq!(write(json!({"high": 0})), Err("`.data` has no variable `high`".into()));
        assert_eq!(write(json!({"both": {"c": 1}})), Err("both: `struct pair` has no member `c`".into()));
        assert_eq!(
            write(json!(1)),
            Err("1 is no value of `.data`, expected members as `{.NAME = VALUE}` or as JSON".into())
        );
    }
}

#[test]
fn a_name_that_two_variables_have_is_refused() {
    let mut b = Builder::new(Endian::Little);
    let char = b.int("char", 1, 0);
    let variables =
        [("n", 0u32), ("n", 1), ("n___2", 2), ("m___2", 3)].map(|(name, at)| (b.var(name, char, 0), at, 1));
    let section = b.datasec(".data", 4, &variables);
    let btf = Btf::parse(b.finish()).unwrap();
    assert_eq!(
        write_value(&btf, section, &json!({"m___2": 1}).to_string(), vec![0; 4]),
        Ok(vec![0, 0, 0, 1])
    );
    for name in ["n", "n___2"] {
        let error = write_value(&btf, section, &json!({name: 1}).to_string(), vec![0; 4]).unwrap_err();
        assert!(error.starts_with("`.data` has several variables `n`"), "{error}");
    }
}

/// Anonymous structs and unions have braces of their own, as in a dump, or their members stand with the others, as in C and JSON.
#[test]
fn anonymous_members_of_text_are_found_by_their_order_and_names() {
    let mut b = Builder::new(Endian::native());
    let byte = b.int("unsigned char", 1, 0);
    let [first, second] =
        [["a", "b"], ["c", "d"]].map(|names| b.structure("", 2, &[(names[0], byte, 0), (names[1], byte, 8)]));
    let ty = b.structure("outer", 5, &[("", first, 0), ("x", byte, 16), ("", second, 24)]);
    let btf = Btf::parse(b.finish()).unwrap();
    let write = |text: &str| write_value(&btf, ty, text, vec![0; 5]);
    for text in ["{{.a = 1, .b = 2}, .x = 3, {.c = 4, .d = 5}}", "{.d = 5, .c = 4, .x = 3, .b = 2, .a = 1}"] {
        assert_eq!(write(text), Ok(vec![1, 2, 3, 4, 5]), "{text}");
    }
    assert_eq!(write("{{.d = 5}}"), Ok(vec![0, 0, 0, 0, 5]), "a dump without zeros");
    assert_eq!(write("(struct outer){.x = (unsigned char)3,\n}"), Ok(vec![0, 0, 3, 0, 0]));
    for (text, expected) in [
        ("{{.e = 1}}", "`{.e = 1}`: expected members as `{.NAME = VALUE}` or as JSON"),
        ("{7}", "`7`: expected members as"),
        ("{.x = 1, .x = 1}", "the value has the member \"x\" twice"),
        ("(struct inner){.x = 1}", "the text has the type `struct inner`, expected `struct outer`"),
        ("{.x = (int)1}", "x: the text has the type `int`, expected `unsigned char`"),
        ("{.x = 'a'}", "x: 'a' is no value of `unsigned char`, expected a number"),
    ] {
        let error = write(text).unwrap_err();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

/// A second value would replace the first, as JSON parsers do, or would seem to contradict a union.
#[test]
fn a_variable_that_is_given_twice_is_refused() {
    let mut b = Builder::new(Endian::native());
    let int = b.int("int", 4, Builder::SIGNED);
    let variable = b.var("limit", int, 1);
    let section = b.datasec(".data", 4, &[(variable, 0, 4)]);
    let btf = Btf::parse(b.finish()).unwrap();
    for text in ["{.limit = 7, .limit = 7}", "{.limit = 7, .limit = 8}", r#"{"limit": 7, "limit": 8}"#] {
        let error = write_value(&btf, section, text, vec![0; 4]).unwrap_err();
        assert_eq!(error, "the section has the variable \"limit\" twice", "{text}");
    }
}

#[test]
fn numbers_with_zeros_in_front_or_of_too_many_bits_are_refused() {
    let (btf, key) = types(Endian::native());
    let write = |text: &str| write_value(&btf, key, text, vec![0; 56]);
    for text in ["{.word = 010}", r#"{"word": "-010"}"#, "{.low = 00}", "{.mode = 01}"] {
        assert!(write(text).is_err(), "{text}");
    }
    assert!(
        write("{.word = 0}").is_ok() && write("{.word = 0x010}").is_ok() && write("{.word = -1}").is_ok()
    );
    let all_bits = u128::MAX;
    assert!(write(&format!("{{.word = {all_bits}}}")).is_err(), "it is not -1");
    assert_eq!(write(&format!("{{.wide = {all_bits}}}")).unwrap()[32..48], [0xff; 16]);
}
