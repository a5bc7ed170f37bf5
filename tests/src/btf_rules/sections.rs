//! Variables and sections of variables.

use super::{ABSENT, Case, INT, Raw, TOO_LARGE, accepted, refused};
use core_relo::{
    TypeId,
    btf::{Builder, Kind},
};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = variables();
    cases.extend(entries());
    cases
}

fn variables() -> Vec<Case> {
    vec![
        accepted("variable/static", |b| b.var("x", INT, 0)),
        accepted("variable/global", |b| b.var("x", INT, 1)),
        refused("variable/extern", 2, "Linkage not supported", |b| b.var("x", INT, 2)),
        refused("variable/unknown linkage", 2, "Linkage not supported", |b| b.var("x", INT, 77)),
        refused("variable/elements", 2, "vlen != 0", |b| {
            Raw { name: b"x", elements: 1, third: 1, words: &[1], ..Raw::of(Kind::Var) }.add(b);
        }),
        refused("variable/flag", 2, "Invalid btf_info kind_flag", |b| {
            Raw { name: b"x", flag: true, third: 1, words: &[1], ..Raw::of(Kind::Var) }.add(b);
        }),
        refused("variable/cut off", 2, "meta_left:", |b| {
            Raw { name: b"x", third: 1, ..Raw::of(Kind::Var) }.add(b);
        }),
        refused("variable/void", 2, "Invalid type_id", |b| b.var("x", TypeId::VOID, 1)),
        refused("variable/absent", 2, "Invalid type_id", |b| b.var("x", ABSENT, 1)),
        refused("variable/type id above the limit", 2, "Invalid type_id", |b| b.var("x", TOO_LARGE, 1)),
        refused("variable/of a variable", 3, "Invalid type_id", |b| {
            let variable = b.var("x", INT, 1);
            b.var("y", variable, 1);
        }),
        refused("variable/of a variable with a later id", 2, "Invalid type_id", |b| {
            b.var("x", TypeId(3), 1);
            b.var("y", INT, 1);
        }),
        refused("variable/of a forward", 3, "Invalid type_id", |b| {
            let forward = b.forward("f", Kind::Struct);
            b.var("x", forward, 1);
        }),
        refused("variable/of a const void", 3, "Invalid type_id", |b| {
            let void = b.modifier(Kind::Const, TypeId::VOID);
            b.var("x", void, 1);
        }),
        refused("variable/of a function", 4, "Invalid type_id", |b| {
            let proto = b.func_proto(INT, &[]);
            let function = b.func("f", proto, 1);
            b.var("x", function, 1);
        }),
        accepted("variable/of a pointer to itself", |b| {
            b.var("x", TypeId(3), 1);
            b.pointer(TypeId(4));
            b.structure("s", 8, &[("p", TypeId(3), 0)]);
        }),
    ]
}

fn entries() -> Vec<Case> {
    vec![
        accepted("section/one variable", |b| section(b, 4, &[(0, 4)])),
        accepted("section/hole", |b| section(b, 16, &[(0, 4), (12, 4)])),
        accepted("section/entry larger than its variable", |b| section(b, 16, &[(0, 16)])),
        accepted("section/no entries", |b| b.datasec(".data", 4, &[])),
        accepted("section/later variables", |b| {
            b.datasec(".data", 4, &[(TypeId(3), 0, 4)]);
            b.var("x", INT, 1);
        }),
        refused("section/size 0", 3, "size == 0", |b| section(b, 0, &[])),
        refused("section/flag", 2, "Invalid btf_info kind_flag", |b| {
            Raw { name: b".data", flag: true, third: 4, ..Raw::of(Kind::Datasec) }.add(b);
        }),
        refused("section/cut off", 2, "meta_left:", |b| {
            let words = &[1, 0];
            Raw { name: b".data", elements: 1, third: 4, words, ..Raw::of(Kind::Datasec) }.add(b);
        }),
        refused("entry/overlap", 3, "Invalid offset", |b| section(b, 8, &[(0, 4), (3, 4)])),
        refused("entry/not sorted", 3, "Invalid offset", |b| section(b, 8, &[(4, 4), (0, 4)])),
        refused("entry/offset at the end", 3, "Invalid offset", |b| section(b, 4, &[(4, 4)])),
        refused("entry/size 0", 3, "Invalid size", |b| section(b, 4, &[(0, 0)])),
        refused("entry/larger than the section", 3, "Invalid size", |b| section(b, 4, &[(0, 8)])),
        refused("entry/exceeds the section", 3, "Invalid offset+size", |b| section(b, 8, &[(6, 4)])),
        refused("entry/smaller than its variable", 3, "Invalid size", |b| section(b, 8, &[(0, 3)])),
        refused("entry/overflow hides the end", 3, "Invalid btf_info size", |b| {
            section(b, u32::MAX, &[(4, u32::MAX), (8, 4)]);
        }),
        refused("entry/void", 2, "Invalid type_id", |b| {
            b.datasec(".data", 4, &[(TypeId::VOID, 0, 4)]);
        }),
        refused("entry/type id above the limit", 2, "Invalid type_id", |b| {
            b.datasec(".data", 4, &[(TOO_LARGE, 0, 4)]);
        }),
        refused("entry/absent", 2, "Not a VAR kind member", |b| b.datasec(".data", 4, &[(ABSENT, 0, 4)])),
        refused("entry/integer", 2, "Not a VAR kind member", |b| b.datasec(".data", 4, &[(INT, 0, 4)])),
        refused("entry/function", 4, "Not a VAR kind member", |b| {
            let proto = b.func_proto(INT, &[]);
            let function = b.func("f", proto, 1);
            b.datasec(".ksyms", 4, &[(function, 0, 4)]);
        }),
        refused("entry/section", 4, "Not a VAR kind member", |b| {
            let variable = b.var("x", INT, 1);
            let inner = b.datasec(".data", 4, &[(variable, 0, 4)]);
            b.datasec(".data2", 4, &[(inner, 0, 4)]);
        }),
        refused("entry/variable whose type is a section", 2, "Invalid type_id", |b| {
            b.var("x", TypeId(3), 1);
            b.datasec(".data", 4, &[(TypeId(2), 0, 4)]);
        }),
    ]
}

/// Adds a section as type 3, whose entries all are the variable 2.
fn section(b: &mut Builder, size: u32, entries: &[(u32, u32)]) {
    let variable = b.var("x", INT, 1);
    let entries: Vec<_> = entries.iter().map(|(offset, size)| (variable, *offset, *size)).collect();
    b.datasec(".data", size, &entries);
}
