//! Mismatches of small objects and synthetic kernels.

use super::MismatchKind;
use crate::{
    judge::{KernelAnswers, judge},
    kernel::KernelInputs,
    requirements::{NeedTable, ObjectNeeds},
};
use alloc::sync::Arc;
use core_relo::{
    Endian, Plan, Target, TypeId,
    btf::{Btf, Builder, Kind},
    insn::Insn,
};
use core_relo_object::{
    object::Object,
    test_support::{TestObject, insn, returns},
};

/// The kind of a CO-RE record of a field's offset.
const OFFSET: u32 = 0;

/// Returns the kind, the text and both declarations of the warnings about an object on a kernel.
fn warnings(object: TestObject, types: impl FnOnce(&mut Builder)) -> Vec<(MismatchKind, [String; 3])> {
    let bytes = object.bytes();
    let object = Object::parse(&bytes).unwrap();
    let relocs = object.relocs().unwrap();
    let mut table = NeedTable::default();
    let needs = ObjectNeeds::collect(&object, &relocs, &mut table).unwrap();
    let mut b = Builder::new(Endian::native());
    types(&mut b);
    let target = Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()));
    let inputs = KernelInputs::default();
    let answers = KernelAnswers::new(&table, &target, &inputs);
    let verdict = judge(&needs, &Plan::new(&relocs, &target), &answers).unwrap();
    let warning = |w: super::Mismatch| (w.kind, [w.text, w.local, w.target]);
    verdict.warnings.into_iter().map(warning).collect()
}

fn kinds(warnings: &[(MismatchKind, [String; 3])]) -> Vec<MismatchKind> {
    warnings.iter().map(|(kind, _)| *kind).collect()
}

/// Returns `dst = *(u64 *)(src + off)`.
fn load_word(dst: u8, src: u8, off: i16) -> Insn {
    insn(0x79, dst, src, off, 0)
}

/// Returns `dst = *(u32 *)(src + off)`.
fn load_half_word(dst: u8, src: u8, off: i16) -> Insn {
    insn(0x61, dst, src, off, 0)
}

/// A program of these instructions, which returns 0.
fn program(section: &str, insns: &[Insn]) -> TestObject {
    let mut m = TestObject::new();
    m.program("main", section, &[insns, &returns(0)].concat());
    m
}

/// Adds `int NAME(PARAMS)`.
fn function(b: &mut Builder, name: &str, params: &[(&str, TypeId)]) {
    let int = b.int("int", 4, Builder::SIGNED);
    let proto = b.func_proto(int, params);
    b.func(name, proto, 1);
}

/// Adds the typedef of a tracepoint with these arguments.
fn tracepoint(b: &mut Builder, name: &str, params: &[(&str, TypeId)]) {
    let data = b.pointer(TypeId(0));
    let proto = b.func_proto(TypeId(0), &[&[("__data", data)][..], params].concat());
    let pointer = b.pointer(proto);
    b.typedef(&format!("btf_trace_{name}"), pointer);
}

#[test]
fn arguments_that_the_tracepoint_lacks() {
    let second = |section| program(section, &[load_word(2, 1, 8)]);
    let one = |b: &mut Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        tracepoint(b, "t", &[("x", int)]);
    };
    let found = warnings(second("raw_tp/t"), one);
    assert_eq!(kinds(&found), [MismatchKind::Prototype]);
    assert_eq!(
        found[0].1[0],
        "argument 2 of btf_trace_t does not exist: the kernel's declaration has 1 argument"
    );
    assert_eq!(found[0].1[2], "void btf_trace_t(int x)");
    let two = |b: &mut Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        tracepoint(b, "t", &[("x", int), ("y", int)]);
    };
    assert_eq!(warnings(second("raw_tp/t"), two), []);
    // The load refuses the others.
    assert_eq!(warnings(second("tp_btf/t"), one), []);
    assert_eq!(warnings(second("raw_tp/t"), |_| ()), [], "without the tracepoint, nothing can be compared");
}

/// A program that reads `x` of a struct through its first argument.
fn reading_argument(name: &str) -> TestObject {
    let mut m = program("fentry/f", &[load_word(2, 1, 0), load_half_word(3, 2, 4)]);
    let int = m.int;
    let ty = m.types.structure(name, 8, &[("w", int, 0), ("x", int, 32)]);
    m.core_relo("fentry/f", &[(1, ty, "0:1", OFFSET)]);
    m
}

/// Adds a function with a parameter that points to a struct, and the other structs.
fn add_pointer_function(b: &mut Builder, param: &str) {
    let int = b.int("int", 4, Builder::SIGNED);
    let sock = b.structure("sock", 8, &[("w", int, 0), ("x", int, 32)]);
    b.structure("tcp_sock", 8, &[("sk", sock, 0), ("w", int, 0), ("x", int, 32)]);
    b.structure("request", 8, &[("w", int, 0), ("x", int, 32)]);
    b.structure("bio", 8, &[("w", int, 0), ("x", int, 32)]);
    let struct_type = b.forward(param, Kind::Struct);
    let pointer = b.pointer(struct_type);
    function(b, "f", &[("p", pointer)]);
}

