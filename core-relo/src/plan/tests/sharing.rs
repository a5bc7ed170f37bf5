//! Tests of the match cache: objects that share a cache have the same plans as without other objects.

use super::fixture::{RecordSpec, describe, in_both_orders, load, mov};
use crate::{
    BitOffset, ByteOffset, CodeSection, Endian, Function, InsnIndex, Plan, Relocs, Target, TypeId,
    btf::{Btf, Builder, BuiltMember, Kind},
    ext::{
        BtfExt, CoreRelo,
        RelocKind::{self, *},
    },
    index::to_usize,
    limits,
    plan::{
        Objects,
        local_access::{AccessInterner, LocalAccess},
        match_cache::MatchCache,
    },
    resolve::{Candidate, MatchError, StepBudget},
    spec::{Accessor, Spec, parse_access},
};
use alloc::{format, string::String, sync::Arc, vec, vec::Vec};

/// The number of types that [`member_type`] builds. No two of them are compatible with the same types.
const MEMBER_TYPES: usize = 19;

/// Adds the member type with this number.
fn member_type(b: &mut Builder, number: usize) -> TypeId {
    let int = b.int("int", 4, Builder::SIGNED);
    match number {
        0 => int,
        1 => b.int("long", 8, 0),
        2 => b.pointer(int),
        3 => b.array(int, int, 4),
        4 => b.array(int, int, 2),
        5 => {
            let pointer = b.pointer(int);
            b.array(pointer, int, 4)
        }
        6 => {
            let inner = b.array(int, int, 4);
            b.array(inner, int, 4)
        }
        7 => b.structure("inner", 4, &[("x", int, 0)]),
        8 => b.union("inner", 4, &[("y", int, 0)]),
        9 => b.signed_enumeration("e", 4, &[("A", 1)]),
        10 => b.enumeration("f___x", 4, &[("A", 2)]),
        11 => b.enumeration64("f", 8, &[("A", 3)]),
        12 => b.enumeration("", 4, &[("A", 4)]),
        13 => b.forward("inner", Kind::Struct),
        14 => b.forward("outer", Kind::Union),
        15 => b.float("double", 8),
        16 => b.legacy_bitfield("int", 4, 0, 3, 5),
        17 => {
            let inner = b.signed_enumeration("e", 4, &[("A", 1)]);
            b.array(inner, int, 4)
        }
        _ => {
            let constant = b.modifier(Kind::Const, int);
            b.typedef("t", constant)
        }
    }
}

/// The bytes of an object.
struct ObjectBytes {
    btf: Vec<u8>,
    ext: Vec<u8>,
    code: Vec<u8>,
}

/// Plans each object alone, then together with all others in either order, and checks that the plans are
/// equal.
fn plan_alone_and_together(objects: &[ObjectBytes], target: &Target<'_>) -> Vec<Vec<String>> {
    let btfs: Vec<_> = objects.iter().map(|object| Btf::parse(&object.btf[..]).unwrap()).collect();
    let sections: Vec<_> = objects
        .iter()
        .map(|object| {
            let len = u32::try_from(object.code.len() / 8).unwrap();
            let functions = vec![Function { name: b"prog", start: InsnIndex(0), len }];
            [CodeSection { name: b"tp/x", code: &object.code, functions }]
        })
        .collect();
    let relocs: Vec<_> = objects
        .iter()
        .zip(&btfs)
        .zip(&sections)
        .map(|((object, btf), code)| {
            Relocs::collect(btf, &BtfExt::parse(&object.ext).unwrap(), code).unwrap()
        })
        .collect();
    let alone: Vec<_> = relocs.iter().map(|relocs| describe(&Plan::new(relocs, target))).collect();
    let forward: Vec<_> = Objects::new(&relocs).plans(target).iter().map(describe).collect();
    let mut backward: Vec<_> = Objects::new(relocs.iter().rev()).plans(target).iter().map(describe).collect();
    backward.reverse();
    assert_eq!(forward, alone);
    assert_eq!(backward, alone);
    alone
}

/// The message of `MatchError::TooManySteps`, without the number.
const TOO_MANY_STEPS: &str = "the comparison of types takes more than";

