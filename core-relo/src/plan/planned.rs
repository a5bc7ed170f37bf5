//! A record of a plan, with the decision about it.

use super::{
    candidate_lists::CandidateList,
    decision::{Decision, Warning},
    entries::{Plan, PlanEntry},
    error::RelocError,
};
use crate::{
    btf::Btf,
    ext::RelocKind,
    insn::Slot,
    limits,
    relocs::{Function, Record},
    resolve::{Candidate, CandidateMismatch, MatchError, MatchOutcome, StepBudget, match_candidate},
    source_lines::SourceLine,
    spec::{Accessor, Spec},
    target::{Target, TargetBtf},
};
use core::fmt;

/// A record of a plan, with the decision about it.
#[derive(Clone, Copy)]
pub struct PlannedReloc<'p> {
    plan: &'p Plan<'p>,
    record_index: usize,
    record: &'p Record<'p>,
    entry: &'p PlanEntry,
}

/// A candidate of a record, with the result of its comparison.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CheckedCandidate<'p> {
    /// The candidate.
    pub candidate: Candidate,
    /// The BTF that contains the candidate.
    pub target_btf: &'p TargetBtf<'p>,
    /// The result.
    pub result: CandidateResult,
}

/// The result of the comparison of a record with a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CandidateResult {
    /// The candidate matches; the spec is the access in the candidate.
    Match(Spec),
    /// The candidate does not match.
    Mismatch(CandidateMismatch),
    /// The comparison failed.
    Error(MatchError),
    /// An earlier record of the same root type eliminated the candidate, because the candidate does not match
    /// that record.
    Eliminated {
        /// The index of the earlier record in [`Relocs::records`](crate::Relocs::records), see [`Plan::get`].
        by_record: usize,
    },
}

impl Plan<'_> {
    /// Returns the records with the decisions about them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = PlannedReloc<'_>> {
        let records = self.relocs().records().iter().zip(self.entries()).enumerate();
        records.map(|(record_index, (record, entry))| PlannedReloc {
            plan: self,
            record_index,
            record,
            entry,
        })
    }

    /// Returns a record and the decision about it, by its index in
    /// [`Relocs::records`](crate::Relocs::records).
    pub fn get(&self, record_index: usize) -> Option<PlannedReloc<'_>> {
        let record = self.relocs().records().get(record_index)?;
        Some(PlannedReloc { plan: self, record_index, record, entry: self.entries().get(record_index)? })
    }
}

impl<'p> PlannedReloc<'p> {
    /// Returns the record with another decision about it.
    pub(super) fn with_entry(self, entry: &'p PlanEntry) -> Self {
        Self { entry, ..self }
    }

    /// Returns the object's BTF.
    pub fn btf(&self) -> &'p Btf<'p> {
        self.plan.relocs().btf()
    }

    /// Returns the target.
    pub fn target(&self) -> &'p Target<'p> {
        self.plan.target()
    }

    /// Returns whether the value depends on the target. Only TYPE_ID_LOCAL does not.
    pub fn needs_target(&self) -> bool {
        self.record.relo.kind != RelocKind::TypeIdLocal
    }

    /// Returns the index of the record in [`Relocs::records`](crate::Relocs::records), from 0.
    ///
    /// [`Record::index_in_section`] starts again with each section.
    pub fn record_index(&self) -> usize {
        self.record_index
    }

    /// Returns the record.
    pub fn record(&self) -> &'p Record<'p> {
        self.record
    }

    /// Returns the decision.
    pub fn decision(&self) -> Result<Decision, RelocError> {
        self.entry.decision
    }

    /// Returns the instruction before relocation, with the patches of earlier records.
    pub fn before(&self) -> Option<Slot> {
        self.entry.before
    }

    /// Returns the instruction after relocation, or `None` if the record is in error.
    pub fn after(&self) -> Option<Slot> {
        match self.entry.decision.ok()? {
            Decision::Patch { slot, .. } | Decision::Poison { slot, .. } => Some(slot),
            Decision::Keep { .. } | Decision::Skip(_) => self.entry.before,
        }
    }

    /// Returns the value in the object. Returns `None` if the record is skipped, or if an error prevents the
    /// calculation.
    pub fn local_value(&self) -> Option<u64> {
        self.entry.local_value
    }

    /// Returns the value in the target.
    ///
    /// Returns `None` if the record is skipped, if an error prevents the calculation, or if no candidate
    /// matches. Without a match, relocations of types and of existence have the value 0.
    pub fn target_value(&self) -> Option<u64> {
        self.entry.target_value
    }

    /// Returns the warning, if there is one.
    pub fn warning(&self) -> Option<Warning> {
        self.entry.warning
    }

    /// Returns the program or subprogram that contains the instruction.
    pub fn function(&self) -> Option<&'p Function<'p>> {
        self.plan.relocs().function(self.record)
    }

