//! Loops, and chains of types that are too long.

use super::{Case, INT, Raw, Refusal, accepted, refused};
use core_relo::{
    TypeId,
    btf::{Builder, Kind},
};

/// `MAX_RESOLVE_DEPTH`.
const DEPTH: u32 = 32;

pub(super) fn cases() -> Vec<Case> {
    const LOOP: &str = "Loop detected";
    const TOO_DEEP: &str = "Exceeded max resolving depth";
    vec![
        refused("loop/struct in itself", 2, LOOP, |b| {
            b.structure("s", 4, &[("a", TypeId(2), 0)]);
        }),
        refused("loop/two structs", 2, LOOP, |b| {
            b.structure("s", 4, &[("a", TypeId(3), 0)]);
            b.structure("t", 4, &[("a", TypeId(2), 0)]);
        }),
        refused("loop/struct and array", 2, LOOP, |b| {
            b.structure("s", 4, &[("a", TypeId(3), 0)]);
            b.array(TypeId(2), INT, 1);
        }),
        refused("loop/array of itself", 2, LOOP, |b| b.array(TypeId(2), INT, 1)),
        refused("loop/index of an array is the array", 2, LOOP, |b| b.array(INT, TypeId(2), 1)),
        refused("loop/struct and typedef", 2, LOOP, |b| {
            b.typedef("t", TypeId(3));
            b.structure("s", 4, &[("a", TypeId(2), 0)]);
        }),
        refused("loop/modifiers", 2, LOOP, |b| {
            b.modifier(Kind::Const, TypeId(3));
            b.modifier(Kind::Volatile, TypeId(2));
        }),
        refused("loop/pointers", 2, LOOP, |b| {
            b.pointer(TypeId(3));
            b.pointer(TypeId(2));
        }),
        refused("loop/pointer and modifiers", 2, LOOP, |b| {
            b.modifier(Kind::Const, TypeId(3));
            b.pointer(TypeId(2));
        }),
        refused("loop/pointers and modifiers of a member", 3, LOOP, |b| {
            // The struct ends at the pointer, so that only the pointer itself finds the loop.
            b.structure("s", 8, &[("a", TypeId(4), 0)]);
            b.pointer(TypeId(4));
            b.modifier(Kind::Const, TypeId(3));
        }),
        refused("loop/variable and typedef of itself", 2, LOOP, |b| {
            b.var("x", TypeId(3), 1);
            b.typedef("t", TypeId(3));
        }),
        refused("loop/parameter", 3, LOOP, |b| {
            b.func_proto(INT, &[("a", TypeId(3))]);
            b.modifier(Kind::Const, TypeId(4));
            b.modifier(Kind::Volatile, TypeId(3));
        }),
        accepted("loop/struct with a pointer to itself", |b| {
            b.structure("s", 8, &[("a", TypeId(3), 0)]);
            b.pointer(TypeId(2));
        }),
        accepted("loop/struct with a typedef of a pointer to itself", |b| {
            b.typedef("t", TypeId(4));
            b.structure("s", 8, &[("a", TypeId(2), 0)]);
            b.pointer(TypeId(3));
        }),
        accepted("loop/prototype with a pointer to itself", |b| {
            b.func_proto(INT, &[("a", TypeId(3))]);
            b.pointer(TypeId(2));
        }),
        accepted("loop/struct with an array of pointers to itself", |b| {
            b.structure("s", 16, &[("a", TypeId(3), 0)]);
            b.array(TypeId(4), INT, 2);
            b.pointer(TypeId(2));
        }),
        accepted("depth/longest chain of later pointers", |b| chain(b, Kind::Ptr, DEPTH)),
        refused("depth/too long a chain of later pointers", 2, TOO_DEEP, |b| chain(b, Kind::Ptr, DEPTH + 1)),
        accepted("depth/chain of earlier pointers", |b| {
            let mut target = INT;
            (0..2 * DEPTH).for_each(|_| target = b.pointer(target));
        }),
        refused("depth/too long a chain of later modifiers", 2, TOO_DEEP, |b| {
            chain(b, Kind::Const, DEPTH + 1)
        }),
        accepted("depth/longest chain of modifiers", |b| chain(b, Kind::Const, DEPTH)),
        accepted("depth/chain of earlier modifiers", |b| {
            let mut target = INT;
            (0..2 * DEPTH).for_each(|_| target = b.modifier(Kind::Const, target));
        }),
        silent(
            "depth/modifiers, some of which were resolved before",
            "Max chain length or cycle detected",
            |b| {
                // The struct resolves the second half of the chain.
                b.structure("s", 4, &[("a", TypeId(20), 0)]);
                chain(b, Kind::Const, 37);
            },
        ),
        refused("depth/too many nested structs", 2, TOO_DEEP, |b| {
            for n in 0..=DEPTH {
                b.structure("s", 4, &[("a", TypeId(n + 3), 0)]);
            }
            b.structure("last", 4, &[]);
        }),
        accepted("depth/most nested structs", |b| {
            for n in 0..DEPTH - 1 {
                b.structure("s", 4, &[("a", TypeId(n + 3), 0)]);
            }
            b.structure("last", 4, &[]);
        }),
    ]
}

/// Adds types that each refer to the next, and the last to `int`.
fn chain(b: &mut Builder, kind: Kind, count: u32) {
    for n in (0..count).rev() {
        let target = if n == 0 { INT } else { b.next_id().next() };
        Raw { third: target.0, ..Raw::of(kind) }.add(b);
    }
}

/// A refusal whose log names no type.
fn silent<R>(name: &'static str, message: &'static str, build: impl FnOnce(&mut Builder) -> R) -> Case {
    let case = refused(name, 0, message, build);
    Case { refusal: Some(Refusal { ty: None, message }), ..case }
}
