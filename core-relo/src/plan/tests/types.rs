//! Tests of relocations of types as a whole.

use super::fixture::{Fixture, imm64, in_both_orders, mov};
use crate::{
    Endian, TypeId,
    btf::{Builder, Kind},
    ext::RelocKind::{self, TypeExists, TypeIdLocal, TypeIdTarget, TypeMatches, TypeSize},
    plan::RelocError,
    resolve::{CompareError, MatchError},
};

#[test]
fn a_missing_type_is_zero_and_not_poison() {
    in_both_orders(|f| {
        let int = f.local.int("int", 4, Builder::SIGNED);
        let root = f.local.structure("s", 4, &[("a", int, 0)]);
        let id = u64::from(root.0);
        let got = f.plan(&[
            (TypeExists, root, "0", mov(1)),
            (TypeMatches, root, "0", mov(1)),
            (TypeSize, root, "0", mov(4)),
            (TypeIdTarget, root, "0", imm64(id)),
            (TypeIdLocal, root, "0", imm64(77)),
        ]);
        assert_eq!(got.iter().map(|o| o.patched().0).collect::<alloc::vec::Vec<_>>(), [0, 0, 0, 0, id]);
        assert_eq!(got[4].patched().1, Some(imm64(id)), "the plan corrects a wrong id in the instruction");
    });
}

#[test]
fn an_existing_type_has_an_id_and_a_size() {
    in_both_orders(|f| {
        let int = f.local.int("int", 4, Builder::SIGNED);
        let root = f.local.typedef("t", int);
        let structure = f.local.structure("t2", 4, &[]);
        let long = f.target.int("long", 8, Builder::SIGNED);
        let void = f.target.pointer(TypeId::VOID);
        f.target.typedef("t2", void);
        let target_typedef = f.target.typedef("t", long);
        let got = f.plan(&[
            (TypeExists, root, "0", mov(1)),
            (TypeSize, root, "0", mov(4)),
            (TypeIdTarget, root, "0", imm64(0)),
            (TypeExists, structure, "0", mov(1)),
        ]);
        assert_eq!(got[0].patched(), (1, None));
        assert_eq!(got[1].patched(), (8, Some(mov(8))));
        assert_eq!(got[2].patched().0, u64::from(target_typedef.0));
        assert_eq!(
            got[3].patched().0,
            0,
            "a struct and a typedef of one name are not candidates for each other"
        );
    });
}

#[test]
fn an_anonymous_root_has_only_a_local_id() {
    in_both_orders(|f| {
        let root = f.local.structure("", 4, &[]);
        let got = f.plan(&[(TypeIdLocal, root, "0", imm64(0)), (TypeExists, root, "0", mov(1))]);
        assert_eq!(got[0].patched().0, u64::from(root.0));
        assert_eq!(got[1].decision, Err(RelocError::AnonymousRoot(root)));
    });
}

/// Returns whether a relocation of a `TypeExists` or `TypeMatches` kind has the value 1 for these local and
/// target types.
fn is_accepted(
    local: impl Fn(&mut Builder) -> TypeId,
    target: impl Fn(&mut Builder) -> TypeId,
    kind: RelocKind,
) -> bool {
    let results = core::cell::RefCell::new(alloc::vec::Vec::new());
    in_both_orders(|f| {
        let inner = local(&mut f.local);
        let root = f.local.typedef("t", inner);
        let inner = target(&mut f.target);
        f.target.typedef("t", inner);
        results.borrow_mut().push(f.plan_one((kind, root, "0", mov(1))).patched().0 == 1);
    });
    let results = results.into_inner();
    assert_eq!(results[0], results[1], "both byte orders agree");
    results[0]
}

#[test]
fn matching_compares_members_enumerators_integers_and_arrays() {
    let int = |size, encoding| move |b: &mut Builder| b.int("n", size, encoding);
    assert!(is_accepted(int(4, Builder::SIGNED), int(4, Builder::SIGNED), TypeMatches));
    assert!(!is_accepted(int(4, Builder::SIGNED), int(8, Builder::SIGNED), TypeMatches));
    assert!(!is_accepted(int(4, Builder::SIGNED), int(4, 0), TypeMatches));
    assert!(is_accepted(int(4, Builder::SIGNED), int(8, 0), TypeExists), "existence ignores size and sign");

    let array = |n| {
        move |b: &mut Builder| {
            let int = b.int("n", 4, Builder::SIGNED);
            b.array(int, int, n)
        }
    };
    assert!(is_accepted(array(3), array(3), TypeMatches));
    assert!(!is_accepted(array(3), array(4), TypeMatches));
    assert!(is_accepted(array(3), array(4), TypeExists));

    let structure = |names: &'static [&'static str]| {
        move |b: &mut Builder| {
            let int = b.int("n", 4, Builder::SIGNED);
            let members: alloc::vec::Vec<_> = names.iter().map(|name| (*name, int, 0)).collect();
            b.structure("s", 16, &members)
        }
    };
    assert!(is_accepted(structure(&["a", "b"]), structure(&["b", "x", "a"]), TypeMatches));
    assert!(
        is_accepted(structure(&["a___x"]), structure(&["a___y"]), TypeMatches),
        "flavours of members are ignored"
    );
    assert!(!is_accepted(structure(&["a", "b"]), structure(&["a", "x"]), TypeMatches));
    assert!(!is_accepted(structure(&["a", "b"]), structure(&["a"]), TypeMatches));
    assert!(is_accepted(structure(&["a", "b"]), structure(&[]), TypeExists));

    let enumeration =
        |names: &'static [(&'static str, i64)], size| move |b: &mut Builder| b.enumeration("e", size, names);
    assert!(is_accepted(enumeration(&[("A", 1)], 4), enumeration(&[("B", 1), ("A", 2)], 4), TypeMatches));
    assert!(!is_accepted(enumeration(&[("A", 1)], 4), enumeration(&[("A", 1)], 8), TypeMatches));
    assert!(!is_accepted(
        enumeration(&[("A", 1), ("B", 2)], 4),
        enumeration(&[("A", 1), ("C", 2)], 4),
        TypeMatches
    ));
    let enumeration64 = |b: &mut Builder| b.enumeration64("e", 4, &[("A", 1)]);
    assert!(is_accepted(enumeration(&[("A", 1)], 4), enumeration64, TypeMatches));
}

