//! A program's instructions on one kernel, for the analysis of reachability.

use super::{answers::KernelAnswers, data::FrozenData, externs::ExternAnswers};
use crate::{
    judge::model::{Reason, ReasonKind, Verdict},
    linked_code::{function_addresses, usize_of},
    reach::{Function, ITERATOR_NEXT, LoadedValue},
    requirements::{ObjectNeeds, ProgramNeeds},
};
use core_relo::{
    insn::{Insn, Slot, pseudo},
    plan::Decision,
};
use core_relo_object::{
    ExternIndex, MapIndex,
    link::{ExternBinding, LinkedProgram, MapSource, RefTarget},
    load_plan::PlanByLoad,
    object::{Map, MapType},
};

/// The kernel functions that end the program: a thrown exception, and the trap that a compiler puts into
/// unreachable code.
const ENDING_KFUNCS: [&[u8]; 2] = [b"bpf_throw", b"__bpf_trap"];

/// Returns the instructions of a program that relocations write, with their indices. Without poison, the
/// instructions of relocations that do not resolve stay as the compiler wrote them.
pub(super) fn relocated_insns(
    needs: &ProgramNeeds,
    plan: &PlanByLoad<'_, '_>,
    with_poison: bool,
) -> Vec<(u32, Slot)> {
    let written = needs.records.iter().filter_map(|(insn, record)| {
        let planned = plan.get(needs.index, *record)?;
        let is_poisoned = matches!(planned.decision(), Ok(Decision::Poison { .. }));
        let after = planned.after().filter(|_| with_poison || !is_poisoned)?;
        Some((*insn, after))
    });
    written.collect()
}

/// Returns the instructions of a program after relocation. Calls of externs are calls of kernel functions.
/// Their immediates only tell which of them continue iterators.
pub(super) fn insns(
    object: &ObjectNeeds<'_, '_>,
    code: &LinkedProgram,
    relocated: &[(u32, Slot)],
) -> Vec<Insn> {
    let mut insns = code.insns.clone();
    for (insn, target) in &code.refs {
        let RefTarget::Extern(callee) = target else { continue };
        if let Some(call) = insns.get_mut(usize_of(*insn)).filter(|insn| !insn.is_ld_imm64()) {
            let name = object.linker.externs().get(callee.0).map(|callee| callee.name);
            let ends = name.is_some_and(|name| ENDING_KFUNCS.contains(&name));
            let imm = if name.is_some_and(takes_next_element) { ITERATOR_NEXT } else { 0 };
            // No path continues after a poisoned instruction.
            *call = if ends { Insn::POISON } else { Insn { src: pseudo::KFUNC_CALL, imm, ..*call } };
        }
    }
    for (insn, after) in relocated {
        let at = usize_of(*insn);
        if let Some(first) = insns.get_mut(at) {
            *first = after.first();
        }
        if let (Slot::Two(_, second), Some(place)) =
            (*after, at.checked_add(1).and_then(|at| insns.get_mut(at)))
        {
            *place = second;
        }
    }
    insns
}

/// Returns the reason of a program whose relocations depend on a load that is not decided. Nothing is known
/// about its instructions.
pub(super) fn undecided_load(plan: &PlanByLoad<'_, '_>, program: &ProgramNeeds) -> Option<Reason> {
    let is_dependent = |(_, record): &(u32, usize)| plan.plan().is_selection_dependent(*record);
    let is_undecided = plan.is_undecided(program.index) && program.records.iter().any(is_dependent);
    let text =
        "the relocations of the program are not known: the loads of the object's programs have too many";
    is_undecided.then(|| Reason::new(ReasonKind::Budget, Verdict::Unknown, text))
}

/// Returns whether a kernel function takes the next element of an iterator. The kernel demands the form of
/// these names.
fn takes_next_element(kfunc: &[u8]) -> bool {
    kfunc.starts_with(b"bpf_iter_") && kfunc.ends_with(b"_next")
}

