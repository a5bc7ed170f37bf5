//! Differences between small BTFs.

use super::{Change, ChangeKind, Details, Filter, ItemKind, diff};
use core_relo::{
    Endian, TypeId,
    btf::{Btf, Builder, BuiltMember, Kind},
};

/// Returns the differences between two BTFs.
fn changes(old: impl FnOnce(&mut Builder), new: impl FnOnce(&mut Builder)) -> Vec<Change> {
    let build = |make: &mut dyn FnMut(&mut Builder)| {
        let mut builder = Builder::new(Endian::Little);
        make(&mut builder);
        Btf::parse(builder.finish()).unwrap()
    };
    let (mut old, mut new) = (Some(old), Some(new));
    let old = build(&mut |builder| old.take().unwrap()(builder));
    let new = build(&mut |builder| new.take().unwrap()(builder));
    diff(&old, &new, &Filter { is_wanted: &|_, _| true, uses: None })
}

/// Returns the names and changes of a declaration's parts.
fn parts(change: &Change) -> Vec<String> {
    match &change.details {
        Details::None => Vec::new(),
        Details::Members(members) => {
            members.iter().map(|member| format!("{} {}", member.name, member.change.word())).collect()
        }
        Details::Enumerators(values) => {
            values.iter().map(|value| format!("{} {}", value.name, value.change.word())).collect()
        }
    }
}

/// Returns the old and the new declaration.
fn texts(change: &Change) -> [&str; 2] {
    [&change.declaration.old, &change.declaration.new].map(|side| side.as_ref().map_or("", |side| &side.text))
}

fn int(b: &mut Builder) -> TypeId {
    b.int("int", 4, Builder::SIGNED)
}

#[test]
fn the_order_of_types_does_not_matter() {
    let same = changes(
        |b| {
            let int = int(b);
            let file = b.forward("file", Kind::Struct);
            let ptr = b.pointer(file);
            b.structure("a", 16, &[("x", int, 0), ("f", ptr, 64)]);
            b.structure("file", 4, &[("count", int, 0)]);
        },
        |b| {
            let file = b.structure("file", 4, &[("count", TypeId(4), 0)]);
            let ptr = b.pointer(file);
            b.structure("a", 16, &[("x", TypeId(4), 0), ("f", ptr, 64)]);
            b.int("signed int", 4, Builder::SIGNED);
        },
    );
    assert_eq!(same, []);
}

#[test]
fn members_are_added_removed_moved_and_changed() {
    let changes = changes(
        |b| {
            let int = int(b);
            let array = b.array(int, int, 4);
            b.structure(
                "s",
                32,
                &[("gone", int, 0), ("moved", int, 32), ("same", int, 64), ("a", array, 96)],
            );
        },
        |b| {
            let int = int(b);
            let array = b.array(int, int, 5);
            b.structure("s", 36, &[("moved", int, 0), ("new", int, 32), ("same", int, 64), ("a", array, 96)]);
        },
    );
    assert_eq!(changes.len(), 1);
    let mut found = parts(&changes[0]);
    found.sort();
    assert_eq!(found, ["a changed", "gone removed", "moved moved", "new added"]);
    let Details::Members(members) = &changes[0].details else { panic!("a struct has members") };
    let array = members.iter().find(|member| member.name == "a").unwrap();
    assert_eq!(array.member.old.as_ref().unwrap().text, "int a[4]");
    assert_eq!(array.member.new.as_ref().unwrap().text, "int a[5]");
    assert_eq!(changes[0].declaration.new.as_ref().unwrap().size, Some(36));
}

#[test]
fn members_of_anonymous_structs_belong_to_the_outer_struct() {
    let nested = |b: &mut Builder, offset: u32, bits: u8| {
        let int = int(b);
        let bit = |name, bit_offset, bitfield_bits| BuiltMember { name, ty: int, bit_offset, bitfield_bits };
        let inner = b.composite(Kind::Struct, "", 8, &[bit("x", 0, 0), bit("flag", 32, bits)]);
        b.structure("s", 16, &[("", inner, offset), ("named", inner, 64)]);
    };
    // The same member without the anonymous struct is the same.
    let flat = changes(
        |b| {
            let int = int(b);
            let inner = b.structure("", 8, &[("x", int, 0), ("y", int, 32)]);
            b.structure("s", 8, &[("", inner, 0)]);
        },
        |b| {
            let int = int(b);
            b.structure("s", 8, &[("x", int, 0), ("y", int, 32)]);
        },
    );
    assert_eq!(flat, []);
    let changed = changes(|b| nested(b, 0, 3), |b| nested(b, 0, 4));
    assert_eq!(parts(&changed[0]), ["flag changed", "named.flag changed"]);
}

