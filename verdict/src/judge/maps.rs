//! The reasons that come from maps.

use super::{
    answers::KernelAnswers,
    model::{Reason, ReasonKind, Requirement, Verdict},
};
use crate::{
    kernel::{Answer, Evidence, EvidenceSource, ProgramFeature},
    requirements::{MapDefError, MapInput, MapNeed, MapRule, Need, NeedId},
};
use core_relo_object::{
    load_plan::inner_map_name,
    map_limits::{ExceededLimit, MapLimit},
};

/// Returns the reasons why a map is not created.
pub(super) fn reasons(index: usize, map: &MapNeed, answers: &KernelAnswers<'_, '_>) -> Vec<Reason> {
    let mut reasons: Vec<_> =
        map.needs.iter().filter_map(|need| need_reason(index, map, *need, answers)).collect();
    reasons.extend(token_reason(map, answers));
    reasons.extend(map.errors.iter().map(|error| definition_reason(&map.name, *error)));
    reasons.extend(map.limits.iter().filter_map(|limit| limit_reason(&map.name, *limit, answers)));
    reasons.extend(map.inputs.iter().map(|input| {
        input_reason(&map.name, *input).with_requirement(Requirement::MapInput { map: index, input: *input })
    }));
    for reason in &mut reasons {
        reason.map = Some(map.name.clone());
    }
    reasons
}

/// Returns the reasons why maps are not created with the types of their values.
pub(super) fn field_reasons(maps: &[MapNeed], answers: &KernelAnswers<'_, '_>) -> Vec<Reason> {
    let reasons = maps.iter().enumerate().flat_map(|(index, map)| {
        let reason = move |need: &NeedId| {
            Some(Reason { map: Some(map.name.clone()), ..need_reason(index, map, *need, answers)? })
        };
        map.field_needs.iter().filter_map(reason)
    });
    reasons.collect()
}

fn need_reason(index: usize, map: &MapNeed, need: NeedId, answers: &KernelAnswers<'_, '_>) -> Option<Reason> {
    let reason = answers.reason(need)?;
    let requirement = Some(Requirement::MapNeed { map: index, need });
    Some(Reason { text: format!("map {}: {}", map.name, reason.text), requirement, ..reason })
}

/// Returns the reason of a map with the flag for BPF tokens on a kernel that knows it. The kernel refuses the
/// flag without a token, and a load with all privileges has none (kernel: `bpf_token_create`).
fn token_reason(map: &MapNeed, answers: &KernelAnswers<'_, '_>) -> Option<Reason> {
    let is_token =
        |need: &&NeedId| matches!(answers.need(**need), Some(Need::Feature(ProgramFeature::MapToken)));
    let need = map.needs.iter().find(is_token).filter(|_| !map.has_token)?;
    if !answers.get(*need)?.is_present() {
        return None;
    }
    let text = format!("map {}: BPF_F_TOKEN_FD demands a BPF token, which user space must give", map.name);
    let evidence =
        Evidence { source: EvidenceSource::Object, text: format!("the definition of {}", map.name) };
    let fix =
        "remove BPF_F_TOKEN_FD from map_flags: loaders set it in loads with a token, such as `load --token`";
    Some(Reason::new(ReasonKind::MapFlag, Verdict::NeedsInput, text).with_evidence(evidence).with_fix(fix))
}

fn definition_reason(map: &str, error: MapDefError) -> Reason {
    let (kind, fix) = match error.rule {
        MapRule::FlagMissing(flag) => (ReasonKind::MapFlag, format!("add {flag} to map_flags")),
        MapRule::FlagRefused(flag) => (ReasonKind::MapFlag, format!("remove {flag} from map_flags")),
        MapRule::FlagUnknown(_) => (ReasonKind::MapFlag, "remove the flag from map_flags".into()),
        MapRule::FlagsExclude(one, other) => {
            (ReasonKind::MapFlag, format!("remove {one} or {other} from map_flags"))
        }
        MapRule::Extra { .. } => (ReasonKind::MapSize, "change map_extra in the definition".into()),
        MapRule::NumaNode { .. } => (ReasonKind::MapSize, "change numa_node in the definition".into()),
        MapRule::TypesMissing => {
            (ReasonKind::MapSize, "`__type(key, int)` and `__type(value, …)` in place of sizes".into())
        }
        MapRule::KeyType => (ReasonKind::MapFlag, "__type(key, int)".into()),
        MapRule::NotStructOps => {
            (ReasonKind::MapType, "define the struct in SEC(\".struct_ops\"), in place of the map".into())
        }
        MapRule::NotInner => (ReasonKind::MapType, "inner maps of another type".into()),
        MapRule::Missing(attribute) => (
            ReasonKind::MapSize,
            format!(
                "--{} {}=N, or {} in the definition, or bpf_map__inner_map() and its setters",
                attribute.name().replace('_', "-"),
                inner_map_name(map),
                attribute.name()
            ),
        ),
        MapRule::Size { attribute, .. } => {
            (ReasonKind::MapSize, format!("change {} in the definition", attribute.name()))
        }
    };
    let evidence = Evidence { source: EvidenceSource::Object, text: format!("the definition of {map}") };
    let verdict = match error.rule {
        // A newer kernel may have the flag.
        MapRule::FlagUnknown(_) => Verdict::Unknown,
        MapRule::Missing(_) => Verdict::NeedsInput,
        _ => Verdict::Refused,
    };
    Reason::new(kind, verdict, format!("map {map}: {error}")).with_evidence(evidence).with_fix(fix)
}

/// Returns the reason why a definition exceeds a limit of the kernel.
fn limit_reason(
    map: &str,
    ExceededLimit { is_inner, map_type, limit }: ExceededLimit,
    answers: &KernelAnswers<'_, '_>,
) -> Option<Reason> {
    let place = if is_inner { format!("map {map}: inner map") } else { format!("map {map}") };
    let attribute = limit.attribute();
    let fix = match limit {
        MapLimit::StackFrames { .. } => {
            "127 frames in value_size, or a larger kernel.perf_event_max_stack".to_owned()
        }
        _ => format!("change {attribute} in the definition"),
    };
    let (verdict, text, evidence) = match answers.facts.map_limit(limit) {
        Answer::Present(_) => return None,
        Answer::Absent(evidence) => (
            Verdict::Refused,
            format!("{place}: {attribute} does not fit {map_type}: {limit}"),
            Some(evidence),
        ),
        Answer::Unknown(question) => {
            let text = format!("{place}: {attribute} may not fit {map_type}: {limit}: {question}");
            (Verdict::Unknown, text, None)
        }
    };
    Some(Reason { evidence, ..Reason::new(ReasonKind::MapSize, verdict, text) }.with_fix(fix))
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
