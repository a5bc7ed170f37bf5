//! The results that a report shows.

use crate::{
    agreement::{Agreement, AgreementCounts, LoadOutcome},
    comparison::Comparison,
    load_message::{deciding_lines, first_line},
    policy::{Acceptance, ProgramAcceptance},
    shared_verdicts::SharedVerdicts,
};
use core_relo::plan::Summary;
use core_relo_verdict::{
    SourceLine,
    judge::{ObjectVerdict, Verdict},
    kernel::{DistributionKernel, KernelVersion},
};
use std::{collections::HashSet, fmt, sync::Arc};

/// The name of the default load beside those of programs.
pub const TOGETHER: &str = "all programs together";

/// The results of a check of objects on kernels.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FleetReport {
    /// One row per object and kernel, in any order.
    pub rows: Vec<Row>,
    /// Objects and kernels that could not be read at all, so that no row has their name.
    pub unread: Vec<UnjudgedInput>,
    /// Contradictions between the facts about a kernel, and facts that cannot be read.
    pub kernel_warnings: Vec<KernelWarning>,
    /// The numbers of verdicts that agree with the real loads. `None` if no kernel was booted.
    pub agreement: Option<AgreementCounts>,
    /// The distinct verdicts of the rows.
    pub(super) shared_verdicts: SharedVerdicts,
}

/// An input that could not be read or judged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnjudgedInput {
    /// The name of the file, or of another input.
    pub file: String,
    /// The defect, and its position in the file.
    pub problem: String,
    /// A remedy.
    pub help: Option<String>,
}

/// A warning about the facts of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelWarning {
    /// The kernel's name, as printed.
    pub kernel: String,
    /// The warning.
    pub text: String,
}

/// The real load of a program, or of the default load, on a kernel that was booted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RealLoad {
    /// The program; `None` for the programs of the default load together.
    pub program: Option<String>,
    /// Whether the default load of the object includes the program.
    pub autoload: bool,
    /// The verdict on the program. `None` if the kernel's types cannot be read.
    pub verdict: Option<Verdict>,
    /// The outcome.
    pub outcome: LoadOutcome,
    /// The reason of a refusal, or why the outcome is unknown.
    pub reason: Option<String>,
    /// The source line at which the verifier stopped, if its log has one.
    pub source: Option<SourceLine>,
    /// Whether the outcome is that of the verdict.
    pub agreement: Agreement,
}

impl FleetReport {
    /// Adds the result for an object on a kernel.
    pub fn push(&mut self, row: Row) {
        let outcome = row.outcome.map(|verdict| self.shared_verdicts.share(verdict));
        self.rows.push(Row { outcome, ..row });
    }

    /// Returns the numbers of verdicts that agree with the real loads. `None` if no kernel was booted.
    pub(super) fn count_agreements(&self) -> Option<AgreementCounts> {
        let loads = self.rows.iter().flat_map(|row| &row.real_loads);
        let counts = AgreementCounts::from_iter(loads.map(|load| load.agreement));
        (counts != AgreementCounts::default()).then_some(counts)
    }

    /// Returns the number of new refusals and reasons in words; `None` without a baseline.
    pub fn baseline_summary(&self) -> Option<String> {
        let mut compared = self.rows.iter().filter(|row| row.comparison.is_some()).peekable();
        compared.peek()?;
        let (mut new, mut kernels) = (HashSet::new(), HashSet::new());
        for row in compared.filter(|row| row.is_new()) {
            kernels.insert(&row.kernel);
            let found = row.comparison.iter().flat_map(|found| &found.new).filter(|found| found.may_count());
            new.extend(found.map(|found| (&row.object, found)));
        }
        let objects: HashSet<_> = new.iter().map(|(object, _)| object).collect();
        let words = |count: usize, one: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {one}s"),
        };
        Some(match new.len() {
            0 => "nothing is new since the baseline".to_owned(),
            count => format!(
                "new since the baseline: {} of {} on {}",
                words(count, "reason"),
                words(objects.len(), "object"),
                words(kernels.len(), "kernel")
            ),
        })
    }

    /// Adds the results of further kernels.
    pub fn extend(&mut self, other: Self) {
        other.rows.into_iter().for_each(|row| self.push(row));
        self.unread.extend(other.unread);
        self.kernel_warnings.extend(other.kernel_warnings);
    }
}

