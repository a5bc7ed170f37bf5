//! The search of features by the names that users give: those of this command, of the kernel and of bpftool,
//! and patterns.

use super::catalog::{Entry, entries};
use crate::{args::feature::Section, error::BadInput};
use clap::ValueEnum as _;
use core_relo::explain::nearest_names;
use core_relo_loader::object::ProgramType;
use core_relo_report::policy::Glob;
use core_relo_verdict::kernel::known_kfuncs;

/// The prefixes and suffixes of the kernel's and bpftool's names, with the section that they stand for.
const AFFIXES: [(&str, &str, Option<Section>); 8] = [
    ("bpf_prog_type_", "", Some(Section::ProgramTypes)),
    ("bpf_map_type_", "", Some(Section::MapTypes)),
    ("bpf_link_type_", "", Some(Section::Links)),
    ("bpf_func_", "", Some(Section::Helpers)),
    ("have_", "_prog_type", Some(Section::ProgramTypes)),
    ("have_", "_map_type", Some(Section::MapTypes)),
    ("have_", "", None),
    ("bpf_", "", None),
];

/// bpftool's names for features that have another name here. bpftool's `unprivileged_bpf_disabled` is
/// missing: it means the opposite.
const BPFTOOL_NAMES: [(&str, &str); 6] = [
    ("large_insn_limit", "large_programs"),
    ("v2_isa_extension", "isa_v2"),
    ("v3_isa_extension", "isa_v3"),
    ("v4_isa_extension", "isa_v4"),
    ("jit_enable", "jit"),
    ("jit_harden", "jit_hardening"),
];

/// Returns a name in lower case. Reports write spaces: `kprobe events`.
fn to_lower(name: &str) -> String {
    name.to_lowercase().replace(' ', "_")
}

/// Splits a name into the section that its prefix and suffix stand for, and the rest, in lower case.
fn split_affixes(name: &str) -> (Option<Section>, String) {
    let lower = to_lower(name);
    let rest = |prefix: &str, suffix: &str| lower.strip_prefix(prefix)?.strip_suffix(suffix);
    let found = AFFIXES.iter().find_map(|(prefix, suffix, section)| Some((*section, rest(prefix, suffix)?)));
    let (section, rest) = found.unwrap_or((None, &lower));
    let counterpart = BPFTOOL_NAMES.iter().find(|(theirs, _)| *theirs == rest);
    (section, counterpart.map_or(rest, |(_, ours)| ours).to_owned())
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
        let (section, name) = split_affixes(given);
        let is_pattern = given.contains(['*', '?']) || given.is_empty();
        // Without a section, the prefix is part of the names that match: `bpf_*`.
        let text = if section.is_some() { name.clone() } else { to_lower(given) };
        let pattern = is_pattern.then(|| Glob::new(&text)).transpose();
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
        let (_, name) = split_affixes(&entry.name);
        match &self.pattern {
            Some(pattern) => {
                pattern.matches(&name) || (self.section.is_none() && pattern.matches(&to_lower(&entry.name)))
            }
            None => name == self.name,
        }
    }
}

/// Returns whether a function of this name is a kfunc in some kernel.
pub(super) fn is_known_kfunc(name: &str) -> bool {
    known_kfuncs().any(|known| known == name)
}

/// Returns the names of all features, and then those of the known kfuncs.
pub(crate) fn feature_names() -> Vec<String> {
    let names = entries().into_iter().map(|entry| entry.name);
    names.chain(known_kfuncs().map(str::to_owned)).collect()
}

/// Returns the names nearest to a name that is not among them: those that are similar, then those that
/// contain its words or whose words it contains.
pub(super) fn nearest(name: &str, names: Vec<String>) -> Vec<String> {
    const SHOWN: usize = 3;
    const LONGEST: usize = 64;
    let (_, wanted) = split_affixes(name);
    if wanted.len() > LONGEST {
        return Vec::new();
    }
    let named: Vec<_> = names.into_iter().map(|name| (split_affixes(&name).1, name)).collect();
    let similar = nearest_names(wanted.as_bytes(), named.iter().map(|(bare, _)| bare.as_bytes()));
    let similar = similar.iter().flat_map(|near| named.iter().filter(move |(bare, _)| bare == near));
    let mut related: Vec<_> = named.iter().filter(|(bare, _)| has_words_of(bare, &wanted)).collect();
    // Equally near names keep their order.
    related.sort_by_key(|(bare, _)| bare.len().abs_diff(wanted.len()));
    let mut nearest: Vec<String> = Vec::new();
    for (_, name) in similar.chain(related) {
        if nearest.len() < SHOWN && !nearest.contains(name) {
            nearest.push(name.clone());
        }
    }
    nearest
}

/// Returns whether a name contains the words of the wanted one, or is most of it.
fn has_words_of(name: &str, wanted: &str) -> bool {
    let contains = |text: &str, words: &str| {
        let mut words = words.split('_').filter(|word| !word.is_empty()).peekable();
        words.peek().is_some() && words.all(|word| text.contains(word))
    };
    // A single letter is part of too many names.
    (wanted.len() > 1 && contains(name, wanted)) || (name.len() * 2 > wanted.len() && contains(wanted, name))
}

/// Returns the program type of a name.
pub(super) fn find_program_type(name: &str) -> Result<ProgramType, BadInput> {
    let (_, wanted) = split_affixes(name);
    if let Some(ty) = ProgramType::offered().find(|ty| ty.short_name() == wanted) {
        return Ok(ty);
    }
    let all = ProgramType::offered().map(ProgramType::short_name).collect();
    Err(unknown_name(Some("--program-type"), "program type", name, &nearest(name, all)))
}

