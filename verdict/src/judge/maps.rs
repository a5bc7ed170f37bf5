//! The reasons that come from maps.

use super::{
    answers::KernelAnswers,
    model::{Reason, ReasonKind, Requirement, Verdict},
};
use crate::{
    kernel::{Evidence, EvidenceSource},
    requirements::{MapDefError, MapInput, MapNeed, MapRule},
};
use core_relo_object::load_plan::inner_map_name;

/// Returns the reasons why a map is not created.
pub(super) fn reasons(index: usize, map: &MapNeed, answers: &KernelAnswers<'_, '_>) -> Vec<Reason> {
    let map_reason = |need| {
        let reason = answers.reason(need)?;
        let requirement = Some(Requirement::MapNeed { map: index, need });
        Some(Reason { text: format!("map {}: {}", map.name, reason.text), requirement, ..reason })
    };
    let mut reasons: Vec<_> = map.needs.iter().copied().filter_map(map_reason).collect();
    reasons.extend(map.errors.iter().map(|error| definition_reason(&map.name, *error)));
    reasons.extend(map.inputs.iter().map(|input| {
        input_reason(&map.name, *input).with_requirement(Requirement::MapInput { map: index, input: *input })
    }));
    for reason in &mut reasons {
        reason.map = Some(map.name.clone());
    }
    reasons
}

fn definition_reason(map: &str, MapDefError { is_inner, map_type, rule }: MapDefError) -> Reason {
    let place = if is_inner { format!("map {map}: inner map") } else { format!("map {map}") };
    let (kind, text, fix) = match rule {
        MapRule::FlagMissing(flag) => (
            ReasonKind::MapFlag,
            format!("{place}: no flag {flag}, which {map_type} demands"),
            format!("add {flag} to map_flags"),
        ),
        MapRule::FlagRefused(flag) => (
            ReasonKind::MapFlag,
            format!("{place}: flag {flag}, which {map_type} does not accept"),
            format!("remove {flag} from map_flags"),
        ),
        MapRule::FlagUnknown(bit) => (
            ReasonKind::MapFlag,
            format!("{place}: flag 1 << {bit}, which no known kernel has"),
            "remove the flag from map_flags".into(),
        ),
        MapRule::Missing(attribute) => (
            ReasonKind::MapSize,
            format!("{place}: {} is 0, which user space must set", attribute.name()),
            format!(
                "--{} {}=N, or {} in the definition, or bpf_map__inner_map() and its setters",
                attribute.name().replace('_', "-"),
                inner_map_name(map),
                attribute.name()
            ),
        ),
        MapRule::Size { attribute, found, expected } => (
            ReasonKind::MapSize,
            format!("{place}: {} does not fit {map_type}: {found}, expected {expected}", attribute.name()),
            format!("change {} in the definition", attribute.name()),
        ),
    };
    let evidence = Evidence { source: EvidenceSource::Object, text: format!("the definition of {map}") };
    let verdict = match rule {
        // A newer kernel may have the flag.
        MapRule::FlagUnknown(_) => Verdict::Unknown,
        MapRule::Missing(_) => Verdict::NeedsInput,
        MapRule::FlagMissing(_) | MapRule::FlagRefused(_) | MapRule::Size { .. } => Verdict::Refused,
    };
    Reason::new(kind, verdict, text).with_evidence(evidence).with_fix(fix)
}

fn input_reason(map: &str, input: MapInput) -> Reason {
    let fix = match input {
        MapInput::MaxEntries => format!("--max-entries {map}=N, or bpf_map__set_max_entries()"),
        MapInput::KeySize => format!(
            "--key-size {map}=N, or bpf_map__set_key_size() before the load, or a key type in the definition"
        ),
        MapInput::ValueSize => format!(
            "--value-size {map}=N, or bpf_map__set_value_size() before the load, or a value type in the definition"
        ),
        MapInput::InnerMap => format!(
            "--inner-map {map}=TYPE:KEY:VALUE:ENTRIES, or bpf_map__set_inner_map_fd() before the load, or `values` in the definition"
        ),
    };
    let text = match input {
        MapInput::InnerMap => {
            format!("map {map}: no definition of its inner maps, which user space must set")
        }
        _ => format!("map {map}: {} is 0, which user space must set", input.name()),
    };
    let evidence = Evidence { source: EvidenceSource::Object, text: format!("the definition of {map}") };
    Reason::new(ReasonKind::MapSize, Verdict::NeedsInput, text).with_evidence(evidence).with_fix(fix)
}
