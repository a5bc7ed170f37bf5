//! The programs that are attached at a place already. They explain why the kernel refuses another one.

use super::{
    AttachPoint, AttachedProgram, InterfaceHook, Site, fit::interface_hook, link::netns_attach_type,
    link::open,
};
use crate::kernel_objects::{kind::Kind, object::list};
use core_relo_loader::{
    attach::{self, AttachError, InterfaceRef, QueryTarget},
    object::AttachType,
    sys::{self, Errno, LinkInfo},
};
use rustix::fs::OFlags;
use std::os::fd::AsFd as _;

/// The kernel's numbers of link types.
mod link_type {
    pub(super) const CGROUP: u32 = 3;
    pub(super) const NETNS: u32 = 5;
    pub(super) const XDP: u32 = 6;
    pub(super) const NETFILTER: u32 = 10;
    pub(super) const TCX: u32 = 11;
    pub(super) const NETKIT: u32 = 13;
    pub(super) const SOCKMAP: u32 = 14;
}

/// The largest number of programs that an error names.
const SHOWN: usize = 4;

/// A program that is attached at the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Occupant {
    prog_id: u32,
    /// The link that attaches it, if that is known.
    link_id: Option<u32>,
}

/// Adds the programs that are attached at the place to an error that they may have caused.
pub(crate) fn explain_refusal(
    error: AttachError,
    program: &AttachedProgram<'_>,
    point: &AttachPoint,
) -> AttachError {
    let may_be_occupied =
        matches!(error.errno().and_then(Errno::name), Some("EEXIST" | "EBUSY" | "EPERM" | "EINVAL"));
    let occupants = if may_be_occupied { find(program, point) } else { None }.unwrap_or_default();
    let Some(first) = occupants.first() else { return error };
    let own_id = sys::prog_info(&program.fd).map(|info| info.id).ok();
    let mut names: Vec<_> = occupants.iter().take(SHOWN).map(|occupant| occupant.text(own_id)).collect();
    if occupants.len() > SHOWN {
        names.push(format!("{} more", occupants.len() - SHOWN));
    }
    let way_out = match first {
        Occupant { link_id: Some(link), .. } => format!("`core-relo link detach {link}`"),
        Occupant { prog_id, .. } => format!("`core-relo prog detach {prog_id} --from {point}`"),
    };
    let (errno, text) = (error.errno(), error.to_string());
    // Some errors name the attach point themselves.
    let text = text.strip_prefix(&format!("{point}: ")).unwrap_or(&text);
    let problem = format!("{text}; attached there: {}; {way_out} makes room", names.join(", "));
    AttachError::Target { label: point.to_string().into(), problem: problem.into(), errno }
}

impl Occupant {
    fn text(self, own_id: Option<u32>) -> String {
        let Self { prog_id, link_id } = self;
        let program = match own_id {
            Some(own) if own == prog_id => format!("this program ({prog_id})"),
            _ => format!("program {prog_id}"),
        };
        link_id.map_or_else(|| program.clone(), |link| format!("{program} by link {link}"))
    }
}

