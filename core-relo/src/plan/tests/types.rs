//! Tests of relocations of types as a whole.

use super::fixture::{imm64, in_both_orders, mov};
use crate::{
    TypeId,
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
        assert_eq!(got[4].patched().1, Some(imm64(id)), "a stale id is put right");
    });
}

#[test]
fn an_existing_type_has_an_id_and_a_size() {
    in_both_orders(|f| {
        let int = f.local.int("int", 4, Builder::SIGNED);
        let root = f.local.typedef("t", int);
        let wrong = f.local.structure("t2", 4, &[]);
        let long = f.target.int("long", 8, Builder::SIGNED);
        let void = f.target.pointer(TypeId::VOID);
        f.target.typedef("t2", void);
        let there = f.target.typedef("t", long);
        let got = f.plan(&[
            (TypeExists, root, "0", mov(1)),
            (TypeSize, root, "0", mov(4)),
            (TypeIdTarget, root, "0", imm64(0)),
            (TypeExists, wrong, "0", mov(1)),
        ]);
        assert_eq!(got[0].patched(), (1, None));
        assert_eq!(got[1].patched(), (8, Some(mov(8))));
        assert_eq!(got[2].patched().0, u64::from(there.0));
        assert_eq!(got[3].patched().0, 0, "a typedef is found only by a typedef");
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

fn matches(
    local: impl Fn(&mut Builder) -> TypeId,
    target: impl Fn(&mut Builder) -> TypeId,
    kind: RelocKind,
) -> bool {
    let answers = core::cell::RefCell::new(alloc::vec::Vec::new());
    in_both_orders(|f| {
        let inner = local(&mut f.local);
        let root = f.local.typedef("t", inner);
        let inner = target(&mut f.target);
        f.target.typedef("t", inner);
        answers.borrow_mut().push(f.plan_one((kind, root, "0", mov(1))).patched().0 == 1);
    });
    let answers = answers.into_inner();
    assert_eq!(answers[0], answers[1], "both byte orders agree");
    answers[0]
}

#[test]
fn matching_compares_members_enumerators_integers_and_arrays() {
    let int = |size, encoding| move |b: &mut Builder| b.int("n", size, encoding);
    assert!(matches(int(4, 1), int(4, 1), TypeMatches));
    assert!(!matches(int(4, 1), int(8, 1), TypeMatches));
    assert!(!matches(int(4, 1), int(4, 0), TypeMatches));
    assert!(matches(int(4, 1), int(8, 0), TypeExists), "existence ignores size and sign");

    let array = |n| {
        move |b: &mut Builder| {
            let int = b.int("n", 4, 1);
            b.array(int, int, n)
        }
    };
    assert!(matches(array(3), array(3), TypeMatches));
    assert!(!matches(array(3), array(4), TypeMatches));
    assert!(matches(array(3), array(4), TypeExists));

    let record = |names: &'static [&'static str]| {
        move |b: &mut Builder| {
            let int = b.int("n", 4, 1);
            let members: alloc::vec::Vec<_> = names.iter().map(|name| (*name, int, 0)).collect();
            b.structure("s", 16, &members)
        }
    };
    assert!(matches(record(&["a", "b"]), record(&["b", "x", "a"]), TypeMatches));
    assert!(matches(record(&["a___x"]), record(&["a___y"]), TypeMatches), "flavours of members are ignored");
    assert!(!matches(record(&["a", "b"]), record(&["a", "x"]), TypeMatches));
    assert!(!matches(record(&["a", "b"]), record(&["a"]), TypeMatches));
    assert!(matches(record(&["a", "b"]), record(&[]), TypeExists));

    let choice = |names: &'static [(&'static str, i64)], size| {
        move |b: &mut Builder| b.enumeration("e", size, false, names)
    };
    assert!(matches(choice(&[("A", 1)], 4), choice(&[("B", 1), ("A", 2)], 4), TypeMatches));
    assert!(!matches(choice(&[("A", 1)], 4), choice(&[("A", 1)], 8), TypeMatches));
    assert!(!matches(choice(&[("A", 1), ("B", 2)], 4), choice(&[("A", 1), ("C", 2)], 4), TypeMatches));
    let wide = |b: &mut Builder| b.enumeration64("e", 4, false, &[("A", 1)]);
    assert!(matches(choice(&[("A", 1)], 4), wide, TypeMatches));
}

#[test]
fn behind_a_pointer_only_names_and_kinds_count() {
    let behind = |names: &'static [&'static str]| {
        move |b: &mut Builder| {
            let int = b.int("n", 4, 1);
            let members: alloc::vec::Vec<_> = names.iter().map(|name| (*name, int, 0)).collect();
            let s = b.structure("s", 16, &members);
            b.pointer(s)
        }
    };
    let forward = |is_union| {
        move |b: &mut Builder| {
            let fwd = b.forward("s", is_union);
            b.pointer(fwd)
        }
    };
    assert!(matches(behind(&["a"]), behind(&["b"]), TypeMatches));
    assert!(matches(behind(&["a"]), forward(false), TypeMatches));
    assert!(!matches(behind(&["a"]), forward(true), TypeMatches));
    assert!(matches(forward(false), behind(&["a"]), TypeMatches));
    assert!(!matches(forward(true), forward(false), TypeMatches));
    let bare = |is_union| move |b: &mut Builder| b.forward("s", is_union);
    assert!(matches(bare(true), bare(true), TypeMatches));
    assert!(!matches(bare(true), |b: &mut Builder| b.union("s", 4, &[]), TypeMatches));
}

#[test]
fn functions_compare_arguments_and_result() {
    let function = |args: &'static [Kind]| {
        move |b: &mut Builder| {
            let int = b.int("n", 4, 1);
            let params: alloc::vec::Vec<_> =
                args.iter().map(|kind| ("", if *kind == Kind::Ptr { b.pointer(int) } else { int })).collect();
            let proto = b.func_proto(int, &params);
            b.pointer(proto)
        }
    };
    for kind in [TypeMatches, TypeExists] {
        assert!(matches(function(&[Kind::Ptr, Kind::Int]), function(&[Kind::Ptr, Kind::Int]), kind));
        assert!(!matches(function(&[Kind::Ptr]), function(&[Kind::Int]), kind));
        assert!(!matches(function(&[Kind::Ptr]), function(&[Kind::Ptr, Kind::Int]), kind));
    }
    let float = |b: &mut Builder| b.float("double", 8);
    assert!(!matches(float, float, TypeExists), "floats are never compatible, as in libbpf");
}

#[test]
fn comparisons_too_deep_are_errors() {
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
fn comparisons_that_branch_without_end_are_errors() {
    in_both_orders(|f| {
        for b in [&mut f.local, &mut f.target] {
            let int = b.int("n", 4, 1);
            let mut inner = b.func_proto(int, &[("", int); 4]);
            for _ in 0..20 {
                inner = b.func_proto(int, &[("", inner); 4]);
            }
            b.typedef("t", inner);
        }
        let root = TypeId(f.local.next_id().0 - 1);
        for kind in [TypeExists, TypeMatches] {
            let got = f.plan_one((kind, root, "0", mov(1)));
            let endless =
                matches!(got.decision, Err(RelocError::Match { error: MatchError::TooManySteps, .. }));
            assert!(endless, "{got:?}");
        }
    });
}
