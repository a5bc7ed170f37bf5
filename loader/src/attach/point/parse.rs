//! The text of attach points: `KIND:PLACE`, and after a comma the attach type.

use super::{
    AttachPoint, AttachSite, InterfaceHook,
    attach_type::{cgroup_attach_types, find_attach_type, sockmap_attach_types},
    error::{AttachPointError, word_list},
    kinds::{attach_point_kinds, is_section_kind},
    route::RoutePoint,
};
use crate::attach::{classifier::PacketDirection, netfilter::NetfilterHook, tc::TcAttachPoint, xdp::XdpMode};
use core::str::FromStr;
use core_relo_object::object::{AttachType, SectionTarget};
use std::path::PathBuf;

/// The words for the hooks of a network interface. Those of bpftool's `net attach` are among them.
const INTERFACE_HOOKS: [(&str, InterfaceHook); 14] = [
    ("xdp", InterfaceHook::Xdp(XdpMode::Any)),
    ("xdpgeneric", InterfaceHook::Xdp(XdpMode::Generic)),
    ("xdpdrv", InterfaceHook::Xdp(XdpMode::Driver)),
    ("xdpoffload", InterfaceHook::Xdp(XdpMode::Hardware)),
    ("ingress", InterfaceHook::Direction(PacketDirection::Ingress)),
    ("egress", InterfaceHook::Direction(PacketDirection::Egress)),
    ("tcx_ingress", InterfaceHook::Classifier(AttachType::TcxIngress)),
    ("tcx_egress", InterfaceHook::Classifier(AttachType::TcxEgress)),
    ("primary", InterfaceHook::Classifier(AttachType::NetkitPrimary)),
    ("peer", InterfaceHook::Classifier(AttachType::NetkitPeer)),
    ("netkit_primary", InterfaceHook::Classifier(AttachType::NetkitPrimary)),
    ("netkit_peer", InterfaceHook::Classifier(AttachType::NetkitPeer)),
    ("tc_ingress", InterfaceHook::Tc(TcAttachPoint::Ingress)),
    ("tc_egress", InterfaceHook::Tc(TcAttachPoint::Egress)),
];

/// Returns the word for a hook of a network interface.
pub fn interface_hook_word(hook: InterfaceHook) -> Option<&'static str> {
    INTERFACE_HOOKS.iter().find(|(_, known)| *known == hook).map(|(word, _)| *word)
}

/// The words for netfilter's hooks, at the kernel's numbers.
const NETFILTER_HOOKS: [&str; 5] = ["prerouting", "input", "forward", "output", "postrouting"];

/// The directory of named network namespaces, as `ip netns` makes them.
const NETNS_DIR: &str = "/run/netns";

/// The largest number that the kernel takes for the id of a process (`pid_t`).
const LARGEST_PID: u32 = i32::MAX.cast_unsigned();

impl FromStr for AttachPoint {
    type Err = AttachPointError;

    fn from_str(text: &str) -> Result<Self, AttachPointError> {
        let (kind, place) = text.split_once(':').unwrap_or((text, ""));
        if kind.is_empty() {
            let kinds = word_list(attach_point_kinds());
            return Err(AttachPointError::invalid(format!("expected KIND:PLACE with {kinds}")));
        }
        if !attach_point_kinds().any(|known| known == kind) {
            return Err(AttachPointError::UnknownKind { kind: kind.to_owned() });
        }
        if place.is_empty() {
            return Err(AttachPointError::invalid(missing_place(kind)));
        }
        let site = parse_site(kind, place).map_err(AttachPointError::invalid)?;
        Ok(Self { text: text.to_owned(), site })
    }
}

/// Returns the error of an attach point without a place.
fn missing_place(kind: &str) -> String {
    format!("expected `{kind}:` and a place, for example `{}`", example(kind))
}

/// Returns an example of a kind of attach point.
fn example(kind: &str) -> String {
    let place = match kind {
        "dev" => "eth0",
        "cgroup" => "/sys/fs/cgroup/system.slice",
        "netns" => "/proc/self/ns/net",
        "map" => "socks",
        "lirc" => "/dev/lirc0",
        "netfilter" => "ipv4,input,0",
        "pid" => "42",
        "cpu" => "all",
        "route" => "10.88.0.0/24,eth0",
        "tp" | "tp.s" | "tracepoint" | "tracepoint.s" => "sched/sched_switch",
        kind if kind.starts_with("usdt") => "/usr/bin/node:node:gc__start",
        kind if kind.starts_with('u') => "/bin/bash:readline",
        kind if kind.starts_with("raw") => "sys_enter",
        "ksyscall" | "kretsyscall" => "openat",
        _ => "vfs_read",
    };
    format!("{kind}:{place}")
}

