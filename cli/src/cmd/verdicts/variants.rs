//! The variants of an object on a kernel: what an adaptive load would choose there.

use super::{kernel_judge::KernelCase, objects::JudgedObject};
use crate::{
    error::BadInput,
    input::{object::object_name, variant_table::object_variants},
    text::{line::Line, style::DIM},
};
use core_relo_adaptive::{
    AdaptiveError, AdaptiveLoad, AdaptiveLoader, Outcome, ReportedKernel, StartupReport, Status,
    variants::{KernelValueError, VariantError, VariantTable},
};
use core_relo_loader::{
    Loader,
    load_plan::{PlanByLoad, TargetKernel},
    target::{self, KernelBtf},
};
use core_relo_verdict::judge::{ObjectVerdict, Reason, ReasonKind, Verdict};
use std::{path::Path, sync::Arc};

/// The number of groups up to which the text names the alternative of each. Of more groups, it names those
/// that do not have their first.
const GROUPS: usize = 4;

/// The tables of objects, checked once for all kernels.
#[derive(Debug, Default)]
pub(crate) struct VariantTables(Vec<Option<Result<VariantTable, BadInput>>>);

impl VariantTables {
    /// Reads the declarations of each object, and adds the entries of `given`.
    pub(crate) fn new(objects: &[JudgedObject<'_>], given: Option<&VariantTable>) -> Self {
        Self(objects.iter().map(|object| fitting_table(object, given).transpose()).collect())
    }

    /// Returns the table of an object by its index, or why the object does not fit its table. Returns `None`
    /// for an object without variants.
    pub(crate) fn get(&self, index: usize) -> Option<Result<&VariantTable, &BadInput>> {
        self.0.get(index)?.as_ref().map(Result::as_ref)
    }

    /// Returns why objects do not fit their tables.
    pub(crate) fn errors(&self) -> impl Iterator<Item = &BadInput> {
        self.0.iter().flatten().filter_map(|table| table.as_ref().err())
    }
}

/// Checks that a table of variants from a file is for a single object.
pub(crate) fn check_single_object(
    given: Option<&VariantTable>,
    objects: &[JudgedObject<'_>],
) -> Result<(), BadInput> {
    match objects.len() {
        count if count > 1 && given.is_some() => {
            Err(BadInput::new("--variants", format_args!("{count} objects, expected one")))
        }
        _ => Ok(()),
    }
}

/// Returns the table of an object, checked against the object. Returns `None` for an object without variants.
fn fitting_table(
    object: &JudgedObject<'_>,
    given: Option<&VariantTable>,
) -> Result<Option<VariantTable>, BadInput> {
    let table = object_variants(object.data.file, object.object, given)?;
    if table.is_empty() {
        return Ok(None);
    }
    table.fit(object.object).map_err(|error| BadInput::new(&*object.data.file.name, error))?;
    Ok(Some(table))
}

/// The variants that an adaptive load of an object would choose on a kernel.
#[derive(Debug)]
pub(crate) struct VariantChoice {
    /// The verdict on the load of these variants. Without a choice, the object is refused, and the programs
    /// are judged as those of the default load.
    pub(crate) verdict: ObjectVerdict,
    /// The choice and its reasons. `None` if the kernel's types lack the value of a constant, so that nothing
    /// can be chosen.
    pub(crate) report: Option<Arc<StartupReport>>,
}

impl VariantChoice {
    /// Chooses the variants of an object on a kernel. The error is one between the table and the object.
    pub(crate) fn new(
        (object, table): (&JudgedObject<'_>, &VariantTable),
        plan: &PlanByLoad<'_, '_>,
        case: &KernelCase<'_, '_>,
    ) -> Result<Self, BadInput> {
        let bad = |error: &dyn std::fmt::Display| BadInput::new(&*object.data.file.name, error);
        let types = &case.kernel.target;
        let modules = types.modules().iter().map(|module| (module.name.to_string(), Arc::clone(&module.btf)));
        let btf = KernelBtf::from_btf(Arc::clone(&types.vmlinux().btf), modules);
        let kernel = TargetKernel::offline(Arc::new(btf));
        let mut loader =
            Loader::for_kernel(object.object, kernel).name(object_name(Path::new(&object.data.file.name)));
        let mut settings = object.data.user.settings.clone();
        settings.name.clone_from(&loader.settings().name);
        *loader.settings_mut() = settings;
        let mut default_load = loader.settings_mut().clone();
        let adaptive = AdaptiveLoader::new(&loader, table).map_err(|error| bad(&error))?;
        let identity = ReportedKernel {
            release: case.kernel.release(),
            architecture: target::find_architecture(&types.vmlinux().btf).map(str::to_owned),
            btf_source: Some(case.kernel.name.clone()),
        };
        let judge = |settings: &_| case.judge_load(object, plan, settings).map_err(|error| error.to_string());
        let adaptive = adaptive.judged_by(judge).features(case.features(object)).kernel(identity);
        // Planning finds more that a kernel lacks, as in a dry run. What it finds about parts without
        // alternatives is left to the verdict.
        let planned = adaptive.load_with(|loader, _| Ok((loader.clone().settings_mut().clone(), Vec::new())));
        let planned: Result<_, AdaptiveError> = planned;
        let chosen = match planned {
            Err(AdaptiveError::Load { .. }) => adaptive.choose(),
            planned => planned,
        };
        match chosen {
            Ok(AdaptiveLoad { value: settings, mut report, .. }) => {
                report.outcome = Outcome::Planned;
                let verdict = case.judge_load(object, plan, &settings).map_err(|error| bad(&error))?;
                Ok(Self { verdict, report: Some(Arc::new(report)) })
            }
            Err(AdaptiveError::Variants(error)) if !is_about_kernel(&error) => Err(bad(&error)),
            Err(error) => {
                default_load.allows_unused_externs = true;
                let verdict = case.judge_load(object, plan, &default_load).map_err(|error| bad(&error))?;
                let reason = Reason::new(ReasonKind::Object, Verdict::Refused, error.to_string());
                let report = error.report().cloned().map(Arc::new);
                Ok(Self { verdict: verdict.refused_for(reason), report })
            }
        }
    }

    /// Returns whether variants are chosen: not if no alternative of a group works, or the kernel's types
    /// lack the value of a constant.
    pub(crate) fn is_chosen(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.outcome == Outcome::Planned)
    }

    /// Returns the verdict on the programs that are part of the load, for text.
    pub(crate) fn verdict_of_load(&self) -> ObjectVerdict {
        let mut verdict = self.verdict.clone();
        verdict.programs.retain(|program| program.autoload);
        verdict
    }

    /// Returns the choice as lines: the alternatives, what is left out, and the reasons why others are not
    /// used. With a limit, the others are only counted.
    pub(crate) fn lines(&self, limit: Option<usize>) -> Vec<Line> {
        let limit = limit.unwrap_or(usize::MAX);
        let Some(report) = &self.report else { return Vec::new() };
        let (mut parts, mut rejections, mut first_count) = (Vec::new(), Vec::new(), 0usize);
        for group in &report.groups {
            let chosen = group.chosen.and_then(|chosen| Some((chosen, group.alternatives.get(chosen)?)));
            parts.push(match chosen {
                Some((0, _)) if report.groups.len() > GROUPS => {
                    first_count = first_count.saturating_add(1);
                    continue;
                }
                Some((index, alternative)) => {
                    let (number, count) = (index.saturating_add(1), group.alternatives.len());
                    format!("{} = {} ({number} of {count})", group.name, alternative.programs.join(" + "))
                }
                None if group.is_optional => format!("{} left out", group.name),
                None => format!("{} has no working alternative", group.name),
            });
            rejections.extend(group.alternatives.iter().flat_map(|alternative| &alternative.rejections));
        }
        match report.groups.len().checked_sub(first_count) {
            _ if first_count == 0 => {}
            Some(0) => parts.push(format!("the first alternative of all {first_count} groups")),
            _ if first_count == 1 => parts.push("the first alternative of the other group".to_owned()),
            _ => parts.push(format!("the first alternative of {first_count} other groups")),
        }
        for program in report.programs.iter().filter(|program| program.status == Status::Rejected) {
            parts.push(format!("program {} left out", program.name));
            rejections.extend(&program.rejection);
        }
        for map in report.maps.iter().filter(|map| map.rejection.is_some()) {
            parts.push(format!("map {} left out", map.name));
            rejections.extend(&map.rejection);
        }
        if parts.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![Line::new().styled(DIM, "variants: ").text(parts.join(", "))];
        for rejection in rejections.iter().take(limit) {
            let text = format_args!("  not {}: {}", rejection.name, rejection.reasons.join("; "));
            lines.push(Line::new().styled(DIM, text));
        }
        if let Some(more) = rejections.len().checked_sub(limit).filter(|more| *more > 0) {
            lines.push(Line::new().styled(DIM, format_args!("  … and {more} more, see --format json")));
        }
        lines
    }
}

/// Returns whether an error says that the kernel lacks something, and not that the table is wrong.
pub(crate) fn is_about_kernel(error: &VariantError) -> bool {
    match error {
        VariantError::Entry { cause, .. } => is_about_kernel(cause),
        VariantError::Value { cause, .. } => {
            cause.is_absence() || matches!(cause, KernelValueError::AmbiguousType { .. })
        }
        _ => false,
    }
}
