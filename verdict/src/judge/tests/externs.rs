//! Verdicts on externs: kfuncs and kernel symbols.

use super::*;

/// An object that calls a kfunc if its address is not 0.
pub(in crate::judge) fn calling_kfunc(name: &str, is_weak: bool) -> TestObject {
    let [address, high] = load(1, 0);
    let [zero, exit] = returns(0);
    let mut m = TestObject::new();
    let main = m.program("main", "tc", &[address, high, insn(0x15, 1, 0, 1, 0), call(-1), zero, exit]);
    let func = m.func_type(name, 2);
    m.types.datasec(".ksyms", 0, &[(func, 0, 0)]);
    let symbol = m.undefined(name, is_weak);
    m.refer(main, 0, symbol, false);
    m.refer(main, 3, symbol, true);
    m
}

#[test]
fn a_missing_kfunc_refuses_unless_it_is_weak_and_its_address_is_tested() {
    for (name, is_weak, expected) in [
        ("bpf_ct_release", false, Verdict::Loads),
        ("bpf_ct_release", true, Verdict::Loads),
        ("no_such_kfunc", false, Verdict::Refused),
        ("no_such_kfunc", true, Verdict::Loads),
    ] {
        let verdict = judge_object(calling_kfunc(name, is_weak));
        assert_eq!(worst(&verdict).0, expected, "{name} {is_weak}: {verdict:?}");
    }
    // Calls without a test. The source line is that of the call, also if the extern alone refuses the object.
    for is_weak in [false, true] {
        let mut m = TestObject::new();
        let main = m.program("main", "tc", &[call(-1), exit()]);
        let func = m.func_type("no_such_kfunc", 2);
        m.types.datasec(".ksyms", 0, &[(func, 0, 0)]);
        let symbol = m.undefined("no_such_kfunc", is_weak);
        m.refer(main, 0, symbol, true);
        m.line_info("tc", &[(0, 5)]);
        let verdict = judge_object(m);
        let text = "the kernel lacks kfunc no_such_kfunc";
        assert_eq!(worst(&verdict), (Verdict::Refused, Some((ReasonKind::Kfunc, text))));
        let [reason] = &verdict.programs[0].reasons[..] else { panic!("{verdict:?}") };
        assert_eq!(reason.source.as_ref().map(|source| source.line), Some(5));
    }
}

#[test]
fn an_untyped_symbol_of_several_addresses_refuses_the_object_also_if_it_is_weak() {
    let object = |is_weak| {
        let mut m = TestObject::new();
        let main = m.program("main", "tc", &[&load(1, 0)[..], &returns(0)].concat());
        let var = m.types.var("init_once", TypeId(0), 2);
        m.types.datasec(".ksyms", 0, &[(var, 0, 0)]);
        let symbol = m.undefined("init_once", is_weak);
        m.refer(main, 0, symbol, false);
        m
    };
    let symbols = "ffffffff81000000 t init_once\nffffffff82000000 t init_once\n";
    let inputs = |symbols: &str| KernelInputs { kallsyms: Some(symbols.into()), ..KernelInputs::default() };
    for is_weak in [false, true] {
        let verdict = judge_on(object(is_weak), add_kernel, &inputs(symbols));
        let text = "kernel symbol init_once: it is ambiguous: symbols of this name are at 0xffffffff81000000 and 0xffffffff82000000: \
                    choose one with --ksym init_once=ADDRESS or init_once=SYMBOL+OFFSET, which only core-relo does (--loader core-relo)";
        assert_eq!(worst(&verdict), (Verdict::Refused, Some((ReasonKind::Ksym, text))));
        let one = judge_on(object(is_weak), add_kernel, &inputs("ffffffff81000000 t init_once\n"));
        assert_eq!(one.verdict, Verdict::Loads, "{one:?}");
        let hidden = judge_on(object(is_weak), add_kernel, &inputs("0000000000000000 t init_once\n"));
        let text = "kernel symbol init_once: its address is hidden (kernel.kptr_restrict): give the kernel's symbols (--kallsyms)";
        assert_eq!(worst(&hidden), (Verdict::Unknown, Some((ReasonKind::Ksym, text))));
        // BTF lists a name once, also if several symbols have it.
        let add_function = |b: &mut Builder| {
            add_kernel(b);
            let proto = b.func_proto(TypeId::VOID, &[]);
            b.func("init_once", proto, 0);
        };
        let verdict = judge_on(object(is_weak), add_function, &KernelInputs::default());
        let text = "kernel symbol init_once: several symbols may have this name: give the kernel's symbols (--kallsyms)";
        assert_eq!(worst(&verdict), (Verdict::Unknown, Some((ReasonKind::Ksym, text))));
    }
}

