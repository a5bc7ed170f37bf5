//! Values of every kind, in both byte orders, and types that want to be endless.
#![expect(clippy::arithmetic_side_effects, reason = "counters of a test")]

use super::{Aggregate, LongDouble, Scalar, ValueLocation, ValueVisitor};
use crate::{Btf, Builder, BuiltMember, BuiltRecord, Endian, Kind, ids::TypeId, limits};
use alloc::{format, string::String, string::ToString as _, vec, vec::Vec};

const BOTH: [Endian; 2] = [Endian::Little, Endian::Big];

/// Returns the text of bytes as a value of the type that `build` returns.
fn text(endian: Endian, bytes: &[u8], build: impl Fn(&mut Builder) -> TypeId) -> String {
    let mut b = Builder::new(endian);
    let ty = build(&mut b);
    let btf = Btf::parse(b.finish()).unwrap();
    btf.value(ty, bytes).text().types(false).to_string()
}

fn in_both_orders(words: &[u64], width: usize, expected: &str, build: impl Fn(&mut Builder) -> TypeId) {
    for endian in BOTH {
        let mut bytes = Vec::new();
        for word in words {
            match width {
                1 => bytes.push(u8::try_from(*word).unwrap()),
                2 => endian.put_u16(&mut bytes, u16::try_from(*word).unwrap()),
                4 => endian.put_u32(&mut bytes, u32::try_from(*word).unwrap()),
                _ => endian.put_u64(&mut bytes, *word),
            }
        }
        assert_eq!(text(endian, &bytes, &build), expected, "{endian:?}");
    }
}

#[test]
fn integers_of_every_width() {
    in_both_orders(&[0xfffe], 2, "-2", |b| b.int("short", 2, Builder::SIGNED));
    in_both_orders(&[0xfffe], 2, "65534", |b| b.int("unsigned short", 2, 0));
    in_both_orders(&[0xffff_ffff], 4, "-1", |b| b.int("int", 4, Builder::SIGNED));
    in_both_orders(&[u64::MAX], 8, "18446744073709551615", |b| b.int("unsigned long", 8, 0));
    in_both_orders(&[1 << 63], 8, "-9223372036854775808", |b| b.int("long", 8, Builder::SIGNED));
    in_both_orders(&[1], 1, "true", |b| b.int("_Bool", 1, 4));
    in_both_orders(&[2], 1, "2", |b| b.int("_Bool", 1, 4));
    in_both_orders(&[97], 1, "'a'", |b| b.int("char", 1, Builder::SIGNED));
    in_both_orders(&[9], 1, "9", |b| b.int("char", 1, Builder::SIGNED));
    in_both_orders(&[u64::MAX; 2], 8, "-1", |b| b.int("__int128", 16, Builder::SIGNED));
    in_both_orders(&[u64::MAX; 2], 8, "0xffffffffffffffffffffffffffffffff", |b| {
        b.int("unsigned __int128", 16, 0)
    });
}

#[test]
fn a_number_of_128_bits_has_its_halves_in_order() {
    let build = |b: &mut Builder| b.int("unsigned __int128", 16, 0);
    let little = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(text(Endian::Little, &little, build), "0x10000000000000000");
    let big: Vec<u8> = little.iter().rev().copied().collect();
    assert_eq!(text(Endian::Big, &big, build), "0x10000000000000000");
}

#[test]
fn floats_and_pointers() {
    in_both_orders(&[1.5f32.to_bits().into()], 4, "1.5", |b| b.float("float", 4));
    in_both_orders(&[(-0.25f64).to_bits()], 8, "-0.25", |b| b.float("double", 8));
    in_both_orders(&[f64::NAN.to_bits()], 8, "NaN", |b| b.float("double", 8));
    in_both_orders(&[1; 16], 1, "0x01010101010101010101010101010101", |b| b.float("long double", 16));
    let long_double = |mantissa: u64, high: u64| {
        let mut b = Builder::new(Endian::Little);
        let float = b.float("long double", 16);
        let btf = Btf::parse(b.finish()).unwrap();
        let bytes = [mantissa, high].map(u64::to_le_bytes).concat();
        btf.value(float, &bytes).long_double(LongDouble::X86).text().types(false).to_string()
    };
    assert_eq!(long_double(3 << 62, 0x4000), "3.0");
    assert_eq!(long_double(0xcccc_cccc_cccc_cccd, 0x3ffb), "0x1.999999999999999ap-4");
    assert_eq!(long_double(3 << 62, 0x1_4000), "0x00000000000000c00040010000000000", "bits after the number");
    in_both_orders(&[0xffff_8000_0000_0000], 8, "0xffff800000000000", |b| b.pointer(TypeId::VOID));
    in_both_orders(&[0x8000_0000], 4, "0x80000000", |b| {
        b.int("long", 4, Builder::SIGNED);
        b.pointer(TypeId::VOID)
    });
}

