//! Verdicts on special fields beside other parts of a value, on which kernels' answers depend.

use super::{
    map_uses::{ARRAY, Age, HASH, call_with_value, reasons},
    *,
};

const LRU_HASH: u32 = 9;
const SK_STORAGE: u32 = 24;
const PERCPU_ARRAY: u32 = 6;
const LOCK: i32 = 93;
const TIMER_INIT: i32 = 169;
const KPTR_XCHG: i32 = 194;

/// A part of a value: a field by its name, and the offset in bytes.
type Part = (&'static str, u32);

/// Adds the struct of values with some parts. `kptr` and `user` are tags of pointers.
fn add_value(b: &mut Builder, parts: &[Part]) -> TypeId {
    let mut members = Vec::new();
    for (name, offset) in parts {
        let ty = match *name {
            "kptr" | "user" => {
                let object = b.structure("task_struct", 4, &[]);
                let tagged = b.type_tag(name, object);
                b.pointer(tagged)
            }
            "number" => b.int("long", 8, 0),
            "bpf_spin_lock" | "bpf_res_spin_lock" => b.structure(name, 4, &[]),
            "bpf_task_work" => b.structure(name, 8, &[]),
            _ => b.structure(name, 16, &[]),
        };
        members.push((*name, ty, offset.checked_mul(8).unwrap()));
    }
    b.structure("value", 64, &members)
}

/// A program that uses a map.
#[derive(Clone, Copy)]
struct MapUser {
    section: &'static str,
    map_type: u32,
    /// The helper that it calls with the address of a value.
    helper: Option<i32>,
}

/// Returns the verdict on the use of a map whose values have some parts.
fn verdict(age: Age, user: MapUser, parts: &[Part]) -> Option<Verdict> {
    let MapUser { section, map_type, helper } = user;
    let mut m = TestObject::new();
    let insns = match helper {
        Some(number) => call_with_value(number),
        None => [&load(1, 0)[..], &returns(0)].concat(),
    };
    let id = m.program("main", section, &insns);
    let int = m.int;
    let value = add_value(&mut m.types, parts);
    let flags = if map_type == SK_STORAGE { [("map_flags", 1)] } else { [("max_entries", 4)] };
    let (_, map) = m.typed_map("m", &[&[("type", map_type)], &flags[..]].concat(), int, value);
    m.refer(id, 0, map, false);
    reasons(m, age, None).into_iter().map(|(verdict, _, _)| verdict).max()
}

/// From 6.2 on, a kernel that refuses another part of the value finds no timer, and creates the map with its
/// types.
#[test]
fn a_field_beside_parts_that_a_kernel_may_refuse_is_unknown() {
    let tracing = |parts: &[Part]| {
        let user = MapUser { section: "kprobe/x", map_type: ARRAY, helper: None };
        verdict(Age::Oldest, user, &[&[("bpf_spin_lock", 0)], parts].concat())
    };
    assert_eq!(tracing(&[]), Some(Verdict::Refused));
    assert_eq!(tracing(&[("number", 8)]), Some(Verdict::Refused));
    assert_eq!(tracing(&[("bpf_timer", 8)]), Some(Verdict::Refused));
    let uncertain: [&[Part]; 4] =
        [&[("user", 8)], &[("kptr", 8)], &[("bpf_list_head", 8)], &[("bpf_refcount", 8)]];
    for parts in uncertain {
        assert_eq!(tracing(parts), Some(Verdict::Unknown), "{parts:?}");
    }
    let storage = |parts: &[Part]| {
        let user = MapUser { section: "tc", map_type: SK_STORAGE, helper: None };
        verdict(Age::Newest, user, &[&[("bpf_timer", 0)], parts].concat())
    };
    assert_eq!(storage(&[("bpf_spin_lock", 16)]), Some(Verdict::Refused));
    assert_eq!(storage(&[("user", 16)]), Some(Verdict::Unknown));
    assert_eq!(storage(&[("bpf_wq", 16), ("bpf_wq", 32)]), Some(Verdict::Unknown), "two work queues");
}

/// A kernel that does not know the other field finds the first. Before 6.2, a kernel looks for fields of each
/// kind apart.
#[test]
fn a_refused_field_beside_another_counts_on_kernels_that_know_it() {
    let found = |age: Age, map_type: u32, number: i32, parts: &[Part]| {
        verdict(age, MapUser { section: "tc", map_type, helper: Some(number) }, parts).is_none()
    };
    let two_works = [("bpf_spin_lock", 0), ("bpf_task_work", 8), ("bpf_task_work", 16)];
    assert!(!found(Age::Newest, HASH, LOCK, &two_works));
    assert!(found(Age::Oldest, HASH, LOCK, &two_works));
    let two_timers = [("bpf_spin_lock", 0), ("bpf_timer", 8), ("bpf_timer", 24)];
    assert!(!found(Age::Newest, ARRAY, LOCK, &two_timers));
    assert!(found(Age::Oldest, ARRAY, LOCK, &two_timers));
    let lock_in_lru = [("bpf_timer", 0), ("bpf_res_spin_lock", 16)];
    assert!(!found(Age::Newest, LRU_HASH, TIMER_INIT, &lock_in_lru));
    let two_locks = [("bpf_spin_lock", 0), ("bpf_spin_lock", 4)];
    assert!(!found(Age::Oldest, HASH, LOCK, &two_locks), "no kernel finds one of two");
}

/// Kernels skip a timer at an offset that is no multiple of its alignment, and find the pointer.
#[test]
fn a_field_that_is_not_aligned_leaves_others_as_they_are() {
    let found = |offset: u32| {
        let parts = [("kptr", 0), ("bpf_timer", offset)];
        let user = MapUser { section: "tc", map_type: PERCPU_ARRAY, helper: Some(KPTR_XCHG) };
        verdict(Age::Newest, user, &parts).is_none()
    };
    assert_eq!([found(8), found(9)], [false, true]);
}

/// The kernel creates the maps without types, and finds no fields in their values.
#[test]
fn an_object_whose_btf_is_refused_has_no_fields() {
    let found = |is_bad: bool, section: &str, map: &[(&str, u32)]| {
        let mut m = TestObject::new();
        if is_bad {
            m.types.int("bad", 4, Builder::SIGNED | Builder::CHAR);
        }
        let id = m.program("main", section, &[&load(1, 0)[..], &returns(0)].concat());
        let int = m.int;
        let value = add_value(&mut m.types, &[("bpf_spin_lock", 0)]);
        let (_, map) = m.typed_map("m", map, int, value);
        m.refer(id, 0, map, false);
        reasons(m, Age::Newest, None).len()
    };
    let map = [("type", HASH), ("max_entries", 4)];
    assert_eq!([found(false, "kprobe/x", &map), found(true, "kprobe/x", &map)], [1, 0]);
}
