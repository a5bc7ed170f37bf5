//! Structs with fields that the kernel manages. The kernel logs nothing about them.

use super::{Case, INT, accepted, refused};
use core_relo::{
    TypeId,
    btf::{Builder, BuiltMember, Kind},
};

const LOCK: TypeId = TypeId(2);
const HEAD: TypeId = TypeId(3);
const NODE: TypeId = TypeId(4);
const ROOT: TypeId = TypeId(5);
const TREE_NODE: TypeId = TypeId(6);
const REFCOUNT: TypeId = TypeId(7);
const RESILIENT: TypeId = TypeId(8);
/// The first type of a case.
const FIRST: u32 = 9;

/// Adds the types of the fields.
fn add_fields(b: &mut Builder) {
    for (name, bytes) in [
        ("bpf_spin_lock", 4),
        ("bpf_list_head", 16),
        ("bpf_list_node", 24),
        ("bpf_rb_root", 16),
        ("bpf_rb_node", 32),
        ("bpf_refcount", 4),
        ("bpf_res_spin_lock", 4),
    ] {
        b.structure(name, bytes, &[]);
    }
}

/// A case that the kernel accepts.
fn good<R>(name: &'static str, build: impl FnOnce(&mut Builder) -> R) -> Case {
    accepted(name, |b| {
        add_fields(b);
        build(b)
    })
}

/// A case of which the kernel refuses a type, counted from the first type of the case.
fn bad<R>(name: &'static str, ty: u32, build: impl FnOnce(&mut Builder) -> R) -> Case {
    refused(name, FIRST + ty, "", |b| {
        add_fields(b);
        build(b)
    })
}

pub(super) fn cases() -> Vec<Case> {
    [locks(), nested(), pointers(), lists(), nodes(), ownership()].into_iter().flatten().collect()
}

fn locks() -> Vec<Case> {
    vec![
        good("managed/types alone", |_| {}),
        good("managed/lock", |b| b.structure("s", 8, &[("lock", LOCK, 0), ("n", INT, 32)])),
        bad("managed/two locks", 0, |b| b.structure("s", 8, &[("a", LOCK, 0), ("b", LOCK, 32)])),
        bad("managed/unaligned lock", 0, |b| b.structure("s", 8, &[("lock", LOCK, 8)])),
        good("managed/const lock", |b| {
            let lock = b.modifier(Kind::Const, LOCK);
            b.structure("s", 4, &[("lock", lock, 0)]);
        }),
        good("managed/typedef of a lock", |b| {
            let lock = b.typedef("lock", LOCK);
            b.structure("s", 4, &[("lock", lock, 0)]);
        }),
        good("managed/lock in a union", |b| b.union("u", 4, &[("lock", LOCK, 0), ("n", INT, 0)])),
        good("managed/two locks of the other kind", |b| {
            b.structure("s", 8, &[("a", RESILIENT, 0), ("b", RESILIENT, 32)]);
        }),
        bad("managed/both kinds of locks", 0, |b| {
            b.structure("s", 8, &[("a", LOCK, 0), ("b", RESILIENT, 32)]);
        }),
        good("managed/bitfields at bytes", |b| bitfields(b, [32, 40])),
        bad("managed/bitfields within a byte", 0, |b| bitfields(b, [32, 35])),
        good("managed/bitfields without a lock", |b| {
            let member = |name, bit_offset| BuiltMember { name, ty: INT, bit_offset, bitfield_bits: 3 };
            b.composite(Kind::Struct, "s", 4, &[member("a", 0), member("b", 3)]);
        }),
    ]
}

/// Adds a struct with a lock and two bitfields of three bits.
fn bitfields(b: &mut Builder, [first, second]: [u32; 2]) {
    let member = |name, ty, bit_offset, bitfield_bits| BuiltMember { name, ty, bit_offset, bitfield_bits };
    let members = [member("lock", LOCK, 0, 0), member("a", INT, first, 3), member("b", INT, second, 3)];
    b.composite(Kind::Struct, "s", 8, &members);
}

/// Adds structs, each of which contains the one before, and a struct with a lock that contains the last.
fn deep(b: &mut Builder, levels: u32) {
    let mut inner = b.structure("s", 0, &[]);
    for _ in 1..levels {
        inner = b.structure("s", 0, &[("inner", inner, 0)]);
    }
    b.structure("top", 4, &[("lock", LOCK, 0), ("inner", inner, 0)]);
}

