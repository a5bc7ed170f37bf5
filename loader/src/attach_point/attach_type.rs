//! The words for attach types.

use core_relo_object::object::{AttachType, ProgramType, SEC_DEFS};

/// Returns the shortest word for an attach type: the end of a section's name (`connect4`), or else its name.
pub fn attach_type_word(attach_type: AttachType) -> String {
    let sections = SEC_DEFS.iter().filter(|def| def.attach_type == Some(attach_type));
    let words = sections.filter_map(|def| def.name.rsplit_once('/')).map(|(_, end)| end.to_owned());
    let name = attach_type.short_name();
    let of_cgroup = name.strip_prefix("cgroup_").map(str::to_owned);
    let mut words = words.chain(of_cgroup);
    let is_found = |word: &String| find_attach_type(word, &[attach_type]) == Some(attach_type);
    words.find(is_found).unwrap_or(name)
}

/// Finds an attach type among candidates: by its name (`cgroup_inet4_connect`), by the end of a section's
/// name (`connect4`), or by its name without `cgroup_` (`device`).
pub(super) fn find_attach_type(word: &str, candidates: &[AttachType]) -> Option<AttachType> {
    if let Some(named) = candidates.iter().find(|candidate| candidate.short_name() == word) {
        return Some(*named);
    }
    let by_section =
        SEC_DEFS.iter().filter(|def| def.name.rsplit_once('/').is_some_and(|(_, end)| end == word));
    let by_section = by_section.filter_map(|def| def.attach_type).find(|found| candidates.contains(found));
    let of_cgroup = format!("cgroup_{word}");
    by_section.or_else(|| candidates.iter().copied().find(|candidate| candidate.short_name() == of_cgroup))
}

/// Returns the attach types of cgroups.
pub fn cgroup_attach_types() -> impl Iterator<Item = AttachType> {
    AttachType::ALL.iter().copied().filter(|attach_type| is_of_cgroup(*attach_type))
}

/// Returns whether programs of an attach type are attached to cgroups.
pub(super) fn is_of_cgroup(attach_type: AttachType) -> bool {
    attach_type == AttachType::LsmCgroup || attach_type.name().starts_with("BPF_CGROUP_")
}

/// Returns the attach types of sockmaps and sockhashes.
pub fn sockmap_attach_types() -> impl Iterator<Item = AttachType> {
    use AttachType as A;
    [A::SkMsgVerdict, A::SkSkbStreamParser, A::SkSkbStreamVerdict, A::SkSkbVerdict].into_iter()
}

/// Returns the attach types of a program type among candidates, by libbpf's table of section names.
pub fn attach_types_of(program_type: ProgramType, candidates: &[AttachType]) -> Vec<AttachType> {
    let of_type = SEC_DEFS.iter().filter(|def| def.program_type == program_type);
    let mut types: Vec<_> = of_type.filter_map(|def| def.attach_type).collect();
    types.retain(|attach_type| candidates.contains(attach_type));
    types.sort();
    types.dedup();
    types
}

/// Returns the attach type of a program of network namespaces.
pub fn netns_attach_type(program_type: ProgramType) -> AttachType {
    match program_type {
        ProgramType::SkLookup => AttachType::SkLookup,
        _ => AttachType::FlowDissector,
    }
}
