//! Tests of the steps that explanations take, and of the limits on their texts.

use super::{guards::Guards, *};
use crate::{
    CodeSection, Endian, Function, InsnIndex, Plan, Relocs, Target, TypeId,
    btf::{Btf, Builder},
    ext::{BtfExt, ExtBuilder, ExtPart, RelocKind},
    insn::Insn,
    limits,
};
use alloc::{
    format,
    string::{String, ToString as _},
    sync::Arc,
    vec,
    vec::Vec,
};

/// A record: kind, root type, access string.
type RecordSpec = (RelocKind, TypeId, String);

/// Plans the records, each with its own instruction, and passes the plan to `use_plan`.
fn with_plan<T>(
    local: Builder,
    asked: &[RecordSpec],
    target: &Target<'_>,
    use_plan: impl Fn(&Plan<'_>) -> T,
) -> T {
    let move_zero = Insn { code: 0xb7, imm: 0, ..Insn::default() };
    with_plan_of(move_zero, local, asked, target, use_plan)
}

/// Plans the records, each at a copy of an instruction.
fn with_plan_of<T>(
    insn: Insn,
    mut local: Builder,
    asked: &[RecordSpec],
    target: &Target<'_>,
    use_plan: impl Fn(&Plan<'_>) -> T,
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
    let code = [insn.encode(endian)].repeat(asked.len()).concat();
    let functions = vec![Function { name: b"prog", start: InsnIndex(0), len: u32::MAX }];
    let sections = [CodeSection { name: b"tp/x", code: &code, functions }];
    let relocs = Relocs::collect(&btf, &BtfExt::parse(&ext).unwrap(), &sections).unwrap();
    use_plan(&Plan::new(&relocs, target))
}

fn build_target(make: impl FnOnce(&mut Builder, TypeId)) -> Target<'static> {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    make(&mut b, int);
    Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()))
}

/// Returns the steps of the search for similar names, for all records.
fn near_steps(plan: &Plan<'_>) -> u32 {
    let mut explainer = Explainer::new(plan);
    for planned in plan.iter() {
        explainer.explain(&planned);
    }
    explainer.near_steps()
}

const TYPES: usize = 1000;

fn many_structs() -> Target<'static> {
    build_target(|b, int| {
        for n in 0..TYPES {
            let member = format!("member_{n}");
            b.structure(&format!("struct_{n}"), 4, &[(&member, int, 0)]);
            b.enumeration(&format!("enum_{n}"), 4, &[(&format!("ENUMERATOR_{n}"), 1)]);
        }
        b.structure("s", 4, &[("a", int, 0)]);
        b.enumeration("e", 4, &[("A", 1)]);
    })
}

/// Returns `count` records of one kind that access `distinct` missing items by turns.
fn missing_records(count: usize, distinct: usize, kind: RelocKind) -> (Builder, Vec<RecordSpec>) {
    let mut b = Builder::new(Endian::Little);
    let int = b.int("int", 4, Builder::SIGNED);
    let names: Vec<_> = (0..distinct).map(|n| format!("quite_different_{n}")).collect();
    let asked: Vec<RecordSpec> = match kind {
        RelocKind::EnumvalValue => {
            let variants: Vec<_> = names.iter().map(|name| (&**name, 0)).collect();
            let root = b.enumeration("e", 4, &variants);
            (0..distinct).map(|n| (kind, root, n.to_string())).collect()
        }
        RelocKind::FieldByteOffset => {
            let members: Vec<_> = names.iter().map(|name| (&**name, int, 0)).collect();
            let root = b.structure("s", 4, &members);
            (0..distinct).map(|n| (kind, root, format!("0:{n}"))).collect()
        }
        _ => names.iter().map(|name| (kind, b.structure(name, 4, &[]), String::from("0"))).collect(),
    };
    let asked = asked.iter().cycle().take(count).cloned().collect();
    (b, asked)
}

#[test]
fn records_with_the_same_missing_item_share_one_search() {
    let target = many_structs();
    for kind in [RelocKind::TypeIdTarget, RelocKind::FieldByteOffset, RelocKind::EnumvalValue] {
        let steps = |count, distinct| {
            let (local, asked) = missing_records(count, distinct, kind);
            with_plan(local, &asked, &target, near_steps)
        };
        let single = steps(1, 1);
        assert!(single > 0);
        assert_eq!(steps(500, 1), single, "{kind}");
        assert_eq!(steps(500, 20), steps(20, 20), "{kind}");
    }
}

