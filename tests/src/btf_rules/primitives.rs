//! Integers, floating-point numbers, enums and arrays.

use super::{ABSENT, Case, INT, Raw, TOO_LARGE, accepted, refused};
use core_relo::{
    TypeId,
    btf::{Builder, Kind},
};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        refused("int/elements", 2, "vlen != 0", |b| {
            Raw { elements: 1, third: 4, words: &[32], ..Raw::of(Kind::Int) }.add(b);
        }),
        refused("int/flag", 2, "Invalid btf_info kind_flag", |b| {
            Raw { flag: true, third: 4, words: &[32], ..Raw::of(Kind::Int) }.add(b);
        }),
        refused("int/unknown bits", 2, "Invalid int_data:", |b| int(b, 4, 0x1000_0020)),
        accepted("int/bits that the kernel ignores", |b| int(b, 4, 0x0000_ff20)),
        refused("int/more than 128 bits", 2, "nr_bits exceeds 128", |b| int(b, 32, 129)),
        refused("int/more than 128 bits with the offset", 2, "nr_bits exceeds 128", |b| {
            int(b, 32, (1 << 16) | 128)
        }),
        refused("int/more bits than bytes", 2, "nr_bits exceeds type_size", |b| int(b, 4, 33)),
        refused("int/more bits than bytes with the offset", 2, "nr_bits exceeds type_size", |b| {
            int(b, 4, (1 << 16) | 32);
        }),
        refused("int/two encodings", 2, "Unsupported encoding", |b| int(b, 4, 0x0300_0020)),
        refused("int/unknown encoding", 2, "Unsupported encoding", |b| int(b, 4, 0x0800_0020)),
        accepted("int/128 bits", |b| int(b, 16, 128)),
        accepted("int/size 0", |b| int(b, 0, 0)),
        accepted("int/odd size", |b| int(b, 3, 24)),
        accepted("int/char", |b| int(b, 1, 0x0200_0008)),
        accepted("int/bool", |b| int(b, 1, 0x0400_0001)),
        refused("float/elements", 2, "vlen != 0", |b| {
            Raw { elements: 1, third: 4, ..Raw::of(Kind::Float) }.add(b);
        }),
        refused("float/flag", 2, "Invalid btf_info kind_flag", |b| {
            Raw { flag: true, third: 4, ..Raw::of(Kind::Float) }.add(b);
        }),
        refused("float/size 0", 2, "Invalid type_size", |b| b.float("f", 0)),
        refused("float/size 10", 2, "Invalid type_size", |b| b.float("f", 10)),
        refused("float/size 32", 2, "Invalid type_size", |b| b.float("f", 32)),
        refused("enum/size 0", 2, "Unexpected size", |b| b.enumeration("e", 0, &[])),
        refused("enum/size 3", 2, "Unexpected size", |b| b.enumeration("e", 3, &[])),
        refused("enum/size 16", 2, "Unexpected size", |b| b.enumeration("e", 16, &[])),
        refused("enum64/size 16", 2, "Unexpected size", |b| b.enumeration64("e", 16, &[])),
        accepted("enum/signed", |b| b.signed_enumeration("e", 4, &[("A", -1)])),
        accepted("enum/equal names", |b| b.enumeration("e", 4, &[("A", 1), ("A", 2)])),
        accepted("enum64/signed", |b| b.signed_enumeration64("e", 8, &[("A", u64::MAX)])),
        refused("enum/cut off", 2, "meta_left:", |b| {
            Raw { elements: 2, third: 4, words: &[1, 0], ..Raw::of(Kind::Enum) }.add(b);
        }),
        refused("enum64/cut off", 2, "meta_left:", |b| {
            Raw { elements: 1, third: 8, words: &[1, 0], ..Raw::of(Kind::Enum64) }.add(b);
        }),
        refused("array/elements", 2, "vlen != 0", |b| {
            Raw { elements: 1, words: &[1, 1, 1], ..Raw::of(Kind::Array) }.add(b);
        }),
        refused("array/flag", 2, "Invalid btf_info kind_flag", |b| {
            Raw { flag: true, words: &[1, 1, 1], ..Raw::of(Kind::Array) }.add(b);
        }),
        refused("array/size", 2, "size != 0", |b| {
            Raw { third: 4, words: &[1, 1, 1], ..Raw::of(Kind::Array) }.add(b);
        }),
        refused("array/cut off", 2, "meta_left:", |b| {
            Raw { words: &[1, 1], ..Raw::of(Kind::Array) }.add(b);
        }),
        refused("array/of integers with odd bits", 3, "Invalid array of int", |b| {
            let bits = b.legacy_bitfield("bits", 4, 0, 0, 7);
            b.array(bits, INT, 2);
        }),
        refused("array/of const integers with an offset", 4, "Invalid array of int", |b| {
            let bits = b.legacy_bitfield("bits", 4, 0, 8, 8);
            let bits = b.modifier(Kind::Const, bits);
            b.array(bits, INT, 2);
        }),
        refused("array/too large", 2, "Array size overflows U32_MAX", |b| b.array(INT, INT, 1 << 30)),
        refused("array/of arrays that is too large", 3, "Array size overflows U32_MAX", |b| {
            let row = b.array(INT, INT, 1 << 16);
            b.array(row, INT, 1 << 14);
        }),
        accepted("array/4 GiB less 4", |b| b.array(INT, INT, (1 << 30) - 1)),
        accepted("array/of nothing", |b| b.array(INT, INT, 0)),
        accepted("array/of arrays", |b| {
            let row = b.array(INT, INT, 4);
            b.array(row, INT, 4);
        }),
        accepted("array/of pointers", |b| {
            let pointer = b.pointer(INT);
            b.array(pointer, INT, 4);
        }),
        accepted("array/index through modifiers", |b| {
            let index = b.typedef("index", INT);
            let index = b.modifier(Kind::Volatile, index);
            b.array(INT, index, 4);
        }),
        accepted("array/of a type with a later id", |b| {
            b.array(TypeId(3), INT, 4);
            b.typedef("later", INT);
        }),
        refused("array/index is an enum", 3, "Invalid index", |b| {
            let index = b.enumeration("e", 4, &[]);
            b.array(INT, index, 4);
        }),
        refused("array/index is a struct", 3, "Invalid index", |b| {
            let index = b.structure("s", 4, &[]);
            b.array(INT, index, 4);
        }),
        refused("array/index is an integer with odd bits", 3, "Invalid index", |b| {
            let index = b.legacy_bitfield("bits", 4, 0, 0, 7);
            b.array(INT, index, 4);
        }),
        refused("array/index is a const void", 3, "Invalid index", |b| {
            let index = b.modifier(Kind::Const, TypeId::VOID);
            b.array(INT, index, 4);
        }),
        refused("array/of a const void", 3, "Invalid elem", |b| {
            let void = b.modifier(Kind::Const, TypeId::VOID);
            b.array(void, INT, 4);
        }),
        refused("array/of a forward", 3, "Invalid elem", |b| {
            let forward = b.forward("f", Kind::Struct);
            b.array(forward, INT, 4);
        }),
        refused("array/of a function", 4, "Invalid elem", |b| {
            let proto = b.func_proto(INT, &[]);
            let function = b.func("f", proto, 1);
            b.array(function, INT, 4);
        }),
        refused("array/of a variable", 3, "Invalid elem", |b| {
            let variable = b.var("x", INT, 1);
            b.array(variable, INT, 4);
        }),
        refused("array/index is a variable", 3, "Invalid index", |b| {
            let variable = b.var("x", INT, 1);
            b.array(INT, variable, 4);
        }),
    ];
    for (target, name) in [(TypeId::VOID, "void"), (ABSENT, "absent"), (TOO_LARGE, "too large")] {
        let element = if name == "void" {
            "array/of void"
        } else if name == "absent" {
            "array/of an absent type"
        } else {
            "array/of a type id above the limit"
        };
        let index = if name == "void" {
            "array/index is void"
        } else if name == "absent" {
            "array/index is absent"
        } else {
            "array/index is a type id above the limit"
        };
        cases.push(refused(element, 2, "Invalid elem", |b| b.array(target, INT, 1)));
        cases.push(refused(index, 2, "Invalid index", |b| b.array(INT, target, 1)));
    }
    for (size, name) in [
        (2, "float/size 2"),
        (4, "float/size 4"),
        (8, "float/size 8"),
        (12, "float/size 12"),
        (16, "float/size 16"),
    ] {
        cases.push(accepted(name, |b| b.float("f", size)));
    }
    for (size, name) in [(1, "enum/size 1"), (2, "enum/size 2"), (4, "enum/size 4"), (8, "enum/size 8")] {
        cases.push(accepted(name, |b| b.enumeration("e", size, &[("A", 1)])));
    }
    cases
}

fn int(b: &mut Builder, size: u32, data: u32) {
    Raw { name: b"i", third: size, words: &[data], ..Raw::of(Kind::Int) }.add(b);
}
