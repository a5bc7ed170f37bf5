//! Externs of objects: the kernel's configuration, symbols, variables and functions.
#![expect(clippy::arithmetic_side_effects, reason = "small offsets in code that the tests build")]

use super::{kconfig::kernel_with_config, without};
use crate::{
    features::Feature,
    index::ModuleIndex,
    link::LinkError,
    load_plan::{KernelFact, LoadPlan, LoadPlanError, TargetKernel},
    target::KernelBtf,
    test_support::{TestObject, call, exit, insns, kernel, line, load, returns, words},
};
use ::object::SymbolScope;
use alloc::sync::Arc;
use core_relo::{
    TypeId,
    btf::{Btf, Builder, Kind},
    insn::Insn,
};

/// Creates an object with externs in a section of its BTF: the name, the type and whether the extern is weak.
/// The program loads each extern in order.
pub(super) fn with_externs(section: &str, externs: &[(&str, TypeId, bool)], mut m: TestObject) -> TestObject {
    let code: Vec<Insn> = externs.iter().flat_map(|_| load(1, 0)).chain(returns(0)).collect();
    let main = m.program("main", "tc", &code);
    let mut infos = Vec::new();
    for ((name, ty, weak), index) in externs.iter().zip(0u64..) {
        let var = m.types.var(name, *ty, 2);
        infos.push((var, 0, 4));
        let symbol = m.undefined(name, *weak);
        m.refer(main, index * 2, symbol, false);
    }
    m.types.datasec(section, 0, &infos);
    m
}

#[test]
fn an_address_is_unknown_without_the_symbols_of_the_kernel() {
    let externs = [("strong", TypeId::VOID, false)];
    let object = with_externs(".ksyms", &externs, TestObject::new());
    let mut target = TargetKernel::offline(kernel(|_| {}).btf);
    // The configuration tells nothing about addresses.
    target.kconfig = Some("CONFIG_KALLSYMS_ALL=y\n".into());
    let error = object.plan_on(target, |_| {}).unwrap_err();
    let LoadPlanError::Externs(refused) = &error else { panic!("{error}") };
    assert_eq!(refused[0].missing, Some(KernelFact::Symbols));
    assert!(error.to_string().contains("strong: its address in that kernel is unknown"), "{error}");
}

#[test]
fn a_variable_is_resolved_by_name_and_type() {
    let object = |weak| {
        let mut m = TestObject::new();
        let rq = m.types.structure("rq", 8, &[]);
        with_externs(".ksyms", &[("runqueues", rq, weak)], m)
    };
    let kernel_with = |structure: &'static str| {
        kernel(move |b| {
            let rq = b.structure(structure, 64, &[]);
            b.var("runqueues", rq, 1);
        })
    };
    let code = insns(&object(false).plan_on(kernel_with("rq"), |_| {}).unwrap(), "main");
    assert_eq!((code[0].src, code[0].imm, code[1].imm), (3, 2, 0));
    let code = insns(&object(true).plan_on(kernel(|_| {}), |_| {}).unwrap(), "main");
    assert_eq!((code[0].src, code[0].imm, code[1].imm), (0, 0, 0));
    let error = object(false).error();
    assert!(error.contains("runqueues: no variable of this name"), "{error}");
    let other = kernel(|b| {
        let int = b.int("int", 4, 1);
        b.var("runqueues", int, 1);
    });
    let error = object(true).error_on(other);
    assert!(error.contains("runqueues: its type in vmlinux differs from the declaration"), "{error}");
}

/// Creates an object whose program calls a kernel function that takes an int.
fn calling_kfunc(name: &str, weak: bool) -> TestObject {
    let mut m = TestObject::new();
    let int = m.int;
    let proto = m.types.func_proto(int, &[("n", int)]);
    let func = m.types.func(name, proto, 2);
    m.types.datasec(".ksyms", 0, &[(func, 0, 0)]);
    let main = m.program("main", "tc", &[call(-1), exit()]);
    let symbol = m.undefined(name, weak);
    m.refer(main, 0, symbol, true);
    m
}

fn kernel_function(b: &mut Builder, params: &[&str]) {
    let int = b.int("int", 4, 1);
    let params: Vec<_> = params.iter().map(|name| (*name, int)).collect();
    let proto = b.func_proto(int, &params);
    b.func("do_it", proto, 1);
}

