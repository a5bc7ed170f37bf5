//! Verdicts on the fields of map values that the kernel manages.

use super::{
    map_uses::{ARRAY, Age, HASH, LOOKUP, call_with_value, reasons, sized},
    *,
};
use core_relo::btf::Kind;

/// Protects the places where 6.1, 6.12, 6.18 and 7.2 look for a field.
#[test]
fn fields_are_members_of_structs_by_their_own_names() {
    const KPTR_XCHG: i32 = 194;
    /// Returns whether the kernel finds the field of a helper in a value of a type.
    fn is_found(
        map_type: u32,
        number: i32,
        value: impl FnOnce(&mut Builder, TypeId, TypeId) -> TypeId,
    ) -> bool {
        let mut m = TestObject::new();
        let id = m.program("main", "tc", &call_with_value(number));
        let int = m.int;
        let lock = m.types.structure("bpf_spin_lock", 4, &[("val", int, 0)]);
        let value = value(&mut m.types, int, lock);
        let (_, map) = m.typed_map("m", &[("type", map_type), ("max_entries", 4)], int, value);
        m.refer(id, 0, map, false);
        reasons(m, Age::Newest, None).is_empty()
    }
    let lock_in = |member: fn(&mut Builder, TypeId, TypeId) -> TypeId| {
        is_found(HASH, 93, |b, int, lock| {
            let member = member(b, int, lock);
            b.structure("value", 16, &[("member", member, 0), ("n", int, 96)])
        })
    };
    assert!(lock_in(|_, _, lock| lock));
    assert!(lock_in(|b, _, lock| b.structure("inner", 4, &[("lock", lock, 0)])));
    assert!(lock_in(|b, int, lock| {
        let inner = b.structure("inner", 4, &[("lock", lock, 0)]);
        b.array(inner, int, 2)
    }));
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
            let object = tags.iter().fold(object, |object, tag| b.type_tag(tag, object, false));
            let pointer = b.pointer(object);
            b.structure("value", 8, &[("p", pointer, 0)])
        })
    };
    assert!(pointer_to(&["kptr"]));
    assert!(pointer_to(&["percpu_kptr"]));
    assert!(!pointer_to(&[]), "a pointer without a tag");
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
            insn(0x15, 0, 0, i16::try_from(calls.len().saturating_add(1)).unwrap(), 0),
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

/// The kernel refuses the types of such maps, so that a loader creates them without types. 5.10 accepts those with `BPF_F_WRONLY_PROG`.
#[test]
fn maps_that_programs_only_read_or_write_have_no_locks() {
    let kprobe = |flags: u32, age: Age| {
        let map = [("type", ARRAY), ("map_flags", flags)];
        reasons(with_lock("kprobe/x", &map, |m| m.int, &[]), age, None).len()
    };
    for flags in [1 << 7, 1 << 8] {
        assert_eq!(kprobe(flags, Age::Newest), 0, "{flags:#x}");
        assert_eq!(kprobe(flags, Age::Oldest), 0, "{flags:#x}");
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
        m.types.enumeration("e", 4, false, &[("A", 0)])
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
            b.enumeration("bpf_func_id", 4, false, &[("BPF_FUNC_user_ringbuf_drain", 209)]);
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
