//! Names of everything that has one.

use super::{Case, INT, NO_STRING, Raw, accepted, refused};
use core_relo::{
    TypeId,
    btf::{Builder, Kind},
};

/// `KSYM_NAME_LEN` since Linux 6.1.
const LONGEST: usize = 512;

/// A function that adds a type with a name, with the name of the case.
type NamedOwner = (&'static str, fn(&[u8], &mut Builder) -> TypeId);

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let valid: [(&'static str, &[u8]); 7] = [
        ("name/letters, digits and _", b"_aZ09"),
        ("name/dot", b"a.b"),
        ("name/dot first", b".a"),
        ("name/one letter", b"x"),
        ("name/letters of Latin-1", b"\xe9t\xe9\xff"),
        ("name/longest", &[b'a'; LONGEST]),
        ("name/longer than 127 bytes", &[b'a'; 127]),
    ];
    for (name, text) in valid {
        cases.push(accepted(name, |b| composite(text, b)));
    }
    let invalid: [(&'static str, &[u8]); 9] = [
        ("name/digit first", b"0a"),
        ("name/space", b"a b"),
        ("name/dollar", b"a$b"),
        ("name/generic", b"Option<u32>"),
        ("name/UTF-8", "\u{e9}t\u{e9}".as_bytes()),
        ("name/control character", b"a\x01"),
        ("name/sign of multiplication", b"a\xd7"),
        ("name/no-break space", b"a\xa0"),
        ("name/too long", &[b'a'; LONGEST + 1]),
    ];
    for (name, text) in invalid {
        cases.push(refused(name, 2, "Invalid name", |b| composite(text, b)));
    }
    let owners: [NamedOwner; 10] = [
        ("name of a union", |name, b| Raw { name, third: 4, ..Raw::of(Kind::Union) }.add(b)),
        ("name of an enum", |name, b| Raw { name, third: 4, ..Raw::of(Kind::Enum) }.add(b)),
        ("name of an enum64", |name, b| Raw { name, third: 8, ..Raw::of(Kind::Enum64) }.add(b)),
        ("name of a typedef", |name, b| Raw { name, third: 1, ..Raw::of(Kind::Typedef) }.add(b)),
        ("name of a forward", |name, b| Raw { name, ..Raw::of(Kind::Fwd) }.add(b)),
        ("name of a variable", |name, b| Raw { name, third: 1, words: &[1], ..Raw::of(Kind::Var) }.add(b)),
        ("name of an enumerator", |name, b| {
            let name = b.string_bytes(name).0;
            Raw { elements: 1, third: 4, words: &[name, 0], ..Raw::of(Kind::Enum) }.add(b)
        }),
        ("name of an enumerator of 64 bits", |name, b| {
            let name = b.string_bytes(name).0;
            Raw { elements: 1, third: 8, words: &[name, 0, 0], ..Raw::of(Kind::Enum64) }.add(b)
        }),
        ("name of a member", |name, b| {
            let name = b.string_bytes(name).0;
            Raw { elements: 1, third: 4, words: &[name, 1, 0], ..Raw::of(Kind::Struct) }.add(b)
        }),
        ("name of a member of a union", |name, b| {
            let name = b.string_bytes(name).0;
            Raw { elements: 1, third: 4, words: &[name, 1, 0], ..Raw::of(Kind::Union) }.add(b)
        }),
    ];
    for (name, add) in owners {
        cases.push(refused(name, 2, "Invalid name", |b| add(b"a-b", b)));
        cases.push(accepted(name, |b| add(b"a_b", b)));
    }
    cases.extend([
        refused("name of a function", 3, "Invalid name", |b| {
            let proto = b.func_proto(INT, &[]);
            b.func("a-b", proto, 1);
        }),
        refused("name of a function/none", 3, "Invalid name", |b| {
            let proto = b.func_proto(INT, &[]);
            b.func("", proto, 1);
        }),
        refused("name of a typedef/none", 2, "Invalid name", |b| b.typedef("", INT)),
        refused("name of a forward/none", 2, "Invalid name", |b| b.forward("", Kind::Struct)),
        refused("name of a variable/none", 2, "Invalid name", |b| b.var("", INT, 1)),
        refused("name of an enumerator/none", 2, "Invalid name", |b| {
            b.enumeration("e", 4, &[("", 0)]);
        }),
        refused("name of an enumerator of 64 bits/none", 2, "Invalid name", |b| {
            b.enumeration64("e", 8, &[("", 0)]);
        }),
        accepted("name of an integer/any", |b| b.int("a-b c", 4, 0)),
        accepted("name of an integer/none", |b| b.int("", 4, 0)),
        accepted("name of a floating-point number/any", |b| b.float("long double?", 8)),
        refused("name of a pointer", 2, "Invalid name", |b| {
            Raw { name: b"p", third: 1, ..Raw::of(Kind::Ptr) }.add(b);
        }),
        refused("name of a const", 2, "Invalid name", |b| {
            Raw { name: b"p", third: 1, ..Raw::of(Kind::Const) }.add(b);
        }),
        refused("name of a volatile", 2, "Invalid name", |b| {
            Raw { name: b"p", third: 1, ..Raw::of(Kind::Volatile) }.add(b);
        }),
        refused("name of a restrict", 2, "Invalid name", |b| {
            Raw { name: b"p", third: 1, ..Raw::of(Kind::Restrict) }.add(b);
        }),
        refused("name of an array", 2, "Invalid name", |b| {
            Raw { name: b"p", words: &[1, 1, 1], ..Raw::of(Kind::Array) }.add(b);
        }),
        refused("name of a prototype", 2, "Invalid name", |b| {
            Raw { name: b"p", ..Raw::of(Kind::FuncProto) }.add(b);
        }),
        refused("name of a member/no string", 2, "name_offset:", |b| {
            Raw { elements: 1, third: 4, words: &[NO_STRING, 1, 0], ..Raw::of(Kind::Struct) }.add(b);
        }),
        refused("name of an enumerator/no string", 2, "name_offset:", |b| {
            Raw { elements: 1, third: 4, words: &[NO_STRING, 0], ..Raw::of(Kind::Enum) }.add(b);
        }),
        refused("name of an enumerator of 64 bits/no string", 2, "name_offset:", |b| {
            Raw { elements: 1, third: 8, words: &[NO_STRING, 0, 0], ..Raw::of(Kind::Enum64) }.add(b);
        }),
        refused("name of a member/an empty string that is not the first", 2, "Invalid name", |b| {
            // The NUL at the end of `int`.
            Raw { elements: 1, third: 4, words: &[4, 1, 0], ..Raw::of(Kind::Struct) }.add(b);
        }),
        refused("name of a section/none", 3, "Invalid name", |b| section(b"", b)),
        refused("name of a section/control character", 3, "Invalid name", |b| section(b".a\x01", b)),
        refused("name of a section/too long", 3, "Invalid name", |b| section(&[b'a'; LONGEST + 1], b)),
        accepted("name of a section/longest", |b| section(&[b'a'; LONGEST], b)),
        accepted("name of a section/dots", |b| section(b".data.rel.ro", b)),
        accepted("name of a section/printable", |b| section(b"?.struct_ops/a b:c", b)),
        accepted("name of a section/digit first", |b| section(b"0a", b)),
        accepted("name of a section/no-break space", |b| section(b"a\xa0", b)),
        refused("value of a declaration tag/none", 3, "Invalid value", |b| {
            let owner = b.structure("s", 4, &[("a", INT, 0)]);
            b.decl_tag("", owner, -1);
        }),
        accepted("value of a declaration tag/any", |b| {
            let owner = b.structure("s", 4, &[("a", INT, 0)]);
            b.decl_tag("a b:\u{e9}", owner, -1);
        }),
        refused("value of a type tag/none", 2, "Invalid name", |b| b.type_tag("", INT)),
        accepted("value of a type tag/any", |b| b.type_tag("a b", INT)),
    ]);
    cases
}

fn composite(name: &[u8], b: &mut Builder) -> TypeId {
    Raw { name, third: 4, ..Raw::of(Kind::Struct) }.add(b)
}

/// A section with one variable, as type 3.
fn section(name: &[u8], b: &mut Builder) {
    let variable = b.var("x", INT, 1);
    b.datasec(name, 4, &[(variable, 0, 4)]);
}
