//! Verdicts on objects that read the registers of another architecture.

use super::*;

/// Judges an object that reads a register, on a kernel with this register. `object_has` adds a register to
/// the object's declaration.
fn judge_registers(read: &str, object_has: Option<&str>, kernel_has: &str) -> ObjectVerdict {
    let mut m = program("tc", &[insn(0x79, 1, 1, 0, 0), insn(0xb7, 0, 0, 0, 0), insn(0x95, 0, 0, 0, 0)]);
    let long = m.types.int("unsigned long", 8, 0);
    let mut members = vec![(read, long, 0)];
    members.extend(object_has.map(|name| (name, long, 64)));
    let size = if members.len() == 1 { 8 } else { 16 };
    let registers = m.types.structure("pt_regs", size, &members);
    m.core_relo("tc", &[(0, registers, "0:0", 0)]);
    let kernel = |b: &mut Builder| {
        add_kernel(b);
        let long = b.int("unsigned long", 8, 0);
        b.structure("pt_regs", 8, &[(kernel_has, long, 0)]);
    };
    judge_on(m, kernel, &KernelInputs::default())
}

#[test]
fn registers_of_another_architecture_are_one_reason() {
    let text = "the object is compiled for x86_64, the kernel is for aarch64";
    // The object declares all registers, or only the one that it reads.
    for (read, object_has) in [("di", Some("r15")), ("di", None), ("ax", None), ("orig_ax", None)] {
        let verdict = judge_registers(read, object_has, "orig_x0");
        assert_eq!(worst(&verdict), (Verdict::Refused, Some((ReasonKind::Architecture, text))), "{read}");
        let reason = &verdict.programs[0].reasons[0];
        assert_eq!(reason.requirement, None, "no field is advised");
        assert!(reason.fix.as_ref().is_some_and(|fix| fix.contains("for aarch64")), "{reason:?}");
    }
}

#[test]
fn other_missing_registers_are_relocations() {
    // The architecture of the object or of the kernel is unknown, or they are the same.
    for (read, object_has, kernel_has) in
        [("unheard_of", None, "orig_x0"), ("di", None, "unheard_of"), ("di", Some("r15"), "r15")]
    {
        let verdict = judge_registers(read, object_has, kernel_has);
        assert_eq!(
            worst(&verdict).1.map(|(kind, _)| kind),
            Some(ReasonKind::Relocation),
            "{read} {kernel_has}"
        );
    }
}
