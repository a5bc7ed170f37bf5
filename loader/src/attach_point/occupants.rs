//! The programs that are attached at a place already.

use super::{
    AttachPoint, AttachSite, InterfaceHook, PointProgram, attach_type::sockmap_attach_types,
    kinds::interface_hook_word, open::open_target,
};
use crate::{
    attach::{self, AttachError, InterfaceRef, QueryTarget, XdpMode},
    inventory::{BtfCache, LinkInfo, LinkTarget, MapInfo, ObjectKind, list},
};
use core_relo_object::object::{AttachType, LinkType};
use std::{fs::File, os::fd::AsFd as _, os::unix::fs::MetadataExt as _};

/// A program that is attached at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers test their words with occupants of their own")]
pub struct Occupant {
    /// The program.
    pub prog_id: u32,
    /// The attach type.
    pub attach_type: AttachType,
    /// What attaches the program.
    pub held_by: HeldBy,
    /// The attach point at which [`PointProgram::detach`] finds the program: with the attach type, the id of
    /// a map, and the mode of an XDP program if the kernel reports one.
    pub point: String,
}

/// What attaches a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "callers name a way to detach for each")]
pub enum HeldBy {
    /// A link, with the link's id.
    Link(u32),
    /// This link if it is in this network namespace: the kernel does not report the namespace of XDP links.
    PerhapsLink(u32),
    /// A link whose id is not known.
    SomeLink,
    /// No link: the program is attached directly.
    NoLink,
    /// The links cannot be listed, or several links could be the one.
    Unknown,
}

/// The identity by which links refer to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Interface(u32),
    Cgroup(u64),
    Netns(u64),
    Map(u32),
}

/// The holder of an interface's XDP hook, by the kernel's explanation of `EBUSY`. Links explain nothing: only
/// netlink does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the kernel distinguishes these")]
pub enum XdpHolder {
    /// A link, which netlink cannot remove.
    Link,
    /// A program without a link.
    Program,
}

impl XdpHolder {
    /// Returns the holder that an error reports (`dev_xdp_attach` in the kernel).
    pub fn reported(error: &AttachError) -> Option<Self> {
        let AttachError::Netlink { ext_ack, .. } = error else { return None };
        match &**ext_ack {
            "Can't replace active BPF XDP link" => Some(Self::Link),
            "XDP program already attached" => Some(Self::Program),
            _ => None,
        }
    }

    /// Returns what attaches the program, more exactly than its links tell.
    pub const fn refine(self, by_links: HeldBy) -> HeldBy {
        match (self, by_links) {
            (Self::Program, _) => HeldBy::NoLink,
            (Self::Link, HeldBy::Link(id) | HeldBy::PerhapsLink(id)) => HeldBy::Link(id),
            (Self::Link, HeldBy::SomeLink | HeldBy::NoLink | HeldBy::Unknown) => HeldBy::SomeLink,
        }
    }
}

/// Returns the text of an attach point at which the program of an occupant is found.
///
/// Detaching knows neither the section of the program nor the object of the map. It finds an XDP program in
/// its own mode only.
fn resolved_text(point: &AttachPoint, place: Place, of: AttachType, xdp_mode: Option<XdpMode>) -> String {
    let word = of.short_name();
    match (point.site(), place) {
        // Without a mode, any mode will do.
        (AttachSite::Interface { name, .. }, _) if of == AttachType::Xdp => {
            match xdp_mode.and_then(|mode| interface_hook_word(InterfaceHook::Xdp(mode))) {
                Some(mode) => format!("dev:{name},{mode}"),
                None => format!("dev:{name}"),
            }
        }
        (AttachSite::Interface { name, .. }, _) => format!("dev:{name},{word}"),
        (AttachSite::Cgroup { path, .. }, _) => format!("cgroup:{},{word}", path.display()),
        (AttachSite::Map { .. }, Place::Map(id)) => format!("map:{id},{word}"),
        _ => point.to_string(),
    }
}

