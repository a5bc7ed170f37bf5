//! CO-RE relocations of a load: the engine's plan over the programs that are loaded.

use super::{LoadPlan, LoadPlanError, Refusal, host::Host, settings::Settings};
use crate::{elf::text, features::Feature, object::Object, target::TypesError};
use core_relo::{
    Plan, Record,
    explain::{Explanation, explain, reason},
    plan::{Decision, Planned, RelocError},
};
use std::collections::HashMap;

/// A CO-RE relocation whose instruction is a trap on this kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Poisoned {
    /// The function, by its place among the object's programs.
    pub function: usize,
    /// The instruction, counted in the function.
    pub insn: u32,
    /// The relocation, by its place among the object's.
    pub record: usize,
    /// Why, in a line.
    pub why: String,
}

/// The code sections with CO-RE relocations made, and the traps among them.
pub(super) fn relocated(
    object: &Object<'_>,
    selected: &[bool],
    settings: &Settings,
    host: &Host,
) -> Result<(Vec<Vec<u8>>, Vec<Poisoned>), LoadPlanError> {
    let places = Places::of(object);
    let planned = with_plan(object, &places, selected, settings, host, |plan| {
        let patched = plan.patched().map_err(|failed| {
            let one = |(n, error): &(usize, RelocError)| {
                Refusal::new(plan.get(*n).map(|p| name(&p)).unwrap_or_default(), error.to_string())
            };
            LoadPlanError::CoreRelo(failed.failed.iter().map(one).collect())
        })?;
        Ok((patched.sections, plan.iter().filter_map(|p| poisoned(&places, &p)).collect()))
    })?;
    match planned {
        Some(done) => done,
        None => Ok((object.code_sections().iter().map(|s| s.code.to_vec()).collect(), Vec::new())),
    }
}

impl LoadPlan {
    /// Explains a relocation that is a trap, by its [record](Poisoned::record). The plan has to have been made of the same
    /// object, settings and host.
    pub fn explain(
        &self,
        object: &Object<'_>,
        settings: &Settings,
        host: &Host,
        record: usize,
    ) -> Option<Explanation> {
        let places = Places::of(object);
        let explained = with_plan(object, &places, &self.selected, settings, host, |plan| {
            plan.get(record).map(|planned| explain(&planned))
        });
        explained.ok()??
    }
}

/// Makes the engine's plan and gives it to `use_it`; none if no relocation takes part.
fn with_plan<T>(
    object: &Object<'_>,
    places: &Places,
    selected: &[bool],
    settings: &Settings,
    host: &Host,
    use_it: impl FnOnce(&Plan<'_>) -> T,
) -> Result<Option<T>, LoadPlanError> {
    if object.ext().is_none_or(|ext| ext.core_relos().next().is_none()) {
        return Ok(None);
    }
    let relocs = object.relocs()?;
    let is_selected = |record: &Record<'_>| {
        places.function(record).and_then(|at| selected.get(at).copied()).unwrap_or(true)
    };
    if !relocs.records().iter().any(is_selected) {
        return Ok(None);
    }
    let types = |cause: TypesError| LoadPlanError::Types { what: "CO-RE relocations", cause };
    let (source, is_own) = match &host.relocation_types {
        Some(other) => (other, false),
        None => (&host.types, true),
    };
    let target = source.target(false).map_err(types)?;
    let plan = Plan::with(&relocs, &target, settings.core_options, is_selected);
    // Modules are read only for what the kernel itself lacks.
    let wants = is_own && plan.wants_modules() && host.features.has(Feature::ModuleBtf);
    if !wants || source.modules().map_err(|e| types(e.into()))?.is_empty() {
        return Ok(Some(use_it(&plan)));
    }
    let target = source.target_for(&plan).map_err(types)?;
    Ok(Some(use_it(&Plan::with(&relocs, &target, settings.core_options, is_selected))))
}

fn poisoned(places: &Places, planned: &Planned<'_>) -> Option<Poisoned> {
    let Ok(Decision::Poison { .. }) = planned.decision() else { return None };
    let record = planned.record();
    let (function, insn) = (places.function(record)?, record.insn?);
    let insn = insn.0.checked_sub(planned.function()?.start.0)?;
    Some(Poisoned { function, insn, record: planned.number(), why: reason(planned) })
}

/// `exec.bpf.c:41 (handle_exec, insn 17)`.
fn name(planned: &Planned<'_>) -> String {
    let function = planned.function().map(|f| text(f.name)).unwrap_or_default();
    let insn = planned.record().insn.map_or(0, |i| i.0);
    match planned.source() {
        Some(line) => format!("{}:{} (`{function}`, insn {insn})", line.file, line.line),
        None => format!("`{function}`, insn {insn}"),
    }
}

/// Records' functions among the object's programs.
struct Places(HashMap<(usize, u32), usize>);

impl Places {
    fn of(object: &Object<'_>) -> Self {
        let sections: HashMap<u32, usize> = object.code_indices().iter().copied().zip(0..).collect();
        let mut found = HashMap::new();
        let mut counts: HashMap<usize, u32> = HashMap::new();
        for (at, p) in object.programs().iter().enumerate() {
            let Some(section) = sections.get(&p.section_index).copied() else { continue };
            let n = counts.entry(section).or_default();
            found.insert((section, *n), at);
            *n = n.saturating_add(1);
        }
        Self(found)
    }

    fn function(&self, record: &Record<'_>) -> Option<usize> {
        let (section, function) = record.place()?;
        self.0.get(&(section, u32::try_from(function).ok()?)).copied()
    }
}