fn nested() -> Vec<Case> {
    vec![
        good("managed/31 levels of structs", |b| deep(b, 31)),
        bad("managed/32 levels of structs", 32, |b| deep(b, 32)),
        bad("managed/array of locks beside a lock", 1, |b| {
            let array = b.array(LOCK, INT, 2);
            b.structure("s", 12, &[("lock", LOCK, 0), ("locks", array, 32)]);
        }),
        good("managed/array of locks alone", |b| {
            let array = b.array(LOCK, INT, 2);
            b.structure("s", 8, &[("locks", array, 0)]);
        }),
        good("managed/empty array of locks", |b| {
            let array = b.array(LOCK, INT, 0);
            b.structure("s", 8, &[("lock", LOCK, 0), ("locks", array, 32)]);
        }),
        good("managed/nested lock beside a lock", |b| {
            let inner = b.structure("inner", 8, &[("lock", LOCK, 0)]);
            b.structure("s", 16, &[("lock", LOCK, 0), ("inner", inner, 64)]);
        }),
        bad("managed/nested bitfields", 1, |b| {
            let member = |name, bit_offset| BuiltMember { name, ty: INT, bit_offset, bitfield_bits: 3 };
            let inner = b.composite(Kind::Struct, "inner", 4, &[member("a", 0), member("b", 3)]);
            b.structure("s", 8, &[("lock", LOCK, 0), ("inner", inner, 32)]);
        }),
        good("managed/bitfields in a nested union", |b| {
            let member = |name, bit_offset| BuiltMember { name, ty: INT, bit_offset, bitfield_bits: 3 };
            let inner = b.composite(Kind::Union, "inner", 4, &[member("a", 0), member("b", 0)]);
            b.structure("s", 8, &[("lock", LOCK, 0), ("inner", inner, 32)]);
        }),
    ]
}

/// Adds a pointer with type tags, the last first.
fn tagged(b: &mut Builder, tags: &[&str], target: TypeId) -> TypeId {
    let target = tags.iter().fold(target, |target, tag| b.type_tag(tag, target));
    b.pointer(target)
}

/// Adds a struct with a lock and a pointer.
fn with_lock(b: &mut Builder, pointer: TypeId) {
    b.structure("s", 16, &[("lock", LOCK, 0), ("p", pointer, 64)]);
}

fn pointers() -> Vec<Case> {
    vec![
        good("managed/pointer", |b| {
            let pointer = b.pointer(INT);
            with_lock(b, pointer);
        }),
        good("managed/kptr to a local struct", |b| {
            let target = b.structure("core_relo_local", 4, &[("n", INT, 0)]);
            let pointer = tagged(b, &["kptr"], target);
            with_lock(b, pointer);
        }),
        good("managed/uptr", |b| {
            let target = b.structure("core_relo_local", 4, &[("n", INT, 0)]);
            let pointer = tagged(b, &["uptr"], target);
            with_lock(b, pointer);
        }),
        bad("managed/pointer with another tag", 2, |b| {
            let pointer = tagged(b, &["user"], INT);
            with_lock(b, pointer);
        }),
        good("managed/pointer with another tag without a lock", |b| {
            let pointer = tagged(b, &["user"], INT);
            b.structure("s", 8, &[("p", pointer, 0)]);
        }),
        bad("managed/kptr to an integer", 2, |b| {
            let pointer = tagged(b, &["kptr"], INT);
            with_lock(b, pointer);
        }),
        bad("managed/two tags", 3, |b| {
            let pointer = tagged(b, &["kptr", "kptr"], LOCK);
            with_lock(b, pointer);
        }),
    ]
}

/// Adds a struct of nodes, and a struct with a lock and a root whose tags are `tags`.
fn list(b: &mut Builder, [node, root]: [TypeId; 2], tags: &[&str]) {
    b.structure("item", 48, &[("n", INT, 0), ("node", node, 64)]);
    let owner = b.structure("owner", 24, &[("lock", LOCK, 0), ("root", root, 64)]);
    for tag in tags {
        b.decl_tag(tag, owner, 1);
    }
}

