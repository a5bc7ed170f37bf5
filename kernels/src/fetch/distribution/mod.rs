//! The distributions whose kernels can be fetched: releases, repositories, architectures.
//!
//! A distribution without a default address has its mirror in the configuration of the machine, or the user
//! gives one.

mod rpm_table;

use super::rpm_layout::RpmLayout;
use core_relo_loader::target::ArchitectureNames;
use rpm_table::{ALMA, AMAZON, AZURE_LINUX, CENTOS_STREAM, FEDORA, MARINER, OPENSUSE, ORACLE, ROCKY};

/// The format of a distribution's package index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexFormat {
    /// apt: `Release`, `Packages`, `.deb`.
    Apt,
    /// apk: `APKINDEX`, `.apk`.
    Apk,
    /// pacman: `core.db`, `.pkg.tar.zst`.
    Pacman,
    /// rpm-md: `repomd.xml`, `primary.xml`, `.rpm`.
    RpmMd(&'static RpmLayout),
}

/// A distribution.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Distribution {
    /// The name in a specification: `debian`.
    pub name: &'static str,
    /// The format of its index.
    pub format: IndexFormat,
    /// The address of its mirror, unless the machine or the user has one.
    pub default_mirror: Option<&'static str>,
    /// The keyring that the distribution installs, if the machine has it, or the directory of keys. Empty for
    /// rpm-md, whose layout names the keys.
    pub keyring: &'static str,
    /// The components of its repositories that contain kernels.
    pub components: &'static [&'static str],
    /// The releases, the oldest first.
    pub releases: &'static [DistributionRelease],
}

/// A release of a distribution.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DistributionRelease {
    /// The number: `12`. A release without a number has its code name here, too.
    pub number: &'static str,
    /// The code name: `bookworm`.
    pub code_name: &'static str,
    /// The repositories that contain kernels.
    pub suites: &'static [Suite],
}

impl DistributionRelease {
    /// Returns the number, and the code name if it is another word: `12 (bookworm)`.
    pub fn label(&self) -> String {
        match self.number == self.code_name {
            true => self.number.to_owned(),
            false => format!("{} ({})", self.number, self.code_name),
        }
    }
}

/// A repository of a release.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Suite {
    /// apt: the name of the directory below `dists`. rpm-md: the path of the repository ([`RpmLayout`]).
    pub name: &'static str,
    /// The archive on the mirror.
    pub archive: Archive,
    /// Whether the repository has newer kernels than the release, so that only a specification that says so
    /// selects them.
    pub is_backports: bool,
}

/// An archive: a directory of a mirror with repositories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Archive {
    /// The main archive.
    Main,
    /// The archive of security updates.
    Security,
}

impl Archive {
    /// Returns the words of `--mirror` and of `[mirrors]` that name this archive of a distribution.
    pub fn mirror_key(self, distribution: &str) -> String {
        match self {
            Self::Main => distribution.to_owned(),
            Self::Security => format!("{distribution}-security"),
        }
    }
}

const fn main_suite(name: &'static str) -> Suite {
    Suite { name, archive: Archive::Main, is_backports: false }
}

const fn security_suite(name: &'static str) -> Suite {
    Suite { name, archive: Archive::Security, is_backports: false }
}

const fn backports(name: &'static str) -> Suite {
    Suite { name, archive: Archive::Main, is_backports: true }
}

const BULLSEYE: [Suite; 3] =
    [main_suite("bullseye"), main_suite("bullseye-updates"), security_suite("bullseye-security")];
const BOOKWORM: [Suite; 4] = [
    main_suite("bookworm"),
    main_suite("bookworm-updates"),
    security_suite("bookworm-security"),
    backports("bookworm-backports"),
];
const TRIXIE: [Suite; 4] = [
    main_suite("trixie"),
    main_suite("trixie-updates"),
    security_suite("trixie-security"),
    backports("trixie-backports"),
];
const FORKY: [Suite; 1] = [main_suite("forky")];
const SID: [Suite; 1] = [main_suite("sid")];
const EXPERIMENTAL: [Suite; 1] = [main_suite("experimental")];

/// Debian. The table names no mirror.
const DEBIAN: Distribution = Distribution {
    name: "debian",
    format: IndexFormat::Apt,
    default_mirror: None,
    keyring: "/usr/share/keyrings/debian-archive-keyring.gpg",
    components: &["main"],
    releases: &[
        DistributionRelease { number: "11", code_name: "bullseye", suites: &BULLSEYE },
        DistributionRelease { number: "12", code_name: "bookworm", suites: &BOOKWORM },
        DistributionRelease { number: "13", code_name: "trixie", suites: &TRIXIE },
        DistributionRelease { number: "14", code_name: "forky", suites: &FORKY },
        DistributionRelease { number: "sid", code_name: "sid", suites: &SID },
        DistributionRelease { number: "experimental", code_name: "experimental", suites: &EXPERIMENTAL },
    ],
};

const FOCAL: [Suite; 3] = [main_suite("focal"), main_suite("focal-updates"), main_suite("focal-security")];
const JAMMY: [Suite; 3] = [main_suite("jammy"), main_suite("jammy-updates"), main_suite("jammy-security")];
const NOBLE: [Suite; 3] = [main_suite("noble"), main_suite("noble-updates"), main_suite("noble-security")];

/// Ubuntu's releases with long-term support. Its archive has the packages for x86-64; those for other
/// architectures are on a mirror of ports.
const UBUNTU: Distribution = Distribution {
    name: "ubuntu",
    format: IndexFormat::Apt,
    default_mirror: Some("http://archive.ubuntu.com/ubuntu"),
    keyring: "/usr/share/keyrings/ubuntu-archive-keyring.gpg",
    components: &["main"],
    releases: &[
        DistributionRelease { number: "20.04", code_name: "focal", suites: &FOCAL },
        DistributionRelease { number: "22.04", code_name: "jammy", suites: &JAMMY },
        DistributionRelease { number: "24.04", code_name: "noble", suites: &NOBLE },
    ],
};

