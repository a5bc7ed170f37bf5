//! Accesses to the context.

use super::*;

/// Returns `dst = *(u64 *)(src + off)`.
fn load_word(dst: u8, src: u8, off: i16) -> Insn {
    insn(0x79, dst, src, off, 0)
}

/// Returns `dst = *(u32 *)(src + off)`.
fn load_half(dst: u8, src: u8, off: i16) -> Insn {
    insn(0x61, dst, src, off, 0)
}

/// Adds the test kernel, with `int f(int x)`, `void g(int x)`, a tracepoint and an iterator with one
/// argument, and contexts.
fn add_functions(b: &mut Builder) {
    add_kernel(b);
    let int = b.int("int", 4, Builder::SIGNED);
    let one = b.func_proto(int, &[("x", int)]);
    let nothing = b.func_proto(TypeId(0), &[("x", int)]);
    for (name, proto) in
        [("f", one), ("g", nothing), ("bpf_iter_t", one), ("bpf_lsm_h", one), ("bpf_lsm_v", nothing)]
    {
        b.func(name, proto, 1);
    }
    let data = b.pointer(TypeId(0));
    let traced = b.func_proto(TypeId(0), &[("__data", data), ("x", int)]);
    let traced = b.pointer(traced);
    b.typedef("btf_trace_t", traced);
}

/// Adds a kernel whose contexts have a size.
fn add_contexts(b: &mut Builder) {
    let int = b.int("int", 4, Builder::SIGNED);
    let packet = b.structure("xdp_md", 24, &[("data", int, 0)]);
    let registers = b.structure("pt_regs", 168, &[("r15", int, 0)]);
    let buffer = b.structure("__sk_buff", 192, &[("len", int, 0)]);
    let contexts = [
        ("BPF_PROG_TYPE_SCHED_CLS_prog", buffer, 0),
        ("BPF_PROG_TYPE_XDP_prog", packet, 192 * 8),
        ("BPF_PROG_TYPE_KPROBE_prog", int, 216 * 8),
        ("BPF_PROG_TYPE_KPROBE_kern", registers, 224 * 8),
    ];
    b.structure("bpf_ctx_convert", 400, &contexts);
    let program_types = [
        ("BPF_PROG_TYPE_KPROBE", 2),
        ("BPF_PROG_TYPE_SCHED_CLS", 3),
        ("BPF_PROG_TYPE_TRACEPOINT", 5),
        ("BPF_PROG_TYPE_XDP", 6),
        ("BPF_PROG_TYPE_RAW_TRACEPOINT", 17),
    ];
    b.enumeration("bpf_prog_type", 4, &program_types);
}

/// Returns the text of the reason of the kind `context`.
fn context_reason(
    types: impl FnOnce(&mut Builder),
    section: &str,
    insns: &[Insn],
) -> Option<(Verdict, String)> {
    let object = program(section, &[insns, &returns(0)].concat());
    let verdict = judge_on(object, types, &KernelInputs::default());
    let mut reasons = verdict.programs[0].reasons.iter();
    let found = reasons.find(|reason| reason.kind == ReasonKind::Context);
    found.map(|reason| (reason.verdict, reason.text.clone()))
}

#[expect(clippy::unnecessary_wraps, reason = "it is compared with an optional reason")]
fn refused(text: &str) -> Option<(Verdict, String)> {
    Some((Verdict::Refused, text.to_owned()))
}