    /// Returns the source line of the access, see [`Relocs::source_line`](crate::Relocs::source_line).
    pub fn source_line(&self) -> Option<SourceLine<'p>> {
        self.plan.relocs().source_line(self.record)
    }

    /// Returns the access in the types of the object.
    pub fn local_spec(&self) -> Option<&'p Spec> {
        self.record.spec.as_ref().ok()
    }

    /// Returns the access in the first candidate that matches, and the BTF that contains the candidate.
    pub fn target_spec(&self) -> Option<(&'p TargetBtf<'p>, Spec)> {
        let mut steps = StepBudget::new(limits::RECORD_STEPS);
        let checked = self.match_again(self.entry.matched_candidate?, &mut steps)?;
        match checked.result {
            CandidateResult::Match(spec) => Some((checked.target_btf, spec)),
            _ => None,
        }
    }

    /// Returns the last step of the access in the first candidate that matches, and the BTF that contains the
    /// candidate. The same step ends the [target's access](Self::target_spec), which takes another
    /// comparison.
    pub fn target_step(&self) -> Option<(&'p TargetBtf<'p>, Accessor)> {
        let target_btf = self.target().btf(self.entry.matched_candidate?.btf_index)?;
        Some((target_btf, self.entry.matched_step?))
    }

    /// Returns the first candidate that matches. The plan uses its value.
    pub fn matched_candidate(&self) -> Option<Candidate> {
        self.entry.matched_candidate
    }

    /// Returns the number of candidates of the root type, including those that earlier records eliminated.
    pub fn candidate_count(&self) -> usize {
        let list = self.entry.candidates.and_then(|list| self.plan.lists.get(list).ok());
        list.map_or(0, CandidateList::len)
    }

    /// Returns every candidate of the root type with its verdict, in order.
    ///
    /// The call matches the candidates again, because a plan stores only the first candidate that matches.
    pub fn candidate_results(&self) -> impl Iterator<Item = CheckedCandidate<'p>> {
        let this = *self;
        let steps = || StepBudget::new(limits::RECORD_STEPS);
        this.candidates().filter_map(move |candidate| this.candidate_result(candidate, &mut steps()))
    }

    pub(crate) fn plan(&self) -> &'p Plan<'p> {
        self.plan
    }

    /// Returns every candidate of the root type, in order, with the index of the record that eliminated the
    /// candidate.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = (Candidate, Option<usize>)> + use<'p> {
        let plan = self.plan;
        let list = self.entry.candidates.and_then(move |list| plan.lists.get(list).ok());
        list.into_iter().flat_map(CandidateList::candidates)
    }

    /// Matches a candidate again unless an earlier record eliminated it, and returns the verdict.
    pub(crate) fn candidate_result(
        &self,
        (candidate, eliminated_by): (Candidate, Option<usize>),
        steps: &mut StepBudget,
    ) -> Option<CheckedCandidate<'p>> {
        match eliminated_by.filter(|by_record| *by_record < self.record_index) {
            Some(by_record) => {
                let target_btf = self.target().btf(candidate.btf_index)?;
                Some(CheckedCandidate {
                    candidate,
                    target_btf,
                    result: CandidateResult::Eliminated { by_record },
                })
            }
            None => self.match_again(candidate, steps),
        }
    }

    /// Returns a candidate that matches, although an earlier record eliminated the candidate, and that
    /// record. At most [`limits::LISTED_CANDIDATES`] candidates are matched.
    pub(crate) fn eliminated_match(&self) -> Option<(Candidate, usize)> {
        let mut steps = StepBudget::new(limits::RECORD_STEPS);
        let eliminated = self.candidates().filter_map(|(candidate, by_record)| {
            Some((candidate, by_record.filter(|by_record| *by_record < self.record_index)?))
        });
        let mut eliminated = eliminated.take(limits::LISTED_CANDIDATES);
        eliminated.find(|(candidate, _)| {
            let checked = self.match_again(*candidate, &mut steps);
            checked.is_some_and(|checked| matches!(checked.result, CandidateResult::Match(_)))
        })
    }

    fn match_again(&self, candidate: Candidate, steps: &mut StepBudget) -> Option<CheckedCandidate<'p>> {
        let target_btf = self.target().btf(candidate.btf_index)?;
        let spec = self.local_spec()?;
        let result = match match_candidate(self.btf(), spec, &target_btf.btf, candidate.id, steps) {
            Ok(MatchOutcome::Match(spec)) => CandidateResult::Match(spec),
            Ok(MatchOutcome::Mismatch(mismatch)) => CandidateResult::Mismatch(mismatch),
            Err(error) => CandidateResult::Error(error),
        };
        Some(CheckedCandidate { candidate, target_btf, result })
    }
}

impl fmt::Debug for PlannedReloc<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlannedReloc")
            .field("record_index", &self.record_index)
            .field("entry", self.entry)
            .finish_non_exhaustive()
    }
}
