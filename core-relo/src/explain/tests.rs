//! What explaining costs, counted in steps; and what is left out where it would cost too much.

use super::*;
use crate::{
    CodeSection, Endian, Function, InsnIndex, Relocs, Target, TypeId,
    btf::{Btf, Builder},
    ext::{BtfExt, ExtBuilder, ExtPart, RelocKind},
    insn::Insn,
};
use alloc::{format, sync::Arc, vec};

/// A record: kind, root, access string.
type Asked = (RelocKind, TypeId, String);

/// Plans the records, each on an instruction of its own, and hands over the plan.
fn with_plan<T>(
    mut local: Builder,
    asked: &[Asked],
    target: &Target<'_>,
    use_it: impl Fn(&Plan<'_>) -> T,
) -> T {
    let endian = Endian::Little;
    let section = local.string("tp/x");
    let mut records = Vec::new();
    for ((kind, root, access), at) in asked.iter().zip((0u32..).step_by(8)) {
        let access = local.string(access);
        for word in [at, root.0, access.0, kind.raw()] {
            endian.put_u32(&mut records, word);
        }
    }
    let mut ext = ExtBuilder::new(endian);
    ext.group(ExtPart::CoreRelo, section, 16, &records);
    let (btf, ext) = (Btf::parse(local.finish()).unwrap(), ext.finish());
    let code = [Insn { code: 0xb7, imm: 0, ..Insn::default() }.encode(endian)].repeat(asked.len()).concat();
    let functions = vec![Function { name: b"prog", start: InsnIndex(0), len: u32::MAX }];
    let sections = [CodeSection { name: b"tp/x", code: &code, functions }];
    let relocs = Relocs::collect(&btf, &BtfExt::parse(&ext).unwrap(), &sections).unwrap();
    use_it(&Plan::new(&relocs, target))
}

fn target_of(make: impl FnOnce(&mut Builder, TypeId)) -> Target<'static> {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    make(&mut b, int);
    Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()))
}

/// Steps of looking for what comes near, for all records.
fn steps(plan: &Plan<'_>) -> u32 {
    let mut explainer = Explainer::new(plan);
    for planned in plan.iter() {
        explainer.explain(&planned);
    }
    explainer.near.steps()
}

const TYPES: usize = 1000;

fn many_structs() -> Target<'static> {
    target_of(|b, int| {
        for n in 0..TYPES {
            let member = format!("member_{n}");
            b.structure(&format!("struct_{n}"), 4, &[(&member, int, 0)]);
            b.enumeration(&format!("enum_{n}"), 4, false, &[(&format!("ENUMERATOR_{n}"), 1)]);
        }
        b.structure("s", 4, &[("a", int, 0)]);
        b.enumeration("e", 4, false, &[("A", 1)]);
    })
}

/// Records that ask for `distinct` missing things by turns, of each sort.
fn missing(count: usize, distinct: usize, sort: RelocKind) -> (Builder, Vec<Asked>) {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let names: Vec<_> = (0..distinct).map(|n| format!("quite_different_{n}")).collect();
    let asked: Vec<Asked> = match sort {
        RelocKind::EnumvalValue => {
            let variants: Vec<_> = names.iter().map(|name| (&**name, 0)).collect();
            let root = b.enumeration("e", 4, false, &variants);
            (0..distinct).map(|n| (sort, root, n.to_string())).collect()
        }
        RelocKind::FieldByteOffset => {
            let members: Vec<_> = names.iter().map(|name| (&**name, int, 0)).collect();
            let root = b.structure("s", 4, &members);
            (0..distinct).map(|n| (sort, root, format!("0:{n}"))).collect()
        }
        _ => names.iter().map(|name| (sort, b.structure(name, 4, &[]), String::from("0"))).collect(),
    };
    let asked = asked.iter().cycle().take(count).cloned().collect();
    (b, asked)
}

#[test]
fn records_that_lack_the_same_share_one_search() {
    let target = many_structs();
    for sort in [RelocKind::TypeIdTarget, RelocKind::FieldByteOffset, RelocKind::EnumvalValue] {
        let of = |count, distinct| {
            let (local, asked) = missing(count, distinct, sort);
            with_plan(local, &asked, &target, steps)
        };
        let one = of(1, 1);
        assert!(one > 0);
        assert_eq!(of(500, 1), one, "{sort}");
        assert_eq!(of(500, 20), of(20, 20), "{sort}");
    }
}

/// Each distinct name is compared with those like it; all the target is passed over once for all of them.
#[test]
fn the_target_is_passed_over_once_for_all_missing_names() {
    let target = many_structs();
    for (sort, compared) in
        [(RelocKind::TypeIdTarget, TYPES + 1), (RelocKind::FieldByteOffset, 1), (RelocKind::EnumvalValue, 5)]
    {
        let of = |distinct| {
            let (local, asked) = missing(distinct, distinct, sort);
            with_plan(local, &asked, &target, steps)
        };
        let more = of(101).checked_sub(of(1)).unwrap();
        assert_eq!(usize::try_from(more).unwrap(), 100 * compared, "{sort}");
    }
}