/// The members have the same names and types that differ in one respect. Each object exists twice, the second
/// time with other type ids.
#[test]
fn members_of_different_types_do_not_share_matches() {
    in_both_orders(|f| {
        let endian = Btf::parse(f.local.clone().finish()).unwrap().endian();
        let mut objects = Vec::new();
        for (number, has_other_ids) in (0..MEMBER_TYPES).flat_map(|number| [(number, false), (number, true)])
        {
            f.local = Builder::new(endian);
            if has_other_ids {
                f.local.int("char", 1, 0);
            }
            let ty = member_type(&mut f.local, number);
            let root = f.local.structure(if has_other_ids { "s___own" } else { "s" }, 16, &[("a", ty, 0)]);
            let enumeration = f.local.signed_enumeration(
                "e",
                4,
                &[("B", 1), (if has_other_ids { "A" } else { "A___x" }, 9)],
            );
            let kinds: [RelocKind; 6] =
                [FieldByteOffset, FieldByteSize, FieldExists, FieldSigned, FieldLshiftU64, FieldRshiftU64];
            let mut records: Vec<RecordSpec<'_>> = Vec::new();
            for access in ["0:0", "1:0", "0:0:1", "0", "0:0:3:1"] {
                records.extend(kinds.map(|kind| (kind, root, access, mov(0))));
                records.push((FieldByteOffset, root, access, load(4, 0)));
            }
            for access in ["0", "1"] {
                records.extend([EnumvalValue, EnumvalExists].map(|kind| (kind, enumeration, access, mov(9))));
            }
            records.extend([TypeExists, TypeSize, TypeMatches].map(|kind| (kind, root, "0", mov(1))));
            let (ext, code, _) = f.object(&records);
            objects.push(ObjectBytes { btf: f.local.finish(), ext, code });
        }
        let mut distinct_plans: Vec<Vec<Vec<String>>> = Vec::new();
        for number in 0..MEMBER_TYPES {
            let mut target = Builder::new(endian);
            let ty = member_type(&mut target, number);
            // Two candidates with the member at different offsets.
            target.structure("s", 16, &[("a", ty, 64)]);
            target.structure("s___2", 32, &[("", ty, 0), ("a", ty, 128)]);
            target.signed_enumeration("e", 4, &[("A", 5)]);
            let btf = Arc::new(Btf::parse(target.finish()).unwrap());
            distinct_plans.push(plan_alone_and_together(&objects, &Target::new("vmlinux", btf)));
        }
        distinct_plans.sort();
        distinct_plans.dedup();
        assert!(distinct_plans.len() > 10, "the plans hardly depend on the target: {}", distinct_plans.len());
    });
}

/// A record for which no steps remain is in error, also if its match is cached. Names too long for a cache
/// key change nothing.
#[test]
fn cached_matches_take_steps() {
    in_both_orders(|f| {
        let names = [String::from("a"), "x".repeat(limits::SHARED_ACCESS), "y".repeat(5000)];
        let int = f.local.int("int", 4, Builder::SIGNED);
        let members: Vec<_> = names.iter().map(|name| (&**name, int, 0)).collect();
        let root = f.local.structure("s", 4, &members);
        // The comparisons with the last name use up the steps of the plan.
        let repetitions = 1300;
        let records: Vec<RecordSpec<'_>> = (0..repetitions)
            .flat_map(|_| ["0:0", "0:1", "0:2"])
            .map(|access| (FieldByteOffset, root, access, mov(0)))
            .collect();
        let (ext, code, _) = f.object(&records);
        let target_int = f.target.int("int", 4, Builder::SIGNED);
        let fillers: Vec<_> = (0..1000).map(|n| format!("filler{n}")).collect();
        let mut members: Vec<_> = fillers.iter().map(|name| (&**name, target_int, 0)).collect();
        members.extend(names.iter().map(|name| (&**name, target_int, 32)));
        f.target.structure("s", 8, &members);
        let objects =
            [(); 2].map(|()| ObjectBytes { btf: f.local.finish(), ext: ext.clone(), code: code.clone() });
        let btf = Arc::new(Btf::parse(f.target.finish()).unwrap());
        let plans = plan_alone_and_together(&objects, &Target::new("vmlinux", btf));
        let count_too_many_steps =
            |plans: &Vec<String>| plans.iter().filter(|record| record.contains(TOO_MANY_STEPS)).count();
        assert_eq!(count_too_many_steps(&plans[0]), count_too_many_steps(&plans[1]));
        assert!(
            (1..repetitions * 3 - 100).contains(&count_too_many_steps(&plans[0])),
            "{} of {}",
            count_too_many_steps(&plans[0]),
            plans[0].len()
        );
    });
}

