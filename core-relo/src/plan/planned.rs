//! One record of a plan with its outcome.

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
    name::Name,
    relocs::{Function, Record, SourceLine},
    resolve::{Candidate, MatchError, MatchOutcome, Mismatch, StepBudget, match_candidate},
    spec::Spec,
    target::{Source, Target},
};
use core::fmt;

/// A record of a plan with its outcome.
#[derive(Clone, Copy)]
pub struct PlannedReloc<'p> {
    plan: &'p Plan<'p>,
    number: usize,
    record: &'p Record<'p>,
    entry: &'p PlanEntry,
}

/// A candidate of a record with its verdict.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CandidateResult<'p> {
    /// The candidate.
    pub candidate: Candidate,
    /// The BTF that contains the candidate.
    pub source: &'p Source<'p>,
    /// The verdict.
    pub verdict: Verdict,
}

/// The verdict on a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The candidate matches; the spec is the access in the candidate.
    Match(Spec),
    /// The candidate does not match.
    Mismatch(Mismatch),
    /// The comparison failed.
    Error(MatchError),
    /// An earlier record of the same root type eliminated the candidate, which does not match that record.
    Eliminated {
        /// The number of the earlier record among all.
        by_record: usize,
    },
}

impl Plan<'_> {
    /// Returns the records with their outcomes, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = PlannedReloc<'_>> {
        let records = self.relocs().records().iter().zip(self.entries()).enumerate();
        records.map(|(number, (record, entry))| PlannedReloc { plan: self, number, record, entry })
    }

    /// Returns a record with its outcome, by the record's number among all.
    pub fn get(&self, number: usize) -> Option<PlannedReloc<'_>> {
        let record = self.relocs().records().get(number)?;
        Some(PlannedReloc { plan: self, number, record, entry: self.entries().get(number)? })
    }
}

impl<'p> PlannedReloc<'p> {
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

    /// Returns the section of another record of the same object, and the index of that record in its section.
    pub fn section_and_index(&self, number: usize) -> Option<(Name<'p>, u32)> {
        let record = self.plan.relocs().records().get(number)?;
        Some((record.section, record.index))
    }

    /// Returns the record's number among all records of the object, from 0.
    pub fn number(&self) -> usize {
        self.number
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

    /// Returns the value in the object, if it was computed.
    pub fn local_value(&self) -> Option<u64> {
        self.entry.local_value
    }

    /// Returns the value in the target, if there is one.
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

    /// Returns the source line of the instruction.
    pub fn source(&self) -> Option<SourceLine<'p>> {
        self.plan.relocs().source(self.record)
    }

    /// Returns the access in the object's own types.
    pub fn local_spec(&self) -> Option<&'p Spec> {
        self.record.spec.as_ref().ok()
    }

    /// Returns the access in the first candidate that matches, and the BTF that contains the candidate.
    pub fn target_spec(&self) -> Option<(&'p Source<'p>, Spec)> {
        let mut steps = StepBudget::new(limits::RECORD_STEPS);
        let result = self.match_again(self.entry.matched?, &mut steps)?;
        match result.verdict {
            Verdict::Match(spec) => Some((result.source, spec)),
            _ => None,
        }
    }

    /// Returns the first candidate that matches. The plan uses its value.
    pub fn matched(&self) -> Option<Candidate> {
        self.entry.matched
    }

    /// Returns the number of candidates of the root type, those that earlier records eliminated included.
    pub fn candidate_count(&self) -> usize {
        let list = self.entry.candidates.and_then(|list| self.plan.lists.get(list).ok());
        list.map_or(0, CandidateList::len)
    }

    /// Returns every candidate of the root type with its verdict, in order. Each is matched again.
    pub fn candidate_results(&self) -> impl Iterator<Item = CandidateResult<'p>> {
        let this = *self;
        let steps = || StepBudget::new(limits::RECORD_STEPS);
        this.candidates().filter_map(move |candidate| this.candidate_result(candidate, &mut steps()))
    }

    pub(crate) fn plan(&self) -> &'p Plan<'p> {
        self.plan
    }

    /// Returns every candidate of the root type, in order, with the record that eliminated it.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = (Candidate, Option<usize>)> + use<'p> {
        let plan = self.plan;
        let list = self.entry.candidates.and_then(move |list| plan.lists.get(list).ok());
        list.into_iter().flat_map(CandidateList::candidates)
    }

    /// Returns the verdict on a candidate, which is matched again.
    pub(crate) fn candidate_result(
        &self,
        (candidate, eliminated_by): (Candidate, Option<usize>),
        steps: &mut StepBudget,
    ) -> Option<CandidateResult<'p>> {
        match eliminated_by.filter(|by_record| *by_record < self.number) {
            Some(by_record) => {
                let source = self.target().source(candidate.source)?;
                Some(CandidateResult { candidate, source, verdict: Verdict::Eliminated { by_record } })
            }
            None => self.match_again(candidate, steps),
        }
    }

    fn match_again(&self, candidate: Candidate, steps: &mut StepBudget) -> Option<CandidateResult<'p>> {
        let source = self.target().source(candidate.source)?;
        let spec = self.local_spec()?;
        let verdict = match match_candidate(self.btf(), spec, &source.btf, candidate.id, steps) {
            Ok(MatchOutcome::Match(spec)) => Verdict::Match(spec),
            Ok(MatchOutcome::Mismatch(mismatch)) => Verdict::Mismatch(mismatch),
            Err(error) => Verdict::Error(error),
        };
        Some(CandidateResult { candidate, source, verdict })
    }
}

impl fmt::Debug for PlannedReloc<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlannedReloc")
            .field("number", &self.number)
            .field("entry", self.entry)
            .finish_non_exhaustive()
    }
}
