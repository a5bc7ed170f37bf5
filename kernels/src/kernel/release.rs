//! The version and the architecture in a kernel's name, for sorting and grouping.

use core_relo_loader::target::ArchitectureNames;
use core_relo_verdict::kernel::KernelVersion;

/// The version and the architecture in a kernel's name, such as `amd64-5.10.223-cloud.btf` or
/// `/boot/vmlinuz-6.1.0-18-amd64`.
///
/// A name is no evidence: verdicts do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelRelease {
    /// The version.
    pub version: Option<KernelVersion>,
    /// The architecture, as `uname -m` prints it.
    pub architecture: Option<&'static str>,
}

/// Names of architectures that are directories in Linux's sources, such as `arch/x86`, which stand for both
/// sizes of words.
const SOURCE_DIRECTORIES: [&str; 5] = ["arm", "mips", "powerpc", "sparc", "x86"];

impl KernelRelease {
    /// Finds the last version and the last architecture in a name.
    pub fn from_name(name: &str) -> Self {
        let is_separator = |c: char| matches!(c, '/' | '-' | '_' | '+' | ' ' | '~' | '(' | ')');
        let version = name.split(is_separator).filter_map(parse_version).next_back();
        let words = |c: char| matches!(c, '/' | '-' | '+' | ' ' | '.' | '(' | ')');
        let named = name.split(words).filter(|word| !SOURCE_DIRECTORIES.contains(word));
        let architecture = named.rev().find_map(ArchitectureNames::find).map(ArchitectureNames::machine);
        Self { version, architecture }
    }

    /// Returns the name of `uname -m` for one of the names of an architecture.
    pub fn known_architecture(word: &str) -> Option<&'static str> {
        ArchitectureNames::find(word).map(ArchitectureNames::machine)
    }
}

/// Parses `5.10`, `5.10.223` and the like, with any suffix after a further dot.
fn parse_version(word: &str) -> Option<KernelVersion> {
    let mut parts = word.strip_prefix('v').unwrap_or(word).split('.');
    let (major, minor) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let patch = parts.next().and_then(|patch| patch.parse().ok());
    Some(KernelVersion { major, minor, patch: patch.unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(major: u8, minor: u8, patch: u16) -> KernelVersion {
        KernelVersion { major, minor, patch }
    }

    #[test]
    fn versions_and_architectures_are_found_in_names() {
        let names = [
            ("kernels/amd64-5.10.223-cloud.btf", Some(version(5, 10, 223)), Some("x86_64")),
            ("/boot/vmlinuz-6.1.0-18-amd64", Some(version(6, 1, 0)), Some("x86_64")),
            ("ubuntu/20.04/arm64/5.8.0-63-generic.btf", Some(version(5, 8, 0)), Some("aarch64")),
            ("linux-7.2", Some(version(7, 2, 0)), None),
            ("debian/12/armhf/6.1.0-50-armmp.btf", Some(version(6, 1, 0)), Some("armv7l")),
            // A date is no version.
            ("linux-7.2/2024.11", Some(version(7, 2, 0)), None),
            ("vmlinux", None, None),
            ("linux/arch/x86/boot/bzImage", None, None),
            ("linux 6.18.44-x86_64 (running)", Some(version(6, 18, 44)), Some("x86_64")),
        ];
        for (name, version, architecture) in names {
            assert_eq!(KernelRelease::from_name(name), KernelRelease { version, architecture }, "{name}");
        }
    }
}