fn lists() -> Vec<Case> {
    let mut cases = Vec::new();
    for kinds @ [node, root] in [[NODE, HEAD], [TREE_NODE, ROOT]] {
        let tags = |name, tags: &'static [&'static str]| bad(name, 1, move |b| list(b, kinds, tags));
        cases.extend([
            good("managed/root", |b| list(b, kinds, &["contains:item:node"])),
            good("managed/root with another tag", |b| list(b, kinds, &["contains:item:node", "other"])),
            tags("managed/root without a tag", &[]),
            tags("managed/root with two tags", &["contains:item:node", "contains:item:node"]),
            tags("managed/tag without a member", &["contains:item"]),
            tags("managed/tag with an empty member", &["contains:item:"]),
            tags("managed/tag with an absent struct", &["contains:items:node"]),
            tags("managed/tag with an absent member", &["contains:item:nodes"]),
            tags("managed/tag with a member that is no node", &["contains:item:n"]),
            good("managed/tag of another member", |b| {
                let owner = b.structure("owner", 4, &[("lock", LOCK, 0)]);
                b.decl_tag("contains:item:node", owner, 0);
            }),
            bad("managed/root without a lock", 1, |b| {
                b.structure("item", 48, &[("node", node, 0)]);
                let owner = b.structure("owner", 16, &[("root", root, 0)]);
                b.decl_tag("contains:item:node", owner, 0);
            }),
            bad("managed/unaligned node", 0, |b| {
                b.structure("item", 48, &[("n", INT, 0), ("node", node, 32)]);
            }),
        ]);
    }
    cases
}

/// Adds a struct of nodes of a list.
fn many_nodes(b: &mut Builder, count: u32) {
    let names: Vec<_> = (0..count).map(|n| format!("n{n}")).collect();
    let members: Vec<_> = (0..).zip(&names).map(|(n, name)| (name.as_str(), NODE, n * 192)).collect();
    b.structure("item", count * 24, &members);
}

fn nodes() -> Vec<Case> {
    vec![
        bad("managed/node of the other kind", 1, |b| list(b, [TREE_NODE, HEAD], &["contains:item:node"])),
        bad("managed/both nodes", 0, |b| {
            b.structure("item", 56, &[("a", NODE, 0), ("b", TREE_NODE, 192)]);
        }),
        good("managed/both nodes with a reference count", |b| {
            b.structure("item", 64, &[("a", NODE, 0), ("b", TREE_NODE, 192), ("c", REFCOUNT, 448)]);
        }),
        good("managed/two reference counts", |b| {
            b.structure("item", 8, &[("a", REFCOUNT, 0), ("b", REFCOUNT, 32)]);
        }),
        bad("managed/twelve nodes", 0, |b| many_nodes(b, 12)),
        good("managed/eleven nodes", |b| many_nodes(b, 11)),
        bad("managed/overlapping nodes", 0, |b| {
            b.structure("item", 48, &[("a", NODE, 0), ("b", NODE, 64)]);
        }),
    ]
}

/// Adds a struct that is a node, has a lock, and owns nodes of a struct.
fn owner(b: &mut Builder, name: &str, owned: &str) {
    let id = b.structure(name, 48, &[("lock", LOCK, 0), ("head", HEAD, 64), ("node", NODE, 192)]);
    b.decl_tag(&format!("contains:{owned}:node"), id, 1);
}

fn ownership() -> Vec<Case> {
    vec![
        bad("managed/owns itself", 0, |b| owner(b, "a", "a")),
        bad("managed/owns each other", 0, |b| {
            owner(b, "a", "b");
            owner(b, "b", "a");
        }),
        good("managed/owned owner of a leaf", |b| {
            b.structure("leaf", 24, &[("node", NODE, 0)]);
            owner(b, "a", "leaf");
            let owner = b.structure("owner", 24, &[("lock", LOCK, 0), ("root", HEAD, 64)]);
            b.decl_tag("contains:a:node", owner, 1);
        }),
        bad("managed/three levels of owned owners", 3, |b| {
            b.structure("leaf", 24, &[("node", NODE, 0)]);
            owner(b, "a", "leaf");
            owner(b, "b", "a");
        }),
    ]
}