fn parse_site(kind: &str, place: &str) -> Result<AttachSite, String> {
    Ok(match kind {
        "dev" => {
            let (name, hook) = split_word(kind, place, |word| {
                INTERFACE_HOOKS.iter().find(|(known, _)| *known == word).map(|(_, hook)| *hook)
            })?;
            if let (None, Some((name, word))) = (hook, place.rsplit_once(',')) {
                let words = INTERFACE_HOOKS.iter().map(|(word, _)| *word);
                return Err(format!(
                    "interface {name}: unknown hook `{word}`, expected {}",
                    word_list(words)
                ));
            }
            AttachSite::Interface { name: name.to_owned(), hook }
        }
        "cgroup" => {
            let types: Vec<_> = cgroup_attach_types().collect();
            let (path, attach_type) = split_word(kind, place, |word| find_attach_type(word, &types))?;
            AttachSite::Cgroup { path: path.into(), attach_type }
        }
        "netns" if place.contains('/') => AttachSite::Netns(place.into()),
        "netns" => AttachSite::Netns(PathBuf::from(NETNS_DIR).join(place)),
        "map" => {
            let types: Vec<_> = sockmap_attach_types().collect();
            let (map, attach_type) = split_word(kind, place, |word| find_attach_type(word, &types))?;
            AttachSite::Map { map: map.to_owned(), attach_type }
        }
        "lirc" => AttachSite::Lirc(place.into()),
        "netfilter" => AttachSite::Netfilter(netfilter_hook(place)?),
        // The kernel takes 0 for this process, and has no negative ids.
        "pid" => match number(kind, place)? {
            pid @ 1..=LARGEST_PID => AttachSite::Process(pid),
            _ => return Err(format!("pid: {place}: expected the id of a process, 1 or more")),
        },
        "cpu" if place == "all" => AttachSite::Cpu(None),
        "route" => AttachSite::Route(RoutePoint::parse(place)?),
        "cpu" => AttachSite::Cpu(Some(number(kind, place)?)),
        kind if is_section_kind(kind) => {
            let section = format!("{kind}/{place}");
            SectionTarget::parse(&section)
                .map_err(|error| format!("{kind}:{place}: {}", as_point(kind, error.problem)))?;
            AttachSite::Section(section)
        }
        // `from_str` has checked the kind.
        kind => return Err(format!("unknown kind of attach point `{kind}`")),
    })
}

/// Returns the problem with a section's name in the notation of attach points: `kprobe:function` for `kprobe/function`.
fn as_point(kind: &str, problem: &str) -> String {
    let words = attach_point_kinds().filter(|kind| is_section_kind(kind));
    words.fold(problem.to_owned(), |text, word| text.replace(&format!("`{word}/"), &format!("`{kind}:")))
}

/// Divides a text at its last comma, if a known word follows. Paths and names may contain commas.
fn split_word<'t, T>(
    kind: &str,
    text: &'t str,
    find: impl FnOnce(&str) -> Option<T>,
) -> Result<(&'t str, Option<T>), String> {
    let Some((place, word)) = text.rsplit_once(',') else { return Ok((text, None)) };
    match find(word) {
        Some(_) if place.is_empty() => Err(missing_place(kind)),
        Some(found) => Ok((place, Some(found))),
        None => Ok((text, None)),
    }
}

fn number(kind: &str, text: &str) -> Result<u32, String> {
    let expected = if kind == "cpu" { "a number or `all`" } else { "a number" };
    text.parse().map_err(|_no_number| format!("{kind}: {text}: expected {expected}"))
}

/// Parses `ipv4,input,0` or `ipv6,prerouting,-300,defrag`.
fn netfilter_hook(text: &str) -> Result<NetfilterHook, String> {
    let expected = || {
        let hooks = word_list(NETFILTER_HOOKS);
        format!(
            "netfilter: {text}: expected FAMILY,HOOK,PRIORITY with `ipv4` or `ipv6`, {hooks}, and a number; optionally `,defrag`"
        )
    };
    let words: Vec<_> = text.split(',').collect();
    let (words, defragment) = match words.as_slice() {
        [words @ .., "defrag"] => (words, true),
        words => (words, false),
    };
    let [family, hook, priority] = *words else { return Err(expected()) };
    let family = match family {
        "ipv4" => 2,
        "ipv6" => 10,
        _ => return Err(expected()),
    };
    let (hook, _) = (0..).zip(NETFILTER_HOOKS).find(|(_, known)| *known == hook).ok_or_else(expected)?;
    let priority = priority.parse().map_err(|_no_number| expected())?;
    Ok(NetfilterHook { family, hook, priority, defragment })
}