impl PointProgram<'_> {
    /// Returns the programs that are attached at the place. `None` if the place cannot be opened, or if the
    /// kernel does not report them.
    pub fn occupants(&self) -> Option<Vec<Occupant>> {
        let inode = |file: &File| file.metadata().ok().map(|file| file.ino());
        Some(match self.point.site() {
            AttachSite::Interface { name, .. } => {
                let ifindex = InterfaceRef::from(name.as_str()).index().ok()?;
                let of = match self.interface_hook().ok()? {
                    InterfaceHook::Xdp(_) => AttachType::Xdp,
                    InterfaceHook::Direction(direction) => direction.attach_type(),
                    InterfaceHook::Classifier(of) => of,
                    // Any number of classifiers can be attached.
                    InterfaceHook::Tc(_) => return None,
                };
                self.query(Place::Interface(ifindex), QueryTarget::Interface(ifindex), &[of])
            }
            AttachSite::Cgroup { path, attach_type } => {
                let of = self.cgroup_attach_type(*attach_type).ok()?;
                let dir = open_target(path, libc::O_DIRECTORY).ok()?;
                self.query(Place::Cgroup(inode(&dir)?), QueryTarget::Cgroup(dir.as_fd()), &[of])
            }
            AttachSite::Map { map, .. } => {
                let map = (self.open_map)(map).ok()?;
                let place = Place::Map(MapInfo::query(&map).ok()?.id);
                // A program of one attach type may exclude those of others.
                let types: Vec<_> = sockmap_attach_types().collect();
                self.query(place, QueryTarget::Sockmap(map.as_fd()), &types)
            }
            AttachSite::Netns(path) => {
                let netns = open_target(path, 0).ok()?;
                let place = Place::Netns(inode(&netns)?);
                self.query(place, QueryTarget::Netns(netns.as_fd()), &[self.netns_attach_type()])
            }
            // The kernel does not tell the network namespace of a netfilter link.
            AttachSite::Netfilter(_)
            | AttachSite::Lirc(_)
            | AttachSite::Process(_)
            | AttachSite::Cpu(_)
            | AttachSite::Section(_)
            | AttachSite::Route(_) => return None,
        })
    }

    /// Returns whether a link attaches a program at the place. Only the link can give the place up.
    pub(super) fn is_held_by_link(&self, attach_type: AttachType) -> bool {
        self.occupants().into_iter().flatten().any(|occupant| {
            occupant.attach_type == attach_type
                && matches!(occupant.held_by, HeldBy::Link(_) | HeldBy::SomeLink)
        })
    }

    /// Queries the programs of several attach types at a target.
    fn query(&self, place: Place, target: QueryTarget<'_>, attach_types: &[AttachType]) -> Vec<Occupant> {
        let mut occupants = Vec::new();
        // The kernel reports the links of tcx and netkit along with the programs. Others are found among all
        // links.
        let mut links = None;
        for of in attach_types {
            let Ok(attached) = attach::query(target, *of) else { continue };
            let modes = match (place, of) {
                (Place::Interface(ifindex), AttachType::Xdp) => attach::xdp_query(ifindex).ok(),
                _ => None,
            };
            for (index, prog_id) in attached.prog_ids.iter().enumerate() {
                let held_by = match attached.link_ids.get(index) {
                    Some(0) => HeldBy::NoLink,
                    Some(link) => HeldBy::Link(*link),
                    None => {
                        let links = links.get_or_insert_with(all_links);
                        links.as_ref().map_or(HeldBy::Unknown, |links| place.find(links, *prog_id, *of))
                    }
                };
                let xdp_mode = modes.as_ref().and_then(|modes| modes.mode_of(*prog_id));
                let point = resolved_text(self.point, place, *of, xdp_mode);
                occupants.push(Occupant { prog_id: *prog_id, attach_type: *of, held_by, point });
            }
        }
        occupants
    }
}

/// A link and the target to which it attaches its program.
type AttachedLink = (LinkInfo, LinkTarget);

/// Returns all links. `None` if the kernel does not list them, or without the right to open them.
fn all_links() -> Option<Vec<AttachedLink>> {
    let (mut links, mut btfs) = (Vec::new(), BtfCache::default());
    for link in list(ObjectKind::Link).ok()? {
        let Some(fd) = link.open().ok()? else { continue };
        let info = LinkInfo::query(&fd).ok()?;
        // A tracing link attaches to none of these places, and its target needs the kernel's BTF.
        if info.link_type != LinkType::Tracing.number() {
            let target = LinkTarget::read(&fd, &info, &mut btfs).ok()?;
            links.push((info, target));
        }
    }
    Some(links)
}

impl Place {
    /// Finds how a program is attached here: by the only link that fits, or without a link if none fits.
    fn find(self, links: &[AttachedLink], prog_id: u32, attach_type: AttachType) -> HeldBy {
        let mut fitting = links
            .iter()
            .filter(|(info, target)| info.prog_id == prog_id && self.is_target(target, attach_type));
        match (fitting.next(), fitting.next()) {
            (None, _) => HeldBy::NoLink,
            (Some((info, _)), None) if matches!(self, Self::Interface(_)) => HeldBy::PerhapsLink(info.id),
            (Some((info, _)), None) => HeldBy::Link(info.id),
            // An interface of another network namespace may have the same index.
            (Some(_), Some(_)) => HeldBy::Unknown,
        }
    }

