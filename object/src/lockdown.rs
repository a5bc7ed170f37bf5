//! The kernel's lockdown, which closes helpers to all programs, and refuses kprobes.

use core_relo::insn::Helper;

/// A mode of lockdown, as `/sys/kernel/security/lockdown` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the kernel has these modes")]
pub enum Lockdown {
    /// User space cannot change the running kernel.
    Integrity,
    /// User space cannot read the kernel's memory, either.
    Confidentiality,
}

/// The helpers that lockdown closes, and the first mode that does so (kernel: `LOCKDOWN_BPF_READ_KERNEL`,
/// `LOCKDOWN_BPF_WRITE_USER`).
const HELPERS: [(Helper, Lockdown); 5] = [
    (Helper::PROBE_READ, Lockdown::Confidentiality),
    (Helper::PROBE_READ_STR, Lockdown::Confidentiality),
    (Helper::PROBE_READ_KERNEL, Lockdown::Confidentiality),
    (Helper::PROBE_READ_KERNEL_STR, Lockdown::Confidentiality),
    (Helper::PROBE_WRITE_USER, Lockdown::Integrity),
];

impl Lockdown {
    /// The file with the modes, the active one in brackets.
    pub const FILE: &str = "/sys/kernel/security/lockdown";

    /// Returns the active mode of a text such as `none [integrity] confidentiality`. Returns `None` if
    /// lockdown is not active.
    pub fn parse(modes: &str) -> Option<Self> {
        let active = modes.split_whitespace().find_map(|mode| mode.strip_prefix('[')?.strip_suffix(']'))?;
        [Self::Integrity, Self::Confidentiality].into_iter().find(|mode| mode.word() == active)
    }

    /// Returns the kernel's word for the mode.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Integrity => "integrity",
            Self::Confidentiality => "confidentiality",
        }
    }

    /// Returns whether the mode closes a helper to all programs.
    pub fn closes(self, helper: Helper) -> bool {
        HELPERS.iter().any(|(number, mode)| *number == helper && self >= *mode)
    }

    /// Returns whether the mode refuses new kprobes, and all access to tracefs (kernel: `LOCKDOWN_KPROBES`,
    /// `LOCKDOWN_TRACEFS`).
    pub const fn closes_kprobes(self) -> bool {
        matches!(self, Self::Confidentiality)
    }

    /// Returns the helpers that the mode closes.
    pub fn closed_helpers(self) -> impl Iterator<Item = Helper> {
        HELPERS.iter().filter(move |(_, mode)| self >= *mode).map(|(number, _)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_active_mode_is_that_in_brackets() {
        let modes = ["[none] integrity confidentiality\n", "none [integrity] confidentiality\n", ""];
        assert_eq!(modes.map(Lockdown::parse), [None, Some(Lockdown::Integrity), None]);
        assert_eq!(Lockdown::parse("none integrity [confidentiality]\n"), Some(Lockdown::Confidentiality));
    }

    #[test]
    fn confidentiality_closes_what_integrity_closes() {
        let helpers = [Helper::PROBE_READ_KERNEL, Helper::PROBE_WRITE_USER, Helper::PROBE_READ_USER];
        let closed = |mode: Lockdown| helpers.map(|helper| mode.closes(helper));
        assert_eq!(closed(Lockdown::Integrity), [false, true, false]);
        assert_eq!(closed(Lockdown::Confidentiality), [true, true, false]);
        assert_eq!(Lockdown::Integrity.closed_helpers().collect::<Vec<_>>(), [Helper::PROBE_WRITE_USER]);
        assert!(Lockdown::Confidentiality.closes_kprobes() && !Lockdown::Integrity.closes_kprobes());
    }
}
