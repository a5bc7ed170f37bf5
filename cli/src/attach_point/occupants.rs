//! The programs that are attached at a place already. They explain why the kernel refuses another one.

use super::{AttachPoint, AttachSite, AttachedProgram, file::open};
use crate::words::shell_word;
use core_relo_loader::{
    Errno,
    attach::{
        self, AttachError, InterfaceHook, InterfaceRef, ProgramRef, QueryTarget, XdpMode,
        interface_hook_word, netns_attach_type, sockmap_attach_types,
    },
    inventory::{BtfCache, LinkInfo, LinkTarget, MapInfo, ObjectKind, ProgramInfo, list},
    object::{AttachType, LinkType},
};
use rustix::fs::OFlags;
use std::os::fd::AsFd as _;

/// The largest number of programs that an error names.
const SHOWN: usize = 4;

/// A program that is attached at the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Occupant {
    prog_id: u32,
    attach_type: AttachType,
    attachment: Attachment,
    /// The mode of an XDP program, if the kernel reports one.
    xdp_mode: Option<XdpMode>,
}

/// The way in which a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attachment {
    /// By a link, with the link's id.
    Link(u32),
    /// By this link if it is in this network namespace: the kernel does not report the namespace of XDP links.
    PerhapsLink(u32),
    /// By a link whose id is not known.
    SomeLink,
    /// Without a link.
    Direct,
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

/// The programs at the place of an attach point.
struct Occupied {
    place: Place,
    occupants: Vec<Occupant>,
}

/// Adds the programs that are attached at the place to an error that they may have caused. `loaded` are the ids and
/// names of the programs that are loaded with this one, and that a refusal unloads.
pub(crate) fn explain_refusal(
    error: AttachError,
    program: &AttachedProgram<'_>,
    point: &AttachPoint,
    loaded: &[(u32, &str)],
) -> AttachError {
    let may_be_occupied = matches!(
        error.errno(),
        Some(Errno::EEXIST | Errno::EBUSY | Errno::EPERM | Errno::EINVAL | Errno::E2BIG | Errno::ERANGE)
    );
    let found = if may_be_occupied { Occupied::find(program, point) } else { None };
    let own_id = ProgramInfo::query(&program.loaded.fd).map(|info| info.id).ok();
    // A cgroup refuses a program with `EINVAL` if the program is attached already, but not because of another one.
    let is_invalid_in_cgroup =
        matches!(point.site(), AttachSite::Cgroup { .. }) && error.errno() == Some(Errno::EINVAL);
    let found = found.filter(|found| {
        !is_invalid_in_cgroup || found.occupants.iter().any(|other| Some(other.prog_id) == own_id)
    });
    let Some(Occupied { place, mut occupants }) = found else {
        return explain_refusal_of_cgroup(error, point);
    };
    if let Some(holder) = XdpHolder::reported(&error) {
        occupants
            .iter_mut()
            .for_each(|occupant| occupant.attachment = holder.attachment(occupant.attachment));
    }
    // The kernel refuses to attach a program twice, whatever else is attached.
    let own = occupants.iter().find(|occupant| Some(occupant.prog_id) == own_id);
    let Some(cause) = own.or(occupants.first()) else { return error };
    let mut names: Vec<_> =
        occupants.iter().take(SHOWN).map(|occupant| occupant.text(own_id, loaded)).collect();
    if occupants.len() > SHOWN {
        names.push(format!("{} more", occupants.len() - SHOWN));
    }
    let way_out = match own_id {
        _ if !loaded.iter().any(|(id, _)| *id == cause.prog_id) => {
            // The kernel has many reasons for `EINVAL`, such as an XDP mode that the device lacks.
            let is_doubtful = error.errno() == Some(Errno::EINVAL);
            format!(
                "{}{}",
                if is_doubtful { "if it is the cause, " } else { "" },
                cause.way_out(place, point)
            )
        }
        Some(own) if own == cause.prog_id => "this load attaches it there twice".into(),
        _ => "this load attaches both there, expected one of them".into(),
    };
    let (errno, text) = (error.errno(), error.to_string());
    // Some errors name the attach point themselves.
    let text = text.strip_prefix(&format!("{point}: ")).unwrap_or(&text);
    let problem = format!("{text}; attached there: {}; {way_out}", names.join(", "));
    AttachError::Target { label: point.to_string().into(), problem: problem.into(), errno }
}

