//! Fixes of maps in whose values the kernel does not find a special field.

use super::{map_uses::call_with_value, *};

const SPIN_LOCK: i32 = 93;
const ARRAY: u32 = 2;

/// The definition has the types that the fix asks for. The kernel ignores them.
#[test]
fn the_fix_of_an_array_with_other_keys_names_the_keys() {
    let mut m = TestObject::new();
    let id = m.program("main", "tc", &call_with_value(SPIN_LOCK));
    let lock = m.types.structure("bpf_spin_lock", 4, &[]);
    let value = m.types.structure("value", 8, &[("lock", lock, 0)]);
    let key = m.types.enumeration("e", 4, &[("A", 0)]);
    let map = m.typed_map("m", &[("type", ARRAY), ("max_entries", 4)], key, value).1;
    m.refer(id, 0, map, false);
    let verdict = judge_object(m);
    let fix = verdict.programs[0].reasons.iter().find_map(|reason| reason.fix.as_deref()).unwrap();
    assert!(fix.contains("an array whose keys are no int or __u32"), "{fix}");
}
