//! The distinct real loads of an object's programs, each with its verdict and kernels.

use super::{matrix::ObjectLine, model::RealLoad};
use std::{cmp::Reverse, collections::HashMap};

/// A real load with the same verdict and outcome on some kernels.
#[derive(Clone, Debug)]
pub(super) struct FoundLoad<'r> {
    pub(super) load: &'r RealLoad,
    /// The indexes of the kernels, sorted.
    pub(super) kernels: Vec<usize>,
}

/// Returns the distinct real loads: first those that differ from the verdict, then the worst.
pub(super) fn find_real_loads<'r>(object: &ObjectLine<'r>) -> Vec<FoundLoad<'r>> {
    let mut found = Vec::<FoundLoad<'r>>::new();
    let mut indexes = HashMap::new();
    for (kernel, row) in object.cells.iter().enumerate() {
        for load in row.iter().flat_map(|row| &row.real_loads) {
            let key = (&load.program, load.verdict, load.outcome, &load.reason);
            let index = *indexes.entry(key).or_insert(found.len());
            match found.get_mut(index) {
                Some(known) if known.kernels.last() == Some(&kernel) => {}
                Some(known) => known.kernels.push(kernel),
                None => found.push(FoundLoad { load, kernels: vec![kernel] }),
            }
        }
    }
    // The sort is stable: the others stay in the order of kernels and programs.
    found.sort_by_key(|found| (Reverse(found.load.differs()), Reverse(found.load.outcome)));
    found
}

impl ObjectLine<'_> {
    /// Returns whether a real load on a kernel differs from its verdict.
    pub(super) fn differs_on(&self, kernel: usize) -> bool {
        let row = self.cells.get(kernel).copied().flatten();
        row.is_some_and(|row| row.real_loads.iter().any(RealLoad::differs))
    }
}
