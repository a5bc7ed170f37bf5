//! The CO-RE relocations of the programs that are loaded.

use super::{
    error::{LoadPlanError, Refusal},
    late_binding::{LateBinding, LateReloc},
    settings::Settings,
    target_kernel::TargetKernel,
};
use crate::{
    elf::text,
    features::Feature,
    index::{ProgramIndex, SectionIndex},
    internal::{InternalError, Invariant as _},
    link::LinkError,
    object::{Object, Program},
    target::KernelBtfError,
};
use core_relo::{
    Plan, Record,
    explain::{Explanation, explain, reason},
    plan::{Decision, PlannedReloc, RelocError},
};
use hashbrown::{HashMap, HashSet};

/// A CO-RE relocation whose instruction is poisoned on this kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoisonedReloc {
    function: ProgramIndex,
    insn: u32,
    record: usize,
    source: Option<String>,
    reason: String,
}

impl PoisonedReloc {
    /// Returns the function of the instruction.
    pub const fn function(&self) -> ProgramIndex {
        self.function
    }

    /// Returns the index of the instruction in the function.
    pub const fn insn(&self) -> u32 {
        self.insn
    }

    /// Returns the index of the relocation among the object's relocations.
    pub const fn record(&self) -> usize {
        self.record
    }

    /// Returns the source line of the access: `exec.bpf.c:41: return task->gone;`.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// Returns the reason, in one line.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

/// The functions whose relocations belong to the programs being loaded.
pub(super) type SelectedFunctions = HashSet<ProgramIndex>;

/// Returns the relocated code sections and the poisoned relocations. `find_caller` returns the name of a
/// program that reaches one of the functions that it gets.
pub(super) fn relocate_code<'o>(
    object: &'o Object<'_>,
    selected: &SelectedFunctions,
    settings: &Settings,
    kernel: &TargetKernel,
    find_caller: impl Fn(&SelectedFunctions) -> Result<Option<&'o [u8]>, LinkError>,
) -> Result<(Vec<Vec<u8>>, Vec<PoisonedReloc>), LoadPlanError> {
    let unchanged = || object.code_sections().iter().map(|s| s.code.to_vec()).collect();
    if kernel.late_binding == LateBinding::NamesAndRelocations {
        return Ok((unchanged(), Vec::new()));
    }
    let functions = FunctionIndex::new(object);
    let relocated = with_plan(object, &functions, selected, settings, kernel, |plan| {
        let patched = plan.patched().map_err(|error| refusals(plan, &error.failed))?;
        Ok((patched.sections, plan.iter().filter_map(|p| poisoned(&functions, &p)).collect()))
    });
    match relocated {
        Ok(Some(relocated)) => relocated,
        Ok(None) => Ok((unchanged(), Vec::new())),
        // The subprograms with relocations may be those of programs that are not loaded.
        Err(LoadPlanError::Types { what, cause }) if cause.is_absence() => {
            match find_caller(&relocated_functions(object, &functions)?)? {
                Some(program) => Err(LoadPlanError::types_of_program(program, what, cause)),
                None => Ok((unchanged(), Vec::new())),
            }
        }
        Err(error) => Err(error),
    }
}

/// Returns the functions that have relocations.
fn relocated_functions(
    object: &Object<'_>,
    functions: &FunctionIndex,
) -> Result<SelectedFunctions, LoadPlanError> {
    let relocs = object.relocs()?;
    Ok(relocs.records().iter().filter_map(|record| functions.find(record)).collect())
}

/// The relocations of each function that the kernel performs, with instructions relative to the function.
pub(super) type LateRelocs = HashMap<ProgramIndex, Vec<LateReloc>>;

/// Returns the relocations of the selected functions, if the kernel performs them.
pub(super) fn collect_late_relocs(
    object: &Object<'_>,
    selected: &SelectedFunctions,
    kernel: &TargetKernel,
) -> Result<LateRelocs, LoadPlanError> {
    let mut late = LateRelocs::new();
    if kernel.late_binding != LateBinding::NamesAndRelocations
        || object.ext().is_none_or(|ext| ext.core_relos().next().is_none())
    {
        return Ok(late);
    }
    let functions = FunctionIndex::new(object);
    let relocs = object.relocs()?;
    for record in relocs.records() {
        let function = functions.find(record);
        if function.is_some_and(|function| !selected.contains(&function)) {
            continue;
        }
        let start = function.and_then(|function| object.programs().get(function.0)).map(Program::start);
        let insn = record.insn.zip(start).and_then(|(insn, start)| insn.0.checked_sub(start.0));
        let Some((function, insn)) = function.zip(insn) else {
            let place = format!("relocation {} of `{}`", record.index_in_section, record.section);
            let reason = "the record is at no instruction of a function";
            return Err(LoadPlanError::CoreRelo(vec![Refusal::new(place, reason)]));
        };
        let relo = record.relo;
        let words = [relo.root.0, relo.access.0, relo.kind.raw()];
        late.entry(function).or_default().push(LateReloc { insn, words });
    }
    Ok(late)
}

