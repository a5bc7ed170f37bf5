//! The verdict on an object.

use super::{
    answers::KernelAnswers,
    attachments,
    btf::BtfRefusal,
    btf_parts::RefusedTypes,
    data::FrozenData,
    error::JudgeError,
    externs::ExternAnswers,
    held_programs::HeldPrograms,
    loader_rules, maps,
    model::{ObjectVerdict, ProgramVerdict, Reason, ReasonKind, Verdict},
    object_context::ObjectContext,
    reasons::{NAME_FIX, distinct, limit_reasons},
    shared_load, struct_ops,
};
use crate::{
    kernel::{Evidence, EvidenceSource, StructOpsName},
    loaders::LoaderKind,
    mismatch::{Declarations, Mismatch, MismatchKind},
    requirements::{Need, ObjectNeeds, ProgramNeeds},
    source_line::SourceLine,
};
use alloc::borrow::Cow;
use core::cell::Cell;
use core_relo::{Name, Plan, explain::text};
use core_relo_object::{
    InternalError,
    link::{LinkError, Undefined},
    load_plan::{OBJECT_NAME_PROBLEM, PlanByLoad},
    object::{NullPointer, Object, Program},
};

/// Judges an object's programs on a kernel. `plan` relocates the object against the kernel of `answers`.
///
/// # Errors
///
/// The plan is that of another object, or the answers are those of a table without the requirements of the
/// object.
pub fn judge(
    needs: &ObjectNeeds<'_, '_>,
    plan: &Plan<'_>,
    answers: &KernelAnswers<'_, '_>,
) -> Result<ObjectVerdict, JudgeError> {
    judge_by_load(needs, &needs.plan_by_load(Cow::Borrowed(plan))?, answers)
}

/// Judges an object's programs on a kernel, as [`judge`] does with a plan that [`ObjectNeeds::plan_by_load`]
/// has not split yet.
///
/// # Errors
///
/// The same as those of [`judge`].
pub fn judge_by_load(
    needs: &ObjectNeeds<'_, '_>,
    plan: &PlanByLoad<'_, '_>,
    answers: &KernelAnswers<'_, '_>,
) -> Result<ObjectVerdict, JudgeError> {
    check_indices(needs, plan.plan(), answers)?;
    let frozen = FrozenData::new(needs, &answers.facts);
    let externs = ExternAnswers::new(needs, answers);
    let mut reasons = loader_rules::loader_reasons(needs);
    let btf_refusal = BtfRefusal::find(needs, answers)?;
    // Without BTF, the kernel finds no variable or member to manage.
    let by_types = loader_rules::kernel_reasons(needs, answers).into_iter();
    let by_types = by_types.chain(maps::field_reasons(&needs.maps, answers));
    reasons.extend(by_types.filter_map(|reason| BtfRefusal::weaken(btf_refusal.as_ref(), reason)));
    reasons.extend(object_reasons(needs, answers));
    reasons.extend(btf_refusal.iter().flat_map(|refusal| refusal.map_reasons(needs)));
    reasons.extend(btf_refusal.iter().filter_map(|refusal| refusal.object_reason(needs)));
    let refused_types = RefusedTypes::find(needs, answers)?;
    reasons.extend(refused_types.iter().flat_map(|types| types.map_reasons(needs)));
    reasons.extend(struct_ops::reasons(needs, answers));
    if !needs.allows_unused_externs {
        reasons.extend(externs.object_reasons(answers));
    }
    reasons.extend_from_slice(frozen.refused_values());
    let mut reasons = distinct(reasons);
    limit_reasons(&mut reasons, needs.programs.len());
    let context = ObjectContext {
        needs,
        plan,
        answers,
        reasons: &reasons,
        frozen: &frozen,
        externs: &externs,
        btf_refusal: btf_refusal.as_ref(),
        refused_types: refused_types.as_ref(),
        searched_lines: Cell::default(),
    };
    let mut programs: Vec<_> = needs.programs.iter().map(|program| context.judge(program)).collect();
    shared_load::add_struct_ops_reasons(needs, &mut programs);
    let held = HeldPrograms::new(needs).beside(|program| shared_load::is_in_load(needs, program));
    let is_loaded =
        |program: &ProgramNeeds| shared_load::is_in_load(needs, program) || held.contains(&program.index);
    let in_load = needs.programs.iter().zip(&programs).filter(|(own, _)| is_loaded(own));
    let default_load = in_load.map(|(_, program)| program.verdict);
    // Without programs, the maps decide.
    let object_verdicts = reasons.iter().map(|reason| reason.verdict);
    let shared = shared_load::map_reasons(needs, answers, is_loaded);
    let shared_verdicts = shared.iter().map(|reason| reason.verdict);
    let verdict = default_load.chain(object_verdicts).chain(shared_verdicts).max().unwrap_or(Verdict::Loads);
    shared_load::add_map_reasons(needs, answers, &mut programs, is_loaded);
    let mut warnings = context.warnings();
    // What needs BTF is refused, and the rest of the object is not loaded without it.
    let in_load = needs.programs.iter().zip(&programs).filter(|(own, _)| is_loaded(own));
    let needs_btf = reasons.iter().chain(in_load.flat_map(|(_, program)| &program.reasons));
    if !needs_btf.into_iter().any(|reason| reason.kind == ReasonKind::Btf) {
        warnings.extend(btf_refusal.iter().map(|refusal| refusal.warning(needs)));
    }
    warnings.extend(attachments::warnings(needs, answers, &programs));
    warnings.extend(loader_rules::warnings(needs));
    warnings.extend(null_pointer_warnings(needs));
    reasons.extend(shared);
    Ok(ObjectVerdict { loader: needs.loader, verdict, reasons: distinct(reasons), programs, warnings })
}

