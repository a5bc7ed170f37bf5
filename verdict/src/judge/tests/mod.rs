//! Verdicts on small objects and synthetic kernels.

mod architecture;
mod attachments;
mod btf;
mod btf_policies;
mod context_arguments;
mod context_parts;
mod contexts;
mod errors;
mod extern_types;
mod externs;
mod frames;
mod functions;
mod global_arguments;
mod info;
mod insn_rules;
mod kconfig;
mod kfuncs;
mod licenses;
mod loader_rules;
mod loads;
mod map_limits;
mod map_owner;
mod map_rules;
mod map_uses;
mod missing_fields;
mod placed_fields;
mod planning_errors;
mod returns;
mod settings;
mod sleepable_maps;
mod special_fields;
mod stack_buffers;
mod struct_ops;
mod value_parts;
mod variable_contexts;

use super::*;
use crate::{
    kernel::{EvidenceSource, KernelInputs, KernelVersion},
    loaders::LoaderKind,
    requirements::{NeedTable, ObjectNeeds},
};
use alloc::sync::Arc;
use core_relo::{
    Endian, Plan, Target, TypeId,
    btf::{Btf, Builder},
    insn::Insn,
};
use core_relo_object::{
    load_plan::Settings,
    object::Object,
    test_support::{SectionKind, TestObject, call, exit, insn, load, returns},
};

/// The number of `bpf_loop`, which the test kernel lacks.
const LOOP: i32 = 181;

/// Adds the types of a kernel whose BTF has no mark of a release.
fn add_unmarked_kernel(b: &mut Builder) {
    b.int("int", 4, Builder::SIGNED);
}

/// Adds the types of a kernel with tracing, sched_cls and XDP programs, hash and array maps, and two helpers.
fn add_kernel(b: &mut Builder) {
    let int = b.int("int", 4, Builder::SIGNED);
    let helpers = [
        ("BPF_FUNC_unspec", 0),
        ("BPF_FUNC_map_lookup_elem", 1),
        ("BPF_FUNC_ktime_get_ns", 5),
        ("BPF_FUNC_strtol", 105),
    ];
    b.enumeration("bpf_func_id", 4, &helpers);
    let map_types = [
        ("BPF_MAP_TYPE_HASH", 1),
        ("BPF_MAP_TYPE_ARRAY", 2),
        ("BPF_MAP_TYPE_PROG_ARRAY", 3),
        ("BPF_MAP_TYPE_HASH_OF_MAPS", 13),
    ];
    b.enumeration("bpf_map_type", 4, &map_types);
    let program_types = [
        ("BPF_PROG_TYPE_SCHED_CLS", 3),
        ("BPF_PROG_TYPE_XDP", 6),
        ("BPF_PROG_TYPE_TRACING", 26),
        ("BPF_PROG_TYPE_EXT", 28),
        ("BPF_PROG_TYPE_NETFILTER", 32),
    ];
    b.enumeration("bpf_prog_type", 4, &program_types);
    let attach_types = [
        ("BPF_TRACE_RAW_TP", 23),
        ("BPF_TRACE_FENTRY", 24),
        ("BPF_TRACE_FEXIT", 25),
        ("BPF_TRACE_FENTRY_MULTI", 59),
    ];
    b.enumeration("bpf_attach_type", 4, &attach_types);
    let contexts = [
        ("BPF_PROG_TYPE_SCHED_CLS_prog", int, 0),
        ("BPF_PROG_TYPE_XDP_prog", int, 32),
        ("BPF_PROG_TYPE_TRACING_prog", int, 64),
        ("BPF_PROG_TYPE_EXT_prog", int, 96),
    ];
    b.structure("bpf_ctx_convert", 16, &contexts);
    b.structure("bpf_verifier_state", 4, &[("branches", int, 0)]);
    b.structure("bpf_prog_aux", 8, &[("func_info_aux", int, 0), ("kfunc_tab", int, 32)]);
    let proto = b.func_proto(int, &[]);
    let bpf = ["array_map_alloc", "htab_map_alloc", "bpf_check", "bpf_trampoline_get"];
    for name in bpf.into_iter().chain(["vfs_read", "bpf_ct_release"]) {
        b.func(name, proto, 1);
    }
}

