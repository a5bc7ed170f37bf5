//! Verdicts on the arguments of global functions.

use super::{
    map_uses::{Age, HASH, LOOKUP, add_kernel_of, reasons, sized},
    *,
};
use core_relo::btf::Kind;

/// The kernel takes the parameter for memory that the function reads and writes. Linux 5.10 refuses such a
/// function by another rule, and others refuse the argument.
#[test]
fn global_functions_take_no_values_of_maps_that_programs_only_read_or_write() {
    struct Call {
        flags: u32,
        linkage: u8,
        tag: Option<&'static str>,
    }
    let found = |age: Age, call: Call| {
        let mut m = TestObject::new();
        // r0 = lookup; if r0 == 0 goto +2; r1 = r0; sub(r1).
        let insns = [helper(LOOKUP), insn(0x15, 0, 0, 2, 0), insn(0xbf, 1, 0, 0, 0), super::call(-1)];
        let main = m.program("main", "tc", &[&load(1, 0)[..], &insns, &returns(0)].concat());
        let text = m.code(".text", &returns(0));
        let function = m.function("sub", text, 0, 2);
        let map = [&sized(HASH)[..], &[("map_flags", call.flags)]].concat();
        let (_, map) = m.map("m", &map, None);
        m.refer(main, 0, map, false);
        m.refer(main, 5, function, true);
        let int = m.int;
        let pointer = m.types.pointer(int);
        let proto = m.types.func_proto(int, &[("p", pointer)]);
        let ty = m.types.func("sub", proto, call.linkage);
        if let Some(tag) = call.tag {
            m.types.decl_tag(tag, ty, 0);
        }
        let main_type = m.func_type("main", 1);
        m.func_info("tc", &[(0, main_type)]);
        m.func_info(".text", &[(0, ty)]);
        reasons(m, age, None).into_iter().map(|(_, _, text)| text).collect::<Vec<_>>()
    };
    let text = |what: &str| {
        format!("map m: the program passes the address of a value to a global function, which may {what}")
    };
    let read_only = text("write to it, and programs only read the map");
    let write_only = text("read it, and programs only write to the map");
    let global = |flags: u32| Call { flags, linkage: 1, tag: None };
    assert_eq!(found(Age::Newest, global(1 << 7)), [read_only.as_str()]);
    assert_eq!(found(Age::Newest, global(1 << 8)), [write_only]);
    assert_eq!(found(Age::Newest, global(0)), [""; 0]);
    assert_eq!(found(Age::Oldest, global(1 << 7)), [""; 0]);
    assert_eq!(found(Age::Newest, Call { flags: 1 << 7, linkage: 0, tag: None }), [""; 0], "static");
    let tagged = |tag| found(Age::Newest, Call { flags: 1 << 7, linkage: 1, tag: Some(tag) });
    assert_eq!(tagged("arg:nonnull"), [read_only]);
    assert_eq!(tagged("arg:untrusted"), [""; 0], "no memory that the function writes to");
}

