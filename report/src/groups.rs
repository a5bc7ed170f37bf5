//! The distinct results of each object: a text of bounded length, however many kernels there are.

use crate::{
    findings::{WHOLE_OBJECT, find_by_reason},
    limits::MAX_NAMED_KERNELS,
    matrix::{Matrix, ObjectLine},
    model::FleetReport,
    policy::AllowEntry,
    summary::summarize,
    warnings::find_warnings,
};
use core_relo_verdict::judge::Reason;

/// The results of an object on all kernels.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ObjectGroups<'r> {
    /// The object's name. Not escaped.
    pub object: &'r str,
    /// The outcomes and their kernels, as in [`ObjectSummary`](crate::ObjectSummary).
    pub summary: String,
    /// The distinct reasons, worst first and accepted ones last.
    pub reasons: Vec<ReasonGroup<'r>>,
    /// The distinct problems because of which the object could not be judged, each with its kernels.
    pub problems: Vec<(&'r str, KernelGroup<'r>)>,
    /// The number of distinct silent mismatches.
    pub warning_count: usize,
}

/// A reason with the programs and kernels that have it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReasonGroup<'r> {
    /// The reason.
    pub reason: &'r Reason,
    /// The first program; `None` for a reason of the object.
    pub program: Option<&'r str>,
    /// The number of programs.
    pub program_count: usize,
    /// Whether the default load of the object includes one of the programs.
    pub autoload: bool,
    /// The entry of the allow list that accepts the reason.
    pub allowed: Option<&'r AllowEntry>,
    /// Whether the baseline lacks the reason; `None` without a baseline.
    pub is_new: Option<bool>,
    /// The kernels.
    pub kernels: KernelGroup<'r>,
}

/// Some kernels: the number of all, and the names of the first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelGroup<'r> {
    /// The number of kernels.
    pub count: usize,
    /// The names of the first kernels. Not escaped.
    pub first: Vec<&'r str>,
}

impl FleetReport {
    /// Returns the distinct results of each object, sorted by the objects' names.
    pub fn groups(&self) -> Vec<ObjectGroups<'_>> {
        let matrix = Matrix::new(self);
        matrix.objects.iter().map(|object| object_groups(&matrix, object)).collect()
    }
}

fn object_groups<'r>(matrix: &Matrix<'r>, object: &ObjectLine<'r>) -> ObjectGroups<'r> {
    let reasons = find_by_reason(object).into_iter().map(|finding| {
        let program = finding.programs.first().map(|program| program.name);
        ReasonGroup {
            reason: finding.reason,
            program: program.filter(|name| *name != WHOLE_OBJECT),
            program_count: finding.programs.len(),
            autoload: finding.is_autoload(),
            allowed: finding.allowed,
            is_new: finding.is_new,
            kernels: KernelGroup::new(matrix, &finding.kernels),
        }
    });
    let problems = object.bad_input().into_iter();
    ObjectGroups {
        object: object.name,
        summary: summarize(&matrix.kernels, &object.outcomes()).text(&str::to_owned),
        reasons: reasons.collect(),
        problems: problems
            .map(|(bad, kernels)| (&*bad.problem, KernelGroup::new(matrix, &kernels)))
            .collect(),
        warning_count: find_warnings(object).len(),
    }
}

impl<'r> KernelGroup<'r> {
    /// Creates the value for kernels, given by index.
    fn new(matrix: &Matrix<'r>, kernels: &[usize]) -> Self {
        let named = kernels.iter().take(MAX_NAMED_KERNELS);
        let first = named.filter_map(|kernel| matrix.kernels.get(*kernel)).map(|kernel| kernel.name);
        Self { count: kernels.len(), first: first.collect() }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "tests fail by panicking")]

    use super::*;
    use crate::test_fleet::{fleet, refused_row};

    #[test]
    fn a_reason_of_many_kernels_is_one_group() {
        let rows = (0..10_000).map(|number| refused_row("a.o", &format!("k{number:05}"))).collect();
        let report = FleetReport { rows, ..FleetReport::default() };
        let groups = report.groups();
        assert_eq!((groups.len(), groups[0].reasons.len()), (1, 1));
        let group = &groups[0].reasons[0];
        assert_eq!((group.program, group.program_count, group.is_new), (Some("main"), 1, None));
        let expected = KernelGroup { count: 10_000, first: vec!["k00000", "k00001", "k00002"] };
        assert_eq!(group.kernels, expected);
    }

    #[test]
    fn an_object_that_fits_no_kernel_has_its_problem() {
        let report = fleet();
        let groups = report.groups();
        let object = groups.iter().find(|group| group.object == "big.bpf.o");
        let problems =
            object.map(|object| object.problems.iter().map(|(text, k)| (*text, k.count)).collect::<Vec<_>>());
        assert_eq!(problems, Some(vec![("is big-endian, expected little-endian", 2)]));
    }
}
