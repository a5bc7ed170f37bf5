//! Accesses to parts of the context that programs of some types may not use.

use super::*;

/// Adds a kernel that is like 6.1, with a context of 192 bytes.
fn add_6_1(b: &mut Builder) {
    let int = b.int("int", 4, Builder::SIGNED);
    let buffer = b.structure("__sk_buff", 192, &[("len", int, 0)]);
    let contexts = ["SOCKET_FILTER", "SCHED_CLS", "CGROUP_SKB", "XDP", "CGROUP_SOCK_ADDR"]
        .map(|name| format!("BPF_PROG_TYPE_{name}_prog"));
    let members: Vec<_> = contexts.iter().map(|name| (name.as_str(), buffer, 0)).collect();
    b.structure("bpf_ctx_convert", 192, &members);
    b.enumeration("bpf_func_id", 4, &[("BPF_FUNC_user_ringbuf_drain", 209)]);
    b.structure("bpf_verifier_env", 4, &[("insn_idx", int, 0)]);
}

/// Adds a kernel that is like 6.12.
fn add_6_12(b: &mut Builder) {
    add_6_1(b);
    let int = b.int("int", 4, Builder::SIGNED);
    b.structure("bpf_insn_aux_data", 4, &[("fastcall_pattern", int, 0)]);
    b.enumeration("bpf_attach_type", 4, &[("BPF_XDP", 37)]);
}

fn add_7_2(b: &mut Builder) {
    add_6_1(b);
    b.enumeration("bpf_attach_type", 4, &[("BPF_TRACE_FSESSION_MULTI", 61)]);
    b.enumeration("bpf_map_type", 4, &[("BPF_MAP_TYPE_INSN_ARRAY", 34)]);
}

fn reason(types: fn(&mut Builder), section: &str, access: Insn) -> Option<(Verdict, String)> {
    let mut m = TestObject::new();
    m.program("main", section, &[&[insn(0xb7, 2, 0, 0, 0), access][..], &returns(1)].concat());
    let verdict = judge_bytes(&m.bytes(), types, &KernelInputs::default());
    let mut reasons = verdict.programs[0].reasons.iter();
    let found = reasons.find(|reason| reason.kind == ReasonKind::Context);
    found.map(|reason| (reason.verdict, reason.text.clone()))
}

/// Returns `r3 = *(u32 *)(r1 + off)`.
fn read(off: i16) -> Insn {
    insn(0x61, 3, 1, off, 0)
}

/// Returns `*(u32 *)(r1 + off) = r2`.
fn write(off: i16) -> Insn {
    insn(0x63, 1, 2, off, 0)
}

#[test]
fn members_are_closed_to_program_types() {
    const TC_CLASSID: i16 = 72;
    const DATA: i16 = 76;
    const MARK: i16 = 8;
    for (section, access, is_permitted) in [
        ("tc", read(TC_CLASSID), true),
        ("socket", read(TC_CLASSID), false),
        ("cgroup_skb/egress", read(TC_CLASSID), false),
        ("cgroup_skb/egress", read(DATA), true),
        ("socket", read(DATA), false),
        ("tc", write(MARK), true),
        ("socket", write(MARK), false),
        ("tc", write(DATA), false),
        // A byte of `data`, and one of `mark`.
        ("tc", insn(0x71, 3, 1, DATA, 0), false),
        ("tc", insn(0x71, 3, 1, MARK + 1, 0), true),
        ("xdp", read(20), false),
        ("xdp/devmap", read(20), true),
        ("cgroup/bind4", read(8), false),
        ("cgroup/bind6", read(8), true),
    ] {
        let found = reason(add_6_12, section, access).map(|(verdict, _)| verdict);
        let expected = (!is_permitted).then_some(Verdict::Refused);
        assert_eq!(found, expected, "{section} {access:?}");
    }
    let text =
        "writes 4 bytes at offset 76 of its context, which programs of type BPF_PROG_TYPE_SCHED_CLS may not";
    assert_eq!(reason(add_6_12, "tc", write(DATA)), Some((Verdict::Refused, text.to_owned())));
}

#[test]
fn older_kernels_refuse_constants() {
    // *(u32 *)(r1 + 8) = 0.
    let store = insn(0x62, 1, 0, 8, 0);
    let text = "writes 4 bytes at offset 8 of its context, with a store of a constant, which programs of type BPF_PROG_TYPE_SCHED_CLS may not";
    assert_eq!(reason(add_6_1, "tc", store), Some((Verdict::Refused, text.to_owned())));
    assert_eq!(reason(add_6_12, "tc", store), None);
    assert_eq!(reason(add_6_1, "tc", write(8)), None);
}

#[test]
fn tracing_programs_do_not_write_to_their_context() {
    let found = reason(add_6_12, "raw_tp/t", insn(0x7b, 1, 2, 0, 0)).map(|(verdict, _)| verdict);
    assert_eq!(found, Some(Verdict::Refused));
    assert_eq!(reason(add_6_12, "raw_tp/t", insn(0x79, 3, 1, 0, 0)), None);
    // The first word of a writable tracepoint is the address of a buffer.
    let found = reason(add_6_12, "raw_tp.w/t", read(0)).map(|(verdict, _)| verdict);
    assert_eq!(found, Some(Verdict::Refused));
}