#[test]
fn enumerations_by_name_by_flags_and_by_number() {
    let state = |b: &mut Builder| b.signed_enumeration("state", 4, &[("DOWN", -1), ("IDLE", 0), ("UP", 1)]);
    in_both_orders(&[0xffff_ffff], 4, "DOWN", state);
    in_both_orders(&[0], 4, "IDLE", state);
    in_both_orders(&[7], 4, "7", state);
    let flags = |b: &mut Builder| {
        b.enumeration(
            "flags",
            4,
            &[("NONE", 0), ("A", 1), ("B", 2), ("C", 4), ("AB", 3), ("HIGH", -0x8000_0000)],
        )
    };
    in_both_orders(&[3], 4, "AB", flags);
    in_both_orders(&[5], 4, "A | C", flags);
    in_both_orders(&[0x8000_0010], 4, "HIGH | 0x10", flags);
    in_both_orders(&[0x10], 4, "16", flags);
    let count =
        |b: &mut Builder| b.enumeration("count", 4, &[("A", 1), ("B", 2), ("C", 3), ("D", 4), ("E", 4)]);
    in_both_orders(&[6], 4, "6", count);
    let many: Vec<_> = (0..150).map(|v| ("V", v)).collect();
    in_both_orders(&[200], 4, "200", |b| b.enumeration("many", 4, &many));
    let wide = |b: &mut Builder| b.enumeration64("wide", 8, &[("TOP", 1 << 63), ("LOW", 1)]);
    in_both_orders(&[1 << 63], 8, "TOP", wide);
    in_both_orders(&[u64::MAX], 8, "18446744073709551615", wide);
    let signed = |b: &mut Builder| b.signed_enumeration64("wide", 8, &[("MINUS", u64::MAX)]);
    in_both_orders(&[u64::MAX], 8, "MINUS", signed);
    in_both_orders(&[254], 1, "-2", |b| b.signed_enumeration("small", 1, &[("ONE", 1)]));
}

#[test]
fn bitfields_new_and_old() {
    let fields = |b: &mut Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        let uint = b.int("unsigned int", 4, 0);
        let mode = b.enumeration("mode", 4, &[("OFF", 0), ("ON", 2)]);
        let field = |name, ty, bit_offset, bitfield_bits| BuiltMember { name, ty, bit_offset, bitfield_bits };
        let members =
            [field("a", int, 0, 3), field("b", uint, 3, 9), field("c", mode, 12, 2), field("d", uint, 32, 0)];
        b.composite(Kind::Struct, "s", 8, &members)
    };
    // a = -2 (110), b = 0x155 (101010101), c = 2 (10)
    let little = 0b110 | 0x155 << 3 | 2u32 << 12;
    let big = 0b110u32 << 29 | 0x155 << 20 | 2 << 18;
    for (endian, word) in [(Endian::Little, little), (Endian::Big, big)] {
        let mut bytes = Vec::new();
        endian.put_u32(&mut bytes, word);
        endian.put_u32(&mut bytes, 9);
        assert_eq!(text(endian, &bytes, fields), "{.a = -2, .b = 341, .c = ON, .d = 9}");
    }
    let legacy = |b: &mut Builder| {
        let three = b.legacy_bitfield("unsigned int", 4, 0, 2, 3);
        b.structure("s", 4, &[("f", three, 0)])
    };
    assert_eq!(text(Endian::Little, &[0b10100, 0, 0, 0], legacy), "{.f = 5}");
    assert_eq!(text(Endian::Big, &[0b0010_1000, 0, 0, 0], legacy), "{.f = 5}");
}

