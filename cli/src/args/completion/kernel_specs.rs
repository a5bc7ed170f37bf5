//! Specifications of kernels: the known releases, the words after them, and the kernels in the store.

use core_relo_kernels::fetch::{Distribution, SELECTION_WORDS, Store};

/// Returns the specifications that complete a word: releases, and after a release its words and the fetched
/// kernels.
pub(super) fn values(current: &str) -> Vec<String> {
    let mut values: Vec<String> = match current.rsplit_once('/') {
        None => Distribution::all().flat_map(releases).collect(),
        Some((start, _)) => SELECTION_WORDS.iter().map(|word| format!("{start}/{word}")).collect(),
    };
    // A completion reports no errors.
    let kernels = Store::of_user().ok().and_then(|store| store.kernels().ok());
    values.extend(kernels.into_iter().flatten().map(|kernel| kernel.manifest.kernel.name()));
    values
}

/// Returns the releases of a distribution, by number and by code name.
fn releases(distribution: &'static Distribution) -> impl Iterator<Item = String> {
    let names = distribution.releases.iter().flat_map(|release| [release.number, release.code_name]);
    names.map(|name| format!("{}:{name}", distribution.name))
}