#[test]
fn newer_kernels_refuse_parts_of_pointers() {
    fn add_tracepoint(b: &mut Builder) {
        let int = b.int("int", 4, Builder::SIGNED);
        let pointer = b.pointer(int);
        let proto = b.func_proto(TypeId(0), &[("__data", pointer), ("pointer", pointer), ("number", int)]);
        let proto = b.pointer(proto);
        b.typedef("btf_trace_t", proto);
    }
    fn add_newest(b: &mut Builder) {
        add_tracepoint(b);
        b.enumeration("bpf_attach_type", 4, &[("BPF_TRACE_FSESSION_MULTI", 61)]);
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("bpf_verifier_env", 4, &[("insn_idx", int, 0)]);
    }
    fn add_older(b: &mut Builder) {
        add_6_1(b);
        add_tracepoint(b);
    }
    let text = "reads 4 bytes at offset 0 of its context: argument 1 is a pointer, of 8 bytes";
    assert_eq!(reason(add_newest, "tp_btf/t", read(0)), Some((Verdict::Refused, text.to_owned())));
    assert_eq!(reason(add_newest, "tp_btf/t", read(8)), None, "a number");
    assert_eq!(reason(add_older, "tp_btf/t", read(0)), None);
}

#[test]
fn registers_that_point_behind_the_start_of_the_context() {
    let refused = |types: fn(&mut Builder), section: &str, access: Insn| {
        let mut m = TestObject::new();
        // r1 += 8, and the access.
        m.program("main", section, &[&[insn(0x07, 1, 0, 0, 8), access][..], &returns(1)].concat());
        let verdict = judge_bytes(&m.bytes(), types, &KernelInputs::default());
        let mut reasons = verdict.programs[0].reasons.iter();
        reasons.any(|reason| reason.text.contains("behind the start") && reason.verdict == Verdict::Refused)
    };
    let word = insn(0x79, 3, 1, 0, 0);
    assert!(refused(add_6_12, "raw_tp/t", word));
    assert!(!refused(add_7_2, "raw_tp/t", word));
    assert!(refused(add_7_2, "tc", read(0)));
}

#[test]
fn no_context_takes_atomic_instructions() {
    // lock *(u32 *)(r1 + 8) += r2, and lock *(u64 *)(r1 + 8) += r2.
    let (word, double) = (insn(0xc3, 1, 2, 8, 0), insn(0xdb, 1, 2, 8, 0));
    for (section, access, bytes) in [("tc", word, 4), ("raw_tp/sched_switch", double, 8)] {
        let text = format!("accesses {bytes} bytes at offset 8 of its context, with an atomic instruction");
        assert_eq!(reason(add_6_12, section, access), Some((Verdict::Refused, text)), "{section}");
    }
    for section in ["syscall", "lirc_mode2", "fentry.multi/f"] {
        assert!(reason(add_6_12, section, double).is_some(), "{section}: no place of the context is known");
    }
    assert_eq!(reason(add_6_12, "freplace/f", double), None, "the argument may be other memory");
}

/// Protects the rule of 5.14 to 6.18, and that of 7.2, which permits each offset of the context.
#[test]
fn the_context_of_system_calls_has_no_members() {
    let found = |types: fn(&mut Builder), access| reason(types, "syscall", access);
    let refused = |text: &str| Some((Verdict::Refused, text.to_owned()));
    assert_eq!(found(add_6_12, read(4)), None);
    assert_eq!(found(add_6_12, insn(0x7b, 1, 2, 8, 0)), None, "a write");
    let text = "reads 4 bytes at offset 2 of its context: expected a multiple of 4";
    assert_eq!(found(add_6_12, read(2)), refused(text));
    assert_eq!(found(add_7_2, read(2)), None);
    let text =
        "reads 4 bytes at offset -8 of its context: the context of a `syscall` program has 65536 bytes";
    assert_eq!(found(add_7_2, read(-8)), refused(text));
}

#[test]
fn registers_of_perf_events_are_read_as_a_whole() {
    let add_kernel = |b: &mut Builder| {
        let data = b.structure("bpf_perf_event_data", 184, &[]);
        b.structure("bpf_ctx_convert", 184, &[("BPF_PROG_TYPE_PERF_EVENT_prog", data, 0)]);
    };
    let reason = |access| reason(add_kernel, "perf_event", access);
    let text = "reads 4 bytes at offset 160 of its context: a register has 8 bytes".to_owned();
    assert_eq!(reason(read(160)), Some((Verdict::Refused, text)));
    assert_eq!(reason(insn(0x79, 3, 1, 160, 0)), None);
    // A half of `sample_period`.
    assert_eq!(reason(read(168)), None);
}

/// Kernels before 6.17 accept such reads, and load a pointer from the wrong place.
#[test]
fn netfilter_programs_may_read_words_at_any_offset() {
    let read_word = |off| insn(0x79, 3, 1, off, 0);
    for off in [4, 12] {
        assert_eq!(reason(add_6_12, "netfilter", read_word(off)), None, "{off}");
        let text = format!("writes 4 bytes at offset {} of its context", off + 1);
        let refused = reason(add_6_12, "netfilter", write(off + 1)).unwrap();
        assert!(refused.0 == Verdict::Refused && refused.1.starts_with(&text), "{refused:?}");
    }
}