fn nested(b: &mut Builder) -> TypeId {
    let int = b.int("int", 4, Builder::SIGNED);
    let byte = b.int("unsigned char", 1, 0);
    let char = b.int("char", 1, Builder::SIGNED);
    let constant = b.modifier(Kind::Const, char);
    let comm = b.array(constant, int, 8);
    let u8s = b.typedef("__u8", byte);
    let v4 = b.array(u8s, int, 4);
    let ip = b.union("", 4, &[("v4", v4, 0), ("all", int, 0)]);
    let inner = b.structure("inner", 4, &[("x", int, 0)]);
    let pair = b.array(inner, int, 2);
    let void = b.pointer(TypeId::VOID);
    b.structure("outer", 32, &[("comm", comm, 0), ("", ip, 64), ("pair", pair, 96), ("p", void, 192)])
}

#[test]
fn structs_unions_arrays_and_strings() {
    let bytes = [
        b's', b'h', 0, b'x', 0, 0, 0, 0, 10, 0, 0, 1, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0xef, 0xbe, 0, 0,
        0, 0, 0, 0,
    ];
    let mut b = Builder::new(Endian::Little);
    let ty = nested(&mut b);
    let btf = Btf::parse(b.finish()).unwrap();
    let value = btf.value(ty, &bytes);
    assert_eq!(
        value.text().types(false).to_string(),
        r#"{.comm = "sh", {.v4 = [10, 0, 0, 1], .all = 16777226}, .pair = [{.x = 1}, {.x = 2}], .p = 0xbeef}"#
    );
    let lines = "(struct outer){\n\
        \t\t.comm = (const char[8])\"sh\",\n\
        \t\t(union {...}){\n\
        \t\t\t.v4 = (__u8[4])[10, 0, 0, 1],\n\
        \t\t\t.all = (int)16777226,\n\
        \t\t},\n\
        \t\t.pair = (struct inner[2])[\n\
        \t\t\t{\n\
        \t\t\t\t.x = (int)1,\n\
        \t\t\t},\n\
        \t\t\t{\n\
        \t\t\t\t.x = (int)2,\n\
        \t\t\t},\n\
        \t\t],\n\
        \t\t.p = (void *)0xbeef,\n\
        \t}";
    assert_eq!(format!("{:#}", value.text().indent(1)), lines);
    let zeroes = [0; 32];
    let short = btf.value(ty, &zeroes).text().types(false).zeroes(false).to_string();
    assert_eq!(short, "{}");
}

#[test]
fn variables_of_a_section_lie_where_it_says() {
    let section = |b: &mut Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        let (x, y) = (b.var("x", int, 1), b.var("y", int, 0));
        b.datasec(".data", 12, &[(x, 0, 4), (y, 8, 4)])
    };
    assert_eq!(text(Endian::Little, &[1, 0, 0, 0, 9, 9, 9, 9, 2, 0, 0, 0], section), "{.x = 1, .y = 2}");
    let mut b = Builder::new(Endian::Little);
    let ty = section(&mut b);
    let btf = Btf::parse(b.finish()).unwrap();
    assert_eq!(btf.value(ty, &[0; 12]).to_string(), "(.data){.x = (int)0, .y = (int)0}");
}

#[test]
fn bytes_that_end_early_say_where() {
    let text = text(Endian::Little, &[b'a'; 6], nested);
    assert_eq!(
        text,
        r#"{.comm = "aaaaaa"<cut off>, {.v4 = [<cut off>], .all = <cut off>}, .pair = [<cut off>], .p = <cut off>}"#
    );
    in_both_orders(&[], 1, "<cut off>", |b| b.int("int", 4, 0));
    in_both_orders(&[1, 2], 1, "0x0102", |b| b.forward("later", Kind::Struct));
    in_both_orders(&[], 1, "<no value>", |_| TypeId::VOID);
}

#[test]
fn text_cannot_leave_its_quotes() {
    let string = |b: &mut Builder| {
        let char = b.int("char", 1, Builder::SIGNED);
        b.array(char, char, 6)
    };
    assert_eq!(text(Endian::Little, b"\"\\\x1b\xff\n\t", string), r#""\"\\\x1b\xff\n\t""#);
    assert_eq!(text(Endian::Little, b"'", |b| b.int("char", 1, 0)), r"'\''");
}

#[test]
fn the_bytes_after_a_struct_belong_to_its_flexible_array() {
    let build = |b: &mut Builder| {
        let short = b.int("unsigned short", 2, 0);
        let data = b.array(short, short, 0);
        b.structure("packet", 2, &[("len", short, 0), ("data", data, 16)])
    };
    in_both_orders(&[2, 7, 9], 2, "{.len = 2, .data = [7, 9]}", build);
    in_both_orders(&[2], 2, "{.len = 2, .data = []}", build);
    let odd = text(Endian::Little, &[2, 0, 7, 0, 9], build);
    assert_eq!(odd, "{.len = 2, .data = [7]}");
    in_both_orders(&[5, 104, 105], 1, r#"{.len = 5, .text = "hi"}"#, |b| {
        let byte = b.int("unsigned char", 1, 0);
        let char = b.int("char", 1, Builder::SIGNED);
        let text = b.array(char, byte, 0);
        b.structure("line", 1, &[("len", byte, 0), ("text", text, 8)])
    });
    in_both_orders(&[1, 2], 1, "{.none = [], .own = 1}", |b| {
        let byte = b.int("unsigned char", 1, 0);
        let none = b.array(byte, byte, 0);
        b.structure("s", 1, &[("none", none, 0), ("own", byte, 0)])
    });
}

