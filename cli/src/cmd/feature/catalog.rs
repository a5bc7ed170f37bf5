//! The features that the command answers: sections, names, and the search by name.

use crate::{args::feature::Section, describe::short_type_name, error::BadInput, glob::Glob};
use core_relo::insn::helper_name;
use core_relo::sort::{sort_by, sort_by_key};
use core_relo_loader::{
    features::Feature,
    object::{AttachType, LinkType, MapType, ProgramType},
};
use core_relo_verdict::kernel::{KernelNumber, KernelVersion, feature_release, known_kfuncs};

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
    fn new(section: Section, name: impl Into<String>, subject: Subject) -> Self {
        Self { section, name: name.into(), subject }
    }

    pub(super) fn kfunc(name: impl Into<String>) -> Self {
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
    let program_types = ProgramType::ALL.iter().filter(|ty| ty.number() != 0);
    entries.extend(
        program_types.map(|ty| {
            Entry::new(Section::ProgramTypes, short_type_name(ty.name()), Subject::ProgramType(*ty))
        }),
    );
    let map_types = MapType::ALL.iter().filter(|ty| ty.number() != 0);
    entries.extend(
        map_types.map(|ty| Entry::new(Section::MapTypes, short_type_name(ty.name()), Subject::MapType(*ty))),
    );
    let helpers = (1..).map_while(|number| Some((number, helper_name(number)?)));
    entries.extend(
        helpers.map(|(number, name)| {
            Entry::new(Section::Helpers, format!("bpf_{name}"), Subject::Helper(number))
        }),
    );
    entries.extend(
        AttachType::ALL
            .iter()
            .map(|ty| Entry::new(Section::AttachTypes, short_type_name(ty.name()), Subject::AttachType(*ty))),
    );
    let links = LinkType::ALL.iter().filter(|ty| ty.number() != 0);
    entries.extend(
        links.map(|ty| Entry::new(Section::Links, short_type_name(ty.name()), Subject::LinkType(*ty))),
    );
    entries.extend(
        Feature::ALL
            .iter()
            .map(|feature| Entry::new(section_of(*feature), feature.name(), Subject::Feature(*feature))),
    );
    entries.push(Entry::new(Section::Loading, "trampolines", Subject::Trampolines));
    entries.push(Entry::new(Section::Loading, "kprobe_events", Subject::KprobeEvents));
    entries.extend(OPTIONS.iter().map(|option| Entry::new(Section::Config, *option, Subject::Option)));
    entries.extend(
        Setting::ALL
            .iter()
            .map(|setting| Entry::new(Section::System, setting.name(), Subject::Setting(*setting))),
    );
    entries.push(Entry::new(Section::Token, "delegation", Subject::Delegation));
    sort_by_key(&mut entries, |entry| Section::ALL.iter().position(|section| *section == entry.section));
    entries
}

/// The kernel's prefixes of names, with the section that each stands for.
const PREFIXES: [(&str, Option<Section>); 5] = [
    ("bpf_prog_type_", Some(Section::ProgramTypes)),
    ("bpf_map_type_", Some(Section::MapTypes)),
    ("bpf_link_type_", Some(Section::Links)),
    ("bpf_func_", Some(Section::Helpers)),
    ("bpf_", None),
];

/// Splits a name into the section that its prefix stands for, and the rest, in lower case. Reports write spaces: `kprobe events`.
fn split_prefix(name: &str) -> (Option<Section>, String) {
    let lower = name.to_lowercase().replace(' ', "_");
    let found = PREFIXES
        .iter()
        .find_map(|(prefix, section)| Some((*section, lower.strip_prefix(prefix)?.to_owned())));
    found.unwrap_or((None, lower))
}

fn begins_with_bpf(name: &str) -> bool {
    name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("bpf_"))
}

/// A name that the user asks for: a name, or a pattern.
#[derive(Debug)]
pub(super) struct NameFilter {
    pub(super) given: String,
    section: Option<Section>,
    name: String,
    pattern: Option<Glob>,
}

