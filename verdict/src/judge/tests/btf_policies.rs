//! Verdicts for loaders that treat the object's BTF in different ways.

use super::*;
use crate::mismatch::MismatchKind;

/// Judges an object for a loader, on a kernel whose release is known.
fn judge_bytes_for(loader: LoaderKind, bytes: &[u8]) -> ObjectVerdict {
    let inputs = KernelInputs { version: Some(KernelVersion::release(6, 12)), ..KernelInputs::default() };
    judge_for(loader, bytes, add_kernel, &inputs, None)
}

/// Returns the worst verdict on the first program that comes from BTF, with its text, and the number of
/// warnings about BTF.
fn btf_result(loader: LoaderKind, bytes: &[u8]) -> (Option<(Verdict, String)>, usize) {
    let verdict = judge_bytes_for(loader, bytes);
    let mut reasons = verdict.programs[0].reasons.iter().filter(|reason| reason.kind == ReasonKind::Btf);
    let reason = reasons.next().map(|reason| (reason.verdict, reason.text.clone()));
    let warnings = verdict.warnings.iter().filter(|warning| warning.kind == MismatchKind::Btf);
    (reason, warnings.count())
}

/// aya gives names to parameters and takes those of pointers away. It counted as a loader that repairs
/// everything.
#[test]
fn aya_repairs_pointers_and_parameters_only() {
    let mut m = program("xdp", &returns(0));
    let proto = m.types.func_proto(m.int, &[("", m.int)]);
    m.types.func("callee", proto, 0);
    let unnamed = m.bytes();
    assert_eq!(btf_result(LoaderKind::Libbpf, &unnamed), (None, 1));
    assert_eq!(btf_result(LoaderKind::Aya, &unnamed), (None, 0));
    let mut m = program("xdp", &returns(0));
    m.types.structure("Option<u32>", 0, &[]);
    assert_eq!(btf_result(LoaderKind::Aya, &m.bytes()), (None, 1));
}

/// aya replaces each `/` in the name of a data section, which kernels before 6.12 refuse.
#[test]
fn aya_repairs_the_names_of_data_sections() {
    let inputs = KernelInputs { version: Some(KernelVersion::release(5, 10)), ..KernelInputs::default() };
    let about_btf = |section: &str| {
        let mut m = program("fentry/vfs_read", &returns(0));
        let variable = m.types.var("v", m.int, 0);
        m.types.datasec(section, 4, &[(variable, 0, 4)]);
        let verdict = judge_for(LoaderKind::Aya, &m.bytes(), add_unmarked_kernel, &inputs, None);
        verdict.programs[0].reasons.iter().filter(|reason| reason.kind == ReasonKind::Btf).count()
    };
    assert_eq!(about_btf("maps hash"), 1);
    assert_eq!(about_btf("maps/hash"), 0);
}

/// aya goes on without BTF only if it has no CO-RE relocations to apply, and no program that needs the BTF.
#[test]
fn aya_refuses_objects_of_tracing_programs_without_btf() {
    let mut m = program("xdp", &returns(0));
    m.program("traced", "fentry/vfs_read", &returns(0));
    m.types.structure("Option<u32>", 0, &[]);
    let bytes = m.bytes();
    let (Some((Verdict::Refused, text)), 0) = btf_result(LoaderKind::Aya, &bytes) else {
        panic!("{:?}", judge_bytes_for(LoaderKind::Aya, &bytes))
    };
    let start = "aya's load of an object with tracing programs needs BTF, which the kernel refuses: type [";
    assert!(text.starts_with(start), "{text}");
    let reasons = &judge_bytes_for(LoaderKind::Aya, &bytes).programs[0].reasons;
    assert!(reasons.iter().all(|reason| reason.is_repaired), "{reasons:?}");
    assert_eq!(btf_result(LoaderKind::Libbpf, &bytes), (None, 1));
}

