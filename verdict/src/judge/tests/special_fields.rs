//! Verdicts on the fields of map values that the kernel manages.

use super::{
    map_uses::{Age, HASH, LOOKUP, reasons, sized},
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
        let insns = [
            &load(1, 0)[..],
            &[helper(LOOKUP), insn(0x15, 0, 0, 2, 0), insn(0xbf, 1, 0, 0, 0), helper(number)],
            &returns(0),
        ];
        let id = m.program("main", "tc", &insns.concat());
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
