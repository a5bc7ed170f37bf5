//! All facts about a kernel as a list, and contradictions between them.

use super::{
    answer::Answer,
    changes::{InsnFeature, RELEASES},
    facts::KernelFacts,
    mark::MarkPresence,
};
use core_relo_object::object::{KernelFeature, MapType, ProgramType};

/// A fact about a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fact {
    /// The kind of the fact: `program type`, `map type`, `instructions`, `verifier`.
    pub kind: &'static str,
    /// The subject, such as `BPF_MAP_TYPE_ARENA`.
    pub subject: &'static str,
    /// The answer.
    pub answer: Answer,
}

impl KernelFacts<'_> {
    /// Answers whether the kernel has one of the features with a name. A type of attachments is answered by
    /// [`attachment`](Self::attachment).
    pub fn offers(&self, feature: KernelFeature) -> Answer {
        match feature {
            KernelFeature::ProgramType(ty) => self.program_type(ty.number()),
            KernelFeature::MapType(ty) => self.map_type(ty.number()),
            KernelFeature::Helper(helper) => self.helper(helper),
            KernelFeature::AttachType(ty) => self.attachment(ty),
            KernelFeature::LinkType(ty) => self.link(ty),
            KernelFeature::Feature(feature) => self.feature(feature),
            _ => Answer::Unknown(format!("no evidence is known for {}", feature.name())),
        }
    }

    /// Returns the facts that do not depend on an object.
    pub fn list(&self) -> Vec<Fact> {
        let fact = |kind, subject, answer| Fact { kind, subject, answer };
        let verifier = [
            ("programs that sleep", self.sleepable_programs()),
            ("trampolines", self.trampolines()),
            ("JIT compiler", self.jit()),
            ("BTF of modules", self.module_btf()),
            ("verification of uncalled global functions", self.verifies_uncalled_functions()),
        ];
        ProgramType::offered()
            .map(|ty| fact("program type", ty.name(), self.program_type(ty.number())))
            .chain(MapType::offered().map(|ty| fact("map type", ty.name(), self.map_type(ty.number()))))
            .chain(
                InsnFeature::ALL
                    .iter()
                    .map(|set| fact("instructions", set.name(), self.instruction_set(*set))),
            )
            .chain(verifier.into_iter().map(|(subject, answer)| fact("verifier", subject, answer)))
            .collect()
    }

    /// Returns the number of helpers in the kernel's enum. 0 if the BTF has no `enum bpf_func_id`.
    pub fn helper_count(&self) -> usize {
        self.helpers.len()
    }

    /// Returns the contradictions between the given version and the kernel's BTF.
    ///
    /// Distributions backport features to older versions, and such a kernel is described better by its BTF.
    pub fn contradictions(&self) -> Vec<String> {
        let Some(version) = self.inputs.version else { return Vec::new() };
        let marks = RELEASES.iter().filter_map(|change| Some((change.release, *change.marks.first()?)));
        let newer = marks.clone().filter(|(release, _)| *release > version);
        let newest = newer.filter(|(_, mark)| self.find_mark(*mark) == MarkPresence::Found).last();
        let mut older = marks.filter(|(release, _)| *release <= version);
        let oldest = older.find(|(_, mark)| self.find_mark(*mark) == MarkPresence::Missing);
        let newest = newest.map(|(release, mark)| {
            format!("the given version is {version}, but the BTF is of Linux {release} or later: {mark}")
        });
        let oldest = oldest.map(|(release, mark)| {
            format!(
                "the given version is {version}, but the BTF is of a kernel before {release}: {}",
                mark.absence()
            )
        });
        newest.into_iter().chain(oldest).collect()
    }
}
