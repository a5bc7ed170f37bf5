//! The JSON lines of a budget: one for each finding.

use crate::budget::comparison::{Finding, Metric, Problem};
use serde::Serialize;

/// A difference between a budget and a run.
#[derive(Debug, Serialize)]
pub(crate) struct FindingJson<'f> {
    budget: &'f str,
    kernel: &'f str,
    object: &'f str,
    program: &'f str,
    /// `grew`, `missing_value`, `not_in_budget` or `not_loaded`.
    finding: &'static str,
    metric: Option<Metric>,
    expected: Option<u64>,
    measured: Option<u64>,
    reason: Option<&'f str>,
}

impl<'f> FindingJson<'f> {
    /// Creates the line. `budget` is the name of the file.
    pub(crate) fn new(budget: &'f str, finding: &'f Finding) -> Self {
        let (metric, expected, measured, reason) = match &finding.problem {
            Problem::Grew { metric, budget, measured } => {
                (Some(*metric), Some(*budget), Some(*measured), None)
            }
            Problem::MissingValue { metric, budget, measured } => (Some(*metric), *budget, *measured, None),
            Problem::NotInBudget => (None, None, None, None),
            Problem::NotLoaded(reason) => (None, None, None, Some(&**reason)),
        };
        Self {
            budget,
            kernel: &finding.key.kernel,
            object: &finding.key.object,
            program: &finding.key.program,
            finding: finding.problem.word(),
            metric,
            expected,
            measured,
            reason,
        }
    }
}
