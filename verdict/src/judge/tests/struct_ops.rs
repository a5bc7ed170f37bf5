//! Verdicts on struct_ops maps whose members the kernel's struct lacks.

use super::*;
use core_relo_object::test_support::{SectionKind, SymbolKind};

/// Creates an object with a map of `struct ops`: a program in `first`, and a number in `second`.
fn table(second: u32) -> TestObject {
    table_of(second, &returns(0))
}

/// Creates the object with these instructions as the program.
fn table_of(second: u32, insns: &[Insn]) -> TestObject {
    let mut m = TestObject::new();
    let (int, order) = (m.int, Endian::native());
    let proto = m.types.func_proto(int, &[]);
    let pointer = m.types.pointer(proto);
    let ty = m.types.structure("ops", 16, &[("first", pointer, 0), ("second", int, 64)]);
    let var = m.types.var("mine", ty, 1);
    m.types.datasec(".struct_ops", 0, &[(var, 0, 16)]);
    let mut bytes = vec![0; 8];
    order.put_u32(&mut bytes, second);
    bytes.extend([0; 4]);
    let data = m.section(".struct_ops", SectionKind::Data, &bytes);
    m.symbol("mine", SymbolKind::Data, data, 0, 16);
    let code = m.code("struct_ops/one", insns);
    let program = m.function("one", code, 0, u64::try_from(insns.len()).unwrap());
    m.reloc(data, 0, program, 2);
    m
}

/// Judges an object on a kernel whose `struct ops` has the member `first`, and more.
fn judge_ops(object: TestObject, more: &[(&str, u32)], is_complete: bool) -> ObjectVerdict {
    let types = |b: &mut Builder| {
        let int = b.int("int", 4, Builder::SIGNED);
        let proto = b.func_proto(int, &[("x", int)]);
        let pointer = b.pointer(proto);
        let mut members = vec![("first", pointer, 0)];
        members.extend(more.iter().map(|(name, offset)| (*name, int, *offset)));
        let ops = b.structure("ops", 32, &members);
        b.structure("bpf_struct_ops_ops", 64, &[("data", ops, 0)]);
        b.enumeration("bpf_map_type", 4, &[("BPF_MAP_TYPE_STRUCT_OPS", 26)]);
        b.enumeration("bpf_prog_type", 4, &[("BPF_PROG_TYPE_STRUCT_OPS", 27)]);
        b.structure("bpf_ctx_convert", 4, &[("BPF_PROG_TYPE_STRUCT_OPS_prog", int, 0)]);
        if is_complete {
            for name in ["bpf_struct_ops_map_alloc", "bpf_check", "array_map_alloc", "htab_map_alloc"] {
                b.func(name, proto, 1);
            }
        }
    };
    judge_on(object, types, &KernelInputs::default())
}

/// Returns the reasons of the kind `struct_ops`.
fn struct_ops_reasons(verdict: &ObjectVerdict) -> Vec<(Verdict, &str)> {
    let reasons = verdict.programs[0].reasons.iter();
    let of_kind = reasons.filter(|reason| reason.kind == ReasonKind::StructOps);
    of_kind.map(|reason| (reason.verdict, &*reason.text)).collect()
}

#[test]
fn a_member_that_is_not_0_must_be_one_of_the_kernels_struct() {
    let text = "map `mine`: member `second`: it is not 0, and the kernel's struct ops has no such member";
    let refused = judge_ops(table(7), &[], true);
    assert_eq!(struct_ops_reasons(&refused), [(Verdict::Refused, text)]);
    let requirements: Vec<_> = refused.programs[0].reasons.iter().map(|reason| reason.requirement).collect();
    assert!(
        matches!(requirements[..], [Some(Requirement::StructOpsMember { member: 1, .. })]),
        "the advice is to clear the member: {requirements:?}"
    );
    // libbpf leaves out a member that is 0.
    assert_eq!(struct_ops_reasons(&judge_ops(table(0), &[], true)), []);
    assert_eq!(struct_ops_reasons(&judge_ops(table(7), &[("second", 64)], true)), []);
}

#[test]
fn programs_read_the_arguments_of_their_member_only() {
    // r2 = *(u64 *)(r1 + off), *(u64 *)(r1 + 0) = r2.
    let read = |off| insn(0x79, 2, 1, off, 0);
    let write = insn(0x7b, 1, 1, 0, 0);
    let context = |access: Insn| {
        let object = table_of(0, &[&[access][..], &returns(0)].concat());
        let verdict = judge_ops(object, &[], true);
        let mut reasons = verdict.programs[0].reasons.iter();
        let found = reasons.find(|reason| reason.kind == ReasonKind::Context);
        found.map(|reason| (reason.verdict, reason.text.clone()))
    };
    let refused = |text: &str| Some((Verdict::Refused, text.to_owned()));
    assert_eq!(context(read(0)), None);
    assert_eq!(
        context(read(8)),
        refused("argument 2 of ops.first does not exist: the kernel's declaration has 1 argument")
    );
    let text =
        "writes 8 bytes at offset 0 of its context, which programs of type BPF_PROG_TYPE_STRUCT_OPS may not";
    assert_eq!(context(write), refused(text));
}

#[test]
fn reduced_btf_does_not_refuse_a_member() {
    let reduced = judge_ops(table(7), &[], false);
    let reasons = struct_ops_reasons(&reduced);
    assert!(matches!(reasons[..], [(Verdict::Unknown, text)] if text.ends_with("is reduced")), "{reasons:?}");
}

#[test]
fn data_of_user_space_replaces_that_of_the_object() {
    let bytes = table(7).bytes();
    let object = Object::parse(&bytes).unwrap();
    let relocs = object.relocs().unwrap();
    let mut table = NeedTable::default();
    let mut needs = ObjectNeeds::collect(&object, &relocs, &mut table).unwrap();
    needs.set_data("mine", vec![0; 16]);
    let mut b = Builder::new(Endian::native());
    add_kernel(&mut b);
    let int = b.int("int", 4, Builder::SIGNED);
    let proto = b.func_proto(int, &[]);
    let pointer = b.pointer(proto);
    let ops = b.structure("ops", 8, &[("first", pointer, 0)]);
    b.structure("bpf_struct_ops_ops", 8, &[("data", ops, 0)]);
    let target = Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()));
    let inputs = KernelInputs::default();
    let answers = KernelAnswers::new(&table, &target, &inputs);
    let verdict = judge(&needs, &Plan::new(&relocs, &target), &answers).unwrap();
    assert_eq!(struct_ops_reasons(&verdict), []);
}