/// A cached match takes the steps of its comparison. So a plan that repeats one access runs out of steps at
/// the same record as without a cache.
#[test]
fn a_plan_of_one_repeated_access_runs_out_of_steps() {
    in_both_orders(|f| {
        // One step for the candidate, two for each member that is compared with a name this long.
        let (name, fillers) = ("x".repeat(64), 33_333);
        let steps = 1 + 2 * (fillers + 1);
        let record_limit = limits::PLAN_STEPS / steps;
        let int = f.local.int("int", 4, Builder::SIGNED);
        let root = f.local.structure("s", 4, &[(&name, int, 0)]);
        let records = vec![(FieldByteOffset, root, "0:0", mov(0)); to_usize(record_limit + 10)];
        let (ext, code, _) = f.object(&records);
        let target_int = f.target.int("int", 4, Builder::SIGNED);
        let mut members = vec![("filler", target_int, 0); to_usize(fillers)];
        members.push((&name, target_int, 32));
        f.target.structure("s", 8, &members);
        let objects = [ObjectBytes { btf: f.local.finish(), ext, code }];
        let btf = Arc::new(Btf::parse(f.target.finish()).unwrap());
        let plan = &plan_alone_and_together(&objects, &Target::new("vmlinux", btf))[0];
        let are_out_of_steps: Vec<_> = plan.iter().map(|record| record.contains(TOO_MANY_STEPS)).collect();
        assert_eq!(are_out_of_steps.iter().position(|is_out| *is_out), Some(to_usize(record_limit)));
        assert!(are_out_of_steps.iter().skip(to_usize(record_limit)).all(|is_out| *is_out));
    });
}

/// The position of a bitfield in a load depends on the object's byte order.
#[test]
fn objects_of_different_byte_order_do_not_share() {
    let types = |mut b: Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        let member = BuiltMember { name: "a", ty: int, bit_offset: 3, bitfield_bits: 5 };
        (b.composite(Kind::Struct, "s", 4, &[member]), b)
    };
    in_both_orders(|f| {
        let target = types(f.local.clone()).1;
        let objects = [Endian::Little, Endian::Big].map(|endian| {
            let (root, local) = types(Builder::new(endian));
            f.local = local;
            let (ext, code, _) = f.object(&[(FieldLshiftU64, root, "0:0", mov(0))]);
            ObjectBytes { btf: f.local.finish(), ext, code }
        });
        let btf = Arc::new(Btf::parse(target.finish()).unwrap());
        let plans = plan_alone_and_together(&objects, &Target::new("vmlinux", btf));
        assert_ne!(plans[0], plans[1]);
    });
}

/// A cached match needs no access to the BTF of the target. It takes the steps of the comparison.
#[test]
fn an_access_is_compared_once() {
    let object = |padding_types: u32| {
        let mut b = Builder::new(Endian::Little);
        (0..padding_types).for_each(|_| _ = b.float("double", 8));
        let int = b.int("int", 4, Builder::SIGNED);
        let root = b.structure("s", 8, &[("a", int, 0), ("b", int, 32)]);
        let spec = |index| {
            let mut spec = Spec::new(root, FieldByteOffset);
            let accessors =
                [(0, false), (index, true)].map(|(index, named)| Accessor { ty: root, index, named });
            spec.accessors = accessors.into_iter().collect();
            spec
        };
        (Btf::parse(b.finish()).unwrap(), root, [spec(0), spec(1), Spec::new(root, TypeExists)])
    };
    let (objects, mut interner) = ([object(0), object(3)], AccessInterner::default());
    let endian = Endian::Little;
    let mut ids = Vec::new();
    for (btf, _, specs) in &objects {
        let id = |spec| LocalAccess::new(endian, btf, spec, &mut interner).id;
        ids.push(specs.iter().map(id).collect::<Vec<_>>());
    }
    assert_eq!(ids[0], ids[1], "the id of an access does not depend on type ids");
    assert!(ids[0][0].is_some() && ids[0][1].is_some() && ids[0][0] != ids[0][1] && ids[0][2].is_none());

    let (btf, root, [spec, ..]) = &objects[0];
    let candidate = Candidate { btf_index: 0, id: *root };
    let access = LocalAccess::new(endian, btf, spec, &mut interner);
    assert_eq!(access.id, ids[0][0]);
    let empty = Btf::parse(Builder::new(endian).finish()).unwrap();
    let mut cache = MatchCache::default();
    let mut find_match = |target: &Btf<'_>, allowed| {
        let mut steps = StepBudget::new(allowed);
        let found = cache.find_match(&access, (target, candidate), &mut steps);
        (found.map(|found| found.map(|found| found.bit_offset)), steps.remaining())
    };
    assert_eq!(find_match(btf, 10), (Ok(Some(BitOffset(0))), 8));
    assert_eq!(find_match(&empty, 10), (Ok(Some(BitOffset(0))), 8));
    assert_eq!(find_match(&empty, 1), (Err(MatchError::TooManySteps), 0));
}

