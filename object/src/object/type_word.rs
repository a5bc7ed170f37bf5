//! The words with which a user names the type of a program, and the words of other loaders.

use super::{
    kernel_enums::ProgramType,
    programs::Program,
    sec_def::{SEC_DEFS, SecDef, SecMatch},
};
use thiserror::Error;

/// An error in a word for the type of a program.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TypeWordError {
    /// The word is neither a section name nor a name of the kernel.
    #[error(
        "no program type: expected a section name such as `xdp`, or the kernel's name such as `sched_cls`"
    )]
    Unknown,
    /// The kernel's name leaves the attach type open, which the kernel checks at the load.
    #[error("{program_type} is loaded for an attach type: expected one of {}", .sections.join(", "))]
    NoAttachType {
        /// The program type.
        program_type: ProgramType,
        /// The section names of the program type, each with its attach type.
        sections: Vec<&'static str>,
    },
}

core_relo::debug_as_message!(TypeWordError);

/// Returns the section name in place of a program's that gives the program the type of a word.
///
/// The word is a section name with or without a target (`xdp`, `cgroup/connect4`, `kprobe/vfs_read`), or the
/// kernel's name of a program type (`sched_cls`, `BPF_PROG_TYPE_SCHED_CLS`). If the word has no target, that
/// of the program's section stays. A label behind a name that takes no target, as in `classifier/ingress`, is
/// none.
///
/// ```no_run
/// use core_relo_object::object::{Object, section_for_type};
///
/// # fn example(object: &Object<'_>) -> Result<(), Box<dyn std::error::Error>> {
/// let program = object.programs().first().ok_or("no program")?;
/// assert_eq!(section_for_type("cgroup/connect4", program)?, "cgroup/connect4");
/// assert_eq!(section_for_type("sched_cls", program)?, "tc");
/// # Ok(())
/// # }
/// ```
pub fn section_for_type(word: &str, program: &Program<'_>) -> Result<String, TypeWordError> {
    let (name, takes_target) = if let Some(def) = SecDef::find(word.as_bytes()) {
        (word, def.matching == SecMatch::WithTarget && word == def.name)
    } else {
        let def = find_by_kernel_name(word)?;
        (def.name, def.matching == SecMatch::WithTarget)
    };
    let own = program.sec_def().filter(|own| takes_target && own.matching == SecMatch::WithTarget);
    let target = own.and_then(|_| SecDef::target(program.section_name()));
    match target.and_then(|target| core::str::from_utf8(target).ok()).filter(|target| !target.is_empty()) {
        Some(target) => Ok(format!("{name}/{target}")),
        None => Ok(name.to_owned()),
    }
}

/// Returns the row of the table for the kernel's name of a program type: the row without an attach type, or
/// with one that the kernel does not demand.
fn find_by_kernel_name(word: &str) -> Result<&'static SecDef, TypeWordError> {
    let program_type = ProgramType::from_name(word).ok_or(TypeWordError::Unknown)?;
    let rows = || SEC_DEFS.iter().filter(move |def| def.program_type == program_type);
    let without = rows().find(|def| def.attach_type.is_none());
    let free = without.or_else(|| rows().find(|def| def.flags.attach_type_is_optional()));
    match (free, rows().count()) {
        (Some(def), _) => Ok(def),
        (None, 0) => Err(TypeWordError::Unknown),
        (None, 1) => rows().next().ok_or(TypeWordError::Unknown),
        (None, _) => {
            Err(TypeWordError::NoAttachType { program_type, sections: rows().map(|def| def.name).collect() })
        }
    }
}

/// A section name that libbpf does not know, and that has a meaning for other loaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForeignSection {
    /// The section name of libbpf for the same type.
    pub section: &'static str,
    /// The loaders that take the name for this type.
    pub loaders: &'static str,
}

/// The loaders that take a section name with something behind it for the name.
const PREFIX_LOADERS: &str = "cilium/ebpf and libbpf before 1.0";

/// Those for a name of aya's with a `/` and a label behind it. aya takes the part before the label.
const LABEL_LOADERS: &str = "aya, cilium/ebpf and libbpf before 1.0";

/// The names of libbpf that take no target, and that aya knows, without those in `cgroup/` (aya-obj:
/// `ProgramSection::from_str`).
const AYA_NAMES: [&str; 17] = [
    "cgroup_skb/egress",
    "cgroup_skb/ingress",
    "classifier",
    "flow_dissector",
    "lirc_mode2",
    "perf_event",
    "sk_lookup",
    "sk_msg",
    "sk_reuseport/migrate",
    "sk_skb/stream_parser",
    "sk_skb/stream_verdict",
    "socket",
    "sockops",
    "xdp.frags/cpumap",
    "xdp.frags/devmap",
    "xdp/cpumap",
    "xdp/devmap",
];

/// Names that do not begin as one of libbpf's, with libbpf's name and the loaders that know them. The first
/// match counts.
const FOREIGN: [(&str, &str, &str); 7] = [
    ("xdp_devmap", "xdp/devmap", "libbpf before 1.0"),
    ("xdp_cpumap", "xdp/cpumap", "libbpf before 1.0"),
    ("cgroup/device", "cgroup/dev", "cilium/ebpf"),
    ("sched_cls", "tc", "gobpf"),
    ("sched_act", "action", "gobpf"),
    ("ingress", "tc", "iproute2"),
    ("egress", "tc", "iproute2"),
];

