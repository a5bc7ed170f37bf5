//! Kernel type names that depend on the architecture.

/// The name of the struct behind `bpf_user_pt_regs_t` (`asm/bpf_perf_event.h`).
pub(crate) const USER_REGS: &[u8] = if cfg!(any(
    target_arch = "aarch64",
    target_arch = "s390x",
    target_arch = "powerpc",
    target_arch = "powerpc64",
    target_arch = "loongarch64"
)) {
    b"user_pt_regs"
} else if cfg!(target_arch = "riscv64") {
    b"user_regs_struct"
} else {
    b"pt_regs"
};
