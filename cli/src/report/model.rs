//! The results that a report shows.

use super::shared_verdicts::SharedVerdicts;
use crate::{
    error::BadInput,
    guest::load::{Reality, TOGETHER, deciding_lines, first_line},
    policy::{Acceptance, ProgramAcceptance},
};
use core_relo_verdict::{
    SourceLine,
    judge::{ObjectVerdict, Verdict},
    kernel::KernelVersion,
};
use std::sync::Arc;

/// The results of a check of objects on kernels.
#[derive(Clone, Debug, Default)]
pub(crate) struct FleetReport {
    /// One row per object and kernel, in any order.
    pub(crate) rows: Vec<Row>,
    /// Objects and kernels that could not be read at all, so that no row has their name.
    pub(crate) unread: Vec<BadInput>,
    /// Contradictions between the facts about a kernel, and facts that cannot be read.
    pub(crate) kernel_warnings: Vec<KernelWarning>,
    /// The numbers of verdicts that agree with the real loads, in words. `None` if no kernel was booted.
    pub(crate) agreement: Option<String>,
    /// The distinct verdicts of the rows.
    pub(super) shared_verdicts: SharedVerdicts,
}

/// A warning about the facts of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct KernelWarning {
    /// The kernel's name, as printed.
    pub(crate) kernel: String,
    pub(crate) text: String,
}

/// The real load of a program on a kernel that was booted.
#[derive(Clone, Debug)]
pub(crate) struct RealLoad {
    pub(super) program: String,
    /// Whether the default load of the object includes the program.
    pub(super) autoload: bool,
    /// The verdict on the program. `None` if the kernel's types cannot be read.
    pub(super) verdict: Option<Verdict>,
    pub(super) outcome: Outcome,
    /// The reason of a refusal, or why the outcome is unknown.
    pub(super) reason: Option<String>,
    /// The source line at which the verifier stopped, if its log has one.
    pub(super) source: Option<SourceLine>,
    /// Whether the outcome is that of the verdict; `None` if one of them is unknown.
    pub(super) agrees: Option<bool>,
}

impl FleetReport {
    /// Adds the results of further kernels.
    pub(crate) fn extend(&mut self, other: Self) {
        let shared = &mut self.shared_verdicts;
        let rows = other.rows.into_iter();
        self.rows
            .extend(rows.map(|row| Row { outcome: row.outcome.map(|verdict| shared.share(verdict)), ..row }));
        self.unread.extend(other.unread);
        self.kernel_warnings.extend(other.kernel_warnings);
    }
}

impl RealLoad {
    /// Creates the value for a program that was loaded, with its verdict.
    pub(crate) fn new(
        (program, autoload): (&str, bool),
        verdict: Option<Verdict>,
        reality: &Reality,
        agrees: Option<bool>,
    ) -> Self {
        let outcome = match reality {
            Reality::Loaded => Outcome::Loads,
            Reality::Refused(_) => Outcome::Refused,
            Reality::Unknown(_) => Outcome::Unknown,
        };
        let source = match reality {
            Reality::Refused(refusal) => refusal.source_line(),
            Reality::Loaded | Reality::Unknown(_) => None,
        };
        let reason = reality.reason().map(str::to_owned);
        Self { program: program.to_owned(), autoload, verdict, outcome, reason, source, agrees }
    }

    /// Returns whether the outcome is not that of the verdict.
    pub(super) fn differs(&self) -> bool {
        self.agrees == Some(false)
    }

    /// Returns whether the kernel refused the program, and the verdict names no reason.
    pub(super) fn is_unforeseen_refusal(&self) -> bool {
        self.outcome == Outcome::Refused && self.agrees != Some(true)
    }

    /// Returns the first line of the reason.
    pub(super) fn headline(&self) -> Option<String> {
        self.reason.as_deref().map(first_line)
    }

    /// Returns the lines of the reason that follow the first one and decide: the source line, the verifier's
    /// last line, hints.
    pub(super) fn deciding_lines(&self) -> Vec<&str> {
        self.reason.as_deref().map_or(Vec::new(), deciding_lines)
    }