impl UnjudgedInput {
    /// Creates the value for an input and its defect.
    pub fn new(file: impl Into<String>, problem: impl fmt::Display) -> Self {
        Self { file: file.into(), problem: problem.to_string(), help: None }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn with_help(self, help: Option<String>) -> Self {
        Self { help, ..self }
    }
}

impl KernelWarning {
    /// Creates a warning about a kernel.
    pub fn new(kernel: impl Into<String>, text: impl Into<String>) -> Self {
        Self { kernel: kernel.into(), text: text.into() }
    }
}

impl RealLoad {
    /// Creates the value for a program of the default load, or for all of them together, without a verdict.
    pub fn new(program: Option<String>, outcome: LoadOutcome) -> Self {
        Self {
            program,
            autoload: true,
            verdict: None,
            outcome,
            reason: None,
            source: None,
            agreement: Agreement::Undecided,
        }
    }

    /// Returns the name of the program, or the words for several programs together.
    pub fn subject(&self) -> &str {
        self.program.as_deref().unwrap_or(TOGETHER)
    }

    /// Returns whether the outcome is not that of the verdict.
    pub(super) fn differs(&self) -> bool {
        self.agreement == Agreement::Differs
    }

    /// Returns whether the kernel refused the program, and the verdict names no reason.
    pub(super) fn is_unforeseen_refusal(&self) -> bool {
        self.outcome == LoadOutcome::Refused && self.agreement != Agreement::Agrees
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

    /// Returns the words for the verdict.
    pub(super) fn verdict_words(&self) -> &'static str {
        self.verdict.map_or("no verdict", |verdict| Outcome::from(verdict).words())
    }
}

/// The result for an object on a kernel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Row {
    /// The object's name, as printed.
    pub object: String,
    /// The kernel's name, as printed.
    pub kernel: String,
    /// The kernel's version, if known.
    pub kernel_version: Option<KernelVersion>,
    /// The kernel's architecture, such as `x86_64`, if known.
    pub architecture: Option<String>,
    /// The package of a distribution that the kernel is from, if known. Summaries and the matrix then group
    /// the kernel by distribution and release.
    pub distribution: Option<DistributionKernel>,
    /// The series of the kernel in its distribution, such as `debian:12 x86_64 cloud`, if the kernel is one
    /// of a distribution. Another version of the kernel has the same series.
    pub kernel_series: Option<String>,
    /// The numbers of relocations, if the object was judged.
    pub relocations: Option<Summary>,
    /// The verdict, or why the pair could not be judged.
    pub outcome: Result<Arc<ObjectVerdict>, UnjudgedInput>,
    /// The reasons that the project accepts.
    pub acceptance: Option<Acceptance>,
    /// The number of requirements that the kernel does not meet behind those of the reasons, where the
    /// verifier stops. Of stored results, whose verdicts do not have these requirements.
    pub later_count: usize,
    /// What is new since the baseline. `None` without a baseline.
    pub comparison: Option<Comparison>,
    /// The real loads of the programs, in the order of their verdicts, and that of several programs together.
    /// Empty if the kernel was not booted.
    pub real_loads: Vec<RealLoad>,
}

impl Row {
    /// Creates the result of judging an object on a kernel.
    pub fn new(
        object: impl Into<String>,
        kernel: impl Into<String>,
        outcome: Result<Arc<ObjectVerdict>, UnjudgedInput>,
    ) -> Self {
        Self {
            object: object.into(),
            kernel: kernel.into(),
            kernel_version: None,
            architecture: None,
            distribution: None,
            kernel_series: None,
            relocations: None,
            outcome,
            acceptance: None,
            later_count: 0,
            comparison: None,
            real_loads: Vec::new(),
        }
    }

