//! Verdicts on the buffers of `bpf_get_stack`.

use super::{
    map_uses::{ARRAY, Age, LOOKUP, reasons, sized, with_map},
    *,
};

/// Kernels take the buffer of `bpf_get_stack` in programs of raw tracepoints for memory that is read, until a
/// release after 6.12.
#[test]
fn stacks_are_written_to_no_values_of_read_only_maps() {
    const GET_STACK: i32 = 67;
    let found = |section: &str, flags: u32| {
        let map = [&sized(ARRAY)[..], &[("map_flags", flags)]].concat();
        // r0 = lookup; if r0 == 0 goto +2; r2 = r0; bpf_get_stack.
        let insns = [helper(LOOKUP), insn(0x15, 0, 0, 2, 0), insn(0xbf, 2, 0, 0, 0), helper(GET_STACK)];
        reasons(with_map(section, &map, &insns), Age::Oldest, None).len()
    };
    for section in ["kprobe/f", "tp/a/b", "perf_event"] {
        assert_eq!([found(section, 0x80), found(section, 0)], [1, 0], "{section}");
    }
    assert_eq!(found("raw_tp/a", 0x80), 0);
}
