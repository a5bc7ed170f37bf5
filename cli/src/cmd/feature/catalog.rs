//! The features that the command answers: their sections and names.

use crate::args::feature::Section;
use core_relo_loader::{
    features::{Feature, SystemSetting},
    object::KernelFeature,
};
use core_relo_verdict::kernel::{BPF_OPTIONS, KernelVersion, feature_release, first_observed};

/// The subject of a question to a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Kernel(KernelFeature),
    Kfunc,
    /// What attaches programs to functions and LSM hooks.
    Trampolines,
    /// What attaches programs to kprobes.
    KprobeEvents,
    Option,
    Setting(SystemSetting),
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
    pub(super) fn kfunc(name: &str) -> Self {
        Self { section: Section::Kfuncs, name: name.to_owned(), subject: Subject::Kfunc }
    }

    /// Returns the mainline release that added the feature.
    pub(super) fn release(&self) -> Option<KernelVersion> {
        match self.subject {
            Subject::Kernel(KernelFeature::Feature(feature)) => feature_release(feature),
            _ => None,
        }
    }

    /// Returns the oldest observed kernel that has the feature.
    pub(super) fn first_observed(&self) -> Option<KernelVersion> {
        match self.subject {
            Subject::Kernel(feature) => first_observed(feature),
            _ => None,
        }
    }
}

/// Returns the section of a feature.
const fn section_of(feature: KernelFeature) -> Section {
    use Feature as F;
    match feature {
        KernelFeature::ProgramType(_) => Section::ProgramTypes,
        KernelFeature::MapType(_) => Section::MapTypes,
        KernelFeature::Helper(_) => Section::Helpers,
        KernelFeature::AttachType(_) => Section::AttachTypes,
        KernelFeature::LinkType(_) => Section::Links,
        KernelFeature::Feature(
            F::Btf
            | F::BtfFunc
            | F::BtfGlobalFunc
            | F::BtfDatasec
            | F::BtfFloat
            | F::BtfDeclTag
            | F::BtfTypeTag
            | F::BtfEnum64
            | F::BtfQmarkDatasec
            | F::ModuleBtf,
        ) => Section::Btf,
        KernelFeature::Feature(
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
            | F::FullRangeOffset,
        ) => Section::Verifier,
        KernelFeature::Feature(F::Token) => Section::Token,
        _ => Section::Loading,
    }
}

/// Returns the features of every kernel, without kfuncs: those depend on the kernel.
pub(super) fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut add = |section, name: String, subject| entries.push(Entry { section, name, subject });
    for feature in KernelFeature::all() {
        add(section_of(feature), feature.name(), Subject::Kernel(feature));
    }
    add(Section::Loading, "trampolines".into(), Subject::Trampolines);
    add(Section::Loading, "kprobe_events".into(), Subject::KprobeEvents);
    for option in BPF_OPTIONS {
        add(Section::Config, (*option).into(), Subject::Option);
    }
    for setting in SystemSetting::ALL {
        add(Section::System, setting.name().into(), Subject::Setting(*setting));
    }
    add(Section::Token, "delegation".into(), Subject::Delegation);
    entries.sort_by_key(|entry| entry.section);
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum as _;

    #[test]
    fn each_section_has_features_and_each_name_is_unique_in_its_section() {
        let entries = entries();
        for section in Section::value_variants().iter().filter(|section| **section != Section::Kfuncs) {
            let mut names: Vec<_> =
                entries.iter().filter(|e| e.section == *section).map(|e| &e.name).collect();
            let count = names.len();
            names.sort();
            names.dedup();
            assert!(count > 0 && names.len() == count, "{}", section.name());
        }
    }
}