/// Composites of which each has the one before it three times have more members than anyone can look through.
#[test]
fn steps_that_are_used_up_are_reported() {
    let target = target_of(|b, int| {
        let members: Vec<_> = (0..60_000).map(|n| format!("member_{n}")).collect();
        let members: Vec<_> = members.iter().map(|name| (&**name, int, 0)).collect();
        let inner = b.structure("inner", 4, &members);
        let nested = ["a", "b", "c", "d", "e"].map(|name| (name, inner, 0));
        for n in 0..100 {
            b.structure(&format!("s{n}"), 4, &nested);
        }
    });
    let mut local = Builder::new(Endian::Little);
    let int = local.int("int", 4, Builder::SIGNED);
    let mut asked = Vec::new();
    for n in 0..100 {
        let root = local.structure(&format!("s{n}"), 4, &[("ba", int, 0)]);
        asked.push((RelocKind::FieldByteOffset, root, String::from("0:0")));
    }
    with_plan(local, &asked, &target, |plan| {
        let mut explainer = Explainer::new(plan);
        let near: Vec<_> = plan.iter().map(|planned| explainer.explain(&planned).near).collect();
        assert_eq!(near[0][0], "struct s0.a (struct inner, offset 0)");
        assert!(near[99][0].starts_with("not searched: "), "{near:?}");
        assert_eq!(explainer.near.steps(), limits::NEAR_STEPS);
    });
}

#[test]
fn many_candidates_are_counted_and_not_all_listed() {
    let count = limits::MORE_LISTED_CANDIDATES / 2;
    let target = target_of(|b, int| {
        for n in 0..count {
            b.structure(&format!("s___{n}"), 4, &[("b", int, 0)]);
        }
    });
    let mut local = Builder::new(Endian::Little);
    let int = local.int("int", 4, Builder::SIGNED);
    let root = local.structure("s", 4, &[("a", int, 0)]);
    let asked = vec![(RelocKind::FieldByteOffset, root, String::from("0:0")); 5];
    with_plan(local, &asked, &target, |plan| {
        let mut explainer = Explainer::new(plan);
        let all: Vec<_> = plan.iter().map(|planned| explainer.explain(&planned)).collect();
        let listed: Vec<_> = all.iter().map(|explanation| explanation.tried.len()).collect();
        let few = limits::LISTED_CANDIDATES;
        assert_eq!(listed, [count, count, 3 * few, few, few]);
        assert!(plan.iter().all(|planned| planned.candidate_count() == count));
        let reason = format!("none of the {count} candidates for `struct s` has it");
        assert!(all.iter().all(|explanation| explanation.reason == reason));
        assert!(plan.iter().all(|planned| super::reason(&planned) == reason));
    });
}

#[test]
fn guards_are_those_of_the_same_access_or_of_a_type_that_is_missing() {
    let target = target_of(|b, int| {
        b.structure("s", 4, &[("x", int, 0)]);
    });
    let mut local = Builder::new(Endian::Little);
    let int = local.int("int", 4, Builder::SIGNED);
    let there = local.structure("s", 8, &[("a", int, 0), ("b", int, 32)]);
    let gone = local.structure("t", 4, &[("a", int, 0)]);
    let asked = [
        (RelocKind::TypeExists, there, "0"),
        (RelocKind::FieldByteSize, there, "0:0"),
        (RelocKind::FieldByteSize, there, "0:1"),
        (RelocKind::FieldExists, there, "0:1"),
        (RelocKind::FieldByteSize, gone, "0:0"),
        (RelocKind::TypeExists, gone, "0"),
        (RelocKind::FieldExists, gone, "0:0"),
    ]
    .map(|(kind, root, access)| (kind, root, String::from(access)));
    with_plan(local, &asked, &target, |plan| {
        let guards = Guards::new(plan);
        let found: Vec<_> = plan.iter().map(|p| guards.find(&p).map(|record| record.index)).collect();
        assert_eq!(found[1..5], [None, Some(3), Some(3), Some(5)]);
    });
}

/// Else 100,000 records could print a name of 64 KiB each.
#[test]
fn names_longer_than_any_compilers_are_cut() {
    let (of_type, member) = ("t".repeat(60_000), "m".repeat(60_000));
    let target = target_of(|b, int| {
        let inner = b.structure(&of_type, 4, &[(&member, int, 0)]);
        let other = format!("{member}other");
        b.structure("s", 4, &[("inner", inner, 0), (&other, inner, 0)]);
    });
    let mut local = Builder::new(Endian::Little);
    let int = local.int("int", 4, Builder::SIGNED);
    let asked = [("s", &member), (&*of_type, &member)].map(|(name, member)| {
        let root = local.structure(name, 4, &[(member, int, 0)]);
        (RelocKind::FieldByteOffset, root, String::from("0:0"))
    });
    with_plan(local, &asked, &target, |plan| {
        let mut explainer = Explainer::new(plan);
        for planned in plan.iter() {
            let e = explainer.explain(&planned);
            let tried = e.tried.iter().flat_map(|tried| [&tried.what, &tried.verdict]);
            for text in
                [&e.access, &e.local, &e.reason].into_iter().chain(tried).chain(&e.near).chain(&e.help)
            {
                assert!(text.len() <= 3 * limits::TEXT_BYTES, "{}", text.len());
            }
            assert!(e.local.contains('…'));
        }
    });
}
