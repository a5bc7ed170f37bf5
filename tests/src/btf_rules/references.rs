//! Pointers, modifiers, typedefs, forward declarations and tags.

use super::{ABSENT, Case, INT, Raw, TOO_LARGE, accepted, refused};
use core_relo::{
    TypeId,
    btf::{Builder, Kind},
};

/// The kinds that refer to one type, with a name if they need one.
const KINDS: [(&str, Kind, &[u8]); 6] = [
    ("pointer", Kind::Ptr, b""),
    ("typedef", Kind::Typedef, b"t"),
    ("volatile", Kind::Volatile, b""),
    ("const", Kind::Const, b""),
    ("restrict", Kind::Restrict, b""),
    ("type tag", Kind::TypeTag, b"tag"),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, kind, text) in KINDS {
        let of = |third: TypeId| Raw { name: text, third: third.0, ..Raw::of(kind) };
        let flag_message = "Invalid btf_info kind_flag";
        cases.extend([
            refused(name, 2, "vlen != 0", |b| Raw { elements: 1, ..of(INT) }.add(b)),
            match kind {
                Kind::TypeTag => accepted(name, |b| Raw { flag: true, ..of(INT) }.add(b)),
                _ => refused(name, 2, flag_message, |b| Raw { flag: true, ..of(INT) }.add(b)),
            },
            accepted(name, |b| of(TypeId::VOID).add(b)),
            accepted(name, |b| of(INT).add(b)),
            refused(name, 2, "Invalid type_id", |b| of(ABSENT).add(b)),
            refused(name, 2, "Invalid type_id", |b| of(TOO_LARGE).add(b)),
            accepted(name, |b| {
                let forward = b.forward("f", Kind::Struct);
                of(forward).add(b);
            }),
            accepted(name, |b| {
                let proto = b.func_proto(INT, &[]);
                of(proto).add(b);
            }),
            refused(name, 3, "Invalid type_id", |b| {
                let variable = b.var("x", INT, 1);
                of(variable).add(b);
            }),
            refused(name, 4, "Invalid type_id", |b| {
                let variable = b.var("x", INT, 1);
                let section = b.datasec(".data", 4, &[(variable, 0, 4)]);
                of(section).add(b);
            }),
            refused(name, 4, "Invalid type_id", |b| {
                let owner = b.structure("s", 4, &[]);
                let tag = b.decl_tag("t", owner, -1);
                of(tag).add(b);
            }),
            refused(name, 2, "Loop detected", |b| of(TypeId(2)).add(b)),
        ]);
    }
    cases.extend([
        accepted("forward/of a union", |b| b.forward("f", Kind::Union)),
        refused("forward/elements", 2, "vlen != 0", |b| {
            Raw { name: b"f", elements: 1, ..Raw::of(Kind::Fwd) }.add(b);
        }),
        refused("forward/type", 2, "type != 0", |b| {
            Raw { name: b"f", third: 1, ..Raw::of(Kind::Fwd) }.add(b);
        }),
        accepted("typedef/of a function that was resolved before", |b| {
            let function = function(b);
            b.typedef("t", function);
        }),
        accepted("typedef/of a function with a later id", |b| {
            b.typedef("t", TypeId(3));
            function_at(b, TypeId(4));
            b.func_proto(INT, &[]);
        }),
        refused("pointer/to a function with a later id", 2, "Invalid type_id", |b| {
            b.pointer(TypeId(3));
            function_at(b, TypeId(4));
            b.func_proto(INT, &[]);
        }),
        accepted("pointer/to a function that was resolved before", |b| {
            let function = function(b);
            b.pointer(function);
        }),
    ]);
    cases.extend(tags());
    cases
}

