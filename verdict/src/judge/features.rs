//! The features of a kernel that an object needs.

use super::answers::KernelAnswers;
use crate::{
    kernel::Answer,
    requirements::{AttachPointKind, Need, NeedId, ObjectNeeds, ProgramNeeds, TargetKind},
};
use alloc::collections::BTreeMap;

/// A feature that an object needs, and whether the kernel has the feature.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct NeededFeature {
    /// The feature: `helper bpf_loop`, `map type BPF_MAP_TYPE_RINGBUF`, ``function `do_unlinkat` ``.
    pub name: String,
    /// The answer of the kernel.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub answer: Answer,
    /// The programs that the feature attaches after the load. They load without the feature, too.
    pub attaches: Vec<String>,
    /// Whether the feature is the place that the programs' sections name. A caller may attach them elsewhere.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub is_place: bool,
}

impl KernelAnswers<'_, '_> {
    /// Returns the features that an object needs, by name: those of all its programs, maps and externs,
    /// whether or not they are part of a load. A feature that the kernel has for some program types only is
    /// one that the kernel lacks for the others.
    pub fn features(&self, needs: &ObjectNeeds<'_, '_>) -> Vec<NeededFeature> {
        let programs = needs.programs.iter().flat_map(|program| {
            program.attach.needs().iter().copied().chain(program.sites.iter().map(|site| site.need))
        });
        let refused = needs.programs.iter().filter_map(|program| {
            let attach_type = program.sec_def.and_then(|def| def.attach_type)?;
            let evidence = self.facts.refused_by_policy(attach_type)?;
            Some((format!("programs of attach type {attach_type}"), Answer::Absent(evidence)))
        });
        let maps = needs.maps.iter().flat_map(|map| map.needs.iter().copied());
        let externs = needs.externs.iter().map(|needed| needed.id);
        let mut features: BTreeMap<_, _> = refused.collect();
        let is_refused = !features.is_empty();
        for id in programs.chain(maps).chain(externs) {
            let Some((name, answer)) = self.feature(id) else { continue };
            // The kernel's own types and functions say nothing about the policy of the machine.
            if matches!(self.need(id), Some(Need::Trampolines)) && is_refused {
                continue;
            }
            let known = features.entry(name).or_insert_with(|| answer.clone());
            if known.is_present() {
                *known = answer.clone();
            }
        }
        let feature = |(name, answer)| NeededFeature { name, answer, attaches: Vec::new(), is_place: false };
        let mut features: Vec<_> = features.into_iter().map(feature).collect();
        features.extend(self.attach_features(needs));
        features
    }

    /// Returns the features that attach programs of an object after the load, and that a load does not check.
    fn attach_features(&self, needs: &ObjectNeeds<'_, '_>) -> impl Iterator<Item = NeededFeature> {
        let mut features: BTreeMap<String, NeededFeature> = BTreeMap::new();
        for program in &needs.programs {
            for feature in self.attach_features_of(program) {
                let known = features.entry(feature.name.clone()).or_insert(feature);
                known.attaches.push(program.name.clone());
            }
        }
        features.into_values()
    }

    /// Returns the features that attach a program after the load, if the load does not check them: those of
    /// its kind of place, and the place itself.
    pub(super) fn attach_features_of(&self, program: &ProgramNeeds) -> impl Iterator<Item = NeededFeature> {
        let attach_type = program.sec_def.and_then(|def| def.attach_type);
        let by_type = attach_type.and_then(|of| {
            Some((format!("links of attach type {of}"), self.facts.attachment_after_load(of)?))
        });
        let is_probe = program.attach_point.as_ref().is_some_and(|point| is_kprobe(point.kind));
        let by_kind =
            by_type.or_else(|| is_probe.then(|| ("kprobe events".to_owned(), self.facts.kprobe_events())));
        let by_trampoline = || {
            let missing = self.traces_function(program).then(|| self.facts.missing_direct_calls()).flatten();
            missing.map(|evidence| ("trampolines of its own functions".to_owned(), Answer::Absent(evidence)))
        };
        let by_kind = by_kind.or_else(by_trampoline).map(|(name, answer)| (name, answer, false));
        let place = program.attaches_by.and_then(|id| self.feature(id));
        let place = place.map(|(name, answer)| (name, answer.clone(), true));
        let feature =
            |(name, answer, is_place)| NeededFeature { name, answer, attaches: Vec::new(), is_place };
        by_kind.into_iter().chain(place).map(feature)
    }

    /// Returns whether a trampoline of a kernel function or LSM hook runs the program.
    fn traces_function(&self, program: &ProgramNeeds) -> bool {
        let is_traced = |id: &NeedId| {
            matches!(
                self.need(*id),
                Some(Need::AttachTarget { kind: TargetKind::Function | TargetKind::Lsm, .. })
            )
        };
        program.attach.needs().iter().any(is_traced)
    }

    fn feature(&self, id: NeedId) -> Option<(String, &Answer)> {
        let (need, answer) = (self.need(id)?, self.get(id)?);
        // The license, broken rules, and what the program does with its maps are properties of the object.
        (!matches!(
            need,
            Need::License(_)
                | Need::MapUse { .. }
                | Need::InsnRule(_)
                | Need::FunctionRule { .. }
                | Need::ContextArgument(_)
        ))
        .then(|| (need.text(), answer))
    }
}

/// Returns whether programs are attached to a kind of place by a kprobe event.
const fn is_kprobe(kind: AttachPointKind) -> bool {
    use AttachPointKind as K;
    matches!(kind, K::Function | K::FunctionReturn | K::SystemCall | K::SystemCallReturn)
}
