//! The decision about each record. The candidates are matched, the matches must agree, and the instruction is
//! patched.

use super::{
    candidate_lists::ListId,
    code_overlay::CodeOverlay,
    decision::{Decision, PoisonReason, SkipReason, Warning},
    entries::{Plan, PlanEntry},
    error::{InsnError, RelocError},
    local_access::LocalAccess,
    match_cache::{Match, MatchCache},
    patch,
};
use crate::{
    BitOffset, TypeId,
    btf::{Kind, Type},
    ext::RelocKind,
    limits,
    relocs::Record,
    resolve::{AccessValue, Ambiguity, BrokenInvariant, Candidate, Resolution, StepBudget},
    spec::{AccessStringError, Accessor},
};
use alloc::vec::Vec;
use hashbrown::{HashMap, HashSet};

/// Decides all records, in order (libbpf: `bpf_object__relocate_core`).
///
/// `accesses` has the local access of each record, `cache` the matches on this target so far.
pub(super) fn decide_records(
    plan: &mut Plan<'_>,
    is_selected: &dyn Fn(&Record<'_>) -> bool,
    accesses: &[Result<LocalAccess<'_>, AccessStringError>],
    cache: &mut MatchCache,
) {
    let records = plan.relocs().records();
    let mut code = CodeOverlay::default();
    let mut decider = Decider::new(plan, cache);
    decider.plan.entries.reserve_exact(records.len());
    for ((record_index, record), access) in records.iter().enumerate().zip(accesses) {
        let entry = decider.decide_entry((record_index, record), access, is_selected, &mut code);
        decider.plan.entries.push(entry);
    }
}

/// Decides records of a plan again, in several loads. Each load has the indices of its records, in order.
///
/// The plan's own entry of a record is that of the first load that has the record.
pub(super) fn decide_loads(
    plan: &mut Plan<'_>,
    loads: &[Vec<usize>],
    accesses: &HashMap<usize, Result<LocalAccess<'_>, AccessStringError>>,
) {
    let (records, mut cache) = (plan.relocs().records(), MatchCache::default());
    let mut decided = HashSet::new();
    let mut decider = Decider::new(plan, &mut cache);
    for (load, selected) in loads.iter().enumerate() {
        let mut code = CodeOverlay::default();
        decider.copies = Some(HashMap::new());
        for index in selected {
            let (Some(record), Some(access)) = (records.get(*index), accesses.get(index)) else { continue };
            let entry = decider.decide_entry((*index, record), access, &|_| true, &mut code);
            if !decided.insert(*index) {
                decider.plan.other_loads.insert((load, *index), entry);
            } else if let Some(own) = decider.plan.entries.get_mut(*index) {
                *own = entry;
            }
        }
    }
}

fn skip_reason(record: &Record<'_>, is_selected: &dyn Fn(&Record<'_>) -> bool) -> Option<SkipReason> {
    // libbpf checks the offset before it looks for the program.
    record.insn?;
    match (record.section_index, record.function_index) {
        (None, _) => Some(SkipReason::NoSection),
        (_, None) => Some(SkipReason::NoFunction),
        _ if !is_selected(record) => Some(SkipReason::NotSelected),
        _ => None,
    }
}

/// The state that the records of a plan share.
struct Decider<'d, 'p> {
    plan: &'d mut Plan<'p>,
    cache: &'d mut MatchCache,
    steps: StepBudget,
    /// The positions of the matching candidates in their list. Its memory is reused for each record.
    matching: Vec<usize>,
    /// The copy of each candidate list that the current load narrows. `None` if the plan has one load, which
    /// narrows the lists.
    copies: Option<HashMap<ListId, ListId>>,
}

/// The result of several candidates that match and agree.
struct Agreement {
    /// The first candidate, whose values the plan uses.
    first: Candidate,
    bit_offset: BitOffset,
    last_step: Option<Accessor>,
    value: AccessValue,
    warning: Option<Warning>,
}

impl<'d, 'p> Decider<'d, 'p> {
    fn new(plan: &'d mut Plan<'p>, cache: &'d mut MatchCache) -> Self {
        Self { plan, cache, steps: StepBudget::new(limits::PLAN_STEPS), matching: Vec::new(), copies: None }
    }
}

impl Decider<'_, '_> {
    /// Decides a record, and adds its patch to the code.
    fn decide_entry(
        &mut self,
        (record_index, record): (usize, &Record<'_>),
        access: &Result<LocalAccess<'_>, AccessStringError>,
        is_selected: &dyn Fn(&Record<'_>) -> bool,
        code: &mut CodeOverlay,
    ) -> PlanEntry {
        let mut entry = PlanEntry {
            decision: Ok(Decision::Skip(SkipReason::NotSelected)),
            before: code.slot(self.plan, record),
            local_value: None,
            target_value: None,
            candidates: None,
            matched_candidate: None,
            matched_step: None,
            warning: None,
        };
        entry.decision = match skip_reason(record, is_selected) {
            Some(reason) => Ok(Decision::Skip(reason)),
            None => self.decide_record(record_index, record, access, &mut entry),
        };
        if let Ok(Decision::Patch { slot, .. } | Decision::Poison { slot, .. }) = entry.decision {
            code.patch(record, slot);
        }
        entry
    }

    /// Returns the candidates of a root type in the current load.
    fn find_candidates(&mut self, root: TypeId) -> Option<ListId> {
        let list = self.plan.lists.find(root)?;
        let Some(copies) = &mut self.copies else { return Some(list) };
        if let Some(copy) = copies.get(&list) {
            return Some(*copy);
        }
        let copy = self.plan.lists.add_whole_copy(list)?;
        copies.insert(list, copy);
        Some(copy)
    }

    fn decide_record(
        &mut self,
        record_index: usize,
        record: &Record<'_>,
        access: &Result<LocalAccess<'_>, AccessStringError>,
        entry: &mut PlanEntry,
    ) -> Result<Decision, RelocError> {
        let insn = record.insn.ok_or(RelocError::Misaligned { offset: record.relo.insn_offset.0 })?;
        let access = access.as_ref().map_err(|error| *error)?;
        let root = access.spec.root;
        entry.candidates = self.find_candidates(root);
        let resolution = if access.spec.kind == RelocKind::TypeIdLocal {
            Resolution::local_type_id(root)
        } else {
            let list = entry.candidates.ok_or(RelocError::AnonymousRoot(root))?;
            self.resolve(record_index, access, list, entry)?
        };
        let resolution = self.zero_extend_enums(access, entry.matched_candidate, resolution);
        entry.local_value = Some(resolution.local);
        entry.target_value = resolution.target;
        let before = entry.before.ok_or(InsnError::CutOff { insn })?;
        let has_candidates = match entry.candidates {
            Some(list) => self.plan.lists.get(list)?.len() > 0,
            None => false,
        };
        let why = if has_candidates { PoisonReason::NoMatch } else { PoisonReason::NoCandidates };
        Ok(patch::patch(before, &resolution, why)?)
    }

    /// Computes the value in the target, and eliminates the candidates that do not match if any matches.
    fn resolve(
        &mut self,
        record_index: usize,
        access: &LocalAccess<'_>,
        list: ListId,
        entry: &mut PlanEntry,
    ) -> Result<Resolution, RelocError> {
        let mut steps = self.steps.split_off(limits::RECORD_STEPS);
        let agreement = self.match_candidates(access, list, &mut steps);
        self.steps.merge(steps);
        let agreement = agreement?;
        let local = access.value.map_err(RelocError::Local)?;
        let Some(agreement) = agreement else {
            return Ok(Resolution::without_match(access.spec.kind, local));
        };
        entry.matched_candidate = Some(agreement.first);
        entry.matched_step = agreement.last_step;
        entry.warning = agreement.warning;
        self.plan.lists.get_mut(list)?.narrow(&self.matching, record_index);
        Ok(Resolution::with_match(local, agreement.value))
    }

    /// Matches every remaining candidate. Those that match must agree (libbpf: `bpf_core_calc_relo_insn`).
    fn match_candidates(
        &mut self,
        access: &LocalAccess<'_>,
        list: ListId,
        steps: &mut StepBudget,
    ) -> Result<Option<Agreement>, RelocError> {
        self.matching.clear();
        let mut agreement: Option<Agreement> = None;
        for (position, candidate) in self.plan.lists.get(list)?.remaining() {
            let target_btf = self.plan.target().btf(candidate.btf_index);
            let btf = &target_btf.ok_or(BrokenInvariant::CandidateSource)?.btf;
            let found = self.cache.find_match(access, (btf, candidate), steps);
            let found = found.map_err(|error| RelocError::Match { candidate, error })?;
            let Some(Match { bit_offset, last_step, value }) = found else { continue };
            // An error of the local value takes precedence, because the object is at fault.
            access.value.map_err(RelocError::Local)?;
            let value = value.map_err(|error| RelocError::Target { candidate, error })?;
            match &mut agreement {
                None => {
                    let first = candidate;
                    agreement = Some(Agreement { first, bit_offset, last_step, value, warning: None });
                }
                Some(agreement) => agreement.add(candidate, bit_offset, value)?,
            }
            self.matching.push(position);
        }
        Ok(agreement)
    }

    /// Zero-extends the values of an unsigned ENUM's enumerators, if the options say so.
    fn zero_extend_enums(
        &self,
        access: &LocalAccess<'_>,
        matched_candidate: Option<Candidate>,
        resolution: Resolution,
    ) -> Resolution {
        if !self.plan.options().zero_extend_unsigned_enums || access.spec.kind != RelocKind::EnumvalValue {
            return resolution;
        }
        let is_unsigned = |ty: Type<'_>| ty.kind() == Kind::Enum && !ty.kflag();
        let zero_extend = |value: u64, is_unsigned| if is_unsigned { value & 0xffff_ffff } else { value };
        let is_local_unsigned = access.btf.strip(access.spec.root).is_ok_and(is_unsigned);
        let is_target_unsigned = matched_candidate.is_some_and(|Candidate { btf_index, id }| {
            let target_btf = self.plan.target().btf(btf_index);
            target_btf.is_some_and(|target_btf| target_btf.btf.strip(id).is_ok_and(is_unsigned))
        });
        Resolution {
            local: zero_extend(resolution.local, is_local_unsigned),
            target: resolution.target.map(|value| zero_extend(value, is_target_unsigned)),
            ..resolution
        }
    }
}

impl Agreement {
    /// Adds another match, which must have the same offset and value.
    fn add(&mut self, other: Candidate, bit_offset: BitOffset, value: AccessValue) -> Result<(), Ambiguity> {
        let first = self.first;
        if self.bit_offset != bit_offset {
            let (first_offset, other_offset) = (self.bit_offset, bit_offset);
            return Err(Ambiguity::Offset { first, other, first_offset, other_offset });
        }
        let (first_value, other_value) = (self.value.value(), value.value());
        if first_value != other_value {
            return Err(Ambiguity::Value { first, other, first_value, other_value });
        }
        let (first_width, other_width) = (self.value.width(), value.width());
        if first_width != other_width && self.warning.is_none() {
            self.warning = Some(Warning::WidthsDiffer { first, other, first_width, other_width });
        }
        Ok(())
    }
}
