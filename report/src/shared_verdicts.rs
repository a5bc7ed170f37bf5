//! Equal verdicts of many kernels, each in memory once. Most kernels of a fleet have one of a few verdicts on
//! an object.

use core_relo_verdict::judge::{ObjectVerdict, Reason};
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

/// The maximum number of verdicts with one hash that are compared. Hostile objects can have many.
const MOST_WITH_ONE_HASH: usize = 16;

/// The distinct verdicts so far.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedVerdicts {
    /// The verdicts by a hash of their texts.
    by_hash: HashMap<u64, Vec<Arc<ObjectVerdict>>>,
}

impl SharedVerdicts {
    /// Returns the verdict that is in memory already, if there is an equal one.
    pub(super) fn share(&mut self, verdict: Arc<ObjectVerdict>) -> Arc<ObjectVerdict> {
        let known = self.by_hash.entry(text_hash(&verdict)).or_default();
        if let Some(equal) = known.iter().find(|known| Arc::ptr_eq(known, &verdict) || **known == verdict) {
            return Arc::clone(equal);
        }
        if known.len() < MOST_WITH_ONE_HASH {
            known.push(Arc::clone(&verdict));
        }
        verdict
    }
}

/// Returns a hash of the names and reasons in a verdict.
fn text_hash(verdict: &ObjectVerdict) -> u64 {
    let mut hasher = DefaultHasher::new();
    let hash_reasons = |reasons: &[Reason], hasher: &mut DefaultHasher| {
        for reason in reasons {
            reason.text.hash(hasher);
            // Evidence names files of the kernel.
            reason.evidence.as_ref().map(|evidence| &evidence.text).hash(hasher);
        }
    };
    hash_reasons(&verdict.reasons, &mut hasher);
    for program in &verdict.programs {
        program.name.hash(&mut hasher);
        hash_reasons(&program.reasons, &mut hasher);
    }
    verdict.warnings.iter().for_each(|warning| (&warning.text, &warning.target).hash(&mut hasher));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fleet::{loads, refused_row};

    #[test]
    fn equal_verdicts_are_in_memory_once() {
        let mut shared = SharedVerdicts::default();
        let [first, second] = [loads(), loads()].map(|verdict| shared.share(Arc::new(verdict)));
        assert!(Arc::ptr_eq(&first, &second));
        let refused = refused_row("a.o", "k").outcome.unwrap();
        assert!(!Arc::ptr_eq(&shared.share(refused), &first));
        assert_eq!(shared.by_hash.len(), 2);
    }

    /// The hash is that of texts only.
    #[test]
    fn the_comparisons_of_many_verdicts_with_one_hash_are_bounded() {
        let mut shared = SharedVerdicts::default();
        let refused = refused_row("a.o", "k").outcome.unwrap();
        for insn in 0..100 {
            let mut verdict = (*refused).clone();
            verdict.programs[0].reasons[0].insn = Some(insn);
            shared.share(Arc::new(verdict));
        }
        let sizes: Vec<_> = shared.by_hash.values().map(Vec::len).collect();
        assert_eq!(sizes, [MOST_WITH_ONE_HASH]);
    }
}
