//! Objects that are compiled for another architecture than the kernel's. Their accesses to saved registers do
//! not resolve.

use super::model::{Reason, ReasonKind, Verdict};
use crate::kernel::{Evidence, EvidenceSource, KernelFacts};
use core_relo::{
    ByteSize,
    btf::{Btf, field_path},
    plan::PlannedReloc,
};
use core_relo_object::target::find_architecture_with;

/// The structs of saved registers.
const STRUCTS: [&str; 2] = ["pt_regs", "user_pt_regs"];

/// The fields of `struct user_pt_regs` that each architecture has and no other.
const USER_REGISTERS: [(&str, &str); 3] = [
    ("user_pt_regs.pstate", "aarch64"),
    ("user_pt_regs.csr_era", "loongarch64"),
    ("user_pt_regs.gprs", "s390x"),
];

/// The registers of x86-64 that have a name of their own there. An object may declare only those that it
/// reads.
const X86_REGISTERS: [&str; 20] = [
    "r15", "r14", "r13", "r12", "r11", "r10", "r9", "r8", "bp", "bx", "ax", "cx", "dx", "si", "di",
    "orig_ax", "ip", "cs", "flags", "ss",
];

/// Returns the reason of a relocation that does not resolve because the object reads the registers of another
/// architecture. `access` is the access as C names it. Returns `None` for other relocations.
pub(super) fn reason(planned: &PlannedReloc<'_>, access: &str, facts: &KernelFacts<'_>) -> Option<Reason> {
    let path = access.strip_prefix("struct ").unwrap_or(access);
    let (root, member) = path.split_once('.')?;
    if !STRUCTS.contains(&root) {
        return None;
    }
    let types = &planned.target().vmlinux().btf;
    let kernel = facts.architecture(types)?;
    let object = object_architecture(planned.btf(), types.pointer_size(), member)?;
    if object == kernel {
        return None;
    }
    let text = format!("the object is compiled for {object}, the kernel is for {kernel}");
    let evidence = Evidence { source: EvidenceSource::Btf, text: format!("the registers in struct {root}") };
    let fix = format!(
        "compile the object for {kernel}, by -D__TARGET_ARCH_… and its vmlinux.h, or check it on kernels for {object}"
    );
    Some(Reason::new(ReasonKind::Architecture, Verdict::Refused, text).with_evidence(evidence).with_fix(fix))
}

/// Returns the architecture for which an object is compiled, from its declarations of registers and the one
/// that it reads. The object does not tell whether the kernel's pointers have 4 or 8 bytes.
fn object_architecture(btf: &Btf<'_>, pointer_size: ByteSize, member: &str) -> Option<&'static str> {
    let user = || USER_REGISTERS.into_iter().find(|(path, _)| field_path(btf, path).is_ok());
    find_architecture_with(btf, pointer_size)
        .or_else(|| user().map(|(_, architecture)| architecture))
        .or_else(|| X86_REGISTERS.contains(&member).then_some("x86_64"))
}
