//! The banner of a kernel: its release, its version, its builder. `/proc/version` shows the banner.

use core_relo_verdict::kernel::KernelVersion;
use memchr::memmem;

const BANNER: &[u8] = b"Linux version ";

/// The largest number of places that are parsed as a banner or signature. A kernel has a few of each.
const MAX_PLACES: usize = 256;

/// The largest banner that is parsed, in bytes.
const MAX_BANNER_BYTES: usize = 1024;

/// The beginning of Ubuntu's signature: `Ubuntu 5.15.0-91.101-generic 5.15.131`.
const UBUNTU: &[u8] = b"Ubuntu ";

/// The release and the version in a banner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Banner {
    /// The release, as `uname -r` prints it.
    pub(super) release: String,
    /// The version, with the number of the stable release. `None` if the banner does not contain this number.
    pub(super) version: Option<KernelVersion>,
}

/// Finds the first banner in bytes.
pub(super) fn find_banner(bytes: &[u8]) -> Option<Banner> {
    let places = memmem::find_iter(bytes, BANNER).take(MAX_PLACES);
    let banner = places.filter_map(|at| parse_banner(bytes.get(at..)?)).next()?;
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
    let version = if let Some((_, debian)) = build.split_once(" Debian ") {
        debian.parse().ok().filter(|version| is_same_release(from_release, *version))
    } else if build.split(' ').next().is_some_and(|number| number.ends_with("-Ubuntu")) {
        None
    } else {
        Some(from_release)
    };
    Some(Banner { release: release.to_owned(), version })
}

/// Finds the version in Ubuntu's signature.
fn find_ubuntu_version(bytes: &[u8], release: &str) -> Option<KernelVersion> {
    let from_release: KernelVersion = release.parse().ok()?;
    let places = memmem::find_iter(bytes, UBUNTU).take(MAX_PLACES);
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