/// Returns whether a link attaches a program at a place. Only the link can give the place up.
pub(super) fn is_held_by_link(
    program: &AttachedProgram<'_>,
    point: &AttachPoint,
    attach_type: AttachType,
) -> bool {
    let by_link = |occupant: &Occupant| {
        occupant.attach_type == attach_type
            && matches!(occupant.attachment, Attachment::Link(_) | Attachment::SomeLink)
    };
    Occupied::find(program, point).is_some_and(|found| found.occupants.iter().any(by_link))
}

/// The holder of an interface's XDP hook, by the kernel's explanation of `EBUSY`. Links explain nothing: only netlink does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum XdpHolder {
    /// A link, which netlink cannot remove.
    Link,
    /// A program without a link.
    Program,
}

impl XdpHolder {
    /// Returns the holder that an error reports (`dev_xdp_attach` in the kernel).
    pub(super) fn reported(error: &AttachError) -> Option<Self> {
        let AttachError::Netlink { ext_ack, .. } = error else { return None };
        match &**ext_ack {
            "Can't replace active BPF XDP link" => Some(Self::Link),
            "XDP program already attached" => Some(Self::Program),
            _ => None,
        }
    }

    /// Returns how the program is attached, more exactly than its links tell.
    fn attachment(self, by_links: Attachment) -> Attachment {
        match (self, by_links) {
            (Self::Program, _) => Attachment::Direct,
            (Self::Link, Attachment::Link(id) | Attachment::PerhapsLink(id)) => Attachment::Link(id),
            (Self::Link, Attachment::SomeLink | Attachment::Direct | Attachment::Unknown) => {
                Attachment::SomeLink
            }
        }
    }
}

/// Adds the command that shows the programs of all cgroups: a program of a cgroup above may forbid others below.
fn explain_refusal_of_cgroup(error: AttachError, point: &AttachPoint) -> AttachError {
    let errno = error.errno();
    let help = match error.errno() {
        _ if !matches!(point.site(), AttachSite::Cgroup { .. }) => return error,
        Some(Errno::EPERM) => "`core-relo cgroup tree` shows the programs of the cgroups above",
        // The kernel does not report the attach type of a loaded program.
        Some(Errno::EINVAL) => "was the program loaded for this attach type, as its section names it?",
        _ => return error,
    };
    let problem = format!("{error}; {help}");
    AttachError::Target { label: point.to_string().into(), problem: problem.into(), errno }
}

impl Occupant {
    /// Names the program, and the link that attaches it. The ids of programs that this load unloads would be of no use.
    fn text(self, own_id: Option<u32>, loaded: &[(u32, &str)]) -> String {
        if let Some((_, name)) = loaded.iter().find(|(id, _)| *id == self.prog_id) {
            return if own_id == Some(self.prog_id) {
                "this program".into()
            } else {
                format!("program `{name}` of this load")
            };
        }
        let program = match own_id {
            Some(own) if own == self.prog_id => format!("this program ({own})"),
            _ => format!("program {}", self.prog_id),
        };
        match self.attachment {
            Attachment::Link(link) => format!("{program} by link {link}"),
            Attachment::PerhapsLink(link) => format!("{program}, perhaps by link {link}"),
            Attachment::SomeLink => format!("{program} by a link"),
            Attachment::Direct | Attachment::Unknown => program,
        }
    }

