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
        let tried = self.try_candidate(self.entry.matched?)?;
        match tried.verdict {
            Verdict::Match(spec) => Some((tried.source, spec)),
            _ => None,
        }
    }

    /// A record of the same function that asks whether the thing exists: a guard, if this instruction lies behind it.
    pub fn guard(&self) -> Option<&'p Record<'p>> {
        let spec = self.local_spec()?;
        let asks_for_it = |other: &&Record<'_>| {
            let same_function = (other.code, other.function) == (self.record.code, self.record.function);
            let Ok(asked) = &other.spec else { return false };
            same_function
                && asked.root == spec.root
                && match asked.kind {
                    RelocKind::FieldExists | RelocKind::EnumvalExists => asked.accessors == spec.accessors,
                    RelocKind::TypeExists => {
                        self.entry.candidates.is_none_or(|list| self.plan.lists.is_empty(list))
                    }
                    _ => false,
                }
        };
        self.plan.relocs.records().iter().find(asks_for_it)
    }

    /// Every candidate of the root type, in order, and what became of it.
    pub fn tried(&self) -> impl Iterator<Item = Tried<'p>> {
        let this = *self;
        let list = self.entry.candidates.into_iter();
        list.flat_map(move |list| this.plan.lists.all(list)).filter_map(move |(candidate, put_out_by)| {
            match put_out_by.filter(|by| *by < this.number) {
                Some(by) => {
                    let source = this.plan.target.source(candidate.source)?;
                    Some(Tried { candidate, source, verdict: Verdict::PutOut { by } })
                }
                None => this.try_candidate(candidate),
            }
        })
    }

    fn try_candidate(&self, candidate: Candidate) -> Option<Tried<'p>> {
        let source = self.plan.target.source(candidate.source)?;
        let spec = self.local_spec()?;
        let mut steps = Steps::new(limits::RECORD_STEPS);
        let verdict =
            match match_candidate(self.plan.relocs.btf(), spec, &source.btf, candidate.id, &mut steps) {
                Ok(Matched::Yes(spec)) => Verdict::Match(spec),
                Ok(Matched::No(mismatch)) => Verdict::Mismatch(mismatch),
                Err(error) => Verdict::Error(error),
            };
        Some(Tried { candidate, source, verdict })
    }
}
