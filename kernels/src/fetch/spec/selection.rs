//! The kernels that a specification selects.

use super::{Flavour, KernelSpec, SpecError, Versions, error::nearest};
use crate::fetch::{
    available::{AvailableKernel, KernelLine},
    distribution::GENERIC,
    kernel_version::{compare_versions, starts_with_version},
};
use std::collections::BTreeSet;

/// The largest number of versions in an error.
const LISTED_VERSIONS: usize = 12;

impl KernelSpec {
    /// Selects kernels, the oldest first. It is an error if the specification selects none.
    pub fn select(&self, kernels: &[AvailableKernel]) -> Result<Vec<AvailableKernel>, SpecError> {
        let mut in_release: Vec<_> = kernels.iter().filter(|kernel| self.is_in_release(kernel)).collect();
        in_release.sort_by(|left, right| left.compare(right));
        self.check_flavour(&in_release)?;
        let of_flavour: Vec<_> =
            in_release.iter().copied().filter(|kernel| self.has_flavour(kernel)).collect();
        let of_version = of_flavour.iter().copied().filter(|kernel| self.has_version(kernel)).collect();
        let selected = self.choose_versions(of_version);
        if selected.is_empty() {
            let mut versions: Vec<_> = of_flavour.iter().map(|kernel| kernel.linux_version()).collect();
            versions.dedup();
            versions.reverse();
            versions.truncate(LISTED_VERSIONS);
            let kernel_count = in_release.len();
            return Err(SpecError::SelectsNothing { spec: self.to_string(), kernel_count, versions });
        }
        Ok(selected.into_iter().cloned().collect())
    }

    /// Returns whether a kernel has what the words of the specification name. Without words, all kernels of
    /// the release have it: this is the question about kernels that were chosen before.
    pub fn describes(&self, kernel: &AvailableKernel) -> bool {
        kernel.distribution == self.distribution.name
            && kernel.distribution_release == self.release.number
            && self.architecture.is_none_or(|architecture| kernel.architecture == architecture.machine())
            && (!self.is_backports || kernel.line == KernelLine::Backports)
            && (!self.is_hwe || kernel.line == KernelLine::Additional)
            && (self.flavour == Flavour::Default || self.has_flavour(kernel))
            && self.has_version(kernel)
    }

    /// Returns whether a kernel is of the release, the architecture and the line of kernels.
    fn is_in_release(&self, kernel: &AvailableKernel) -> bool {
        kernel.distribution == self.distribution.name
            && kernel.distribution_release == self.release.number
            && self.architecture.is_none_or(|architecture| kernel.architecture == architecture.machine())
            && self.is_backports == (kernel.line == KernelLine::Backports)
            && (!self.is_hwe || kernel.line == KernelLine::Additional)
    }

    /// Checks that the flavour exists.
    fn check_flavour(&self, kernels: &[&AvailableKernel]) -> Result<(), SpecError> {
        let known: BTreeSet<_> = kernels.iter().map(|kernel| kernel.flavour.as_str()).collect();
        match &self.flavour {
            Flavour::Named(flavour) if !known.is_empty() && !known.contains(flavour.as_str()) => {
                Err(SpecError::UnknownFlavour {
                    spec: self.to_string(),
                    flavour: flavour.clone(),
                    near: nearest(flavour, known.iter().copied()),
                    known: known.into_iter().map(str::to_owned).collect(),
                })
            }
            _ => Ok(()),
        }
    }

    fn has_flavour(&self, kernel: &AvailableKernel) -> bool {
        match &self.flavour {
            Flavour::All => true,
            Flavour::Named(flavour) => kernel.flavour == *flavour,
            Flavour::Default => match &self.kernel {
                Some(word) if has_release(kernel, word) || has_flavoured_version(kernel, word) => true,
                _ => kernel.flavour == self.distribution.default_flavour(),
            },
        }
    }

    fn has_version(&self, kernel: &AvailableKernel) -> bool {
        let version = kernel.linux_version();
        let is_named = self.kernel.as_ref().is_none_or(|word| {
            has_release(kernel, word)
                || has_flavoured_version(kernel, word)
                || starts_with_version(&version, word)
                || kernel.version == *word
        });
        is_named
            && match &self.versions {
                Versions::Since(oldest) => compare_versions(&version, oldest).is_ge(),
                _ => true,
            }
    }

