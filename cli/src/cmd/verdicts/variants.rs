//! The variants of an object on a kernel: what an adaptive load would choose there.

use super::{kernel_judge::KernelCase, objects::JudgedObject};
use crate::{
    args::load::MapNumber,
    cmd::load::{adaptive::is_about_kernel, setup::object_name},
    error::BadInput,
    text::{line::Line, style::DIM},
};
use core_relo::Plan;
use core_relo_loader::{
    Loader,
    adaptive::{AdaptiveError, AdaptiveLoad, AdaptiveLoader, KernelIdentity, Outcome, StartupReport, Status},
    load_plan::TargetKernel,
    target::{self, KernelBtf},
    variants::VariantTable,
};
use core_relo_verdict::judge::ObjectVerdict;
use std::{path::Path, sync::Arc};

/// The number of groups up to which the text names the alternative of each. Of more groups, it names those that do not have their first.
const GROUPS: usize = 4;

/// Returns the table of an object: its declarations, and those of `given`. Returns `None` for an object without variants.
pub(crate) fn fitting_table(
    object: &JudgedObject<'_>,
    given: Option<&VariantTable>,
) -> Result<Option<VariantTable>, BadInput> {
    let bad = |error| BadInput::new(&*object.file.name, error);
    let declared = VariantTable::from_object(object.object).map_err(bad)?;
    let table = match given {
        Some(given) => declared.merge(given.clone()).map_err(bad)?,
        None => declared,
    };
    if table.is_empty() {
        return Ok(None);
    }
    // The table is checked once, and not again for each kernel.
    table.fit(object.object).map_err(bad)?;
    Ok(Some(table))
}

/// The variants that an adaptive load of an object would choose on a kernel.
#[derive(Debug)]
pub(crate) struct VariantChoice {
    /// The verdict on the load of these variants.
    pub(crate) verdict: ObjectVerdict,
    /// The choice and its reasons. `None` if the kernel's types lack the value of a constant, so that nothing can be chosen.
    pub(crate) report: Option<Arc<StartupReport>>,
}

impl VariantChoice {
    /// Chooses the variants of an object on a kernel. The error is one between the table and the object.
    pub(crate) fn new(
        (object, table): (&JudgedObject<'_>, &VariantTable),
        max_entries: &[MapNumber],
        plan: &Plan<'_>,
        case: &KernelCase<'_, '_>,
    ) -> Result<Self, BadInput> {
        let bad = |error: &dyn std::fmt::Display| BadInput::new(&*object.file.name, error);
        let types = &case.kernel.target;
        let modules = types.modules().iter().map(|module| (module.name.to_string(), Arc::clone(&module.btf)));
        let btf = KernelBtf::from_btf(Arc::clone(&types.vmlinux().btf), modules);
        let kernel = TargetKernel::offline(Arc::new(btf));
        let mut loader =
            Loader::for_kernel(object.object, kernel).name(object_name(Path::new(&object.file.name)));
        for MapNumber { map, number } in max_entries {
            if object.object.maps().iter().any(|known| known.name == map.as_bytes()) {
                loader.settings_mut().map_mut(map).max_entries = Some(number.get());
            }
        }
        let adaptive = AdaptiveLoader::new(&loader, table).map_err(|error| bad(&error))?;
        let identity = KernelIdentity {
            release: case.kernel.release(),
            architecture: target::find_architecture(&types.vmlinux().btf).map(str::to_owned),
            btf_source: Some(case.kernel.name.clone()),
        };
        let judge = |settings: &_| case.judge_load(object, plan, settings).map_err(|error| error.to_string());
        let adaptive = adaptive.judged_by(judge).features(case.features(object)).kernel(identity);
        // Planning finds more that a kernel lacks, as in a dry run. What it finds about parts without alternatives is left to the verdict.
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
            Err(error) => Ok(Self {
                verdict: ObjectVerdict::refused(object.object, &error.to_string()),
                report: error.report().cloned().map(Arc::new),
            }),
        }
    }

    /// Returns the verdict on the programs that are part of the load, for text.
    pub(crate) fn verdict_of_load(&self) -> ObjectVerdict {
        let mut verdict = self.verdict.clone();
        verdict.programs.retain(|program| program.autoload);
        verdict
    }

    /// Returns the choice as lines: the alternatives, what is left out, and the reasons why others are not used. With a limit, the
    /// others are only counted.
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
