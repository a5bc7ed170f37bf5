//! Specifications of kernels: `debian:12`, `debian:12/6.1-cloud@arm64`.
//!
//! ```text
//! DISTRIBUTION:RELEASE[/WORD]...[@ARCHITECTURE]
//! ```
//!
//! | word | selects |
//! |---|---|
//! | `newest` | the newest kernel (the default) |
//! | `newest-of-each-series` | the newest kernel of each series: 6.1, 6.12 and so on |
//! | `all` | all versions |
//! | `since-5.10` | all versions from 5.10 on |
//! | `6`, `6.1`, `6.1.192` | versions that begin so |
//! | `6.1.192-cloud` | the same, of a flavour |
//! | `cloud` | kernels of this flavour; without one, kernels without a flavour (`generic`) |
//! | `all-flavours` | kernels of all flavours |
//! | `6.1.0-43-cloud-amd64` | the kernel with this release (`uname -r`) |
//! | `backports` | kernels of later releases, built for this one |
//! | `hwe` | kernels of later series that the release maintains, such as Ubuntu's for new hardware |

mod error;
mod selection;

use super::{
    distribution::{Architecture, Distribution, DistributionRelease, GENERIC},
    kernel_version::has_valid_epoch,
};
pub use error::SpecError;
use std::{fmt, str::FromStr};

/// The words of specifications that select versions, flavours and lines of kernels.
pub const SELECTION_WORDS: [&str; 6] =
    ["newest", "newest-of-each-series", "all", "all-flavours", "backports", "hwe"];

/// A specification of kernels of one release of a distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSpec {
    distribution: &'static Distribution,
    release: &'static DistributionRelease,
    kernel: Option<String>,
    flavour: Flavour,
    versions: Versions,
    is_backports: bool,
    is_hwe: bool,
    architecture: Option<Architecture>,
}

/// The flavours that a specification selects.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Flavour {
    /// Kernels without a flavour, unless a release is named.
    Default,
    /// One flavour.
    Named(String),
    /// All flavours.
    All,
}

/// The versions that a specification selects.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Versions {
    Newest,
    NewestOfEachSeries,
    All,
    Since(String),
}

impl KernelSpec {
    /// Returns the distribution.
    pub const fn distribution(&self) -> &'static Distribution {
        self.distribution
    }

    /// Returns the release of the distribution.
    pub const fn release(&self) -> &'static DistributionRelease {
        self.release
    }

    /// Returns the architecture that the specification names.
    pub const fn architecture(&self) -> Option<Architecture> {
        self.architecture
    }

    /// Returns whether the specification selects backports.
    pub const fn is_backports(&self) -> bool {
        self.is_backports
    }

    /// Returns the specification with an architecture, unless it names one.
    #[must_use]
    pub fn with_architecture(mut self, architecture: Architecture) -> Self {
        self.architecture.get_or_insert(architecture);
        self
    }

    /// Adds a word of the kernel part.
    fn add_word(&mut self, spec: &str, word: &str) -> Result<(), SpecError> {
        match word {
            "" => return Err(SpecError::EmptyWord { spec: spec.to_owned() }),
            "newest" => self.versions = Versions::Newest,
            "newest-of-each-series" => self.versions = Versions::NewestOfEachSeries,
            "all" => self.versions = Versions::All,
            "all-flavours" => self.flavour = Flavour::All,
            "backports" => self.is_backports = true,
            "hwe" => self.is_hwe = true,
            // openSUSE's name.
            "default" => self.flavour = Flavour::Named(GENERIC.to_owned()),
            _ => return self.add_kernel_or_flavour(spec, word),
        }
        Ok(())
    }

    /// Adds `since-VERSION`, a version, a release or a flavour.
    fn add_kernel_or_flavour(&mut self, spec: &str, word: &str) -> Result<(), SpecError> {
        let is_version =
            |word: &str| word.starts_with(|first: char| first.is_ascii_digit()) && !is_page_size(word);
        if let Some(version) = word.strip_prefix("since-").or_else(|| word.strip_prefix("since ")) {
            if !is_version(version) || !has_valid_epoch(version) {
                return Err(SpecError::NoVersion { spec: spec.to_owned(), word: word.to_owned() });
            }
            self.versions = Versions::Since(version.to_owned());
        } else if !is_version(word) {
            self.flavour = Flavour::Named(word.to_owned());
        } else if self.kernel.is_some() {
            return Err(SpecError::TwoKernels { spec: spec.to_owned(), word: word.to_owned() });
        } else {
            self.kernel = Some(word.to_owned());
        }
        Ok(())
    }
}