/// Checks that every index of the requirements is one of the object, of the plan or of the answers. A
/// requirement without an answer, and a table or extern that is not found, would count as met.
fn check_indices(
    needs: &ObjectNeeds<'_, '_>,
    plan: &Plan<'_>,
    answers: &KernelAnswers<'_, '_>,
) -> Result<(), JudgeError> {
    let programs = needs.programs.iter();
    let of_programs = programs.clone().flat_map(|program| {
        program.attach.needs().iter().copied().chain(program.sites.iter().map(|site| site.need))
    });
    let maps = needs.maps.iter().flat_map(|map| map.needs.iter().copied());
    let externs = needs.externs.iter().map(|needed| needed.id);
    let mut ids = of_programs.chain(maps).chain(externs);
    if let Some(id) = ids.find(|id| answers.get(*id).is_none()) {
        return Err(JudgeError::OtherAnswers { index: id.index() });
    }
    let mut declarations = programs.clone().flat_map(|program| {
        let structs = program.struct_ops.iter().flat_map(StructOpsName::structs);
        program.declaration.iter().chain(structs)
    });
    if !declarations.all(|declaration| answers.facts.has_searched(declaration)) {
        return Err(JudgeError::OtherNames);
    }
    if programs.clone().any(|program| needs.object.programs().get(program.index.0).is_none()) {
        return Err(InternalError::new("the program of a requirement is one of the object's").into());
    }
    if needs.externs.len() != needs.linker.externs().len() {
        return Err(InternalError::new("the requirements have every extern of the object").into());
    }
    // An object without tables, or with tables that cannot be read, is refused for that.
    if let Ok(tables) = needs.linker.struct_ops_tables()
        && !tables.is_empty()
    {
        let has_table = |map| tables.binary_search_by_key(&map, |(table, _): &(_, _)| *table).is_ok();
        if !needs.maps.iter().filter_map(|map| map.struct_ops).all(has_table) {
            return Err(InternalError::new("each struct_ops map has a table").into());
        }
    }
    let mut records = programs.flat_map(|program| &program.records);
    match records.find(|(_, record)| plan.get(*record).is_none()) {
        Some((_, index)) => Err(JudgeError::OtherPlan { index: *index }),
        None => Ok(()),
    }
}

/// Returns the reasons that concern every program: the maps and the externs of the object.
fn object_reasons(needs: &ObjectNeeds<'_, '_>, answers: &KernelAnswers<'_, '_>) -> Vec<Reason> {
    let mut reasons: Vec<_> =
        needs.maps.iter().enumerate().flat_map(|(index, map)| maps::reasons(index, map, answers)).collect();
    let refused = |text: String| Reason::from_object(Verdict::Refused, text);
    reasons.extend(needs.contents_error.iter().map(|error| refused(error.to_string())));
    reasons.extend(needs.btf.error.iter().map(|error| refused(error.to_string())));
    if !needs.loader.changes_names() {
        let names = needs.refused_names.iter();
        let refused_name = |name: &String| {
            refused(format!("map {name}: {OBJECT_NAME_PROBLEM}")).with_fix(NAME_FIX).repaired()
        };
        reasons.extend(names.map(refused_name));
    }
    // libbpf knows no other values, whether the extern is weak or not.
    reasons.extend(needs.externs.iter().filter_map(|needed| match answers.need(needed.id)? {
        Need::Kconfig(name) if !name.starts_with("CONFIG_") && !name.starts_with("LINUX_") => {
            Some(refused(format!("{}: expected CONFIG_* or LINUX_*", answers.need(needed.id)?.text())))
        }
        _ => None,
    }));
    reasons
}