/// Declaration tags, and the order of type tags.
fn tags() -> Vec<Case> {
    vec![
        accepted("declaration tag/on a struct", |b| tag(b, Owner::Struct, -1)),
        accepted("declaration tag/on a union", |b| tag(b, Owner::Union, -1)),
        accepted("declaration tag/on a member", |b| tag(b, Owner::Struct, 1)),
        accepted("declaration tag/on a typedef", |b| tag(b, Owner::Typedef, -1)),
        accepted("declaration tag/on a variable", |b| tag(b, Owner::Var, -1)),
        accepted("declaration tag/on a function", |b| tag(b, Owner::Func, -1)),
        accepted("declaration tag/on a parameter", |b| tag(b, Owner::Func, 1)),
        refused("declaration tag/on a member that does not exist", 3, "Invalid component_idx", |b| {
            tag(b, Owner::Struct, 2);
        }),
        refused("declaration tag/on a parameter that does not exist", 4, "Invalid component_idx", |b| {
            tag(b, Owner::Func, 2);
        }),
        refused("declaration tag/on a part of a variable", 3, "Invalid component_idx", |b| {
            tag(b, Owner::Var, 0)
        }),
        refused("declaration tag/on a part of a typedef", 3, "Invalid component_idx", |b| {
            tag(b, Owner::Typedef, 0);
        }),
        refused("declaration tag/component -2", 3, "Invalid component_idx", |b| tag(b, Owner::Struct, -2)),
        refused("declaration tag/on an integer", 2, "Invalid type_id", |b| b.decl_tag("t", INT, -1)),
        refused("declaration tag/on void", 2, "Invalid type_id", |b| {
            b.decl_tag("t", TypeId::VOID, -1);
        }),
        refused("declaration tag/on an absent type", 2, "Invalid type_id", |b| {
            b.decl_tag("t", ABSENT, -1);
        }),
        refused("declaration tag/on a type id above the limit", 2, "Invalid type_id", |b| {
            b.decl_tag("t", TOO_LARGE, -1);
        }),
        refused("declaration tag/on a pointer", 3, "Invalid type_id", |b| {
            let pointer = b.pointer(INT);
            b.decl_tag("t", pointer, -1);
        }),
        refused("declaration tag/on an enum", 3, "Invalid type_id", |b| {
            let owner = b.enumeration("e", 4, &[]);
            b.decl_tag("t", owner, -1);
        }),
        refused("declaration tag/on a tag", 4, "Invalid type_id", |b| {
            let owner = b.structure("s", 4, &[]);
            let tag = b.decl_tag("t", owner, -1);
            b.decl_tag("t", tag, -1);
        }),
        refused("declaration tag/elements", 3, "vlen != 0", |b| {
            b.structure("s", 4, &[]);
            Raw { name: b"t", elements: 1, third: 2, words: &[u32::MAX], ..Raw::of(Kind::DeclTag) }.add(b);
        }),
        accepted("declaration tag/flag", |b| {
            let owner = b.structure("s", 4, &[]);
            b.decl_attribute("t", owner, -1);
        }),
        refused("declaration tag/cut off", 3, "meta_left:", |b| {
            b.structure("s", 4, &[]);
            Raw { name: b"t", third: 2, ..Raw::of(Kind::DeclTag) }.add(b);
        }),
        accepted("type tag/before modifiers", |b| {
            let inner = b.modifier(Kind::Const, INT);
            let inner = b.type_tag("a", inner);
            let inner = b.type_tag("b", inner);
            b.pointer(inner);
        }),
        silent("type tag/after a const", "Type tags don't precede modifiers", |b| {
            let inner = b.type_tag("a", INT);
            b.modifier(Kind::Const, inner);
        }),
        silent("type tag/after a typedef", "Type tags don't precede modifiers", |b| {
            let inner = b.type_tag("a", INT);
            b.typedef("t", inner);
        }),
        silent("type tag/between modifiers", "Type tags don't precede modifiers", |b| {
            let inner = b.modifier(Kind::Const, INT);
            let inner = b.type_tag("a", inner);
            b.modifier(Kind::Volatile, inner);
        }),
        accepted("type tag/after a pointer", |b| {
            let inner = b.type_tag("a", INT);
            let pointer = b.pointer(inner);
            b.modifier(Kind::Const, pointer);
        }),
    ]
}

/// A refusal whose log names no type.
fn silent<R>(name: &'static str, message: &'static str, build: impl FnOnce(&mut Builder) -> R) -> Case {
    let mut case = refused(name, 0, message, build);
    case.refusal = case.refusal.map(|refusal| super::Refusal { ty: None, ..refusal });
    case
}

#[derive(Clone, Copy)]
enum Owner {
    Struct,
    Union,
    Typedef,
    Var,
    Func,
}

/// Adds a type and a declaration tag on it. A struct has two members, a function two parameters.
fn tag(b: &mut Builder, owner: Owner, component: i32) {
    let owner = match owner {
        Owner::Struct => b.structure("s", 8, &[("a", INT, 0), ("b", INT, 32)]),
        Owner::Union => b.union("s", 4, &[("a", INT, 0)]),
        Owner::Typedef => b.typedef("t", INT),
        Owner::Var => b.var("x", INT, 1),
        Owner::Func => {
            let proto = b.func_proto(INT, &[("a", INT), ("b", INT)]);
            b.func("f", proto, 1)
        }
    };
    b.decl_tag("tag", owner, component);
}

fn function(b: &mut Builder) -> TypeId {
    let proto = b.func_proto(INT, &[]);
    b.func("f", proto, 1)
}

fn function_at(b: &mut Builder, proto: TypeId) -> TypeId {
    b.func("f", proto, 1)
}
