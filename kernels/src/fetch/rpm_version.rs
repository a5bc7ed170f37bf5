//! The order of versions of rpm packages.

use std::cmp::Ordering;

/// Compares two versions by the rules of rpm (rpm's `docs/manual/dependencies.md` and `rpmvercmp`): the
/// epoch, the version, the release. Runs of digits and of letters are compared one by one. A number is newer
/// than letters, `~` sorts before everything, `^` after the end and before everything else.
pub(crate) fn compare_rpm_versions(left: &str, right: &str) -> Ordering {
    let (left_epoch, left) = split_epoch(left);
    let (right_epoch, right) = split_epoch(right);
    let (left_version, left_release) = left.rsplit_once('-').unwrap_or((left, ""));
    let (right_version, right_release) = right.rsplit_once('-').unwrap_or((right, ""));
    left_epoch
        .cmp(&right_epoch)
        .then_with(|| compare_parts(left_version, right_version))
        .then_with(|| compare_parts(left_release, right_release))
}

/// Splits the epoch off a version.
fn split_epoch(version: &str) -> (u64, &str) {
    match version.split_once(':') {
        Some((epoch, rest)) => (epoch.parse().unwrap_or(0), rest),
        None => (0, version),
    }
}

/// The rank of a part of a version beside one of another kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Tilde,
    End,
    Caret,
    Letters,
    Number,
}

fn compare_parts(mut left: &str, mut right: &str) -> Ordering {
    loop {
        let (left_rank, left_part, left_rest) = split_part(left);
        let (right_rank, right_part, right_rest) = split_part(right);
        let ordering = left_rank.cmp(&right_rank).then_with(|| match left_rank {
            Rank::Number => compare_numbers(left_part, right_part),
            _ => left_part.cmp(right_part),
        });
        if ordering.is_ne() || left_rank == Rank::End {
            return ordering;
        }
        (left, right) = (left_rest, right_rest);
    }
}

/// Splits the first part off a version. Other characters than letters, digits, `~` and `^` only separate.
fn split_part(version: &str) -> (Rank, &str, &str) {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '~' | '^');
    let version = version.trim_start_matches(|c| !is_part(c));
    let Some(first) = version.chars().next() else { return (Rank::End, "", "") };
    let (rank, len) = match first {
        '~' => (Rank::Tilde, 1),
        '^' => (Rank::Caret, 1),
        '0'..='9' => (Rank::Number, run_len(version, |c| c.is_ascii_digit())),
        _ => (Rank::Letters, run_len(version, |c| c.is_ascii_alphabetic())),
    };
    let (part, rest) = version.split_at_checked(len).unwrap_or((version, ""));
    (rank, part, rest)
}

/// Returns the length of the characters at the start of a text that a predicate accepts.
fn run_len(text: &str, is_included: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_included(c)).unwrap_or(text.len())
}

/// Compares decimal numbers of any length.
fn compare_numbers(left: &str, right: &str) -> Ordering {
    let (left, right) = (left.trim_start_matches('0'), right.trim_start_matches('0'));
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_rpms_order() {
        let ascending = [
            "4.18.0-553.el8_10",
            "5.14.0~rc1-1",
            "5.14.0-427.el9",
            "5.14.0-427.13.1.el9_4",
            "5.14.0-427.13.10.el9_4",
            "5.14.0-503.el9",
            "5.14.0^git1-1",
            "5.14.0.1-1",
            "5.15.0-300.163.18.el9uek",
            "6.4.0-150600.23.65.1",
            "6.18.0-0.rc1.16.fc44",
            "6.18.0-1.fc44",
            "1:5.0-1",
        ];
        for (index, left) in ascending.iter().enumerate() {
            for (other, right) in ascending.iter().enumerate() {
                assert_eq!(compare_rpm_versions(left, right), index.cmp(&other), "{left} {right}");
            }
        }
        assert_eq!(compare_rpm_versions("1.01-1", "1.1_1-1"), Ordering::Less);
        assert_eq!(compare_rpm_versions("1.01-1", "1_1-1"), Ordering::Equal);
    }
}