/// Returns whether a word is a flavour that is named after the size of a page: `64k`, `16k`, `64kb`.
fn is_page_size(word: &str) -> bool {
    let digits = word.strip_suffix("kb").or_else(|| word.strip_suffix('k'));
    digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

impl FromStr for KernelSpec {
    type Err = SpecError;

    fn from_str(spec: &str) -> Result<Self, SpecError> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || ":/@.-+~_ ".contains(c);
        if let Some(bad) = spec.chars().find(|&c| !is_allowed(c)) {
            return Err(SpecError::Character { spec: spec.to_owned(), character: bad });
        }
        let (name, rest) = match spec.split_once(':') {
            Some(parts) => parts,
            None => spec.split_at_checked(spec.find(['/', '@']).unwrap_or(spec.len())).unwrap_or((spec, "")),
        };
        let has_release = spec.contains(':');
        let distribution = Distribution::from_name(name);
        if !has_release && distribution.is_none_or(|known| known.only_release().is_none()) {
            return Err(SpecError::NoDistribution { spec: spec.to_owned() });
        }
        let distribution = distribution.ok_or_else(|| SpecError::unknown_distribution(name))?;
        let (rest, architecture) = match rest.rsplit_once('@') {
            Some((rest, name)) => {
                let known = Architecture::from_name(name);
                (rest, Some(known.ok_or_else(|| SpecError::unknown_architecture(name))?))
            }
            None => (rest, None),
        };
        let mut words = rest.split('/');
        let name = words.next().unwrap_or("");
        let release = match (has_release, distribution.only_release()) {
            (false, Some(only)) => only,
            _ => distribution.release(name).ok_or_else(|| SpecError::unknown_release(distribution, name))?,
        };
        let mut parsed = Self {
            distribution,
            release,
            kernel: None,
            flavour: Flavour::Default,
            versions: Versions::Newest,
            is_backports: false,
            is_hwe: false,
            architecture,
        };
        words.try_for_each(|word| parsed.add_word(spec, word))?;
        Ok(parsed)
    }
}

impl fmt::Display for KernelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.distribution.name, self.release.number)?;
        if self.is_backports {
            f.write_str("/backports")?;
        }
        if self.is_hwe {
            f.write_str("/hwe")?;
        }
        if let Some(kernel) = &self.kernel {
            write!(f, "/{kernel}")?;
        }
        match &self.flavour {
            Flavour::Default => {}
            Flavour::Named(name) => write!(f, "/{name}")?,
            Flavour::All => f.write_str("/all-flavours")?,
        }
        match &self.versions {
            Versions::Newest => {}
            Versions::NewestOfEachSeries => f.write_str("/newest-of-each-series")?,
            Versions::All => f.write_str("/all")?,
            Versions::Since(version) => write!(f, "/since-{version}")?,
        }
        match self.architecture {
            Some(architecture) => write!(f, "@{}", architecture.machine()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_have_one_spelling() {
        for (text, expected) in [
            ("debian:12", "debian:12"),
            ("debian:bookworm", "debian:12"),
            ("debian:unstable", "debian:sid"),
            ("debian:12/newest", "debian:12"),
            ("debian:12/6.1.192-cloud@arm64", "debian:12/6.1.192-cloud@aarch64"),
            ("debian:12/since 5.10", "debian:12/since-5.10"),
            ("debian:13/all/cloud@amd64", "debian:13/cloud/all@x86_64"),
            ("debian:12/backports/newest-of-each-series", "debian:12/backports/newest-of-each-series"),
            ("debian:11/all-flavours", "debian:11/all-flavours"),
            ("ubuntu:jammy/hwe", "ubuntu:22.04/hwe"),
            ("alpine:3.20/virt", "alpine:3.20/virt"),
            ("arch", "arch:rolling"),
            ("arch/zen@x86_64", "arch:rolling/zen@x86_64"),
        ] {
            let spec: KernelSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), expected);
            assert_eq!(expected.parse(), Ok(spec), "{text}");
        }
    }

    #[test]
    fn errors_name_what_is_near_and_what_is_known() {
        for (text, expected) in [
            (
                "debain:12",
                "unknown distribution `debain`; near: debian; known: debian, ubuntu, rocky, alma, \
              centos-stream, fedora, amazon, opensuse, azurelinux, mariner, oracle, alpine, arch",
            ),
            (
                "debian:bokworm",
                "unknown release `bokworm` of debian; near: bookworm; known: 11 (bullseye), \
              12 (bookworm), 13 (trixie), 14 (forky), sid, experimental",
            ),
            (
                "debian:12@riscv65",
                "unknown architecture `riscv65`; near: riscv64; known: x86_64, aarch64, \
              s390x, ppc64le, riscv64, loongarch64, i686, armv7l",
            ),
            (
                "vmlinux",
                "`vmlinux` is no specification of kernels, expected DISTRIBUTION:RELEASE, such as \
              debian:12",
            ),
            ("debian:12/", "`debian:12/` has an empty word"),
            ("debian:12/since-cloud", "`debian:12/since-cloud`: `since-cloud` has no version"),
            ("debian:12/since-6x:1", "`debian:12/since-6x:1`: `since-6x:1` has no version"),
            ("debian:12/6.1/6.12", "`debian:12/6.1/6.12`: `6.12` is a second version, expected one"),
            ("debian:12/../../x\n", "`debian:12/../../x\\n` has the character '\\n'"),
        ] {
            assert_eq!(text.parse::<KernelSpec>().unwrap_err().to_string(), expected);
        }
    }
}