/// Only core-relo lets its caller choose among symbols of one name, so the choice counts for no other loader.
#[test]
fn the_chosen_address_of_a_symbol_counts_for_core_relo() {
    let object = || {
        let mut m = TestObject::new();
        let main = m.program("main", "tc", &[&load(1, 0)[..], &returns(0)].concat());
        let var = m.types.var("init_once", TypeId(0), 2);
        m.types.datasec(".ksyms", 0, &[(var, 0, 0)]);
        let symbol = m.undefined("init_once", false);
        m.refer(main, 0, symbol, false);
        m.bytes()
    };
    let symbols = "ffffffff81000000 t init_once\nffffffff82000000 t init_once\nffffffff80000000 T _text\n";
    let judged = |loader, chosen: &str, symbols: Option<&str>| {
        let mut settings = Settings::default();
        settings.ksyms.insert("init_once".to_owned(), chosen.parse().unwrap());
        let inputs = KernelInputs { kallsyms: symbols.map(Into::into), ..KernelInputs::default() };
        let bytes = object();
        let object = Object::parse(&bytes).unwrap();
        let relocs = object.relocs().unwrap();
        let mut table = NeedTable::default();
        let mut needs = ObjectNeeds::collect_for(loader, &object, &relocs, &mut table).unwrap();
        needs.apply_settings(&settings, &mut table);
        let mut b = Builder::new(Endian::native());
        add_kernel(&mut b);
        let target = Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()));
        let answers = KernelAnswers::new(&table, &target, &inputs);
        let verdict = judge(&needs, &Plan::new(&relocs, &target), &answers).unwrap();
        let text = verdict.reasons.first().map(|reason| reason.text.clone());
        (verdict.verdict, verdict.programs[0].for_core_relo(), text)
    };
    for chosen in ["0xffffffff82000000", "_text+0x1000000"] {
        let (verdict, ..) = judged(LoaderKind::CoreRelo, chosen, Some(symbols));
        assert_eq!(verdict, Verdict::Loads, "{chosen}");
        let (verdict, own, text) = judged(LoaderKind::Libbpf, chosen, Some(symbols));
        assert_eq!((verdict, own), (Verdict::Refused, Verdict::Loads), "{chosen}");
        let text = text.unwrap();
        assert!(
            text.ends_with("init_once=SYMBOL+OFFSET, which only core-relo does (--loader core-relo)"),
            "{text}"
        );
    }
    let (verdict, _, text) = judged(LoaderKind::CoreRelo, "0xffffffff83000000", Some(symbols));
    assert_eq!(verdict, Verdict::Refused);
    let text = text.unwrap();
    assert!(
        text.contains("init_once: the chosen address 0xffffffff83000000 is that of no symbol of this name"),
        "{text}"
    );
    let (verdict, _, text) = judged(LoaderKind::CoreRelo, "_text+0x10", None);
    let text = text.unwrap();
    assert_eq!(
        (verdict, text.ends_with("give the kernel's symbols (--kallsyms)")),
        (Verdict::Unknown, true),
        "{text}"
    );
}

#[test]
fn the_verifier_continues_after_the_call_of_a_kfunc() {
    let [zero, exit] = returns(0);
    let mut m = TestObject::new();
    let main = m.program("main", "tc", &[call(-1), helper(LOOP), zero, exit]);
    let func = m.func_type("bpf_ct_release", 2);
    m.types.datasec(".ksyms", 0, &[(func, 0, 0)]);
    let symbol = m.undefined("bpf_ct_release", false);
    m.refer(main, 0, symbol, true);
    let verdict = judge_object(m);
    assert_eq!(worst(&verdict).1, Some((ReasonKind::Helper, "the kernel lacks helper bpf_loop")));
}