    /// Returns whether a link's target is this place, with an attach type.
    fn is_target(self, target: &LinkTarget, of: AttachType) -> bool {
        match (self, target) {
            (Self::Interface(own), LinkTarget::Interface { ifindex, attach_type, .. }) => {
                let type_fits = match attach_type {
                    Some(name) => name == of.name(),
                    None => of == AttachType::Xdp,
                };
                own == *ifindex && type_fits
            }
            (Self::Cgroup(own), LinkTarget::Cgroup { cgroup_id, attach_type }) => {
                own == *cgroup_id && attach_type == of.name()
            }
            (Self::Netns(own), LinkTarget::Netns { netns_ino, attach_type }) => {
                own == u64::from(*netns_ino) && attach_type == of.name()
            }
            (Self::Map(own), LinkTarget::Sockmap { map_id, attach_type }) => {
                own == *map_id && attach_type == of.name()
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::LinkDevice;

    #[test]
    fn the_kernel_explains_whether_a_link_holds_an_xdp_hook() {
        for (holder, by_links, expected) in [
            (XdpHolder::Link, HeldBy::PerhapsLink(3), HeldBy::Link(3)),
            (XdpHolder::Link, HeldBy::Unknown, HeldBy::SomeLink),
            (XdpHolder::Link, HeldBy::NoLink, HeldBy::SomeLink),
            // The link is of another network namespace.
            (XdpHolder::Program, HeldBy::PerhapsLink(3), HeldBy::NoLink),
            (XdpHolder::Program, HeldBy::Unknown, HeldBy::NoLink),
        ] {
            assert_eq!(holder.refine(by_links), expected);
        }
    }

    #[test]
    fn the_point_of_an_occupant_has_what_detach_needs() {
        use AttachType as A;
        let mode = Some(XdpMode::Generic);
        for (point, place, of, xdp_mode, expected) in [
            ("dev:eth0", Place::Interface(2), A::Xdp, None, "dev:eth0"),
            ("dev:eth0", Place::Interface(2), A::Xdp, mode, "dev:eth0,xdpgeneric"),
            ("dev:eth0,xdpdrv", Place::Interface(2), A::Xdp, mode, "dev:eth0,xdpgeneric"),
            ("dev:eth0,xdpdrv", Place::Interface(2), A::Xdp, None, "dev:eth0"),
            ("dev:eth0", Place::Interface(2), A::Xdp, Some(XdpMode::Hardware), "dev:eth0,xdpoffload"),
            ("dev:eth0", Place::Interface(2), A::TcxEgress, None, "dev:eth0,tcx_egress"),
            ("cgroup:/a", Place::Cgroup(1), A::CgroupInet4Connect, None, "cgroup:/a,cgroup_inet4_connect"),
            (
                "cgroup:/a,connect4",
                Place::Cgroup(1),
                A::CgroupInet4Connect,
                None,
                "cgroup:/a,cgroup_inet4_connect",
            ),
            ("map:socks", Place::Map(12), A::SkSkbVerdict, None, "map:12,sk_skb_verdict"),
            ("netns:blue", Place::Netns(4), A::FlowDissector, None, "netns:blue"),
        ] {
            assert_eq!(resolved_text(&point.parse().unwrap(), place, of, xdp_mode), expected);
        }
    }

    #[test]
    fn the_link_of_a_place_is_found_by_program_place_and_attach_type() {
        let link = |id, prog_id, target| {
            let mut info = LinkInfo::default();
            (info.id, info.prog_id) = (id, prog_id);
            (info, target)
        };
        let cgroup =
            |cgroup_id, of: AttachType| LinkTarget::Cgroup { cgroup_id, attach_type: of.name().into() };
        let (ingress, egress) = (AttachType::CgroupInetIngress, AttachType::CgroupInetEgress);
        let xdp = LinkTarget::Interface { ifindex: 2, device: LinkDevice::Unclear, attach_type: None };
        let twice = LinkTarget::Interface { ifindex: 2, device: LinkDevice::Unclear, attach_type: None };
        let links = [
            link(1, 7, cgroup(50, ingress)),
            link(2, 7, cgroup(51, ingress)),
            link(3, 7, cgroup(50, egress)),
            link(4, 8, xdp),
            link(5, 8, twice),
        ];
        assert_eq!(Place::Cgroup(51).find(&links, 7, ingress), HeldBy::Link(2));
        assert_eq!(Place::Cgroup(50).find(&links, 7, egress), HeldBy::Link(3));
        assert_eq!(Place::Cgroup(51).find(&links, 7, egress), HeldBy::NoLink);
        assert_eq!(Place::Interface(2).find(&links, 8, AttachType::Xdp), HeldBy::Unknown);
        assert_eq!(Place::Interface(2).find(&links, 8, AttachType::TcxIngress), HeldBy::NoLink);
    }
}
