//! Structs and unions, their members and bitfields.

use super::{ABSENT, Case, INT, Raw, TOO_LARGE, accepted, refused};
use core_relo::{
    TypeId,
    btf::{Builder, Kind},
};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = members();
    cases.extend(sizes());
    cases.extend(bitfields());
    cases
}

/// Rules for each member by itself.
fn members() -> Vec<Case> {
    vec![
        accepted("struct/empty", |b| b.structure("s", 0, &[])),
        accepted("struct/anonymous", |b| b.structure("", 4, &[("", INT, 0)])),
        accepted("struct/equal offsets", |b| {
            b.structure("s", 4, &[("a", INT, 0), ("b", INT, 0)]);
        }),
        accepted("struct/equal names", |b| {
            b.structure("s", 8, &[("a", INT, 0), ("a", INT, 32)]);
        }),
        accepted("struct/hole", |b| b.structure("s", 64, &[("a", INT, 128)])),
        accepted("struct/unaligned", |b| b.structure("s", 8, &[("a", INT, 8)])),
        refused("struct/cut off", 2, "meta_left:", |b| {
            Raw { elements: 2, third: 4, words: &[1, 1, 0], ..Raw::of(Kind::Struct) }.add(b);
        }),
        refused("member/void", 2, "Invalid type_id", |b| {
            b.structure("s", 4, &[("a", TypeId::VOID, 0)]);
        }),
        refused("member/type id above the limit", 2, "Invalid type_id", |b| {
            b.structure("s", 4, &[("a", TOO_LARGE, 0)]);
        }),
        refused("member/of a union at an offset", 2, "Invalid member bits_offset", |b| {
            b.union("u", 8, &[("a", INT, 32)]);
        }),
        refused("member/before its predecessor", 2, "Invalid member bits_offset", |b| {
            b.structure("s", 8, &[("a", INT, 32), ("b", INT, 0)]);
        }),
        refused("member/after the end", 2, "Member bits_offset exceeds its struct size", |b| {
            b.structure("s", 4, &[("a", INT, 33)]);
        }),
        refused("member/largest offset", 2, "Member bits_offset exceeds its struct size", |b| {
            b.structure("s", 4, &[("a", INT, u32::MAX)]);
        }),
        refused("member/absent", 2, "Invalid member", |b| b.structure("s", 4, &[("a", ABSENT, 0)])),
        refused("member/forward", 3, "Invalid member", |b| {
            let forward = b.forward("f", Kind::Struct);
            b.structure("s", 4, &[("a", forward, 0)]);
        }),
        refused("member/const forward", 4, "Invalid member", |b| {
            let forward = b.forward("f", Kind::Struct);
            let forward = b.modifier(Kind::Const, forward);
            b.structure("s", 4, &[("a", forward, 0)]);
        }),
        refused("member/const void", 3, "Invalid member", |b| {
            let void = b.modifier(Kind::Const, TypeId::VOID);
            b.structure("s", 4, &[("a", void, 0)]);
        }),
        refused("member/prototype", 3, "Invalid member", |b| {
            let proto = b.func_proto(INT, &[]);
            b.structure("s", 4, &[("a", proto, 0)]);
        }),
        refused("member/function", 4, "Invalid member", |b| {
            let proto = b.func_proto(INT, &[]);
            let function = b.func("f", proto, 1);
            b.structure("s", 4, &[("a", function, 0)]);
        }),
        refused("member/variable", 3, "Invalid member", |b| {
            let variable = b.var("x", INT, 1);
            b.structure("s", 4, &[("a", variable, 0)]);
        }),
        refused("member/section", 4, "Invalid member", |b| {
            let variable = b.var("x", INT, 1);
            let section = b.datasec(".data", 4, &[(variable, 0, 4)]);
            b.structure("s", 4, &[("a", section, 0)]);
        }),
        refused("member/tag", 4, "Invalid member", |b| {
            let owner = b.structure("o", 4, &[]);
            let tag = b.decl_tag("t", owner, -1);
            b.structure("s", 4, &[("a", tag, 0)]);
        }),
    ]
}

/// Adds a type that a member can have, and its size in bytes.
type AddMember = fn(&mut Builder) -> (TypeId, u32);

