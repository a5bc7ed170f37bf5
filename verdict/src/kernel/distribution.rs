//! The package of a distribution that a kernel is from.

use crate::limits::MAX_PACKAGE_FIELD_BYTES;
use core::{cmp::Ordering, fmt};
use core_relo_object::KernelVersion;

/// The package of a distribution that a kernel is from. No verdict depends on it: reports group kernels by
/// distribution and release.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DistributionKernel {
    /// The distribution: `debian`.
    pub distribution: String,
    /// The release of the distribution: `12`.
    pub release: String,
    /// The version of the package: `6.1.192-3`.
    pub package_version: String,
    /// The architecture, as `uname -m` prints it.
    pub architecture: String,
}

impl DistributionKernel {
    /// Creates the value. Returns `None` if a field is not plain: letters, digits and `.-_+~:`.
    pub fn new(
        distribution: impl Into<String>,
        release: impl Into<String>,
        package_version: impl Into<String>,
        architecture: impl Into<String>,
    ) -> Option<Self> {
        let kernel = Self {
            distribution: distribution.into(),
            release: release.into(),
            package_version: package_version.into(),
            architecture: architecture.into(),
        };
        kernel.is_plain().then_some(kernel)
    }

    /// Parses a line as the value prints it: `debian 12 6.1.192-3 x86_64`.
    pub fn from_line(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let kernel = Self::new(words.next()?, words.next()?, words.next()?, words.next()?);
        kernel.filter(|_| words.next().is_none())
    }

    /// Returns whether every field is plain, so that reports can print it as it is.
    pub fn is_plain(&self) -> bool {
        let Self { distribution, release, package_version, architecture } = self;
        let is_plain_byte = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+~:".contains(&byte);
        [distribution, release, package_version, architecture].into_iter().all(|field| {
            (1..=MAX_PACKAGE_FIELD_BYTES).contains(&field.len()) && field.bytes().all(is_plain_byte)
        })
    }

    /// Returns the version of Linux in the version of the package.
    pub fn linux_version(&self) -> Option<KernelVersion> {
        let version = self.package_version.as_str();
        // An epoch precedes some versions: `2:6.1.192-3`.
        let version = version.split_once(':').map_or(version, |(_epoch, version)| version);
        let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
        let mut numbers = version.get(..end)?.split('.');
        let (major, minor) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
        let patch = numbers.next().and_then(|patch| patch.parse().ok()).unwrap_or(0);
        Some(KernelVersion { major, minor, patch })
    }

    /// Compares releases of a distribution: by their numbers, and those without a number, such as `sid`, as
    /// the newest.
    pub fn compare_releases(left: &str, right: &str) -> Ordering {
        let key = |release: &str| {
            let numbers: Vec<u32> = release.split('.').map_while(|number| number.parse().ok()).collect();
            (numbers.is_empty(), numbers)
        };
        key(left).cmp(&key(right)).then_with(|| left.cmp(right))
    }
}

impl fmt::Display for DistributionKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { distribution, release, package_version, architecture } = self;
        write!(f, "{distribution} {release} {package_version} {architecture}")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn lines_are_parsed_as_they_are_printed() {
        let line = "debian 12 6.12.117-1~deb12u1 x86_64";
        assert_eq!(DistributionKernel::from_line(line).unwrap().to_string(), line);
        for line in ["", "debian 12 6.1", "debian 12 6.1 x86_64 more", "debian <12> 6.1 x86_64"] {
            assert_eq!(DistributionKernel::from_line(line), None, "{line}");
        }
    }

    #[test]
    fn the_version_of_linux_is_in_that_of_the_package() {
        for (package, version) in [
            ("6.1.192-3", Some((6, 1, 192))),
            ("6.8.0-40.40~22.04.3", Some((6, 8, 0))),
            ("2:5.10-1", Some((5, 10, 0))),
            ("5.14.0-427.el9", Some((5, 14, 0))),
            ("rolling", None),
        ] {
            let kernel = DistributionKernel::new("d", "1", package, "x86_64").unwrap();
            let version = version.map(|(major, minor, patch)| KernelVersion { major, minor, patch });
            assert_eq!(kernel.linux_version(), version, "{package}");
        }
    }

    #[test]
    fn releases_are_ordered_by_number_and_names_are_newest() {
        let mut releases = ["sid", "9", "12", "22.04", "20.04", "15.6", "15.10"];
        releases.sort_by(|left, right| DistributionKernel::compare_releases(left, right));
        assert_eq!(releases, ["9", "12", "15.6", "15.10", "20.04", "22.04", "sid"]);
    }
}
