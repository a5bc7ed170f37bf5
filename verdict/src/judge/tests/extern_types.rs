//! Verdicts on objects whose externs and attach targets the kernel has, but not as the object needs them.

use super::{externs::calling_kfunc, *};

/// Adds the test kernel, with `bpf_ct_insert_entry(void *)`.
fn add_kernel_with_parameters(b: &mut Builder) {
    add_kernel(b);
    let int = b.int("int", 4, Builder::SIGNED);
    let pointer = b.pointer(TypeId::VOID);
    let proto = b.func_proto(int, &[("nf_conn", pointer)]);
    b.func("bpf_ct_insert_entry", proto, 1);
}

#[test]
fn a_kfunc_with_other_parameters_refuses_unless_it_is_weak_and_its_address_is_tested() {
    let judge = |m| judge_on(m, add_kernel_with_parameters, &KernelInputs::default());
    let text = "kfunc bpf_ct_insert_entry: its parameters in vmlinux differ from the declaration: `int bpf_ct_insert_entry(void \
                *nf_conn)`, expected `int bpf_ct_insert_entry(void)`";
    let strong = judge(calling_kfunc("bpf_ct_insert_entry", false));
    assert_eq!(worst(&strong), (Verdict::Refused, Some((ReasonKind::Kfunc, text))));
    // libbpf resolves the weak extern to 0, and replaces the call.
    assert_eq!(worst(&judge(calling_kfunc("bpf_ct_insert_entry", true))).0, Verdict::Loads);
    let mut m = TestObject::new();
    let main = m.program("main", "tc", &[call(-1), exit()]);
    let func = m.func_type("bpf_ct_insert_entry", 2);
    m.types.datasec(".ksyms", 0, &[(func, 0, 0)]);
    let symbol = m.undefined("bpf_ct_insert_entry", true);
    m.refer(main, 0, symbol, true);
    assert_eq!(worst(&judge(m)), (Verdict::Refused, Some((ReasonKind::Kfunc, text))));
}

#[test]
fn a_variable_of_another_type_refuses() {
    let judge = |is_weak, is_int: bool| {
        let [first, second] = load(1, 0);
        let [zero, exit] = returns(0);
        let mut m = TestObject::new();
        let main = m.program("main", "tc", &[first, second, zero, exit]);
        let int = m.int;
        let var = m.types.var("runqueues", int, 2);
        m.types.datasec(".ksyms", 0, &[(var, 0, 4)]);
        let symbol = m.undefined("runqueues", is_weak);
        m.refer(main, 0, symbol, false);
        let kernel = |b: &mut Builder| {
            add_kernel(b);
            let int = b.int("int", 4, Builder::SIGNED);
            let rq = b.structure("rq", 4, &[("cpu", int, 0)]);
            b.var("runqueues", if is_int { int } else { rq }, 1);
        };
        judge_on(m, kernel, &KernelInputs::default())
    };
    let text = "kernel variable runqueues: its type in vmlinux differs from the declaration";
    for is_weak in [false, true] {
        let reasons = &judge(is_weak, false).programs[0].reasons;
        assert!(reasons.iter().any(|reason| reason.text == text), "{reasons:?}");
        let reasons = &judge(is_weak, true).programs[0].reasons;
        assert!(!reasons.iter().any(|reason| reason.text == text), "{reasons:?}");
    }
}

/// The kernel: `check_pseudo_btf_id` finds no address without `CONFIG_KALLSYMS_ALL`.
#[test]
fn a_variable_needs_an_address_among_the_kernels_symbols() {
    let judge = |is_weak, inputs: &KernelInputs| {
        let [address, high] = load(1, 0);
        let [zero, exit] = returns(0);
        let mut m = TestObject::new();
        let main = m.program("main", "tc", &[address, high, zero, exit]);
        let int = m.int;
        let var = m.types.var("runqueues", int, 2);
        m.types.datasec(".ksyms", 0, &[(var, 0, 4)]);
        let symbol = m.undefined("runqueues", is_weak);
        m.refer(main, 0, symbol, false);
        let kernel = |b: &mut Builder| {
            add_kernel(b);
            let int = b.int("int", 4, Builder::SIGNED);
            b.var("runqueues", int, 1);
        };
        let verdict = judge_on(m, kernel, inputs);
        let reasons = verdict.programs[0].reasons.iter().filter(|reason| reason.kind == ReasonKind::Ksym);
        reasons.map(|reason| (reason.verdict, reason.text.clone())).collect::<Vec<_>>()
    };
    let without = KernelInputs { kallsyms: Some("0 T vfs_read\n".into()), ..KernelInputs::default() };
    let with = KernelInputs { kallsyms: Some("0 D runqueues\n".into()), ..KernelInputs::default() };
    let config = |line: &str| KernelInputs { kconfig: Some(line.into()), ..KernelInputs::default() };
    let refused =
        vec![(Verdict::Refused, "the kernel lacks the address of kernel variable runqueues".to_owned())];
    for is_weak in [false, true] {
        assert_eq!(judge(is_weak, &without), refused);
        assert_eq!(judge(is_weak, &config("# CONFIG_KALLSYMS_ALL is not set\n")), refused);
        for inputs in [&with, &config("CONFIG_KALLSYMS_ALL=y\n"), &KernelInputs::default()] {
            assert_eq!(judge(is_weak, inputs), []);
        }
    }
}