    /// Returns the words for the outcome.
    pub(super) const fn words(&self) -> &'static str {
        match self.outcome {
            Outcome::Loads => "loaded",
            other => other.words(),
        }
    }

    /// Returns the words for the verdict.
    pub(super) fn verdict_words(&self) -> &'static str {
        self.verdict.map_or("no verdict", |verdict| Outcome::from(verdict).words())
    }
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
    pub(crate) outcome: Result<Arc<ObjectVerdict>, BadInput>,
    /// The reasons that the project accepts.
    pub(crate) acceptance: Option<Acceptance>,
    /// The real loads of the programs, in the order of their verdicts, and that of several programs together.
    /// Empty if the kernel was not booted.
    pub(crate) real_loads: Vec<RealLoad>,
}

impl Row {
    /// Returns the outcome without its details, and without the accepted reasons. On a kernel that was
    /// booted, the real loads of the programs in the default load decide.
    pub(super) fn outcome(&self) -> Outcome {
        let loads = self.real_loads.iter().enumerate().filter(|(_, load)| load.autoload);
        match loads.map(|(index, load)| self.real_outcome(index, load)).max() {
            Some(outcome) => outcome,
            None => self.judged_outcome(),
        }
    }

    /// Returns the outcome of the real load of the program at an index. The project accepts a refusal with
    /// all reasons of its verdict.
    pub(super) fn real_outcome(&self, index: usize, load: &RealLoad) -> Outcome {
        let accepted = || match &*load.program {
            TOGETHER => self.acceptance.as_ref().map(|acceptance| acceptance.verdict),
            _ => self.program_acceptance(index).map(|program| program.verdict),
        };
        let is_accepted = || accepted() == Some(Verdict::Loads);
        match load.outcome {
            Outcome::Refused if is_accepted() => Outcome::Allowed,
            outcome => outcome,
        }
    }

    /// Returns the programs: the name, whether the default load includes it, and the outcome.
    pub(super) fn program_outcomes(&self) -> Vec<(&str, bool, Outcome)> {
        if !self.real_loads.is_empty() {
            let loads = self.real_loads.iter().enumerate();
            return loads
                .map(|(i, load)| (&*load.program, load.autoload, self.real_outcome(i, load)))
                .collect();
        }
        let programs = self.outcome.iter().flat_map(|verdict| &verdict.programs).enumerate();
        let judged = programs.map(|(index, program)| {
            let left = self.program_acceptance(index).map(|accepted| accepted.verdict);
            (&*program.name, program.autoload, Outcome::new(program.verdict, left))
        });
        judged.collect()
    }

    /// Returns the outcome of the verdict.
    fn judged_outcome(&self) -> Outcome {
        let left = self.acceptance.as_ref().map(|acceptance| acceptance.verdict);
        self.outcome.as_ref().map_or(Outcome::BadInput, |object| Outcome::new(object.verdict, left))
    }

    /// Returns the accepted reasons of a program, by its index.
    pub(super) fn program_acceptance(&self, index: usize) -> Option<&ProgramAcceptance> {
        self.acceptance.as_ref()?.program(index)
    }
}

/// The outcome for an object or a program on a kernel. A later variant is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Outcome {
    Loads,
    /// The project accepts every reason against the load.
    Allowed,
    Unknown,
    NeedsInput,
    Refused,
    /// The pair of object and kernel could not be judged.
    BadInput,
}

impl Outcome {
    /// All outcomes, best first.
    pub(super) const ALL: [Self; 6] =
        [Self::Loads, Self::Allowed, Self::Unknown, Self::NeedsInput, Self::Refused, Self::BadInput];

    /// Returns the outcome of a verdict. `left` is the verdict without the accepted reasons, if there are
    /// such reasons.
    pub(super) fn new(verdict: Verdict, left: Option<Verdict>) -> Self {
        match left {
            Some(Verdict::Loads) if verdict != Verdict::Loads => Self::Allowed,
            left => left.unwrap_or(verdict).into(),
        }
    }

    /// Returns whether the kernel loads the object or program.
    pub(super) const fn is_loads(self) -> bool {
        matches!(self, Self::Loads)
    }

    /// Returns the words for people.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Loads => "loads",
            Self::Allowed => "allowed",
            Self::Unknown => "unknown",
            Self::NeedsInput => "needs input",
            Self::Refused => "refused",
            Self::BadInput => "bad input",
        }
    }
}

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Loads => Self::Loads,
            Verdict::Unknown => Self::Unknown,
            Verdict::NeedsInput => Self::NeedsInput,
            Verdict::Refused => Self::Refused,
        }
    }
}
