//! The perf PMUs of kprobes and uprobes, and the choice between the kernel's attach mechanisms.

use super::error::{AttachError, Hint};
use crate::sys::Errno;
use std::fs;

/// The mechanism that attaches a kprobe or uprobe (libbpf: `enum probe_attach_mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProbeMode {
    /// The newest mechanism that the kernel supports.
    #[default]
    Auto,
    /// A probe created through tracefs, and an ioctl. For kernels before 4.17.
    Legacy,
    /// A perf event and an ioctl.
    Perf,
    /// A perf event and a kernel link (kernels from 5.15).
    Link,
}

impl ProbeMode {
    /// Returns whether the probe is created through tracefs.
    pub(super) fn uses_tracefs(self, has_pmu: bool, label: &str) -> Result<bool, AttachError> {
        match self {
            Self::Legacy => Ok(true),
            Self::Auto => Ok(!has_pmu),
            Self::Perf | Self::Link if has_pmu => Ok(false),
            Self::Perf | Self::Link => {
                let hint = Hint("this kernel creates probes through tracefs only");
                Err(AttachError::kernel_with_hint(label, "attach", Errno(libc::EOPNOTSUPP), hint))
            }
        }
    }

    /// Returns whether an ioctl attaches the program to the perf event.
    pub(super) const fn uses_ioctl(self) -> bool {
        matches!(self, Self::Legacy | Self::Perf)
    }

    /// Returns whether the program needs a kernel link.
    pub(super) const fn requires_link(self) -> bool {
        matches!(self, Self::Link)
    }
}

/// A performance monitoring unit (PMU) of the perf subsystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pmu {
    /// The PMU type, for `perf_event_attr.type`.
    pub(super) kind: u32,
    name: &'static str,
}

impl Pmu {
    pub(super) fn kprobe() -> Option<Self> {
        Self::find("kprobe")
    }

    #[cfg(feature = "uprobe")]
    pub(super) fn uprobe() -> Option<Self> {
        Self::find("uprobe")
    }

    fn find(name: &'static str) -> Option<Self> {
        let kind = fs::read_to_string(format!("/sys/bus/event_source/devices/{name}/type")).ok()?;
        Some(Self { kind: kind.trim().parse().ok()?, name })
    }

    /// Returns the event configuration of an entry probe or a return probe.
    pub(super) fn config(self, retprobe: bool, label: &str) -> Result<u64, AttachError> {
        if !retprobe {
            return Ok(0);
        }
        let path = format!("/sys/bus/event_source/devices/{}/format/retprobe", self.name);
        let text = fs::read_to_string(&path)
            .map_err(|e| AttachError::unreadable(path.as_ref(), Errno::from_io_error(&e)))?;
        parse_config_bit(&text).ok_or_else(|| {
            let problem = format!(
                "unknown format of return probes in {path}: `{}`, expected `config:BIT`",
                text.trim()
            );
            AttachError::target(label, problem)
        })
    }

    /// Returns whether uprobes support reference counters (USDT semaphores; kernels from 4.20).
    #[cfg(feature = "uprobe")]
    pub(super) fn has_ref_ctr(self) -> bool {
        // A directory that cannot be read counts as a kernel without them: attaching then reports what is
        // missing.
        fs::exists(format!("/sys/bus/event_source/devices/{}/format/ref_ctr_offset", self.name))
            .unwrap_or(false)
    }
}

/// Replaces pid 0 by the calling process's pid, as libbpf does. The kernel's mechanisms interpret 0
/// differently.
#[cfg(feature = "uprobe")]
pub(super) fn resolve_pid(pid: Option<u32>) -> Option<u32> {
    if pid == Some(0) { Some(std::process::id()) } else { pid }
}

/// Parses the bit of a sysfs format description such as `config:0`.
fn parse_config_bit(text: &str) -> Option<u64> {
    let bit: u32 = text.trim().strip_prefix("config:")?.parse().ok()?;
    1u64.checked_shl(bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_config_bit_is_parsed() {
        assert_eq!(parse_config_bit("config:0\n"), Some(1));
        assert_eq!(parse_config_bit("config:3"), Some(8));
        assert_eq!(parse_config_bit("config:64"), None);
        assert_eq!(parse_config_bit("config1:0"), None);
        assert_eq!(parse_config_bit(""), None);
    }

    #[test]
    fn process_0_is_the_calling_one() {
        assert_eq!([None, Some(7), Some(0)].map(resolve_pid), [None, Some(7), Some(std::process::id())]);
    }

    #[test]
    fn unsupported_modes_are_refused() {
        assert_eq!(ProbeMode::Auto.uses_tracefs(false, "x"), Ok(true));
        assert_eq!(ProbeMode::Auto.uses_tracefs(true, "x"), Ok(false));
        assert_eq!(ProbeMode::Legacy.uses_tracefs(true, "x"), Ok(true));
        assert!(ProbeMode::Link.uses_tracefs(false, "x").is_err());
        assert!(ProbeMode::Perf.uses_tracefs(false, "x").is_err());
    }
}