/// The kernel checks memory whose size another argument tells for reads and writes, whatever the kfunc does.
/// It checks calls on paths that it follows.
#[test]
fn kfuncs_take_no_values_of_maps_that_programs_only_read_or_write() {
    #[derive(Clone, Copy)]
    struct Call {
        kfunc: &'static str,
        register: u8,
        flags: u32,
        is_dead: bool,
    }
    let found = |age: Age, call: Call| {
        let mut m = TestObject::new();
        // r6 = 0; if r6 == 0, or if r6 != 0, goto exit; r0 = lookup; if r0 == 0 goto +2; register = r0; call.
        let guard = [insn(0xb7, 6, 0, 0, 0), insn(if call.is_dead { 0x15 } else { 0x55 }, 6, 0, 6, 0)];
        let argument = insn(0xbf, call.register, 0, 0, 0);
        let insns = [helper(LOOKUP), insn(0x15, 0, 0, 2, 0), argument, super::call(-1)];
        let id = m.program("main", "xdp", &[&guard[..], &load(1, 0), &insns, &returns(0)].concat());
        let func = m.func_type(call.kfunc, 2);
        m.types.datasec(".ksyms", 0, &[(func, 0, 0)]);
        let symbol = m.undefined(call.kfunc, true);
        let (_, map) = m.map("m", &[&sized(HASH)[..], &[("map_flags", call.flags)]].concat(), None);
        m.refer(id, 2, map, false);
        m.refer(id, 7, symbol, true);
        reasons(m, age, None).into_iter().map(|(verdict, _, text)| (verdict, text)).collect::<Vec<_>>()
    };
    let text = |what: &str| {
        let text = format!("map m: the program passes the address of a value to a kfunc, which may {what}");
        [(Verdict::Refused, text)]
    };
    let read_only = Call { kfunc: "bpf_dynptr_slice", register: 3, flags: 1 << 7, is_dead: false };
    assert_eq!(found(Age::Newest, read_only), text("write to it, and programs only read the map"));
    let write_only = Call { flags: 1 << 8, ..read_only };
    assert_eq!(found(Age::Newest, write_only), text("read it, and programs only write to the map"));
    assert_eq!(found(Age::Newest, Call { flags: 0, ..read_only }), []);
    assert_eq!(found(Age::Newest, Call { register: 1, ..read_only }), [], "another argument");
    assert_eq!(found(Age::Newest, Call { is_dead: true, ..read_only }), [], "dead code");
    let lookup = Call { kfunc: "bpf_skb_ct_lookup", register: 4, ..read_only };
    assert_eq!(found(Age::Newest, lookup).len(), 1);
    assert_eq!(found(Age::Oldest, lookup), [], "not observed");
}

/// A function that a program calls, by the types that its prototype has.
#[derive(Clone, Copy)]
struct Called {
    parameter: fn(&mut Builder, TypeId) -> TypeId,
    result: fn(&mut Builder, TypeId) -> TypeId,
    linkage: u8,
    tag: Option<&'static str>,
}

const NUMBER: Called = Called { parameter: |_, int| int, result: |_, int| int, linkage: 1, tag: None };

/// Returns the verdicts on a program of a section that calls a function, whatever they are about but the
/// kernel's types.
fn verdicts(age: Age, section: &str, called: Called) -> Vec<(Verdict, String)> {
    let mut m = TestObject::new();
    let main = m.program("main", section, &[&[call(-1)][..], &returns(0)].concat());
    let text = m.code(".text", &returns(0));
    let function = m.function("sub", text, 0, 2);
    m.refer(main, 0, function, true);
    let int = m.int;
    let parameter = (called.parameter)(&mut m.types, int);
    let result = (called.result)(&mut m.types, int);
    let proto = m.types.func_proto(result, &[("p", parameter)]);
    let ty = m.types.func("sub", proto, called.linkage);
    if let Some(tag) = called.tag {
        m.types.decl_tag(tag, ty, 0);
    }
    let main_type = m.func_type("main", 1);
    m.func_info(section, &[(0, main_type)]);
    m.func_info(".text", &[(0, ty)]);
    let verdict = judge_bytes(&m.bytes(), |b| add_kernel_of(age, b), &KernelInputs::default());
    let program = verdict.programs.iter().find(|program| program.name == "main").unwrap();
    let about = program.reasons.iter().filter(|reason| reason.text.starts_with("global function"));
    about.map(|reason| (reason.verdict, reason.text.clone())).collect()
}

