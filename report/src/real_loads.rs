//! The distinct real loads of an object's programs, each with its verdict and kernels.

use crate::{
    matrix::ObjectLine,
    model::{Outcome, RealLoad},
};
use std::{cmp::Reverse, collections::HashMap};

/// A real load with the same verdict and outcome on some kernels.
#[derive(Clone, Debug)]
pub(super) struct FoundLoad<'r> {
    pub(super) load: &'r RealLoad,
    /// Whether the project accepts the refusal.
    pub(super) is_accepted: bool,
    /// The indexes of the kernels, sorted.
    pub(super) kernels: Vec<usize>,
    /// Whether the baseline lacks the refusal on these kernels; `None` without a baseline.
    pub(super) is_new: Option<bool>,
}

/// Returns the distinct real loads: first those that differ from the verdict, then the worst.
pub(super) fn find_real_loads<'r>(object: &ObjectLine<'r>) -> Vec<FoundLoad<'r>> {
    let mut found = Vec::<FoundLoad<'r>>::new();
    let mut indexes = HashMap::new();
    for (kernel, row) in object.cells.iter().enumerate() {
        let loads =
            row.iter().flat_map(|row| row.real_loads.iter().enumerate().map(|(i, load)| (*row, i, load)));
        for (row, number, load) in loads {
            let is_accepted = row.real_outcome(number, load) == Outcome::Allowed;
            let is_new = row.comparison.as_ref().map(|_| !row.is_known_load(load));
            let key = (&load.program, load.verdict, load.outcome, &load.reason, (is_accepted, is_new));
            let index = *indexes.entry(key).or_insert(found.len());
            match found.get_mut(index) {
                Some(known) if known.kernels.last() == Some(&kernel) => {}
                Some(known) => known.kernels.push(kernel),
                None => found.push(FoundLoad { load, is_accepted, kernels: vec![kernel], is_new }),
            }
        }
    }
    // The sort is stable: the others stay in the order of kernels and programs.
    found.sort_by_key(|found| (Reverse(found.load.differs()), Reverse(found.load.outcome)));
    found
}

/// Returns the first line of the first refusal that no verdict foresees and the project does not accept.
pub(super) fn unforeseen_refusal(object: &ObjectLine<'_>) -> Option<String> {
    let loads = find_real_loads(object);
    let is_unforeseen = |found: &&FoundLoad<'_>| {
        found.load.autoload && found.load.is_unforeseen_refusal() && !found.is_accepted
    };
    loads.iter().find(is_unforeseen)?.load.headline()
}

impl ObjectLine<'_> {
    /// Returns whether a real load on a kernel differs from its verdict.
    pub(super) fn differs_on(&self, kernel: usize) -> bool {
        let row = self.cells.get(kernel).copied().flatten();
        row.is_some_and(|row| row.real_loads.iter().any(RealLoad::differs))
    }
}
