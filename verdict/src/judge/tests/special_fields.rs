//! Verdicts on the fields of map values that the kernel manages.

use super::{
    map_uses::{ARRAY, Age, HASH, LOOKUP, LPM_TRIE, call_with_value, reasons, sized},
    *,
};
use crate::kernel::SpecialField;
use core_relo::btf::Kind;
use core_relo_object::object::MapType;

const KPTR_XCHG: i32 = 194;

/// Returns whether a kernel like Linux 7.2 finds the field of a helper in a value of a type.
fn is_found(map_type: u32, number: i32, value: impl FnOnce(&mut Builder, TypeId, TypeId) -> TypeId) -> bool {
    refusals(Age::Newest, (map_type, number), value).is_empty()
}

/// Returns the refusals of a helper's call with a value of a map of a type.
fn refusals(
    age: Age,
    (map_type, number): (u32, i32),
    value: impl FnOnce(&mut Builder, TypeId, TypeId) -> TypeId,
) -> Vec<String> {
    let mut m = TestObject::new();
    let id = m.program("main", "tc", &call_with_value(number));
    let int = m.int;
    let lock = m.types.structure("bpf_spin_lock", 4, &[("val", int, 0)]);
    let value = value(&mut m.types, int, lock);
    let (_, map) = m.typed_map("m", &[("type", map_type), ("max_entries", 4)], int, value);
    m.refer(id, 0, map, false);
    reasons(m, age, None).into_iter().map(|(_, _, text)| text).collect()
}

/// Returns a struct of 8 bytes with a pointer that has a tag.
fn pointer_with_tag(b: &mut Builder, tag: &str) -> TypeId {
    let object = b.structure("object", 4, &[]);
    let tagged = b.type_tag(tag, object);
    let pointer = b.pointer(tagged);
    b.structure("value", 8, &[("p", pointer, 0)])
}

/// Protects the places where 6.12, 6.18 and 7.2 look for a field.
#[test]
fn fields_are_members_of_structs_by_their_own_names() {
    let lock_in = |member: fn(&mut Builder, TypeId, TypeId) -> TypeId| {
        is_found(HASH, 93, |b, int, lock| {
            let member = member(b, int, lock);
            b.structure("value", 16, &[("member", member, 0), ("n", int, 96)])
        })
    };
    assert!(lock_in(|_, _, lock| lock));
    assert!(lock_in(|b, _, lock| b.structure("inner", 4, &[("lock", lock, 0)])));
    let array_of = |count: u32| {
        is_found(HASH, 93, |b, int, lock| {
            let inner = b.structure("inner", 4, &[("lock", lock, 0)]);
            let array = b.array(inner, int, count);
            b.structure("value", 16, &[("member", array, 0), ("n", int, 96)])
        })
    };
    assert_eq!([array_of(1), array_of(2)], [true, false], "values have one lock");
    assert!(!lock_in(|b, int, _| b.union("numbers", 4, &[("a", int, 0), ("b", int, 0)])));
    assert!(!lock_in(|b, int, lock| b.union("either", 4, &[("a", int, 0), ("lock", lock, 0)])));
    assert!(!lock_in(|b, int, _| b.array(int, int, 4)));
    assert!(!lock_in(|b, _, lock| b.typedef("lock_t", lock)));
    assert!(!lock_in(|b, _, lock| b.modifier(Kind::Volatile, lock)));
    assert!(!is_found(HASH, 93, |b, int, lock| b.array(lock, int, 2)), "the value is no struct");
    assert!(is_found(HASH, 93, |b, _, lock| {
        let value = b.structure("value", 4, &[("lock", lock, 0)]);
        b.typedef("value_t", value)
    }));
    let pointer_to = |tags: &[&str]| {
        is_found(HASH, KPTR_XCHG, |b, _, _| {
            let object = b.structure("object", 4, &[]);
            let object = tags.iter().fold(object, |object, tag| b.type_tag(tag, object));
            let pointer = b.pointer(object);
            b.structure("value", 8, &[("p", pointer, 0)])
        })
    };
    assert!(pointer_to(&["kptr"]));
    assert!(pointer_to(&["percpu_kptr"]));
    assert!(!pointer_to(&[]), "a pointer without a tag");
}

