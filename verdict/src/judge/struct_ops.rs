//! The members of struct_ops maps, compared with the kernel's structs.

use super::{
    answers::KernelAnswers,
    model::{Reason, ReasonKind, Requirement, Verdict},
};
use crate::{
    kernel::{Evidence, EvidenceSource},
    requirements::{Need, ObjectNeeds, replace_members},
};
use core_relo::{
    Name,
    btf::{Btf, Type},
    explain::text,
};
use core_relo_object::{
    MapIndex,
    link::MapSource,
    load_plan::{LoadPlanError, StructOpsMatcher},
};

/// Returns the reasons of struct_ops maps whose members do not fit the kernel's struct. libbpf refuses the
/// object.
pub(super) fn reasons(needs: &ObjectNeeds<'_, '_>, answers: &KernelAnswers<'_, '_>) -> Vec<Reason> {
    let Some(btf) = needs.object.btf() else { return Vec::new() };
    // An error is one of the object's contents, and a reason already.
    let Ok(tables) = needs.linker.struct_ops_tables() else { return Vec::new() };
    let mut matcher = StructOpsMatcher::default();
    let mut reasons = Vec::new();
    for (index, need) in needs.maps.iter().enumerate() {
        let Some(map) = need.struct_ops else { continue };
        let Ok(found) = tables.binary_search_by_key(&map, |(table, _)| *table) else { continue };
        let Some((_, table)) = tables.get(found) else { continue };
        let mut structs = need.needs.iter().filter_map(|id| match answers.need(*id) {
            Some(Need::StructOps(name)) => Some((*id, answers.facts.struct_ops_structs(name)?)),
            _ => None,
        });
        let Some((id, (value, programs))) = structs.next() else { continue };
        let mut table = table.clone();
        if let Some(data) = needs.data.get(&map) {
            table.set_data(data.clone());
        }
        let members = needs.struct_ops_members.get(&map);
        let replaced = members.map_or(Ok(()), |members| replace_members(needs.object, &mut table, members));
        let result = replaced.and_then(|()| matcher.check(btf, &table, value, programs));
        let Err(error) = result else { continue };
        let requirement = match missing_member(&error, btf, needs, map) {
            Some(member) => Requirement::StructOpsMember { map: index, need: id, member },
            None => Requirement::MapNeed { map: index, need: id },
        };
        let is_complete = answers.facts.describes_bpf_functions();
        reasons.push(reason(&error, value, is_complete).with_requirement(requirement));
    }
    reasons
}

/// Returns the index of the member that the kernel's struct does not have.
fn missing_member(
    error: &LoadPlanError,
    btf: &Btf<'_>,
    needs: &ObjectNeeds<'_, '_>,
    map: MapIndex,
) -> Option<u32> {
    let LoadPlanError::MissingStructOpsMember { member: name, .. } = error else { return None };
    let MapSource::StructOps(table) = needs.linker.maps().get(map.0)?.source else { return None };
    let mut members = btf.strip(table.ty).ok()?.members();
    let member = members.find(|member| member.name.as_bytes() == name.as_bytes())?;
    Some(member.index)
}

/// Returns the reason of a table that does not fit the kernel's struct. Reduced BTF may lack members that the
/// kernel has.
fn reason(error: &LoadPlanError, value: Type<'_>, is_complete: bool) -> Reason {
    if !is_complete {
        let text = format!("{error}: the kernel's complete BTF, because the given one is reduced");
        return Reason::new(ReasonKind::StructOps, Verdict::Unknown, text);
    }
    let name = text(Name::new(value.name().as_bytes()).shortened());
    let evidence = Evidence { source: EvidenceSource::Btf, text: format!("struct {name}") };
    Reason::new(ReasonKind::StructOps, Verdict::Refused, error.to_string()).with_evidence(evidence)
}