/// cilium/ebpf sends the types of a map or program only, and does not go on without them.
#[test]
fn cilium_is_refused_for_the_types_of_maps_and_programs_only() {
    let with_value = |is_used: bool| {
        let mut m = program("xdp", &returns(0));
        let option = m.types.structure("Option<u32>", 4, &[("value", m.int, 0)]);
        let other = m.types.structure("other", 4, &[("value", m.int, 0)]);
        let (key, value) = (m.int, if is_used { option } else { other });
        m.typed_map("m", &[("type", 1), ("max_entries", 1)], key, value);
        m.bytes()
    };
    let (Some((Verdict::Refused, text)), 0) = btf_result(LoaderKind::Cilium, &with_value(true)) else {
        panic!("{:?}", judge_bytes_for(LoaderKind::Cilium, &with_value(true)))
    };
    let start = "map m: cilium/ebpf sends a type that the kernel refuses: type [";
    assert!(text.starts_with(start) && text.contains("STRUCT `Option<u32>`"), "{text}");
    assert_eq!(btf_result(LoaderKind::Cilium, &with_value(false)), (None, 0));
    assert_eq!(btf_result(LoaderKind::Libbpf, &with_value(true)), (None, 1));
}

/// A prototype is sent with the program that has it.
#[test]
fn cilium_is_refused_for_the_functions_of_the_program() {
    let with_function = |is_main: bool| {
        let mut m = TestObject::new();
        m.program("main", "xdp", &returns(0));
        let proto = m.types.func_proto(m.int, &[("", m.int)]);
        let unnamed = m.types.func("unnamed", proto, 1);
        let main = m.func_type("main", 1);
        m.func_info("xdp", &[(0, if is_main { unnamed } else { main })]);
        m.bytes()
    };
    let (Some((Verdict::Refused, text)), 0) = btf_result(LoaderKind::Cilium, &with_function(true)) else {
        panic!("{:?}", judge_bytes_for(LoaderKind::Cilium, &with_function(true)))
    };
    assert!(text.starts_with("the program: cilium/ebpf sends a type that the kernel refuses: "), "{text}");
    assert_eq!(btf_result(LoaderKind::Cilium, &with_function(false)), (None, 0));
}

/// aya shortens the name of a map only, and cilium/ebpf removes characters that the kernel refuses. aya
/// counted as cilium/ebpf does.
#[test]
fn names_that_the_kernel_refuses_are_reasons_for_loaders_that_keep_them() {
    let mut m = program("xdp", &returns(0));
    m.map("a-b", &[("type", 1), ("key_size", 4), ("value_size", 4), ("max_entries", 1)], None);
    let bytes = m.bytes();
    let is_refused = |loader: &LoaderKind| {
        let verdict = judge_bytes_for(*loader, &bytes);
        verdict.programs[0].reasons.iter().any(|reason| reason.text.starts_with("map a-b: its name"))
    };
    let refused: Vec<_> = LoaderKind::ALL.iter().copied().filter(is_refused).collect();
    assert_eq!(refused, [LoaderKind::Libbpf, LoaderKind::Aya]);
}

/// Nothing tells where aya moves the records of functions that it links.
#[test]
fn lines_out_of_order_leave_ayas_load_open() {
    let mut m = TestObject::new();
    m.program("main", "xdp", &returns(0));
    let main = m.func_type("main", 1);
    m.func_info("xdp", &[(0, main)]);
    m.line_info("xdp", &[(1, 2), (0, 1)]);
    let bytes = m.bytes();
    let verdict = |loader| btf_result(loader, &bytes).0.map(|(verdict, _)| verdict);
    assert_eq!(verdict(LoaderKind::Libbpf), Some(Verdict::Refused));
    assert_eq!(verdict(LoaderKind::Aya), Some(Verdict::Unknown));
    assert_eq!([verdict(LoaderKind::CoreRelo), verdict(LoaderKind::Cilium)], [None, None]);
}
