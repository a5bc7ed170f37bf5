//! Values that fit their types, and values that do not.

use super::*;
use crate::{
    text::test_support::{KEY_BYTES, key_type},
    write::Builder,
};

/// Writes a value in a notation over bytes.
fn write_value(btf: &Btf<'_>, ty: TypeId, text: &str, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    ValueParser::new(btf).write(ty, text, bytes).map_err(|e| e.to_string())
}

/// The work grows with the sum of the type's members and the text's, not with their product: this value would
/// take minutes.
#[test]
fn all_members_of_a_huge_struct_are_found_in_one_pass() {
    const COUNT: u32 = 60_000;
    let mut b = Builder::new(Endian::native());
    let byte = b.int("unsigned char", 1, 0);
    let names: Vec<_> = (0..COUNT).map(|n| format!("m{n}")).collect();
    let members: Vec<_> =
        names.iter().zip((0..).step_by(8)).map(|(name, bit)| (&**name, byte, bit)).collect();
    let (inner, outer) = members.split_at(1000);
    let inner = b.structure("", 1000, inner);
    let outer: Vec<_> = [("", inner, 0)].into_iter().chain(outer.iter().copied()).collect();
    let ty = b.structure("huge", COUNT, &outer);
    let btf = Btf::parse(b.finish()).unwrap();
    let text: Vec<_> = names.iter().map(|name| format!(".{name} = 7")).collect();
    let text = format!("{{{}}}", text.join(", "));
    let size = to_usize(COUNT);
    assert_eq!(write_value(&btf, ty, &text, vec![0; size]), Ok(vec![7; size]));
}

/// Groups without a name share the steps of the search for the anonymous members that they are.
#[test]
fn many_groups_without_a_name_do_not_make_the_search_long() {
    let mut b = Builder::new(Endian::native());
    let int = b.int("int", 4, Builder::SIGNED);
    let mut ty = int;
    for _ in 0..20 {
        ty = b.union("", 4, &[("", ty, 0), ("", ty, 0)]);
    }
    let outer = b.union("outer", 4, &vec![("", ty, 0); 2000]);
    let btf = Btf::parse(b.finish()).unwrap();
    assert!(write_value(&btf, outer, "{{.nosuch = 1}}", vec![0; 4]).is_err());
}

/// The type of a member may have more bytes than the struct, in damaged BTF.
#[test]
fn a_text_in_an_array_that_ends_after_the_value_is_an_error() {
    let mut b = Builder::new(Endian::native());
    let char = b.int("char", 1, Builder::SIGNED);
    let name = b.array(char, char, 100);
    let ty = b.structure("short", 4, &[("name", name, 0)]);
    let btf = Btf::parse(b.finish()).unwrap();
    let error = write_value(&btf, ty, r#"{.name = "ab"}"#, vec![0; 4]).unwrap_err();
    assert_eq!(error, "name: lies after the end of the value");
}

#[test]
fn nested_unions_do_not_make_the_search_long() {
    let mut b = Builder::new(Endian::native());
    let mut ty = b.int("int", 4, Builder::SIGNED);
    for _ in 0..40 {
        ty = b.union("", 4, &[("", ty, 0), ("", ty, 0), ("", ty, 0)]);
    }
    let btf = Btf::parse(b.finish()).unwrap();
    assert!(write_value(&btf, ty, r#"{"nosuch": 1}"#, vec![0; 4]).is_err());
}

#[test]
fn values_that_do_not_fit_are_named_by_their_path() {
    let (btf, ty) = key_type(Endian::native());
    let error = |json: &str| write_value(&btf, ty, json, vec![0; KEY_BYTES]).unwrap_err();
    assert_eq!(error(r#"{"nosuch": 1}"#), "`struct key` has no member `nosuch`");
    assert_eq!(error(r#"{"low": 4}"#), "low: 4 does not fit, expected -4 to 3");
    assert_eq!(error(r#"{"high": -1}"#), "high: -1 does not fit, expected 0 to 31");
    assert_eq!(error(r#"{"bytes": [1, 2, 3, 4, 5]}"#), "bytes: 5 elements, expected at most 4");
    assert_eq!(error(r#"{"bytes": [1, 300]}"#), "bytes[1]: 300 does not fit, expected 0 to 255");
    assert_eq!(error(r#"{"comm": "abcde"}"#), "comm: 5 elements, expected at most 4");
    assert_eq!(error(r#"{"mode": "E"}"#), "mode: `mode` has no enumerator `E`");
    assert_eq!(error(r#"{"p": null}"#), "p: null is no value of `void *`, expected a number");
    assert_eq!(error("7"), "7 is no value of `struct key`, expected members as `{.NAME = VALUE}` or as JSON");
    assert_eq!(
        error(r#"{"word": 1, "bytes": [9, 9, 9, 9]}"#),
        "bytes[0]: contradicts another member of the union: give one of them"
    );
    assert_eq!(write_value(&btf, ty, "{}", vec![0; KEY_BYTES]), Ok(vec![0; KEY_BYTES]));
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
        let write = |json: &str| write_value(&btf, section, json, old.clone());
        let seven = endian.u32_bytes(7);
        assert_eq!(write(r#"{"both": {"b": 7}}"#), Ok([&old[..8], &seven].concat()), "{endian:?}");
        assert_eq!(write(r#"{"low": 0}"#), Ok([&[0; 2], &old[2..]].concat()), "{endian:?}");
        assert_eq!(write(r#"{"high": 0}"#), Err("`.data` has no variable `high`".into()));
        assert_eq!(write(r#"{"both": {"c": 1}}"#), Err("both: `struct pair` has no member `c`".into()));
        assert_eq!(
            write("1"),
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
    assert_eq!(write_value(&btf, section, r#"{"m___2": 1}"#, vec![0; 4]), Ok(vec![0, 0, 0, 1]));
    for name in ["n", "n___2"] {
        let error = write_value(&btf, section, &format!(r#"{{"{name}": 1}}"#), vec![0; 4]).unwrap_err();
        assert!(error.starts_with("`.data` has several variables `n`"), "{error}");
    }
}

/// Anonymous structs and unions have braces of their own, as in a dump, or their members stand with the
/// others, as in C and JSON.
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
    let (btf, key) = key_type(Endian::native());
    let write = |text: &str| write_value(&btf, key, text, vec![0; KEY_BYTES]);
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