#[test]
fn arguments_that_the_declaration_lacks_are_refused() {
    let read = |section, off| context_reason(add_functions, section, &[load_word(2, 1, off)]);
    let missing = |name: &str| {
        refused(&format!("argument 2 of {name} does not exist: the kernel's declaration has 1 argument"))
    };
    for (section, name) in [("fentry/f", "f"), ("tp_btf/t", "btf_trace_t"), ("iter/t", "bpf_iter_t")] {
        assert_eq!(read(section, 0), None, "{section}");
        assert_eq!(read(section, 8), missing(name), "{section}");
    }
    // The result follows the arguments.
    for (section, name) in [("fexit/f", "f"), ("fmod_ret/f", "f"), ("lsm/h", "bpf_lsm_h")] {
        assert_eq!(read(section, 8), None, "{section}");
        let text = format!("argument 3 of {name} does not exist: the kernel's declaration has 1 argument");
        assert_eq!(read(section, 16), refused(&text), "{section}");
    }
    for (section, name) in [("fexit/g", "g"), ("lsm/v", "bpf_lsm_v")] {
        let text = format!("{name} has no result: the kernel's declaration returns void");
        assert_eq!(read(section, 8), refused(&text), "{section}");
    }
    let text = "reads 4 bytes at offset 4 of its context: expected a multiple of 8, the start of an argument";
    assert_eq!(context_reason(add_functions, "fentry/f", &[load_half(2, 1, 4)]), refused(text));
    assert_eq!(read("fentry/unknown", 64), None, "nothing tells");
    // The refusal takes the place of the warning.
    let object = program("fentry/f", &[&[load_word(2, 1, 8)][..], &returns(0)].concat());
    let verdict = judge_on(object, add_functions, &KernelInputs::default());
    assert_eq!((verdict.verdict, verdict.warnings), (Verdict::Refused, Vec::new()));
}

#[test]
fn the_context_is_followed_on_all_paths() {
    let refused_at =
        |insns: &[Insn]| context_reason(add_functions, "fentry/f", insns).map(|(verdict, _)| verdict);
    let random = helper(5);
    let copy = |dst, src| insn(0xbf, dst, src, 0, 0);
    let branch = |distance| insn(0x15, 0, 0, distance, 0);
    // One path ends in the context, the other in a number.
    let merge = [copy(6, 1), random, branch(1), insn(0xb7, 6, 0, 0, 1), load_word(2, 6, 8)];
    assert_eq!(refused_at(&merge), Some(Verdict::Refused));
    let moved = [copy(6, 1), insn(0x07, 6, 0, 0, 8), random, branch(0), load_word(2, 6, 0)];
    assert_eq!(refused_at(&moved), Some(Verdict::Refused));
    // A loop: r6 is the context in its first turn.
    let turns = [copy(6, 1), random, load_word(2, 6, 8), copy(6, 2), insn(0x55, 0, 0, -3, 0)];
    assert_eq!(refused_at(&turns), Some(Verdict::Refused));
    // r6 += 8 on one path, and 16 on the other.
    let sum = [
        copy(6, 1),
        random,
        insn(0xb7, 3, 0, 0, 8),
        branch(1),
        insn(0xb7, 3, 0, 0, 16),
        insn(0x0f, 6, 3, 0, 0),
        load_word(2, 6, 0),
    ];
    assert_eq!(refused_at(&sum), Some(Verdict::Refused));
    let spilled = [insn(0x7b, 10, 1, -8, 0), random, branch(0), load_word(3, 10, -8), load_word(2, 3, 8)];
    assert_eq!(refused_at(&spilled), Some(Verdict::Refused));
    let later_context = [
        copy(6, 1),
        copy(7, 10),
        insn(0xb7, 8, 0, 0, 0),
        insn(0x15, 8, 0, 1, 0),
        copy(7, 6),
        load_word(2, 7, 8),
    ];
    assert_eq!(refused_at(&later_context), None, "the register never is the context");
    let dead = [insn(0xb7, 8, 0, 0, 0), insn(0x15, 8, 0, 1, 0), load_word(2, 1, 8)];
    assert_eq!(refused_at(&dead), None);
}

