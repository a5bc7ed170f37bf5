//! Record by record: match the candidates, demand that they agree, patch.

use super::{
    Decision, Entry, InsnError, Plan, PoisonReason, RelocError, SkipReason, Warning,
    lists::ListId,
    patch,
    shared::{Followed, Found, Known},
};
use crate::{
    btf::Kind,
    ext::RelocKind,
    ids::{BitOffset, InsnIndex, to_usize},
    insn::{Insn, Slot},
    limits,
    relocs::Record,
    resolve::{Ambiguity, Candidate, NO_MEMORY, Resolution, Steps, resolve, resolve_without_target},
    spec::{Spec, SpecError},
};
use alloc::vec::Vec;
use hashbrown::HashMap;

/// What is kept from record to record, so that none has to ask for memory.
struct Scratch<'s> {
    followed: &'s mut Followed,
    /// Places in a list of candidates.
    places: Vec<usize>,
}

/// Decides all records, in order (libbpf: `bpf_object__relocate_core`).
///
/// `known` is what is known of each record, `followed` what is known of this target.
pub(super) fn all(
    plan: &mut Plan<'_>,
    selected: &dyn Fn(&Record<'_>) -> bool,
    (known, followed): (&[Result<Known<'_>, SpecError>], &mut Followed),
) {
    let relocs = plan.relocs;
    let mut code = Overlay { changed: HashMap::new() };
    let mut scratch = Scratch { followed, places: Vec::new() };
    plan.entries.reserve_exact(relocs.records().len());
    for ((number, record), known) in relocs.records().iter().enumerate().zip(known.iter().copied()) {
        let mut entry = Entry {
            decision: Ok(Decision::Skip(SkipReason::NotSelected)),
            before: code.slot(plan, record),
            local_value: None,
            target_value: None,
            candidates: None,
            matched: None,
            warning: None,
        };
        entry.decision = match skip(record, selected) {
            Some(why) => Ok(Decision::Skip(why)),
            None => decide(plan, (number, record, known), &mut entry, &mut scratch),
        };
        if let Ok(Decision::Patch { slot, .. } | Decision::Poison { slot, .. }) = entry.decision {
            code.put(record, slot);
        }
        plan.entries.push(entry);
    }
}

fn skip(record: &Record<'_>, selected: &dyn Fn(&Record<'_>) -> bool) -> Option<SkipReason> {
    // libbpf looks at the offset before it looks for the program.
    record.insn?;
    match (record.code, record.function) {
        (None, _) => Some(SkipReason::NoSection),
        (_, None) => Some(SkipReason::NoFunction),
        _ if !selected(record) => Some(SkipReason::NotSelected),
        _ => None,
    }
}

fn decide(
    plan: &mut Plan<'_>,
    (number, record, known): (usize, &Record<'_>, Result<Known<'_>, SpecError>),
    entry: &mut Entry,
    scratch: &mut Scratch<'_>,
) -> Result<Decision, RelocError> {
    let insn = record.insn.ok_or(RelocError::Misaligned { offset: record.relo.insn_offset.0 })?;
    let known = known?;
    let spec = known.local.spec;
    let list = plan.lists.of_root(spec.root);
    entry.candidates = list;
    let resolution = if spec.kind == RelocKind::TypeIdLocal {
        let id = u64::from(spec.root.0);
        Resolution { local: id, target: Some(id), validate: false, memory: NO_MEMORY }
    } else {
        let list = list.ok_or(RelocError::AnonymousRoot(spec.root))?;
        let allowed = limits::RECORD_STEPS.min(plan.steps_left);
        let mut steps = Steps::new(allowed);
        let matching = matching(plan, list, known, &mut steps, scratch);
        plan.steps_left = plan.steps_left.saturating_sub(allowed.saturating_sub(steps.left()));
        match matching? {
            Some(matching) => {
                entry.matched = Some(matching.first);
                entry.warning = matching.warning;
                plan.lists.narrow(list, &scratch.places, number);
                matching.resolution
            }
            None => resolve_without_target(spec.kind, known.answer.map_err(RelocError::Local)?),
        }
    };
    let resolution = zero_extended(plan, spec, entry.matched, resolution);
    entry.local_value = Some(resolution.local);
    entry.target_value = resolution.target;
    let before = entry.before.ok_or(InsnError::CutOff { insn })?;
    let none = list.is_none_or(|list| plan.lists.is_empty(list));
    let why = if none { PoisonReason::NoCandidates } else { PoisonReason::NoMatch };
    Ok(patch::patch(before, &resolution, why)?)
}

/// What the candidates that match agree upon.
struct Agreement {
    /// The candidate that counts.
    first: Candidate,
    /// Where in it the access ends up.
    bit_offset: BitOffset,
    resolution: Resolution,
    warning: Option<Warning>,
}

/// Tries every candidate left; those that match must agree (libbpf: `bpf_core_calc_relo_insn`). The scratch's places become those in
/// the list of all that match.
fn matching(
    plan: &Plan<'_>,
    list: ListId,
    known: Known<'_>,
    steps: &mut Steps,
    Scratch { followed, places }: &mut Scratch<'_>,
) -> Result<Option<Agreement>, RelocError> {
    places.clear();
    let mut first: Option<Agreement> = None;
    for (place, candidate) in plan.lists.left(list) {
        let Some(source) = plan.target.source(candidate.source) else { continue };
        let found = followed.follow(known, (&source.btf, candidate), steps);
        let found = found.map_err(|error| RelocError::Match { candidate, error })?;
        let Some(Found { bit_offset, answer }) = found else { continue };
        // The local side is at fault if it fails alone.
        let own = known.answer.map_err(RelocError::Local)?;
        let answer = answer.map_err(|error| RelocError::Target { candidate, error })?;
        let resolution = resolve(own, answer);
        match &mut first {
            None => first = Some(Agreement { first: candidate, bit_offset, resolution, warning: None }),
            Some(agreement) => {
                agree(agreement, (candidate, bit_offset, &resolution))?;
                let widths = (agreement.resolution.memory.target, resolution.memory.target);
                if widths.0 != widths.1 && agreement.warning.is_none() {
                    agreement.warning = Some(Warning::WidthsDiffer {
                        first: agreement.first,
                        other: candidate,
                        first_width: widths.0,
                        other_width: widths.1,
                    });
                }
            }
        }
        places.push(place);
    }
    Ok(first)
}

fn agree(
    first: &Agreement,
    (other, bit_offset, resolution): (Candidate, BitOffset, &Resolution),
) -> Result<(), Ambiguity> {
    if first.bit_offset != bit_offset {
        return Err(Ambiguity::Offset {
            first: first.first,
            other,
            first_offset: first.bit_offset,
            other_offset: bit_offset,
        });
    }
    if first.resolution.target != resolution.target {
        return Err(Ambiguity::Value {
            first: first.first,
            other,
            first_value: first.resolution.target.unwrap_or_default(),
            other_value: resolution.target.unwrap_or_default(),
        });
    }
    Ok(())
}

/// Where asked for, an unsigned ENUM's enumerators as C sees them.
fn zero_extended(
    plan: &Plan<'_>,
    spec: &Spec,
    matched: Option<Candidate>,
    resolution: Resolution,
) -> Resolution {
    if !plan.options.zero_extend_unsigned_enums || spec.kind != RelocKind::EnumvalValue {
        return resolution;
    }
    let unsigned =
        |ty: Option<crate::btf::Type<'_>>| ty.is_some_and(|ty| ty.kind() == Kind::Enum && !ty.kflag());
    let narrow = |value: u64, unsigned| if unsigned { value & 0xffff_ffff } else { value };
    let local = unsigned(plan.relocs.btf().strip(spec.root).ok());
    let source = matched.and_then(|c| Some((plan.target.source(c.source)?, c.id)));
    let target = unsigned(source.and_then(|(source, id)| source.btf.strip(id).ok()));
    Resolution {
        local: narrow(resolution.local, local),
        target: resolution.target.map(|value| narrow(value, target)),
        ..resolution
    }
}

/// The code as patched so far: a later record on the same instruction sees what an earlier one made of it.
struct Overlay {
    changed: HashMap<(usize, InsnIndex), Insn>,
}

impl Overlay {
    fn slot(&self, plan: &Plan<'_>, record: &Record<'_>) -> Option<Slot> {
        let (code, insn) = (record.code?, record.insn?);
        let section = plan.relocs.code().get(code)?;
        if self.changed.is_empty() {
            let at = to_usize(record.relo.insn_offset.0);
            return Slot::decode(plan.relocs.endian(), section.code.get(at..)?);
        }
        let original = |insn: InsnIndex| {
            let raw = section.code.get(insn.index().checked_mul(8)?..)?;
            raw.first_chunk().map(|raw| Insn::decode(plan.relocs.endian(), *raw))
        };
        let at = |insn| self.changed.get(&(code, insn)).copied().or_else(|| original(insn));
        let first = at(insn)?;
        if first.is_ld_imm64() {
            Some(Slot::Two(first, at(InsnIndex(insn.0.checked_add(1)?))?))
        } else {
            Some(Slot::One(first))
        }
    }

    fn put(&mut self, record: &Record<'_>, slot: Slot) {
        let (Some(code), Some(insn)) = (record.code, record.insn) else { return };
        self.changed.insert((code, insn), slot.first());
        if let Some(second) = slot.second() {
            self.changed.insert((code, InsnIndex(insn.0.saturating_add(1))), second);
        }
    }
}
