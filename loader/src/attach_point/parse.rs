//! The text of attach points: `KIND:PLACE`, and after a comma the attach type.

use super::{
    AttachPoint, AttachSite,
    attach_type::{cgroup_attach_types, find_attach_type, sockmap_attach_types},
    kinds::{INTERFACE_HOOKS, NETFILTER_HOOKS, attach_point_kinds, is_section_kind},
    point_error::{AttachPointError, PlaceProblem},
    route::RoutePoint,
};
use crate::attach::NetfilterHook;
use core::str::FromStr;
use core_relo_object::object::SectionTarget;
use std::path::PathBuf;

/// The directory of named network namespaces, as `ip netns` makes them.
const NETNS_DIR: &str = "/run/netns";

/// The largest number that the kernel takes for the id of a process (`pid_t`).
const LARGEST_PID: u32 = i32::MAX.cast_unsigned();

impl FromStr for AttachPoint {
    type Err = AttachPointError;

    fn from_str(text: &str) -> Result<Self, AttachPointError> {
        let (kind, place) = text.split_once(':').unwrap_or((text, ""));
        if kind.is_empty() {
            return Err(AttachPointError::MissingKind);
        }
        if !attach_point_kinds().any(|known| known == kind) {
            return Err(AttachPointError::UnknownKind { kind: kind.to_owned() });
        }
        if place.is_empty() {
            return Err(AttachPointError::MissingPlace { kind: kind.to_owned() });
        }
        Ok(Self { text: text.to_owned(), site: parse_site(kind, place)? })
    }
}

fn parse_site(kind: &str, place: &str) -> Result<AttachSite, AttachPointError> {
    let wrong = |problem| AttachPointError::Place { kind: kind.to_owned(), place: place.to_owned(), problem };
    Ok(match kind {
        "dev" => {
            let (name, hook) = split_word(kind, place, |word| {
                INTERFACE_HOOKS.iter().find(|(known, _)| *known == word).map(|(_, hook)| *hook)
            })?;
            if let (None, Some((name, word))) = (hook, place.rsplit_once(',')) {
                let (interface, word) = (name.to_owned(), word.to_owned());
                return Err(AttachPointError::UnknownHook { interface, word });
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
        "netfilter" => {
            AttachSite::Netfilter(netfilter_hook(place).ok_or_else(|| wrong(PlaceProblem::NetfilterHook))?)
        }
        // The kernel takes 0 for this process, and has no negative ids.
        "pid" => match place.parse() {
            Ok(pid @ 1..=LARGEST_PID) => AttachSite::Process(pid),
            Ok(_) => return Err(wrong(PlaceProblem::ProcessId)),
            Err(_) => return Err(wrong(PlaceProblem::Number)),
        },
        "cpu" if place == "all" => AttachSite::Cpu(None),
        "route" => AttachSite::Route(RoutePoint::parse(place).map_err(wrong)?),
        "cpu" => match place.parse() {
            Ok(cpu) => AttachSite::Cpu(Some(cpu)),
            Err(_) => return Err(wrong(PlaceProblem::Processor)),
        },
        kind if is_section_kind(kind) => {
            let section = format!("{kind}/{place}");
            SectionTarget::parse(&section).map_err(|error| AttachPointError::SectionTarget {
                kind: kind.to_owned(),
                place: place.to_owned(),
                error,
            })?;
            AttachSite::Section(section)
        }
        // `from_str` has checked the kind.
        kind => return Err(AttachPointError::UnknownKind { kind: kind.to_owned() }),
    })
}

/// Divides a text at its last comma, if a known word follows. Paths and names may contain commas.
fn split_word<'t, T>(
    kind: &str,
    text: &'t str,
    find: impl FnOnce(&str) -> Option<T>,
) -> Result<(&'t str, Option<T>), AttachPointError> {
    let Some((place, word)) = text.rsplit_once(',') else { return Ok((text, None)) };
    match find(word) {
        Some(_) if place.is_empty() => Err(AttachPointError::MissingPlace { kind: kind.to_owned() }),
        Some(found) => Ok((place, Some(found))),
        None => Ok((text, None)),
    }
}

/// Parses `ipv4,input,0` or `ipv6,prerouting,-300,defrag`.
fn netfilter_hook(text: &str) -> Option<NetfilterHook> {
    let words: Vec<_> = text.split(',').collect();
    let (words, defragment) = match words.as_slice() {
        [words @ .., "defrag"] => (words, true),
        words => (words, false),
    };
    let [family, hook, priority] = *words else { return None };
    let family = match family {
        "ipv4" => 2,
        "ipv6" => 10,
        _ => return None,
    };
    let (hook, _) = (0..).zip(NETFILTER_HOOKS).find(|(_, known)| *known == hook)?;
    Some(NetfilterHook { family, hook, priority: priority.parse().ok()?, defragment })
}
