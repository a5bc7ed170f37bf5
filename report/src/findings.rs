//! The distinct reasons of an object, each with its programs and kernels.

use crate::{comparison::Comparison, limits::MAX_EVIDENCE, matrix::ObjectLine, policy::AllowEntry};
use core_relo_verdict::{
    SourceLine,
    judge::{Reason, ReasonKind, Verdict},
    kernel::Evidence,
};
use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
};

/// Stands for the program of a reason that comes from an object without programs.
pub(super) const WHOLE_OBJECT: &str = "(object)";

/// A reason that some programs have on some kernels.
#[derive(Clone, Debug)]
pub(super) struct Finding<'r> {
    /// The reason. Its evidence is that of the first kernel.
    pub(super) reason: &'r Reason,
    pub(super) programs: Vec<FoundProgram<'r>>,
    /// The indexes of the kernels, sorted.
    pub(super) kernels: Vec<usize>,
    pub(super) evidence: EvidenceList<'r>,
    /// The entry of the allow list that accepts the reason on these kernels.
    pub(super) allowed: Option<&'r AllowEntry>,
    /// Whether the baseline lacks the reason on these kernels; `None` without a baseline.
    pub(super) is_new: Option<bool>,
}

/// The first distinct evidence of a reason. Every kernel may have its own evidence, so the list is bounded.
#[derive(Clone, Debug, Default)]
pub(super) struct EvidenceList<'r> {
    /// The evidence, each with the indexes of the kernels that have it. At most [`MAX_EVIDENCE`].
    pub(super) first: Vec<(&'r Evidence, Vec<usize>)>,
    /// The kernels with other evidence.
    others: BTreeSet<usize>,
}

/// A program that has a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FoundProgram<'r> {
    pub(super) name: &'r str,
    /// Whether the default load of the object includes the program.
    pub(super) autoload: bool,
}

/// All of a reason but its evidence, which may differ between kernels, and whether an entry of the allow list
/// accepts the reason, and whether it is new.
type ReasonKey<'r> =
    (ReasonKind, Verdict, &'r str, Option<&'r SourceLine>, Option<&'r str>, (bool, Option<bool>));

fn key<'r>(reason: &'r Reason, allowed: Option<&AllowEntry>, is_new: Option<bool>) -> ReasonKey<'r> {
    let (source, fix) = (reason.source.as_ref(), reason.fix.as_deref());
    (reason.kind, reason.verdict, &reason.text, source, fix, (allowed.is_some(), is_new))
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
        if let Some(evidence) = &reason.evidence {
            self.evidence.add(evidence, &[kernel]);
        }
    }
}

impl<'r> EvidenceList<'r> {
    /// Adds the evidence of some kernels.
    fn add(&mut self, evidence: &'r Evidence, kernels: &[usize]) {
        let is_full = self.first.len() >= MAX_EVIDENCE;
        match self.first.iter_mut().find(|(known, _)| *known == evidence) {
            Some((_, known)) if known.last() >= kernels.last() => {}
            Some((_, known)) => known.extend(kernels),
            None if !is_full => self.first.push((evidence, kernels.to_vec())),
            None => self.others.extend(kernels),
        }
    }

    /// Adds the evidence of another program for the same reason on the same kernels.
    fn merge(&mut self, other: Self) {
        other.first.iter().for_each(|(evidence, kernels)| self.add(evidence, kernels));
        self.others.extend(other.others);
    }

    /// Returns the number of kernels with evidence that is left out.
    pub(super) fn other_kernel_count(&self) -> usize {
        self.others.len()
    }
}

