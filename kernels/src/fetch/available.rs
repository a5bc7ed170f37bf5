//! Kernels that can be fetched, as an index lists them.

use super::{
    distribution::{Distribution, GENERIC, IndexFormat},
    hash::is_hash,
    kernel_version::{compare_versions, has_valid_epoch, series, upstream_version},
    rpm_version::compare_rpm_versions,
    sha256::hex,
};
use core_relo_verdict::kernel::DistributionKernel;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{cmp::Ordering, fmt};

/// A kernel in a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AvailableKernel {
    /// The distribution: `debian`.
    pub distribution: String,
    /// The release of the distribution: `12`.
    pub distribution_release: String,
    /// The release of the kernel, as `uname -r` prints it: `6.1.0-43-cloud-amd64`.
    pub release: String,
    /// The version of its packages: `6.1.162-1`.
    pub version: String,
    /// The architecture, as `uname -m` prints it.
    pub architecture: String,
    /// The flavour: `cloud`, or `generic`.
    pub flavour: String,
    /// The line of kernels to which it belongs.
    pub line: KernelLine,
    /// The packages, in the order in which they are fetched.
    pub packages: Vec<KernelPackage>,
    /// The protection of the index that lists the packages.
    pub protection: Protection,
}

/// A line of kernels in a release of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum KernelLine {
    /// The release's own kernel.
    Default,
    /// A further kernel that the release maintains, such as 6.12 for Debian 12.
    Additional,
    /// A kernel of a later release, in a repository of backports.
    Backports,
}

/// A package of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KernelPackage {
    /// The name.
    pub name: String,
    /// The contents.
    pub role: PackageRole,
    /// The size in bytes.
    pub bytes: u64,
    /// The SHA-256 or SHA-512, in hexadecimal digits.
    #[serde(alias = "sha256")] // the name in stores and lock files before
    pub hash: String,
    /// The archive on the mirror: `debian` or `debian-security`.
    pub archive: String,
    /// The path below the archive's address.
    pub path: String,
}

/// The contents of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum PackageRole {
    /// The image, and whatever the other packages of the kernel do not contain.
    Image,
    /// Configuration and symbols.
    Base,
    /// Modules.
    Modules,
    /// Further modules, which not every installation has.
    #[serde(rename = "extra-modules")]
    ExtraModules,
    /// Debug information.
    Debug,
}

/// What protects an index, and with it the hashes of all packages, from changes on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Protection {
    /// A signature by a key in a keyring of the machine.
    Signature {
        /// The keyring.
        keyring: String,
    },
    /// The connection to the mirror (TLS). The mirror itself is trusted.
    Tls,
    /// A directory of this machine.
    File,
    /// Nothing.
    None,
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signature { keyring } => write!(f, "signature, {keyring}"),
            Self::Tls => f.write_str("TLS, no signature"),
            Self::File => f.write_str("local directory, no signature"),
            Self::None => f.write_str("nothing: no signature, no TLS"),
        }
    }
}

/// Returns the order of the versions of a distribution's packages.
fn version_order(distribution: &str) -> fn(&str, &str) -> Ordering {
    match Distribution::from_name(distribution).map(|distribution| distribution.format) {
        Some(IndexFormat::RpmMd(_)) => compare_rpm_versions,
        Some(IndexFormat::Apt | IndexFormat::Apk | IndexFormat::Pacman) | None => compare_versions,
    }
}

/// Returns whether a name is a plain file name.
pub(super) fn is_file_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+.~".contains(&byte);
    !matches!(name, "" | "." | "..") && name.bytes().all(is_plain)
}

/// Returns whether a path stays below the mirror's address.
pub(super) fn is_relative(path: &str) -> bool {
    let is_plain = |part: &str| !matches!(part, "" | "." | "..");
    path.split('/').all(is_plain) && path.chars().all(|c| c.is_ascii_graphic() && !"?#\\%".contains(c))
}

impl AvailableKernel {
    /// Returns the name: `debian:12/6.1.0-43-cloud-amd64`.
    pub fn name(&self) -> String {
        format!("{}:{}/{}", self.distribution, self.distribution_release, self.release)
    }

    /// Returns the package for reports. Returns `None` if a field is not plain.
    pub fn distribution_kernel(&self) -> Option<DistributionKernel> {
        let Self { distribution, distribution_release, version, architecture, .. } = self;
        DistributionKernel::new(distribution, distribution_release, version, architecture)
    }

    /// Returns the series in the distribution, of which the kernel is a version: `debian:12 x86_64 cloud`.
    /// The lines of kernels in a release are series of their own: `ubuntu:22.04 x86_64 additional`.
    pub fn distribution_series(&self) -> String {
        let mut series = format!("{}:{} {}", self.distribution, self.distribution_release, self.architecture);
        let flavour = Some(self.flavour.as_str()).filter(|flavour| *flavour != GENERIC);
        let line = match self.line {
            KernelLine::Default => None,
            KernelLine::Additional => Some("additional"),
            KernelLine::Backports => Some("backports"),
        };
        for word in [flavour, line].into_iter().flatten() {
            series.push(' ');
            series.push_str(word);
        }
        series
    }

    /// Returns the version of Linux: `6.1.162`.
    pub fn linux_version(&self) -> String {
        upstream_version(&self.version)
    }

    /// Returns the series of Linux: `6.1`.
    pub fn series(&self) -> String {
        series(&self.linux_version())
    }

    /// Returns the key of the kernel in the store: a hash of its name and the hashes of its packages. Kernels
    /// with the same key are the same.
    pub fn key(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.name().as_bytes());
        for package in self.fetched_packages() {
            hash.update(b"\n");
            hash.update(package.hash.as_bytes());
        }
        hex(&hash.finalize())
    }

    /// Returns whether the fields that become parts of paths and addresses are plain, and the version can be
    /// compared. The fields of a lock file may be hostile.
    pub(super) fn is_well_formed(&self) -> bool {
        is_file_name(&self.release)
            && has_valid_epoch(&self.version)
            && self.packages.iter().all(|package| {
                is_file_name(&package.name) && is_hash(&package.hash) && is_relative(&package.path)
            })
    }

    /// Returns the packages that a fetch downloads: all but the debug information.
    pub fn fetched_packages(&self) -> impl Iterator<Item = &KernelPackage> {
        self.packages.iter().filter(|package| package.role != PackageRole::Debug)
    }

    /// Returns the bytes that a fetch downloads.
    pub fn download_bytes(&self) -> u64 {
        self.fetched_packages().fold(0, |sum, package| sum.saturating_add(package.bytes))
    }

    /// Compares kernels: distribution, release, then version, then flavour.
    pub fn compare(&self, other: &Self) -> Ordering {
        let distribution = |kernel: &Self| (kernel.distribution.clone(), kernel.architecture.clone());
        distribution(self)
            .cmp(&distribution(other))
            .then_with(|| compare_versions(&self.distribution_release, &other.distribution_release))
            .then_with(|| version_order(&self.distribution)(&self.version, &other.version))
            .then_with(|| (self.flavour != GENERIC).cmp(&(other.flavour != GENERIC)))
            .then_with(|| self.release.cmp(&other.release))
    }
}
