//! The units through which kprobes and uprobes are opened as perf events, and the choice among the kernel's ways.

use super::error::{AttachError, Hint};
use crate::sys::Errno;
use std::fs;

/// The way in which a kprobe or uprobe is attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProbeMode {
    /// The best that the kernel has.
    #[default]
    Auto,
    /// A probe made in tracefs, and an ioctl: for kernels before 4.17.
    Legacy,
    /// A perf event, and an ioctl.
    Perf,
    /// A perf event and a link: kernels from 5.15.
    Link,
}

impl ProbeMode {
    /// Whether the probe has to be made in tracefs.
    pub(super) fn is_legacy(self, has_pmu: bool, what: &str) -> Result<bool, AttachError> {
        match self {
            Self::Legacy => Ok(true),
            Self::Auto => Ok(!has_pmu),
            Self::Perf | Self::Link if has_pmu => Ok(false),
            Self::Perf | Self::Link => {
                let hint = Hint("this kernel makes probes through tracefs only");
                Err(AttachError::hinted(what, "attach", Errno(libc::EOPNOTSUPP), hint))
            }
        }
    }

    /// Whether the program is put on the event by ioctl.
    pub(super) const fn forces_ioctl(self) -> bool {
        matches!(self, Self::Legacy | Self::Perf)
    }

    /// Whether nothing but a link will do.
    pub(super) const fn demands_link(self) -> bool {
        matches!(self, Self::Link)
    }
}

/// A unit of the perf subsystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pmu {
    /// Its number.
    pub(super) kind: u32,
    name: &'static str,
}

impl Pmu {
    pub(super) fn kprobe() -> Option<Self> {
        Self::find("kprobe")
    }

    pub(super) fn uprobe() -> Option<Self> {
        Self::find("uprobe")
    }

    fn find(name: &'static str) -> Option<Self> {
        let kind = fs::read_to_string(format!("/sys/bus/event_source/devices/{name}/type")).ok()?;
        Some(Self { kind: kind.trim().parse().ok()?, name })
    }

    /// The configuration of a probe at a function's start or return.
    pub(super) fn config(self, retprobe: bool, what: &str) -> Result<u64, AttachError> {
        if !retprobe {
            return Ok(0);
        }
        let path = format!("/sys/bus/event_source/devices/{}/format/retprobe", self.name);
        let text = fs::read_to_string(path).unwrap_or_default();
        bit_of(&text).ok_or_else(|| {
            AttachError::target(what, format!("sysfs does not say how a return is probed: `{}`", text.trim()))
        })
    }

    /// Whether uprobes can count their listeners in a semaphore (kernels from 4.20).
    pub(super) fn has_ref_ctr(self) -> bool {
        fs::exists(format!("/sys/bus/event_source/devices/{}/format/ref_ctr_offset", self.name))
            .unwrap_or(false)
    }
}

/// The process that is meant: 0 is this one, as in libbpf; the kernel's ways do not agree on it.
pub(super) fn process(pid: Option<u32>) -> Option<u32> {
    if pid == Some(0) { Some(std::process::id()) } else { pid }
}

/// The bit of a field's description, `config:0`.
fn bit_of(text: &str) -> Option<u64> {
    let bit: u32 = text.trim().strip_prefix("config:")?.parse().ok()?;
    1u64.checked_shl(bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bit_of_a_return() {
        assert_eq!(bit_of("config:0\n"), Some(1));
        assert_eq!(bit_of("config:3"), Some(8));
        assert_eq!(bit_of("config:64"), None);
        assert_eq!(bit_of("config1:0"), None);
        assert_eq!(bit_of(""), None);
    }

    #[test]
    fn process_0_is_the_calling_one() {
        assert_eq!([None, Some(7), Some(0)].map(process), [None, Some(7), Some(std::process::id())]);
    }

    #[test]
    fn ways_that_the_kernel_lacks_are_refused_not_replaced() {
        assert_eq!(ProbeMode::Auto.is_legacy(false, "x"), Ok(true));
        assert_eq!(ProbeMode::Auto.is_legacy(true, "x"), Ok(false));
        assert_eq!(ProbeMode::Legacy.is_legacy(true, "x"), Ok(true));
        assert!(ProbeMode::Link.is_legacy(false, "x").is_err());
        assert!(ProbeMode::Perf.is_legacy(false, "x").is_err());
    }
}
