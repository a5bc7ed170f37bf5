//! What differs between machines.

/// What the kernel puts before a system call's function, as in `__x64_sys_open`; nothing where it does not, or it is not known
/// (libbpf: `arch_specific_syscall_pfx`).
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