#[test]
fn members_whose_parts_are_all_zero_are_left_out() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let pair = b.structure("pair", 8, &[("a", int, 0), ("b", int, 32)]);
    let pairs = b.array(pair, int, 2);
    let ints = b.array(int, int, 2);
    let s = b.structure("s", 40, &[("x", int, 0), ("p", pair, 32), ("i", ints, 96), ("ps", pairs, 160)]);
    let btf = Btf::parse(b.finish()).unwrap();
    let print = |words: &[(usize, u8)]| {
        let mut bytes = [0; 40];
        for (word, value) in words {
            bytes[word * 4] = *value;
        }
        btf.value(s, &bytes).text().types(false).zeroes(false).to_string()
    };
    assert_eq!(print(&[]), "{}");
    assert_eq!(print(&[(0, 1)]), "{.x = 1}");
    assert_eq!(print(&[(2, 1)]), "{.p = {.b = 1}}");
    assert_eq!(print(&[(0, 1), (4, 1)]), "{.x = 1, .i = [0, 1]}");
    assert_eq!(print(&[(8, 1)]), "{.ps = [{}, {.b = 1}]}", "words 5 to 8 are two pairs");
    let short = btf.value(s, &[0; 6]).text().types(false).zeroes(false).to_string();
    assert!(short.starts_with("{.p = {.a = <cut off>, .b = <cut off>}"), "{short}");
}

