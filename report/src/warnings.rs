//! The distinct silent mismatches of an object, each with its kernels.

use crate::{
    comparison::{Comparison, MISMATCH},
    matrix::ObjectLine,
};
use core_relo_verdict::mismatch::Mismatch;
use std::collections::HashMap;

/// A mismatch that an object has on some kernels.
#[derive(Clone, Debug)]
pub(super) struct FoundWarning<'r> {
    pub(super) mismatch: &'r Mismatch,
    /// The indexes of the kernels, sorted.
    pub(super) kernels: Vec<usize>,
    /// Whether the baseline lacks the mismatch on these kernels; `None` without a baseline.
    pub(super) is_new: Option<bool>,
}

/// Returns the distinct mismatches, in the order of kernels and programs.
pub(super) fn find_warnings<'r>(object: &ObjectLine<'r>) -> Vec<FoundWarning<'r>> {
    let mut found = Vec::<FoundWarning<'r>>::new();
    let mut indexes = HashMap::new();
    for (kernel, row) in object.cells.iter().enumerate() {
        let verdict = row.and_then(|row| row.outcome.as_ref().ok());
        let new = row.and_then(|row| row.comparison.as_ref()).map(Comparison::keys);
        for mismatch in verdict.iter().flat_map(|verdict| &verdict.warnings) {
            let new_key = (Some(&*mismatch.program), MISMATCH, &*mismatch.text);
            let is_new = new.as_ref().map(|new| new.contains(&new_key));
            let texts = (&mismatch.program, &mismatch.text, &mismatch.local, &mismatch.target);
            let key = (mismatch.kind, texts, is_new);
            let index = *indexes.entry(key).or_insert(found.len());
            match found.get_mut(index) {
                // A kernel has a mismatch once for each source line.
                Some(warning) if warning.kernels.last() == Some(&kernel) => {}
                Some(warning) => warning.kernels.push(kernel),
                None => found.push(FoundWarning { mismatch, kernels: vec![kernel], is_new }),
            }
        }
    }
    found
}
