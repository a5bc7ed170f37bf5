//! Names that are no part of a skeleton's interface: compilers make them, or they are between headers and the
//! loader.

use core_relo_object::load_plan::USDT_MAPS;

/// The configuration values of libbpf's headers, which the loader computes.
const LOADER_VALUES: [&str; 2] = ["LINUX_HAS_BPF_COOKIE", "LINUX_HAS_SYSCALL_WRAPPER"];

/// Returns whether a variable is not the author's.
///
/// Compilers name static variables of functions, such as the format strings of `bpf_printk`, with a dot:
/// `on_exec.format`.
pub(super) fn is_internal_variable(name: &str) -> bool {
    name.contains('.') || LOADER_VALUES.contains(&name)
}

/// Returns whether a map belongs to `usdt.bpf.h` and the loader.
pub(super) fn is_internal_map(name: &[u8]) -> bool {
    USDT_MAPS.iter().any(|map| map.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_compilers_and_of_the_loader_are_internal() {
        for name in ["on_exec.____fmt", "on_state_body.zero", "copy.llvm.12", "LINUX_HAS_BPF_COOKIE"] {
            assert!(is_internal_variable(name), "{name}");
        }
        for name in ["only_pid", "on_state_body_zero", "LINUX_KERNEL_VERSION", "CONFIG_HZ"] {
            assert!(!is_internal_variable(name), "{name}");
        }
        assert!(is_internal_map(b"__bpf_usdt_specs") && !is_internal_map(b"specs"));
    }
}
