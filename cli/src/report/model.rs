//! The results that a report shows.

use crate::error::BadInput;
use core_relo_verdict::judge::{ObjectVerdict, Verdict};

/// The version of a kernel, such as (5, 15, 0).
pub(crate) type KernelVersion = (u32, u32, u32);

/// The results of a check of objects on kernels.
#[derive(Clone, Debug, Default)]
pub(crate) struct FleetReport {
    /// One row per object and kernel, in any order.
    pub(crate) rows: Vec<Row>,
    /// Objects and kernels that could not be read at all, so that no row has their name.
    pub(crate) unread: Vec<BadInput>,
}

/// The result for an object on a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The object's name, as printed.
    pub(crate) object: String,
    /// The kernel's name, as printed.
    pub(crate) kernel: String,
    /// The kernel's version, if known.
    pub(crate) kernel_version: Option<KernelVersion>,
    /// The kernel's architecture, such as `x86_64`, if known.
    pub(crate) architecture: Option<String>,
    /// The verdict, or why the pair could not be judged.
    pub(crate) outcome: Result<ObjectVerdict, BadInput>,
}

impl Row {
    /// Returns the outcome without its details.
    pub(super) fn outcome(&self) -> Outcome {
        self.outcome.as_ref().map_or(Outcome::BadInput, |object| Outcome::Verdict(object.verdict))
    }
}

/// The outcome for an object or a program on a kernel. A later variant is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Outcome {
    Verdict(Verdict),
    /// The pair of object and kernel could not be judged.
    BadInput,
}

impl Outcome {
    /// All outcomes, best first.
    pub(super) const ALL: [Self; 5] = [
        Self::Verdict(Verdict::Loads),
        Self::Verdict(Verdict::Unknown),
        Self::Verdict(Verdict::NeedsInput),
        Self::Verdict(Verdict::Refused),
        Self::BadInput,
    ];

    /// Returns whether the kernel loads the object or program.
    pub(super) const fn is_loads(self) -> bool {
        matches!(self, Self::Verdict(Verdict::Loads))
    }

    /// Returns the words for people.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Verdict(Verdict::NeedsInput) => "needs input",
            Self::Verdict(verdict) => verdict.word(),
            Self::BadInput => "bad input",
        }
    }
}
