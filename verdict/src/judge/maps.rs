//! The reasons that come from maps.

use super::{
    answers::KernelAnswers,
    model::{Reason, ReasonKind, Requirement, Verdict},
};
use crate::{
    kernel::{Evidence, EvidenceSource},
    requirements::{MapFlagError, MapInput, MapNeed},
};

/// Returns the reasons why a map is not created.
pub(super) fn reasons(index: usize, map: &MapNeed, answers: &KernelAnswers<'_, '_>) -> Vec<Reason> {
    let map_reason = |need| {
        let reason = answers.reason(need)?;
        let requirement = Some(Requirement::MapNeed { map: index, need });
        Some(Reason { text: format!("map {}: {}", map.name, reason.text), requirement, ..reason })
    };
    let mut reasons: Vec<_> = map.needs.iter().copied().filter_map(map_reason).collect();
    reasons.extend(map.flag_error.map(|error| flag_reason(&map.name, error)));
    reasons.extend(map.inputs.iter().map(|input| {
        input_reason(&map.name, *input).with_requirement(Requirement::MapInput { map: index, input: *input })
    }));
    reasons
}

fn flag_reason(map: &str, MapFlagError { flag, is_missing, map_type }: MapFlagError) -> Reason {
    let (text, fix) = if is_missing {
        (format!("map {map}: no flag {flag}, which {map_type} demands"), format!("add {flag} to map_flags"))
    } else {
        (
            format!("map {map}: flag {flag}, which {map_type} does not accept"),
            format!("remove {flag} from map_flags"),
        )
    };
    let reason = Reason::from_object(Verdict::Refused, text);
    Reason { kind: ReasonKind::MapFlag, fix: Some(fix), ..reason }
}

fn input_reason(map: &str, input: MapInput) -> Reason {
    let fix = match input {
        MapInput::MaxEntries => format!("--max-entries {map}=N, or bpf_map__set_max_entries()"),
        MapInput::KeySize => {
            "bpf_map__set_key_size() before the load, or a key type in the definition".into()
        }
        MapInput::ValueSize => {
            "bpf_map__set_value_size() before the load, or a value type in the definition".into()
        }
        MapInput::InnerMap => {
            "bpf_map__set_inner_map_fd() before the load, or `values` in the definition".into()
        }
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
