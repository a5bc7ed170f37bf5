//! The kernel's lockdown, which closes helpers to all programs.

use std::fs;

/// The file with the modes, the active one in brackets.
const FILE: &str = "/sys/kernel/security/lockdown";

/// The helpers that lockdown closes, and the mode that does so (kernel: `LOCKDOWN_BPF_READ_KERNEL`, `LOCKDOWN_BPF_WRITE_USER`).
const HELPERS: [(&str, &str); 5] = [
    ("bpf_probe_read#4", "confidentiality"),
    ("bpf_probe_read_str#45", "confidentiality"),
    ("bpf_probe_read_kernel#113", "confidentiality"),
    ("bpf_probe_read_kernel_str#115", "confidentiality"),
    ("bpf_probe_write_user#36", "integrity"),
];

/// Returns the reason why the verifier does not know a helper in its log, if lockdown closes the helper on this machine. Returns `None` where
/// the file cannot be read: securityfs is not mounted.
pub(crate) fn explain_log(log: &str) -> Option<String> {
    explain(log, &fs::read_to_string(FILE).ok()?)
}

fn explain(log: &str, modes: &str) -> Option<String> {
    // The verifier's words of older and of newer kernels.
    let is_closed = |helper: &str| {
        let refused = [format!("unknown func {helper}"), format!("cannot use helper {helper}")];
        log.lines().any(|line| refused.iter().any(|refused| line.contains(refused.as_str())))
    };
    let (helper, mode) = HELPERS.iter().find(|(helper, _)| is_closed(helper))?;
    let active = modes.split_whitespace().find_map(|mode| mode.strip_prefix('[')?.strip_suffix(']'))?;
    let closes = active == *mode || active == "confidentiality";
    let name = helper.split_once('#').map_or(*helper, |(name, _number)| name);
    closes.then(|| {
        format!("lockdown closes the helper {name} to all programs: {FILE} is `{active}`, the kernel's parameter is lockdown=none")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_helper_that_lockdown_closes_is_not_called_unknown() {
        let old = "0: (85) call bpf_probe_read_kernel#113\nunknown func bpf_probe_read_kernel#113\n";
        let new = "program of this type cannot use helper bpf_probe_write_user#36\n";
        let (none, integrity) = ("[none] integrity confidentiality\n", "none [integrity] confidentiality\n");
        let confidentiality = "none integrity [confidentiality]\n";
        let found = |log: &str, modes: &str| explain(log, modes).is_some();
        assert_eq!([none, integrity, confidentiality].map(|modes| found(old, modes)), [false, false, true]);
        assert_eq!([none, integrity, confidentiality].map(|modes| found(new, modes)), [false, true, true]);
        assert!(!found("unknown func bpf_loop#181\n", confidentiality));
        assert!(!found(old, ""));
        assert!(
            explain(old, confidentiality)
                .unwrap()
                .starts_with("lockdown closes the helper bpf_probe_read_kernel ")
        );
    }
}