#[test]
fn a_kfunc_with_other_parameters_is_missing() {
    // The kernel's function has no parameters.
    for (is_weak, has_test, expected) in
        [(false, true, Verdict::Refused), (true, true, Verdict::Loads), (true, false, Verdict::Refused)]
    {
        let [address, high] = load(1, 0);
        let skip = if has_test { insn(0x15, 1, 0, 1, 0) } else { insn(0xb7, 6, 0, 0, 0) };
        let [zero, exit] = returns(0);
        let mut m = TestObject::new();
        let main = m.program("main", "tc", &[address, high, skip, call(-1), zero, exit]);
        let int = m.int;
        let proto = m.types.func_proto(int, &[("number", int)]);
        let func = m.types.func("bpf_ct_release", proto, 2);
        m.types.datasec(".ksyms", 0, &[(func, 0, 0)]);
        let symbol = m.undefined("bpf_ct_release", is_weak);
        m.refer(main, 0, symbol, false);
        m.refer(main, 3, symbol, true);
        let verdict = judge_object(m);
        let text = "kfunc bpf_ct_release: its parameters in vmlinux differ from the declaration: `int bpf_ct_release(void)`, expected \
                    `int bpf_ct_release(int number)`";
        let reason = (expected == Verdict::Refused).then_some((ReasonKind::Kfunc, text));
        assert_eq!(worst(&verdict), (expected, reason), "{is_weak} {has_test}");
    }
}

#[test]
fn programs_of_some_types_may_not_call_a_kfunc() {
    // On kernels up to 7.2, only XDP programs call bpf_dynptr_from_xdp.
    let judge_call = |section: &str, is_newer: bool| {
        let mut m = TestObject::new();
        let main = m.program("main", section, &[call(-1), exit()]);
        let func = m.func_type("bpf_dynptr_from_xdp", 2);
        m.types.datasec(".ksyms", 0, &[(func, 0, 0)]);
        let symbol = m.undefined("bpf_dynptr_from_xdp", false);
        m.refer(main, 0, symbol, true);
        let kernel = |b: &mut Builder| {
            add_kernel(b);
            let int = b.int("int", 4, Builder::SIGNED);
            let proto = b.func_proto(int, &[]);
            b.func("bpf_dynptr_from_xdp", proto, 1);
            // A part of 7.3.
            let diag = if is_newer { "diag" } else { "log" };
            b.structure("bpf_verifier_env", 4, &[(diag, int, 0)]);
        };
        judge_on(m, kernel, &KernelInputs::default())
    };
    assert_eq!(worst(&judge_call("xdp", false)), (Verdict::Loads, None));
    let refused = judge_call("tc", false);
    let text = "programs of type BPF_PROG_TYPE_SCHED_CLS may not call kfunc bpf_dynptr_from_xdp";
    assert_eq!(worst(&refused), (Verdict::Refused, Some((ReasonKind::Kfunc, text))));
    assert_eq!(worst(&judge_call("tc", true)).0, Verdict::Unknown);
}

#[test]
fn a_function_of_the_name_is_no_kfunc_before_calls_of_kernel_functions() {
    let old = |b: &mut Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        let proto = b.func_proto(int, &[]);
        b.func("bpf_ct_release", proto, 1);
        b.structure("bpf_prog_aux", 4, &[("func_info_aux", int, 0)]);
    };
    let verdict = judge_on(calling_kfunc("bpf_ct_release", true), old, &KernelInputs::default());
    let text = "the kernel lacks calls of kernel functions";
    assert_eq!(worst(&verdict), (Verdict::Refused, Some((ReasonKind::Instruction, text))));
}

#[test]
fn a_missing_symbol_refuses_unless_it_is_weak() {
    let kallsyms =
        KernelInputs { kallsyms: Some("ffffffff81000000 D jiffies\n".into()), ..KernelInputs::default() };
    let address = |name: &str, is_weak, inputs: &KernelInputs| {
        let [first, second] = load(1, 0);
        let [zero, exit] = returns(0);
        let mut m = TestObject::new();
        let main = m.program("main", "tc", &[first, second, zero, exit]);
        let var = m.types.var(name, TypeId::VOID, 2);
        m.types.datasec(".ksyms", 0, &[(var, 0, 4)]);
        let symbol = m.undefined(name, is_weak);
        m.refer(main, 0, symbol, false);
        judge_on(m, add_kernel, inputs)
    };
    assert_eq!(worst(&address("jiffies", false, &kallsyms)).0, Verdict::Loads);
    assert_eq!(worst(&address("no_such_symbol", true, &kallsyms)).0, Verdict::Loads);
    let refused = address("no_such_symbol", false, &kallsyms);
    let text = "the kernel lacks kernel symbol no_such_symbol";
    assert_eq!(worst(&refused), (Verdict::Refused, Some((ReasonKind::Ksym, text))));
    let unknown = address("no_such_symbol", false, &KernelInputs::default());
    assert_eq!(worst(&unknown).0, Verdict::Unknown);
}
