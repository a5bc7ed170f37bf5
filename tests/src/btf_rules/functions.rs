//! Functions and their prototypes.

use super::{ABSENT, Case, INT, NO_STRING, Raw, accepted, refused};
use core_relo::{
    TypeId,
    btf::{Builder, Kind},
};

/// A function that adds a type, with the name of the case.
type NamedType = (&'static str, fn(&mut Builder) -> TypeId);

pub(super) fn cases() -> Vec<Case> {
    const RETURN: &str = "Invalid return type";
    const ARGUMENT: &str = "Invalid arg#";
    let mut cases = vec![
        accepted("prototype/returns void", |b| b.func_proto(TypeId::VOID, &[])),
        accepted("prototype/parameters without names", |b| {
            b.func_proto(INT, &[("", INT), ("", INT)]);
        }),
        accepted("prototype/variable arguments", |b| {
            b.func_proto(INT, &[("a", INT), ("", TypeId::VOID)]);
        }),
        accepted("prototype/variable arguments only", |b| {
            b.func_proto(INT, &[("", TypeId::VOID)]);
        }),
        accepted("prototype/returns a struct", |b| {
            let ty = b.structure("s", 4, &[]);
            b.func_proto(ty, &[("a", ty)]);
        }),
        accepted("prototype/later types", |b| {
            b.func_proto(TypeId(3), &[("a", TypeId(3))]);
            b.typedef("t", INT);
        }),
        refused("prototype/flag", 2, "Invalid btf_info kind_flag", |b| {
            Raw { flag: true, third: 1, ..Raw::of(Kind::FuncProto) }.add(b);
        }),
        refused("prototype/cut off", 2, "meta_left:", |b| {
            Raw { elements: 2, third: 1, words: &[0, 1], ..Raw::of(Kind::FuncProto) }.add(b);
        }),
        refused("prototype/void before the last parameter", 2, ARGUMENT, |b| {
            b.func_proto(INT, &[("", TypeId::VOID), ("a", INT)]);
        }),
        refused("prototype/named variable arguments", 2, ARGUMENT, |b| {
            b.func_proto(INT, &[("a", INT), ("va", TypeId::VOID)]);
        }),
        refused("prototype/name of a parameter", 2, ARGUMENT, |b| b.func_proto(INT, &[("a-b", INT)])),
        refused("prototype/name of a parameter/no string", 2, ARGUMENT, |b| {
            Raw { elements: 1, third: 1, words: &[NO_STRING, 1], ..Raw::of(Kind::FuncProto) }.add(b);
        }),
        refused("prototype/name of a parameter/empty string that is not the first", 2, ARGUMENT, |b| {
            Raw { elements: 1, third: 1, words: &[4, 1], ..Raw::of(Kind::FuncProto) }.add(b);
        }),
        accepted("function/static", |b| function(b, 0)),
        accepted("function/global", |b| function(b, 1)),
        refused("function/extern", 3, "Invalid func linkage", |b| function(b, 2)),
        refused("function/flag", 3, "Invalid btf_info kind_flag", |b| {
            b.func_proto(INT, &[]);
            Raw { name: b"f", flag: true, third: 2, ..Raw::of(Kind::Func) }.add(b);
        }),
        refused("function/without a prototype", 2, "Invalid type_id", |b| b.func("f", INT, 1)),
        refused("function/of void", 2, "Invalid type_id", |b| b.func("f", TypeId::VOID, 1)),
        refused("function/of an absent type", 2, "Invalid type_id", |b| b.func("f", ABSENT, 1)),
        refused("function/of a typedef of a prototype", 4, "Invalid type_id", |b| {
            let proto = b.func_proto(INT, &[]);
            let typedef = b.typedef("t", proto);
            b.func("f", typedef, 1);
        }),
        refused("function/parameter without a name", 3, ARGUMENT, |b| {
            let proto = b.func_proto(INT, &[("a", INT), ("", INT)]);
            b.func("f", proto, 1);
        }),
        accepted("function/variable arguments", |b| {
            let proto = b.func_proto(INT, &[("a", INT), ("", TypeId::VOID)]);
            b.func("f", proto, 1);
        }),
    ];
    let types: [NamedType; 7] = [
        ("prototype/absent", |_| ABSENT),
        ("prototype/forward", |b| b.forward("f", Kind::Struct)),
        ("prototype/const void", |b| b.modifier(Kind::Const, TypeId::VOID)),
        ("prototype/prototype", |b| b.func_proto(INT, &[])),
        ("prototype/variable", |b| b.var("x", INT, 1)),
        ("prototype/typedef of a forward", |b| {
            let forward = b.forward("f", Kind::Struct);
            b.typedef("t", forward)
        }),
        ("prototype/function", |b| function(b, 1)),
    ];
    for (name, add) in types {
        cases.push(with_last("return", name, RETURN, |b| {
            let ty = add(b);
            b.func_proto(ty, &[])
        }));
        cases.push(with_last("parameter", name, ARGUMENT, |b| {
            let ty = add(b);
            b.func_proto(INT, &[("a", ty)])
        }));
    }
    cases
}

/// A BTF whose last type the kernel refuses.
fn with_last(
    _place: &str,
    name: &'static str,
    message: &'static str,
    build: impl FnOnce(&mut Builder) -> TypeId,
) -> Case {
    let mut last = TypeId::VOID;
    let mut case = refused(name, 0, message, |b| last = build(b));
    case.refusal = case.refusal.map(|refusal| super::Refusal { ty: Some(last), ..refusal });
    case
}

fn function(b: &mut Builder, linkage: u8) -> TypeId {
    let proto = b.func_proto(INT, &[]);
    b.func("f", proto, linkage)
}