#[test]
fn arguments_that_point_to_another_struct() {
    let found = warnings(reading_argument("request"), |b| add_pointer_function(b, "bio"));
    assert_eq!(kinds(&found), [MismatchKind::Prototype]);
    let [_, local, target] = &found[0].1;
    assert_eq!((&**local, &**target), ("struct request *", "int f(struct bio *p)"));
    assert_eq!(warnings(reading_argument("request"), |b| add_pointer_function(b, "request")), []);
    assert_eq!(warnings(reading_argument("request___old"), |b| add_pointer_function(b, "request")), []);
    assert_eq!(warnings(reading_argument("tcp_sock"), |b| add_pointer_function(b, "sock")), []);
}

#[test]
fn functions_of_one_name_are_not_compared() {
    let found = warnings(reading_argument("request"), |b| {
        add_pointer_function(b, "bio");
        function(b, "f", &[]);
    });
    assert_eq!(found, []);
}

#[test]
fn arguments_that_the_program_declares() {
    let declaring = |name: &str| {
        let mut m = program("fentry/f", &[load_word(2, 1, 0)]);
        let int = m.int;
        let struct_type = m.types.forward(name, Kind::Struct);
        let pointer = m.types.pointer(struct_type);
        let context = m.types.pointer(int);
        let proto = m.types.func_proto(int, &[("ctx", context), ("p", pointer)]);
        m.types.func("____main", proto, 0);
        m
    };
    let found = warnings(declaring("request"), |b| add_pointer_function(b, "bio"));
    assert_eq!(kinds(&found), [MismatchKind::Prototype]);
    assert_eq!(found[0].1[1], "struct request *");
    assert_eq!(warnings(declaring("bio"), |b| add_pointer_function(b, "bio")), []);
}

#[test]
fn arguments_of_system_calls_behind_a_wrapper() {
    let mut m = program("kprobe/__x64_sys_openat", &[load_word(2, 1, 104)]);
    let int = m.int;
    m.types.structure("pt_regs", 120, &[("si", int, 104 * 8), ("di", int, 112 * 8)]);
    let found = warnings(m, |b| {
        let registers = b.forward("pt_regs", Kind::Struct);
        let pointer = b.pointer(registers);
        function(b, "__x64_sys_openat", &[("regs", pointer)]);
    });
    assert_eq!(kinds(&found), [MismatchKind::SyscallWrapper]);
    assert_eq!(found[0].1[2], "int __x64_sys_openat(struct pt_regs *regs)");
}

#[test]
fn contexts_of_tracepoints_whose_members_moved() {
    let reading = || {
        let mut m = program("tp/sched/t", &[load_half_word(2, 1, 8)]);
        let int = m.int;
        let context = m.types.structure("trace_event_raw_t", 12, &[("ent", int, 0), ("pid", int, 64)]);
        let pointer = m.types.pointer(context);
        let proto = m.types.func_proto(int, &[("ctx", pointer)]);
        m.types.func("main", proto, 1);
        m
    };
    let kernel = |b: &mut Builder, bit: u32| {
        let int = b.int("int", 4, Builder::SIGNED);
        b.structure("trace_event_raw_t", 16, &[("ent", int, 0), ("pid", int, bit)]);
    };
    let found = warnings(reading(), |b| kernel(b, 96));
    assert_eq!(kinds(&found), [MismatchKind::Context]);
    let [text, local, target] = &found[0].1;
    assert!(
        text.starts_with("pid of struct trace_event_raw_t is at offset 12 in the kernel, expected 8"),
        "{text}"
    );
    assert_eq!((&**local, &**target), ("int pid; // offset 8", "int pid; // offset 12"));
    assert_eq!(warnings(reading(), |b| kernel(b, 64)), []);
}

/// The declarations of the field `x` of `struct s`, by kind of mismatch.
fn add_field(b: &mut Builder, ty: impl FnOnce(&mut Builder, TypeId) -> TypeId) -> TypeId {
    let int = b.int("int", 4, Builder::SIGNED);
    let ty = ty(b, int);
    b.structure("s", 64, &[("first", int, 0), ("x", ty, 64)])
}

