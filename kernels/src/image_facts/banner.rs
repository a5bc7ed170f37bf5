//! The banner of a kernel: its release, its version, its builder. `/proc/version` shows the banner.

use crate::limits::{MAX_BANNER_BYTES, MAX_BANNERS};
use core_relo_verdict::kernel::KernelVersion;
use memchr::memmem;

const BANNER: &[u8] = b"Linux version ";

/// The beginning of Ubuntu's signature: `Ubuntu 5.15.0-91.101-generic 5.15.131`.
const UBUNTU: &[u8] = b"Ubuntu ";

/// The release and the version in a banner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Banner {
    /// The release, as `uname -r` prints it.
    pub(super) release: String,
    /// The version, with the number of the stable release. `None` if the banner does not contain this number.
    pub(super) version: Option<KernelVersion>,
    /// The version string, as `uname -v` prints it: `#1 SMP Debian 6.1.192-1 (2026-11-01)`.
    pub(super) version_string: Option<String>,
}

/// Finds the banner of the kernel in bytes.
///
/// Images since Linux 6.1 have two banners. The first may be a placeholder without build number
/// (`# SMP Debian …`) or without date (`#3 SMP `). The kernel uses the second.
pub(super) fn find_banner(bytes: &[u8]) -> Option<Banner> {
    let places = memmem::find_iter(bytes, BANNER).take(MAX_BANNERS);
    let mut banners = places.filter_map(|at| parse_banner(bytes.get(at..)?));
    let first = banners.next()?;
    let banner = match first.version_string {
        Some(_) => first,
        None => banners
            .find(|other| other.release == first.release && other.version_string.is_some())
            .unwrap_or(first),
    };
    if banner.version.is_some() {
        return Some(banner);
    }
    Some(Banner { version: find_ubuntu_version(bytes, &banner.release), ..banner })
}

/// Parses a banner, or the text of a boot header, which begins with the release. The text ends with its line.
///
/// Debian and Ubuntu keep the number of the stable release out of the release (libbpf: `get_kernel_version`).
pub(super) fn parse_banner(bytes: &[u8]) -> Option<Banner> {
    let bytes = bytes.get(..bytes.len().min(MAX_BANNER_BYTES))?;
    let end = bytes.iter().position(|byte| matches!(byte, b'\n' | 0))?;
    let text = str::from_utf8(bytes.get(..end)?).ok()?;
    let text = text.strip_prefix("Linux version ").unwrap_or(text);
    let (release, rest) = text.split_once(' ')?;
    let from_release: KernelVersion = release.parse().ok()?;
    // The compiler's version comes before, and may name a distribution too.
    let build = rest.rsplit_once(" #").map_or("", |(_, build)| build);
    let is_placeholder = build.is_empty() || build.starts_with(' ') || build.ends_with(' ');
    let version_string = (!is_placeholder).then(|| format!("#{build}"));
    let version = if let Some((_, debian)) = build.split_once(" Debian ") {
        debian.parse().ok().filter(|version| is_same_release(from_release, *version))
    } else if build.split(' ').next().is_some_and(|number| number.ends_with("-Ubuntu")) {
        None
    } else {
        Some(from_release)
    };
    Some(Banner { release: release.to_owned(), version, version_string })
}

/// Finds the version in Ubuntu's signature.
fn find_ubuntu_version(bytes: &[u8], release: &str) -> Option<KernelVersion> {
    let from_release: KernelVersion = release.parse().ok()?;
    let places = memmem::find_iter(bytes, UBUNTU).take(MAX_BANNERS);
    let mut signatures = places.filter_map(|at| {
        let rest = bytes.get(at..)?;
        let rest = rest.get(..rest.len().min(MAX_BANNER_BYTES))?;
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | 0))?;
        let version: KernelVersion =
            str::from_utf8(rest.get(..end)?).ok()?.split(' ').nth(2)?.parse().ok()?;
        is_same_release(from_release, version).then_some(version)
    });
    signatures.next()
}