    /// Returns the command that detaches the program.
    fn way_out(self, place: Place, point: &AttachPoint) -> String {
        let Self { prog_id, attach_type, attachment, xdp_mode } = self;
        if let Attachment::Link(link) = attachment {
            return format!("`core-relo link detach {link}` makes room");
        }
        // Only links attach socket lookups.
        if attach_type == AttachType::SkLookup || attachment == Attachment::SomeLink {
            return "`core-relo link list` shows its link, `core-relo link detach` makes room".into();
        }
        let resolved = match xdp_mode {
            Some(mode) => text_with_xdp_mode(point, mode),
            None => resolved_text(point, place, attach_type),
        };
        let resolved = shell_word(&resolved);
        let detach = format!("`core-relo prog detach {prog_id} --from {resolved}` makes room");
        match attachment {
            Attachment::PerhapsLink(link) => format!(
                "`core-relo link detach {link}` makes room if that link is in this network namespace, else {detach}"
            ),
            Attachment::Unknown => format!("{detach}, or `core-relo link detach` if a link attaches it"),
            _ => detach,
        }
    }
}

/// Returns the text of the attach point with the mode in which an XDP program is attached. `prog detach` finds the program in this mode
/// only, which may be another than that of the refused program.
fn text_with_xdp_mode(point: &AttachPoint, mode: XdpMode) -> String {
    match (point.site(), interface_hook_word(InterfaceHook::Xdp(mode))) {
        (AttachSite::Interface { name, .. }, Some(word)) => format!("dev:{name},{word}"),
        _ => point.to_string(),
    }
}

/// Returns the text of the attach point with the attach type, and with the id of the map. `prog detach` knows neither the section
/// of the program nor the object of the map.
fn resolved_text(point: &AttachPoint, place: Place, attach_type: AttachType) -> String {
    let word = attach_type.short_name();
    match (point.site(), place) {
        // Without a mode, any mode will do.
        (AttachSite::Interface { name, .. }, _) if attach_type == AttachType::Xdp => {
            format!("dev:{name}")
        }
        (AttachSite::Interface { name, .. }, _) => format!("dev:{name},{word}"),
        (AttachSite::Cgroup { path, .. }, _) => format!("cgroup:{},{word}", path.display()),
        (AttachSite::Map { .. }, Place::Map(id)) => format!("map:{id},{word}"),
        _ => point.to_string(),
    }
}

impl Occupied {
    /// Finds the programs at a place. Returns `None` if there are none, or if the kernel does not report them.
    fn find(program: &AttachedProgram<'_>, point: &AttachPoint) -> Option<Self> {
        let ProgramRef { program_type, attach_type, .. } = program.loaded;
        match point.site() {
            AttachSite::Interface { name, .. } => {
                let ifindex = InterfaceRef::from(name).index().ok()?;
                let of = match point.interface_hook(program_type, attach_type).ok()?? {
                    InterfaceHook::Xdp(_) => AttachType::Xdp,
                    InterfaceHook::Direction(direction) => direction.attach_type(),
                    InterfaceHook::Classifier(of) => of,
                    // Any number of classifiers can be attached.
                    InterfaceHook::Tc(_) => return None,
                };
                Self::query(Place::Interface(ifindex), QueryTarget::Interface(ifindex), &[of])
            }
            AttachSite::Cgroup { path, attach_type: given } => {
                let of = point.cgroup_attach_type(program_type, given.or(attach_type)).ok()?;
                let dir = open(path, OFlags::DIRECTORY).ok()?;
                let place = Place::Cgroup(rustix::fs::fstat(&dir).ok()?.st_ino);
                Self::query(place, QueryTarget::Cgroup(dir.as_fd()), &[of])
            }
            AttachSite::Map { map, .. } => {
                let map = (program.open_map)(map).ok()?;
                let place = Place::Map(MapInfo::query(&map).ok()?.id);
                // A program of one attach type may exclude those of others.
                let types: Vec<_> = sockmap_attach_types().collect();
                Self::query(place, QueryTarget::Sockmap(map.as_fd()), &types)
            }
            AttachSite::Netns(path) => {
                let netns = open(path, OFlags::empty()).ok()?;
                let place = Place::Netns(rustix::fs::fstat(&netns).ok()?.st_ino);
                let of = netns_attach_type(program_type);
                Self::query(place, QueryTarget::Netns(netns.as_fd()), &[of])
            }
            // The kernel does not tell the network namespace of a netfilter link.
            AttachSite::Netfilter(_)
            | AttachSite::Lirc(_)
            | AttachSite::Process(_)
            | AttachSite::Cpu(_)
            | AttachSite::Section(_)
            | AttachSite::Route(_) => None,
        }
    }

