//! The comparison of measured statistics with a budget.

use super::file::{Budget, ProgramKey, Usage};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The programs of a run: the measured ones, the reasons why others have no statistics, and those left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measurements {
    pub(crate) programs: Budget,
    pub(crate) unmeasured: BTreeMap<ProgramKey, String>,
    /// The programs that the user left out of the run.
    pub(crate) excluded: BTreeSet<ProgramKey>,
}

/// A statistic of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Metric {
    VerifiedInsns,
    TotalStates,
    PeakStates,
    StackDepth,
}

/// A difference between a budget and a run that needs a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) key: ProgramKey,
    pub(crate) problem: Problem,
}

/// The kind of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// A value grew beyond the tolerance.
    Grew { metric: Metric, budget: u64, measured: u64 },
    /// The budget has a value that the kernel did not tell, or the other way round.
    MissingValue { metric: Metric, budget: Option<u64>, measured: Option<u64> },
    /// The budget has no entry for the program.
    NotInBudget,
    /// The run did not load the program of an entry. The value is the reason.
    NotLoaded(String),
}

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    pub(crate) findings: Vec<Finding>,
    /// The number of programs whose values are within the budget.
    pub(crate) within_count: usize,
    /// The number of these programs that need less than their budget.
    pub(crate) below_count: usize,
    /// The number of entries for kernels, objects and programs that are not part of the run.
    pub(crate) skipped_count: usize,
}

impl Metric {
    const ALL: [Self; 4] = [Self::VerifiedInsns, Self::TotalStates, Self::PeakStates, Self::StackDepth];

    /// Returns the words for people.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::VerifiedInsns => "verified instructions",
            Self::TotalStates => "states",
            Self::PeakStates => "peak of states",
            Self::StackDepth => "bytes of stack",
        }
    }

    const fn value(self, usage: &Usage) -> Option<u64> {
        match self {
            Self::VerifiedInsns => usage.verified_insns,
            Self::TotalStates => usage.total_states,
            Self::PeakStates => usage.peak_states,
            Self::StackDepth => usage.stack_depth,
        }
    }
}

impl Problem {
    /// Returns the word for JSON.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Grew { .. } => "grew",
            Self::MissingValue { .. } => "missing_value",
            Self::NotInBudget => "not_in_budget",
            Self::NotLoaded(_) => "not_loaded",
        }
    }

    /// Returns the words for people.
    pub(crate) fn words(&self) -> String {
        self.word().replace('_', " ")
    }
}

impl Comparison {
    /// Compares a run with a budget. `tolerance` is the accepted growth in percent.
    pub(crate) fn new(budget: &Budget, run: &Measurements, tolerance: u32) -> Self {
        let mut comparison = Self::default();
        for (key, measured) in &run.programs {
            let problems = match budget.get(key) {
                Some(entry) => compare_values(entry, measured, tolerance),
                None => vec![Problem::NotInBudget],
            };
            if problems.is_empty() {
                comparison.within_count += 1;
                let is_below = |metric: &Metric| {
                    let budget = budget.get(key).and_then(|entry| metric.value(entry));
                    metric.value(measured) < budget
                };
                comparison.below_count += usize::from(Metric::ALL.iter().any(is_below));
            }
            let finding = |problem| Finding { key: key.clone(), problem };
            comparison.findings.extend(problems.into_iter().map(finding));
        }
        let objects: HashSet<_> = run.programs.keys().chain(run.unmeasured.keys()).map(object_key).collect();
        for key in budget.keys().filter(|key| !run.programs.contains_key(*key)) {
            let reason = match run.unmeasured.get(key) {
                Some(reason) => reason.clone(),
                None if objects.contains(&object_key(key)) && !run.excluded.contains(key) => {
                    "the run did not load it".to_owned()
                }
                None => {
                    comparison.skipped_count += 1;
                    continue;
                }
            };
            comparison.findings.push(Finding { key: key.clone(), problem: Problem::NotLoaded(reason) });
        }
        comparison.findings.sort_by(|a, b| a.key.cmp(&b.key));
        comparison
    }
}

fn object_key(key: &ProgramKey) -> (&str, &str) {
    (&key.kernel, &key.object)
}

fn compare_values(budget: &Usage, measured: &Usage, tolerance: u32) -> Vec<Problem> {
    let problem = |metric: Metric| match (metric.value(budget), metric.value(measured)) {
        (Some(budget), Some(measured)) => {
            // 128 bits hold the product of any 64-bit value and any tolerance.
            let limit = u128::from(budget) * (100 + u128::from(tolerance));
            (u128::from(measured) * 100 > limit).then_some(Problem::Grew { metric, budget, measured })
        }
        (None, None) => None,
        (budget, measured) => Some(Problem::MissingValue { metric, budget, measured }),
    };
    Metric::ALL.into_iter().filter_map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kernel: &str, object: &str, program: &str) -> ProgramKey {
        ProgramKey { kernel: kernel.to_owned(), object: object.to_owned(), program: program.to_owned() }
    }

    fn usage(verified_insns: u64) -> Usage {
        Usage { verified_insns: Some(verified_insns), stack_depth: Some(8), ..Usage::default() }
    }

    fn compare(budget: u64, measured: u64, tolerance: u32) -> Comparison {
        let budget = Budget::from([(key("k", "o", "p"), usage(budget))]);
        let programs = Budget::from([(key("k", "o", "p"), usage(measured))]);
        Comparison::new(&budget, &Measurements { programs, ..Measurements::default() }, tolerance)
    }

    #[test]
    fn growth_beyond_the_tolerance_is_found() {
        let same = compare(100, 100, 0);
        assert_eq!((same.findings.len(), same.within_count, same.below_count), (0, 1, 0));
        let grew = Problem::Grew { metric: Metric::VerifiedInsns, budget: 100, measured: 101 };
        assert_eq!(compare(100, 101, 0).findings, [Finding { key: key("k", "o", "p"), problem: grew }]);
        assert_eq!(compare(100, 105, 5).findings, []);
        assert_eq!(compare(100, 106, 5).findings.len(), 1);
        assert_eq!(compare(0, 1, 10_000).findings.len(), 1, "no tolerance makes 0 more");
        assert_eq!(compare(u64::MAX, u64::MAX, 10_000).findings, []);
        assert_eq!(compare(100, 99, 0).below_count, 1);
    }

    #[test]
    fn missing_programs_and_values_are_found() {
        let budget = Budget::from([
            (key("k", "o", "gone"), usage(1)),
            (key("k", "o", "refused"), usage(1)),
            (key("k", "o", "excluded"), usage(1)),
            (key("k", "o", "no states"), Usage { total_states: Some(1), ..usage(1) }),
            (key("k", "other object", "p"), usage(1)),
            (key("other kernel", "o", "p"), usage(1)),
        ]);
        let run = Measurements {
            programs: Budget::from([
                (key("k", "o", "no states"), usage(1)),
                (key("k", "o", "new"), usage(1)),
            ]),
            unmeasured: BTreeMap::from([(key("k", "o", "refused"), "refused".to_owned())]),
            excluded: BTreeSet::from([key("k", "o", "excluded")]),
        };
        let comparison = Comparison::new(&budget, &run, 0);
        let found: Vec<_> =
            comparison.findings.iter().map(|f| (f.key.program.as_str(), f.problem.word())).collect();
        let expected = [
            ("gone", "not_loaded"),
            ("new", "not_in_budget"),
            ("no states", "missing_value"),
            ("refused", "not_loaded"),
        ];
        assert_eq!(found, expected);
        assert_eq!((comparison.skipped_count, comparison.within_count), (3, 0));
    }
}
