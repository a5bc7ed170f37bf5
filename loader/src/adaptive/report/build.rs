//! Builds a report from a choice.

use super::{
    AlternativeReport, CapabilityReport, ConstantReport, GroupReport, KernelIdentity, LinkReport, MapReport,
    Outcome, ProgramReport, StartupReport, Status,
};
use crate::{
    adaptive::{capability::Capability, chooser::Chooser},
    load_plan::{LoadPlan, Settings},
    variants::KernelValueError,
};
use alloc::collections::BTreeMap;

/// Builds the report of a choice. `settings` are those of the chosen variants. `plan` is that of a load that succeeded.
pub(in crate::adaptive) fn report(
    chooser: &Chooser<'_>,
    numbers: &[Result<i128, KernelValueError>],
    settings: &Settings,
    plan: Option<&LoadPlan>,
    kernel: KernelIdentity,
    (outcome, attempts, links): (Outcome, usize, Vec<LinkReport>),
) -> StartupReport {
    StartupReport {
        object: settings.name.clone(),
        kernel,
        outcome,
        groups: groups(chooser),
        programs: programs(chooser, settings),
        maps: maps(chooser, settings),
        constants: constants(chooser, numbers, settings),
        links,
        capabilities: plan.map_or_else(Vec::new, |plan| capabilities(plan, outcome != Outcome::Planned)),
        verdict: chooser.verdict,
        unjudged: chooser.unjudged.clone(),
        attempts,
    }
}

fn groups(chooser: &Chooser<'_>) -> Vec<GroupReport> {
    let variants = chooser.variants;
    let groups = variants.table().groups().iter().enumerate().zip(&chooser.selection.alternatives);
    let report = |((index, group), chosen): ((usize, &crate::variants::VariantGroup), &Option<usize>)| {
        let rejections = chooser.alternatives.get(index).map_or(&[][..], Vec::as_slice);
        let alternative =
            |(number, (alternative, rejections)): (usize, (&crate::variants::Alternative, &Vec<_>))| {
                let status = if *chosen == Some(number) {
                    Status::Used
                } else if rejections.is_empty() {
                    Status::NotNeeded
                } else {
                    Status::Rejected
                };
                let verdicts = alternative.0.iter().filter_map(|program| chooser.verdicts.get(program));
                let verdicts: Vec<_> = verdicts.filter(|_| status == Status::Used).collect();
                AlternativeReport {
                    programs: alternative.0.clone(),
                    status,
                    rejections: rejections.clone(),
                    verdict: verdicts.iter().map(|(verdict, _)| *verdict).max(),
                    doubts: verdicts.iter().flat_map(|(_, doubts)| doubts).cloned().collect(),
                }
            };
        GroupReport {
            name: group.name.clone(),
            is_optional: variants.is_group_optional(index),
            chosen: *chosen,
            alternatives: group.alternatives.iter().zip(rejections).enumerate().map(alternative).collect(),
        }
    };
    groups.map(report).collect()
}

fn programs(chooser: &Chooser<'_>, settings: &Settings) -> Vec<ProgramReport> {
    let variants = chooser.variants;
    let ungrouped = variants.programs().filter(|program| variants.position(program).is_none());
    let report = |name: &str| {
        let rejection = chooser.programs.get(name).cloned();
        let status = if variants.loads(name, &chooser.selection, settings) {
            Status::Used
        } else if rejection.is_some() {
            Status::Rejected
        } else {
            Status::NotSelected
        };
        let verdict = chooser.verdicts.get(name).filter(|_| status == Status::Used);
        ProgramReport {
            name: name.to_owned(),
            is_optional: variants.is_program_optional(name),
            status,
            rejection,
            verdict: verdict.map(|(verdict, _)| *verdict),
            doubts: verdict.map_or_else(Vec::new, |(_, doubts)| doubts.clone()),
        }
    };
    ungrouped.map(report).collect()
}

fn maps(chooser: &Chooser<'_>, settings: &Settings) -> Vec<MapReport> {
    let uncreated = chooser.variants.uncreated_maps(&chooser.selection, settings);
    let report = |name: String| MapReport { rejection: chooser.maps.get(&name).cloned(), name };
    uncreated.into_iter().map(report).collect()
}

fn constants(
    chooser: &Chooser<'_>,
    numbers: &[Result<i128, KernelValueError>],
    settings: &Settings,
) -> Vec<ConstantReport> {
    let (variants, selection) = (chooser.variants, &chooser.selection);
    let uncreated = variants.uncreated_maps(selection, settings);
    let indicators = variants.indicators().map(|(global, part)| ConstantReport {
        global: global.global.name.clone(),
        meaning: format!("loaded({part})"),
        value: Some(i128::from(variants.is_part_loaded(part, selection, &uncreated, settings))),
        absence: None,
    });
    let values = variants.constants().zip(numbers).map(|((global, value, _), number)| ConstantReport {
        global: global.global.name.clone(),
        meaning: value.to_string(),
        value: number.as_ref().ok().copied(),
        absence: number.as_ref().err().map(ToString::to_string),
    });
    indicators.chain(values).collect()
}

/// Returns the capabilities that the programs of a plan need.
fn capabilities(plan: &LoadPlan, is_running_kernel: bool) -> Vec<CapabilityReport> {
    let mut needed: BTreeMap<Capability, Vec<&str>> = BTreeMap::new();
    for program in plan.programs() {
        for capability in Capability::needed_for(program.program_type()) {
            needed.entry(capability).or_default().push(program.name());
        }
    }
    let report = |(capability, programs): (Capability, Vec<&str>)| CapabilityReport {
        capability,
        program_count: programs.len(),
        is_held: if is_running_kernel { capability.is_held() } else { None },
    };
    needed.into_iter().map(report).collect()
}