#[test]
fn a_kfunc_is_called_by_its_id_for_every_flavour() {
    for name in ["do_it", "do_it___old"] {
        let plan =
            calling_kfunc(name, false).plan_on(kernel(|b| kernel_function(b, &["m"])), |_| {}).unwrap();
        let code = insns(&plan, "main");
        assert_eq!((code[0].src, code[0].imm, code[0].off), (2, 3, 0));
        assert!(plan.fd_array().is_empty() && plan.modules().is_empty());
        // The kernel accepts only variables in sections.
        let btf = Btf::parse(plan.btf().unwrap()).unwrap();
        let section = btf.find(b".ksyms", Kind::Datasec).unwrap();
        let entry = btf.ty(section.secinfo(0).unwrap().ty).unwrap();
        assert_eq!((entry.kind(), entry.name().to_string()), (Kind::Var, "dummy_ksym".to_owned()));
    }
}

#[test]
fn a_missing_weak_kfunc_is_poisoned_and_a_missing_strong_kfunc_is_refused() {
    let poison = |plan: &LoadPlan| insns(plan, "main")[0];
    let plan = calling_kfunc("do_it", true).plan().unwrap();
    assert_eq!(poison(&plan), Insn { code: 0x85, imm: 2_002_000_000, ..Insn::default() });
    assert_eq!(plan.externs(), ["do_it"]);
    let error = calling_kfunc("do_it", false).error();
    assert!(error.starts_with("unresolved extern: do_it: no kernel function"), "{error}");
    assert!(error.contains("__weak"), "{error}");
    // A function with other parameters counts as missing.
    let other = || kernel(|b| kernel_function(b, &["a", "b"]));
    let plan = calling_kfunc("do_it", true).plan_on(other(), |_| {}).unwrap();
    assert_eq!(poison(&plan).imm, 2_002_000_000);
    // Messages about the load have both prototypes.
    let prototypes = "`int do_it(int a, int b)`, expected `int do_it(";
    let [incompatible] = plan.incompatible_kfuncs() else { panic!("{plan:?}") };
    assert!(incompatible.prototypes.as_ref().unwrap().starts_with(prototypes), "{incompatible:?}");
    let error = calling_kfunc("do_it", false).error_on(other());
    let differ = format!("do_it: its parameters in vmlinux differ from the declaration: {prototypes}");
    assert!(error.contains(&differ), "{error}");
}

/// Creates an object whose program `user` calls a strong kernel function through a subprogram, and whose
/// program `other` calls none.
fn with_an_unused_kfunc() -> TestObject {
    let mut m = TestObject::new();
    let func = m.func_type("do_it", 2);
    m.types.datasec(".ksyms", 0, &[(func, 0, 0)]);
    let text = m.code(".text", &[call(-1), exit()]);
    let helper = m.function("helper", text, 0, 2);
    m.set_scope(helper, SymbolScope::Compilation);
    let symbol = m.undefined("do_it", false);
    m.refer(text, 0, symbol, true);
    let user = m.program("user", "tc", &[call(-1), exit()]);
    m.refer(user, 0, helper, true);
    m.program("other", "xdp", &returns(0));
    m
}

#[test]
fn a_missing_strong_extern_refuses_the_programs_that_use_it_if_the_settings_say_so() {
    let plan = |kernel: TargetKernel, programs: &[&str], allows: bool| {
        with_an_unused_kfunc().plan_on(kernel, |setup| {
            setup.select_programs(programs.iter().copied());
            setup.allows_unused_externs = allows;
        })
    };
    let no_types = || TargetKernel::offline(Arc::new(KernelBtf::none()));
    // libbpf refuses the object, whether a loaded program uses the extern or not.
    let error = line(&plan(kernel(|_| {}), &["other"], false).unwrap_err());
    assert!(error.starts_with("unresolved extern: do_it: no kernel function"), "{error}");
    let error = plan(no_types(), &["other"], false).unwrap_err();
    assert!(matches!(error, LoadPlanError::Types { what: "externs", .. }), "{error}");
    for kernel in [kernel(|_| {}), no_types()] {
        let plan = plan(kernel, &["other"], true).unwrap();
        let [program] = plan.programs() else { panic!("{plan:?}") };
        assert_eq!(program.name(), "other");
    }
    for (kernel, reason) in
        [(kernel(|_| {}), "no kernel function"), (no_types(), "the kernel's types are needed for it: ")]
    {
        let error = plan(kernel, &["other", "user"], true).unwrap_err();
        let LoadPlanError::Program { program, what } = &error else { panic!("{error}") };
        assert_eq!(&**program, "user");
        assert!(what.starts_with(&format!("unresolved extern: do_it: {reason}")), "{what}");
    }
}

