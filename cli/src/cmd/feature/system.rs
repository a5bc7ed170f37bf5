//! The settings of the running system: sysctl(8), the JIT compiler, LSMs, and BPF tokens.

use super::answer::{FeatureAnswer, Support};
use crate::error::escape_path;
use core_relo_loader::inventory::{Mount, mounts};
use std::{fs, io};

/// A setting of the running system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Setting {
    UnprivilegedBpf,
    Jit,
    JitHardening,
    JitKallsyms,
    JitLimit,
    Statistics,
    KernelBtf,
    Lockdown,
    LsmBpf,
}

/// The source of settings.
const SYSTEM: &str = "system";

impl Setting {
    pub(super) const ALL: [Self; 9] = [
        Self::UnprivilegedBpf,
        Self::Jit,
        Self::JitHardening,
        Self::JitKallsyms,
        Self::JitLimit,
        Self::Statistics,
        Self::KernelBtf,
        Self::Lockdown,
        Self::LsmBpf,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::UnprivilegedBpf => "unprivileged_bpf",
            Self::Jit => "jit",
            Self::JitHardening => "jit_hardening",
            Self::JitKallsyms => "jit_kallsyms",
            Self::JitLimit => "jit_limit",
            Self::Statistics => "statistics",
            Self::KernelBtf => "kernel_btf",
            Self::Lockdown => "lockdown",
            Self::LsmBpf => "lsm_bpf",
        }
    }

    const fn path(self) -> &'static str {
        match self {
            Self::UnprivilegedBpf => "/proc/sys/kernel/unprivileged_bpf_disabled",
            Self::Jit => "/proc/sys/net/core/bpf_jit_enable",
            Self::JitHardening => "/proc/sys/net/core/bpf_jit_harden",
            Self::JitKallsyms => "/proc/sys/net/core/bpf_jit_kallsyms",
            Self::JitLimit => "/proc/sys/net/core/bpf_jit_limit",
            Self::Statistics => "/proc/sys/kernel/bpf_stats_enabled",
            Self::KernelBtf => "/sys/kernel/btf/vmlinux",
            Self::Lockdown => "/sys/kernel/security/lockdown",
            Self::LsmBpf => "/sys/kernel/security/lsm",
        }
    }

    /// Returns whether a value of the setting turns it on, and what the value says.
    fn judge(self, value: &str) -> (bool, String) {
        let switch = |texts: [&str; 3]| match value {
            "0" => (false, texts[0].to_owned()),
            "1" => (true, texts[1].to_owned()),
            "2" => (true, texts[2].to_owned()),
            _ => (true, format!("value {value}")),
        };
        match self {
            Self::UnprivilegedBpf => match value {
                "0" => (true, "bpf(2) is open to unprivileged users".into()),
                "1" => (false, "bpf(2) is for privileged users, until the next boot".into()),
                _ => (false, "bpf(2) is for privileged users; the administrator can change that".into()),
            },
            Self::Jit => switch([
                "programs are interpreted",
                "programs are compiled",
                "programs are compiled, with debug output",
            ]),
            Self::JitHardening => {
                switch(["constants are not blinded", "for unprivileged users", "for all users"])
            }
            Self::JitKallsyms => {
                switch(["the symbols of programs are not exported", "exported for root", "exported"])
            }
            Self::JitLimit => (true, format!("{value} bytes for unprivileged users")),
            Self::Statistics => {
                switch(["run time and run count are not collected", "collected", "collected"])
            }
            Self::KernelBtf => (true, "the kernel exports its BTF".into()),
            Self::Lockdown => {
                let mode = value.split(['[', ']']).nth(1).unwrap_or(value);
                (mode != "none", format!("mode {mode}"))
            }
            Self::LsmBpf => {
                let is_active = value.split(',').any(|lsm| lsm == "bpf");
                let verb = if is_active { "are" } else { "are not" };
                (is_active, format!("LSM programs {verb} run"))
            }
        }
    }

    /// Reads the setting.
    pub(super) fn read(self) -> FeatureAnswer {
        let path = self.path();
        let read = match self {
            // The file has several megabytes.
            Self::KernelBtf => fs::metadata(path).map(|file| file.len().to_string()),
            _ => fs::read_to_string(path).map(|text| text.trim().to_owned()),
        };
        match read {
            Ok(value) => {
                let (is_on, text) = self.judge(&value);
                let support = if is_on { Support::Yes } else { Support::No };
                FeatureAnswer::new(support, Some(SYSTEM), format!("{path}: {text}")).with_value(value)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && self == Self::KernelBtf => {
                FeatureAnswer::new(Support::No, Some(SYSTEM), format!("{path} does not exist"))
            }
            Err(error) => FeatureAnswer::unknown(format!("{path}: {error}")),
        }
    }
}

/// Answers whether a bpffs delegates to BPF tokens: a mount with `delegate_…` options. `token list` shows what it delegates.
pub(super) fn read_delegation() -> FeatureAnswer {
    let mounts = match mounts("bpf") {
        Ok(mounts) => mounts,
        Err(error) => return FeatureAnswer::unknown(format!("/proc/self/mounts: {error}")),
    };
    match &*mounts.iter().filter_map(delegation).collect::<Vec<_>>() {
        [] => FeatureAnswer::new(Support::No, Some(SYSTEM), "no bpffs is mounted with `delegate_…` options"),
        all => FeatureAnswer::new(Support::Yes, Some(SYSTEM), all.join("; ")),
    }
}

/// Returns the path and the delegation of a bpffs.
fn delegation(mount: &Mount) -> Option<String> {
    let delegated: Vec<_> =
        mount.options.split(',').filter(|option| option.starts_with("delegate_")).collect();
    (!delegated.is_empty()).then(|| format!("{}: {}", escape_path(&mount.dir), delegated.join(", ")))
}

/// Drops the effective capabilities of this thread.
pub(super) fn drop_capabilities() -> io::Result<()> {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    let mut sets = capabilities(None)?;
    sets.effective = CapabilitySet::empty();
    Ok(set_capabilities(None, sets)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_judged_by_their_values() {
        assert!(Setting::UnprivilegedBpf.judge("0").0 && !Setting::UnprivilegedBpf.judge("2").0);
        assert!(Setting::Jit.judge("1").0 && !Setting::Jit.judge("0").0);
        assert_eq!(
            Setting::Lockdown.judge("none [integrity] confidentiality"),
            (true, "mode integrity".into())
        );
        assert!(!Setting::Lockdown.judge("[none] integrity").0);
        assert!(Setting::LsmBpf.judge("capability,bpf").0 && !Setting::LsmBpf.judge("capability,bpfx").0);
    }

    #[test]
    fn a_bpffs_delegates_by_its_options() {
        let mount = |options: &str| Mount { dir: "/run/b".into(), options: options.into() };
        assert_eq!(
            delegation(&mount("rw,relatime,delegate_cmds=prog_load,delegate_maps=any")).as_deref(),
            Some("/run/b: delegate_cmds=prog_load, delegate_maps=any")
        );
        assert_eq!(delegation(&mount("rw,mode=700")), None);
    }
}
