//! The distinct silent mismatches of objects, each with its kernels.

use super::matrix::Matrix;
use core_relo_verdict::mismatch::Mismatch;
use std::collections::HashMap;

/// A mismatch that an object has on some kernels.
#[derive(Clone, Debug)]
pub(super) struct FoundWarning<'r> {
    pub(super) object: &'r str,
    pub(super) mismatch: &'r Mismatch,
    /// The indexes of the kernels, sorted.
    pub(super) kernels: Vec<usize>,
}

/// Returns the distinct mismatches, in the order of objects.
pub(super) fn find_warnings<'r>(matrix: &Matrix<'r>) -> Vec<FoundWarning<'r>> {
    let mut found = Vec::<FoundWarning<'r>>::new();
    for object in &matrix.objects {
        let mut indexes = HashMap::new();
        for (kernel, row) in object.cells.iter().enumerate() {
            let verdict = row.and_then(|row| row.outcome.as_ref().ok());
            for mismatch in verdict.iter().flat_map(|verdict| &verdict.warnings) {
                let key =
                    (mismatch.kind, &mismatch.program, &mismatch.text, &mismatch.local, &mismatch.target);
                let index = *indexes.entry(key).or_insert_with(|| {
                    found.push(FoundWarning { object: object.name, mismatch, kernels: Vec::new() });
                    found.len() - 1
                });
                if let Some(warning) = found.get_mut(index) {
                    warning.kernels.push(kernel);
                }
            }
        }
    }
    found
}
