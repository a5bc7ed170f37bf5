//! Kfuncs that are closed to the type or attach type of a program.

use super::*;
use crate::advice::{Advisor, Fix};

/// Adds a kernel like Linux 7.2 with a kfunc, and `int f(void)`.
fn add_kernel_with(b: &mut Builder, kfunc: &str) {
    let int = b.int("int", 4, Builder::SIGNED);
    let program_types = [
        ("BPF_PROG_TYPE_KPROBE", 2),
        ("BPF_PROG_TYPE_SCHED_CLS", 3),
        ("BPF_PROG_TYPE_XDP", 6),
        ("BPF_PROG_TYPE_TRACING", 26),
        ("BPF_PROG_TYPE_EXT", 28),
    ];
    b.enumeration("bpf_prog_type", 4, &program_types);
    let attach_types = [
        ("BPF_TRACE_FENTRY", 24),
        ("BPF_TRACE_ITER", 28),
        ("BPF_TRACE_KPROBE_SESSION", 56),
        ("BPF_TRACE_FSESSION", 58),
        ("BPF_TRACE_FSESSION_MULTI", 61),
    ];
    b.enumeration("bpf_attach_type", 4, &attach_types);
    let contexts = [
        ("BPF_PROG_TYPE_SCHED_CLS_prog", int, 0),
        ("BPF_PROG_TYPE_TRACING_prog", int, 32),
        ("BPF_PROG_TYPE_EXT_prog", int, 64),
        ("BPF_PROG_TYPE_XDP_prog", int, 96),
        ("BPF_PROG_TYPE_KPROBE_prog", int, 128),
    ];
    b.structure("bpf_ctx_convert", 20, &contexts);
    b.structure("bpf_prog_aux", 8, &[("func_info_aux", int, 0), ("kfunc_tab", int, 32)]);
    b.structure("bpf_verifier_env", 4, &[("insn_idx", int, 0)]);
    let proto = b.func_proto(int, &[]);
    for name in
        ["array_map_alloc", "htab_map_alloc", "bpf_check", "bpf_trampoline_get", "f", "bpf_iter_task", kfunc]
    {
        b.func(name, proto, 1);
    }
}

/// Judges a program that calls a kfunc. Returns the verdict, the text of the worst reason, and its fixes.
fn judge_call(section: &str, kfunc: &str) -> (Verdict, String, Vec<Fix>) {
    judge_calls(section, kfunc, &[call(-1)], (0, None))
}

/// Judges a program with a call of a kfunc at an instruction.
fn judge_calls(
    section: &str,
    kfunc: &str,
    insns: &[Insn],
    (at, settings): (u64, Option<&Settings>),
) -> (Verdict, String, Vec<Fix>) {
    let mut m = TestObject::new();
    let main = m.program("main", section, &[insns, &returns(0)].concat());
    let func = m.func_type(kfunc, 2);
    m.types.datasec(".ksyms", 0, &[(func, 0, 0)]);
    let symbol = m.undefined(kfunc, false);
    m.refer(main, at, symbol, true);
    let bytes = m.bytes();
    let object = Object::parse(&bytes).unwrap();
    let relocs = object.relocs().unwrap();
    let mut table = NeedTable::default();
    let mut needs = ObjectNeeds::collect(&object, &relocs, &mut table).unwrap();
    if let Some(settings) = settings {
        needs.apply_settings(settings, &mut table);
    }
    let mut b = Builder::new(Endian::native());
    add_kernel_with(&mut b, kfunc);
    let target = Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()));
    let inputs = KernelInputs { version: Some(KernelVersion::release(7, 2)), ..KernelInputs::default() };
    let answers = KernelAnswers::new(&table, &target, &inputs);
    let plan = Plan::new(&relocs, &target);
    let verdict = judge(&needs, &plan, &answers).unwrap();
    let program = &verdict.programs[0];
    let Some(reason) = program.reasons.first() else { return (program.verdict, String::new(), Vec::new()) };
    let fixes = Advisor::new(&needs, &plan, &answers).fixes(&needs.programs[0], &verdict.programs[0], reason);
    (program.verdict, reason.text.clone(), fixes)
}