const MEMBERS: [(&str, AddMember); 8] = [
    ("member/pointer", |b| (b.pointer(INT), 8)),
    ("member/array", |b| (b.array(INT, INT, 3), 12)),
    ("member/struct", |b| (b.structure("inner", 8, &[]), 8)),
    ("member/union", |b| (b.union("inner", 8, &[]), 8)),
    ("member/enum", |b| (b.enumeration("e", 4, &[]), 4)),
    ("member/enum of 64 bits", |b| (b.enumeration64("e", 8, &[]), 8)),
    ("member/typedef", |b| (b.typedef("t", INT), 4)),
    ("member/float", |b| (b.float("f", 8), 8)),
];

/// Members at the end of their struct, and members that do not begin at a byte.
fn sizes() -> Vec<Case> {
    const END: &str = "Member exceeds struct_size";
    let mut cases = Vec::new();
    for (name, add) in MEMBERS {
        for has_flag in [false, true] {
            // In a struct with the flag, the kernel counts every enum as one of 32 bits.
            let kernel_size = |size: u32| if has_flag && name == "member/enum of 64 bits" { 4 } else { size };
            cases.push(accepted(name, |b| {
                let (ty, size) = add(b);
                one_member(b, has_flag, size, [ty.0, 0]);
            }));
            cases.push(refused(name, 3, END, |b| {
                let (ty, size) = add(b);
                one_member(b, has_flag, kernel_size(size) - 1, [ty.0, 0]);
            }));
            let misaligned = match name {
                "member/float" => "Member is not properly aligned",
                // An integer may begin at any bit in a struct without the flag.
                "member/typedef" if !has_flag => "",
                "member/typedef" => "Invalid member offset",
                _ => "Member is not byte aligned",
            };
            let build = |b: &mut Builder| {
                let (ty, size) = add(b);
                one_member(b, has_flag, size + 8, [ty.0, 4]);
            };
            cases.push(match misaligned {
                "" => accepted(name, build),
                message => refused(name, 3, message, build),
            });
        }
    }
    cases.extend([
        refused("member/integer exceeds", 2, END, |b| b.structure("s", 4, &[("a", INT, 8)])),
        refused("member/integer exceeds with the flag", 2, END, |b| one_member(b, true, 4, [1, 8])),
        refused("member/array of arrays exceeds", 4, END, |b| {
            let row = b.array(INT, INT, 4);
            let grid = b.array(row, INT, 4);
            b.structure("s", 63, &[("a", grid, 0)]);
        }),
        accepted("member/array of nothing at the end", |b| {
            let none = b.array(INT, INT, 0);
            b.structure("s", 4, &[("a", INT, 0), ("b", none, 32)]);
        }),
        refused("member/float at half its size", 3, "Member is not properly aligned", |b| {
            let float = b.float("f", 8);
            b.structure("s", 16, &[("a", float, 32)]);
        }),
        accepted("member/float of 16 bytes at 8 bytes", |b| {
            let float = b.float("f", 16);
            b.structure("s", 24, &[("a", float, 64)]);
        }),
        accepted("member/float of 12 bytes at 8 bytes", |b| {
            let float = b.float("f", 12);
            b.structure("s", 24, &[("a", float, 64)]);
        }),
        refused("member/const float at half its size", 4, "Member is not properly aligned", |b| {
            let float = b.float("f", 4);
            let float = b.modifier(Kind::Const, float);
            b.structure("s", 16, &[("a", float, 16)]);
        }),
    ]);
    cases
}