/// Judges an object on the test kernel.
fn judge_object(object: TestObject) -> ObjectVerdict {
    judge_on(object, add_kernel, &KernelInputs::default())
}

/// Judges an object on a kernel with these types.
fn judge_on(object: TestObject, types: impl FnOnce(&mut Builder), inputs: &KernelInputs) -> ObjectVerdict {
    judge_bytes(&object.bytes(), types, inputs)
}

/// Judges the bytes of an object on a kernel with these types.
fn judge_bytes(bytes: &[u8], types: impl FnOnce(&mut Builder), inputs: &KernelInputs) -> ObjectVerdict {
    judge_with_settings(bytes, types, inputs, None)
}

/// Judges the bytes of an object on a kernel with these types: by default, or the load with these settings.
fn judge_with_settings(
    bytes: &[u8],
    types: impl FnOnce(&mut Builder),
    inputs: &KernelInputs,
    settings: Option<&Settings>,
) -> ObjectVerdict {
    judge_for(LoaderKind::default(), bytes, types, inputs, settings)
}

/// Judges the bytes of an object for a loader, on a kernel with these types.
fn judge_for(
    loader: LoaderKind,
    bytes: &[u8],
    types: impl FnOnce(&mut Builder),
    inputs: &KernelInputs,
    settings: Option<&Settings>,
) -> ObjectVerdict {
    let object = Object::parse(bytes).unwrap();
    let relocs = object.relocs().unwrap();
    let mut table = NeedTable::default();
    let mut needs = ObjectNeeds::collect_for(loader, &object, &relocs, &mut table).unwrap();
    if let Some(settings) = settings {
        needs.apply_settings(settings, &mut table);
    }
    let mut b = Builder::new(Endian::native());
    types(&mut b);
    let target = Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()));
    let answers = KernelAnswers::new(&table, &target, inputs);
    let plan = Plan::new(&relocs, &target);
    match settings {
        Some(settings) => answers.judge_load(&object, &relocs, &plan, settings).unwrap(),
        None => judge(&needs, &plan, &answers).unwrap(),
    }
}

/// Creates an object with one program.
fn program(section: &str, insns: &[Insn]) -> TestObject {
    let mut m = TestObject::new();
    m.program("main", section, insns);
    m
}

/// Returns `r6 = 0; if r6 == 0 goto +1; insn; r0 = 0; exit`. The branch is taken if `is_dead`.
fn guarded(insn_to_guard: Insn, is_dead: bool) -> [Insn; 5] {
    let code = if is_dead { 0x15 } else { 0x55 };
    let [zero, exit] = returns(0);
    [insn(0xb7, 6, 0, 0, 0), insn(code, 6, 0, 1, 0), insn_to_guard, zero, exit]
}

fn helper(number: i32) -> Insn {
    insn(0x85, 0, 0, 0, number)
}

/// Returns the verdict, and the kind and the text of the worst reason, of the first program.
fn worst(verdict: &ObjectVerdict) -> (Verdict, Option<(ReasonKind, &str)>) {
    let program = &verdict.programs[0];
    (program.verdict, program.reasons.first().map(|reason| (reason.kind, &*reason.text)))
}

#[test]
fn a_kernel_with_everything_loads() {
    let mut m = program("tc", &guarded(helper(5), false));
    m.map("counts", &[("type", 2), ("key_size", 4), ("value_size", 8), ("max_entries", 1)], None);
    let verdict = judge_object(m);
    assert_eq!((verdict.verdict, worst(&verdict)), (Verdict::Loads, (Verdict::Loads, None)));
}