/// Returns the programs at a place. `None` if the kernel does not report them.
fn find(program: &AttachedProgram<'_>, point: &AttachPoint) -> Option<Vec<Occupant>> {
    let AttachedProgram { program_type, attach_type, .. } = *program;
    match &point.site {
        Site::Interface { name, hook } => {
            let ifindex = InterfaceRef::from(name).index().ok()?;
            match interface_hook(*hook, program_type, attach_type).ok()? {
                InterfaceHook::Xdp(_) => {
                    let ids = attach::xdp_query(name).ok()?.prog_ids();
                    let is_there = |link: &LinkInfo| link.detail.first() == Some(&ifindex);
                    let links =
                        links_of_type(link_type::XDP).into_iter().filter(is_there).collect::<Vec<_>>();
                    Some(ids.into_iter().map(|id| occupant(id, None, &links)).collect())
                }
                InterfaceHook::Classifier(of) => {
                    let is_tcx = matches!(of, AttachType::TcxIngress | AttachType::TcxEgress);
                    let link_type = if is_tcx { link_type::TCX } else { link_type::NETKIT };
                    query(QueryTarget::Interface(ifindex), &[of], link_type)
                }
                // Any number of classifiers can be attached.
                InterfaceHook::Tc(_) => None,
            }
        }
        Site::Cgroup { path, attach_type: given } => {
            let of = point.cgroup_attach_type(program_type, given.or(attach_type)).ok()?;
            let dir = open(path, OFlags::DIRECTORY).ok()?;
            query(QueryTarget::Cgroup(dir.as_fd()), &[of], link_type::CGROUP)
        }
        Site::Map { map, .. } => {
            let map = (program.open_map)(map).ok()?;
            // A program of one attach type may exclude those of others.
            let types: Vec<_> = super::attach_type::attach_types_of_sockmaps().collect();
            query(QueryTarget::Sockmap(map.as_fd()), &types, link_type::SOCKMAP)
        }
        Site::Netns(path) => {
            let netns = open(path, OFlags::empty()).ok()?;
            let of = netns_attach_type(program_type);
            query(QueryTarget::Netns(netns.as_fd()), &[of], link_type::NETNS)
        }
        Site::Netfilter(hook) => {
            let place = [hook.family, hook.hook, hook.priority.cast_unsigned()];
            let links = links_of_type(link_type::NETFILTER).into_iter();
            let links = links.filter(|link| link.detail.first_chunk() == Some(&place));
            Some(links.map(|link| Occupant { prog_id: link.prog_id, link_id: Some(link.id) }).collect())
        }
        Site::Lirc(_) | Site::Process(_) | Site::Cpu(_) | Site::Section(_) | Site::Route(_) => None,
    }
}

/// Returns the programs of several attach types at a target.
fn query(target: QueryTarget<'_>, attach_types: &[AttachType], link_type: u32) -> Option<Vec<Occupant>> {
    let links = links_of_type(link_type);
    let mut occupants = Vec::new();
    for of in attach_types {
        let Ok(attached) = attach::query(target, *of) else { continue };
        for (place, id) in attached.prog_ids.iter().enumerate() {
            let link = attached.link_ids.get(place).copied().filter(|link| *link != 0);
            occupants.push(occupant(*id, link, if attached.link_ids.is_empty() { &links } else { &[] }));
        }
    }
    (!occupants.is_empty()).then_some(occupants)
}

/// Returns an occupant with its link: the known one, or the only one among links of the place's type with the program.
fn occupant(prog_id: u32, link_id: Option<u32>, links: &[LinkInfo]) -> Occupant {
    let mut with_program = links.iter().filter(|link| link.prog_id == prog_id);
    let only = with_program.next().filter(|_| with_program.next().is_none());
    Occupant { prog_id, link_id: link_id.or(only.map(|link| link.id)) }
}

/// Returns the links of a type. None if they cannot be listed, because the error is about something else.
fn links_of_type(link_type: u32) -> Vec<LinkInfo> {
    let links = list(Kind::Link).unwrap_or_else(|e| {
        log::info!("links: {e}");
        Vec::new()
    });
    let infos = links.into_iter().filter_map(|link| sys::link_info(&link.open().ok()??).ok());
    infos.filter(|link| link.link_type == link_type).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_belongs_to_the_program_that_no_other_link_has() {
        let link = |id, prog_id| {
            let mut link = LinkInfo::default();
            (link.id, link.prog_id) = (id, prog_id);
            link
        };
        let links = [link(1, 7), link(2, 8), link(3, 8)];
        assert_eq!(occupant(7, None, &links).link_id, Some(1));
        assert_eq!(occupant(8, None, &links).link_id, None);
        assert_eq!(occupant(8, Some(3), &links).link_id, Some(3));
        assert_eq!(occupant(7, None, &links).text(Some(7)), "this program (7) by link 1");
        assert_eq!(occupant(9, None, &links).text(Some(7)), "program 9");
    }
}
