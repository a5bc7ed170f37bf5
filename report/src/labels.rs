//! Short names of objects and kernels, and versions.

use crate::limits::{LABEL_END_CHARS, LABEL_START_CHARS, MAX_LABEL_CHARS};
use core_relo_verdict::kernel::KernelVersion;
use std::collections::HashSet;

/// Returns a version with all its numbers: `5.15.0`.
pub(super) fn full_version(KernelVersion { major, minor, patch }: KernelVersion) -> String {
    format!("{major}.{minor}.{patch}")
}

/// Returns the length in bytes of the directory that all paths have in common, with the slash at its end.
/// Tables are too narrow for it.
pub(super) fn common_directory_len<'n>(mut paths: impl Iterator<Item = &'n str>) -> usize {
    let directory = |path: &'n str| path.rfind('/').and_then(|slash| path.get(..=slash)).unwrap_or("");
    let Some(first) = paths.next().map(directory) else { return 0 };
    let common = paths.fold(first, |common, path| {
        let same = common.bytes().zip(directory(path).bytes()).take_while(|(a, b)| a == b).count();
        let slash =
            common.as_bytes().get(..same).and_then(|same| same.iter().rposition(|byte| *byte == b'/'));
        slash.and_then(|slash| common.get(..=slash)).unwrap_or("")
    });
    common.len()
}

/// Returns labels for the heads of columns. Names that are too long lose the words that all of them begin
/// with, then those that all of them end with, and then their middle. Labels of different names differ: where
/// the rest would be the same, the label begins with the column's number.
pub(super) fn distinct_labels(names: &[&str]) -> Vec<String> {
    let is_long = |name: &str| name.chars().count() > MAX_LABEL_CHARS;
    let common = if names.iter().any(|name| is_long(name)) { common_words_len(names) } else { 0 };
    let names: Vec<_> = names.iter().map(|name| name.get(common..).unwrap_or(name)).collect();
    let end = if names.iter().any(|name| is_long(name)) { common_end_len(&names) } else { 0 };
    let start = |name: &str| name.len().checked_sub(end).and_then(|end| name.get(..end)).map(shorten);
    let shortened = names.iter().map(|name| start(name).unwrap_or_else(|| shorten(name)));
    let (mut seen, mut repeated) = (HashSet::new(), HashSet::new());
    let labels: Vec<_> = shortened.collect();
    for label in &labels {
        if !seen.insert(label.as_str()) {
            repeated.insert(label.clone());
        }
    }
    let numbered = |(number, label): (usize, String)| {
        if repeated.contains(&label) { format!("K{number} {label}") } else { label }
    };
    (1..).zip(labels.clone()).map(numbered).collect()
}

/// Returns the length in bytes of the words that all names begin with. A name keeps at least its last word.
fn common_words_len(names: &[&str]) -> usize {
    let Some((first, others)) = names.split_first() else { return 0 };
    let same = |length: usize, name: &&str| {
        first.bytes().zip(name.bytes()).take(length).take_while(|(a, b)| a == b).count()
    };
    let length = others.iter().fold(first.len().saturating_sub(1), same);
    let before = first.as_bytes().get(..length).unwrap_or(&[]);
    before.iter().rposition(is_separator).map_or(0, |separator| separator + 1)
}

/// Returns the length in bytes of the words that all names end with. A name keeps at least its first word.
fn common_end_len(names: &[&str]) -> usize {
    let Some((first, others)) = names.split_first() else { return 0 };
    let same = |length: usize, name: &&str| {
        let length = length.min(name.len().saturating_sub(1));
        first.bytes().rev().zip(name.bytes().rev()).take(length).take_while(|(a, b)| a == b).count()
    };
    let length = others.iter().fold(first.len().saturating_sub(1), same);
    let end = first.as_bytes().iter().rev().take(length).copied().collect::<Vec<_>>();
    end.iter().rposition(is_separator).map_or(0, |separator| separator + 1)
}

/// Returns whether a byte separates the words of a name.
const fn is_separator(byte: &u8) -> bool {
    matches!(byte, b'/' | b'-' | b'_' | b' ' | b'+')
}

/// Cuts a long name in the middle.
fn shorten(name: &str) -> String {
    let chars: Vec<_> = name.chars().collect();
    match (chars.get(..LABEL_START_CHARS), chars.len().checked_sub(LABEL_END_CHARS)) {
        (Some(start), Some(end)) if chars.len() > MAX_LABEL_CHARS => {
            let rest = chars.get(end..).unwrap_or(&[]);
            start.iter().chain(&['…']).chain(rest).collect()
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn the_common_directory_ends_at_a_slash() {
        let len = |paths: &[&str]| common_directory_len(paths.iter().copied());
        assert_eq!(len(&["/a/bc/one.o", "/a/bd/one.o"]), 3);
        assert_eq!(len(&["build/one.o", "build/sub/two.o"]), 6);
        assert_eq!(len(&["dir/one.o"]), 4);
        assert_eq!(len(&["one.o", "build/one.o"]), 0);
        assert_eq!(len(&["é/one.o", "è/one.o"]), 0);
        assert_eq!(len(&[]), 0);
    }

    #[test]
    fn long_names_lose_their_common_words_and_stay_different() {
        let names: Vec<_> = (0..45).map(|n| format!("linux-image-6.1.0-cloud-amd64-build{n}.btf")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let labels = distinct_labels(&names);
        assert_eq!((&*labels[0], &*labels[44]), ("build0.btf", "build44.btf"));
        assert_eq!(
            distinct_labels(&["linux-5.10.btf", "linux-6.12.btf"]),
            ["linux-5.10.btf", "linux-6.12.btf"]
        );
        let long = ["ubuntu-a-very-long-name-generic", "debian-another-long-name-generic"];
        assert_eq!(distinct_labels(&long), ["ubuntu-a-very", "debian-another"]);
        let long = ["ubuntu-a-very-long-name-generic", "debian-another-long-name-rt-kernel"];
        assert_eq!(distinct_labels(&long), ["ubunt…me-generic", "debia…-rt-kernel"]);
        let same = ["first-one-in-the-middle-of-the-same", "first-two-in-the-middle-of-the-same"];
        assert_eq!(distinct_labels(&same), ["one", "two"]);
        let same = ["first-one-in-the-middle-of-the-same", "first-two-in-the-middle-of-a-same"];
        let labels = distinct_labels(&same);
        assert_ne!(labels[0], labels[1], "{labels:?}");
        let versions = ["5.10.223-11-generic.btf", "5.10.223-110-generic.btf", "6.12.117-11-generic.btf"];
        assert_eq!(distinct_labels(&versions), ["5.10.223-11", "5.10.223-110", "6.12.117-11"]);
        assert_eq!(distinct_labels(&[]), Vec::<String>::new());
    }
}