/// The kernels 5.10 and 6.1 look at the members of the value alone.
#[test]
fn fields_within_structs_and_arrays_are_found_since_6_11() {
    let refused = |age: Age, wrap: fn(&mut Builder, TypeId, TypeId) -> TypeId| {
        refusals(age, (HASH, 93), |b, int, lock| {
            let member = wrap(b, int, lock);
            b.structure("value", 8, &[("member", member, 0), ("n", int, 32)])
        })
    };
    let inner = |b: &mut Builder, _: TypeId, lock: TypeId| b.structure("inner", 4, &[("lock", lock, 0)]);
    let array = |b: &mut Builder, int: TypeId, lock: TypeId| b.array(lock, int, 1);
    let text = "map m: helper bpf_spin_lock takes a value with bpf_spin_lock, which the kernel does not find in a struct or an array within the value";
    for wrap in [inner, array] {
        assert_eq!(refused(Age::Oldest, wrap), [text]);
        assert_eq!(refused(Age::Newest, wrap), Vec::<String>::new());
    }
    assert_eq!(refused(Age::Oldest, |_, _, lock| lock), Vec::<String>::new());
}

/// All kernels with kptrs refuse the types of these maps. 7.2 accepts locks, timers and kptrs in
/// `BPF_MAP_TYPE_RHASH`.
#[test]
fn kptrs_are_found_in_maps_of_some_types() {
    const LRU_PERCPU_HASH: u32 = 10;
    const RHASH: u32 = 35;
    let finds = |map_type: u32| is_found(map_type, KPTR_XCHG, |b, _, _| pointer_with_tag(b, "kptr"));
    assert_eq!([finds(HASH), finds(ARRAY), finds(LRU_PERCPU_HASH), finds(RHASH)], [true; 4]);
    assert!(!finds(LPM_TRIE));
    let lock =
        |map_type: u32| is_found(map_type, 93, |b, _, lock| b.structure("value", 4, &[("lock", lock, 0)]));
    assert_eq!([lock(HASH), lock(RHASH), lock(LPM_TRIE)], [true, true, false]);
    assert!(SpecialField::ListHead.never_fits(MapType::Rhash), "7.2 refuses lists and trees there");
}

/// The tag `kptr` was `kptr_ref` before 6.4.
#[test]
fn the_tag_of_a_kptr_depends_on_the_kernel() {
    let found = |tag: &str| is_found(HASH, KPTR_XCHG, |b, _, _| pointer_with_tag(b, tag));
    assert_eq!(["kptr", "percpu_kptr"].map(found), [true; 2]);
    assert_eq!(["kptr_ref", "kptr_untrusted", "user", "uptr"].map(found), [false; 4]);
}

/// Values of maps are arguments of kfuncs, too. Their maps have no such fields without types.
#[test]
fn kfuncs_take_fields_as_helpers_do() {
    let refused = |kfunc: &str, register: u8, map_type: u32| {
        let mut m = TestObject::new();
        // r0 = lookup; if r0 == 0 goto +2; register = r0; call.
        let call = [helper(LOOKUP), insn(0x15, 0, 0, 2, 0), insn(0xbf, register, 0, 0, 0), call(-1)];
        let id = m.program("main", "tc", &[&load(1, 0)[..], &call, &returns(0)].concat());
        let func = m.func_type(kfunc, 2);
        m.types.datasec(".ksyms", 0, &[(func, 0, 0)]);
        let symbol = m.undefined(kfunc, true);
        let int = m.int;
        let members = ["bpf_wq", "bpf_res_spin_lock", "bpf_task_work", "bpf_list_head"];
        let sizes = [16, 4, 8, 16];
        let fields: Vec<_> =
            members.iter().zip(sizes).map(|(name, bytes)| m.types.structure(name, bytes, &[])).collect();
        let members: Vec<_> = ["a", "b", "c", "d"].iter().zip(fields).zip((0..).step_by(128)).collect();
        let members: Vec<_> = members.iter().map(|((name, ty), bit)| (**name, *ty, *bit)).collect();
        let value = m.types.structure("value", 64, &members);
        let (_, map) = m.typed_map("m", &[("type", map_type), ("max_entries", 4)], int, value);
        m.refer(id, 0, map, false);
        m.refer(id, 5, symbol, true);
        reasons(m, Age::Newest, None).into_iter().map(|(_, kind, text)| (kind, text)).collect::<Vec<_>>()
    };
    for (kfunc, register, field) in [
        ("bpf_wq_init", 1, "bpf_wq"),
        ("bpf_res_spin_lock", 1, "bpf_res_spin_lock"),
        ("bpf_task_work_schedule_signal", 2, "bpf_task_work"),
    ] {
        let text = format!(
            "map m: kfunc {kfunc} takes a value with {field}, which the kernel does not find in the types of the map"
        );
        assert_eq!(refused(kfunc, register, LPM_TRIE), [(ReasonKind::Kfunc, text)]);
        assert_eq!(refused(kfunc, register, HASH), []);
    }
    assert_eq!(refused("bpf_wq_init", 2, LPM_TRIE), [], "another argument");
    assert_eq!(refused("bpf_rbtree_first", 1, HASH).len(), 1, "the value has no tree");
    assert_eq!(refused("bpf_cpumask_first", 1, LPM_TRIE), [], "no kfunc for fields");
}

