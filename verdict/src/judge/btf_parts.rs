//! The types that cilium/ebpf sends with each map and program, if the kernel refuses some of them.

use super::{
    answers::KernelAnswers,
    btf::{SOME_KERNELS, rule_of_all},
    model::{Reason, ReasonKind, Verdict},
};
use crate::{
    kernel::Evidence,
    loaders::BtfPolicy,
    requirements::{MapNeed, ObjectNeeds, ProgramNeeds},
};
use core_relo::{
    TypeId,
    btf::{Btf, BtfViolation, KernelBtfRules, Kind, Type},
};
use core_relo_object::{InternalError, link::MapSource};
use hashbrown::HashSet;

/// The types of an object that a kernel refuses, for a loader that sends only those of a map or program.
#[derive(Debug)]
pub(super) struct RefusedTypes {
    types: Vec<RefusedType>,
    /// The evidence for rules that only some kernels have. `None` if nothing tells the kernel's release.
    evidence: Option<Evidence>,
}

/// A type that the kernel refuses.
#[derive(Debug)]
struct RefusedType {
    id: TypeId,
    verdict: Verdict,
    violation: BtfViolation,
}

impl RefusedTypes {
    /// Returns the types that the kernel refuses. Returns `None` if there are none, or for a loader that
    /// sends the whole BTF.
    pub(super) fn find(
        needs: &ObjectNeeds<'_, '_>,
        answers: &KernelAnswers<'_, '_>,
    ) -> Result<Option<Self>, InternalError> {
        if needs.loader.btf_policy() != BtfPolicy::Parts {
            return Ok(None);
        }
        let facts = &answers.facts;
        let (rules, newest) = (facts.btf_rules(), KernelBtfRules::newest());
        if needs.btf.is_clean(&rules, if facts.has_version() { &rules } else { &newest })? {
            return Ok(None);
        }
        let own = needs.btf.all_violations(&rules)?;
        let newest = needs.btf.all_violations(&newest)?;
        let verdict = |violation: &BtfViolation| {
            let is_certain = BtfPolicy::keeps_in_parts(violation) && newest.list().contains(violation);
            if is_certain { Verdict::Refused } else { Verdict::Unknown }
        };
        let types = own.list().iter().filter_map(|violation| {
            let id = violation.ty.as_ref()?.id;
            Some(RefusedType { id, verdict: verdict(violation), violation: violation.clone() })
        });
        let evidence = facts.version().map(|(_, evidence)| evidence);
        Ok(Some(Self { types: types.collect(), evidence }))
    }

    /// Returns the reasons of maps whose keys or values have such a type.
    pub(super) fn map_reasons(&self, needs: &ObjectNeeds<'_, '_>) -> Vec<Reason> {
        let reason = |map: &MapNeed| {
            let found = self.find_in(needs.object.btf()?, &map_types(needs, map))?;
            let reason = self.reason(found, &format!("map {}", map.name));
            Some(Reason { map: Some(map.name.clone()), ..reason })
        };
        needs.maps.iter().filter_map(reason).collect()
    }

    /// Returns the reason of a program whose functions have such a type.
    pub(super) fn program_reason(
        &self,
        needs: &ObjectNeeds<'_, '_>,
        program: &ProgramNeeds,
    ) -> Option<Reason> {
        let linked = program.code.as_ref().ok()?;
        let roots: Vec<_> = linked.func_info.iter().map(|[_, ty]| TypeId(*ty)).collect();
        let found = self.find_in(needs.object.btf()?, &roots)?;
        Some(self.reason(found, "the program"))
    }

    /// Returns the first of the types to which these types refer, or one of them.
    fn find_in(&self, btf: &Btf<'_>, roots: &[TypeId]) -> Option<&RefusedType> {
        let (mut pending, mut known) = (roots.to_vec(), HashSet::new());
        while let Some(id) = pending.pop() {
            if let Some(ty) = btf.ty(id).filter(|_| known.insert(id)) {
                ty.for_each_reference(|id| pending.push(id));
            }
        }
        let is_sent = |found: &&RefusedType| known.contains(&found.id);
        let mut certain = self.types.iter().filter(|found| found.verdict == Verdict::Refused);
        certain.find(is_sent).or_else(|| self.types.iter().find(is_sent))
    }

    fn reason(&self, found: &RefusedType, subject: &str) -> Reason {
        let RefusedType { verdict, violation, .. } = found;
        let (certainty, evidence, question) = match (verdict, &self.evidence) {
            (Verdict::Refused, _) => ("refuses", Some(rule_of_all()), String::new()),
            (_, Some(evidence)) => ("may refuse", Some(evidence.clone()), String::new()),
            (_, None) => ("may refuse", None, format!(": {SOME_KERNELS}")),
        };
        let text =
            format!("{subject}: cilium/ebpf sends a type that the kernel {certainty}: {violation}{question}");
        Reason { evidence, ..Reason::new(ReasonKind::Btf, *verdict, text) }
            .with_fix("a loader that repairs the BTF, such as core-relo")
            .repaired()
    }
}

/// Returns the types that the loader sends with a map: those of the keys and values, or of a data section.
fn map_types(needs: &ObjectNeeds<'_, '_>, map: &MapNeed) -> Vec<TypeId> {
    let source = needs
        .map_index(&map.name)
        .and_then(|index| needs.linker.maps().get(index.0))
        .map(|entry| entry.source);
    match (source, &map.definition, needs.object.btf()) {
        (Some(MapSource::Data(section)), _, Some(btf)) => {
            let mut sections = btf.types().filter(|ty| ty.kind() == Kind::Datasec);
            sections.find(|ty| ty.name().as_bytes() == section.name).map(Type::id).into_iter().collect()
        }
        (_, Some(def), _) => [def.key_type, def.value_type].into_iter().flatten().collect(),
        _ => Vec::new(),
    }
}