#[test]
fn names_and_indentation_are_options() {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let s = b.structure("s", 8, &[("a", int, 0), ("b", int, 32)]);
    let btf = Btf::parse(b.finish()).unwrap();
    let value = btf.value(s, &[1, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(value.text().types(false).names(false).to_string(), "{1, 2}");
    let text = value.text().types(false).indent(1).indent_unit("  ");
    assert_eq!(format!("{text:#}"), "{\n    .a = 1,\n    .b = 2,\n  }");
}

/// The example of the kernel's documentation of BTF, section "bpftool map pretty print".
#[test]
fn the_kernel_documentation_s_example() {
    let build = |b: &mut Builder| {
        let char = b.int("char", 1, Builder::SIGNED);
        let int = b.int("int", 4, Builder::SIGNED);
        let unsigned = b.int("unsigned int", 4, 0);
        let u32 = b.typedef("__u32", unsigned);
        let a = b.enumeration("A", 4, &[("A1", 0), ("A2", 1), ("A3", 2), ("A4", 3), ("A5", 4)]);
        let alias = b.typedef(concat!("__", "_A"), a);
        let field = |name, ty, bit_offset| BuiltMember { name, ty, bit_offset, bitfield_bits: 4 };
        let whole = BuiltMember { name: "b", ty: int, bit_offset: 32, bitfield_bits: 0 };
        let members = [
            field("a1", char, 0),
            field("a2", int, 4),
            field("a3", u32, 12),
            whole,
            field("b1", alias, 64),
            field("b2", a, 68),
        ];
        b.composite(Kind::Struct, "tmp_t", 12, &members)
    };
    let bytes = [0x42, 0x60, 0, 0, 7, 0, 0, 0, 0xa8, 0, 0, 0];
    let expected = "{.a1 = 2, .a2 = 4, .a3 = 6, .b = 7, .b1 = 8, .b2 = 10}";
    assert_eq!(text(Endian::Little, &bytes, build), expected);
}

/// A visitor that counts the parts of a value.
#[derive(Default)]
struct Count {
    scalars: u32,
    groups: u32,
    open: u32,
    deepest: u32,
    omitted: u32,
}

impl ValueVisitor for Count {
    type Error = core::convert::Infallible;

    fn open(&mut self, _: &ValueLocation<'_>, _: Aggregate) -> Result<(), Self::Error> {
        self.groups += 1;
        self.open += 1;
        self.deepest = self.deepest.max(self.open);
        Ok(())
    }

    fn close(&mut self, _: Aggregate) -> Result<(), Self::Error> {
        self.open -= 1;
        Ok(())
    }

    fn scalar(&mut self, _: &ValueLocation<'_>, scalar: Scalar<'_>) -> Result<(), Self::Error> {
        self.scalars += 1;
        self.omitted += u32::from(matches!(scalar, Scalar::Omitted));
        Ok(())
    }
}

fn count(bytes: &[u8], build: impl Fn(&mut Builder) -> TypeId) -> Count {
    let mut b = Builder::new(Endian::Little);
    let ty = build(&mut b);
    let btf = Btf::parse(b.finish()).unwrap();
    let mut count = Count::default();
    let Ok(()) = btf.value(ty, bytes).visit(&mut count);
    assert_eq!(count.open, 0, "each aggregate ends");
    count
}

/// Returns the most parts that a visit of so many bytes reports, including the final [`Scalar::Omitted`].
fn most(bytes: u32) -> u32 {
    limits::VALUE_STEPS + limits::VALUE_STEPS_PER_BYTE * bytes + 1
}

#[test]
fn large_arrays_are_read_to_their_end() {
    let long = count(&vec![0; 1 << 18], |b| {
        let byte = b.int("unsigned char", 1, 0);
        b.array(byte, byte, 1 << 18)
    });
    assert_eq!((long.scalars, long.omitted), (1 << 18, 0));
}

#[test]
fn a_struct_within_itself_ends() {
    let counted = count(&[1; 8], |b| {
        let own = b.next_id();
        b.structure("s", 8, &[("again", own, 0)])
    });
    assert_eq!((counted.deepest, counted.omitted), (limits::VALUE_DEPTH, 1));
    let circle = count(&[1; 8], |b| {
        let own = b.next_id();
        b.array(own, own, 2)
    });
    assert!(circle.scalars + circle.groups <= most(8));
}

#[test]
fn few_bytes_with_many_parts_end() {
    let unions = count(&[1; 4], |b| {
        let mut ty = b.int("int", 4, 0);
        for _ in 0..28 {
            ty = b.union("u", 4, &[("a", ty, 0), ("b", ty, 0)]);
        }
        ty
    });
    assert!(unions.scalars + unions.groups <= most(4));
    assert_eq!(unions.omitted, 1, "it says once that there was more");
    let nothing = count(&[], |b| {
        let empty = b.structure("empty", 0, &[]);
        b.array(empty, empty, u32::MAX)
    });
    assert!(nothing.groups <= most(0));
    let chained = count(&[], |b| {
        let mut ty = b.structure("empty", 0, &[]);
        let element = ty;
        for _ in 0..200 {
            ty = b.typedef("t", ty);
        }
        b.array(ty, element, u32::MAX)
    });
    assert!(chained.groups < most(0) / 40, "chains are paid for: {}", chained.groups);
    let names = count(&[0; 64], |b| {
        let int = b.int("int", 1, 0);
        let long = vec![b'n'; 60_000];
        let at = b.string_bytes(&long);
        let s = b.raw(
            "s",
            BuiltRecord {
                vlen: 1,
                size_or_type: 1,
                words: &[at.0, int.0, 0],
                ..BuiltRecord::new(Kind::Struct)
            },
        );
        b.array(s, int, 1 << 20)
    });
    assert!(names.scalars < 2_000, "names are paid for: {}", names.scalars);
    for enumerators in [&[1][..], &[2, 4, 8]] {
        let values = count(&[enumerators.iter().fold(0, |all, value| all | value); 4096], |b| {
            let long = b.string_bytes(&vec![b'n'; 60_000]).0;
            let vlen = u32::try_from(enumerators.len()).unwrap();
            let words: Vec<u32> =
                enumerators.iter().flat_map(|value: &u8| [long, u32::from(*value)]).collect();
            let ty = b.raw(
                "e",
                BuiltRecord { vlen, size_or_type: 1, words: &words, ..BuiltRecord::new(Kind::Enum) },
            );
            b.array(ty, ty, 4096)
        });
        assert!(values.scalars < 100, "names of enumerators are paid for: {}", values.scalars);
    }
}