const ALPINE_3_18: [Suite; 1] = [main_suite("v3.18/main")];
const ALPINE_3_19: [Suite; 1] = [main_suite("v3.19/main")];
const ALPINE_3_20: [Suite; 1] = [main_suite("v3.20/main")];
const ALPINE_3_21: [Suite; 1] = [main_suite("v3.21/main")];
const ALPINE_3_22: [Suite; 1] = [main_suite("v3.22/main")];
const ALPINE_3_23: [Suite; 1] = [main_suite("v3.23/main")];
const ALPINE_EDGE: [Suite; 1] = [main_suite("edge/main")];

/// Alpine. A repository has the newest version of a package only.
pub(super) const ALPINE: Distribution = Distribution {
    name: "alpine",
    format: IndexFormat::Apk,
    default_mirror: Some("https://dl-cdn.alpinelinux.org/alpine"),
    keyring: "/etc/apk/keys",
    components: &[],
    releases: &[
        DistributionRelease { number: "3.18", code_name: "3.18", suites: &ALPINE_3_18 },
        DistributionRelease { number: "3.19", code_name: "3.19", suites: &ALPINE_3_19 },
        DistributionRelease { number: "3.20", code_name: "3.20", suites: &ALPINE_3_20 },
        DistributionRelease { number: "3.21", code_name: "3.21", suites: &ALPINE_3_21 },
        DistributionRelease { number: "3.22", code_name: "3.22", suites: &ALPINE_3_22 },
        DistributionRelease { number: "3.23", code_name: "3.23", suites: &ALPINE_3_23 },
        DistributionRelease { number: "edge", code_name: "edge", suites: &ALPINE_EDGE },
    ],
};

const ARCH_ROLLING: [Suite; 2] = [main_suite("core"), main_suite("extra")];

/// Arch Linux, for x86-64. It has one release, whose name may be left out: `arch`, `arch/zen`.
const ARCH: Distribution = Distribution {
    name: "arch",
    format: IndexFormat::Pacman,
    default_mirror: Some("https://geo.mirror.pkgbuild.com"),
    keyring: "/usr/share/pacman/keyrings/archlinux.gpg",
    components: &[],
    releases: &[DistributionRelease { number: "rolling", code_name: "rolling", suites: &ARCH_ROLLING }],
};

/// The distributions.
pub(super) const DISTRIBUTIONS: [&Distribution; 13] = [
    &DEBIAN,
    &UBUNTU,
    &ROCKY,
    &ALMA,
    &CENTOS_STREAM,
    &FEDORA,
    &AMAZON,
    &OPENSUSE,
    &AZURE_LINUX,
    &MARINER,
    &ORACLE,
    &ALPINE,
    &ARCH,
];

/// Further names of distributions. RHEL's packages are for its customers; Rocky Linux rebuilds their sources.
const ALIASES: [(&str, &str); 1] = [("rhel", "rocky")];

/// The name of the flavour of a kernel that has no flavour in its release.
pub(super) const GENERIC: &str = "generic";

/// An architecture for which distributions have kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Architecture {
    machine: &'static str,
    debian: &'static str,
}

impl Architecture {
    /// Returns the architecture with this name, that of `uname -m` or of a distribution.
    pub fn from_name(name: &str) -> Option<Self> {
        ArchitectureNames::find(name).and_then(Self::from_names)
    }

    /// Returns the architecture of this program.
    pub fn of_host() -> Option<Self> {
        Self::from_name(match std::env::consts::ARCH {
            "powerpc64" => "ppc64le",
            other => other,
        })
    }

    /// Returns all architectures.
    pub fn all() -> impl Iterator<Item = Self> {
        ArchitectureNames::all().filter_map(Self::from_names)
    }

    fn from_names(names: ArchitectureNames) -> Option<Self> {
        Some(Self { machine: names.machine(), debian: names.debian()? })
    }

    /// Returns the name that `uname -m` prints.
    pub const fn machine(self) -> &'static str {
        self.machine
    }

    /// Returns Debian's name.
    pub const fn debian(self) -> &'static str {
        self.debian
    }
}

impl Distribution {
    /// Returns all distributions.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        DISTRIBUTIONS.into_iter()
    }

    /// Returns the distribution with this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
        let name = alias.map_or(name, |(_, name)| name);
        DISTRIBUTIONS.into_iter().find(|distribution| distribution.name == name)
    }

    /// Returns the only release of a distribution that has one.
    pub(super) const fn only_release(&self) -> Option<&'static DistributionRelease> {
        match self.releases {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Returns the flavour of kernels that a specification without one selects.
    pub(super) fn default_flavour(&self) -> &'static str {
        // The packages are `linux-lts` and `linux-virt`.
        if self.name == "alpine" { "lts" } else { GENERIC }
    }

    /// Returns the archives of its repositories.
    pub(super) fn archives(&self) -> impl Iterator<Item = Archive> {
        [Archive::Main, Archive::Security].into_iter().filter(|archive| {
            self.releases.iter().flat_map(|release| release.suites).any(|suite| suite.archive == *archive)
        })
    }

    /// Returns the release with this number or code name.
    pub fn release(&self, name: &str) -> Option<&'static DistributionRelease> {
        let name = if name == "unstable" { "sid" } else { name };
        self.releases.iter().find(|release| release.number == name || release.code_name == name)
    }
}