    /// Queries the programs of several attach types at a target.
    fn query(place: Place, target: QueryTarget<'_>, attach_types: &[AttachType]) -> Option<Self> {
        let mut occupants = Vec::new();
        // The kernel reports the links of tcx and netkit along with the programs. Others are found among all links.
        let mut links = None;
        for of in attach_types {
            let Ok(attached) = attach::query(target, *of) else { continue };
            let modes = match (place, of) {
                (Place::Interface(ifindex), AttachType::Xdp) => attach::xdp_query(ifindex).ok(),
                _ => None,
            };
            for (index, prog_id) in attached.prog_ids.iter().enumerate() {
                let attachment = match attached.link_ids.get(index) {
                    Some(0) => Attachment::Direct,
                    Some(link) => Attachment::Link(*link),
                    None => {
                        let links = links.get_or_insert_with(all_links);
                        links.as_ref().map_or(Attachment::Unknown, |links| place.find(links, *prog_id, *of))
                    }
                };
                let xdp_mode = modes.as_ref().and_then(|modes| modes.mode_of(*prog_id));
                occupants.push(Occupant { prog_id: *prog_id, attach_type: *of, attachment, xdp_mode });
            }
        }
        (!occupants.is_empty()).then_some(Self { place, occupants })
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
    fn find(self, links: &[AttachedLink], prog_id: u32, attach_type: AttachType) -> Attachment {
        let mut fitting = links
            .iter()
            .filter(|(info, target)| info.prog_id == prog_id && self.is_target(target, attach_type));
        match (fitting.next(), fitting.next()) {
            (None, _) => Attachment::Direct,
            (Some((info, _)), None) if matches!(self, Self::Interface(_)) => Attachment::PerhapsLink(info.id),
            (Some((info, _)), None) => Attachment::Link(info.id),
            // An interface of another network namespace may have the same index.
            (Some(_), Some(_)) => Attachment::Unknown,
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
    use core_relo_loader::inventory::LinkDevice;

    #[test]
    fn an_occupant_is_named_with_the_link_that_attaches_it() {
        let occupant = |prog_id, attachment| Occupant {
            prog_id,
            attach_type: AttachType::Xdp,
            attachment,
            xdp_mode: None,
        };
        assert_eq!(occupant(7, Attachment::Link(1)).text(Some(7), &[]), "this program (7) by link 1");
        assert_eq!(occupant(9, Attachment::Direct).text(Some(7), &[]), "program 9");
        assert_eq!(occupant(9, Attachment::Unknown).text(None, &[]), "program 9");
        // A refusal unloads these programs.
        let loaded = [(7, "first"), (8, "second")];
        assert_eq!(occupant(7, Attachment::Link(1)).text(Some(7), &loaded), "this program");
        assert_eq!(occupant(8, Attachment::Link(1)).text(Some(7), &loaded), "program `second` of this load");
        assert_eq!(occupant(9, Attachment::Link(1)).text(Some(7), &loaded), "program 9 by link 1");
    }

    #[test]
    fn the_kernel_explains_whether_a_link_holds_an_xdp_hook() {
        use Attachment as A;
        for (holder, by_links, expected) in [
            (XdpHolder::Link, A::PerhapsLink(3), A::Link(3)),
            (XdpHolder::Link, A::Unknown, A::SomeLink),
            (XdpHolder::Link, A::Direct, A::SomeLink),
            // The link is of another network namespace.
            (XdpHolder::Program, A::PerhapsLink(3), A::Direct),
            (XdpHolder::Program, A::Unknown, A::Direct),
        ] {
            assert_eq!(holder.attachment(by_links), expected);
        }
        let occupant =
            Occupant { prog_id: 7, attach_type: AttachType::Xdp, attachment: A::SomeLink, xdp_mode: None };
        assert_eq!(occupant.text(None, &[]), "program 7 by a link");
        let way_out = occupant.way_out(Place::Interface(2), &"dev:eth0".parse().unwrap());
        assert!(way_out.contains("`core-relo link list` shows its link"), "{way_out}");
        assert!(!way_out.contains("prog detach"), "{way_out}");
    }

    #[test]
    fn a_way_out_names_the_attach_type_and_the_map_that_detach_needs() {
        let way_out = |point: &str, place, attach_type| {
            let point: AttachPoint = point.parse().unwrap();
            let xdp_mode = None;
            Occupant { prog_id: 7, attach_type, attachment: Attachment::Direct, xdp_mode }
                .way_out(place, &point)
        };
        for (point, place, attach_type, from) in [
            ("dev:eth0", Place::Interface(2), AttachType::Xdp, "dev:eth0"),
            ("dev:eth0", Place::Interface(2), AttachType::TcxEgress, "dev:eth0,tcx_egress"),
            ("cgroup:/a", Place::Cgroup(1), AttachType::CgroupInet4Connect, "cgroup:/a,cgroup_inet4_connect"),
            (
                "cgroup:/a,connect4",
                Place::Cgroup(1),
                AttachType::CgroupInet4Connect,
                "cgroup:/a,cgroup_inet4_connect",
            ),
            ("cgroup:/a b", Place::Cgroup(1), AttachType::CgroupDevice, "'cgroup:/a b,cgroup_device'"),
            ("map:socks", Place::Map(12), AttachType::SkSkbVerdict, "map:12,sk_skb_verdict"),
            ("netns:blue", Place::Netns(4), AttachType::FlowDissector, "netns:blue"),
        ] {
            let expected = format!("`core-relo prog detach 7 --from {from}` makes room");
            assert_eq!(way_out(point, place, attach_type), expected);
        }
        let lookup = way_out("netns:blue", Place::Netns(4), AttachType::SkLookup);
        assert!(lookup.contains("link detach") && !lookup.contains("prog detach"), "{lookup}");
    }

    #[test]
    fn a_way_out_names_the_mode_in_which_an_xdp_program_is_attached() {
        for (mode, from) in [
            (Some(XdpMode::Generic), "dev:eth0,xdpgeneric"),
            (Some(XdpMode::Driver), "dev:eth0,xdpdrv"),
            (Some(XdpMode::Hardware), "dev:eth0,xdpoffload"),
            (None, "dev:eth0"),
        ] {
            let (attach_type, attachment) = (AttachType::Xdp, Attachment::Direct);
            let occupant = Occupant { prog_id: 7, attach_type, attachment, xdp_mode: mode };
            for point in ["dev:eth0", "dev:eth0,xdpdrv", "dev:eth0,xdpgeneric"] {
                let way_out = occupant.way_out(Place::Interface(2), &point.parse().unwrap());
                assert_eq!(way_out, format!("`core-relo prog detach 7 --from {from}` makes room"));
            }
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
        assert_eq!(Place::Cgroup(51).find(&links, 7, ingress), Attachment::Link(2));
        assert_eq!(Place::Cgroup(50).find(&links, 7, egress), Attachment::Link(3));
        assert_eq!(Place::Cgroup(51).find(&links, 7, egress), Attachment::Direct);
        assert_eq!(Place::Interface(2).find(&links, 8, AttachType::Xdp), Attachment::Unknown);
        assert_eq!(Place::Interface(2).find(&links, 8, AttachType::TcxIngress), Attachment::Direct);
    }
}
