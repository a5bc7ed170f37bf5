//! Maps of programs that may sleep.

use super::{
    map_uses::{Age, LPM_TRIE, reasons, with_map},
    *,
};

const MAP: [(&str, u32); 5] =
    [("type", LPM_TRIE), ("key_size", 8), ("value_size", 8), ("max_entries", 4), ("map_flags", 1)];

#[test]
fn programs_that_sleep_use_some_map_types_only() {
    let text = "map m: programs that may sleep cannot use BPF_MAP_TYPE_LPM_TRIE".to_owned();
    let m = || with_map("iter.s/task", &MAP, &[]);
    assert_eq!(reasons(m(), Age::Oldest, None), [(Verdict::Refused, ReasonKind::MapType, text)]);
    assert_eq!(reasons(m(), Age::Newest, None), []);
    assert_eq!(reasons(with_map("iter/task", &MAP, &[]), Age::Oldest, None), []);
    // The kernel looks at maps in dead code, too.
    let mut dead = TestObject::new();
    let insns = [&[insn(0xb7, 6, 0, 0, 0), insn(0x15, 6, 0, 2, 0)][..], &load(1, 0), &returns(0)].concat();
    let id = dead.program("main", "iter.s/task", &insns);
    let (_, symbol) = dead.map("m", &MAP, None);
    dead.refer(id, 2, symbol, false);
    assert_eq!(reasons(dead, Age::Oldest, None).len(), 1);
}

/// Kernels between 6.12 and 7.2 differ. A version that is not newer than 6.12, with BTF that is, belongs to a
/// distribution, which takes changes from later releases.
#[test]
fn backports_do_not_decide_on_programs_that_sleep() {
    fn add_6_13(b: &mut Builder) {
        let int = b.int("int", 4, Builder::SIGNED);
        b.enumeration("bpf_func_id", 4, &[("BPF_FUNC_per_cpu_ptr", 153)]);
        let attach_types = [("BPF_TRACE_ITER", 28), ("BPF_TRACE_UPROBE_SESSION", 57)];
        b.enumeration("bpf_attach_type", 4, &attach_types);
        b.structure("bpf_verifier_env", 4, &[("insn_idx", int, 0)]);
    }
    let verdict = |version: Option<&str>| {
        let inputs =
            KernelInputs { version: version.map(|text| text.parse().unwrap()), ..KernelInputs::default() };
        let judged =
            judge_with_settings(&with_map("iter.s/task", &MAP, &[]).bytes(), add_6_13, &inputs, None);
        let mut reasons = judged.programs[0].reasons.iter();
        reasons.find(|reason| reason.text.contains("may sleep")).map(|reason| reason.verdict)
    };
    for version in ["5.14.0-570", "6.12.0-55", "6.12.40", "7.1.3"] {
        assert_eq!(verdict(Some(version)), Some(Verdict::Unknown), "{version}");
    }
    assert_eq!(verdict(None), Some(Verdict::Unknown));
    for version in ["6.13.2", "6.17.0", "6.18.44"] {
        assert_eq!(verdict(Some(version)), Some(Verdict::Refused), "{version}");
    }
}