/// A pseudorandom sequence of numbers.
struct Random(u32);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        to_usize(self.0 >> 8) % limit
    }

    /// Adds a struct of four random members. The small choice of names and types lets structs have equal
    /// members.
    fn composite(&mut self, b: &mut Builder) -> TypeId {
        const NAMES: [&str; 4] = ["a", "b", "a___b", ""];
        let members: Vec<_> = (0..4)
            .map(|number| {
                let mut ty = member_type(b, self.below(MEMBER_TYPES));
                for _ in 0..self.below(3) {
                    ty = match self.below(4) {
                        0 => b.array(ty, ty, u32::try_from(self.below(3)).unwrap()),
                        1 => b.typedef("t", ty),
                        2 => b.structure("", 8, &[(NAMES[self.below(4)], ty, 0)]),
                        _ => (0..self.below(9)).fold(ty, |ty, _| b.modifier(Kind::Volatile, ty)),
                    };
                }
                (NAMES[self.below(4)], ty, number * 64)
            })
            .collect();
        b.structure("s", 64, &members)
    }
}

/// Random accesses of many objects share one cache. Each match, and its steps, must be the same without the
/// cache.
#[test]
fn cached_matches_equal_comparisons() {
    let (endian, mut random) = (Endian::Little, Random(7));
    let mut target = Builder::new(endian);
    let candidates: Vec<_> = (0..40).map(|_| random.composite(&mut target)).collect();
    let target = Btf::parse(target.finish()).unwrap();
    let mut objects = Vec::new();
    for _ in 0..40 {
        let mut b = Builder::new(endian);
        let root = random.composite(&mut b);
        let accesses = ["0:0", "0:1", "0:2", "0:3", "0:1:0", "0:2:1", "0:3:0:0", "1"].map(|a| b.string(a));
        objects.push((Btf::parse(b.finish()).unwrap(), root, accesses));
    }
    let mut specs = Vec::new();
    for (btf, root, accesses) in &objects {
        for access in accesses {
            for kind in [FieldByteOffset, FieldByteSize, FieldExists, FieldRshiftU64] {
                let relo = CoreRelo { insn_offset: ByteOffset(0), root: *root, access: *access, kind };
                specs.extend(parse_access(btf, &relo).ok().map(|spec| (btf, spec)));
            }
        }
    }
    let (mut interner, mut cache) = (AccessInterner::default(), MatchCache::default());
    let (mut match_count, mut ids) = (0, Vec::new());
    for (btf, spec) in &specs {
        let access = LocalAccess::new(endian, btf, spec, &mut interner);
        let id = access.id.unwrap();
        ids.extend((!ids.contains(&id)).then_some(id));
        for candidate in &candidates {
            let mut find_match = |access: LocalAccess<'_>| {
                let mut steps = StepBudget::new(1000);
                let candidate = Candidate { btf_index: 0, id: *candidate };
                let found = cache.find_match(&access, (&target, candidate), &mut steps);
                match_count += usize::from(matches!(found, Ok(Some(_))));
                (format!("{found:?}"), steps.remaining())
            };
            assert_eq!(find_match(access), find_match(LocalAccess { id: None, ..access }), "{spec:?}");
        }
    }
    let counts = (match_count, specs.len(), ids.len());
    assert!(
        counts.0 > 1000 && ids.len() * 5 < specs.len() * 4,
        "too few matches or shared accesses: {counts:?}"
    );
}
