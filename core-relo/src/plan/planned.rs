//! One record's outcome, and all that can be said about it.

use super::{Decision, Entry, Plan, RelocError, Warning};
use crate::{
    btf::Btf,
    ext::RelocKind,
    insn::Slot,
    limits,
    name::Name,
    relocs::{Function, Record, SourceLine},
    resolve::{Candidate, MatchError, Matched, Mismatch, Steps, match_candidate},
    spec::Spec,
    target::{Source, Target},
};

/// A record together with what was decided about it.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'p> {
    plan: &'p Plan<'p>,
    number: usize,
    record: &'p Record<'p>,
    entry: &'p Entry,
}

/// One candidate, and what became of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tried<'p> {
    /// The candidate.
    pub candidate: Candidate,
    /// The BTF it is in.
    pub source: &'p Source<'p>,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It has what is accessed.
    Match(Spec),
    /// It has not.
    Mismatch(Mismatch),
    /// It cannot be decided.
    Error(MatchError),
    /// It did not match an earlier record of the same type, so it is out.
    PutOut {
        /// That record's number among all.
        by: usize,
    },
}

impl<'p> Planned<'p> {
    pub(super) fn new(plan: &'p Plan<'_>, number: usize, record: &'p Record<'_>, entry: &'p Entry) -> Self {
        Self { plan, number, record, entry }
    }

    /// The object's BTF.
    pub fn btf(&self) -> &'p Btf<'p> {
        self.plan.relocs.btf()
    }

    /// The kernel's side.
    pub fn target(&self) -> &'p Target<'p> {
        self.plan.target
    }

    /// Whether the record asks anything of the target at all.
    pub fn asks_target(&self) -> bool {
        self.record.relo.kind != RelocKind::TypeIdLocal
    }

    /// The section of another record of the same object, and its number there.
    pub fn place_of(&self, number: usize) -> Option<(Name<'p>, u32)> {
        let record = self.plan.relocs.records().get(number)?;
        Some((record.section, record.index))
    }

    /// Its number among all records of the object, from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The record.
    pub fn record(&self) -> &'p Record<'p> {
        self.record
    }

    /// What is to be done.
    pub fn decision(&self) -> Result<Decision, RelocError> {
        self.entry.decision
    }

    /// The instruction before, earlier records' patches included.
    pub fn before(&self) -> Option<Slot> {
        self.entry.before
    }

    /// The instruction after; as before if it is kept or skipped, `None` if the record is in error.
    pub fn after(&self) -> Option<Slot> {
        match self.entry.decision.ok()? {
            Decision::Patch { slot, .. } | Decision::Poison { slot, .. } => Some(slot),
            Decision::Keep { .. } | Decision::Skip(_) => self.entry.before,
        }
    }

    /// The value in the object, where it was come to.
    pub fn local_value(&self) -> Option<u64> {
        self.entry.local_value
    }

    /// The value in the target, if there is one.
    pub fn target_value(&self) -> Option<u64> {
        self.entry.target_value
    }

    /// What is worth a look.
    pub fn warning(&self) -> Option<Warning> {
        self.entry.warning
    }

    /// The program or subprogram.
    pub fn function(&self) -> Option<&'p Function<'p>> {
        self.plan.relocs.function(self.record)
    }

    /// The source line.
    pub fn source(&self) -> Option<SourceLine<'p>> {
        self.plan.relocs.source(self.record)
    }

    /// The access in the object's own types.
    pub fn local_spec(&self) -> Option<&'p Spec> {
        self.record.spec.as_ref().ok()
    }

    /// The access in the first candidate that matched, and the BTF that is in.
    pub fn target_spec(&self) -> Option<(&'p Source<'p>, Spec)> {
        let tried = self.try_candidate(self.entry.matched?, &mut Steps::new(limits::RECORD_STEPS))?;
        match tried.verdict {
            Verdict::Match(spec) => Some((tried.source, spec)),
            _ => None,
        }
    }

    /// The candidate that counts, if one matched.
    pub fn matched(&self) -> Option<Candidate> {
        self.entry.matched
    }

    /// How many candidates the root type has, those that earlier records put out included.
    pub fn candidate_count(&self) -> usize {
        self.entry.candidates.map_or(0, |list| self.plan.lists.count(list))
    }

    /// Every candidate of the root type, in order, and what became of it. Each is matched again.
    pub fn tried(&self) -> impl Iterator<Item = Tried<'p>> {
        let this = *self;
        let steps = || Steps::new(limits::RECORD_STEPS);
        this.candidates().filter_map(move |candidate| this.try_again(candidate, &mut steps()))
    }

    pub(crate) fn plan(&self) -> &'p Plan<'p> {
        self.plan
    }

    /// Every candidate of the root type, in order, with the record that put it out.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = (Candidate, Option<usize>)> + use<'p> {
        let plan = self.plan;
        self.entry.candidates.into_iter().flat_map(move |list| plan.lists.all(list))
    }

    /// What became of a candidate, found out again.
    pub(crate) fn try_again(
        &self,
        (candidate, put_out_by): (Candidate, Option<usize>),
        steps: &mut Steps,
    ) -> Option<Tried<'p>> {
        match put_out_by.filter(|by| *by < self.number) {
            Some(by) => {
                let source = self.plan.target.source(candidate.source)?;
                Some(Tried { candidate, source, verdict: Verdict::PutOut { by } })
            }
            None => self.try_candidate(candidate, steps),
        }
    }

    fn try_candidate(&self, candidate: Candidate, steps: &mut Steps) -> Option<Tried<'p>> {
        let source = self.plan.target.source(candidate.source)?;
        let spec = self.local_spec()?;
        let verdict = match match_candidate(self.plan.relocs.btf(), spec, &source.btf, candidate.id, steps) {
            Ok(Matched::Yes(spec)) => Verdict::Match(spec),
            Ok(Matched::No(mismatch)) => Verdict::Mismatch(mismatch),
            Err(error) => Verdict::Error(error),
        };
        Some(Tried { candidate, source, verdict })
    }
}