/// A program that reads `x` with `bpf_probe_read_kernel` of this size, and then a word of the destination.
fn probing(bytes: i32, then: &[Insn], ty: impl FnOnce(&mut Builder, TypeId) -> TypeId) -> TestObject {
    let call = [
        insn(0xb7, 1, 0, 0, 8),
        insn(0xbf, 3, 6, 0, 0),
        insn(0x0f, 3, 1, 0, 0),
        insn(0xbf, 1, 10, 0, 0),
        insn(0x07, 1, 0, 0, -32),
        insn(0xb7, 2, 0, 0, bytes),
        insn(0x85, 0, 0, 0, 113),
    ];
    let mut m = program("tc", &[&[insn(0xbf, 6, 1, 0, 0)], &call[..], then].concat());
    let root = add_field(&mut m.types, ty);
    m.core_relo("tc", &[(1, root, "0:1", OFFSET)]);
    m
}

fn long(b: &mut Builder, _: TypeId) -> TypeId {
    b.int("long int", 8, Builder::SIGNED)
}

fn same(_: &mut Builder, int: TypeId) -> TypeId {
    int
}

#[test]
fn probe_reads_of_another_width() {
    let found = warnings(probing(4, &[], same), |b| {
        add_field(b, long);
    });
    assert_eq!(kinds(&found), [MismatchKind::Width]);
    assert_eq!(found[0].1[0], "struct s.x: the field has 8 bytes in the kernel, the program reads 4");
    let found = warnings(probing(4, &[], same), |b| {
        add_field(b, same);
    });
    assert_eq!(found, []);
}

#[test]
fn arrays_of_another_length() {
    let array = |len: u32| move |b: &mut Builder, int: TypeId| b.array(int, int, len);
    let found = warnings(probing(16, &[], array(4)), |b| {
        add_field(b, array(2));
    });
    assert_eq!(kinds(&found), [MismatchKind::ArrayLength]);
    assert_eq!(found[0].1[1..], ["int x[4]", "int x[2]"]);
}

#[test]
fn loads_of_another_sign_and_pointers_to_another_struct() {
    let loading = |ty: fn(&mut Builder, TypeId) -> TypeId| {
        let mut m = program("tc", &[load_half_word(2, 1, 8)]);
        let root = add_field(&mut m.types, ty);
        m.core_relo("tc", &[(0, root, "0:1", OFFSET)]);
        m
    };
    let unsigned = |b: &mut Builder, _: TypeId| b.int("unsigned int", 4, 0);
    let found = warnings(loading(unsigned), |b| {
        add_field(b, same);
    });
    assert_eq!(kinds(&found), [MismatchKind::Signedness]);
    let pointer = |name: &'static str| {
        move |b: &mut Builder, _: TypeId| {
            let forward = b.forward(name, Kind::Struct);
            b.pointer(forward)
        }
    };
    let found = warnings(probing(8, &[], pointer("page")), |b| {
        add_field(b, pointer("folio"));
    });
    assert_eq!(kinds(&found), [MismatchKind::Pointee]);
    assert_eq!(found[0].1[1..], ["struct page *x", "struct folio *x"]);
}

#[test]
fn renumbered_enumerators_that_are_compared_as_constants() {
    let enumeration =
        |value: i64| move |b: &mut Builder, _: TypeId| b.enumeration("e", 4, &[("A", 0), ("B", value)]);
    // if ((u32)x == 1) goto +0
    let then = [load_half_word(1, 10, -32), insn(0x15, 1, 0, 0, 1)];
    let found = warnings(probing(4, &then, enumeration(1)), |b| {
        add_field(b, enumeration(2));
    });
    assert_eq!(kinds(&found), [MismatchKind::EnumValue]);
    assert_eq!(found[0].1[1..], ["enum e { B = 1 }", "enum e { B = 2 }"]);
    let same_values = warnings(probing(4, &then, enumeration(1)), |b| {
        add_field(b, enumeration(1));
    });
    assert_eq!(same_values, []);
}

#[test]
fn dead_code_has_no_warnings() {
    let object = |is_dead: bool| {
        let code = if is_dead { 0x15 } else { 0x55 };
        program("raw_tp/t", &[insn(0xb7, 6, 0, 0, 0), insn(code, 6, 0, 1, 0), load_word(2, 1, 8)])
    };
    let kernel = |b: &mut Builder| tracepoint(b, "t", &[]);
    assert_eq!(kinds(&warnings(object(false), kernel)), [MismatchKind::Prototype]);
    assert_eq!(warnings(object(true), kernel), []);
}

#[test]
fn tracepoints_and_unions() {
    let m = program("raw_tp/t", &[load_word(2, 1, 8)]);
    let found = warnings(m, |b| {
        let int = b.int("int", 4, Builder::SIGNED);
        let void = b.pointer(TypeId(0));
        let proto = b.func_proto(int, &[("__data", void), ("x", int)]);
        let pointer = b.pointer(proto);
        b.typedef("btf_trace_t", pointer);
        let member = core_relo::btf::BuiltMember { name: "x", ty: int, bit_offset: 0, bitfield_bits: 0 };
        b.composite(Kind::Union, "u", 4, &[member]);
    });
    assert_eq!(kinds(&found), [MismatchKind::Prototype]);
}