#[test]
fn accesses_outside_of_the_context_are_refused() {
    let read = |section, load: Insn| context_reason(add_contexts, section, &[load]);
    assert_eq!(read("xdp", load_half(2, 1, 16)), None);
    assert_eq!(
        read("xdp", load_half(2, 1, 40)),
        refused("reads 4 bytes at offset 40 of its context: struct xdp_md has 24 bytes")
    );
    assert_eq!(
        read("xdp", load_half(2, 1, -4)),
        refused("reads 4 bytes at offset -4 of its context: struct xdp_md has 24 bytes")
    );
    assert_eq!(
        read("xdp", load_half(2, 1, 2)),
        refused("reads 4 bytes at offset 2 of its context: expected a multiple of 4")
    );
    let write = insn(0x63, 1, 2, 24, 0);
    assert_eq!(
        read("xdp", write),
        refused("writes 4 bytes at offset 24 of its context: struct xdp_md has 24 bytes")
    );
    assert_eq!(read("tc", load_word(2, 1, 184)), None, "this kernel has the member");
    assert_eq!(read("kprobe/f", load_word(2, 1, 160)), None);
    assert_eq!(
        read("kprobe/f", load_word(2, 1, 168)),
        refused("reads 8 bytes at offset 168 of its context: struct pt_regs has 168 bytes")
    );
    assert_eq!(read("raw_tp/t", load_word(2, 1, 88)), None);
    assert_eq!(
        read("raw_tp/t", load_word(2, 1, 96)),
        refused("reads 8 bytes at offset 96 of its context: the context of a raw tracepoint has 96 bytes")
    );
    assert_eq!(read("tp/a/b", load_word(2, 1, 8)), None);
    assert_eq!(read("tp/a/b", load_half(2, 1, -4)), None, "kernels do not check for it");
    assert_eq!(
        read("tp/a/b", load_half(2, 1, 4)),
        refused(
            "reads 4 bytes at offset 4 of its context: programs read the record of a trace event from offset 8 to 8192"
        )
    );
    // A struct that the BTF does not have may be smaller.
    let unknown = context_reason(add_kernel, "tc", &[load_word(2, 1, 184)]);
    assert_eq!(unknown.map(|(verdict, _)| verdict), Some(Verdict::Unknown));
}

#[test]
fn static_functions_receive_the_context() {
    let object = |callee: &[Insn]| {
        let mut m = TestObject::new();
        let main = m.program("main", "fentry/f", &[&[call(-1)][..], &returns(0)].concat());
        let code = [callee, &returns(0)].concat();
        let text = m.code(".text", &code);
        let sub = m.function("sub", text, 0, u64::try_from(code.len()).unwrap());
        m.refer(main, 0, sub, true);
        m
    };
    let verdict = |insns: &[Insn]| worst(&judge_on(object(insns), add_functions, &KernelInputs::default())).0;
    assert_eq!(verdict(&[load_word(2, 1, 0)]), Verdict::Loads);
    assert_eq!(verdict(&[load_word(2, 1, 8)]), Verdict::Refused);
}

/// Returns the reason of a program that passes its context to a function. `linkage` is that of the function.
fn reason_in_function(section: &str, linkage: u8, access: Insn) -> Option<(Verdict, String)> {
    let mut m = TestObject::new();
    let main = m.program("main", section, &[&[call(-1)][..], &returns(0)].concat());
    let code = [&[insn(0xb7, 2, 0, 0, 0), access][..], &returns(0)].concat();
    let text = m.code(".text", &code);
    let function = m.function("sub", text, 0, 4);
    m.refer(main, 0, function, true);
    let main_type = m.func_type("main", 1);
    let ty = m.func_type("sub", linkage);
    m.func_info(section, &[(0, main_type)]);
    m.func_info(".text", &[(0, ty)]);
    let types = |b: &mut Builder| {
        add_contexts(b);
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("bpf_prog_aux", 4, &[("func_info_aux", int, 0)]);
    };
    let verdict = judge_on(m, types, &KernelInputs::default());
    let found = verdict.programs[0].reasons.iter().find(|reason| reason.kind == ReasonKind::Context);
    found.map(|reason| (reason.verdict, reason.text.clone()))
}

/// The kernel checks a global function by itself, with the context as the argument.
#[test]
fn global_functions_access_the_context_of_their_callers() {
    let reason = |linkage: u8, off: i16| reason_in_function("kprobe/f", linkage, load_word(3, 1, off));
    let text = "reads 8 bytes at offset 176 of its context: struct pt_regs has 168 bytes";
    for linkage in [0, 1] {
        assert_eq!(reason(linkage, 176), refused(text), "{linkage}");
        assert_eq!(reason(linkage, 160), None, "{linkage}");
    }
}

/// A global function of a `syscall` program may take the context as a pointer to a struct. Its accesses are
/// those of plain memory.
#[test]
fn global_functions_of_system_calls_access_plain_memory() {
    // lock *(u64 *)(r1 + 8) += r2.
    let atomic = insn(0xdb, 1, 2, 8, 0);
    let text = "accesses 8 bytes at offset 8 of its context, with an atomic instruction";
    assert_eq!(reason_in_function("syscall", 0, atomic), refused(text), "a static function");
    assert_eq!(reason_in_function("syscall", 1, atomic), None);
    assert_eq!(reason_in_function("kprobe/f", 1, atomic), refused(text));
}
