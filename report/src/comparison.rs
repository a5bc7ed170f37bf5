//! The comparison of a result with that of a baseline.

use core_relo_verdict::judge::Verdict;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// The kind of a [`NewRefusal`] by a booted kernel.
pub(super) const REAL_LOAD: &str = "real_load";

/// The kind of a [`NewRefusal`] that is a silent mismatch. It counts for nothing.
pub(super) const MISMATCH: &str = "mismatch";

/// What is new in a result since the baseline.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The verdict on the object without the reasons that the project accepts and those of the baseline. It
    /// decides on the exit status, unless the kernel was booted.
    pub verdict: Verdict,
    /// The reasons, the refusals by the booted kernel, and the silent mismatches that are not accepted and
    /// not in the baseline.
    pub new: Vec<NewRefusal>,
}

/// A reason, or a refusal by a booted kernel, that the baseline does not have.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[non_exhaustive]
pub struct NewRefusal {
    /// The program; `None` for a reason of the object, and for the default load.
    pub program: Option<String>,
    /// The word of the reason's kind, `real_load`, or `mismatch`.
    pub kind: String,
    /// The problem in one sentence.
    pub text: String,
}

/// The keys of new refusals, for fast look-ups.
pub(super) type NewKeys<'c> = HashSet<(Option<&'c str>, &'c str, &'c str)>;

impl Comparison {
    pub(super) const fn new(verdict: Verdict, new: Vec<NewRefusal>) -> Self {
        Self { verdict, new }
    }

    /// Returns the keys of the new refusals.
    pub(super) fn keys(&self) -> NewKeys<'_> {
        self.new.iter().map(|new| (new.program.as_deref(), &*new.kind, &*new.text)).collect()
    }

    /// Returns whether a program has a new reason.
    pub(super) fn has_new_reason(&self, program: &str) -> bool {
        let is_of = |new: &NewRefusal| new.program.as_deref() == Some(program) && new.is_reason();
        self.new.iter().any(is_of)
    }

    /// Returns whether the refusal of a program, or of the default load, by the booted kernel is new.
    pub(super) fn has_new_load(&self, program: Option<&str>) -> bool {
        self.new.iter().any(|new| new.program.as_deref() == program && new.kind == REAL_LOAD)
    }
}

impl NewRefusal {
    /// Returns whether it is a reason of a verdict.
    fn is_reason(&self) -> bool {
        ![REAL_LOAD, MISMATCH].contains(&&*self.kind)
    }

    /// Returns whether it may count for the exit status.
    pub(super) fn may_count(&self) -> bool {
        self.kind != MISMATCH
    }

    pub(super) fn new(program: Option<&str>, kind: &str, text: &str) -> Self {
        Self { program: program.map(str::to_owned), kind: kind.to_owned(), text: text.to_owned() }
    }
}