/// Bitfields: as members of a struct with the flag, and as integers with an offset or fewer bits.
fn bitfields() -> Vec<Case> {
    const WIDTH: &str = "Invalid member bitfield_size";
    let mut cases = vec![
        accepted("bitfield/of an integer", |b| one_member(b, true, 4, [1, bits(3, 5)])),
        accepted("bitfield/of all bits", |b| one_member(b, true, 4, [1, bits(0, 32)])),
        accepted("bitfield/over the size of its type", |b| one_member(b, true, 8, [1, bits(30, 32)])),
        refused("bitfield/wider than its type", 2, WIDTH, |b| one_member(b, true, 8, [1, bits(0, 33)])),
        refused("bitfield/exceeds the struct", 2, "Member exceeds struct_size", |b| {
            one_member(b, true, 4, [1, bits(30, 3)]);
        }),
        refused("bitfield/of a union at an offset", 2, "Invalid member bits_offset", |b| {
            let words = &[1, 1, bits(1, 3)];
            Raw { flag: true, elements: 1, third: 4, words, ..Raw::of(Kind::Union) }.add(b);
        }),
        accepted("bitfield/of an enum", |b| {
            let ty = b.enumeration("e", 4, &[]);
            one_member(b, true, 4, [ty.0, bits(3, 5)]);
        }),
        refused("bitfield/of an enum with more than 32 bits", 3, WIDTH, |b| {
            let ty = b.enumeration64("e", 8, &[]);
            one_member(b, true, 8, [ty.0, bits(0, 33)]);
        }),
        refused("bitfield/of an enum exceeds the struct", 3, "Member exceeds struct_size", |b| {
            let ty = b.enumeration("e", 4, &[]);
            one_member(b, true, 4, [ty.0, bits(30, 3)]);
        }),
        accepted("bitfield/of a typedef of const", |b| {
            let ty = b.modifier(Kind::Const, INT);
            let ty = b.typedef("t", ty);
            one_member(b, true, 4, [ty.0, bits(3, 5)]);
        }),
        refused("bitfield/of an integer with odd bits", 3, "Invalid member base type", |b| {
            let ty = b.legacy_bitfield("bits", 4, 0, 0, 7);
            one_member(b, true, 4, [ty.0, bits(0, 3)]);
        }),
        refused("bitfield/of an integer with an offset", 3, "Invalid member base type", |b| {
            let ty = b.legacy_bitfield("bits", 4, 0, 8, 8);
            one_member(b, true, 4, [ty.0, bits(0, 3)]);
        }),
        refused("bitfield/spans more than 128 bits", 3, "nr_copy_bits exceeds 128", |b| {
            let ty = b.int("wide", 16, 0);
            let ty_bits = bits(1, 128);
            one_member(b, true, 32, [ty.0, ty_bits]);
        }),
        accepted("bitfield/integer that is no bitfield", |b| one_member(b, true, 8, [1, bits(32, 0)])),
        accepted("legacy bitfield", |b| {
            let ty = b.legacy_bitfield("bits", 4, 0, 3, 5);
            b.structure("s", 4, &[("a", ty, 0)]);
        }),
        refused("legacy bitfield/exceeds the struct", 3, "Member exceeds struct_size", |b| {
            let ty = b.legacy_bitfield("bits", 4, 0, 3, 6);
            b.structure("s", 1, &[("a", ty, 0)]);
        }),
        refused("legacy bitfield/spans more than 128 bits", 3, "nr_copy_bits exceeds 128", |b| {
            let ty = b.int("wide", 16, 0);
            b.structure("s", 32, &[("a", ty, 1)]);
        }),
        refused("legacy bitfield/offset above 32 bits", 3, "bits_offset exceeds U32_MAX", |b| {
            let ty = b.legacy_bitfield("bits", 4, 0, 8, 8);
            b.structure("s", u32::MAX, &[("a", ty, u32::MAX)]);
        }),
    ];
    for (name, add) in MEMBERS {
        if matches!(name, "member/enum" | "member/enum of 64 bits" | "member/typedef") {
            continue;
        }
        cases.push(refused(name, 3, WIDTH, |b| {
            let (ty, _) = add(b);
            one_member(b, true, 64, [ty.0, bits(0, 3)]);
        }));
    }
    cases
}

/// Adds a struct with one member: its type, and its offset word.
fn one_member(b: &mut Builder, has_flag: bool, size: u32, [ty, offset]: [u32; 2]) {
    let name = b.string("a").0;
    let words = &[name, ty, offset];
    Raw { name: b"s", flag: has_flag, elements: 1, third: size, words, ..Raw::of(Kind::Struct) }.add(b);
}

/// Returns the offset word of a bitfield.
fn bits(offset: u32, width: u32) -> u32 {
    (width << 24) | offset
}
