//! The macros of libbpf's `bpf_tracing.h` that hide the names of registers, such as `PT_REGS_PARM1(ctx)`.

use super::word_search::find_words_with_prefix;

/// The structs with a member for each saved register.
const REGISTER_STRUCTS: [&[u8]; 3] = [b"pt_regs", b"user_pt_regs", b"user_regs_struct"];

/// The arrays of registers of arm64 and LoongArch, s390, PowerPC, 32-bit ARM, and SPARC. Their elements have
/// no names that tell the macros apart.
const REGISTER_ARRAYS: [&[u8]; 5] = [b"regs", b"gprs", b"gpr", b"uregs", b"u_regs"];

/// A macro and the registers that it reads. Variants of a macro have a suffix, as `PT_REGS_PARM1_CORE`.
struct RegisterMacro {
    name: &'static [u8],
    registers: &'static [&'static [u8]],
}

const fn reads(name: &'static [u8], registers: &'static [&'static [u8]]) -> RegisterMacro {
    RegisterMacro { name, registers }
}

/// The registers of x86-64, by their names in the kernel and in user space, those of RISC-V, and the
/// instruction pointers and first arguments outside the arrays of the other architectures.
const MACROS: [RegisterMacro; 13] = [
    reads(b"PT_REGS_PARM1", &[b"di", b"rdi", b"a0", b"orig_a0", b"orig_x0", b"orig_gpr2"]),
    reads(b"PT_REGS_PARM2", &[b"si", b"rsi", b"a1"]),
    reads(b"PT_REGS_PARM3", &[b"dx", b"rdx", b"a2"]),
    reads(b"PT_REGS_PARM4", &[b"cx", b"rcx", b"r10", b"a3"]),
    reads(b"PT_REGS_PARM5", &[b"r8", b"a4"]),
    reads(b"PT_REGS_PARM6", &[b"r9", b"a5"]),
    reads(b"PT_REGS_PARM7", &[b"a6"]),
    reads(b"PT_REGS_PARM8", &[b"a7"]),
    reads(b"PT_REGS_RC", &[b"ax", b"rax", b"a0"]),
    reads(b"PT_REGS_RET", &[b"sp", b"rsp", b"ra"]),
    reads(b"PT_REGS_SP", &[b"sp", b"rsp"]),
    reads(b"PT_REGS_FP", &[b"bp", b"rbp", b"s0"]),
    reads(b"PT_REGS_IP", &[b"ip", b"rip", b"pc", b"nip", b"addr", b"csr_era", b"tpc"]),
];

/// Returns whether a struct has a member for each saved register.
pub(crate) fn is_register_struct(essential_name: &[u8]) -> bool {
    REGISTER_STRUCTS.contains(&essential_name)
}

/// Returns whether a line of C reads a register by its macro.
pub(super) fn has_register_macro(text: &[u8], register: &[u8]) -> bool {
    let is_array = REGISTER_ARRAYS.contains(&register);
    let mut macros = MACROS.iter().filter(|row| is_array || row.registers.contains(&register));
    macros.any(|row| {
        let mut rests = find_words_with_prefix(text, row.name);
        rests.any(|rest| rest.first().is_none_or(|byte| !byte.is_ascii_alphanumeric()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_is_read_by_its_macro_and_its_variants() {
        for text in
            ["f(PT_REGS_PARM1(ctx));", "x = PT_REGS_PARM1_CORE(ctx);", "PT_REGS_PARM1_CORE_SYSCALL(r)"]
        {
            assert!(has_register_macro(text.as_bytes(), b"di"), "{text}");
            assert!(has_register_macro(text.as_bytes(), b"a0"), "{text}");
            assert!(has_register_macro(text.as_bytes(), b"regs"), "an array: {text}");
            assert!(!has_register_macro(text.as_bytes(), b"si"), "{text}");
        }
        assert!(has_register_macro(b"return PT_REGS_RC(ctx);", b"a0"));
        assert!(has_register_macro(b"return PT_REGS_IP(ctx);", b"nip"));
        for text in ["PT_REGS_PARM10(ctx)", "MY_PT_REGS_PARM1(ctx)", "PT_REGS(ctx)", ""] {
            assert!(!has_register_macro(text.as_bytes(), b"di"), "{text}");
        }
    }

    #[test]
    fn structs_of_registers_are_known_by_name() {
        assert!([&b"pt_regs"[..], b"user_pt_regs", b"user_regs_struct"].into_iter().all(is_register_struct));
        assert!(!is_register_struct(b"sk_buff"));
    }
}
