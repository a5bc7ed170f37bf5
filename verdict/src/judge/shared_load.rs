//! Programs that are loaded together: those of struct_ops maps, and those that program arrays hold.

use super::{
    answers::KernelAnswers,
    held_programs::HeldPrograms,
    map_owner::{misfit_programs, misfit_reason},
    model::{ProgramVerdict, Reason, ReasonKind, Verdict},
    reasons::{distinct, limit_reasons},
};
use crate::requirements::{ObjectNeeds, OwnedMap, ProgramNeeds};
use core_relo_object::object::ProgramType;
use hashbrown::{HashMap, HashSet};

/// Adds the reasons of struct_ops programs. A load of any program creates the struct_ops maps, and loads all
/// of their programs (libbpf: `bpf_object_adjust_struct_ops_autoload`). In a load with known settings, these
/// programs are part of the load, and each program keeps its own reasons, so that another can be chosen for
/// the one that is refused.
pub(super) fn add_struct_ops_reasons(needs: &ObjectNeeds<'_, '_>, programs: &mut [ProgramVerdict]) {
    for (program, judged) in needs.programs.iter().zip(programs.iter_mut()) {
        add(judged, own_struct_ops_reason(needs, program));
    }
    if needs.is_load {
        return;
    }
    let created: Vec<_> = needs.programs.iter().map(|p| is_in_created_map(needs, p) == Some(true)).collect();
    let mut shared = Vec::new();
    for (judged, _) in programs.iter().zip(&created).filter(|(_, is_created)| **is_created) {
        shared.extend(judged.reasons.iter().cloned().map(|reason| {
            let text = format!("program {}: {}", judged.name, reason.text);
            (reason.text.clone(), Reason { text, ..reason })
        }));
    }
    // The same reason of several programs is one, that of the first program.
    let mut known = HashSet::new();
    shared.retain(|(text, _)| known.insert(text.clone()));
    let mut reasons: Vec<_> = shared.iter().map(|(_, reason)| reason.clone()).collect();
    reasons = distinct(reasons);
    limit_reasons(&mut reasons, needs.programs.len());
    let texts: HashMap<_, _> = shared.iter().map(|(text, reason)| (&*reason.text, &**text)).collect();
    for judged in programs {
        let own: HashSet<_> = judged.reasons.iter().map(|reason| reason.text.clone()).collect();
        let is_other = |reason: &&Reason| texts.get(&*reason.text).is_none_or(|text| !own.contains(*text));
        let others: Vec<_> = reasons.iter().filter(is_other).cloned().collect();
        add(judged, others);
    }
}

/// Returns whether a load includes a program: by default or by its settings, or with its struct_ops map.
pub(super) fn is_in_load(needs: &ObjectNeeds<'_, '_>, program: &ProgramNeeds) -> bool {
    program.autoload || needs.is_load && is_in_created_map(needs, program) == Some(true)
}

/// Returns whether the struct_ops map of a program is created. Returns `None` for a program that no map has.
fn is_in_created_map(needs: &ObjectNeeds<'_, '_>, program: &ProgramNeeds) -> Option<bool> {
    let found = needs.struct_ops_programs.binary_search_by_key(&program.index, |known| known.program).ok()?;
    Some(needs.struct_ops_programs.get(found)?.is_created)
}

/// Returns the reason why a struct_ops program does not load, if no map that is created has the program.
fn own_struct_ops_reason(needs: &ObjectNeeds<'_, '_>, program: &ProgramNeeds) -> Option<Reason> {
    let def = program.sec_def?;
    let (verdict, fix) = match is_in_created_map(needs, program) {
        _ if def.program_type != ProgramType::StructOps => return None,
        Some(true) => return None,
        Some(false) => {
            (Verdict::NeedsInput, Some("bpf_map__set_autocreate() for the program's struct_ops map"))
        }
        None => (Verdict::Refused, None),
    };
    let reason = Reason::from_object(verdict, "no struct_ops map that is created has the program".to_owned());
    Some(Reason { kind: ReasonKind::StructOps, fix: fix.map(str::to_owned), ..reason })
}

