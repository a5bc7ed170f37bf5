//! Builds a report from a choice.

use super::chooser::Chooser;
use crate::{
    startup_report::{
        AlternativeReport, CapabilityReport, ConstantReport, GroupReport, LinkReport, MapReport, Outcome,
        ProgramReport, ReportedKernel, StartupReport, Status,
    },
    variants::{Alternative, KernelValueError, VariantGroup},
};
use alloc::collections::BTreeSet;
use core_relo_loader::{
    Loader,
    load_plan::{LoadPlan, ProgramPlan, Settings},
    object::{Program, ProgramType},
    privileges::{Capability, is_in_user_namespace},
};
use core_relo_verdict::judge::NeededFeature;

/// The parts of a report beside the choice.
pub(super) struct ReportDetails {
    pub(super) outcome: Outcome,
    pub(super) attempts: usize,
    pub(super) links: Vec<LinkReport>,
    /// The privileges of a load into the running kernel.
    pub(super) privileges: Option<LoadPrivileges>,
}

/// What decides beside the capabilities whether this process may load programs.
#[derive(Clone, Copy)]
pub(super) struct LoadPrivileges {
    /// Whether the process is in a user namespace, where capabilities count only with a BPF token.
    needs_token: bool,
    has_token: bool,
}

impl LoadPrivileges {
    pub(super) fn new(loader: &Loader<'_, '_>) -> Self {
        let needs_token = is_in_user_namespace();
        Self { needs_token, has_token: needs_token && loader.has_token() }
    }
}

/// Builds the report of a choice. `settings` are those of the chosen variants. `plan` is that of a load that
/// succeeded.
pub(super) fn report(
    chooser: &Chooser<'_>,
    numbers: &[Result<i128, KernelValueError>],
    settings: &Settings,
    plan: Option<&LoadPlan>,
    (kernel, features): (ReportedKernel, Vec<NeededFeature>),
    details: ReportDetails,
) -> StartupReport {
    let program_types = match plan {
        Some(plan) => plan.programs().iter().map(ProgramPlan::program_type).collect(),
        None => program_types(chooser, settings),
    };
    StartupReport {
        object: settings.name.clone(),
        kernel,
        outcome: details.outcome,
        groups: groups(chooser),
        programs: programs(chooser, settings),
        maps: maps(chooser, settings),
        constants: constants(chooser, numbers, settings),
        features,
        links: details.links,
        capabilities: capabilities(&program_types, details.privileges),
        verdict: chooser.verdict,
        unjudged: chooser.unjudged.clone(),
        attempts: details.attempts,
    }
}

fn groups(chooser: &Chooser<'_>) -> Vec<GroupReport> {
    let variants = chooser.variants;
    let groups = variants.table().groups().iter().enumerate().zip(&chooser.selection.alternatives);
    let report = |((index, group), chosen): ((usize, &VariantGroup), &Option<usize>)| {
        let rejections = chooser.alternatives.get(index).map_or(&[][..], Vec::as_slice);
        let alternative = |(number, (alternative, rejections)): (usize, (&Alternative, &Vec<_>))| {
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
    let values = variants.constants().iter().zip(numbers).map(|(constant, number)| ConstantReport {
        global: constant.global.global.name.clone(),
        meaning: constant.value.to_string(),
        value: number.as_ref().ok().copied(),
        absence: number.as_ref().err().map(ToString::to_string),
    });
    indicators.chain(values).collect()
}

/// Returns the types of the programs that a failed load tried. A group without a working alternative has
/// those of its last alternative.
fn program_types(chooser: &Chooser<'_>, settings: &Settings) -> Vec<ProgramType> {
    let variants = chooser.variants;
    let groups = variants.table().groups().iter().zip(&chooser.selection.alternatives);
    let last =
        groups.filter(|(_, chosen)| chosen.is_none()).filter_map(|(group, _)| group.alternatives.last());
    let last: BTreeSet<&str> = last.flat_map(|alternative| &alternative.0).map(String::as_str).collect();
    let programs = chooser.object.programs().iter().filter(|program| !program.is_subprogram);
    let program_type = |program: &Program<'_>| {
        let name = String::from_utf8_lossy(program.name());
        let is_tried = last.contains(&*name) || variants.loads(&name, &chooser.selection, settings);
        let given = settings.programs.get(&*name).and_then(|program| program.program_type);
        given.or_else(|| Some(program.sec_def()?.program_type)).filter(|_| is_tried)
    };
    programs.filter_map(program_type).collect()
}

/// Returns the capabilities that programs need. `privileges` are those of a load into the running kernel.
fn capabilities(program_types: &[ProgramType], privileges: Option<LoadPrivileges>) -> Vec<CapabilityReport> {
    let needed: Vec<_> = program_types.iter().flat_map(|of| Capability::needed_for(*of)).collect();
    let report = |capability: Capability| CapabilityReport {
        capability,
        program_count: needed.iter().filter(|other| **other == capability).count(),
        is_held: privileges.and_then(|LoadPrivileges { needs_token, has_token }| {
            Some(capability.is_held()? && (has_token || !needs_token))
        }),
        needs_token: privileges.is_some_and(|privileges| privileges.needs_token),
    };
    let distinct: BTreeSet<_> = needed.iter().copied().collect();
    distinct.into_iter().map(report).collect()
}
