//! The search for types with a similar name, such as functions to attach to.

use super::similar::{BareName, NamePattern};
use crate::btf::{Btf, Kind};
use alloc::{format, string::String, vec::Vec};

/// The number of results.
const RESULTS: usize = 3;

/// Returns the names of a BTF's types of a kind that are similar to `wanted`, the nearest first. Only names
/// with the prefix are compared, without the prefix. The search takes one pass over the types.
pub fn similar_names(btf: &Btf<'_>, kind: Kind, prefix: &[u8], wanted: &[u8]) -> Vec<String> {
    let types = btf.types().filter(|ty| ty.kind() == kind);
    nearest_names(wanted, types.filter_map(|ty| ty.name().as_bytes().strip_prefix(prefix)))
}

/// Returns the names that are similar to `wanted`, the nearest first.
pub fn nearest_names<'n>(wanted: &[u8], names: impl IntoIterator<Item = &'n [u8]>) -> Vec<String> {
    nearest_of(wanted, &mut names.into_iter())
}

/// Returns the question whether the nearest word was meant, or an empty text if no word is near.
pub fn suggest_word<'w>(unknown: &str, words: impl IntoIterator<Item = &'w str>) -> String {
    match nearest_names(unknown.as_bytes(), words.into_iter().map(str::as_bytes)).first() {
        Some(word) => format!("; did you mean `{word}`?"),
        None => String::new(),
    }
}

/// Returns words as a list: "`a`, `b` or `c`".
pub fn list_words<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let words: Vec<_> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match words.as_slice() {
        [words @ .., last] if !words.is_empty() => format!("{} or {last}", words.join(", ")),
        words => words.concat(),
    }
}

fn nearest_of(wanted: &[u8], names: &mut dyn Iterator<Item = &[u8]>) -> Vec<String> {
    let Some(pattern) = NamePattern::new(wanted) else { return Vec::new() };
    let mut similar = Vec::new();
    for name in names {
        let distance = BareName::new(name).and_then(|bare| pattern.distance(&bare));
        similar.extend(distance.map(|distance| (distance, name)));
    }
    similar.sort();
    similar.dedup();
    let names = similar.into_iter().filter_map(|(_, name)| core::str::from_utf8(name).ok());
    names.take(RESULTS).map(String::from).collect()
}