/// Creates the error for relocations that failed.
fn refusals(plan: &Plan<'_>, failed: &[(usize, RelocError)]) -> LoadPlanError {
    let refusal = |(n, error): &(usize, RelocError)| {
        let planned = plan.get(*n).invariant("a failed relocation is in the plan")?;
        Ok(Refusal::for_relocation(location(&planned), *error))
    };
    let refusals: Result<Vec<_>, InternalError> = failed.iter().map(refusal).collect();
    refusals.map_or_else(LoadPlanError::from, LoadPlanError::CoreRelo)
}

/// Explains a relocation by its [record](PoisonedReloc::record).
pub(super) fn explain_record(
    object: &Object<'_>,
    selected: &SelectedFunctions,
    settings: &Settings,
    kernel: &TargetKernel,
    record: usize,
) -> Option<Explanation> {
    let functions = FunctionIndex::new(object);
    let explained = with_plan(object, &functions, selected, settings, kernel, |plan| {
        plan.get(record).map(|planned| explain(&planned))
    });
    explained.ok()??
}

/// Plans the CO-RE relocations and calls `use_plan`. Returns `None` if no function that is loaded has a
/// relocation.
fn with_plan<T>(
    object: &Object<'_>,
    functions: &FunctionIndex,
    selected: &SelectedFunctions,
    settings: &Settings,
    kernel: &TargetKernel,
    use_plan: impl FnOnce(&Plan<'_>) -> T,
) -> Result<Option<T>, LoadPlanError> {
    if object.ext().is_none_or(|ext| ext.core_relos().next().is_none()) {
        return Ok(None);
    }
    let relocs = object.relocs()?;
    // A record outside of all functions is not skipped, so that its error is reported.
    let is_selected =
        |record: &Record<'_>| functions.find(record).is_none_or(|function| selected.contains(&function));
    if !relocs.records().iter().any(is_selected) {
        return Ok(None);
    }
    let no_types = |cause: KernelBtfError| LoadPlanError::Types { what: "CO-RE relocations", cause };
    let (source, is_host_kernel) = match &kernel.relocation_btf {
        Some(other) => (other, false),
        None => (&kernel.btf, true),
    };
    let target = source.target().map_err(no_types)?;
    let plan = Plan::with_options(&relocs, &target, settings.core_options, is_selected);
    // The modules' BTF is read only if the kernel's own BTF lacks a type.
    let needs_modules = is_host_kernel && plan.needs_modules() && kernel.features.has(Feature::ModuleBtf);
    if !needs_modules || source.modules().map_err(|e| no_types(e.into()))?.is_empty() {
        return Ok(Some(use_plan(&plan)));
    }
    let target = source.target_for(&plan).map_err(no_types)?;
    Ok(Some(use_plan(&Plan::with_options(&relocs, &target, settings.core_options, is_selected))))
}

/// Returns the poisoned relocation, if the decision is to poison the instruction.
fn poisoned(functions: &FunctionIndex, planned: &PlannedReloc<'_>) -> Option<PoisonedReloc> {
    let Ok(Decision::Poison { .. }) = planned.decision() else { return None };
    let record = planned.record();
    let (function, insn) = (functions.find(record)?, record.insn?);
    let insn = insn.0.checked_sub(planned.function()?.start.0)?;
    let source = planned.source_line().map(|line| line.to_string());
    Some(PoisonedReloc { function, insn, record: planned.record_index(), source, reason: reason(planned) })
}

/// Returns the location of a relocation as text: ``exec.bpf.c:41 (`handle_exec`, insn 17)``.
fn location(planned: &PlannedReloc<'_>) -> String {
    // A malformed record may be outside of all functions, or not at an instruction.
    let record = planned.record();
    let insn = match (planned.function(), record.insn) {
        (Some(function), Some(insn)) => format!("`{}`, insn {}", text(function.name), insn.0),
        _ => format!("relocation {} of `{}`", record.index_in_section, record.section),
    };
    match planned.source_line() {
        Some(line) if line.is_near => format!("near {}:{} ({insn})", line.file, line.line),
        Some(line) => format!("{}:{} ({insn})", line.file, line.line),
        None => insn,
    }
}

/// The object's functions by code section, in the order of the section.
pub(super) struct FunctionIndex(Vec<Vec<ProgramIndex>>);

impl FunctionIndex {
    pub(super) fn new(object: &Object<'_>) -> Self {
        let positions: HashMap<SectionIndex, usize> =
            object.code_indices().iter().copied().zip(0..).collect();
        let mut sections = vec![Vec::new(); positions.len()];
        for (index, program) in ProgramIndex::enumerate(object.programs()) {
            let position = positions.get(&program.section_index);
            if let Some(functions) = position.and_then(|position| sections.get_mut(*position)) {
                functions.push(index);
            }
        }
        Self(sections)
    }

    /// Returns the function of a record.
    pub(super) fn find(&self, record: &Record<'_>) -> Option<ProgramIndex> {
        let (section, function) = record.function_position()?;
        self.0.get(section)?.get(function).copied()
    }
}