/// The helpers of cgroup storage and local storage return addresses of values, too.
#[test]
fn values_of_storage_have_fields() {
    const GET_LOCAL_STORAGE: i32 = 81;
    const CGROUP_STORAGE: u32 = 19;
    const PERCPU_CGROUP_STORAGE: u32 = 21;
    let refused = |map_type: u32| {
        let mut m = TestObject::new();
        let calls = [helper(GET_LOCAL_STORAGE), insn(0xbf, 1, 0, 0, 0), helper(93)];
        let id = m.program("main", "cgroup_skb/egress", &[&load(1, 0)[..], &calls, &returns(0)].concat());
        let int = m.int;
        let lock = m.types.structure("bpf_spin_lock", 4, &[("val", int, 0)]);
        let value = m.types.structure("value", 4, &[("lock", lock, 0)]);
        let long = m.types.int("long", 8, 0);
        let (_, map) = m.typed_map("m", &[("type", map_type)], long, value);
        m.refer(id, 0, map, false);
        reasons(m, Age::Newest, None).len()
    };
    assert_eq!([refused(CGROUP_STORAGE), refused(PERCPU_CGROUP_STORAGE)], [0, 1]);
}

/// Protects static functions: the verifier follows their calls with the caller's values.
#[test]
fn values_of_maps_are_followed_into_static_functions() {
    let found = |calls: &[bool], linkage: u8| {
        let mut m = TestObject::new();
        // r0 = lookup; r1 = r0, or another number; call; and so on.
        let mut insns = Vec::new();
        for has_value in calls {
            let argument = if *has_value { insn(0xbf, 1, 0, 0, 0) } else { insn(0xb7, 1, 0, 0, 0) };
            insns.extend([&load(1, 0)[..], &[helper(LOOKUP), argument, call(-1)]].concat());
        }
        let main = m.program("main", "tc", &[&insns[..], &returns(0)].concat());
        let text = m.code(".text", &[&[helper(93)][..], &returns(0)].concat());
        let function = m.function("sub", text, 0, 3);
        let (_, map) = m.map("m", &sized(HASH), None);
        for position in (0u64..).step_by(5).take(calls.len()) {
            m.refer(main, position, map, false);
            m.refer(main, position + 4, function, true);
        }
        let (main_type, ty) = (m.func_type("main", 1), m.func_type("sub", linkage));
        m.func_info("tc", &[(0, main_type)]);
        m.func_info(".text", &[(0, ty)]);
        reasons(m, Age::Newest, None).len()
    };
    assert_eq!(found(&[true], 0), 1);
    assert_eq!(found(&[true, true], 0), 1);
    assert_eq!(found(&[true, false], 0), 0, "another call has another value");
    assert_eq!(found(&[false, true], 0), 0, "another call has another value");
    assert_eq!(found(&[true], 1), 0, "the kernel checks a global function by itself");
}