/// Returns a finding per program and distinct reason: new ones first, worst first, and accepted ones last.
pub(super) fn find_by_program<'r>(object: &ObjectLine<'r>) -> Vec<Finding<'r>> {
    let mut findings = Vec::<Finding<'r>>::new();
    let mut indexes = HashMap::new();
    for (kernel, row) in object.cells.iter().enumerate() {
        let Some((row, verdict)) = row.and_then(|row| Some((row, row.outcome.as_ref().ok()?))) else {
            continue;
        };
        let new = row.comparison.as_ref().map(Comparison::keys);
        let mut add = |program: FoundProgram<'r>, reason: &'r Reason, allowed| {
            let name = Some(program.name).filter(|name| *name != WHOLE_OBJECT);
            let is_new = new.as_ref().map(|new| new.contains(&(name, reason.kind.word(), &*reason.text)));
            let index = *indexes.entry((program.name, key(reason, allowed, is_new))).or_insert_with(|| {
                let (kernels, evidence) = (Vec::new(), EvidenceList::default());
                findings.push(Finding {
                    reason,
                    programs: vec![program],
                    kernels,
                    evidence,
                    allowed,
                    is_new,
                });
                findings.len() - 1
            });
            if let Some(finding) = findings.get_mut(index) {
                finding.add(kernel, reason);
            }
        };
        for (number, program) in verdict.programs.iter().enumerate() {
            let accepted = row.program_acceptance(number);
            for (index, reason) in program.reasons.iter().enumerate() {
                let allowed = accepted.and_then(|accepted| accepted.reason(index));
                add(FoundProgram { name: &program.name, autoload: program.autoload }, reason, allowed);
            }
        }
        let object = FoundProgram { name: WHOLE_OBJECT, autoload: true };
        verdict.own_reasons().for_each(|reason| add(object, reason, None));
    }
    // The sort is stable: equally bad findings stay in the order of kernels and programs.
    findings.sort_by_key(|finding| {
        let is_known = finding.is_new == Some(false);
        let (is_autoload, verdict) = (finding.is_autoload(), finding.reason.verdict);
        (finding.allowed.is_some(), is_known, Reverse(is_autoload), Reverse(verdict))
    });
    findings
}

/// Returns a finding per distinct reason and set of kernels, worst first.
pub(super) fn find_by_reason<'r>(object: &ObjectLine<'r>) -> Vec<Finding<'r>> {
    let mut merged = Vec::<Finding<'r>>::new();
    let mut indexes = HashMap::new();
    for finding in find_by_program(object) {
        let index = *indexes
            .entry((key(finding.reason, finding.allowed, finding.is_new), finding.kernels.clone()))
            .or_insert(merged.len());
        match merged.get_mut(index) {
            Some(other) => {
                other.programs.extend(finding.programs);
                other.evidence.merge(finding.evidence);
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
    use crate::{
        matrix::Matrix,
        model::FleetReport,
        test_fleet::{fleet, refused_row},
    };
    use core_relo_verdict::{judge::ProgramVerdict, kernel::EvidenceSource};
    use std::sync::Arc;

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
        assert_eq!(by_reason[0].evidence.first.len(), 2, "each kernel has its own evidence");
    }

    #[test]
    fn evidence_that_differs_on_every_kernel_is_counted() {
        const KERNELS: usize = 10_000;
        let rows = (0..KERNELS).map(|number| {
            let mut row = refused_row("one.bpf.o", &format!("kernel-{number:05}"));
            for program in row.outcome.iter_mut().flat_map(|object| &mut Arc::make_mut(object).programs) {
                let text = format!("enum bpf_map_type of kernel {number}");
                let evidence = Evidence { source: EvidenceSource::Btf, text };
                for reason in &mut program.reasons {
                    reason.evidence = Some(evidence.clone());
                }
                let second = ProgramVerdict::new("second", program.reasons.clone());
                *program = if number % 2 == 0 { program.clone() } else { second };
            }
            row
        });
        let report = FleetReport { rows: rows.collect(), ..FleetReport::default() };
        let matrix = Matrix::new(&report);
        let findings = find_by_program(&matrix.objects[0]);
        let counts: Vec<_> = findings
            .iter()
            .map(|f| (f.kernels.len(), f.evidence.first.len(), f.evidence.other_kernel_count()))
            .collect();
        // The searched part of the list does not grow with the number of kernels.
        let half = KERNELS / 2;
        assert_eq!(counts, [(half, MAX_EVIDENCE, half - MAX_EVIDENCE); 2]);
    }

    #[test]
    fn indexes_become_ranges_of_numbers() {
        assert_eq!(kernel_numbers(&[0, 1, 2, 4, 6, 7]), "1-3 5 7-8");
        assert_eq!(kernel_numbers(&[]), "");
    }
}