/// Each distinct name is compared with the names of one type, or of all types. One pass over the target
/// serves all names.
#[test]
fn one_pass_over_the_target_serves_all_missing_names() {
    let target = many_structs();
    for (kind, compared) in
        [(RelocKind::TypeIdTarget, TYPES + 1), (RelocKind::FieldByteOffset, 4), (RelocKind::EnumvalValue, 5)]
    {
        let steps = |distinct| {
            let (local, asked) = missing_records(distinct, distinct, kind);
            with_plan(local, &asked, &target, near_steps)
        };
        let more = steps(101).checked_sub(steps(1)).unwrap();
        assert_eq!(usize::try_from(more).unwrap(), 100 * compared, "{kind}");
    }
}

/// Composites that contain other composites several times have more members than the steps allow.
#[test]
fn explanations_report_that_the_steps_are_used_up() {
    let target = build_target(|b, int| {
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
        assert_eq!(explainer.near_steps(), limits::NEAR_STEPS);
    });
}

#[test]
fn many_candidates_are_counted_and_not_all_listed() {
    let count = limits::MORE_LISTED_CANDIDATES / 2;
    let target = build_target(|b, int| {
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
fn a_guard_checks_the_same_access_or_a_missing_type() {
    let target = build_target(|b, int| {
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
        let found: Vec<_> =
            plan.iter().map(|p| guards.find(&p).map(|record| record.index_in_section)).collect();
        assert_eq!(found[1..5], [None, Some(3), Some(3), Some(5)]);
    });
}

/// Without this 100,000 records could print a name of 64 KiB each.
#[test]
fn long_names_are_cut() {
    let (type_name, member) = ("t".repeat(60_000), "m".repeat(60_000));
    let target = build_target(|b, int| {
        let inner = b.structure(&type_name, 4, &[(&member, int, 0)]);
        let other = format!("{member}other");
        b.structure("s", 4, &[("inner", inner, 0), (&other, inner, 0)]);
    });
    let mut local = Builder::new(Endian::Little);
    let int = local.int("int", 4, Builder::SIGNED);
    let asked = [("s", &member), (&*type_name, &member)].map(|(name, member)| {
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

/// A renamed member often keeps a word: Linux 6.14 renamed `nr_running` of `struct cfs_rq` to `nr_queued`.
#[test]
fn members_that_share_words_are_near_and_no_flavour_declares_them() {
    let target = build_target(|b, int| {
        let names = ["load", "nr_queued", "h_nr_runnable", "h_nr_idle", "min_vruntime", "curr"];
        b.structure("cfs_rq", 24, &names.map(|name| (name, int, 0)));
        b.structure("rq", 4, &[("nr_running", int, 0)]);
    });
    let mut local = Builder::new(Endian::Little);
    let int = local.int("int", 4, Builder::SIGNED);
    let root = local.structure("cfs_rq", 4, &[("nr_running", int, 0)]);
    let records = [(RelocKind::FieldByteOffset, root, String::from("0:0"))];
    with_plan(local, &records, &target, |plan| {
        let explanation = explain(&plan.get(0).unwrap());
        let near: Vec<_> = explanation.near.iter().map(|near| near.split(' ').nth(1).unwrap()).collect();
        assert_eq!(near, ["cfs_rq.h_nr_runnable", "cfs_rq.nr_queued", "cfs_rq.h_nr_idle", "rq.nr_running"]);
        assert_eq!(explanation.help, ["guard it with bpf_core_field_exists()"]);
    });
}

/// Runs `use_plan` with the plan of two accesses, of which the first eliminates the only candidate that has
/// the second.
fn with_eliminated<T>(use_plan: impl Fn(&Plan<'_>) -> T) -> T {
    let target = build_target(|b, int| {
        b.structure("s", 4, &[("a", int, 0)]);
        b.structure("s", 8, &[("b", int, 32)]);
    });
    let mut local = Builder::new(Endian::Little);
    let int = local.int("int", 4, Builder::SIGNED);
    // Both offsets are the 0 of the instructions.
    let root = local.structure("s", 8, &[("a", int, 0), ("b", int, 0)]);
    let asked = ["0:0", "0:1", "0:0"].map(|access| (RelocKind::FieldByteOffset, root, String::from(access)));
    with_plan(local, &asked, &target, use_plan)
}

#[test]
fn an_eliminated_candidate_is_named_with_the_access_that_eliminated_it() {
    with_eliminated(|plan| {
        let missing = plan.get(1).unwrap();
        let text = "vmlinux [3] has it, but is eliminated by `struct s.a` in prog, which it does not match";
        assert_eq!(reason(&missing), text);
        assert_eq!(
            target_independent_reason(&missing),
            "one of the 2 candidates for `struct s` has it, but is eliminated by `struct s.a` in prog, which it does not match"
        );
        let verdicts: Vec<_> = explain(&missing).tried.into_iter().map(|tried| tried.verdict).collect();
        let eliminated = "eliminated by `struct s.a` in prog, which it does not match";
        assert_eq!(verdicts, ["no member `b`", eliminated]);
    });
}

#[test]
fn each_load_has_decisions_of_its_own() {
    with_eliminated(|plan| {
        let value = |plan: &Plan<'_>, record: usize| plan.get(record).unwrap().target_value();
        assert!(plan.depends_on_selection());
        assert_eq!([0, 1, 2].map(|record| value(plan, record)), [Some(0), None, Some(0)]);
        // The second access by itself, and then both others. The third is part of two loads.
        let split = plan.split_by_loads(&[vec![1, 2], vec![0, 2]]);
        assert_eq!([0, 1, 2].map(|record| value(&split, record)), [Some(0), Some(4), None]);
        let in_load = |load, record| split.get_in_load(load, record).unwrap().target_value();
        assert_eq!([in_load(0, 2), in_load(1, 2)], [None, Some(0)]);
        assert_eq!([in_load(0, 1), in_load(1, 0)], [Some(4), Some(0)]);
        // Splitting again starts from the plan of all records.
        let again = split.split_by_loads(&[vec![0, 1, 2]]);
        assert_eq!([0, 1, 2].map(|record| value(&again, record)), [Some(0), None, Some(0)]);
    });
    let target = build_target(|b, int| {
        b.structure("s", 4, &[("a", int, 0)]);
    });
    let mut local = Builder::new(Endian::Little);
    let int = local.int("int", 4, Builder::SIGNED);
    let root = local.structure("s", 4, &[("a", int, 0)]);
    let asked = [(RelocKind::FieldByteOffset, root, String::from("0:0"))];
    with_plan(local, &asked, &target, |plan| assert!(!plan.depends_on_selection()));
}

/// clang writes the low 16 bits of an offset into a load.
#[test]
fn an_offset_that_the_compiler_cut_off_has_help() {
    let types = |b: &mut Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("large", 40_004, &[("last", int, 320_000)])
    };
    let (mut local, mut kernel) = (Builder::new(Endian::Little), Builder::new(Endian::Little));
    let root = types(&mut local);
    types(&mut kernel);
    let target = Target::new("vmlinux", Arc::new(Btf::parse(kernel.finish()).unwrap()));
    let load = Insn { code: 0x61, dst: 1, src: 1, off: -25_536, imm: 0 };
    let asked = [(RelocKind::FieldByteOffset, root, String::from("0:0"))];
    let help = with_plan_of(load, local, &asked, &target, |plan| {
        Explainer::new(plan).explain(&plan.get(0).unwrap()).help
    });
    assert!(help[0].starts_with("the compiler cut off the offset"), "{help:?}");
}

/// `rss_stat` was a struct with an array up to Linux 6.1, and is an array of structs since; `i_atime` became
/// `i_atime_sec` and `i_atime_nsec`.
#[test]
fn an_access_of_another_shape_is_an_alternative() {
    let target = build_target(|b, int| {
        let atomic = b.structure("atomic", 4, &[("counter", int, 0)]);
        let counts = b.array(atomic, int, 4);
        let stat = b.structure("stat", 16, &[("count", counts, 0)]);
        let inner = b.structure("", 16, &[("rss_stat", stat, 0)]);
        b.structure("mm", 16, &[("", inner, 0)]);
        b.structure("inode", 8, &[("i_atime_nsec", int, 0), ("i_atime_sec", int, 32)]);
    });
    let mut local = Builder::new(Endian::Little);
    let int = local.int("int", 4, Builder::SIGNED);
    let counter = local.structure("counter", 4, &[("count", int, 0)]);
    let stats = local.array(counter, int, 4);
    let mm = local.structure("mm", 16, &[("rss_stat", stats, 0)]);
    let time = local.structure("time", 8, &[("tv_sec", int, 0), ("tv_nsec", int, 32)]);
    let inode = local.structure("inode", 8, &[("i_atime", time, 0)]);
    let kind = RelocKind::FieldByteOffset;
    let record = |root, access: &str| (kind, root, String::from(access));
    let asked = [record(mm, "0:0:2:0"), record(inode, "0:0:0"), record(inode, "0:0:1")];
    let alternatives = with_plan(local, &asked, &target, |plan| {
        let mut explainer = Explainer::new(plan);
        let explained = plan.iter().map(|planned| explainer.explain(&planned).alternatives);
        explained
            .map(|found| found.into_iter().map(|other| (other.path, other.declaration)).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    });
    let expected = [
        ("rss_stat.count[2].counter", "struct { struct { int counter; } count[3]; } rss_stat;"),
        ("i_atime_sec", "int i_atime_sec;"),
        ("i_atime_nsec", "int i_atime_nsec;"),
    ];
    assert_eq!(alternatives, expected.map(|(path, declaration)| vec![(path.into(), declaration.into())]));
}