#[test]
fn a_function_that_is_no_known_kfunc_is_unknown() {
    // The kernel's BTF has no tags.
    let mut m = TestObject::new();
    let main = m.program("main", "tc", &[call(-1), exit()]);
    let func = m.func_type("vfs_read", 2);
    m.types.datasec(".ksyms", 0, &[(func, 0, 0)]);
    let symbol = m.undefined("vfs_read", false);
    m.refer(main, 0, symbol, true);
    let verdict = judge_on(m, add_kernel, &KernelInputs::default());
    let text =
        "kfunc vfs_read may be missing: the kernel's BTF does not tell whether FUNC vfs_read is a kfunc";
    assert_eq!(worst(&verdict), (Verdict::Unknown, Some((ReasonKind::Kfunc, text))));
}

#[test]
fn no_program_that_sleeps_replaces_the_result_of_an_lsm_hook() {
    let kernel = |b: &mut Builder| {
        add_kernel(b);
        let int = b.int("int", 4, Builder::SIGNED);
        let proto = b.func_proto(int, &[]);
        b.func("security_file_open", proto, 1);
        b.func("within_error_injection_list", proto, 1);
    };
    let judge = |section| judge_on(program(section, &returns(0)), kernel, &KernelInputs::default());
    let is_in_list = |section| {
        let reasons = &judge(section).programs[0].reasons;
        !reasons
            .iter()
            .any(|reason| reason.text.contains("error injection list") && reason.verdict == Verdict::Refused)
    };
    assert!(is_in_list("fmod_ret/security_file_open"));
    assert!(!is_in_list("fmod_ret.s/security_file_open"));
}

#[test]
fn a_function_of_vmlinux_is_in_no_module() {
    let verdict =
        judge_on(program("fentry/vmlinux:vfs_read", &returns(0)), add_kernel, &KernelInputs::default());
    assert_eq!(worst(&verdict), (Verdict::Loads, None));
    let verdict =
        judge_on(program("fentry/vmlinux:absent", &returns(0)), add_kernel, &KernelInputs::default());
    let text = "the kernel lacks function `absent` in vmlinux";
    assert_eq!(worst(&verdict), (Verdict::Refused, Some((ReasonKind::AttachTarget, text))));
}

#[test]
fn small_load_acquires_refuse_in_dead_code_too() {
    let kernel = |b: &mut Builder| {
        add_kernel(b);
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("bpf_insn_aux_data", 4, &[("seen", int, 0)]);
    };
    let text = "the kernel lacks load-acquire and store-release";
    let judge = |code| {
        let [zero, exit] = returns(0);
        // BPF_LOAD_ACQUIRE in code that no path reaches.
        let acquire = Insn { imm: 0x100, ..insn(code, 1, 10, -8, 0) };
        let insns = [insn(0xb7, 6, 0, 0, 0), insn(0x15, 6, 0, 1, 0), acquire, zero, exit];
        judge_on(program("tc", &insns), kernel, &KernelInputs::default())
    };
    let has_reason = |code| judge(code).programs[0].reasons.iter().any(|reason| reason.text == text);
    assert!(has_reason(0xd3), "8 bits");
    assert!(has_reason(0xcb), "16 bits");
    assert!(!has_reason(0xdb), "64 bits");
}

/// A loader replaces the call, so that the kernel's check of all calls does not see it.
#[test]
fn a_kfunc_of_devices_with_other_parameters_is_not_called() {
    let name = "bpf_xdp_metadata_rx_hash";
    let add_kfunc = |b: &mut Builder, takes_hash: bool| {
        add_kernel(b);
        let int = b.int("int", 4, Builder::SIGNED);
        let parameters: &[_] = if takes_hash { &[("hash", int)] } else { &[] };
        let proto = b.func_proto(int, parameters);
        let kfunc = b.func(name, proto, 1);
        b.decl_tag("bpf_kfunc", kfunc, -1);
    };
    let judge = |takes_hash: bool| {
        judge_on(calling_kfunc(name, true), |b| add_kfunc(b, takes_hash), &KernelInputs::default())
    };
    assert_eq!(judge(true).verdict, Verdict::Loads, "{:?}", judge(true));
    let text = "kfunc bpf_xdp_metadata_rx_hash needs a program that is bound to a device";
    assert_eq!(worst(&judge(false)), (Verdict::Refused, Some((ReasonKind::Kfunc, text))));
}