impl NameFilter {
    pub(super) fn new(given: &str) -> Result<Self, BadInput> {
        let (section, name) = split_prefix(given);
        let is_pattern = given.contains(['*', '?']) || given.is_empty();
        let pattern = is_pattern.then(|| Glob::new(&name)).transpose();
        let pattern = pattern.map_err(|error| BadInput::new(given, error))?;
        Ok(Self { given: given.to_owned(), section, name, pattern })
    }

    /// Returns whether the filter is a single name, which may be that of a kfunc.
    pub(super) fn is_name(&self) -> bool {
        self.pattern.is_none()
    }

    pub(super) fn matches(&self, entry: &Entry) -> bool {
        if self.section.is_some_and(|section| section != entry.section) {
            return false;
        }
        // `bpf_prog_type` is no prefix of the name of a helper or kfunc.
        let (_, name) = split_prefix(&entry.name);
        match &self.pattern {
            // Of a pattern, `bpf_` without a section is part of the names that match.
            Some(_)
                if self.section.is_none()
                    && begins_with_bpf(&self.given)
                    && !begins_with_bpf(&entry.name) =>
            {
                false
            }
            Some(pattern) => pattern.matches(&name),
            None => name == self.name,
        }
    }
}

/// Returns whether a function of this name is a kfunc in some kernel.
pub(super) fn is_known_kfunc(name: &str) -> bool {
    known_kfuncs().any(|known| known == name)
}

/// Returns the names nearest to one that no feature has.
pub(super) fn nearest(name: &str, entries: &[Entry]) -> Vec<String> {
    const SHOWN: usize = 3;
    const ENOUGH: f64 = 0.8;
    const LONGEST: usize = 64;
    let (_, wanted) = split_prefix(name);
    if wanted.len() > LONGEST {
        return Vec::new();
    }
    let mut names: Vec<&str> = entries.iter().map(|entry| &*entry.name).collect();
    for kfunc in known_kfuncs() {
        names.push(kfunc);
    }
    // Two letters of a short name in the wrong order are a likely mistake, which the other measure takes for another name.
    let score = |name: &str| {
        let (_, name) = split_prefix(name);
        let is_close = strsim::damerau_levenshtein(&name, &wanted) <= 1;
        if is_close { 1.0 } else { strsim::jaro_winkler(&name, &wanted) }
    };
    let mut scored: Vec<_> =
        names.into_iter().map(|name| (score(name), name)).filter(|(score, _)| *score >= ENOUGH).collect();
    sort_by(&mut scored, |(a, x), (b, y)| b.total_cmp(a).then(x.cmp(y)));
    let mut names: Vec<_> = scored.into_iter().map(|(_, name)| name.to_owned()).collect();
    names.dedup();
    names.truncate(SHOWN);
    names
}

/// Returns the program type of a name.
pub(super) fn find_program_type(name: &str) -> Result<ProgramType, BadInput> {
    let (_, wanted) = split_prefix(name);
    let types = || ProgramType::ALL.iter().filter(|ty| ty.number() != 0);
    if let Some(ty) = types().find(|ty| short_type_name(ty.name()) == wanted) {
        return Ok(*ty);
    }
    let all: Vec<_> = entries().into_iter().filter(|e| e.section == Section::ProgramTypes).collect();
    Err(unknown_name(Some("--program-type"), "program type", name, &nearest(name, &all)))
}

/// Returns what a word of bpftool's command line, or the name of a section, is here.
fn counterpart(word: &str) -> Option<String> {
    if let Some(section) = Section::ALL.iter().find(|section| section.name() == word) {
        return Some(format!("it is a section: --section {}", section.name()));
    }
    let help = match word {
        "unprivileged" => "bpftool's `feature probe unprivileged` is `core-relo feature --unprivileged` here",
        "full" => "bpftool's `full` is not needed here: all helpers are answered",
        "list_builtins" => {
            "bpftool's `feature list_builtins helpers` is `core-relo feature --section helpers` here"
        }
        "dev" | "macros" => "this word of bpftool has no counterpart here (docs/coming-from.md)",
        _ => return None,
    };
    Some(help.to_owned())
}