impl ObjectVerdict {
    /// Returns the verdict on an object that no loader opens: every program is refused for the same reason.
    pub fn refused(object: &Object<'_>, loader: LoaderKind, error: &str) -> Self {
        Self::same_for_all(object, loader, Verdict::Refused, error)
    }

    /// Returns the verdict on an object that cannot be linked. Each undefined symbol is a reason.
    pub fn refused_by_linker(object: &Object<'_>, loader: LoaderKind, error: &LinkError) -> Self {
        let LinkError::Undefined { symbols, more } = error else {
            return Self::refused(object, loader, &error.to_string());
        };
        let mut reasons: Vec<_> = symbols.iter().map(undefined_reason).collect();
        if *more > 0 {
            reasons.push(Reason::from_object(
                Verdict::Refused,
                format!("undefined symbols that are not listed: {more}"),
            ));
        }
        let mut verdict = Self::refused(object, loader, &error.to_string());
        for program in &mut verdict.programs {
            program.reasons.clone_from(&reasons);
        }
        Self { reasons, ..verdict }
    }

    /// Returns the verdict on an object that cannot be judged: it is unknown for every program.
    pub fn unknown(object: &Object<'_>, loader: LoaderKind, error: &JudgeError) -> Self {
        Self::same_for_all(object, loader, Verdict::Unknown, &format!("internal error: {error}"))
    }

    fn same_for_all(object: &Object<'_>, loader: LoaderKind, verdict: Verdict, reason: &str) -> Self {
        let program = |program: &Program<'_>| ProgramVerdict {
            name: text(Name::new(program.name()).shortened()),
            autoload: program.autoload(),
            verdict,
            reasons: vec![Reason::from_object(verdict, reason.to_owned())],
            guarded: Vec::new(),
            later: Vec::new(),
        };
        let programs = object.programs().iter().filter(|program| !program.is_subprogram);
        let programs = programs.map(program).collect();
        let reasons = vec![Reason::from_object(verdict, reason.to_owned())];
        Self { loader, verdict, reasons, programs, warnings: Vec::new() }
    }
}

/// Returns a warning for each listed pointer in a data section that no loader sets.
fn null_pointer_warnings(needs: &ObjectNeeds<'_, '_>) -> Vec<Mismatch> {
    let Some(program) = needs.programs.first() else { return Vec::new() };
    let warning = |pointer: &NullPointer| {
        let local = format!("{}+{:#x}: address of `{}`", pointer.section, pointer.offset, pointer.symbol);
        let target =
            "loaders skip the relocations of data sections: set the pointer in a program, or use an index";
        let declarations = Declarations { local: &local, target };
        Mismatch::new(MismatchKind::NullPointer, &program.name, &pointer.to_string(), declarations)
    };
    let pointers = &needs.null_pointers;
    let mut warnings: Vec<_> = pointers.listed.iter().map(warning).collect();
    if let Some(more @ 1..) = pointers.count.checked_sub(pointers.listed.len()) {
        let text = format!("null pointers in data sections that are not listed: {more}");
        let target = "loaders skip the relocations of data sections";
        let declarations = Declarations { local: "addresses of symbols", target };
        warnings.push(Mismatch::new(MismatchKind::NullPointer, &program.name, &text, declarations));
    }
    warnings
}

/// Returns the reason of an undefined symbol, at its first use.
fn undefined_reason(symbol: &Undefined) -> Reason {
    let at = symbol.uses.first().filter(|at| at.line > 0);
    // The line of the first use precedes the text.
    let what = match (at, symbol.uses.as_slice()) {
        (Some(_), [_]) => format!("`{}`", symbol.name),
        _ => symbol.to_string(),
    };
    let text = format!(
        "undefined: {what}: neither defined in the object nor a helper, kfunc or variable of the kernel"
    );
    let source = at.map(|at| SourceLine {
        file: at.file.to_string(),
        line: at.line,
        column: at.column,
        text: at.text.to_string(),
        is_near: false,
    });
    Reason { source, ..Reason::from_object(Verdict::Refused, text).with_fix(symbol.remedy()) }
}

impl Reason {
    /// Creates a reason that comes from the object alone.
    pub(super) fn from_object(verdict: Verdict, text: String) -> Self {
        let evidence = Evidence { source: EvidenceSource::Object, text: "the object file".into() };
        Self::new(ReasonKind::Object, verdict, text).with_evidence(evidence)
    }
}
