//! Warnings about programs that load and cannot be attached.

use super::*;
use crate::{kernel::SymbolScope, mismatch::MismatchKind};
use core_relo_object::{load_plan::RefusedAttachType, lockdown::Lockdown, object::AttachType};

/// Adds the types of a kernel with programs of several types, with or without kprobe events.
fn kprobe_kernel(b: &mut Builder, has_events: bool) {
    let int = b.int("int", 4, Builder::SIGNED);
    let helpers = [
        ("BPF_FUNC_unspec", 0),
        ("BPF_FUNC_probe_read", 4),
        ("BPF_FUNC_probe_read_user", 112),
        ("BPF_FUNC_probe_read_kernel", 113),
    ];
    b.enumeration("bpf_func_id", 4, &helpers);
    let types = [
        ("BPF_PROG_TYPE_KPROBE", 2),
        ("BPF_PROG_TYPE_SCHED_CLS", 3),
        ("BPF_PROG_TYPE_TRACEPOINT", 5),
        ("BPF_PROG_TYPE_XDP", 6),
        ("BPF_PROG_TYPE_RAW_TRACEPOINT", 17),
        ("BPF_PROG_TYPE_TRACING", 26),
    ];
    b.enumeration("bpf_prog_type", 4, &types);
    let attach_types = [
        ("BPF_TRACE_FENTRY", 24),
        ("BPF_TRACE_FEXIT", 25),
        ("BPF_MODIFY_RETURN", 26),
        ("BPF_XDP", 37),
        ("BPF_LSM_CGROUP", 43),
    ];
    b.enumeration("bpf_attach_type", 4, &attach_types);
    let contexts = [
        ("BPF_PROG_TYPE_TRACEPOINT_prog", int, 0),
        ("BPF_PROG_TYPE_RAW_TRACEPOINT_prog", int, 0),
        ("BPF_PROG_TYPE_KPROBE_prog", int, 0),
        ("BPF_PROG_TYPE_SCHED_CLS_prog", int, 32),
        ("BPF_PROG_TYPE_XDP_prog", int, 64),
        ("BPF_PROG_TYPE_TRACING_prog", int, 96),
    ];
    b.structure("bpf_ctx_convert", 16, &contexts);
    let proto = b.func_proto(int, &[]);
    for name in ["array_map_alloc", "htab_map_alloc", "bpf_check", "bpf_trampoline_get", "vfs_read"] {
        b.func(name, proto, 1);
    }
    if has_events {
        b.structure("trace_kprobe", 8, &[("nhit", int, 0)]);
    }
}

/// Returns the warnings about a program that does nothing, on a kernel with or without kprobe events.
fn warnings(section: &str, has_events: bool) -> Vec<[String; 4]> {
    let object = program(section, &returns(0));
    let verdict = judge_on(object, |b| kprobe_kernel(b, has_events), &KernelInputs::default());
    let warning = |found: &crate::mismatch::Mismatch| {
        assert_eq!(found.kind, MismatchKind::Attachment);
        [&found.program, &found.text, &found.local, &found.target].map(String::clone)
    };
    verdict.warnings.iter().map(warning).collect()
}

#[test]
fn a_program_that_the_kernel_loads_and_does_not_attach_has_a_warning() {
    let expected = [
        "main",
        "cannot be attached: the kernel lacks kprobe events",
        "SEC(\"kprobe/vfs_read\")",
        "no struct trace_kprobe: CONFIG_KPROBE_EVENTS is not set (btf)",
    ];
    assert_eq!(warnings("kprobe/vfs_read", false), [expected.map(str::to_owned)]);
    assert_eq!(warnings("kprobe/vfs_read", true), [[""; 4]; 0]);
    // Lockdown refuses kprobes, whatever the kernel has.
    let inputs = KernelInputs { lockdown: Some(Lockdown::Confidentiality), ..KernelInputs::default() };
    let locked = (
        "cannot be attached: a setting of the system closes kprobe events".to_owned(),
        "/sys/kernel/security/lockdown is `confidentiality` (system)".to_owned(),
    );
    assert_eq!(warnings_with("kprobe/vfs_read", |_| {}, &inputs), [locked]);
    let inputs = KernelInputs { lockdown: Some(Lockdown::Integrity), ..KernelInputs::default() };
    assert_eq!(warnings_with("kprobe/vfs_read", |_| {}, &inputs), []);
    // Other programs need no events. A load leaves out a program with `?`.
    for section in ["xdp", "fentry/vfs_read", "?kprobe/vfs_read"] {
        assert_eq!(warnings(section, false), [[""; 4]; 0], "{section}");
    }
}