#[test]
fn a_missing_strong_value_refuses_the_programs_that_use_it_if_the_settings_say_so() {
    let plan = |kernel: TargetKernel, programs: &[&str], allows: bool| {
        let mut m = TestObject::new();
        let int = m.int;
        let code: Vec<_> = load(1, 0).into_iter().chain(returns(0)).collect();
        let mut infos = Vec::new();
        for (name, program, section) in [("CONFIG_A", "main", "tc"), ("CONFIG_B", "reader", "raw_tp/x")] {
            infos.push((m.types.var(name, int, 2), 0, 4));
            let (reader, symbol) = (m.program(program, section, &code), m.undefined(name, false));
            m.refer(reader, 0, symbol, false);
        }
        m.types.datasec(".kconfig", 0, &infos);
        m.program("other", "xdp", &returns(0));
        m.plan_on(kernel, |setup| {
            setup.select_programs(programs.iter().copied());
            setup.allows_unused_externs = allows;
        })
    };
    let known = || kernel_with_config("CONFIG_B=7\n");
    // libbpf refuses the object, whether a loaded program uses the value or not.
    let error = line(&plan(known(), &["other"], false).unwrap_err());
    assert!(
        error.starts_with("unresolved extern: CONFIG_A: the kernel's configuration does not set it"),
        "{error}"
    );
    let planned = plan(known(), &["other", "reader"], true).unwrap();
    assert_eq!(words(planned.maps()[0].data()), [0, 7]);
    let error = plan(known(), &["other", "main"], true).unwrap_err();
    let LoadPlanError::Program { program, what } = &error else { panic!("{error}") };
    assert!(&**program == "main" && what.starts_with("unresolved extern: CONFIG_A: "), "{error}");
    // An unknown configuration is a missing fact, and concerns the programs that read it.
    let unknown = || TargetKernel::offline(kernel(|_| {}).btf);
    assert!(plan(unknown(), &["other"], true).is_ok());
    assert!(plan(unknown(), &["reader"], true).unwrap_err().lacks_only_facts());
    // A value that does not fit is refused in any case.
    let error = plan(kernel_with_config("CONFIG_B=text\n"), &["other"], true).unwrap_err().to_string();
    assert!(error.contains("CONFIG_B") && error.contains("CONFIG_A"), "{error}");
}

#[test]
fn an_unknown_fact_blames_no_program_if_the_load_goes_on_without_unused_externs() {
    let plan = |programs: &[&str]| {
        let mut m = with_an_unused_kfunc();
        let void = m.types.modifier(Kind::Const, TypeId::VOID);
        let var = m.types.var("address", void, 2);
        m.types.datasec(".ksyms", 0, &[(var, 0, 0)]);
        let code: Vec<_> = load(1, 0).into_iter().chain(returns(0)).collect();
        let reader = m.program("reader", "raw_tp/x", &code);
        let symbol = m.undefined("address", false);
        m.refer(reader, 0, symbol, false);
        // Offline, the symbols of the kernel are unknown.
        let error = m.plan_on(TargetKernel::offline(kernel(|_| {}).btf), |setup| {
            setup.select_programs(programs.iter().copied());
            setup.allows_unused_externs = true;
        });
        error.map(drop)
    };
    assert_eq!(plan(&["other"]), Ok(()));
    let error = plan(&["other", "reader"]).unwrap_err();
    assert!(error.lacks_only_facts(), "{error}");
    // Another program lacks what the kernel does not have, whatever the symbols are.
    let error = plan(&["reader", "user"]).unwrap_err();
    let LoadPlanError::Program { program, .. } = &error else { panic!("{error}") };
    assert_eq!(&**program, "user");
}