/// Creates a program that looks up a value with a lock, and calls helpers.
fn with_lock(
    section: &str,
    map: &[(&str, u32)],
    key: fn(&mut TestObject) -> TypeId,
    calls: &[Insn],
) -> TestObject {
    let mut m = TestObject::new();
    let insns = [
        &load(1, 0)[..],
        &[
            helper(LOOKUP),
            insn(0x15, 0, 0, i16::try_from(calls.len().checked_add(1).unwrap()).unwrap(), 0),
            insn(0xbf, 1, 0, 0, 0),
        ],
        calls,
        &returns(0),
    ];
    let id = m.program("main", section, &insns.concat());
    let int = m.int;
    let lock = m.types.structure("bpf_spin_lock", 4, &[("val", int, 0)]);
    let value = m.types.structure("value", 8, &[("lock", lock, 0), ("n", int, 32)]);
    let key = key(&mut m);
    let (_, map) = m.typed_map("m", &[map, &[("max_entries", 4)][..]].concat(), key, value);
    m.refer(id, 0, map, false);
    m
}

/// The kernel refuses the types of such maps, so that a loader creates them without types. Kernels before 6.2
/// accept those with `BPF_F_WRONLY_PROG`.
#[test]
fn maps_that_programs_only_read_or_write_have_no_locks() {
    let kprobe = |flags: u32, age: Age| {
        let map = [("type", ARRAY), ("map_flags", flags)];
        reasons(with_lock("kprobe/x", &map, |m| m.int, &[]), age, None).len()
    };
    for (flags, oldest) in [(1 << 7, 0), (1 << 8, 1)] {
        assert_eq!(kprobe(flags, Age::Newest), 0, "{flags:#x}");
        assert_eq!(kprobe(flags, Age::Oldest), oldest, "{flags:#x}");
    }
    assert_eq!(kprobe(0, Age::Newest), 1);
    let locks = |flags: u32| {
        let map = [("type", ARRAY), ("map_flags", flags)];
        reasons(with_lock("tc", &map, |m| m.int, &[helper(93)]), Age::Newest, None).len()
    };
    assert_eq!([locks(0), locks(1 << 7), locks(1 << 8)], [0, 1, 0]);
}

/// The kernel takes the types of an array if its keys are integers of 32 bits.
#[test]
fn arrays_with_other_keys_have_no_locks() {
    fn number(m: &mut TestObject) -> TypeId {
        let int = m.int;
        m.types.typedef("u32", int)
    }
    fn enumeration(m: &mut TestObject) -> TypeId {
        m.types.enumeration("e", 4, &[("A", 0)])
    }
    let found = |section: &str, map_type: u32, key: fn(&mut TestObject) -> TypeId, calls: &[Insn]| {
        reasons(with_lock(section, &[("type", map_type)], key, calls), Age::Newest, None).len()
    };
    assert_eq!(found("kprobe/x", ARRAY, number, &[]), 1);
    assert_eq!(found("kprobe/x", ARRAY, enumeration, &[]), 0);
    assert_eq!(found("kprobe/x", HASH, enumeration, &[]), 1);
    assert_eq!(found("tc", ARRAY, number, &[helper(93)]), 0);
    assert_eq!(found("tc", ARRAY, enumeration, &[helper(93)]), 1);
    assert_eq!(found("tc", HASH, enumeration, &[helper(93)]), 0);
}

/// The map of read-only data is one of those maps.
#[test]
fn timers_among_constants_are_no_timers() {
    let found = |section: &str, kind: SectionKind| {
        let mut m = TestObject::new();
        let id = m.program("main", "kprobe/x", &[&load(1, 0)[..], &returns(0)].concat());
        let data = m.section(section, kind, &[0; 16]);
        let timer = m.types.structure("bpf_timer", 16, &[]);
        let var = m.types.var("timer", timer, 1);
        m.types.datasec(section, 16, &[(var, 0, 16)]);
        let symbol = m.section_symbol(data);
        m.refer(id, 0, symbol, false);
        let types = |b: &mut Builder| {
            let int = b.int("int", 4, Builder::SIGNED);
            b.enumeration("bpf_func_id", 4, &[("BPF_FUNC_user_ringbuf_drain", 209)]);
            b.structure("bpf_verifier_env", 4, &[("insn_idx", int, 0)]);
        };
        let verdict = judge_with_settings(&m.bytes(), types, &KernelInputs::default(), None);
        verdict.programs[0]
            .reasons
            .iter()
            .any(|reason| reason.text.contains("cannot use maps with bpf_timer"))
    };
    assert!(found(".data", SectionKind::Data));
    assert!(!found(".rodata", SectionKind::ReadOnlyData));
}
