//! Versions of packages and kernels, compared as Debian compares them.

use std::cmp::Ordering;

/// Compares two versions by Debian's rules (Debian Policy, 5.6.12): the epoch, then the upstream version,
/// then the revision. `~` sorts before everything, also before the end.
pub(crate) fn compare_versions(left: &str, right: &str) -> Ordering {
    let (left_epoch, left) = split_epoch(left);
    let (right_epoch, right) = split_epoch(right);
    let (left_upstream, left_revision) = left.rsplit_once('-').unwrap_or((left, ""));
    let (right_upstream, right_revision) = right.rsplit_once('-').unwrap_or((right, ""));
    compare_parts(left_epoch, right_epoch)
        .then_with(|| compare_parts(left_upstream, right_upstream))
        .then_with(|| compare_parts(left_revision, right_revision))
}

/// Splits the epoch off a version. A version without an epoch has an empty one, which is equal to 0.
fn split_epoch(version: &str) -> (&str, &str) {
    version.split_once(':').unwrap_or(("", version))
}

/// Returns whether the epoch of a version is a number, or missing. dpkg refuses other versions.
pub(crate) fn has_valid_epoch(version: &str) -> bool {
    let epoch = version.split_once(':').map(|(epoch, _)| epoch);
    epoch.is_none_or(|epoch| !epoch.is_empty() && epoch.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Compares parts of versions: alternately text and numbers.
fn compare_parts(mut left: &str, mut right: &str) -> Ordering {
    while !left.is_empty() || !right.is_empty() {
        let (left_text, left_rest) = split_while(left, |byte| !byte.is_ascii_digit());
        let (right_text, right_rest) = split_while(right, |byte| !byte.is_ascii_digit());
        let texts = compare_texts(left_text, right_text);
        if texts.is_ne() {
            return texts;
        }
        let (left_number, left_rest) = split_while(left_rest, |byte| byte.is_ascii_digit());
        let (right_number, right_rest) = split_while(right_rest, |byte| byte.is_ascii_digit());
        let numbers = compare_numbers(left_number, right_number);
        if numbers.is_ne() {
            return numbers;
        }
        (left, right) = (left_rest, right_rest);
    }
    Ordering::Equal
}

/// Splits a text before the first byte that a predicate refuses.
fn split_while(text: &str, is_included: impl Fn(u8) -> bool) -> (&str, &str) {
    let end = text.bytes().position(|byte| !is_included(byte)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// Compares texts: `~` before the end, the end before letters, letters before other characters.
fn compare_texts(left: &str, right: &str) -> Ordering {
    let order = |byte: Option<u8>| match byte {
        Some(b'~') => -1,
        None => 0,
        Some(letter) if letter.is_ascii_alphabetic() => i32::from(letter),
        Some(other) => i32::from(other).saturating_add(256),
    };
    let (mut left, mut right) = (left.bytes(), right.bytes());
    loop {
        let (left, right) = (left.next(), right.next());
        let ordering = order(left).cmp(&order(right));
        if ordering.is_ne() || left.is_none() {
            return ordering;
        }
    }
}

/// Compares decimal numbers of any length.
fn compare_numbers(left: &str, right: &str) -> Ordering {
    let (left, right) = (left.trim_start_matches('0'), right.trim_start_matches('0'));
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

/// Returns the version of Linux in a package's version: `6.1.192` of `6.1.192-1~deb11u1`, `7.3-rc7` of
/// `7.3~rc7-1~exp1`.
pub(crate) fn upstream_version(package_version: &str) -> String {
    let (_, version) = split_epoch(package_version);
    version.split('-').next().unwrap_or(version).replace('~', "-")
}

/// Returns the series of a version of Linux: `6.1` of `6.1.192`.
pub(crate) fn series(version: &str) -> String {
    let mut parts = version.split(['.', '-', '+']);
    let (major, minor) = (parts.next().unwrap_or(version), parts.next());
    minor.map_or_else(|| major.to_owned(), |minor| format!("{major}.{minor}"))
}

/// Returns whether a version of Linux is the given one or begins with it: `6.1.192` with `6.1` or `6`, but
/// not with `6.1.19`.
pub(crate) fn starts_with_version(version: &str, prefix: &str) -> bool {
    version.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+', '~']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_debians_order() {
        let ascending = [
            "5.10.9-1",
            "5.10.218-1",
            "6.1.192~rc1-1",
            "6.1.192-1~deb11u1",
            "6.1.192-1",
            "6.1.192-2",
            "6.12.90-1~bpo12+1",
            "6.12.90-1",
            "7.3~rc7-1~exp1",
            "7.3.4-1",
            "1:0.1-1",
        ];
        for (index, left) in ascending.iter().enumerate() {
            for (other, right) in ascending.iter().enumerate() {
                assert_eq!(compare_versions(left, right), index.cmp(&other), "{left} {right}");
            }
        }
        assert_eq!(compare_versions("1.01", "1.1"), Ordering::Equal);
        assert_eq!(compare_versions("0:1.1", "1.1"), Ordering::Equal);
    }

    /// An epoch that was no number counted as 0.
    #[test]
    fn an_epoch_is_a_number() {
        for version in ["6.1.192-1", "1:0.1-1", "18446744073709551616:1"] {
            assert!(has_valid_epoch(version), "{version}");
        }
        for version in ["x:1.1-1", ":1.1-1", "-1:1.1", "1x:1"] {
            assert!(!has_valid_epoch(version), "{version}");
        }
        assert_eq!(compare_versions("18446744073709551616:1", "2:1"), Ordering::Greater);
    }

    #[test]
    fn a_version_begins_with_whole_numbers() {
        assert!(starts_with_version("6.1.192", "6.1"));
        assert!(starts_with_version("6.1.192", "6.1.192"));
        assert!(!starts_with_version("6.1.192", "6.1.19"));
        assert!(!starts_with_version("6.12.1", "6.1"));
        assert_eq!(series("6.1.192"), "6.1");
        assert_eq!(series("7.3-rc7"), "7.3");
        assert_eq!(upstream_version("7.3~rc7-1~exp1"), "7.3-rc7");
        assert_eq!(upstream_version("6.1.192-1~deb11u1"), "6.1.192");
    }
}