#[test]
fn a_missing_map_type_refuses_every_program() {
    let mut m = program("tc", &returns(0));
    m.program("other", "?xdp", &returns(1));
    m.map("events", &[("type", 27), ("max_entries", 4096)], None);
    let verdict = judge_object(m);
    assert_eq!((verdict.verdict, verdict.programs.len()), (Verdict::Refused, 2));
    for program in &verdict.programs {
        let [reason] = &program.reasons[..] else { panic!("{program:?}") };
        assert_eq!((program.verdict, reason.kind), (Verdict::Refused, ReasonKind::MapType));
        assert_eq!(reason.text, "map events: the kernel lacks map type BPF_MAP_TYPE_RINGBUF");
        assert_eq!(reason.evidence.as_ref().map(|evidence| evidence.source), Some(EvidenceSource::Btf));
    }
}

#[test]
fn attributes_of_maps_that_user_space_sets_are_input() {
    let mut m = program("tc", &returns(0));
    m.map("counts", &[("type", 1), ("key_size", 4), ("value_size", 8)], None);
    let verdict = judge_object(m);
    let text = "map counts: max_entries is 0, which user space must set";
    assert_eq!(worst(&verdict), (Verdict::NeedsInput, Some((ReasonKind::MapSize, text))));
    let fix = verdict.programs[0].reasons[0].fix.as_deref();
    assert_eq!(fix, Some("--max-entries counts=N, or bpf_map__set_max_entries()"));
}

#[test]
fn a_missing_helper_refuses_where_the_verifier_reaches_the_call() {
    let judge_call = |is_dead| {
        let mut m = program("tc", &guarded(helper(LOOP), is_dead));
        m.line_info("tc", &[(0, 7), (2, 9), (3, 11)]);
        judge_object(m)
    };
    assert_eq!(worst(&judge_call(true)), (Verdict::Loads, None));
    let verdict = judge_call(false);
    let text = "the kernel lacks helper bpf_loop";
    assert_eq!(worst(&verdict), (Verdict::Refused, Some((ReasonKind::Helper, text))));
    let source = verdict.programs[0].reasons[0].source.as_ref();
    assert_eq!(source.map(|source| (&*source.file, source.line)), Some(("made.bpf.c", 9)));
}

#[test]
fn the_verifier_refuses_unknown_opcodes_in_dead_code() {
    let atomic = insn(0xdb, 10, 6, -8, 0x01);
    let load_acquire = insn(0xdb, 6, 10, -8, 0x100);
    for guarded_insn in [atomic, load_acquire] {
        let verdict = judge_object(program("tc", &guarded(guarded_insn, true)));
        let text = "the kernel lacks atomic instructions";
        assert_eq!(worst(&verdict), (Verdict::Refused, Some((ReasonKind::Instruction, text))));
    }
    // Signed division is an operation of a known opcode.
    let division = insn(0x37, 6, 0, 1, 3);
    for (is_dead, expected) in [(true, Verdict::Loads), (false, Verdict::Refused)] {
        let verdict = judge_object(program("tc", &guarded(division, is_dead)));
        assert_eq!(worst(&verdict).0, expected, "{verdict:?}");
    }
}

#[test]
fn an_address_of_a_function_refuses_in_dead_code() {
    let [zero, exit_main] = returns(0);
    let [address, high] = load(1, 0);
    let mut m = TestObject::new();
    let main = m.program(
        "main",
        "tc",
        &[insn(0xb7, 6, 0, 0, 0), insn(0x15, 6, 0, 2, 0), address, high, zero, exit_main],
    );
    let text = m.code(".text", &returns(1));
    let callback = m.function("callback", text, 0, 2);
    m.refer(main, 2, callback, false);
    let old = |b: &mut Builder| {
        add_kernel(b);
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("bpf_func_state", 4, &[("callsite", int, 0)]);
    };
    let verdict = judge_on(m, old, &KernelInputs::default());
    let text = "the kernel lacks addresses of functions";
    assert_eq!(worst(&verdict), (Verdict::Refused, Some((ReasonKind::Instruction, text))));
}