/// Returns the warnings about a program on a kernel with kprobe events, `types` and `inputs`.
fn warnings_with(
    section: &str,
    types: impl Fn(&mut Builder),
    inputs: &KernelInputs,
) -> Vec<(String, String)> {
    let kernel = |b: &mut Builder| {
        kprobe_kernel(b, true);
        types(b);
    };
    let verdict = judge_on(program(section, &returns(0)), kernel, inputs);
    verdict.warnings.into_iter().map(|found| (found.text, found.target)).collect()
}

#[test]
fn a_tracepoint_that_the_kernel_lacks_is_a_warning() {
    let warnings = |section: &str| {
        let types = |b: &mut Builder| _ = b.typedef("btf_trace_sched_switch", TypeId(1));
        warnings_with(section, types, &KernelInputs::default())
    };
    let missing = (
        "cannot be attached: the kernel lacks tracepoint `sched_swich`".to_owned(),
        "no typedef btf_trace_sched_swich in vmlinux (btf)".to_owned(),
    );
    for section in ["raw_tp/sched_swich", "tp/sched/sched_swich"] {
        assert_eq!(warnings(section), core::slice::from_ref(&missing), "{section}");
    }
    // Events of system calls have no tracepoint, and users define others.
    for section in
        ["raw_tp/sched_switch", "tp/sched/sched_switch", "tp/syscalls/sys_enter_open", "tp/kprobes/mine"]
    {
        assert_eq!(warnings(section), [], "{section}");
    }
}

/// Attaching needs no types: neither those of a kernel before 5.5, nor those of modules.
#[test]
fn types_without_tracepoints_and_modules_without_types_leave_tracepoints_open() {
    let section = "raw_tp/kvm_exit";
    assert_eq!(warnings_with(section, |_| {}, &KernelInputs::default()), []);
    let with_modules = |b: &mut Builder| {
        b.typedef("btf_trace_sched_switch", TypeId(1));
        let proto = b.func_proto(TypeId(1), &[]);
        b.func("find_module", proto, 1);
    };
    assert_eq!(warnings_with(section, with_modules, &KernelInputs::default()), []);
    let with_types_of_modules = |b: &mut Builder| {
        with_modules(b);
        let proto = b.func_proto(TypeId(1), &[]);
        b.func("btf_module_notify", proto, 0);
    };
    assert_eq!(warnings_with(section, with_types_of_modules, &KernelInputs::default()).len(), 1);
}

#[test]
fn symbols_tell_whether_a_function_can_be_probed() {
    let warnings = |section: &str, kallsyms: Option<&str>, symbol_scope| {
        let kallsyms = kallsyms.map(Into::into);
        let inputs = KernelInputs { kallsyms, symbol_scope, ..KernelInputs::default() };
        warnings_with(section, |_| {}, &inputs)
    };
    let symbols = "ffffffff81000000 t static_function\nffffffffc0000000 t of_module\t[veth]\n\
                   ffffffff81000010 t with_lto.llvm.123\n";
    let missing = (
        "cannot be attached: the kernel lacks function `vfs_raed`".to_owned(),
        "no symbol vfs_raed (kallsyms)".to_owned(),
    );
    for section in ["kprobe/vfs_raed", "kretprobe/vfs_raed", "kprobe/vfs_raed+4"] {
        assert_eq!(
            warnings(section, Some(symbols), SymbolScope::Kallsyms),
            core::slice::from_ref(&missing),
            "{section}"
        );
        // Static functions have no types, and modules may have others.
        assert_eq!(warnings(section, None, SymbolScope::Kallsyms), []);
        assert_eq!(warnings(section, Some(symbols), SymbolScope::Linked), []);
    }
    for section in [
        "kprobe/static_function",
        "kprobe/static_function+4",
        "kprobe/of_module",
        "kprobe/with_lto",
        "kprobe/0xffffffff81000000",
    ] {
        assert_eq!(warnings(section, Some(symbols), SymbolScope::Kallsyms), [], "{section}");
    }
}

