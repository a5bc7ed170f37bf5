//! Kernel versions.

use core::{fmt, str::FromStr};

/// The version of a kernel: `6.1.176`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a version has three numbers")]
pub struct KernelVersion {
    /// The first number.
    pub major: u8,
    /// The second number.
    pub minor: u8,
    /// The third number.
    pub patch: u16,
}

/// An error of a text that is no kernel version.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "kernel version: {0:?} is no version, expected MAJOR.MINOR or MAJOR.MINOR.PATCH, such as 6.1 or 6.1.176"
)]
pub struct KernelVersionError(Box<str>);

core_relo::debug_as_message!(KernelVersionError);

impl KernelVersion {
    /// Creates the version of a mainline release.
    pub const fn release(major: u8, minor: u8) -> Self {
        Self { major, minor, patch: 0 }
    }

    /// Returns the value of `LINUX_VERSION_CODE`, which libbpf gives to `LINUX_KERNEL_VERSION`. Patch levels
    /// above 255 count as 255.
    pub fn code(self) -> u32 {
        let patch = u8::try_from(self.patch).unwrap_or(u8::MAX);
        (u32::from(self.major) << 16) | (u32::from(self.minor) << 8) | u32::from(patch)
    }
}

impl KernelVersion {
    /// Returns the version of a value of `LINUX_VERSION_CODE`. Returns `None` for 0, which stands for an
    /// unknown version.
    pub fn from_code(code: u32) -> Option<Self> {
        let byte = |shift: u32| u8::try_from(code.checked_shr(shift)? & 0xff).ok();
        let version = Self { major: byte(16)?, minor: byte(8)?, patch: byte(0)?.into() };
        (code != 0).then_some(version)
    }
}

impl FromStr for KernelVersion {
    type Err = KernelVersionError;

    /// Parses a version as `uname -r` prints it: `6.1`, `6.1.176`, `6.1.0-44-cloud-amd64`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| KernelVersionError(text.chars().take(64).collect()))
    }
}

fn parse(text: &str) -> Option<KernelVersion> {
    let (major, rest) = split_number(text)?;
    let (minor, rest) = split_number(rest.strip_prefix('.')?)?;
    let patch = match rest.strip_prefix('.').and_then(split_number) {
        Some((patch, _)) => patch.parse().ok()?,
        None => 0,
    };
    Some(KernelVersion { major: major.parse().ok()?, minor: minor.parse().ok()?, patch })
}

/// Splits a text after the digits at its start, of which there is at least one.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).filter(|(digits, _)| !digits.is_empty())
}

impl fmt::Display for KernelVersion {
    /// Writes a mainline release without its patch level 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { major, minor, patch } = self;
        match patch {
            0 => write!(f, "{major}.{minor}"),
            _ => write!(f, "{major}.{minor}.{patch}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed_as_uname_prints_them() {
        for (text, expected, shown) in [
            ("5.10", (5, 10, 0), "5.10"),
            ("6.1.176", (6, 1, 176), "6.1.176"),
            ("6.1.0-44-cloud-amd64", (6, 1, 0), "6.1"),
            ("7.3-rc7", (7, 3, 0), "7.3"),
            ("4.14.336+", (4, 14, 336), "4.14.336"),
        ] {
            let version: KernelVersion = text.parse().unwrap();
            assert_eq!((version.major, version.minor, version.patch), expected);
            assert_eq!(version.to_string(), shown);
        }
        for text in ["", "6", "6.", ".1", "v6.1", "6.x", "999.1", "6.1.99999"] {
            assert!(text.parse::<KernelVersion>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_code_is_that_of_linux_version_code() {
        assert_eq!(KernelVersion { major: 6, minor: 1, patch: 176 }.code(), 0x06_01_b0);
        assert_eq!(KernelVersion { major: 4, minor: 14, patch: 336 }.code(), 0x04_0e_ff);
        assert_eq!(KernelVersion::from_code(0x06_01_b0), "6.1.176".parse().ok());
        assert_eq!(KernelVersion::from_code(0), None);
    }
}
