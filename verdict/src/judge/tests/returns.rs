//! The values that programs return.

use super::*;
use core_relo_object::test_support::load;

/// Adds a kernel like the newest observed one, with `int bpf_lsm_h(int)`, `void bpf_lsm_v(int)` and
/// `int f(int)`.
fn add_new_kernel(b: &mut Builder) {
    add_recent_kernel(b, true);
}

/// Adds a recent kernel, which checks what LSM programs return or not.
fn add_recent_kernel(b: &mut Builder, checks_lsm: bool) {
    let int = b.int("int", 4, Builder::SIGNED);
    let helpers = [("BPF_FUNC_unspec", 0), ("BPF_FUNC_per_cpu_ptr", 153), ("BPF_FUNC_get_prandom_u32", 7)];
    b.enumeration("bpf_func_id", 4, &helpers);
    b.structure("bpf_verifier_env", 4, &[("prog", int, 0)]);
    // Kernels since 6.8 verify no function that nothing calls.
    b.structure("bpf_func_info_aux", 4, &[("called", int, 0), ("verified", int, 8)]);
    let proto = b.func_proto(int, &[("x", int)]);
    let nothing = b.func_proto(TypeId(0), &[("x", int)]);
    let functions =
        ["array_map_alloc", "htab_map_alloc", "bpf_check", "bpf_trampoline_get", "bpf_lsm_h", "f"];
    for name in functions.into_iter().chain(checks_lsm.then_some("bpf_lsm_get_retval_range")) {
        b.func(name, proto, 1);
    }
    b.func("bpf_lsm_v", nothing, 1);
}

/// Returns the text of the reason of the kind `return_value`.
fn refused_value(types: impl FnOnce(&mut Builder), section: &str, insns: &[Insn]) -> Option<String> {
    let version = Some(KernelVersion::release(7, 2));
    let inputs = KernelInputs { version, ..KernelInputs::default() };
    let verdict = judge_on(program(section, insns), types, &inputs);
    let mut reasons = verdict.programs[0].reasons.iter();
    let found = reasons.find(|reason| reason.kind == ReasonKind::ReturnValue)?;
    assert_eq!(found.verdict, Verdict::Refused);
    Some(found.text.clone())
}

#[test]
fn constants_outside_of_the_range_of_the_program_type_are_refused() {
    let value = |section, number| refused_value(add_new_kernel, section, &returns(number));
    for (section, permitted, refused, range) in [
        ("fentry/f", 0, 1, "0"),
        ("fexit/f", 0, -1, "0"),
        ("cgroup_skb/ingress", 1, 2, "0 to 1"),
        ("cgroup_skb/egress", 3, 4, "0 to 3"),
        ("cgroup/bind4", 3, -1, "0 to 3"),
        ("cgroup/connect4", 1, 2, "0 to 1"),
        ("cgroup/recvmsg4", 1, 0, "1"),
        ("cgroup/dev", 0, 5, "0 to 1"),
        ("sk_lookup", 1, 2, "0 to 1"),
        ("lsm/h", -4095, 1, "-4095 to 0"),
        ("lsm_cgroup/h", 1, -1, "0 to 1"),
    ] {
        assert_eq!(value(section, permitted), None, "{section}");
        let text = format!("the program returns {refused}, expected {range}");
        assert_eq!(value(section, refused), Some(text), "{section}");
    }
    // A section without a target, for which the program needs no hook, has no values to compare.
    for section in ["lsm/", "xdp", "tc", "kprobe/f", "fmod_ret/f", "tp_btf/t", "lsm/v", "raw_tp/t"] {
        assert_eq!(value(section, 100), None, "{section}");
    }
}

