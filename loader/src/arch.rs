//! Constants that depend on the architecture.

/// The architecture's name in the functions of system calls, such as `__x64_sys_open`. `None` if libbpf knows
/// no such name (libbpf: `arch_specific_syscall_pfx`).
pub(crate) const SYSCALL_PREFIX: Option<&str> = if cfg!(target_arch = "x86_64") {
    Some("x64")
} else if cfg!(target_arch = "x86") {
    Some("ia32")
} else if cfg!(target_arch = "s390x") {
    Some("s390x")
} else if cfg!(target_arch = "aarch64") {
    Some("arm64")
} else if cfg!(target_arch = "arm") {
    Some("arm")
} else if cfg!(target_arch = "riscv64") {
    Some("riscv")
} else if cfg!(any(target_arch = "powerpc", target_arch = "powerpc64")) {
    Some("powerpc")
} else if cfg!(any(target_arch = "mips", target_arch = "mips64")) {
    Some("mips")
} else {
    None
};
