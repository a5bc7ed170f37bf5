//! What plans that are made together have in common is no more than what is the same.

use super::fixture::{Ask, both, load, mov, told};
use crate::{
    CodeSection, Endian, Function, InsnIndex, Plan, Relocs, Target, TypeId,
    btf::{Btf, Builder, BuiltMember, Kind},
    ext::{
        BtfExt,
        RelocKind::{self, *},
    },
    ids::{BitOffset, to_usize},
    limits,
    plan::{
        Objects,
        shared::{Followed, Known, Local, Questions},
    },
    resolve::{Candidate, MatchError, Steps},
    spec::{Accessor, Spec},
};
use alloc::{format, string::String, sync::Arc, vec, vec::Vec};

/// Types of a member, of which no two match the same.
const MEMBERS: usize = 19;

fn member(b: &mut Builder, which: usize) -> TypeId {
    let int = b.int("int", 4, Builder::SIGNED);
    match which {
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
        9 => b.enumeration("e", 4, true, &[("A", 1)]),
        10 => b.enumeration("f___x", 4, false, &[("A", 2)]),
        11 => b.enumeration64("f", 8, false, &[("A", 3)]),
        12 => b.enumeration("", 4, false, &[("A", 4)]),
        13 => b.forward("inner", false),
        14 => b.forward("outer", true),
        15 => b.float("double", 8),
        16 => b.legacy_bitfield("int", 4, 0, 3, 5),
        17 => {
            let inner = b.enumeration("e", 4, true, &[("A", 1)]);
            b.array(inner, int, 4)
        }
        _ => {
            let constant = b.modifier(Kind::Const, int);
            b.typedef("t", constant)
        }
    }
}

/// An object as bytes: types, records, code.
struct Made {
    btf: Vec<u8>,
    ext: Vec<u8>,
    code: Vec<u8>,
}

/// What each object comes to, alone and with all others, in either order.
fn alone_and_together(made: &[Made], target: &Target<'_>) -> Vec<Vec<String>> {
    let btfs: Vec<_> = made.iter().map(|made| Btf::parse(&made.btf[..]).unwrap()).collect();
    let sections: Vec<_> = made
        .iter()
        .map(|made| {
            let len = u32::try_from(made.code.len() / 8).unwrap();
            let functions = vec![Function { name: b"prog", start: InsnIndex(0), len }];
            [CodeSection { name: b"tp/x", code: &made.code, functions }]
        })
        .collect();
    let relocs: Vec<_> = made
        .iter()
        .zip(&btfs)
        .zip(&sections)
        .map(|((made, btf), code)| Relocs::collect(btf, &BtfExt::parse(&made.ext).unwrap(), code).unwrap())
        .collect();
    let alone: Vec<_> = relocs.iter().map(|relocs| told(&Plan::new(relocs, target))).collect();
    let forth: Vec<_> = Objects::new(&relocs).plans(target).iter().map(told).collect();
    let mut back: Vec<_> = Objects::new(relocs.iter().rev()).plans(target).iter().map(told).collect();
    back.reverse();
    assert_eq!(forth, alone);
    assert_eq!(back, alone);
    alone
}

