//! Rust types of C types. Several cases are bugs that other generators had.

#![expect(clippy::unwrap_in_result, reason = "tests")]

use super::{super::options::Options, Types};
use crate::skeleton::{code::Code, error::SkeletonError};
use core_relo::{
    Endian, TypeId,
    btf::{Btf, Builder, BuiltMember, Kind},
};

/// Generates the type that `make` returns, and the types that it uses.
fn generate_with(
    options: &Options,
    make: impl FnOnce(&mut Builder, TypeId) -> TypeId,
) -> Result<(String, String), SkeletonError> {
    let mut b = Builder::new(Endian::native());
    let int = b.int("int", 4, Builder::SIGNED);
    let root = make(&mut b, int);
    let btf = Btf::parse(b.finish()).unwrap();
    let mut types = Types::new(&btf, options);
    let rust = types.of(root, b"context")?;
    let mut code = Code::default();
    types.write(&mut code)?;
    Ok((rust.text, code.finish()?))
}

fn generate(make: impl FnOnce(&mut Builder, TypeId) -> TypeId) -> (String, String) {
    generate_with(&Options::default(), make).unwrap()
}

fn error(make: impl FnOnce(&mut Builder, TypeId) -> TypeId) -> String {
    generate_with(&Options::default(), make).unwrap_err().to_string()
}

/// Checks that the text has each line, in order.
fn assert_lines(text: &str, lines: &[&str]) {
    let mut rest = text.lines().map(str::trim);
    for line in lines {
        assert!(rest.any(|found| found == *line), "{line} in {text}");
    }
}

#[test]
fn padding_is_explicit_also_at_the_end_and_before_nested_types() {
    let (_, text) = generate(|b, int| {
        let char = b.int("char", 1, Builder::SIGNED);
        let long = b.int("long", 8, Builder::SIGNED);
        let inner = b.structure("inner", 16, &[("a", char, 0), ("b", long, 64)]);
        b.structure("outer", 40, &[("x", int, 0), ("inner", inner, 64), ("c", char, 192)])
    });
    assert_lines(
        &text,
        &[
            "pub struct Outer {",
            "pub x: i32,",
            "pub _pad_4: [u8; 4],",
            "pub inner: Inner,",
            "pub c: u8,",
            "pub _pad_25: [u8; 15],",
            "assert!(::core::mem::size_of::<Outer>() == 40);",
            "assert!(::core::mem::offset_of!(Outer, inner) == 8);",
            "pub struct Inner {",
            "pub _pad_1: [u8; 7],",
        ],
    );
}

#[test]
fn packed_structs_keep_their_offsets_and_alignment() {
    let (_, text) = generate(|b, int| {
        let char = b.int("char", 1, 0);
        let short = b.int("short", 2, Builder::SIGNED);
        let packed = b.structure("packed", 5, &[("a", char, 0), ("b", int, 8)]);
        let halves = b.structure("halves", 6, &[("a", short, 0), ("b", int, 16)]);
        b.structure("both", 11, &[("packed", packed, 0), ("halves", halves, 40)])
    });
    assert_lines(
        &text,
        &["#[repr(C, packed)]", "pub struct Both {", "#[repr(C, packed)]", "pub struct Packed {"],
    );
    assert_lines(&text, &["#[repr(C, packed(2))]", "pub struct Halves {", ".field(\"a\", &{ self.a })"]);
}

#[test]
fn a_struct_aligned_beyond_its_members_is_padded() {
    let (_, text) = generate(|b, int| b.structure("line", 64, &[("a", int, 0)]));
    assert_lines(&text, &["#[repr(C)]", "pub a: i32,", "pub _pad_4: [u8; 60],"]);
}

#[test]
fn an_anonymous_enum_has_the_name_of_its_typedef() {
    let (name, text) = generate(|b, _| {
        let anonymous = b.signed_enumeration("", 4, &[("COLD", -1), ("HOT", 1), ("WARM", 1)]);
        let typedef = b.typedef("heat_t", anonymous);
        b.modifier(Kind::Const, typedef)
    });
    assert_eq!(name, "HeatT");
    assert_lines(
        &text,
        &[
            "pub struct HeatT(pub i32);",
            "pub const COLD: Self = Self(-1);",
            "pub const WARM: Self = Self(1);",
        ],
    );
    assert_eq!(text.matches("1 => f.write_str").count(), 2, "-1 and the first name of 1");
}