#[test]
fn enumerators_of_named_and_anonymous_enums() {
    let enums = |b: &mut Builder, second: i64| {
        b.enumeration("e", 4, &[("A", 0), ("B", second)]);
        b.enumeration("", 4, &[("C", second)]);
    };
    let changes = changes(|b| enums(b, 1), |b| enums(b, 2));
    let found: Vec<_> = changes.iter().map(|change| (&*change.name, parts(change))).collect();
    assert_eq!(found, [("", vec!["C changed".to_owned()]), ("e", vec!["B changed".to_owned()])]);
}

#[test]
fn functions_kfuncs_tracepoints_typedefs_and_variables() {
    let kernel = |b: &mut Builder, is_new: bool| {
        let int = int(b);
        let file = b.forward(if is_new { "folio" } else { "page" }, Kind::Struct);
        let ptr = b.pointer(file);
        let proto = b.func_proto(int, &[("__data", ptr), ("p", ptr)]);
        b.func("f", proto, 1);
        let kfunc = b.func("k", proto, 1);
        b.decl_tag("bpf_kfunc", kfunc, -1);
        let tracepoint = b.pointer(proto);
        b.typedef("btf_trace_t", tracepoint);
        b.typedef("t", ptr);
        b.var("v", ptr, 1);
        if is_new {
            b.func("only_new", proto, 1);
        }
    };
    let changes = changes(|b| kernel(b, false), |b| kernel(b, true));
    let found: Vec<_> = changes.iter().map(|c| (c.kind, &*c.name, c.change)).collect();
    let changed = ChangeKind::Changed;
    assert_eq!(
        found,
        [
            (ItemKind::Typedef, "t", changed),
            (ItemKind::Function, "f", changed),
            (ItemKind::Function, "only_new", ChangeKind::Added),
            (ItemKind::Kfunc, "k", changed),
            (ItemKind::Tracepoint, "btf_trace_t", changed),
            (ItemKind::Variable, "v", changed),
        ]
    );
    let function = changes.iter().find(|change| change.name == "f").unwrap();
    assert_eq!(
        texts(function),
        ["int f(struct page *__data, struct page *p)", "int f(struct folio *__data, struct folio *p)"]
    );
    let tracepoint = changes.iter().find(|change| change.name == "btf_trace_t").unwrap();
    assert_eq!(texts(tracepoint), ["int btf_trace_t(struct page *p)", "int btf_trace_t(struct folio *p)"]);
}

#[test]
fn several_types_of_one_name_are_compared_as_sets() {
    let kernel = |b: &mut Builder, sizes: &[u32]| {
        let int = int(b);
        for size in sizes {
            b.structure("twice", *size, &[("x", int, 0)]);
        }
    };
    assert_eq!(changes(|b| kernel(b, &[4, 8]), |b| kernel(b, &[8, 4, 4])), []);
    let changed = changes(|b| kernel(b, &[4, 8]), |b| kernel(b, &[12, 4]));
    let sizes = changed[0].declaration.old.as_ref().unwrap().size;
    assert_eq!((changed.len(), sizes), (1, Some(8)));
}

#[test]
fn cycles_and_nested_types_end() {
    let cycles = |b: &mut Builder| {
        let first = b.modifier(Kind::Const, TypeId(2));
        b.modifier(Kind::Volatile, first);
        let own = b.next_id();
        b.structure("", 8, &[("x", own, 0), ("y", own, 0)]);
        let mut inner = own;
        for _ in 0..40 {
            inner = b.structure("", 8, &[("a", inner, 0), ("b", inner, 0)]);
        }
        inner
    };
    let changes = changes(
        |b| {
            let inner = cycles(b);
            b.structure("s", 8, &[("x", inner, 0)]);
        },
        |b| {
            let inner = cycles(b);
            b.structure("s", 16, &[("x", inner, 64)]);
        },
    );
    assert_eq!(changes.len(), 1);
}
