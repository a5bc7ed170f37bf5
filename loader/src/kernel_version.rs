//! The running kernel's version number.

use std::fs;

/// Returns the running kernel's version, or 0 if `/proc` does not show the version (libbpf:
/// `get_kernel_version`).
///
/// Debian and Ubuntu keep the number of the stable release out of `uname -r`, so their own files come first.
pub(crate) fn running_version() -> u32 {
    let read = |path| fs::read_to_string(path).ok();
    read("/proc/version_signature")
        .and_then(|text| ubuntu_version(&text))
        .or_else(|| debian_version(&read("/proc/sys/kernel/version")?))
        .or_else(|| parse_version(&read("/proc/sys/kernel/osrelease")?))
        .unwrap_or(0)
}

/// Parses the last word of `Ubuntu 5.4.0-12.15-generic 5.4.8`.
fn ubuntu_version(signature: &str) -> Option<u32> {
    parse_version(signature.split_whitespace().nth(2)?)
}

/// Parses `#1 SMP Debian 6.1.192-2 (2026-10-01)`.
fn debian_version(text: &str) -> Option<u32> {
    parse_version(text.split_once("Debian ")?.1)
}

/// Parses `6.1.192-2` to the number of `KERNEL_VERSION()`.
///
/// The third number of `7.3~rc7` and `7.3-cloud` is 0 (libbpf 1.7 fails there).
fn parse_version(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let mut numbers = text.get(..end)?.split('.').map(str::parse::<u32>);
    let major = numbers.next()?.ok()?;
    let minor = numbers.next()?.ok()?;
    let patch = numbers.next().and_then(Result::ok).unwrap_or(0);
    // KERNEL_VERSION() in the kernel's headers stops at 255.
    Some((major.min(0xffff) << 16) | (minor.min(0xff) << 8) | patch.min(0xff))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_distributions_are_parsed() {
        assert_eq!(parse_version("6.18.44-fc"), Some(0x06_12_2c));
        assert_eq!(parse_version("7.3-cloud-amd64"), Some(0x07_03_00));
        assert_eq!(parse_version("5.10.300"), Some(0x05_0a_ff));
        assert_eq!(parse_version("x"), None);
        assert_eq!(debian_version("#1 SMP Debian 6.1.192-2 (2026-10-01)"), Some(0x06_01_c0));
        assert_eq!(debian_version("#1 SMP Debian 7.3~rc7-1~exp1"), Some(0x07_03_00));
        assert_eq!(ubuntu_version("Ubuntu 5.4.0-12.15-generic 5.4.8\n"), Some(0x05_04_08));
        assert_ne!(running_version(), 0);
    }
}