#[test]
fn enums_have_the_size_and_sign_of_c() {
    let (name, text) = generate(|b, int| {
        let tiny = b.enumeration("tiny", 1, &[("A", 200)]);
        let wide = b.enumeration64("wide", 8, &[("MAX", u64::MAX)]);
        b.structure("both", 16, &[("tiny", tiny, 0), ("x", int, 32), ("wide", wide, 64)])
    });
    assert_eq!(name, "Both");
    assert_lines(&text, &["pub struct Tiny(pub u8);", "pub const A: Self = Self(200);"]);
    assert_lines(&text, &["pub struct Wide(pub u64);", "pub const MAX: Self = Self(18446744073709551615);"]);
}

/// clang before version 16 marks no enum as signed. A constant that does not fit its integer would not
/// compile.
#[test]
fn enumerators_have_the_value_of_the_bytes() {
    let (_, text) = generate(|b, _| b.enumeration("e", 1, &[("A", -1), ("B", 100), ("C", 255)]));
    assert_lines(&text, &["pub const A: Self = Self(255);", "pub const B: Self = Self(100);"]);
    assert_eq!(text.matches("=> f.write_str").count(), 2, "255 has the name of the first");
    let (_, text) = generate(|b, _| b.signed_enumeration("e", 2, &[("A", -2), ("B", 0xfffe)]));
    assert_lines(&text, &["pub const A: Self = Self(-2);", "pub const B: Self = Self(-2);"]);
    let (_, text) = generate(|b, _| b.enumeration("e", 4, &[("A", -1)]));
    assert_lines(&text, &["pub const A: Self = Self(4294967295);"]);
}

#[test]
fn unions_have_methods_and_may_be_empty() {
    let (_, text) = generate(|b, int| {
        let char = b.int("char", 1, 0);
        let bytes = b.array(char, int, 16);
        let empty = b.union("empty", 0, &[]);
        let address = b.union("address", 16, &[("v4", int, 0), ("type", bytes, 0)]);
        b.structure("key", 16, &[("address", address, 0), ("empty", empty, 128)])
    });
    assert_lines(
        &text,
        &[
            "pub struct Address {",
            "pub storage: [u32; 4],",
            "pub fn v4(&self) -> i32 {",
            "pub fn set_v4(&mut self, value: i32) {",
            "pub fn r#type(&self) -> [u8; 16] {",
            "pub struct Empty {",
            "pub storage: [u8; 0],",
        ],
    );
}

#[test]
fn flexible_arrays_keywords_and_anonymous_members() {
    let (_, text) = generate(|b, int| {
        let inner = b.structure("", 8, &[("low", int, 0), ("high", int, 32)]);
        let choice = b.union("", 8, &[("", inner, 0), ("both", inner, 0)]);
        let data = b.array(int, int, 0);
        b.structure(
            "message",
            16,
            &[("type", int, 0), ("self", int, 32), ("", choice, 64), ("data", data, 128)],
        )
    });
    assert_lines(
        &text,
        &[
            "pub struct Message {",
            "pub r#type: i32,",
            "pub self_: i32,",
            "pub anon_8: MessageAnon8,",
            "pub data: [i32; 0],",
            "pub struct MessageAnon8 {",
            "pub fn anon_0(&self) -> MessageAnon8Anon0 {",
        ],
    );
}

#[test]
fn two_types_of_one_name_are_two_types() {
    let (_, text) = generate(|b, int| {
        let first = b.structure("flow", 4, &[("a", int, 0)]);
        let anonymous = b.structure("", 8, &[("a", int, 0), ("b", int, 32)]);
        let second = b.typedef("flow", anonymous);
        b.structure("pair", 12, &[("first", first, 0), ("second", second, 32)])
    });
    assert_lines(
        &text,
        &["pub first: Flow,", "pub second: Flow2,", "pub struct Flow {", "pub struct Flow2 {"],
    );
}

#[test]
fn bitfields_of_both_encodings_have_methods() {
    let member = |name, ty, bit_offset, bitfield_bits| BuiltMember { name, ty, bit_offset, bitfield_bits };
    let (_, text) = generate(|b, int| {
        let bool = b.int("_Bool", 1, 4);
        let mode = b.enumeration("mode", 4, &[("OFF", 0)]);
        let members = [
            member("a", int, 0, 5),
            member("", int, 5, 2),
            member("b", bool, 7, 1),
            member("mode", mode, 8, 3),
            member("x", int, 32, 0),
        ];
        b.composite(Kind::Struct, "flags", 8, &members)
    });
    assert_lines(
        &text,
        &[
            "pub _bits_0: [u8; 2],",
            "pub _pad_2: [u8; 2],",
            "pub x: i32,",
            "pub fn a(&self) -> i32 {",
            "::core_relo_loader::skeleton::bits::signed(&self._bits_0, 0, 5) as i32",
            "pub fn b(&self) -> bool {",
            "pub fn set_mode(&mut self, value: Mode) {",
        ],
    );
    let (_, legacy) = generate(|b, _| {
        let narrow = b.legacy_bitfield("int", 4, 0, 3, 4);
        b.structure("old", 4, &[("a", narrow, 0)])
    });
    assert_lines(
        &legacy,
        &[
            "pub _bits_0: [u8; 1],",
            "::core_relo_loader::skeleton::bits::unsigned(&self._bits_0, 3, 4) as u32",
        ],
    );
}