#[test]
fn no_guard_is_advised_for_a_kfunc_that_exists() {
    let (verdict, text, fixes) = judge_call("tc", "bpf_cpumask_create");
    let expected = "programs of type BPF_PROG_TYPE_SCHED_CLS may not call kfunc bpf_cpumask_create";
    assert_eq!((verdict, &*text), (Verdict::Refused, expected));
    let [fix] = &fixes[..] else { panic!("{fixes:?}") };
    assert_eq!((&fix.code, &fix.declaration), (&None, &None));
    for part in ["bpf_ksym_exists() is true", "BPF_PROG_TYPE_TRACING"] {
        assert!(fix.text.contains(part), "{}", fix.text);
    }
}

/// Protects the rule that the kernel applies to a call in dead code, too, as 6.12, 6.18 and 7.2 show.
#[test]
fn kfuncs_of_devices_need_a_program_that_is_bound_to_one() {
    for section in ["xdp", "tc"] {
        let (verdict, text, fixes) = judge_call(section, "bpf_xdp_metadata_rx_hash");
        let expected = "kfunc bpf_xdp_metadata_rx_hash needs a program that is bound to a device";
        assert_eq!((verdict, &*text), (Verdict::Refused, expected));
        assert!(fixes[0].text.contains("BPF_F_XDP_DEV_BOUND_ONLY"), "{}", fixes[0].text);
    }
    let (_, text, _) = judge_call("freplace/f", "bpf_xdp_metadata_rx_hash");
    assert!(!text.contains("bound"), "the extended program decides: {text}");
    // r0 = 0; if r0 == 0 goto +1; call.
    let dead = [insn(0xb7, 0, 0, 0, 0), insn(0x15, 0, 0, 1, 0), call(-1)];
    let (verdict, ..) = judge_calls("xdp", "bpf_xdp_metadata_rx_hash", &dead, (2, None));
    assert_eq!(verdict, Verdict::Refused);
    let (verdict, ..) = judge_calls("tc", "bpf_cpumask_create", &dead, (2, None));
    assert_eq!(verdict, Verdict::Loads);
    let mut bound = Settings::default();
    bound.program_mut("main").ifindex = 1;
    let (verdict, ..) = judge_calls("xdp", "bpf_xdp_metadata_rx_hash", &dead, (2, Some(&bound)));
    assert_eq!(verdict, Verdict::Loads);
}

#[test]
fn the_attach_type_decides_on_some_kfuncs() {
    let judge = |section, kfunc| {
        let (verdict, text, _) = judge_call(section, kfunc);
        (verdict, text)
    };
    let loads = (Verdict::Loads, String::new());
    assert_eq!(judge("fsession/f", "bpf_session_cookie"), loads);
    assert_eq!(judge("iter/task", "bpf_sock_destroy"), loads);
    let refused = |attach_type: &str, kfunc: &str| {
        let text =
            format!("programs of type BPF_PROG_TYPE_TRACING at {attach_type} may not call kfunc {kfunc}");
        (Verdict::Refused, text)
    };
    let fentry = "BPF_TRACE_FENTRY";
    assert_eq!(judge("fentry/f", "bpf_session_cookie"), refused(fentry, "bpf_session_cookie"));
    assert_eq!(judge("fentry/f", "bpf_sock_destroy"), refused(fentry, "bpf_sock_destroy"));
    // A plain kprobe has no expected attach type: 6.12, 6.18 and 7.2 refuse the call.
    assert_eq!(judge("kprobe.session/f", "bpf_session_cookie"), loads);
    for section in ["kprobe/f", "uprobe/f", "ksyscall/f"] {
        let text = "programs of type BPF_PROG_TYPE_KPROBE without an attach type may not call kfunc bpf_session_cookie";
        assert_eq!(judge(section, "bpf_session_cookie"), (Verdict::Refused, text.to_owned()), "{section}");
    }
    // No program of this attach type was observed.
    let (verdict, text) = judge("fsession.multi/f", "bpf_session_cookie");
    assert_eq!(verdict, Verdict::Unknown, "{text}");
}
