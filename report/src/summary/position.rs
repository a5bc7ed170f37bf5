//! The position of a kernel among those of its group: its version, or its release of a distribution.

use crate::{labels::full_version, matrix::Kernel};
use core_relo_verdict::kernel::{DistributionKernel, KernelVersion};
use std::cmp::Ordering;

/// The position of a kernel: the release of its distribution, if it is from one, then its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Position<'r> {
    distribution_release: Option<&'r str>,
    version: KernelVersion,
}

impl<'r> Position<'r> {
    /// Returns the position of a kernel whose version is known.
    pub(super) fn new(kernel: &Kernel<'r>) -> Option<Self> {
        let distribution_release = kernel.distribution.map(|package| package.release.as_str());
        Some(Self { distribution_release, version: kernel.version? })
    }

    /// Returns the position without what distinguishes kernels of a release: the version of a kernel of a
    /// distribution, the patch level of another.
    pub(super) const fn release(self) -> Self {
        let version = match self.distribution_release {
            Some(_) => KernelVersion::release(0, 0),
            None => KernelVersion::release(self.version.major, self.version.minor),
        };
        Self { version, ..self }
    }

    /// Returns the text: `5.15` or `12`; with the details that distinguish kernels of a release `5.15.9`, or
    /// `12 (6.1.192)`.
    pub(super) fn text(self, has_details: bool) -> String {
        let KernelVersion { major, minor, .. } = self.version;
        match (self.distribution_release, has_details) {
            (None, false) => format!("{major}.{minor}"),
            (None, true) => full_version(self.version),
            (Some(release), false) => release.to_owned(),
            (Some(release), true) => format!("{release} ({})", full_version(self.version)),
        }
    }
}

impl Ord for Position<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_release = match (self.distribution_release, other.distribution_release) {
            (Some(release), Some(other)) => DistributionKernel::compare_releases(release, other),
            (release, other) => release.cmp(&other),
        };
        by_release.then_with(|| self.version.cmp(&other.version))
    }
}

impl PartialOrd for Position<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