/// Judges a program that calls a function, and has a guarded tail call, on a kernel with or without
/// trampolines.
fn judge_tail_call(has_function: bool, is_dead: bool, has_jit: bool) -> ObjectVerdict {
    const TAIL_CALL: i32 = 12;
    let mut m = TestObject::new();
    let mut code = guarded(helper(TAIL_CALL), is_dead).to_vec();
    if has_function {
        code.insert(0, call(-1));
    }
    let main = m.program("main", "tc", &code);
    if has_function {
        let text = m.code(".text", &returns(1));
        let function = m.function("function", text, 0, 2);
        m.refer(main, 0, function, true);
    }
    let types = |b: &mut Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        let helpers = [("BPF_FUNC_unspec", 0), ("BPF_FUNC_tail_call", TAIL_CALL.into())];
        b.enumeration("bpf_func_id", 4, &helpers);
        b.enumeration("bpf_prog_type", 4, &[("BPF_PROG_TYPE_SCHED_CLS", 3)]);
        b.structure("bpf_ctx_convert", 4, &[("BPF_PROG_TYPE_SCHED_CLS_prog", int, 0)]);
        b.structure("bpf_prog_aux", 4, &[("tail_call_reachable", int, 0)]);
        let proto = b.func_proto(int, &[]);
        let bpf = ["array_map_alloc", "htab_map_alloc", "bpf_check"];
        for name in bpf.into_iter().chain(has_jit.then_some("bpf_trampoline_get")) {
            b.func(name, proto, 1);
        }
    };
    judge_on(m, types, &KernelInputs::default())
}

#[test]
fn a_tail_call_in_a_program_with_several_functions_needs_a_jit_compiler() {
    let text = "the kernel lacks tail calls in programs with several functions";
    let refused = judge_tail_call(true, false, false);
    assert_eq!(worst(&refused), (Verdict::Refused, Some((ReasonKind::Instruction, text))));
    let evidence = refused.programs[0].reasons[0].evidence.as_ref();
    assert!(evidence.is_some_and(|e| e.text.ends_with(": the kernel has no JIT compiler")), "{evidence:?}");
    for (has_function, is_dead, has_jit) in [(false, false, false), (true, true, false), (true, false, true)]
    {
        let verdict = judge_tail_call(has_function, is_dead, has_jit);
        assert_eq!(worst(&verdict), (Verdict::Loads, None), "{has_function} {is_dead} {has_jit}");
    }
}

#[test]
fn attach_targets_are_functions_of_the_kernel() {
    for (section, missing) in [
        ("fentry/vfs_read", None),
        ("fentry/no_such_function", Some("the kernel lacks function `no_such_function`")),
        ("tp_btf/no_such_event", Some("the kernel lacks tracepoint `btf_trace_no_such_event`")),
    ] {
        let verdict = judge_object(program(section, &returns(0)));
        let expected = match missing {
            Some(text) => (Verdict::Refused, Some((ReasonKind::AttachTarget, text))),
            None => (Verdict::Loads, None),
        };
        assert_eq!(worst(&verdict), expected, "{section}");
    }
}

#[test]
fn targets_and_types_that_user_space_sets_are_input() {
    for (section, text) in [
        ("fentry", "the section's name has no attach target, which user space must set"),
        ("freplace/f", "the program replaces a function of another program, which user space must set"),
        ("own_name", "the section's name implies no program type, which user space must set"),
    ] {
        let verdict = judge_object(program(section, &returns(0)));
        assert_eq!(
            worst(&verdict),
            (Verdict::NeedsInput, Some((ReasonKind::AttachTarget, text))),
            "{section}"
        );
        assert!(verdict.programs[0].reasons[0].fix.is_some());
    }
}