/// Returns, for each reference of a program to an extern, whether the extern has an address.
pub(super) fn resolved_externs(
    code: &LinkedProgram,
    externs: &ExternAnswers<'_>,
    answers: &KernelAnswers<'_, '_>,
) -> Vec<Option<bool>> {
    let resolved = code.refs.iter().filter_map(|(_, target)| match target {
        RefTarget::Extern(index) => Some(externs.is_resolved(*index, answers)),
        _ => None,
    });
    resolved.collect()
}

/// Returns the functions of a program.
pub(super) fn functions(
    object: &ObjectNeeds<'_, '_>,
    code: &LinkedProgram,
    are_static: bool,
) -> Vec<Function> {
    let functions = code.functions.iter().map(|copy| Function {
        start: copy.start,
        is_global: !are_static && object.linker.is_global(code, *copy),
    });
    functions.collect()
}

/// Returns the values of the 64-bit loads that refer to maps, data, externs and functions.
pub(super) fn loads<'f>(
    object: &ObjectNeeds<'_, '_>,
    code: &LinkedProgram,
    frozen: &'f FrozenData<'_>,
    externs: &ExternAnswers<'_>,
    answers: &KernelAnswers<'_, '_>,
) -> Vec<(u32, LoadedValue<'f>)> {
    let value = |insn: u32, target: &RefTarget| {
        let first = code.insns.get(usize_of(insn)).filter(|first| first.is_ld_imm64())?;
        Some(match target {
            RefTarget::Data { map, offset } => match frozen.map_data(*map) {
                Some((data, unknown)) => {
                    let offset = offset.wrapping_add_signed(first.imm.into());
                    let is_config = object.linker.kconfig_map() == Some(*map);
                    LoadedValue::Frozen { data, offset, unknown, is_config }
                }
                None => LoadedValue::Pointer,
            },
            RefTarget::Map(map) => LoadedValue::Map { is_array: may_be_array(object, *map) },
            RefTarget::Extern(index) => extern_value(object, *index, frozen, externs, answers),
            // The linker has resolved references to functions.
            RefTarget::Function { .. } => return None,
            _ => LoadedValue::Pointer,
        })
    };
    let functions = function_addresses(code).map(|(insn, start)| (insn, LoadedValue::Function(start)));
    let mut loads: Vec<_> = functions.collect();
    loads.extend(code.refs.iter().filter_map(|(insn, target)| Some((*insn, value(*insn, target)?))));
    loads.sort_by_key(|(insn, _)| *insn);
    loads
}

/// Returns whether a map may be an array, in which lookups of constant keys find a value.
fn may_be_array(object: &ObjectNeeds<'_, '_>, map: MapIndex) -> bool {
    let source = object.linker.maps().get(map.0).map(|entry| entry.source);
    let Some(MapSource::Defined(Map { def: Ok(def), .. })) = source else { return true };
    let arrays = [MapType::Array, MapType::PercpuArray];
    arrays.into_iter().any(|array| array.number() == def.map_type)
}

/// Returns the value of a 64-bit load of an extern.
fn extern_value<'f>(
    object: &ObjectNeeds<'_, '_>,
    index: ExternIndex,
    frozen: &'f FrozenData<'_>,
    externs: &ExternAnswers<'_>,
    answers: &KernelAnswers<'_, '_>,
) -> LoadedValue<'f> {
    let Some(entry) = object.linker.externs().get(index.0) else { return LoadedValue::Unknown };
    if let ExternBinding::Config(slot) = entry.binding {
        let data = object.linker.kconfig_map().and_then(|map| frozen.map_data(map));
        return data.map_or(LoadedValue::Unknown, |(data, unknown)| LoadedValue::Frozen {
            data,
            offset: slot.offset.into(),
            unknown,
            is_config: true,
        });
    }
    match externs.is_resolved(index, answers) {
        Some(true) if matches!(entry.binding, ExternBinding::Function(_)) => LoadedValue::KernelFunction,
        Some(true) => LoadedValue::Pointer,
        Some(false) => LoadedValue::Constant(0),
        None => LoadedValue::Unknown,
    }
}