#[test]
fn a_kprobe_on_one_of_several_functions_of_a_name_is_a_warning() {
    let warnings_of = |section: &str, kallsyms: &str| {
        let inputs = KernelInputs { kallsyms: Some(kallsyms.into()), ..KernelInputs::default() };
        warnings_with(section, |_| {}, &inputs)
    };
    let warnings = |kallsyms: &str| warnings_of("kprobe/init_once", kallsyms);
    let found = warnings("ffffffff81000000 t init_once\nffffffff82000000 t init_once\n");
    let [(text, evidence)] = &found[..] else { panic!("{found:?}") };
    assert!(text.starts_with("several functions have the name `init_once`: "), "{text}");
    assert!(text.contains("`--attach-to main=kprobe:0xADDRESS` or `kprobe:_text+OFFSET`"), "{text}");
    assert_eq!(evidence, "symbols init_once at 0xffffffff81000000 and 0xffffffff82000000 (kallsyms)");
    let found =
        warnings_of("kretprobe/init_once", "ffffffff81000000 t init_once\nffffffff82000000 t init_once\n");
    assert!(found[0].0.contains("`--attach-to main=kretprobe:0xADDRESS`"), "{found:?}");
    // Aliases are one function.
    assert_eq!(warnings("ffffffff81000000 t init_once\nffffffff81000000 T init_once\n"), []);
}

/// Linux 6.0 to 6.3 of arm64 load fentry programs, and refuse to attach them.
#[test]
fn kernels_of_arm64_without_direct_calls_attach_no_trampoline() {
    let warnings = |section: &str, architecture: &'static str, functions: &[&'static str]| {
        let types = |b: &mut Builder| {
            let int = b.int("int", 4, Builder::SIGNED);
            b.structure("pt_regs", 4, &[(architecture, int, 0)]);
            let proto = b.func_proto(int, &[]);
            for function in functions {
                b.func(function, proto, 1);
            }
        };
        warnings_with(section, types, &KernelInputs::default())
    };
    let found = warnings("fentry/vfs_read", "orig_x0", &[]);
    let [(text, evidence)] = &found[..] else { panic!("{found:?}") };
    let lacks =
        "cannot be attached: the kernel lacks trampolines of its own functions; a caller may load a kprobe";
    assert!(text.starts_with(lacks), "{text}");
    assert!(evidence.contains("CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS is not set (btf)"), "{evidence}");
    let found = warnings("fexit/vfs_read", "orig_x0", &[]);
    assert!(found[0].0.contains("a caller may load a kretprobe"), "{found:?}");
    assert_eq!(warnings("fentry/vfs_read", "orig_x0", &["register_ftrace_direct"]), []);
    assert_eq!(warnings("fentry/vfs_read", "di", &[]), [], "other architectures patch functions otherwise");
    assert_eq!(warnings("kprobe/vfs_read", "orig_x0", &[]), []);
}

/// Types and functions of the kernel say nothing about lockdown and other policies, which a probe of the
/// running kernel shows.
#[test]
fn an_attach_type_that_the_machine_refuses_is_a_reason() {
    let inputs = KernelInputs {
        refused_attach_types: vec![RefusedAttachType {
            attach_type: AttachType::TraceFentry,
            answer: "BPF_PROG_LOAD: EPERM".into(),
        }],
        ..KernelInputs::default()
    };
    let judged = |section: &str| judge_on(program(section, &returns(0)), |b| kprobe_kernel(b, true), &inputs);
    let verdict = judged("fentry/vfs_read");
    let text = "a policy of this machine refuses programs of attach type BPF_TRACE_FENTRY";
    assert_eq!(worst(&verdict), (Verdict::Refused, Some((ReasonKind::AttachType, text))));
    let evidence = verdict.programs[0].reasons[0].evidence.as_ref().unwrap();
    assert_eq!((evidence.source.word(), &*evidence.text), ("probe", "BPF_PROG_LOAD: EPERM"));
    for section in ["fexit/vfs_read", "kprobe/vfs_read", "xdp"] {
        assert_eq!(judged(section).verdict, Verdict::Loads, "{section}");
    }
}

