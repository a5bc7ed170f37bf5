//! The privileges of this process: its capabilities for BPF, and the one that is missing behind an `EPERM` or
//! `EACCES` of the kernel.

mod capability;

pub use capability::Capability;

use std::fs;

/// Bits of `CapEff` in `/proc/PID/status` (`include/uapi/linux/capability.h`).
const NET_ADMIN: u64 = 1 << 12;
const SYS_ADMIN: u64 = 1 << 21;
const PERFMON: u64 = 1 << 38;
const BPF: u64 = 1 << 39;

/// Returns whether this process is in a user namespace, where capabilities count only with a BPF token.
pub fn is_in_user_namespace() -> bool {
    fs::read_to_string("/proc/self/uid_map").is_ok_and(|uid_map| is_mapped(&uid_map))
}

/// The likely reason why bpf(2) failed with `EPERM` in a process that lacks no capability.
const POLICY: &str = "this process has the capabilities, so it is something else: a policy (lockdown, an LSM, seccomp), or this kernel was built \
                      without it";

/// Returns the likely reason why bpf(2) failed with `EPERM`.
pub(crate) fn missing_privilege() -> &'static str {
    missing_privilege_or(POLICY)
}

/// Returns the likely reason why bpf(2) failed with `EPERM`, although a BPF token delegates the request. The
/// capabilities that count are those in the user namespace of the token.
pub(crate) fn missing_privilege_with_token() -> &'static str {
    thread_capabilities().and_then(missing_capabilities).unwrap_or(POLICY)
}

/// Returns whether this thread has all capabilities for BPF, so that an `EPERM` of bpf(2) has another cause.
pub(crate) fn has_all_privileges() -> bool {
    missing_privilege_or("").is_empty()
}

/// Returns the likely reason why a system call failed with `EPERM`, or `otherwise` if this thread lacks no
/// capability.
pub(crate) fn missing_privilege_or(otherwise: &'static str) -> &'static str {
    // Without `/proc` the reason stays general.
    match thread_capabilities() {
        Some(_) if is_in_user_namespace() => {
            "this process is in a user namespace, where capabilities do not count for BPF: it needs a BPF token, \
             from a bpffs mounted with `delegate_…` options"
        }
        Some(caps) => missing_capabilities(caps).unwrap_or(otherwise),
        None => "needs CAP_BPF, and CAP_PERFMON for tracing or CAP_NET_ADMIN for networking",
    }
}

fn missing_capabilities(caps: u64) -> Option<&'static str> {
    let has = |cap| caps & (cap | SYS_ADMIN) != 0;
    Some(match (has(BPF), has(PERFMON), caps & NET_ADMIN != 0) {
        (false, false, false) => {
            "this process lacks CAP_BPF, and CAP_PERFMON for tracing or CAP_NET_ADMIN for networking"
        }
        (false, false, true) => "this process lacks CAP_BPF, and CAP_PERFMON for tracing",
        (false, true, false) => "this process lacks CAP_BPF, and CAP_NET_ADMIN for networking",
        (false, true, true) => "this process lacks CAP_BPF",
        (true, false, false) => "this process lacks CAP_PERFMON for tracing and CAP_NET_ADMIN for networking",
        (true, false, true) => "this process lacks CAP_PERFMON, for tracing",
        (true, true, false) => "this process lacks CAP_NET_ADMIN, for networking",
        (true, true, true) => return None,
    })
}

/// Returns the capabilities of this thread: each thread has its own. Returns `None` if `/proc` does not tell.
fn thread_capabilities() -> Option<u64> {
    effective_capabilities(&fs::read_to_string("/proc/thread-self/status").ok()?)
}

fn effective_capabilities(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|l| l.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Returns whether a user namespace maps user ids.
fn is_mapped(uid_map: &str) -> bool {
    let first: Vec<_> = uid_map.split_whitespace().collect();
    !first.is_empty() && first != ["0", "0", "4294967295"]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_capability_is_named_and_sys_admin_stands_for_two() {
        assert_eq!(missing_capabilities(0), missing_capabilities(1));
        let text = |caps| missing_capabilities(caps).unwrap_or("nothing");
        assert!(text(NET_ADMIN | PERFMON).ends_with("lacks CAP_BPF"));
        assert!(text(SYS_ADMIN).ends_with("lacks CAP_NET_ADMIN, for networking"));
        assert!(text(BPF | NET_ADMIN).contains("CAP_PERFMON"));
        assert_eq!(missing_capabilities(SYS_ADMIN | NET_ADMIN), None);
    }

    #[test]
    fn status_and_uid_map_are_parsed() {
        let status = "Name:\tx\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n";
        assert_eq!(effective_capabilities(status), Some(0x1ff_ffff_ffff));
        assert_eq!(effective_capabilities("Name:\tx\n"), None);
        assert!(!is_mapped("         0          0 4294967295\n") && !is_mapped(""));
        assert!(is_mapped("         0       1000          1\n"));
    }
}
