//! The choice of the entry that belongs to a kernel.

use super::{
    error::ArchiveError,
    identity::{KernelIdentity, normal_architecture},
    index::ArchiveEntry,
    read::BtfArchive,
};
use core_relo::Text;

/// The evidence that an entry belongs to a kernel, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EntryEvidence {
    /// The release is equal, and no other property contradicts.
    Release,
    /// The release and the distribution's name are equal.
    Distribution,
    /// The release, the distribution's name and its version are equal.
    DistributionVersion,
    /// The release and the version string (`uname -v`) are equal.
    Version,
    /// The build id is equal.
    BuildId,
}

/// The property in which an entry contradicts a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryMismatch {
    /// The release.
    Release,
    /// The architecture.
    Architecture,
    /// The version string.
    Version,
    /// The build id.
    BuildId,
}

/// An entry, and whether it may belong to a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchiveCandidate<'a> {
    /// The entry.
    pub entry: &'a ArchiveEntry,
    /// The evidence for the entry, or the property that excludes the entry.
    pub verdict: Result<EntryEvidence, EntryMismatch>,
}

/// The entry that belongs to a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchiveChoice<'a> {
    /// The entry.
    pub entry: &'a ArchiveEntry,
    /// The evidence for the entry.
    pub evidence: EntryEvidence,
}

impl EntryEvidence {
    /// Returns the evidence as words: `build id`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Distribution => "release and distribution",
            Self::DistributionVersion => "release, distribution and its version",
            Self::Version => "release and version string",
            Self::BuildId => "build id",
        }
    }
}

impl EntryMismatch {
    /// Returns the property as words: `build id`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Architecture => "architecture",
            Self::Version => "version string",
            Self::BuildId => "build id",
        }
    }
}

impl BtfArchive<'_> {
    /// Returns the entry with the strongest evidence.
    ///
    /// A property counts if both sides know it. A distribution that differs excludes no entry, because a
    /// container has another `/etc/os-release` than its host. Entries with equally strong evidence must have
    /// the same BTF, or the choice is an error.
    pub fn choose(&self, kernel: &KernelIdentity) -> Result<ArchiveChoice<'_>, ArchiveError> {
        let fitting = self.candidates(kernel).filter_map(|candidate| {
            let evidence = candidate.verdict.ok()?;
            Some(ArchiveChoice { entry: candidate.entry, evidence })
        });
        let mut best: Option<ArchiveChoice<'_>> = None;
        let mut rival: Option<ArchiveChoice<'_>> = None;
        for choice in fitting {
            match &best {
                Some(first) if choice.evidence < first.evidence => {}
                Some(first) if choice.evidence == first.evidence => {
                    if choice.entry.content != first.entry.content {
                        rival = rival.or(Some(choice));
                    }
                }
                _ => (best, rival) = (Some(choice), None),
            }
        }
        let kernel_name = || Text::from(kernel.to_string());
        match (best, rival) {
            (Some(best), None) => Ok(best),
            (Some(best), Some(rival)) => Err(ArchiveError::Ambiguous {
                kernel: kernel_name(),
                first: best.entry.file.clone().into(),
                other: rival.entry.file.clone().into(),
            }),
            (None, _) => Err(ArchiveError::NoMatch { kernel: kernel_name(), count: self.entries().len() }),
        }
    }

    /// Returns every entry with its verdict, in the order of the index.
    pub fn candidates(&self, kernel: &KernelIdentity) -> impl Iterator<Item = ArchiveCandidate<'_>> {
        self.entries().iter().map(|entry| ArchiveCandidate { entry, verdict: compare(&entry.kernel, kernel) })
    }
}

fn compare(entry: &KernelIdentity, kernel: &KernelIdentity) -> Result<EntryEvidence, EntryMismatch> {
    /// Returns whether two values are equal; `None` if one of them is unknown.
    fn equal(a: &str, b: &str) -> Option<bool> {
        (!a.is_empty() && !b.is_empty()).then_some(a == b)
    }
    match equal(&entry.build_id, &kernel.build_id) {
        Some(true) => return Ok(EntryEvidence::BuildId),
        Some(false) => return Err(EntryMismatch::BuildId),
        None => {}
    }
    if equal(&entry.release, &kernel.release) != Some(true) {
        return Err(EntryMismatch::Release);
    }
    let architectures = (normal_architecture(&entry.architecture), normal_architecture(&kernel.architecture));
    if equal(architectures.0, architectures.1) == Some(false) {
        return Err(EntryMismatch::Architecture);
    }
    match equal(&entry.version, &kernel.version) {
        Some(true) => return Ok(EntryEvidence::Version),
        Some(false) => return Err(EntryMismatch::Version),
        None => {}
    }
    let (ours, theirs) = (&entry.distribution, &kernel.distribution);
    let same_id = equal(&ours.id, &theirs.id) == Some(true);
    Ok(match same_id && equal(&ours.version, &theirs.version) == Some(true) {
        true => EntryEvidence::DistributionVersion,
        false if same_id => EntryEvidence::Distribution,
        false => EntryEvidence::Release,
    })
}