/// Returns the error of a name that nothing has. `option` is the option with the name, or `None` for an argument.
pub(super) fn unknown_name(option: Option<&str>, what: &str, name: &str, nearest: &[String]) -> BadInput {
    let shown: String = name.chars().take(80).collect();
    let bad = match option {
        Some(option) => BadInput::new(option, format!("no {what} has the name `{shown}`")),
        None if shown.is_empty() => BadInput::new("``", format!("no {what} has this name")),
        None => BadInput::new(shown, format!("no {what} has this name")),
    };
    match (counterpart(name), nearest) {
        (Some(help), _) if option.is_none() => bad.help(help),
        (_, []) => bad.help("`core-relo feature` lists all names"),
        (_, names) => {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            bad.help(format!("the nearest: {}", names.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    fn found(name: &str) -> Vec<(Section, String)> {
        let filter = NameFilter::new(name).unwrap();
        let entries = entries().into_iter().filter(|entry| filter.matches(entry));
        entries.map(|entry| (entry.section, entry.name)).collect()
    }

    #[test]
    fn names_of_bpftool_the_kernel_and_functions_are_found() {
        let ringbuf = vec![(Section::MapTypes, "ringbuf".to_owned())];
        assert_eq!(found("ringbuf"), ringbuf);
        assert_eq!(found("BPF_MAP_TYPE_RINGBUF"), ringbuf);
        let helper = vec![(Section::Helpers, "bpf_loop".to_owned())];
        for name in ["bpf_loop", "loop", "BPF_FUNC_loop", "BPF_LOOP"] {
            assert_eq!(found(name), helper, "{name}");
        }
        let xdp: Vec<_> = found("xdp").into_iter().map(|(section, _)| section).collect();
        assert_eq!(xdp, [Section::ProgramTypes, Section::AttachTypes, Section::Links]);
        assert_eq!(found("BPF_PROG_TYPE_XDP").len(), 1);
        assert!(found("bpf_lo*").iter().all(|(section, _)| *section == Section::Helpers));
        assert!(found("lo*").iter().any(|(_, name)| name == "lockdown"));
        assert!(found("bpf_skb_*").iter().all(|(section, _)| *section == Section::Helpers));
        assert_eq!(found("config_bpf_jit").len(), 1);
        assert!(found("ringbufs").is_empty());
        assert_eq!(found("kprobe events"), [(Section::Loading, "kprobe_events".to_owned())]);
    }

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

    #[test]
    fn the_nearest_names_are_proposed() {
        assert_eq!(nearest("rinbuf", &entries()).first().map(String::as_str), Some("ringbuf"));
        assert!(nearest("BPF_FUNC_lop", &entries()).contains(&"bpf_loop".to_owned()));
        assert!(nearest(&"x".repeat(1000), &entries()).is_empty());
        assert_eq!(find_program_type("BPF_PROG_TYPE_XDP"), Ok(ProgramType::Xdp));
        assert!(find_program_type("xpd").unwrap_err().to_string().contains("`xdp`"));
    }
    #[test]
    fn words_of_bpftool_and_sections_get_their_counterpart() {
        for (word, help) in [
            ("unprivileged", "core-relo feature --unprivileged"),
            ("list_builtins", "core-relo feature --section helpers"),
            ("helpers", "it is a section: --section helpers"),
            ("dev", "no counterpart here"),
        ] {
            let error = unknown_name(None, "feature", word, &[]).to_string();
            assert!(error.contains(help), "{error}");
        }
        let error = unknown_name(Some("--program-type"), "program type", "dev", &[]).to_string();
        assert!(!error.contains("counterpart"), "{error}");
    }
}
