//! Static and global functions: the records of functions decide.

use super::*;

/// The records of functions that an object has, and the linkage of its subprogram there.
#[derive(Clone, Copy)]
enum Records {
    None,
    OfSubprogram,
    All { linkage: u8 },
}

/// Creates a program that calls a function with 3. The function calls a missing helper if its argument is
/// larger than 5.
fn guarded_by_argument(records: Records) -> TestObject {
    let mut m = TestObject::new();
    let main = m.program("main", "tc", &[&[insn(0xb7, 1, 0, 0, 3), call(-1)][..], &returns(0)].concat());
    let code = [&[insn(0xb5, 1, 0, 1, 5), helper(LOOP)][..], &returns(0)].concat();
    let text = m.code(".text", &code);
    let function = m.function("sub", text, 0, 4);
    m.refer(main, 1, function, true);
    let main_type = m.func_type("main", 1);
    if let Records::All { linkage } = records {
        let ty = m.func_type("sub", linkage);
        m.func_info("tc", &[(0, main_type)]);
        m.func_info(".text", &[(0, ty)]);
    }
    if matches!(records, Records::OfSubprogram) {
        let ty = m.func_type("sub", 1);
        m.func_info(".text", &[(0, ty)]);
    }
    m
}

#[test]
fn the_verifier_checks_a_function_by_itself_if_its_record_is_global() {
    let verdict = |records| worst(&judge_object(guarded_by_argument(records))).0;
    assert_eq!(verdict(Records::All { linkage: 1 }), Verdict::Refused);
    // The symbol is global in all of these. The verifier follows the call with 3.
    assert_eq!(verdict(Records::All { linkage: 0 }), Verdict::Loads);
    assert_eq!(verdict(Records::None), Verdict::Loads);
    // libbpf leaves out the records if the program has none.
    assert_eq!(verdict(Records::OfSubprogram), Verdict::Loads);
}

#[test]
fn kernels_without_global_functions_follow_the_call() {
    let types = |b: &mut Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        b.enumeration("bpf_func_id", 4, &[("BPF_FUNC_unspec", 0), ("BPF_FUNC_strtol", 105)]);
        b.enumeration("bpf_prog_type", 4, &[("BPF_PROG_TYPE_SCHED_CLS", 3)]);
        b.structure("bpf_ctx_convert", 4, &[("BPF_PROG_TYPE_SCHED_CLS_prog", int, 0)]);
        b.structure("bpf_prog_aux", 4, &[("used_map_cnt", int, 0)]);
    };
    let object = guarded_by_argument(Records::All { linkage: 1 });
    assert_eq!(worst(&judge_on(object, types, &KernelInputs::default())).0, Verdict::Loads);
}