/// Returns a kernel whose module `mod` has the function `do_it`.
pub(super) fn with_module() -> TargetKernel {
    let mut base = Builder::new(core_relo::Endian::native());
    base.int("int", 4, 1);
    let base = Arc::new(Btf::parse(base.finish()).unwrap());
    let mut split = Builder::split(&base);
    let proto = split.func_proto(TypeId(1), &[("n", TypeId(1))]);
    split.func("do_it", proto, 1);
    let module = Arc::new(Btf::parse_split(split.finish(), Arc::clone(&base)).unwrap());
    TargetKernel::offline(Arc::new(KernelBtf::from_btf(base, [("mod".to_owned(), module)])))
}

#[test]
fn modules_are_searched_only_if_the_kernel_has_their_btf() {
    let plan = calling_kfunc("do_it", false).plan_on(with_module(), |_| {}).unwrap();
    let code = insns(&plan, "main");
    // Index 0 of the `fd_array` is the kernel's own BTF.
    assert_eq!((code[0].src, code[0].imm, code[0].off), (2, 3, 1));
    assert_eq!((plan.fd_array(), plan.modules()[0].name.as_str()), (&[ModuleIndex(0)][..], "mod"));
    let old = without(with_module(), &[Feature::ModuleBtf]);
    assert!(calling_kfunc("do_it", false).error_on(old).contains("do_it"));
}

#[test]
fn all_undefined_symbols_are_named_with_the_lines_that_use_them() {
    let mut m = TestObject::new();
    let main = m.program("main", "tc", &[call(-1), call(-1), call(-1), exit()]);
    let [copy, other] = ["memcpy", "bpf_other"].map(|name| m.undefined(name, false));
    for (insn, symbol) in [(0, copy), (1, other), (2, copy)] {
        m.refer(main, insn, symbol, true);
    }
    m.line_info("tc", &[(0, 10), (1, 11), (2, 12)]);
    let error = m.plan().unwrap_err();
    let LoadPlanError::Link(LinkError::Undefined { symbols, more: 0 }) = &error else { panic!("{error:?}") };
    let lines: Vec<Vec<_>> =
        symbols.iter().map(|symbol| symbol.uses.iter().map(|at| at.line).collect()).collect();
    assert_eq!(lines, [vec![10, 12], vec![11]]);
    let text = error.to_string();
    assert!(text.starts_with("undefined: `memcpy` used in `main` at "), "{text}");
    assert!(text.contains("; `bpf_other` used in `main` at "), "{text}");
    let LoadPlanError::Link(error) = error else { return };
    let remedies = error.remedies();
    assert!(
        remedies[0].starts_with("memcpy: ") && remedies[0].contains("__builtin_memcpy()"),
        "{remedies:?}"
    );
    assert!(
        remedies[1].contains("<bpf/bpf_helpers.h>") && remedies[1].contains("gen object"),
        "{remedies:?}"
    );
}

#[test]
fn contradictory_declarations_are_refused() {
    let defined = {
        let mut m = TestObject::new();
        let main = m.program("main", "tc", &[&load(1, 0)[..], &returns(0)].concat());
        let int = m.int;
        let var = m.types.var("CONFIG_X", int, 1);
        m.types.datasec(".kconfig", 0, &[(var, 0, 4)]);
        let symbol = m.undefined("CONFIG_X", false);
        m.refer(main, 0, symbol, false);
        m.error()
    };
    assert_eq!(
        defined,
        "extern `CONFIG_X`: the object's BTF declares it as a definition, expected an extern"
    );
    let undeclared = {
        let mut m = TestObject::new();
        let main = m.program("main", "tc", &[call(-1), exit()]);
        let symbol = m.undefined("nobody", false);
        m.refer(main, 0, symbol, true);
        m.error()
    };
    assert_eq!(
        undeclared,
        "undefined: `nobody` used in `main`: neither defined in the object nor a helper, kfunc or variable of the kernel"
    );
    let shape = {
        let mut m = TestObject::new();
        let odd = m.types.structure("odd", 4, &[]);
        with_externs(".kconfig", &[("CONFIG_X", odd, false)], m).error()
    };
    assert!(
        shape.starts_with(
            "extern `CONFIG_X`: its type is not that of a configuration value, expected bool, char"
        ),
        "{shape}"
    );
}
