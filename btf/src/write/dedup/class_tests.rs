//! Classes of types change the work of a deduplication, and not its result.

#![expect(clippy::arithmetic_side_effects, reason = "small numbers that the tests choose")]

use super::{STEPS_BEFORE_CLASSES, StepLimits, dedup_with};
use crate::{Btf, Builder, Endian, Kind, ids::TypeId, limits};
use alloc::{sync::Arc, vec::Vec};

/// A seeded generator of random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.0 >> 33) % u64::from(end)).unwrap()
    }
}

/// Adds types with few names, which refer to each other in both directions: copies of a small graph, in which
/// some differ.
fn add_types(b: &mut Builder, random: &mut Random, count: u32) {
    const NAMES: [&str; 3] = ["a", "b", "c"];
    let first = b.next_id().0;
    let end = first + count;
    for _ in 0..count {
        let name = NAMES.get(crate::ids::to_usize(random.below(3))).unwrap();
        // Types of the base, and types that follow.
        let target = TypeId(random.below(end));
        let other = TypeId(random.below(end));
        match random.below(10) {
            0 => drop(b.int("int", 4, u8::try_from(random.below(2)).unwrap())),
            1 => drop(b.forward(name, if random.below(4) == 0 { Kind::Union } else { Kind::Struct })),
            2 => drop(b.typedef(name, target)),
            3 | 4 => drop(b.pointer(target)),
            5 => drop(b.enumeration(name, 4, if random.below(3) == 0 { &[] } else { &[("A", 1)] })),
            6 => drop(b.union(name, 8, &[("x", target, 0)])),
            _ => drop(b.structure(name, 8, &[("x", target, 0), ("y", other, 32)])),
        }
    }
}

fn assert_same(btf: &Btf<'_>, builder: &dyn Fn() -> Builder) -> bool {
    let with = |before_classes| {
        let limits = StepLimits { max: limits::DEDUP_STEPS, before_classes };
        dedup_with(btf, builder(), limits).map(|done| {
            let ids: Vec<_> = (0..btf.end_id().0).map(|id| done.id(TypeId(id))).collect();
            (done.finish(), ids)
        })
    };
    let (divided, compared) = (with(0), with(u64::MAX));
    assert_eq!(divided.as_ref().ok(), compared.as_ref().ok());
    divided.is_ok()
}

#[test]
fn classes_change_no_result() {
    let mut random = Random(7);
    let mut valid = 0;
    for round in 0..3000 {
        let count = 4 + random.below(40);
        let mut b = Builder::new(Endian::Little);
        add_types(&mut b, &mut random, count);
        let Ok(btf) = Btf::parse(b.finish()) else { continue };
        valid += u32::from(assert_same(&btf, &|| Builder::new(Endian::Little)));
        if round % 2 == 0 {
            let base = Arc::new(btf);
            let mut split = Builder::split_with_strings(&base);
            add_types(&mut split, &mut random, count);
            let Ok(split) = Btf::parse_split(split.finish(), Arc::clone(&base)) else { continue };
            valid += u32::from(assert_same(&split, &|| Builder::split_with_strings(&base)));
        }
    }
    assert!(valid > 500, "{valid}");
}

/// Two graphs of equal names whose last struct differs, which comparisons find only at the end.
fn graphs_that_differ_at_the_end(len: u32) -> Btf<'static> {
    let mut b = Builder::new(Endian::Little);
    for last in ["x", "y"] {
        let first = b.next_id().0;
        for n in 0..len {
            b.structure("s", 8, &[("next", TypeId(first + len + n), 0)]);
        }
        for n in 0..len {
            b.pointer(TypeId(if n + 1 == len { first + len + len } else { first + n + 1 }));
        }
        b.structure("end", 8, &[(last, TypeId(first + len), 0)]);
    }
    Btf::parse(b.finish()).unwrap()
}

#[test]
fn the_work_grows_little_faster_than_the_types() {
    for len in [1000, 8000, 30_000] {
        let btf = graphs_that_differ_at_the_end(len);
        let types = u64::from(btf.end_id().0);
        let limits =
            StepLimits { max: types * (STEPS_BEFORE_CLASSES + 400), before_classes: STEPS_BEFORE_CLASSES };
        let done = dedup_with(&btf, Builder::new(Endian::Little), limits).unwrap();
        assert_eq!(done.id(TypeId(1)), Some(TypeId(1)));
        assert_eq!(
            u64::from(done.id(TypeId(len * 2 + 2)).unwrap().0),
            u64::from(len) * 2 + 2,
            "nothing is equal"
        );
    }
}
