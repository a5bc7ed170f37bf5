//! The features that the command answers: their sections and names.

use crate::{args::feature::Section, describe::short_type_name};
use core_relo::insn::Helper;
use core_relo_loader::{
    features::Feature,
    object::{AttachType, LinkType, MapType, ProgramType},
};
use core_relo_verdict::kernel::{KernelNumber, KernelVersion, feature_release};

use super::{kconfig::OPTIONS, system::Setting};

/// The subject of a question to a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    ProgramType(ProgramType),
    MapType(MapType),
    Helper(u32),
    AttachType(AttachType),
    LinkType(LinkType),
    Kfunc,
    Feature(Feature),
    /// What attaches programs to functions and LSM hooks.
    Trampolines,
    /// What attaches programs to kprobes.
    KprobeEvents,
    Option,
    Setting(Setting),
    /// The bpffs mounts that delegate to tokens.
    Delegation,
}

/// A feature with its section and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) section: Section,
    pub(super) name: String,
    pub(super) subject: Subject,
}

impl Entry {
    fn new(section: Section, name: &str, subject: Subject) -> Self {
        Self { section, name: name.to_owned(), subject }
    }

    pub(super) fn kfunc(name: &str) -> Self {
        Self::new(Section::Kfuncs, name, Subject::Kfunc)
    }

    /// Returns the mainline release that added the feature.
    pub(super) fn release(&self) -> Option<KernelVersion> {
        match self.subject {
            Subject::Feature(feature) => feature_release(feature),
            _ => None,
        }
    }

    /// Returns the oldest observed kernel that has the feature.
    pub(super) fn first_observed(&self) -> Option<KernelVersion> {
        let number = match &self.subject {
            Subject::ProgramType(ty) => KernelNumber::ProgramType(ty.number()),
            Subject::MapType(ty) => KernelNumber::MapType(ty.number()),
            Subject::Helper(number) => KernelNumber::Helper(*number),
            Subject::AttachType(ty) => KernelNumber::AttachType(ty.number()),
            Subject::LinkType(ty) => KernelNumber::LinkType(ty.number()),
            _ => return None,
        };
        number.first_observed()
    }
}

/// Returns the section of a feature.
const fn section_of(feature: Feature) -> Section {
    use Feature as F;
    match feature {
        F::Btf
        | F::BtfFunc
        | F::BtfGlobalFunc
        | F::BtfDatasec
        | F::BtfFloat
        | F::BtfDeclTag
        | F::BtfTypeTag
        | F::BtfEnum64
        | F::BtfQmarkDatasec
        | F::ModuleBtf => Section::Btf,
        F::LargePrograms
        | F::BoundedLoops
        | F::IsaV2
        | F::IsaV3
        | F::IsaV4
        | F::Atomics
        | F::Callbacks
        | F::KfuncCalls
        | F::MayGoto
        | F::LoadAcquireStoreRelease
        | F::ArgCtxTag
        | F::FullRangeOffset => Section::Verifier,
        F::Token => Section::Token,
        _ => Section::Loading,
    }
}

/// Returns the features of every kernel, without kfuncs: those depend on the kernel.
pub(super) fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut add = |section, name: &str, subject| entries.push(Entry::new(section, name, subject));
    for ty in ProgramType::ALL.iter().filter(|ty| ty.number() != 0) {
        add(Section::ProgramTypes, &short_type_name(ty.name()), Subject::ProgramType(*ty));
    }
    for ty in MapType::ALL.iter().filter(|ty| ty.number() != 0) {
        add(Section::MapTypes, &short_type_name(ty.name()), Subject::MapType(*ty));
    }
    for (number, name) in (1..).map_while(|number| Some((number, Helper(number).name()?))) {
        add(Section::Helpers, &format!("bpf_{name}"), Subject::Helper(number));
    }
    for ty in AttachType::ALL {
        add(Section::AttachTypes, &short_type_name(ty.name()), Subject::AttachType(*ty));
    }
    for ty in LinkType::ALL.iter().filter(|ty| ty.number() != 0) {
        add(Section::Links, &short_type_name(ty.name()), Subject::LinkType(*ty));
    }
    for feature in Feature::ALL {
        add(section_of(*feature), feature.name(), Subject::Feature(*feature));
    }
    add(Section::Loading, "trampolines", Subject::Trampolines);
    add(Section::Loading, "kprobe_events", Subject::KprobeEvents);
    for option in OPTIONS {
        add(Section::Config, option, Subject::Option);
    }
    for setting in Setting::ALL {
        add(Section::System, setting.name(), Subject::Setting(setting));
    }
    add(Section::Token, "delegation", Subject::Delegation);
    entries.sort_by_key(|entry| Section::ALL.iter().position(|section| *section == entry.section));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_section_has_features_and_each_name_is_unique_in_its_section() {
        let entries = entries();
        for section in Section::ALL.iter().filter(|section| **section != Section::Kfuncs) {
            let mut names: Vec<_> =
                entries.iter().filter(|e| e.section == *section).map(|e| &e.name).collect();
            let count = names.len();
            names.sort();
            names.dedup();
            assert!(count > 0 && names.len() == count, "{}", section.name());
        }
    }
}
