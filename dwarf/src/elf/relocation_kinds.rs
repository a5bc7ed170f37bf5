//! The kinds of relocations in debug sections, by architecture.

use object::{Relocation, RelocationFlags, RelocationKind, elf};

/// What a relocation does to a debug section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelocationEffect {
    /// Nothing on which a type depends: a difference of addresses, or an offset in thread-local storage.
    None,
    /// Adds the value of the symbol to a word of 32 or 64 bits.
    Absolute { bits: u8 },
}

/// Returns the effect of a relocation, or the number of an unknown kind.
///
/// Names and references between units are relocated in object files, so that a skipped relocation would be a
/// wrong name.
pub(super) fn effect(machine: elf::Machine, relocation: &Relocation) -> Result<RelocationEffect, u32> {
    let RelocationFlags::Elf { r_type } = relocation.flags() else { return Err(u32::MAX) };
    match (relocation.kind(), relocation.size()) {
        (RelocationKind::Absolute, bits @ (32 | 64)) => Ok(RelocationEffect::Absolute { bits }),
        (RelocationKind::Absolute, _) => Err(r_type.0),
        (RelocationKind::Unknown, _) => unknown_effect(machine, r_type).ok_or(r_type.0),
        _ => Ok(RelocationEffect::None),
    }
}

/// The kinds of `EM_BPF` in debug sections (kernel: Documentation/bpf/llvm_reloc.rst).
const R_BPF_64_ABS64: elf::RelocationType = elf::RelocationType(2);
const R_BPF_64_ABS32: elf::RelocationType = elf::RelocationType(3);
const R_BPF_64_NODYLD32: elf::RelocationType = elf::RelocationType(4);

/// Returns the effect of a kind that the parser does not know.
fn unknown_effect(machine: elf::Machine, kind: elf::RelocationType) -> Option<RelocationEffect> {
    let is_between =
        |first: elf::RelocationType, last: elf::RelocationType| (first.0..=last.0).contains(&kind.0);
    let has_no_effect = match machine {
        elf::EM_BPF => match kind {
            R_BPF_64_ABS64 => return Some(RelocationEffect::Absolute { bits: 64 }),
            R_BPF_64_ABS32 | R_BPF_64_NODYLD32 => return Some(RelocationEffect::Absolute { bits: 32 }),
            _ => false,
        },
        elf::EM_RISCV => {
            is_between(elf::R_RISCV_TLS_DTPREL32, elf::R_RISCV_TLS_DTPREL64)
                || is_between(elf::R_RISCV_ADD8, elf::R_RISCV_SUB64)
                || is_between(elf::R_RISCV_RELAX, elf::R_RISCV_32_PCREL)
                || is_between(elf::R_RISCV_SET_ULEB128, elf::R_RISCV_SUB_ULEB128)
                || kind == elf::R_RISCV_ALIGN
        }
        elf::EM_LOONGARCH => {
            is_between(elf::R_LARCH_TLS_DTPREL32, elf::R_LARCH_TLS_DTPREL64)
                || is_between(elf::R_LARCH_ADD8, elf::R_LARCH_SUB64)
                || is_between(elf::R_LARCH_ADD6, elf::R_LARCH_SUB_ULEB128)
                || [elf::R_LARCH_32_PCREL, elf::R_LARCH_RELAX, elf::R_LARCH_ALIGN].contains(&kind)
        }
        elf::EM_X86_64 => [elf::R_X86_64_DTPOFF32, elf::R_X86_64_DTPOFF64].contains(&kind),
        elf::EM_386 => kind == elf::R_386_TLS_LDO_32,
        elf::EM_AARCH64 => kind == elf::R_AARCH64_TLS_DTPREL,
        elf::EM_ARM => kind == elf::R_ARM_TLS_LDO32,
        elf::EM_S390 => [elf::R_390_TLS_LDO32, elf::R_390_TLS_LDO64].contains(&kind),
        elf::EM_PPC => kind == elf::R_PPC_DTPREL32,
        elf::EM_PPC64 => kind == elf::R_PPC64_DTPREL64,
        elf::EM_MIPS => [elf::R_MIPS_TLS_DTPREL32, elf::R_MIPS_TLS_DTPREL64].contains(&kind),
        elf::EM_SPARCV9 => [elf::R_SPARC_TLS_DTPOFF32, elf::R_SPARC_TLS_DTPOFF64].contains(&kind),
        _ => false,
    };
    // Zero is the kind that does nothing, whatever the architecture.
    (has_no_effect || kind.0 == 0).then_some(RelocationEffect::None)
}
