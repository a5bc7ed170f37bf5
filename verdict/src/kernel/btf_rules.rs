//! The rules by which a kernel checks the BTF of objects.

use super::{
    KernelVersion,
    answer::{Evidence, EvidenceSource},
    changes::RELEASES,
    facts::KernelFacts,
    mark::{Change, MarkPresence},
};
use core_relo::btf::KernelBtfRules;

/// The oldest release whose rules are known.
const OLDEST: KernelVersion = KernelVersion::release(5, 10);

impl KernelFacts<'_> {
    /// Returns the rules of the kernel's release. Without a version, the rules of the oldest release that the
    /// kernel may be: the newest one of which its BTF has a mark.
    pub(crate) fn btf_rules(&self) -> KernelBtfRules {
        let marked = || self.marked_release().map_or(OLDEST, |change| change.release);
        let KernelVersion { major, minor, .. } = self.inputs.version.unwrap_or_else(marked);
        KernelBtfRules::of_release(major, minor)
    }

    /// Returns the evidence for the release of [`btf_rules`](Self::btf_rules). Returns `None` for the oldest
    /// release.
    pub(crate) fn release_evidence(&self) -> Option<Evidence> {
        if let Some((_, evidence)) = self.version() {
            return Some(evidence);
        }
        let change = self.marked_release()?;
        let text = format!("Linux {} or later: {}", change.release, change.marks.first()?);
        Some(Evidence { source: EvidenceSource::Btf, text })
    }

    /// Returns the newest release of which the kernel's BTF has a mark.
    fn marked_release(&self) -> Option<Change> {
        *self.marked_release.get_or_init(|| {
            let is_found = |change: &&Change| {
                change.marks.first().is_some_and(|mark| self.find_mark(*mark) == MarkPresence::Found)
            };
            RELEASES.iter().rev().find(is_found).copied()
        })
    }

    /// Returns whether the kernel's version is known. If it is not, the kernel may have the rules of any
    /// release from that of [`btf_rules`](Self::btf_rules) on.
    pub(crate) fn has_version(&self) -> bool {
        self.inputs.version.is_some()
    }
}