#[test]
fn numbers_that_the_verifier_does_not_know_are_refused() {
    let random = [helper(7), exit()];
    let unknown = |range: &str| {
        Some(format!("the program returns a number that the verifier does not know, expected {range}"))
    };
    assert_eq!(refused_value(add_new_kernel, "cgroup/connect4", &random), unknown("0 to 1"));
    assert_eq!(refused_value(add_new_kernel, "lsm/h", &random), unknown("-4095 to 0"));
    // r0 &= 1
    let masked = [helper(7), insn(0x57, 0, 0, 0, 1), exit()];
    assert_eq!(refused_value(add_new_kernel, "cgroup/connect4", &masked), None);
    // r0 &= 5
    let masked = [helper(7), insn(0x57, 0, 0, 0, 5), exit()];
    assert!(refused_value(add_new_kernel, "cgroup/connect4", &masked).is_some());
    // r6 = random & 1; r0 = random & 1; r0 += r6.
    let masked = [helper(7), insn(0x57, 0, 0, 0, 1)];
    let sum = [&masked[..], &[insn(0xbf, 6, 0, 0, 0)], &masked, &[insn(0x0f, 0, 6, 0, 0), exit()]].concat();
    assert_eq!(refused_value(add_new_kernel, "cgroup/connect4", &sum), unknown("0 to 1"));
    assert_eq!(refused_value(add_new_kernel, "cgroup_skb/egress", &sum), None);
    let pointer = [insn(0xbf, 0, 1, 0, 0), exit()];
    assert_eq!(
        refused_value(add_new_kernel, "sk_lookup", &pointer),
        Some("the program returns a pointer, expected 0 to 1".to_owned())
    );
    // The result that the hook passes has bounds that only the verifier knows.
    let result = [insn(0x79, 0, 1, 8, 0), exit()];
    assert_eq!(refused_value(add_new_kernel, "lsm/h", &result), None);
}

#[test]
fn all_paths_count() {
    // if r0 == 0 goto +1; r0 = 1; exit
    let either = |number| [helper(7), insn(0x15, 0, 0, 1, 0), insn(0xb7, 0, 0, 0, number), exit()];
    assert_eq!(refused_value(add_new_kernel, "sk_lookup", &either(1)), None);
    assert!(refused_value(add_new_kernel, "sk_lookup", &either(2)).is_some());
    // A path that no verifier follows.
    let dead = [insn(0xb7, 0, 0, 0, 0), insn(0x15, 0, 0, 1, 0), insn(0xb7, 0, 0, 0, 2), exit()];
    assert_eq!(refused_value(add_new_kernel, "sk_lookup", &dead), None);
    // Verifiers before 6.8 may skip the value of one path, but not those of all.
    let old = |b: &mut Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        b.enumeration("bpf_func_id", 4, &[("BPF_FUNC_unspec", 0), ("BPF_FUNC_get_prandom_u32", 7)]);
        b.structure("bpf_func_info_aux", 4, &[("linkage", int, 0)]);
    };
    assert_eq!(refused_value(old, "sk_lookup", &either(2)), None);
    assert!(refused_value(old, "sk_lookup", &returns(2)).is_some());
}

#[test]
fn a_number_outside_of_the_range_is_refused_whatever_the_branches() {
    // r7 = -1; if w7 == 4096 goto +0; r0 = r7; exit
    let branching = [insn(0xb7, 7, 0, 0, -1), insn(0x16, 7, 0, 0, 4096), insn(0xbf, 0, 7, 0, 0), exit()];
    let text = "the program returns -1, expected 0 to 1";
    assert_eq!(refused_value(add_new_kernel, "sk_lookup", &branching), Some(text.to_owned()));
}

#[test]
fn values_of_lsm_programs_count_since_linux_6_12() {
    let old = |b: &mut Builder| add_recent_kernel(b, false);
    assert_eq!(refused_value(old, "lsm/h", &returns(1)), None);
    // w0 = -1: only the low half counts.
    assert_eq!(refused_value(add_new_kernel, "lsm/h", &[insn(0xb4, 0, 0, 0, -1), exit()]), None);
    assert!(refused_value(add_new_kernel, "cgroup/dev", &[insn(0xb4, 0, 0, 0, -1), exit()]).is_some());
    // Constants of 64 bits.
    let large = [&load(0, 5)[..], &[exit()]].concat();
    assert!(refused_value(add_new_kernel, "cgroup/dev", &large).is_some());
}