/// Returns the reasons why the programs of a load cannot share maps: for each map the first program that does
/// not fit.
pub(super) fn map_reasons(
    needs: &ObjectNeeds<'_, '_>,
    answers: &KernelAnswers<'_, '_>,
    is_loaded: impl Fn(&ProgramNeeds) -> bool,
) -> Vec<Reason> {
    let mut known = HashSet::new();
    let misfits = misfit_programs(needs, answers, is_loaded).into_iter();
    // The load ends at the first. One that may fit does not hide one that does not.
    let misfits = misfits.filter(|misfit| known.insert((misfit.map, misfit.reason.verdict)));
    misfits.map(|misfit| misfit.reason).collect()
}

/// Adds the reasons of shared maps to the verdicts on programs: each is loaded with the programs that its
/// arrays hold, except for those of a load with known settings.
pub(super) fn add_map_reasons(
    needs: &ObjectNeeds<'_, '_>,
    answers: &KernelAnswers<'_, '_>,
    programs: &mut [ProgramVerdict],
    is_loaded: impl Fn(&ProgramNeeds) -> bool,
) {
    if needs.is_load {
        // Another program can be chosen for the one that does not fit.
        for misfit in misfit_programs(needs, answers, &is_loaded) {
            let position = needs.programs.binary_search_by_key(&misfit.program, |program| program.index);
            let judged = position.ok().and_then(|position| programs.get_mut(position));
            if let Some(judged) = judged {
                add(judged, [misfit.reason.clone()]);
            }
        }
    }
    add_struct_ops_map_reasons(needs, answers, programs);
    let mut held = HeldPrograms::new(needs);
    if held.is_empty() {
        return;
    }
    let own = needs.programs.iter().zip(&*programs);
    let own: HashMap<_, _> = own.map(|(program, judged)| (program.index, judged.reasons.clone())).collect();
    let alone = needs.programs.iter().zip(programs);
    for (program, judged) in alone.filter(|(program, _)| !(needs.is_load && is_loaded(program))) {
        add(judged, held.reasons_beside(answers, program, &own));
    }
}

/// Adds the reasons why programs cannot share maps with struct_ops programs, which a load of any program
/// loads, too.
fn add_struct_ops_map_reasons(
    needs: &ObjectNeeds<'_, '_>,
    answers: &KernelAnswers<'_, '_>,
    programs: &mut [ProgramVerdict],
) {
    let is_created = |program: &ProgramNeeds| is_in_created_map(needs, program) == Some(true);
    if needs.is_load || needs.owned_maps.maps.is_empty() || !needs.programs.iter().any(is_created) {
        return;
    }
    let shared = map_reasons(needs, answers, is_created);
    let first_created = |map: &OwnedMap| {
        let mut users = map.users.iter().copied();
        users.find(|user| needs.program(*user).is_some_and(is_created))
    };
    let created: HashMap<_, _> =
        needs.owned_maps.maps.iter().filter_map(|map| Some((map.index, first_created(map)?))).collect();
    for (program, judged) in needs.programs.iter().zip(programs) {
        add(judged, shared.iter().cloned());
        for map in needs.owned_maps.maps_of(program.index).filter(|_| !is_created(program)) {
            let created = created.get(&map.index);
            add(judged, created.and_then(|other| misfit_reason(needs, answers, map, program.index, *other)));
        }
    }
}

/// Adds reasons to a verdict.
fn add(judged: &mut ProgramVerdict, reasons: impl IntoIterator<Item = Reason>) {
    let count = judged.reasons.len();
    judged.reasons.extend(reasons);
    if judged.reasons.len() != count {
        judged.reasons = distinct(core::mem::take(&mut judged.reasons));
        judged.verdict = judged.reasons.first().map_or(Verdict::Loads, |worst| worst.verdict);
    }
}