/// Returns the meaning of a section name for other loaders. Returns `None` for a name that libbpf knows, or
/// that nobody does.
///
/// ```
/// use core_relo_object::object::find_foreign_section;
/// assert_eq!(find_foreign_section(b"classifier/ingress").unwrap().section, "tc");
/// assert_eq!(find_foreign_section(b"socket1").unwrap().section, "socket");
/// assert_eq!(find_foreign_section(b"mine"), None);
/// ```
pub fn find_foreign_section(section: &[u8]) -> Option<ForeignSection> {
    if SecDef::find(section).is_some() {
        return None;
    }
    let is_prefix = |name: &str| {
        let rest = section.strip_prefix(name.as_bytes());
        // `tc1`, `tc_ingress` and `tc/ingress` begin with the name, `tcp` does not.
        rest.is_some_and(|rest| rest.first().is_none_or(|byte| !byte.is_ascii_alphabetic()))
    };
    if let Some((_, section, loaders)) = FOREIGN.iter().find(|(name, ..)| is_prefix(name)) {
        return Some(ForeignSection { section, loaders });
    }
    let exact = SEC_DEFS.iter().filter(|def| def.matching == SecMatch::Exact && is_prefix(def.name));
    let longest = exact.max_by_key(|def| def.name.len())?;
    let has_label = section.get(longest.name.len()) == Some(&b'/');
    let is_aya = has_label && is_aya_name(longest.name);
    let name = if longest.name == "classifier" { "tc" } else { longest.name };
    Some(ForeignSection { section: name, loaders: if is_aya { LABEL_LOADERS } else { PREFIX_LOADERS } })
}

/// Returns whether aya knows a name of libbpf that takes no target.
fn is_aya_name(name: &str) -> bool {
    AYA_NAMES.contains(&name) || (name.starts_with("cgroup/") && !name.ends_with("_unix"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        object::Object,
        test_support::{TestObject, returns},
    };

    /// Returns the section name for a word, or the error.
    fn section(own: &str, word: &str) -> String {
        let mut m = TestObject::new();
        m.program("main", own, &returns(0));
        let bytes = m.bytes();
        let object = Object::parse(&bytes).unwrap();
        section_for_type(word, &object.programs()[0]).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn a_word_gives_a_section_name_with_the_target_of_the_program() {
        for (own, word, expected) in [
            ("mine", "xdp", "xdp"),
            ("mine", "cgroup/connect4", "cgroup/connect4"),
            ("?kprobe/vfs_read", "kretprobe", "kretprobe/vfs_read"),
            ("kprobe/vfs_read", "fentry/vfs_write", "fentry/vfs_write"),
            ("kprobe/vfs_read", "xdp", "xdp"),
            ("fentry/vfs_read", "fentry.s", "fentry.s/vfs_read"),
            // The word behind the slash is a label.
            ("classifier/ingress", "fentry", "fentry"),
            ("mine", "sched_cls", "tc"),
            ("mine", "BPF_PROG_TYPE_SCHED_CLS", "tc"),
            ("mine", "Socket_Filter", "socket"),
            ("mine", "cgroup_skb", "cgroup/skb"),
            ("mine", "cgroup_sock", "cgroup/sock"),
            ("mine", "sk_lookup", "sk_lookup"),
            ("mine", "netfilter", "netfilter"),
            ("fentry/vfs_read", "ext", "freplace/vfs_read"),
        ] {
            assert_eq!(section(own, word), expected, "{own} {word}");
        }
    }

    #[test]
    fn a_word_without_a_type_or_attach_type_is_an_error() {
        for word in ["", "xpd", "xdp/eth0", "unspec", "BPF_PROG_TYPE_"] {
            assert!(section("mine", word).starts_with("no program type: "), "{word}");
        }
        let error = section("mine", "cgroup_sockopt");
        let expected = "BPF_PROG_TYPE_CGROUP_SOCKOPT is loaded for an attach type: expected one of cgroup/getsockopt, cgroup/setsockopt";
        assert_eq!(error, expected);
        assert!(section("mine", "tracing").contains("expected one of tp_btf, tp_btf.s, fentry"));
    }

    #[test]
    fn every_name_of_the_kernel_is_a_type_or_names_its_sections() {
        for ty in ProgramType::offered() {
            match find_by_kernel_name(ty.name()) {
                Ok(def) => assert_eq!(def.program_type, ty),
                Err(TypeWordError::NoAttachType { sections, .. }) => assert!(sections.len() > 1, "{ty}"),
                Err(TypeWordError::Unknown) => panic!("{ty}"),
            }
        }
    }

    #[test]
    fn section_names_of_other_loaders() {
        for (name, expected) in [
            ("classifier/ingress", "tc"),
            ("tc_egress", "tc"),
            ("tc/tail", "tc"),
            ("socket/x", "socket"),
            ("socket1", "socket"),
            ("sk_msg/redirect", "sk_msg"),
            ("sk_skb/stream_verdict/x", "sk_skb/stream_verdict"),
            ("xdp/foo", "xdp"),
            ("xdp_devmap/x", "xdp/devmap"),
            ("xdp_drop", "xdp"),
            ("cgroup/connect4/x", "cgroup/connect4"),
            ("cgroup/device", "cgroup/dev"),
            ("sched_cls/x", "tc"),
            ("ingress", "tc"),
        ] {
            assert_eq!(find_foreign_section(name.as_bytes()).map(|f| f.section), Some(expected), "{name}");
        }
        for name in
            ["mine", "tcp", "xdp", "kprobe/vfs_read", "", "socketfilter", "cgroup/x", "kprobe_vfs_read"]
        {
            assert_eq!(find_foreign_section(name.as_bytes()), None, "{name}");
        }
        for (name, section, _) in FOREIGN {
            assert!(SecDef::find(section.as_bytes()).is_some() && SecDef::find(name.as_bytes()).is_none());
        }
    }
}
