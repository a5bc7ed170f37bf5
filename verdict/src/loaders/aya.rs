//! The words and types that aya knows.

use core_relo_object::object::{MapType, Object};

/// The program sections that need no further word (aya-obj: `ProgramSection::from_str`). Words after a `/`
/// have no meaning here.
const SECTIONS: [&str; 33] = [
    "kprobe",
    "kretprobe",
    "uprobe",
    "uprobe.s",
    "uprobe.multi",
    "uprobe.multi.s",
    "uretprobe",
    "uretprobe.s",
    "uretprobe.multi",
    "uretprobe.multi.s",
    "tp_btf",
    "tracepoint",
    "tp",
    "socket",
    "sk_msg",
    "sockops",
    "classifier",
    "lirc_mode2",
    "perf_event",
    "raw_tp",
    "raw_tracepoint",
    "lsm",
    "lsm.s",
    "lsm_cgroup",
    "fentry",
    "fentry.s",
    "fexit",
    "fexit.s",
    "flow_dissector",
    "freplace",
    "sk_lookup",
    "iter",
    "iter.s",
];

/// The sections that are none of programs, whatever they hold (aya-obj: `EbpfSectionKind::from_name`).
const OTHER_SECTIONS: [&str; 8] =
    ["license", "version", "maps", ".maps", ".text", ".bss", ".data", ".rodata"];

/// The second words of sections `cgroup/…`.
const CGROUP: [&str; 22] = [
    "skb",
    "sysctl",
    "dev",
    "getsockopt",
    "setsockopt",
    "sock",
    "post_bind4",
    "post_bind6",
    "sock_create",
    "sock_release",
    "bind4",
    "bind6",
    "connect4",
    "connect6",
    "getpeername4",
    "getpeername6",
    "getsockname4",
    "getsockname6",
    "sendmsg4",
    "sendmsg6",
    "recvmsg4",
    "recvmsg6",
];

/// Returns whether aya knows the name of a section with code.
pub(crate) fn knows_section(name: &str) -> bool {
    section_words(name).is_some() || OTHER_SECTIONS.iter().any(|other| name.starts_with(other))
}

/// Returns the words of a section's name that decide on the program type, without those that follow.
pub(crate) fn section_words(name: &str) -> Option<&str> {
    let mut words = name.split('/');
    let (kind, second) = (words.next()?, words.next());
    let both = || {
        let end = kind.len().checked_add(1)?.checked_add(second?.len())?;
        name.get(..end)
    };
    match (kind, second) {
        ("xdp" | "xdp.frags" | "sk_reuseport", None) => Some(kind),
        ("xdp" | "xdp.frags", Some("cpumap" | "devmap")) | ("sk_reuseport", Some("migrate")) => both(),
        ("sk_skb", Some("stream_parser" | "stream_verdict")) | ("cgroup_skb", Some("ingress" | "egress")) => {
            both()
        }
        ("cgroup", Some(word)) => both().filter(|_| CGROUP.contains(&word)),
        _ => Some(kind).filter(|kind| SECTIONS.contains(kind)),
    }
}

/// Returns the bytes of the section `license`, the first one of several (aya-obj: `Object::parse`, by
/// `section_by_name`). Other loaders take the last one. Section 0 counts, too: it has no bytes, but a damaged
/// file may give it a name.
pub(crate) fn license_data<'d>(object: &Object<'d>) -> Option<&'d [u8]> {
    object.sections().iter().find(|section| section.name == b"license").map(|section| section.data)
}

/// Returns whether aya takes the bytes of the section `license` (aya-obj: `parse_license`).
pub(crate) fn is_license(data: &[u8]) -> bool {
    data.len() > 1 && data.iter().position(|byte| *byte == 0) == data.len().checked_sub(1)
}

/// Returns the section words of the tables, for tests beside aya.
#[cfg(any(test, feature = "test-support"))]
pub(crate) fn all_words() -> impl Iterator<Item = String> {
    let cgroup = CGROUP.iter().map(|word| format!("cgroup/{word}"));
    let words = SECTIONS.iter().map(|word| (*word).to_owned());
    words.chain(cgroup)
}

/// Returns whether aya has a Rust type for a map type (aya: `parse_map`). Others need
/// `EbpfLoader::allow_unsupported_maps()`.
pub(crate) const fn knows_map_type(map_type: MapType) -> bool {
    !matches!(
        map_type,
        MapType::TaskStorage
            | MapType::StructOps
            | MapType::UserRingbuf
            | MapType::Arena
            | MapType::InsnArray
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_have_ayas_words() {
        for known in [
            "xdp",
            "xdp/cpumap",
            "kprobe/any",
            "classifier/x",
            "cgroup/connect6",
            "cgroup_skb/egress",
            "sk_reuseport",
        ] {
            assert!(knows_section(known), "{known}");
        }
        for unknown in [
            "tc",
            "xdp/any",
            "?xdp",
            "cgroup",
            "sk_skb",
            "usdt",
            "struct_ops/init",
            "cgroup/connect_unix",
            "action",
        ] {
            assert!(!knows_section(unknown), "{unknown}");
        }
    }
}