    /// Chooses the newest kernel, the newest of each series, or all, of each flavour and architecture.
    fn choose_versions<'k>(&self, kernels: Vec<&'k AvailableKernel>) -> Vec<&'k AvailableKernel> {
        if matches!(self.versions, Versions::All | Versions::Since(_)) {
            return kernels;
        }
        // Without a version, the newest kernel is that of the release, not an additional one.
        let has_default = kernels.iter().any(|kernel| kernel.line == KernelLine::Default);
        let is_default_line = self.versions == Versions::Newest && self.kernel.is_none() && has_default;
        let group = |kernel: &AvailableKernel| match self.versions {
            Versions::NewestOfEachSeries => {
                (kernel.architecture.clone(), kernel.flavour.clone(), Some(kernel.series()))
            }
            _ => (kernel.architecture.clone(), kernel.flavour.clone(), None),
        };
        let mut chosen = Vec::new();
        let mut groups = BTreeSet::new();
        for kernel in kernels.into_iter().rev() {
            if is_default_line && kernel.line != KernelLine::Default {
                continue;
            }
            if groups.insert(group(kernel)) {
                chosen.push(kernel);
            }
        }
        chosen.reverse();
        chosen
    }
}

/// Returns whether a word is the release of a kernel, with or without the architecture at its end:
/// `6.1.0-43-cloud-amd64` or `6.1.0-43-cloud`, on Ubuntu also without `generic`.
fn has_release(kernel: &AvailableKernel, word: &str) -> bool {
    let ending = kernel.release.strip_prefix(word).and_then(|rest| rest.strip_prefix('-'));
    let is_optional = |ending: &str| !ending.contains('-') && (ending == GENERIC || ending != kernel.flavour);
    kernel.release == word || ending.is_some_and(is_optional)
}

/// Returns whether a word is a version and a flavour: `6.1-cloud`.
fn has_flavoured_version(kernel: &AvailableKernel, word: &str) -> bool {
    let flavoured = word.strip_suffix(kernel.flavour.as_str()).and_then(|rest| rest.strip_suffix('-'));
    flavoured.is_some_and(|version| starts_with_version(&kernel.linux_version(), version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::available::Protection;

    fn kernel(release: &str, version: &str, flavour: &str) -> AvailableKernel {
        AvailableKernel {
            distribution: "ubuntu".to_owned(),
            distribution_release: "22.04".to_owned(),
            release: release.to_owned(),
            version: version.to_owned(),
            architecture: "x86_64".to_owned(),
            flavour: flavour.to_owned(),
            line: if version.starts_with("5.15") { KernelLine::Default } else { KernelLine::Additional },
            packages: Vec::new(),
            protection: Protection::None,
        }
    }

    #[test]
    fn words_select_versions_flavours_and_releases() {
        let kernels = [
            kernel("5.15.0-91-generic", "5.15.0-91.101", "generic"),
            kernel("5.15.0-91-lowlatency", "5.15.0-91.101", "lowlatency"),
            kernel("5.15.0-101-generic", "5.15.0-101.111", "generic"),
            kernel("6.5.0-44-generic", "6.5.0-44.44~22.04.1", "generic"),
            kernel("6.8.0-40-generic", "6.8.0-40.40~22.04.3", "generic"),
        ];
        for (words, expected) in [
            ("", vec!["5.15.0-101-generic"]),
            ("/hwe", vec!["6.8.0-40-generic"]),
            ("/6.5", vec!["6.5.0-44-generic"]),
            ("/lowlatency", vec!["5.15.0-91-lowlatency"]),
            ("/5.15.0-91", vec!["5.15.0-91-generic"]),
            ("/5.15.0-91-lowlatency", vec!["5.15.0-91-lowlatency"]),
            ("/newest-of-each-series", vec!["5.15.0-101-generic", "6.5.0-44-generic", "6.8.0-40-generic"]),
            ("/since-6.5", vec!["6.5.0-44-generic", "6.8.0-40-generic"]),
            (
                "/5.15/all/all-flavours",
                vec!["5.15.0-91-generic", "5.15.0-91-lowlatency", "5.15.0-101-generic"],
            ),
        ] {
            let spec: KernelSpec = format!("ubuntu:22.04{words}@x86_64").parse().unwrap();
            let selected = spec.select(&kernels).unwrap();
            let releases: Vec<_> = selected.iter().map(|kernel| kernel.release.as_str()).collect();
            assert_eq!(releases, expected, "{spec}");
        }
        let other: KernelSpec = "ubuntu:24.04".parse().unwrap();
        assert_eq!(
            other.select(&kernels).unwrap_err().to_string(),
            "`ubuntu:24.04` selects none of 0 kernels"
        );
    }
}