/// Objects that ask for the same names, of types that differ in one respect, whose ids are the same or not.
#[test]
fn members_of_each_type_are_followed_for_themselves() {
    both(|f| {
        let endian = f.local.clone().finish();
        let endian = Btf::parse(endian).unwrap().endian();
        let mut made = Vec::new();
        for (which, shifted) in (0..MEMBERS).flat_map(|which| [(which, false), (which, true)]) {
            f.local = Builder::new(endian);
            if shifted {
                f.local.int("char", 1, 0);
            }
            let ty = member(&mut f.local, which);
            let root = f.local.structure(if shifted { "s___own" } else { "s" }, 16, &[("a", ty, 0)]);
            let enumeration =
                f.local.enumeration("e", 4, true, &[("B", 1), (if shifted { "A" } else { "A___x" }, 9)]);
            let kinds: [RelocKind; 6] =
                [FieldByteOffset, FieldByteSize, FieldExists, FieldSigned, FieldLshiftU64, FieldRshiftU64];
            let mut asks: Vec<Ask<'_>> = Vec::new();
            for access in ["0:0", "1:0", "0:0:1", "0", "0:0:3:1"] {
                asks.extend(kinds.map(|kind| (kind, root, access, mov(0))));
                asks.push((FieldByteOffset, root, access, load(4, 0)));
            }
            for access in ["0", "1"] {
                asks.extend([EnumvalValue, EnumvalExists].map(|kind| (kind, enumeration, access, mov(9))));
            }
            asks.extend([TypeExists, TypeSize, TypeMatches].map(|kind| (kind, root, "0", mov(1))));
            let (ext, code, _) = f.object(&asks);
            made.push(Made { btf: f.local.finish(), ext, code });
        }
        let mut different: Vec<Vec<Vec<String>>> = Vec::new();
        for which in 0..MEMBERS {
            let mut target = Builder::new(endian);
            let ty = member(&mut target, which);
            // Two candidates, and the member of the second lies elsewhere.
            target.structure("s", 16, &[("a", ty, 64)]);
            target.structure("s___2", 32, &[("", ty, 0), ("a", ty, 128)]);
            target.enumeration("e", 4, true, &[("A", 5)]);
            let btf = Arc::new(Btf::parse(target.finish()).unwrap());
            different.push(alone_and_together(&made, &Target::new("vmlinux", btf)));
        }
        different.sort();
        different.dedup();
        assert!(different.len() > 10, "what they come to depends on the target: {}", different.len());
    });
}

/// A record that has no steps left for what another has found out is in error as it would be alone, also if names are too long to
/// be compared for sharing.
#[test]
fn steps_are_taken_for_what_others_found_out() {
    both(|f| {
        let names = [String::from("a"), "x".repeat(limits::SHARED_ACCESS), "y".repeat(5000)];
        let int = f.local.int("int", 4, Builder::SIGNED);
        let members: Vec<_> = names.iter().map(|name| (&**name, int, 0)).collect();
        let root = f.local.structure("s", 4, &members);
        // Of the last name so much is compared that a plan's records together run out of steps.
        let many = 1300;
        let asks: Vec<Ask<'_>> = (0..many)
            .flat_map(|_| ["0:0", "0:1", "0:2"])
            .map(|access| (FieldByteOffset, root, access, mov(0)))
            .collect();
        let (ext, code, _) = f.object(&asks);
        let target_int = f.target.int("int", 4, Builder::SIGNED);
        let fillers: Vec<_> = (0..1000).map(|n| format!("filler{n}")).collect();
        let mut members: Vec<_> = fillers.iter().map(|name| (&**name, target_int, 0)).collect();
        members.extend(names.iter().map(|name| (&**name, target_int, 32)));
        f.target.structure("s", 8, &members);
        let made = [(); 2].map(|()| Made { btf: f.local.finish(), ext: ext.clone(), code: code.clone() });
        let btf = Arc::new(Btf::parse(f.target.finish()).unwrap());
        let told = alone_and_together(&made, &Target::new("vmlinux", btf));
        let steps = |told: &Vec<String>| told.iter().filter(|one| one.contains("TooManySteps")).count();
        assert_eq!(steps(&told[0]), steps(&told[1]));
        assert!((1..many * 3 - 100).contains(&steps(&told[0])), "{} of {}", steps(&told[0]), told[0].len());
    });
}

