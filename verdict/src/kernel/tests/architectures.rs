//! Facts that depend on the architecture: trampolines, and what its JIT compiler has.

use super::*;

/// A kernel of 7.2 with callbacks, kfuncs and arenas, and the given functions of trampolines. `architecture`
/// is a struct with a member that only kernels of an architecture have.
fn recent_kernel(trampolines: &[&str], architecture: Option<(&str, &str)>) -> Target<'static> {
    let mut b = Builder::new(Endian::Big);
    let int = b.int("int", 4, Builder::SIGNED);
    b.enumeration("bpf_map_type", 4, &[("BPF_MAP_TYPE_ARENA", 33)]);
    b.enumeration("bpf_attach_type", 4, &[("BPF_TRACE_FSESSION_MULTI", 61)]);
    b.structure("bpf_verifier_env", 4, &[("insn_idx", int, 0)]);
    b.structure("bpf_func_state", 4, &[("in_callback_fn", int, 0)]);
    b.structure(
        "bpf_prog_aux",
        12,
        &[("kfunc_tab", int, 0), ("kfunc_btf_tab", int, 32), ("tail_call_reachable", int, 64)],
    );
    if let Some((name, member)) = architecture {
        b.structure(name, 4, &[(member, int, 0)]);
    }
    for name in FUNCTIONS.iter().chain(&["arena_map_alloc", "bpf_throw"]).chain(trampolines) {
        add_function(&mut b, name);
    }
    Target::new("vmlinux", parse(&b))
}

#[test]
fn links_to_many_functions_need_an_option_that_few_architectures_have() {
    let expect = |functions: &[&str], expected| {
        let target = recent_kernel(functions, None);
        with_facts(&target, &KernelInputs::default(), |facts| {
            let answer = facts.attachment_after_load(AttachType::TraceFsessionMulti).unwrap();
            assert_eq!(text(&answer), expected);
            let link = facts.attachment_after_load(AttachType::TraceFentry);
            assert_eq!(link, None, "the load checks it");
        });
    };
    expect(&["bpf_trampoline_multi_attach"], ("present", "FUNC bpf_trampoline_multi_attach"));
    let missing = "no FUNC bpf_trampoline_multi_attach: CONFIG_HAVE_SINGLE_FTRACE_DIRECT_OPS is not set";
    expect(&["bpf_tracing_multi_attach"], ("absent", missing));
}

#[test]
fn trampolines_of_some_architectures_came_later() {
    let expect = |kernel: &Target<'_>, expected| {
        with_facts(kernel, &KernelInputs::default(), |facts| {
            assert_eq!(text(&facts.trampolines()), expected);
            assert_eq!(text(&facts.jit()).0, "present");
        });
    };
    let arm64 = |attach_type| {
        let mut b = builder();
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("pt_regs", 4, &[("orig_x0", int, 0)]);
        b.enumeration("bpf_attach_type", 4, &[(attach_type, 42)]);
        add_function(&mut b, "bpf_trampoline_get");
        Target::new("vmlinux", parse(&b))
    };
    let absent = "trampolines of arm64 came with 6.0: enum bpf_attach_type has no BPF_LSM_CGROUP, as kernels before 6.0";
    expect(&arm64("BPF_XDP"), ("absent", absent));
    expect(&arm64("BPF_LSM_CGROUP"), ("present", "FUNC bpf_trampoline_get"));
    expect(&recent_kernel(&["bpf_trampoline_get"], None), ("present", "FUNC bpf_trampoline_get"));
}

#[test]
fn callbacks_kfuncs_and_arenas_need_a_jit_compiler() {
    let needs = [
        InsnFeature::FunctionAddress,
        InsnFeature::KfuncCall,
        InsnFeature::ModuleKfuncCall,
        InsnFeature::TailCallWithFunctions,
    ];
    with_facts(&recent_kernel(&[], None), &KernelInputs::default(), |facts| {
        for feature in needs {
            let (word, text) = (text(&facts.instruction_set(feature)).0, facts.missing_jit(feature));
            assert_eq!(word, "absent", "{feature:?}");
            assert!(
                text.is_some_and(|e| e.text.ends_with(": the kernel has no JIT compiler")),
                "{feature:?}"
            );
        }
        assert_eq!(text(&facts.map_type(33)).0, "absent");
        assert_eq!(facts.missing_jit(InsnFeature::Jmp32), None, "the interpreter knows them");
    });
    with_facts(&recent_kernel(&["bpf_trampoline_get"], None), &KernelInputs::default(), |facts| {
        assert_eq!(text(&facts.jit()), ("present", "FUNC bpf_trampoline_get"));
        for feature in needs {
            assert_eq!(text(&facts.instruction_set(feature)).0, "present", "{feature:?}");
        }
        assert_eq!(text(&facts.map_type(33)), ("present", "FUNC arena_map_alloc"));
    });
}

#[test]
fn the_jit_compilers_of_some_architectures_lack_arenas_and_exceptions() {
    let answers = |architecture| {
        let target = recent_kernel(&["bpf_trampoline_get"], Some(architecture));
        let (mut query, inputs) = (NameQuery::default(), KernelInputs::default());
        let name = query.declaration(b"bpf_throw", Kind::Func);
        let facts = KernelFacts::new(&target, &query, &inputs);
        let exists = &facts.kfunc(&name);
        let throw = answer_kfunc_call(
            &facts,
            KfuncCall { name: &name, exists, program_type: None, attach_type: None },
        );
        (text(&facts.map_type(33)).0.to_owned(), text(&throw).0.to_owned())
    };
    let words = |arena: &str, throw: &str| (arena.to_owned(), throw.to_owned());
    assert_eq!(answers(("pt_regs", "epc")), words("absent", "absent"));
    assert_eq!(answers(("paca_struct", "paca_index")), words("absent", "present"));
    assert_eq!(answers(("pt_regs", "pstate")), words("present", "present"));
}
