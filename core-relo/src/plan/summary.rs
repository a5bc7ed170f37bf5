//! The number of records with each decision.

use super::{decision::Decision, entries::Plan};

/// The number of records with each decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[non_exhaustive]
pub struct Summary {
    /// Records whose value and instruction stay.
    pub kept: usize,
    /// Records whose instruction is replaced.
    pub patched: usize,
    /// Records whose instruction is poisoned.
    pub poisoned: usize,
    /// Records in error. libbpf refuses an object with such a record.
    pub failed: usize,
    /// Records that do not take part.
    pub skipped: usize,
}

impl Summary {
    /// Returns the number of all records.
    pub fn total(&self) -> usize {
        [self.kept, self.patched, self.poisoned, self.failed, self.skipped].iter().sum()
    }

    /// Returns whether no record is poisoned or in error.
    pub fn is_clean(&self) -> bool {
        self.poisoned == 0 && self.failed == 0
    }
}

impl<E> FromIterator<Result<Decision, E>> for Summary {
    /// Counts the decisions.
    fn from_iter<I: IntoIterator<Item = Result<Decision, E>>>(decisions: I) -> Self {
        let mut summary = Self::default();
        for decision in decisions {
            let count = match decision {
                Ok(Decision::Keep { .. }) => &mut summary.kept,
                Ok(Decision::Patch { .. }) => &mut summary.patched,
                Ok(Decision::Poison { .. }) => &mut summary.poisoned,
                Ok(Decision::Skip(_)) => &mut summary.skipped,
                Err(_) => &mut summary.failed,
            };
            // There are no more records than usize::MAX.
            *count = count.wrapping_add(1);
        }
        summary
    }
}

impl Plan<'_> {
    /// Counts the records with each decision.
    pub fn summary(&self) -> Summary {
        self.entries().iter().map(|entry| entry.decision).collect()
    }
}