/// What a record takes from others costs it what it would cost alone: a plan of one question, asked again and again, runs out of steps
/// where each record's own search would have.
#[test]
fn a_plan_of_one_question_runs_out_of_steps() {
    both(|f| {
        // One step for the candidate, two for each member that is compared with a name this long.
        let (name, fillers) = ("x".repeat(64), 33_333);
        let steps = 1 + 2 * (fillers + 1);
        let enough = limits::PLAN_STEPS / steps;
        let int = f.local.int("int", 4, Builder::SIGNED);
        let root = f.local.structure("s", 4, &[(&name, int, 0)]);
        let asks = vec![(FieldByteOffset, root, "0:0", mov(0)); to_usize(enough + 10)];
        let (ext, code, _) = f.object(&asks);
        let target_int = f.target.int("int", 4, Builder::SIGNED);
        let mut members = vec![("filler", target_int, 0); to_usize(fillers)];
        members.push((&name, target_int, 32));
        f.target.structure("s", 8, &members);
        let made = [Made { btf: f.local.finish(), ext, code }];
        let btf = Arc::new(Btf::parse(f.target.finish()).unwrap());
        let told = &alone_and_together(&made, &Target::new("vmlinux", btf))[0];
        let ran_out: Vec<_> = told.iter().map(|one| one.contains("TooManySteps")).collect();
        assert_eq!(ran_out.iter().position(|out| *out), Some(to_usize(enough)));
        assert!(ran_out.iter().skip(to_usize(enough)).all(|out| *out));
    });
}

/// Where a bitfield lies in what is loaded depends on the object's byte order, whatever the names.
#[test]
fn objects_of_different_byte_order_do_not_share() {
    let types = |mut b: Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        let member = BuiltMember { name: "a", ty: int, bit_offset: 3, bitfield_bits: 5 };
        (b.composite(Kind::Struct, "s", 4, &[member]), b)
    };
    both(|f| {
        let target = types(f.local.clone()).1;
        let made = [Endian::Little, Endian::Big].map(|endian| {
            let (root, local) = types(Builder::new(endian));
            f.local = local;
            let (ext, code, _) = f.object(&[(FieldLshiftU64, root, "0:0", mov(0))]);
            Made { btf: f.local.finish(), ext, code }
        });
        let btf = Arc::new(Btf::parse(target.finish()).unwrap());
        let told = alone_and_together(&made, &Target::new("vmlinux", btf));
        assert_ne!(told[0], told[1]);
    });
}

/// What is known is not looked for again: not even the target is looked at, but the steps are taken.
#[test]
fn a_question_is_followed_once() {
    let object = |pads: u32| {
        let mut b = Builder::new(Endian::Little);
        (0..pads).for_each(|_| _ = b.float("double", 8));
        let int = b.int("int", 4, Builder::SIGNED);
        let root = b.structure("s", 8, &[("a", int, 0), ("b", int, 32)]);
        let spec = |index| {
            let mut spec = Spec::of_root(root, FieldByteOffset);
            let steps = [(0, false), (index, true)].map(|(index, named)| Accessor { ty: root, index, named });
            spec.accessors = steps.into_iter().collect();
            spec
        };
        (Btf::parse(b.finish()).unwrap(), root, [spec(0), spec(1), Spec::of_root(root, TypeExists)])
    };
    let (objects, mut questions) = ([object(0), object(3)], Questions::default());
    let endian = Endian::Little;
    let mut numbers = objects.iter().map(|(btf, _, specs)| {
        let number = |spec: &_| Known::new(Local { endian, btf, spec }, &mut questions).question;
        specs.iter().map(number).collect::<Vec<_>>()
    });
    let (one, other) = (numbers.next().unwrap(), numbers.next().unwrap());
    assert_eq!(one, other, "whatever the ids");
    assert!(one[0].is_some() && one[1].is_some() && one[0] != one[1] && one[2].is_none(), "{one:?}");

    let (btf, root, [spec, ..]) = &objects[0];
    let candidate = Candidate { source: 0, id: *root };
    let known = Known::new(Local { endian, btf, spec }, &mut questions);
    assert_eq!(known.question, one[0]);
    let empty = Btf::parse(Builder::new(endian).finish()).unwrap();
    let mut followed = Followed::default();
    let mut follow = |target: &Btf<'_>, allowed| {
        let mut steps = Steps::new(allowed);
        let found = followed.follow(known, (target, candidate), &mut steps);
        (found.map(|found| found.map(|found| found.bit_offset)), steps.left())
    };
    assert_eq!(follow(btf, 10), (Ok(Some(BitOffset(0))), 8));
    assert_eq!(follow(&empty, 10), (Ok(Some(BitOffset(0))), 8));
    assert_eq!(follow(&empty, 1), (Err(MatchError::TooManySteps), 0));
}