#[test]
fn types_without_a_counterpart_are_bytes_of_their_size() {
    let mut b = Builder::new(Endian::native());
    let int = b.int("int", 4, Builder::SIGNED);
    let overlapping = b.structure("overlapping", 4, &[("a", int, 0), ("b", int, 16)]);
    let odd = b.int("odd", 3, 0);
    let btf = Btf::parse(b.finish()).unwrap();
    let options = Options::default();
    let mut types = Types::new(&btf, &options);
    assert_eq!(types.of_size(overlapping, 4, b"x").text, "[u8; 4]");
    assert_eq!(types.of_size(odd, 3, b"x").text, "[u8; 3]");
    assert_eq!(types.of_size(int, 8, b"x").text, "[u8; 8]", "the section contradicts the type");
    let mut code = Code::default();
    types.write(&mut code).unwrap();
    assert_eq!(code.finish().unwrap(), "", "no type is left without text");
}

#[test]
fn hostile_types_are_errors_that_name_the_type() {
    let recursive = error(|b, _| {
        let own = b.next_id();
        b.structure("own", 8, &[("own", own, 0)])
    });
    assert!(recursive.contains("`own`: it contains itself"), "{recursive}");
    let outside = error(|b, int| b.structure("small", 2, &[("a", int, 0)]));
    assert!(outside.contains("`small`: its members overlap, or lie outside of it"), "{outside}");
    let huge = error(|b, int| b.array(int, int, 1 << 31));
    assert!(huge.contains("the size of an array of it overflows"), "{huge}");
    let odd = error(|b, _| b.enumeration("odd", 3, &[]));
    assert!(odd.contains("an enum has 1, 2, 4 or 8 bytes"), "{odd}");
    let forward = error(|b, _| b.forward("later", Kind::Struct));
    assert!(forward.contains("`later`: it is only declared"), "{forward}");
    let endless = error(|b, _| {
        let first = b.next_id();
        b.typedef("loop", first)
    });
    assert!(endless.starts_with("type 2: "), "{endless}");
    let in_itself = error(|b, int| {
        let own = b.next_id();
        b.array(own, int, 1)
    });
    assert!(in_itself.contains("too many dimensions"), "{in_itself}");
}

#[test]
fn text_stays_bounded() {
    // Each struct has two members of the next type: 2^40 members, but 40 types.
    let (_, text) = generate(|b, int| {
        let mut ty = int;
        let mut size = 4;
        for level in 0..20 {
            let name = format!("level{level}");
            ty = b.structure(&name, size * 2, &[("a", ty, 0), ("b", ty, size * 8)]);
            size *= 2;
        }
        ty
    });
    assert!(text.len() < 100_000, "{}", text.len());
    // As many members as a struct can have, all of one name, every second one a bitfield.
    let (_, text) = generate(|b, int| {
        let member = |n: u32| BuiltMember {
            name: "same",
            ty: int,
            bit_offset: n * 32,
            bitfield_bits: if n.is_multiple_of(2) { 0 } else { 9 },
        };
        let members: Vec<_> = (0..20_000).map(member).collect();
        b.composite(Kind::Struct, "wide", 80_000, &members)
    });
    assert!(text.contains("pub same10000: i32,"));
    let long = "x".repeat(60_000);
    let (_, text) = generate(|b, int| {
        let inner = b.structure("", 4, &[("a", int, 0)]);
        b.structure(&long, 4, &[(&long, inner, 0)])
    });
    assert!(text.len() < 2_000_000, "{}", text.len());
}

#[test]
fn traits_of_other_crates_are_options() {
    let structure = |b: &mut Builder, int| {
        let bool = b.int("bool", 1, 4);
        let rest = b.array(bool, int, 4);
        b.structure("event", 8, &[("a", int, 0), ("is_on", rest, 32)])
    };
    let options = |bytemuck, zerocopy| Options { bytemuck, zerocopy, ..Options::default() };
    let (_, text) = generate_with(&options(true, false), structure).unwrap();
    assert_lines(
        &text,
        &["pub is_on: [::core_relo_loader::Bool; 4],", "unsafe impl ::bytemuck::Pod for Event {}"],
    );
    let (_, text) = generate_with(&options(false, true), structure).unwrap();
    assert_lines(&text, &["pub is_on: [u8; 4],"]);
    assert!(text.contains("::zerocopy::FromBytes"), "{text}");
}