/// Returns the section with a name, which may be bpftool's.
fn find_section(name: &str) -> Option<&'static str> {
    Section::from_str(name, false).ok().map(Section::name)
}

/// Returns what a word of bpftool's command line, or the name of a section, is here.
fn counterpart(word: &str) -> Option<String> {
    if let Some(section) = find_section(word) {
        return Some(format!("it is a section: --section {section}"));
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

/// Returns the error of words that are a command line of bpftool, not names.
pub(super) fn check_words(words: &[String]) -> Result<(), BadInput> {
    let [command, operand, ..] = words else { return Ok(()) };
    match (&**command, find_section(operand)) {
        ("dev", _) => {
            Err(BadInput::new(format!("dev {operand}"), "network devices are not probed for offload")
                .help("`core-relo feature` answers for the kernel (docs/coming-from.md)"))
        }
        ("list_builtins", Some(section)) => {
            let line = format!("list_builtins {operand}");
            Err(BadInput::new(line, "it is no name of a feature")
                .help(format!("it is `core-relo feature --section {section}` here")))
        }
        _ => Ok(()),
    }
}

/// Returns the error of a name that nothing has. `option` is the option with the name, or `None` for an
/// argument.
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
        assert!(found("b*").iter().any(|(_, name)| name == "bpf_loop"));
        assert!(found("bpf*").len() > 200 && found("bpf*").iter().all(|(_, name)| name.starts_with("bpf_")));
        assert!(found("bpf_lo?p").iter().any(|(_, name)| name == "bpf_loop"));
        assert_eq!(found("bpf_prog_type_xd?"), found("have_xdp_prog_type"));
        assert!(found("bpf_lo*").iter().all(|(section, _)| *section == Section::Helpers));
        assert!(found("lo*").iter().any(|(_, name)| name == "lockdown"));
        assert!(found("bpf_skb_*").iter().all(|(section, _)| *section == Section::Helpers));
        assert_eq!(found("config_bpf_jit").len(), 1);
        assert!(found("ringbufs").is_empty());
        assert_eq!(found("kprobe events"), [(Section::Loading, "kprobe_events".to_owned())]);
    }

    #[test]
    fn the_nearest_names_are_proposed() {
        assert_eq!(nearest("rinbuf", feature_names()).first().map(String::as_str), Some("ringbuf"));
        assert!(nearest("BPF_FUNC_lop", feature_names()).contains(&"bpf_loop".to_owned()));
        assert!(nearest(&"x".repeat(1000), feature_names()).is_empty());
        assert_eq!(find_program_type("BPF_PROG_TYPE_XDP"), Ok(ProgramType::Xdp));
        assert!(find_program_type("xpd").unwrap_err().to_string().contains("`xdp`"));
        // Names of kfuncs are no program types.
        assert!(!find_program_type("fentry").unwrap_err().to_string().contains("bpf_fentry_test1"));
    }

    #[test]
    fn names_that_contain_the_words_are_near() {
        for (name, wanted) in [
            ("fentry", "trace_fentry"),
            ("fexit", "trace_fexit"),
            ("cookie", "attach_cookie"),
            ("signature", "prog_signature"),
            ("v4_isa", "isa_v4"),
            ("v4", "isa_v4"),
            ("unprivileged_bpf_disabled", "unprivileged_bpf"),
        ] {
            assert_eq!(nearest(name, feature_names()).first().map(String::as_str), Some(wanted), "{name}");
        }
        assert!(nearest("bpf_", feature_names()).is_empty() && nearest("_", feature_names()).is_empty());
    }

    #[test]
    fn names_of_bpftool_are_those_of_features() {
        for (theirs, section, ours) in [
            ("have_xdp_prog_type", Section::ProgramTypes, "xdp"),
            ("have_ringbuf_map_type", Section::MapTypes, "ringbuf"),
            ("have_large_insn_limit", Section::Verifier, "large_programs"),
            ("have_bounded_loops", Section::Verifier, "bounded_loops"),
            ("have_v2_isa_extension", Section::Verifier, "isa_v2"),
            ("have_v4_isa_extension", Section::Verifier, "isa_v4"),
            ("bpf_jit_enable", Section::System, "jit"),
            ("bpf_jit_harden", Section::System, "jit_hardening"),
        ] {
            assert_eq!(found(theirs), [(section, ours.to_owned())], "{theirs}");
        }
        // It means the opposite.
        assert!(found("unprivileged_bpf_disabled").is_empty());
    }

    #[test]
    fn words_of_bpftool_and_sections_get_their_counterpart() {
        for (word, help) in [
            ("unprivileged", "core-relo feature --unprivileged"),
            ("list_builtins", "core-relo feature --section helpers"),
            ("helpers", "it is a section: --section helpers"),
            ("prog_types", "it is a section: --section program_types"),
            ("link_types", "it is a section: --section links"),
            ("limits", "it is a section: --section verifier"),
            ("dev", "no counterpart here"),
        ] {
            let error = unknown_name(None, "feature", word, &[]).to_string();
            assert!(error.contains(help), "{error}");
        }
        let error = unknown_name(Some("--program-type"), "program type", "dev", &[]).to_string();
        assert!(!error.contains("counterpart"), "{error}");
    }

    #[test]
    fn command_lines_of_bpftool_are_one_error() {
        let error = |line: &str| {
            let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
            check_words(&words).err().map(|error| error.to_string())
        };
        assert!(error("dev v0").unwrap().starts_with("dev v0: network devices are not probed"));
        assert!(error("list_builtins link_types").unwrap().contains("--section links"));
        assert_eq!(error("list_builtins nothing"), None);
        assert_eq!(error("dev"), None);
        assert_eq!(error("ringbuf xdp"), None);
    }
}