/// Protects what 5.10, 6.1, 6.12, 6.18 and 7.2 say about the prototypes of global functions.
#[test]
fn parameters_of_global_functions_are_numbers_the_context_or_memory_of_a_size() {
    let found = |age: Age, section: &str, parameter: fn(&mut Builder, TypeId) -> TypeId| {
        verdicts(age, section, Called { parameter, ..NUMBER })
    };
    let refused = |text: &str| {
        vec![(Verdict::Refused, format!("global function `sub`: parameter 1 is a pointer to {text}"))]
    };
    let (other, unsized_type) =
        (refused("something else than the context"), refused("a type without a size"));
    let to_int = |b: &mut Builder, int: TypeId| b.pointer(int);
    let to_void = |b: &mut Builder, _: TypeId| b.pointer(TypeId(0));
    let to_struct = |b: &mut Builder, int: TypeId| {
        let of = b.structure("value", 4, &[("a", int, 0)]);
        b.pointer(of)
    };
    let to_context = |b: &mut Builder, int: TypeId| {
        let of = b.structure("__sk_buff", 4, &[("len", int, 0)]);
        b.pointer(of)
    };
    let to_declared = |b: &mut Builder, _: TypeId| {
        let of = b.forward("value", Kind::Struct);
        b.pointer(of)
    };
    let to_dynptr = |b: &mut Builder, _: TypeId| {
        let of = b.forward("bpf_dynptr", Kind::Struct);
        b.pointer(of)
    };
    for age in [Age::Oldest, Age::Newest] {
        assert_eq!(found(age, "tc", |_, int| int), []);
        assert_eq!(found(age, "tc", to_void), unsized_type);
        assert_eq!(found(age, "tc", to_declared), unsized_type);
        assert_eq!(found(age, "tc", to_context), []);
        let of = |linkage, tag| Called { parameter: to_void, linkage, tag, ..NUMBER };
        assert_eq!(verdicts(age, "tc", of(0, None)), [], "static");
        assert_eq!(verdicts(age, "tc", of(1, Some("arg:ctx"))), [], "a loader sets the type of the context");
        assert_eq!(verdicts(age, "tc", of(1, Some("arg:untrusted"))), []);
        assert_eq!(verdicts(age, "tc", of(1, Some("arg:nonnull"))), unsized_type);
    }
    for parameter in [to_int, to_struct] {
        assert_eq!(found(Age::Oldest, "tc", parameter), other);
    }
    assert_eq!(found(Age::Oldest, "xdp", to_context), other, "the context of another type");
    for parameter in [to_int, to_struct, to_dynptr] {
        assert_eq!(found(Age::Newest, "tc", parameter), []);
    }
    assert_eq!(found(Age::Newest, "xdp", to_context), []);
}

#[test]
fn global_functions_return_numbers_and_since_7_2_nothing() {
    let found =
        |age, result: fn(&mut Builder, TypeId) -> TypeId| verdicts(age, "tc", Called { result, ..NUMBER });
    let refused = |text: &str| vec![(Verdict::Refused, format!("global function `sub`: {text}"))];
    for age in [Age::Oldest, Age::Newest] {
        assert_eq!(found(age, |_, int| int), []);
        assert_eq!(found(age, Builder::pointer), refused("its result is no number"));
    }
    assert_eq!(found(Age::Oldest, |_, _| TypeId(0)), refused("it returns nothing, expected a number"));
    let newest = found(Age::Newest, |_, _| TypeId(0));
    assert!(newest.iter().all(|(verdict, _)| *verdict != Verdict::Refused), "{newest:?}");
}

/// Every kernel refuses memory for a parameter that is the context by its name or tag.
#[test]
fn values_of_maps_are_no_context() {
    let found = |section: &str, name: &str| {
        let mut m = TestObject::new();
        // r0 = lookup; if r0 == 0 goto +2; r1 = r0; sub(r1).
        let insns = [helper(LOOKUP), insn(0x15, 0, 0, 2, 0), insn(0xbf, 1, 0, 0, 0), call(-1)];
        let main = m.program("main", section, &[&load(1, 0)[..], &insns, &returns(0)].concat());
        let text = m.code(".text", &returns(0));
        let function = m.function("sub", text, 0, 2);
        let (_, map) = m.map("m", &sized(HASH), None);
        m.refer(main, 0, map, false);
        m.refer(main, 5, function, true);
        let int = m.int;
        let context = m.types.structure(name, 4, &[("a", int, 0)]);
        let pointer = m.types.pointer(context);
        let proto = m.types.func_proto(int, &[("p", pointer)]);
        let ty = m.types.func("sub", proto, 1);
        let main_type = m.func_type("main", 1);
        m.func_info(section, &[(0, main_type)]);
        m.func_info(".text", &[(0, ty)]);
        reasons(m, Age::Newest, None).into_iter().map(|(_, _, text)| text).collect::<Vec<_>>()
    };
    let refused =
        "map m: the program passes the address of a value to a global function, which takes the context";
    assert_eq!(found("tc", "__sk_buff"), [refused]);
    assert_eq!(found("xdp", "__sk_buff"), [""; 0]);
    assert_eq!(found("kprobe/f", "pt_regs"), [""; 0]);
}
