//! The names of sections that loaders other than libbpf know.

use super::{aya, loader::LoaderKind};
use core_relo_object::object::SecDef;

/// The words with which cilium/ebpf compares the start of a section's name, in its order
/// (`matchSectionName`). libbpf wants the whole name.
const CILIUM: [&str; 63] = [
    "socket",
    "sk_reuseport/migrate",
    "sk_reuseport",
    "tc/ingress",
    "tc/egress",
    "tcx/ingress",
    "tcx/egress",
    "tc",
    "classifier",
    "action",
    "netkit/primary",
    "netkit/peer",
    "syscall",
    "xdp.frags/devmap",
    "xdp/devmap",
    "xdp.frags/cpumap",
    "xdp/cpumap",
    "xdp.frags",
    "xdp",
    "perf_event",
    "lwt_in",
    "lwt_out",
    "lwt_xmit",
    "lwt_seg6local",
    "sockops",
    "sk_skb/stream_parser",
    "sk_skb/stream_verdict",
    "sk_skb/verdict",
    "sk_skb",
    "sk_msg",
    "lirc_mode2",
    "flow_dissector",
    "cgroup_skb/ingress",
    "cgroup_skb/egress",
    "cgroup/skb",
    "cgroup/sock_create",
    "cgroup/sock_release",
    "cgroup/sock",
    "cgroup/post_bind4",
    "cgroup/post_bind6",
    "cgroup/bind4",
    "cgroup/bind6",
    "cgroup/connect4",
    "cgroup/connect6",
    "cgroup/connect_unix",
    "cgroup/sendmsg4",
    "cgroup/sendmsg6",
    "cgroup/sendmsg_unix",
    "cgroup/recvmsg4",
    "cgroup/recvmsg6",
    "cgroup/recvmsg_unix",
    "cgroup/getpeername4",
    "cgroup/getpeername6",
    "cgroup/getpeername_unix",
    "cgroup/getsockname4",
    "cgroup/getsockname6",
    "cgroup/getsockname_unix",
    "cgroup/sysctl",
    "cgroup/getsockopt",
    "cgroup/setsockopt",
    "cgroup/dev",
    "sk_lookup",
    "netfilter",
];

impl LoaderKind {
    /// Returns the name of the section, without `?`, by which libbpf would know the program as this loader
    /// does: `perf_event` for `perf_event/unwind`. Returns `None` for a name that libbpf knows, and for one
    /// that neither knows.
    pub(crate) fn canonical_section(self, name: &[u8]) -> Option<&[u8]> {
        if SecDef::find(name).is_some() {
            return None;
        }
        match self {
            Self::Cilium => {
                let word = CILIUM.iter().find(|word| name.starts_with(word.as_bytes()))?;
                Some(word.as_bytes())
            }
            Self::Aya => {
                let known = aya::section_words(core::str::from_utf8(name).ok()?)?;
                SecDef::find(known.as_bytes()).map(|_| known.as_bytes())
            }
            Self::Libbpf | Self::CoreRelo => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo_object::object::{SEC_DEFS, SecMatch, find_foreign_section};

    #[test]
    fn names_that_only_other_loaders_know_have_the_type_of_their_words() {
        let name = |loader: LoaderKind, name: &'static str| {
            loader.canonical_section(name.as_bytes()).map(|found| String::from_utf8_lossy(found).into_owned())
        };
        for (section, cilium, aya) in [
            ("perf_event/unwind", Some("perf_event"), Some("perf_event")),
            ("classifier/ingress", Some("classifier"), Some("classifier")),
            ("xdp_foo", Some("xdp"), None),
            ("socket1", Some("socket"), None),
            ("sk_msg/redirect", Some("sk_msg"), Some("sk_msg")),
            ("cgroup/connect4/mine", Some("cgroup/connect4"), Some("cgroup/connect4")),
            ("xdp/cpumap/mine", Some("xdp/cpumap"), Some("xdp/cpumap")),
            ("tc/ingress_policy", Some("tc/ingress"), None),
            ("unknown", None, None),
            // libbpf knows these.
            ("xdp", None, None),
            ("kprobe/do_exit", None, None),
        ] {
            assert_eq!(name(LoaderKind::Cilium, section).as_deref(), cilium, "{section}");
            assert_eq!(name(LoaderKind::Aya, section).as_deref(), aya, "{section}");
            assert_eq!(name(LoaderKind::Libbpf, section), None);
        }
    }

    /// Advice named aya for `lwt_in/x`, which `--loader aya` refuses.
    #[test]
    fn advice_names_aya_for_the_sections_that_it_knows() {
        for def in SEC_DEFS.iter().filter(|def| def.matching == SecMatch::Exact) {
            let section = format!("{}/x", def.name);
            let Some(foreign) = find_foreign_section(section.as_bytes()) else { continue };
            let is_known = aya::section_words(&section) == Some(def.name);
            assert_eq!(foreign.loaders.contains("aya"), is_known, "{section}: {}", foreign.loaders);
        }
    }
}