#[test]
fn behind_a_pointer_only_names_and_kinds_count() {
    let pointer_to_struct = |names: &'static [&'static str]| {
        move |b: &mut Builder| {
            let int = b.int("n", 4, Builder::SIGNED);
            let members: alloc::vec::Vec<_> = names.iter().map(|name| (*name, int, 0)).collect();
            let s = b.structure("s", 16, &members);
            b.pointer(s)
        }
    };
    let pointer_to_forward = |kind| {
        move |b: &mut Builder| {
            let fwd = b.forward("s", kind);
            b.pointer(fwd)
        }
    };
    assert!(is_accepted(pointer_to_struct(&["a"]), pointer_to_struct(&["b"]), TypeMatches));
    assert!(is_accepted(pointer_to_struct(&["a"]), pointer_to_forward(Kind::Struct), TypeMatches));
    assert!(!is_accepted(pointer_to_struct(&["a"]), pointer_to_forward(Kind::Union), TypeMatches));
    assert!(is_accepted(pointer_to_forward(Kind::Struct), pointer_to_struct(&["a"]), TypeMatches));
    assert!(!is_accepted(pointer_to_forward(Kind::Union), pointer_to_forward(Kind::Struct), TypeMatches));
    let forward = |kind| move |b: &mut Builder| b.forward("s", kind);
    assert!(is_accepted(forward(Kind::Union), forward(Kind::Union), TypeMatches));
    assert!(!is_accepted(forward(Kind::Union), |b: &mut Builder| b.union("s", 4, &[]), TypeMatches));
}

#[test]
fn functions_compare_arguments_and_result() {
    let function = |args: &'static [Kind]| {
        move |b: &mut Builder| {
            let int = b.int("n", 4, Builder::SIGNED);
            let params: alloc::vec::Vec<_> =
                args.iter().map(|kind| ("", if *kind == Kind::Ptr { b.pointer(int) } else { int })).collect();
            let proto = b.func_proto(int, &params);
            b.pointer(proto)
        }
    };
    for kind in [TypeMatches, TypeExists] {
        assert!(is_accepted(function(&[Kind::Ptr, Kind::Int]), function(&[Kind::Ptr, Kind::Int]), kind));
        assert!(!is_accepted(function(&[Kind::Ptr]), function(&[Kind::Int]), kind));
        assert!(!is_accepted(function(&[Kind::Ptr]), function(&[Kind::Ptr, Kind::Int]), kind));
    }
    let float = |b: &mut Builder| b.float("double", 8);
    assert!(!is_accepted(float, float, TypeExists), "floats are never compatible, as in libbpf");
}

#[test]
fn comparisons_that_are_too_deep_are_errors() {
    in_both_orders(|f| {
        for b in [&mut f.local, &mut f.target] {
            let next = b.next_id();
            b.pointer(TypeId(next.0 + 1));
            b.pointer(next);
            b.typedef("t", next);
        }
        let root = TypeId(3);
        for kind in [TypeExists, TypeMatches] {
            let got = f.plan_one((kind, root, "0", mov(1)));
            let too_deep = MatchError::Compare(CompareError::TooDeep);
            assert!(
                matches!(got.decision, Err(RelocError::Match { error, .. }) if error == too_deep),
                "{got:?}"
            );
        }
    });
}

#[test]
fn comparisons_with_exponentially_many_branches_are_errors() {
    // The steps do not depend on the byte order, and they take long.
    let mut f = Fixture::new(Endian::Little);
    for b in [&mut f.local, &mut f.target] {
        let int = b.int("n", 4, Builder::SIGNED);
        let mut inner = b.func_proto(int, &[("", int); 4]);
        for _ in 0..20 {
            inner = b.func_proto(int, &[("", inner); 4]);
        }
        b.typedef("t", inner);
    }
    let root = TypeId(f.local.next_id().0 - 1);
    for kind in [TypeExists, TypeMatches] {
        let got = f.plan_one((kind, root, "0", mov(1)));
        let has_too_many_steps =
            matches!(got.decision, Err(RelocError::Match { error: MatchError::TooManySteps, .. }));
        assert!(has_too_many_steps, "{got:?}");
    }
}