/// Nothing in the kernel's BTF says that lockdown closes helpers, which the verifier then calls unknown.
#[test]
fn helpers_that_lockdown_closes_are_reasons() {
    let judged = |number, lockdown| {
        let code = [helper(number), insn(0xb7, 0, 0, 0, 0), exit()];
        let inputs = KernelInputs { lockdown, ..KernelInputs::default() };
        judge_on(program("kprobe/vfs_read", &code), |b| kprobe_kernel(b, true), &inputs)
    };
    for open in [None, Some(Lockdown::Integrity)] {
        assert_eq!(judged(113, open).verdict, Verdict::Loads, "{open:?}");
    }
    // Lockdown leaves the memory of user space open.
    assert_eq!(judged(112, Some(Lockdown::Confidentiality)).verdict, Verdict::Loads);
    let verdict = judged(113, Some(Lockdown::Confidentiality));
    let text = "lockdown closes helper bpf_probe_read_kernel to all programs";
    assert_eq!(worst(&verdict), (Verdict::Refused, Some((ReasonKind::Helper, text))));
    let evidence = verdict.programs[0].reasons[0].evidence.as_ref().unwrap();
    let expected = ("system", "/sys/kernel/security/lockdown is `confidentiality`");
    assert_eq!((evidence.source.word(), &*evidence.text), expected);
}

#[test]
fn traffic_control_attaches_the_programs_of_tcx_links() {
    assert_eq!(warnings("tc/egress", false), [[""; 4]; 0]);
    // Only the name of the section says whether the caller wants tcx.
    let warned = warnings("tcx/ingress", false);
    let [warning] = &warned[..] else { panic!("{warned:?}") };
    assert!(
        warning
            .iter()
            .any(|text| text.ends_with("; a caller may attach the program with traffic control (clsact)")),
        "{warning:?}"
    );
}

#[test]
fn the_warning_does_not_change_the_verdict() {
    let object = program("kprobe/vfs_read", &returns(0));
    let verdict = judge_on(object, |b| kprobe_kernel(b, false), &KernelInputs::default());
    assert_ne!(verdict.verdict, Verdict::Refused);
    assert_eq!(verdict.warnings.len(), 1);
}

#[test]
fn programs_of_many_functions_need_their_module() {
    let with_modules = |b: &mut Builder| {
        add_kernel(b);
        let proto = b.func_proto(TypeId(1), &[]);
        b.func("btf_module_notify", proto, 0);
    };
    let unknown = "the BTF of module veth may be missing: give the BTF of module veth (--module)";
    for (section, expected) in [
        ("fentry.multi/vfs_*", (Verdict::Loads, None)),
        ("fentry.multi/vmlinux:vfs_*", (Verdict::Loads, None)),
        ("fentry.multi/veth:veth_*", (Verdict::Unknown, Some((ReasonKind::AttachTarget, unknown)))),
    ] {
        let verdict = judge_on(program(section, &returns(0)), with_modules, &KernelInputs::default());
        assert_eq!(worst(&verdict), expected, "{section}");
    }
    let verdict = judge_object(program("fentry.multi/veth:veth_*", &returns(0)));
    let refused = (ReasonKind::AttachTarget, "the kernel lacks the BTF of module veth");
    assert_eq!(worst(&verdict), (Verdict::Refused, Some(refused)));
}

/// libbpf attaches the kprobes to `vfs_read`, and takes the name of the USDT probe without its end.
#[test]
fn sections_that_are_not_understood_to_their_end_are_warnings() {
    for (section, problem) in [
        ("kprobe/vfs_read:foo+x", "expected `kprobe/[module:]function[+offset]`"),
        ("kprobe/vfs_read xyz", "expected `kprobe/[module:]function[+offset]`"),
        ("kprobe/vfs_rea*", "expected one function; kprobe.multi and kretprobe.multi take a pattern"),
        ("usdt/bin:provider:name:zz", "expected `usdt/binary:provider:name`"),
        ("kprobe/veth:open", ""),
        ("kprobe/vmlinux:open", ""),
        ("uprobe/bin:0x4000", ""),
    ] {
        let found = warnings_with(section, |_| {}, &KernelInputs::default());
        let expected = match section {
            "kprobe/veth:open" => {
                "libbpf takes `veth` for the function; core-relo attaches to the function of the module"
                    .to_owned()
            }
            "kprobe/vmlinux:open" => {
                "libbpf takes `vmlinux` for the function; core-relo attaches to the function of the kernel"
                    .to_owned()
            }
            "uprobe/bin:0x4000" => {
                "libbpf takes `0x4000` for a function; core-relo attaches to the offset in the file"
                    .to_owned()
            }
            _ => format!("cannot be attached by its section: {problem}"),
        };
        assert_eq!(found, [(expected, "the name of the section (object)".to_owned())], "{section}");
    }
}
