//! The properties that identify a kernel.

use crate::target::ArchitectureNames;
use core::fmt;

/// The properties of a kernel that identify its entry in an archive. Unknown properties are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelIdentity {
    /// The release, as `uname -r` prints it.
    pub release: String,
    /// The version string, as `uname -v` prints it: `#1 SMP Debian 6.1.170-1 (2026-04-12)`.
    pub version: String,
    /// The architecture, as `uname -m` prints it; `amd64` and `arm64` count as `x86_64` and `aarch64`.
    pub architecture: String,
    /// The distribution.
    pub distribution: OsRelease,
    /// The build id of vmlinux, in lower-case hexadecimal digits.
    pub build_id: String,
}

/// The distribution of a kernel, by the names in `/etc/os-release`, which BTFHub uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OsRelease {
    /// `ID` of `/etc/os-release`: `ubuntu`.
    pub id: String,
    /// `VERSION_ID` of `/etc/os-release`: `20.04`.
    pub version: String,
}

impl KernelIdentity {
    /// Creates the identity of a kernel with this release and architecture.
    pub fn new(release: impl Into<String>, architecture: impl Into<String>) -> Self {
        Self { release: release.into(), architecture: architecture.into(), ..Self::default() }
    }

    /// Returns the name of the kernel's BTF: `ubuntu/20.04/x86_64/5.4.0-42-generic.btf`, without the unknown
    /// parts.
    pub fn file_name(&self) -> String {
        let OsRelease { id, version } = &self.distribution;
        let architecture = normal_architecture(&self.architecture);
        let parts = [id.as_str(), version, architecture, &self.release];
        let known: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        format!("{}.btf", known.join("/"))
    }

    /// Parses the name of a BTF as [`file_name`](Self::file_name) and BTFHub write it.
    pub fn from_file_name(path: &str) -> Self {
        // The endings from right to left: of a compressed file, an archive, and BTF.
        let stem = [".gz", ".xz", ".zst", ".lz4", ".lzma", ".bz2", ".tar", ".btf"]
            .iter()
            .fold(path, |stem, end| stem.strip_suffix(end).unwrap_or(stem));
        let (directory, release) = stem.rsplit_once('/').unwrap_or(("", stem));
        let mut parts = directory.rsplit('/');
        let prefixes = ["vmlinux-", "vmlinuz-", "vmlinux.", "linux-"];
        let release =
            prefixes.iter().fold(release, |release, prefix| release.strip_prefix(prefix).unwrap_or(release));
        let mut identity = Self { release: release.to_owned(), ..Self::default() };
        let Some(architecture) = parts.next().filter(|part| is_architecture(part)) else { return identity };
        normal_architecture(architecture).clone_into(&mut identity.architecture);
        if let (Some(version), Some(id)) = (parts.next(), parts.next()) {
            identity.distribution = OsRelease { id: id.to_owned(), version: version.to_owned() };
        }
        identity
    }
}

impl OsRelease {
    /// Creates the value from `ID` and `VERSION_ID`.
    pub fn new(id: impl Into<String>, version: impl Into<String>) -> Self {
        Self { id: id.into(), version: version.into() }
    }
}

impl fmt::Display for KernelIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.file_name();
        f.write_str(name.strip_suffix(".btf").unwrap_or(&name))
    }
}

fn is_architecture(name: &str) -> bool {
    ArchitectureNames::find(name).is_some()
}

/// Returns the kernel's name of an architecture. Unknown names stay the same.
pub(super) fn normal_architecture(name: &str) -> &str {
    ArchitectureNames::find(name).map_or(name, |known| known.machine())
}
