//! What this process may not do: said where the kernel only says EPERM.

use std::fs;

/// Bits of `CapEff` in `/proc/PID/status` (`include/uapi/linux/capability.h`).
const NET_ADMIN: u64 = 1 << 12;
const SYS_ADMIN: u64 = 1 << 21;
const PERFMON: u64 = 1 << 38;
const BPF: u64 = 1 << 39;

/// Why the kernel may have answered EPERM, and what to do.
pub(crate) fn lacking() -> &'static str {
    lacking_or(
        "this process has the capabilities, so it is something else: a policy (lockdown, an LSM, seccomp), or this kernel was built \
         without it",
    )
}

/// The same, with what it is if no capability is missing.
pub(crate) fn lacking_or(something_else: &'static str) -> &'static str {
    // Capabilities are a thread's.
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let uid_map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    match effective(&status) {
        Some(_) if is_mapped(&uid_map) => {
            "this process is in a user namespace, where capabilities do not count for BPF: it needs a BPF token, \
             from a bpffs mounted with `delegate_…` options"
        }
        Some(caps) => missing(caps).unwrap_or(something_else),
        None => "needs CAP_BPF, and CAP_PERFMON for tracing or CAP_NET_ADMIN for networking",
    }
}

fn missing(caps: u64) -> Option<&'static str> {
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

fn effective(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|l| l.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Whether user ids are other ones outside, as in a user namespace made by somebody.
fn is_mapped(uid_map: &str) -> bool {
    let first: Vec<_> = uid_map.split_whitespace().collect();
    !first.is_empty() && first != ["0", "0", "4294967295"]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_capability_is_named_and_sys_admin_stands_for_two() {
        assert_eq!(missing(0), missing(1));
        let text = |caps| missing(caps).unwrap_or("nothing");
        assert!(text(NET_ADMIN | PERFMON).ends_with("lacks CAP_BPF"));
        assert!(text(SYS_ADMIN).ends_with("lacks CAP_NET_ADMIN, for networking"));
        assert!(text(BPF | NET_ADMIN).contains("CAP_PERFMON"));
        assert_eq!(missing(SYS_ADMIN | NET_ADMIN), None);
    }

    #[test]
    fn what_proc_says_is_read() {
        assert_eq!(effective("Name:\tx\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n"), Some(0x1ff_ffff_ffff));
        assert_eq!(effective("Name:\tx\n"), None);
        assert!(!is_mapped("         0          0 4294967295\n") && !is_mapped(""));
        assert!(is_mapped("         0       1000          1\n"));
    }
}
