//! The settings of the running system that concern BPF: sysctl(8), the JIT compiler, LSMs, and what bpffs
//! mounts delegate to tokens.

use super::answer::{ProbeError, ProbeResult, Probed};
use crate::inventory::{Mount, mounts};
use core_relo::Name;
use std::{fs, io, os::unix::ffi::OsStrExt as _};

macro_rules! settings {
    ($($variant:ident $name:literal $path:literal,)*) => {
        /// A setting of the running system.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum SystemSetting {$(
            #[doc = concat!("`", $path, "`.")]
            $variant,
        )*}

        impl SystemSetting {
            /// All settings.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns a short name, such as `jit_hardening`.
            pub const fn name(self) -> &'static str {
                match self {$(Self::$variant => $name,)*}
            }

            const fn path(self) -> &'static str {
                match self {$(Self::$variant => $path,)*}
            }
        }
    };
}

settings! {
    UnprivilegedBpf "unprivileged_bpf" "/proc/sys/kernel/unprivileged_bpf_disabled",
    Jit "jit" "/proc/sys/net/core/bpf_jit_enable",
    JitHardening "jit_hardening" "/proc/sys/net/core/bpf_jit_harden",
    JitKallsyms "jit_kallsyms" "/proc/sys/net/core/bpf_jit_kallsyms",
    JitLimit "jit_limit" "/proc/sys/net/core/bpf_jit_limit",
    Statistics "statistics" "/proc/sys/kernel/bpf_stats_enabled",
    KernelBtf "kernel_btf" "/sys/kernel/btf/vmlinux",
    Lockdown "lockdown" "/sys/kernel/security/lockdown",
    LsmBpf "lsm_bpf" "/sys/kernel/security/lsm",
}

/// The value of a [`SystemSetting`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingValue {
    /// The value in the file, or the size of the kernel's BTF. `None` if the kernel has no BTF.
    pub value: Option<String>,
    /// Whether the value turns the setting on, with the file and the meaning of the value as evidence.
    pub probed: Probed,
}

impl SystemSetting {
    /// Reads the setting.
    pub fn read(self) -> Result<SettingValue, ProbeError> {
        let path = self.path();
        let read = match self {
            // The file has several megabytes.
            Self::KernelBtf => fs::metadata(path).map(|file| file.len().to_string()),
            _ => fs::read_to_string(path).map(|text| text.trim().to_owned()),
        };
        match read {
            Ok(value) => {
                let (is_supported, text) = self.judge(&value);
                let probed = Probed { is_supported, evidence: format!("{path}: {text}") };
                Ok(SettingValue { value: Some(value), probed })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && self == Self::KernelBtf => {
                Ok(SettingValue { value: None, probed: Probed::no(format!("{path} does not exist")) })
            }
            Err(error) => Err(ProbeError::unreadable(path, &error)),
        }
    }

    /// Returns whether a value turns the setting on, and what the value says.
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
}

/// Reads whether a bpffs delegates to BPF tokens: a mount with `delegate_…` options.
pub fn read_delegation() -> ProbeResult {
    let mounts = mounts("bpf").map_err(|error| ProbeError::unreadable("/proc/self/mounts", &error))?;
    Ok(match &*mounts.iter().filter_map(delegation).collect::<Vec<_>>() {
        [] => Probed::no("no bpffs is mounted with `delegate_…` options"),
        all => Probed::yes(all.join("; ")),
    })
}

/// Returns the path and the delegation of a bpffs.
fn delegation(mount: &Mount) -> Option<String> {
    let delegated: Vec<_> =
        mount.options.split(',').filter(|option| option.starts_with("delegate_")).collect();
    let dir = Name::new(mount.dir.as_os_str().as_bytes());
    (!delegated.is_empty()).then(|| format!("{dir}: {}", delegated.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_judged_by_their_values() {
        assert!(SystemSetting::UnprivilegedBpf.judge("0").0 && !SystemSetting::UnprivilegedBpf.judge("2").0);
        assert!(SystemSetting::Jit.judge("1").0 && !SystemSetting::Jit.judge("0").0);
        assert_eq!(
            SystemSetting::Lockdown.judge("none [integrity] confidentiality"),
            (true, "mode integrity".into())
        );
        assert!(!SystemSetting::Lockdown.judge("[none] integrity").0);
        assert!(
            SystemSetting::LsmBpf.judge("capability,bpf").0
                && !SystemSetting::LsmBpf.judge("capability,bpfx").0
        );
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