fn is_same_release(one: KernelVersion, other: KernelVersion) -> bool {
    (one.major, one.minor) == (other.major, other.minor)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    fn find(text: &str) -> Option<(String, Option<String>)> {
        let banner = find_banner(format!("\0{text}\n\0").as_bytes())?;
        Some((banner.release, banner.version.map(|version| version.to_string())))
    }

    #[test]
    fn banners_have_the_number_of_the_stable_release() {
        let debian = "Linux version 6.1.0-50-cloud-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14+deb12u1) \
                      12.2.0, GNU ld (GNU Binutils for Debian) 2.40) #1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-07-01)";
        let ubuntu = "Linux version 5.15.0-91-generic (buildd@lcy02) (gcc (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0) \
                      #101-Ubuntu SMP Tue Nov 14 13:30:08 UTC 2023";
        let signature = "Ubuntu 5.15.0-91.101-generic 5.15.131";
        let plain = "Linux version 6.18.44 (me@host) (gcc 15) #3 SMP Mon Jan 5";
        let owned =
            |release: &str, version: Option<&str>| Some((release.to_owned(), version.map(str::to_owned)));
        assert_eq!(find(debian), owned("6.1.0-50-cloud-amd64", Some("6.1.176")));
        assert_eq!(find(ubuntu), owned("5.15.0-91-generic", None));
        assert_eq!(find(&format!("{ubuntu}\n\0{signature}")), owned("5.15.0-91-generic", Some("5.15.131")));
        assert_eq!(find(plain), owned("6.18.44", Some("6.18.44")));
        assert_eq!(find(&format!("Linux version %s (%s)\n{plain}")), owned("6.18.44", Some("6.18.44")));
        assert_eq!(
            find("Linux version 7.3~rc7-amd64 (a@b) #1 SMP Debian 6.1.1-1 (2026)"),
            owned("7.3~rc7-amd64", None)
        );
        for other in ["", "Linux version ", "Linux version x.y (a) #1", "Linux version 6.1.0"] {
            assert_eq!(find(other), None, "{other}");
        }
        assert_eq!(find(&format!("Linux version 6.1.0 ({})", "x".repeat(MAX_BANNER_BYTES))), None);
        assert_eq!(find_banner(b"Linux version 6.1.0 (no end of line)"), None);
    }

    #[test]
    fn the_version_string_is_not_that_of_the_placeholder() {
        let placeholder = "Linux version 6.1.0-50-amd64 (a@b) (gcc-12) # SMP Debian 6.1.176-1 (2026-07-02)";
        let real = placeholder.replace("# SMP", "#1 SMP");
        let find = |text: &str| {
            let banner = find_banner(text.as_bytes()).unwrap();
            assert_eq!(banner.version, "6.1.176".parse().ok());
            banner.version_string
        };
        let expected = Some("#1 SMP Debian 6.1.176-1 (2026-07-02)".to_owned());
        assert_eq!(find(&format!("{placeholder}\n\0{real}\n\0")), expected);
        assert_eq!(find(&format!("{real}\n\0{placeholder}\n\0")), expected);
        assert_eq!(find(&format!("{placeholder}\n\0")), None);
        let numbered = "Linux version 6.1.176 (a@b) (gcc-12) #3 SMP PREEMPT_DYNAMIC ";
        let expected = Some("#3 SMP PREEMPT_DYNAMIC Mon Jan 5".to_owned());
        assert_eq!(find(&format!("{numbered}\n\0{numbered}Mon Jan 5\n\0")), expected);
    }

    #[test]
    fn a_boot_header_has_a_banner_without_its_first_words() {
        let banner =
            parse_banner(b"6.12.4-arch1-1 (linux@archlinux) #1 SMP PREEMPT_DYNAMIC Mon\0rest").unwrap();
        assert_eq!((&*banner.release, banner.version), ("6.12.4-arch1-1", "6.12.4".parse().ok()));
    }
}