#[test]
fn a_load_has_the_programs_that_its_program_arrays_hold() {
    let object_with_array = |other: &str, code: &[Insn]| {
        let mut m = TestObject::new();
        let proto = m.types.func_proto(TypeId::VOID, &[]);
        let numbers = [("type", 3), ("max_entries", 2), ("key_size", 4)];
        let (maps, symbol) = m.map("jumps", &numbers, Some(proto));
        let [first, high] = load(1, 0);
        let [zero, exit] = returns(0);
        let main = m.program("main", "tc", &[first, high, zero, exit]);
        m.refer(main, 0, symbol, false);
        let section = m.code(other, code);
        let held = m.function("held", section, 0, u64::try_from(code.len()).unwrap());
        // `values` follows three pointers.
        m.reloc(maps, 24, held, 2);
        m.bytes()
    };
    let judge_array = |other: &str, code: &[Insn], settings: Option<&Settings>| {
        let bytes = object_with_array(other, code);
        judge_for(LoaderKind::CoreRelo, &bytes, add_kernel, &KernelInputs::default(), settings)
    };
    let verdicts = |object: &ObjectVerdict| {
        let programs = object.programs.iter().map(|program| program.verdict);
        (object.verdict, programs.collect::<Vec<_>>())
    };
    let loads = (Verdict::Loads, vec![Verdict::Loads, Verdict::Loads]);
    let refused = (Verdict::Refused, vec![Verdict::Refused, Verdict::Refused]);
    for section in ["tc", "?tc"] {
        assert_eq!(verdicts(&judge_array(section, &returns(0), None)), loads);
        // A refused program refuses the programs that reach it, also if its section is optional.
        let [zero, exit] = returns(0);
        let verdict = judge_array(section, &[helper(LOOP), zero, exit], None);
        assert_eq!(verdicts(&verdict), refused);
        let text = "program held, which map jumps holds: the kernel lacks helper bpf_loop";
        assert_eq!(worst(&verdict), (Verdict::Refused, Some((ReasonKind::Helper, text))));
    }
    let mut settings = Settings::default();
    settings.program_mut("held").autoload = Some(false);
    let code = [helper(LOOP), exit()];
    assert_eq!(judge_array("tc", &code, Some(&settings)).verdict, Verdict::Refused);
    // The element stays empty.
    settings.map_mut("jumps").elements.insert(0, None);
    assert_eq!(judge_array("tc", &code, Some(&settings)).verdict, Verdict::Loads);
}

#[test]
fn a_kernel_without_the_enums_is_unknown() {
    let atomic = insn(0xdb, 10, 6, -8, 0x01);
    let mut m = program("fentry/vfs_read", &guarded(helper(LOOP), false));
    m.program("other", "xdp", &guarded(atomic, false));
    m.map("events", &[("type", 27), ("max_entries", 4096)], None);
    let verdict = judge_on(
        m,
        |b| {
            b.int("int", 4, Builder::SIGNED);
        },
        &KernelInputs::default(),
    );
    let reasons: Vec<_> = verdict.programs.iter().flat_map(|program| &program.reasons).collect();
    assert!(reasons.len() > 4, "{reasons:?}");
    assert!(reasons.iter().all(|reason| reason.verdict == Verdict::Unknown), "{reasons:?}");
    assert_eq!(verdict.verdict, Verdict::Unknown);
}

#[test]
fn the_verdict_on_an_object_is_the_worst_of_its_default_programs() {
    let object = |refused: &str, input: &str| {
        let mut m = program("tc", &returns(0));
        m.program("refused", refused, &returns(0));
        m.program("input", input, &returns(0));
        judge_object(m)
    };
    let verdict = object("?fentry/no_such_function", "?freplace/f");
    let verdicts: Vec<_> =
        verdict.programs.iter().map(|program| (program.autoload, program.verdict)).collect();
    let expected = [(true, Verdict::Loads), (false, Verdict::Refused), (false, Verdict::NeedsInput)];
    assert_eq!((verdict.verdict, &verdicts[..]), (Verdict::Loads, &expected[..]));
    assert_eq!(object("?fentry/no_such_function", "freplace/f").verdict, Verdict::NeedsInput);
    assert_eq!(object("fentry/no_such_function", "freplace/f").verdict, Verdict::Refused);
}

#[test]
fn a_program_that_cannot_be_linked_is_refused() {
    // The call leads behind the last function.
    let verdict = judge_object(program("tc", &[call(100), exit()]));
    assert_eq!(
        (verdict.verdict, verdict.programs[0].reasons[0].kind),
        (Verdict::Refused, ReasonKind::Object)
    );
}
