//! The distinct reasons of an object, each with its programs and kernels.

use super::matrix::ObjectLine;
use crate::policy::AllowEntry;
use core_relo_verdict::{
    SourceLine,
    judge::{Reason, ReasonKind, Verdict},
    kernel::Evidence,
};
use std::{cmp::Reverse, collections::HashMap};

/// A reason that some programs have on some kernels.
#[derive(Clone, Debug)]
pub(super) struct Finding<'r> {
    /// The reason. Its evidence is that of the first kernel.
    pub(super) reason: &'r Reason,
    pub(super) programs: Vec<FoundProgram<'r>>,
    /// The indexes of the kernels, sorted.
    pub(super) kernels: Vec<usize>,
    /// The evidence, each with the kernels that have it.
    pub(super) evidence: Vec<(&'r Evidence, Vec<usize>)>,
    /// The entry of the allow list that accepts the reason on these kernels.
    pub(super) allowed: Option<&'r AllowEntry>,
}

/// A program that has a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FoundProgram<'r> {
    pub(super) name: &'r str,
    /// Whether the default load of the object includes the program.
    pub(super) autoload: bool,
}

/// All of a reason but its evidence, which may differ between kernels, and whether an entry of the allow list accepts the reason.
type ReasonKey<'r> = (ReasonKind, Verdict, &'r str, Option<&'r SourceLine>, Option<&'r str>, bool);

fn key<'r>(reason: &'r Reason, allowed: Option<&AllowEntry>) -> ReasonKey<'r> {
    let (source, fix) = (reason.source.as_ref(), reason.fix.as_deref());
    (reason.kind, reason.verdict, &reason.text, source, fix, allowed.is_some())
}

impl<'r> Finding<'r> {
    /// Returns whether the default load of the object includes one of the programs.
    pub(super) fn is_autoload(&self) -> bool {
        self.programs.iter().any(|program| program.autoload)
    }

    fn add(&mut self, kernel: usize, reason: &'r Reason) {
        if self.kernels.last() != Some(&kernel) {
            self.kernels.push(kernel);
        }
        let Some(evidence) = &reason.evidence else { return };
        match self.evidence.iter_mut().find(|(other, _)| *other == evidence) {
            Some((_, kernels)) if kernels.last() == Some(&kernel) => {}
            Some((_, kernels)) => kernels.push(kernel),
            None => self.evidence.push((evidence, vec![kernel])),
        }
    }
}

/// Returns a finding per program and distinct reason, worst first and accepted reasons last.
pub(super) fn find_by_program<'r>(object: &ObjectLine<'r>) -> Vec<Finding<'r>> {
    let mut findings = Vec::<Finding<'r>>::new();
    let mut indexes = HashMap::new();
    for (kernel, row) in object.cells.iter().enumerate() {
        let Some((row, verdict)) = row.and_then(|row| Some((row, row.outcome.as_ref().ok()?))) else {
            continue;
        };
        for (number, program) in verdict.programs.iter().enumerate() {
            let accepted = row.program_acceptance(number);
            for (index, reason) in program.reasons.iter().enumerate() {
                let allowed = accepted.and_then(|accepted| accepted.reason(index));
                let index = *indexes.entry((&*program.name, key(reason, allowed))).or_insert_with(|| {
                    let programs = vec![FoundProgram { name: &program.name, autoload: program.autoload }];
                    let (kernels, evidence) = (Vec::new(), Vec::new());
                    findings.push(Finding { reason, programs, kernels, evidence, allowed });
                    findings.len() - 1
                });
                if let Some(finding) = findings.get_mut(index) {
                    finding.add(kernel, reason);
                }
            }
        }
    }
    // The sort is stable: equally bad findings stay in the order of kernels and programs.
    findings.sort_by_key(|finding| {
        (finding.allowed.is_some(), Reverse(finding.is_autoload()), Reverse(finding.reason.verdict))
    });
    findings
}

/// Returns a finding per distinct reason and set of kernels, worst first.
pub(super) fn find_by_reason<'r>(object: &ObjectLine<'r>) -> Vec<Finding<'r>> {
    let mut merged = Vec::<Finding<'r>>::new();
    let mut indexes = HashMap::new();
    for finding in find_by_program(object) {
        let index = *indexes
            .entry((key(finding.reason, finding.allowed), finding.kernels.clone()))
            .or_insert(merged.len());
        match merged.get_mut(index) {
            Some(other) => {
                other.programs.extend(finding.programs);
                let is_new =
                    |evidence: &&Evidence| !other.evidence.iter().any(|(known, _)| known == evidence);
                let new: Vec<_> =
                    finding.evidence.into_iter().filter(|(evidence, _)| is_new(evidence)).collect();
                other.evidence.extend(new);
            }
            None => merged.push(finding),
        }
    }
    merged
}

/// Returns sorted indexes as ranges of numbers from 1: `1-4 7`.
pub(super) fn kernel_numbers(kernels: &[usize]) -> String {
    let mut ranges = Vec::<(usize, usize)>::new();
    for kernel in kernels {
        match ranges.last_mut() {
            Some((_, last)) if *last == *kernel => *last = kernel + 1,
            _ => ranges.push((*kernel, kernel + 1)),
        }
    }
    let text = |(start, end): &(usize, usize)| match end - start {
        1 => end.to_string(),
        _ => format!("{}-{end}", start + 1),
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{matrix::Matrix, test_fleet::fleet};

    #[test]
    fn equal_reasons_are_found_once() {
        let report = fleet();
        let matrix = Matrix::new(&report);
        let object = matrix.objects.iter().find(|object| object.name == "trace.bpf.o").unwrap();
        let by_program = find_by_program(object);
        let programs: Vec<_> = by_program
            .iter()
            .map(|f| (f.programs[0].name, f.reason.kind.word(), kernel_numbers(&f.kernels)))
            .collect();
        let expected = [
            ("on_exec", "helper", "3-4".to_owned()),
            ("on_exit", "helper", "3-4".to_owned()),
            ("on_exec", "map_size", "1-2 5-6".to_owned()),
            ("rare", "kfunc", "3-6".to_owned()),
        ];
        assert_eq!(programs, expected);
        let by_reason = find_by_reason(object);
        assert_eq!(by_reason.iter().map(|f| f.programs.len()).collect::<Vec<_>>(), [2, 1, 1]);
        assert_eq!(by_reason[0].evidence.len(), 2, "each kernel has its own evidence");
    }

    #[test]
    fn indexes_become_ranges_of_numbers() {
        assert_eq!(kernel_numbers(&[0, 1, 2, 4, 6, 7]), "1-3 5 7-8");
        assert_eq!(kernel_numbers(&[]), "");
    }
}