    /// Returns whether the result is worse than that of the baseline: something that counts is new.
    pub fn is_new(&self) -> bool {
        let counts = matches!(self.conclusion(), Conclusion::Fails | Conclusion::Undecided);
        self.comparison.is_some() && counts
    }

    /// Returns whether the baseline has the refusal of a real load.
    pub(super) fn is_known_load(&self, load: &RealLoad) -> bool {
        self.comparison.as_ref().is_some_and(|compared| !compared.has_new_load(load.program.as_deref()))
    }

    /// Returns whether the baseline has all reasons of a program.
    pub(super) fn is_known_program(&self, program: &str) -> bool {
        self.comparison.as_ref().is_some_and(|compared| !compared.has_new_reason(program))
    }

    /// Returns what the result says to a CI job. With a baseline, only what is new counts. On a kernel that
    /// was booted, the real loads of the programs in the default load decide.
    pub fn conclusion(&self) -> Conclusion {
        let loads = self.real_loads.iter().enumerate().filter(|(_, load)| load.autoload);
        let of_load = |(index, load): (usize, &RealLoad)| match self.real_outcome(index, load) {
            Outcome::Loads | Outcome::Allowed => Conclusion::Passes,
            Outcome::Refused | Outcome::NeedsInput if self.is_known_load(load) => Conclusion::Passes,
            Outcome::Refused | Outcome::NeedsInput => Conclusion::Fails,
            Outcome::Unknown | Outcome::BadInput => Conclusion::Unread,
        };
        let left = self.comparison.as_ref().filter(|_| self.outcome.is_ok());
        let judged = left.map_or_else(|| self.judged_outcome(), |left| left.verdict.into());
        let judged = match judged {
            // Only programs outside of the default load were loaded, or none.
            _ if !self.real_loads.is_empty() => Conclusion::Passes,
            Outcome::Loads | Outcome::Allowed => Conclusion::Passes,
            Outcome::Refused | Outcome::NeedsInput => Conclusion::Fails,
            Outcome::Unknown => Conclusion::Undecided,
            Outcome::BadInput => Conclusion::Unread,
        };
        loads.map(of_load).max().unwrap_or(judged)
    }

    /// Returns whether another result has the same verdicts and outcomes of real loads.
    pub(super) fn has_same_outcomes(&self, other: &Self) -> bool {
        let verdict_left = |row: &Self| row.acceptance.as_ref().map(|acceptance| acceptance.verdict);
        self.judged_outcome() == other.judged_outcome()
            && verdict_left(self) == verdict_left(other)
            && self.program_outcomes() == other.program_outcomes()
    }

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
        let accepted = || match load.program {
            None => self.acceptance.as_ref().map(|acceptance| acceptance.verdict),
            Some(_) => self.program_acceptance(index).map(|program| program.verdict),
        };
        match load.outcome {
            LoadOutcome::Refused if accepted() == Some(Verdict::Loads) => Outcome::Allowed,
            outcome => outcome.into(),
        }
    }

    /// Returns the programs: the name, whether the default load includes it, and the outcome.
    pub(super) fn program_outcomes(&self) -> Vec<(&str, bool, Outcome)> {
        if !self.real_loads.is_empty() {
            let loads = self.real_loads.iter().enumerate();
            return loads
                .map(|(i, load)| (load.subject(), load.autoload, self.real_outcome(i, load)))
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

/// What a result says to a CI job. A later variant is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "callers decide on each")]
pub enum Conclusion {
    /// The object loads, or the project accepts every reason against its load.
    Passes,
    /// The kernel refuses the object, or the object needs input.
    Fails,
    /// The verdict is unknown.
    Undecided,
    /// The pair could not be judged, or the outcome of a real load is unknown.
    Unread,
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

impl From<LoadOutcome> for Outcome {
    fn from(outcome: LoadOutcome) -> Self {
        match outcome {
            LoadOutcome::Loaded => Self::Loads,
            LoadOutcome::Unknown => Self::Unknown,
            LoadOutcome::Refused => Self::Refused,
        }
    }
}
