//! The lockdown of this machine, which closes helpers to all programs, and refuses kprobes.

use crate::{hint::Hint, sys::Errno};
use core_relo::insn::Helper;
use core_relo_object::lockdown::Lockdown;
use std::fs;

/// Returns the active mode. Returns `None` without lockdown, and where its file cannot be read: securityfs is
/// not mounted.
pub(crate) fn active() -> Option<Lockdown> {
    Lockdown::parse(&fs::read_to_string(Lockdown::FILE).ok()?)
}

/// Returns the reason why the kernel refuses a kprobe, or a file in tracefs, if that is lockdown.
pub(crate) fn refused_probe(errno: Errno) -> Option<Hint> {
    let is_refusal = matches!(errno.0, libc::EPERM | libc::EACCES);
    if is_refusal { probe_hint(active()?) } else { None }
}

fn probe_hint(mode: Lockdown) -> Option<Hint> {
    mode.closes_kprobes().then_some(Hint(
        "lockdown closes kprobes and tracefs: /sys/kernel/security/lockdown is `confidentiality`; the kernel's parameter lockdown=none turns \
         it off",
    ))
}

/// Returns the reason why the verifier does not know a helper in its log, if lockdown closes the helper on
/// this machine.
pub(crate) fn explain_log(log: &str) -> Option<String> {
    explain(log, active()?)
}

fn explain(log: &str, mode: Lockdown) -> Option<String> {
    // The verifier's words of older and of newer kernels.
    let refused = log.lines().find_map(|line| {
        let refused = ["unknown func ", "cannot use helper "];
        refused.iter().find_map(|words| line.split_once(words)).map(|(_, helper)| helper.trim())
    });
    let (name, number) = refused?.split_once('#')?;
    mode.closes(Helper(number.parse().ok()?)).then(|| {
        format!(
            "lockdown closes the helper {name} to all programs: {} is `{}`; the kernel's parameter lockdown=none turns it off",
            Lockdown::FILE,
            mode.word()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_that_lockdown_refuses_needs_no_capability() {
        assert_eq!(probe_hint(Lockdown::Integrity), None);
        let hint = probe_hint(Lockdown::Confidentiality).unwrap().0;
        assert!(hint.contains(Lockdown::FILE) && hint.contains(Lockdown::Confidentiality.word()), "{hint}");
        assert_eq!(refused_probe(Errno(libc::ENOENT)), None);
    }

    #[test]
    fn a_helper_that_lockdown_closes_is_not_called_unknown() {
        let old = "0: (85) call bpf_probe_read_kernel#113\nunknown func bpf_probe_read_kernel#113\n";
        let new = "program of this type cannot use helper bpf_probe_write_user#36\n";
        let found = |log: &str| {
            [Lockdown::Integrity, Lockdown::Confidentiality].map(|mode| explain(log, mode).is_some())
        };
        assert_eq!(found(old), [false, true]);
        assert_eq!(found(new), [true, true]);
        assert_eq!(found("unknown func bpf_loop#181\n"), [false; 2]);
        assert!(
            explain(old, Lockdown::Confidentiality)
                .unwrap()
                .starts_with("lockdown closes the helper bpf_probe_read_kernel ")
        );
    }
}
