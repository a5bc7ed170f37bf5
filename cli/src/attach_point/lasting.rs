//! Attachments without a link, which last when the command ends, and their removal.

use super::{
    AttachPoint, AttachSite, AttachedProgram, explain,
    file::open,
    occupants::{XdpHolder, is_held_by_link},
};
use crate::words::{list, shell_word};
use clap::ValueEnum;
use core_relo_loader::{
    Errno,
    attach::{
        self, AttachError, InterfaceHook, InterfaceRef, ProgAttach, ProgramRef, QueryTarget, TcAttachPoint,
        TcFilter, TcHook, TcOptions, XdpMode, XdpPrograms, XdpReplace, attach_type_word, attach_types_of,
        cgroup_attach_types, netns_attach_type,
    },
    object::AttachType,
};
use rustix::fs::OFlags;
use std::{
    fs,
    os::{fd::AsFd as _, unix::fs::MetadataExt as _},
    path::Path,
};

/// The network namespace of this process.
const OWN_NETNS: &str = "/proc/self/ns/net";

/// The way in which a program without a link shares its cgroup with other programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CgroupSharing {
    /// All programs run: those of the cgroup and of its descendants
    #[default]
    Multi,
    /// A program of a descendant runs instead of this one
    Override,
    /// No other program can be attached to the cgroup and its descendants
    Exclusive,
}

impl From<CgroupSharing> for attach::CgroupSharing {
    fn from(sharing: CgroupSharing) -> Self {
        match sharing {
            CgroupSharing::Multi => Self::Multi,
            CgroupSharing::Override => Self::Override,
            CgroupSharing::Exclusive => Self::Exclusive,
        }
    }
}

/// A program and an attach point where it is attached without a link.
pub(crate) struct LastingAttachment<'a> {
    pub(crate) program: &'a AttachedProgram<'a>,
    pub(crate) id: u32,
    pub(crate) point: &'a AttachPoint,
}

impl LastingAttachment<'_> {
    /// Attaches the program. With `replace`, the program takes the place of another one, where only one can be attached.
    pub(crate) fn attach(&self, sharing: Option<CgroupSharing>, replace: bool) -> Result<(), AttachError> {
        let program = self.program.loaded.unnamed();
        if sharing.is_some() && !matches!(self.point.site(), AttachSite::Cgroup { .. }) {
            return Err(self.bad("--sharing is for cgroups only".into()));
        }
        if replace && !self.can_replace()? {
            let what = "--replace replaces an XDP program, a flow dissector or the program of a sockmap; this place may have several programs";
            return Err(self.bad(format!("{what}: detach the other one")));
        }
        match self.point.site() {
            AttachSite::Interface { name, .. } => {
                match self.interface_hook()? {
                    InterfaceHook::Xdp(mode) => {
                        let replace = if replace { XdpReplace::Any } else { XdpReplace::Never };
                        program
                            .attach_xdp_netlink(name, mode, replace)
                            .map_err(|e| self.xdp_refusal(name, replace, e))?
                            .leak();
                    }
                    InterfaceHook::Tc(direction) => {
                        self.check_no_filter(name, direction)?;
                        program.attach_tc(name, direction, TcOptions::default())?.leak();
                    }
                    InterfaceHook::Direction(direction) => {
                        self.attach_classifier(name, direction.attach_type())?;
                    }
                    InterfaceHook::Classifier(of) => self.attach_classifier(name, of)?,
                }
                Ok(())
            }
            AttachSite::Cgroup { path, attach_type } => {
                let of = self.cgroup_attach_type(*attach_type)?;
                if of == AttachType::TraceIter {
                    return Err(self.needs_link());
                }
                let sharing = sharing.unwrap_or_default().into();
                program.with_attach_type(of).attach_cgroup_without_link(path, sharing, None)?.leak();
                Ok(())
            }
            AttachSite::Map { map, attach_type } => {
                let of = self.map_attach_type(*attach_type)?;
                if of == AttachType::TraceIter {
                    return Err(self.needs_link());
                }
                let map = (self.program.open_map)(map)?;
                // Kernels before 5.18 cannot tell which program is attached.
                self.check_free(QueryTarget::Sockmap(map.as_fd()), of, replace)?;
                program.with_attach_type(of).attach_sockmap_without_link(map.as_fd())?.leak();
                Ok(())
            }
            AttachSite::Netns(path) => {
                let request = self.netns_request(path)?;
                let netns = open(path, OFlags::empty())?;
                self.check_free(QueryTarget::Netns(netns.as_fd()), AttachType::FlowDissector, replace)?;
                request.attach().map_err(|e| self.refused("attach", e))
            }
            AttachSite::Lirc(path) => {
                program.attach_lirc(path)?.leak();
                Ok(())
            }
            AttachSite::Route(route) => {
                route.attach(self.program.loaded.fd, self.program.loaded.program_type)?.leak();
                Ok(())
            }
            AttachSite::Netfilter(_)
            | AttachSite::Process(_)
            | AttachSite::Cpu(_)
            | AttachSite::Section(_) => Err(self.needs_link()),
        }
    }

    /// Returns whether the attach point has at most one program, which another program can replace.
    fn can_replace(&self) -> Result<bool, AttachError> {
        Ok(match self.point.site() {
            AttachSite::Interface { .. } => matches!(self.interface_hook()?, InterfaceHook::Xdp(_)),
            AttachSite::Netns(_) => {
                netns_attach_type(self.program.loaded.program_type) == AttachType::FlowDissector
            }
            site => matches!(site, AttachSite::Map { .. }),
        })
    }

    /// Checks that no other program is attached at a place where the kernel replaces it without a question. A place that a link holds is
    /// left to the kernel, which refuses it.
    fn check_free(&self, target: QueryTarget<'_>, of: AttachType, replace: bool) -> Result<(), AttachError> {
        let other = match attach::query(target, of) {
            Ok(found) => found.prog_ids.first().copied(),
            // Older kernels do not tell.
            Err(e) if matches!(e.errno(), Some(Errno::EINVAL | Errno::EOPNOTSUPP)) => None,
            Err(e) => return Err(e),
        };
        match other.filter(|other| !replace && *other != self.id) {
            Some(other) if !is_held_by_link(self.program, self.point, of) => {
                Err(self.bad(format!("program {other} is attached there: --replace replaces it")))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the program is not a classifier there already. The kernel would run it once more for each packet, whereas tcx and cgroups
    /// refuse a program that is attached.
    fn check_no_filter(&self, interface: &str, direction: TcAttachPoint) -> Result<(), AttachError> {
        let filters = TcHook::new(interface, direction)?.filters()?;
        match filters.iter().find(|filter| filter.prog_id == self.id) {
            Some(TcFilter { handle, priority, .. }) => Err(self.bad(format!(
                "program {id} is attached there already, with priority {priority} and handle {handle:#x}: \
                 `core-relo prog detach {id} --from {point}` detaches it",
                id = self.id,
                point = shell_word(&self.point.to_string()),
            ))),
            None => Ok(()),
        }
    }

    /// Attaches a classifier of tcx or netkit.
    fn attach_classifier(&self, interface: &str, of: AttachType) -> Result<(), AttachError> {
        let ifindex = InterfaceRef::from(interface).index()?;
        let request = ProgAttach {
            prog: Some(self.program.loaded.fd),
            ifindex,
            attach_type: of.number(),
            ..ProgAttach::default()
        };
        let is_netkit = matches!(of, AttachType::NetkitPrimary | AttachType::NetkitPeer);
        request.attach().map_err(|e| match e {
            Errno::EINVAL if is_netkit => {
                self.bad(format!("cannot attach: {e}: expected a netkit interface"))
            }
            _ => self.refused("attach", e),
        })
    }

    /// Detaches a classifier of tcx or netkit.
    fn detach_classifier(&self, interface: &str, of: AttachType) -> Result<(), AttachError> {
        let ifindex = InterfaceRef::from(interface).index()?;
        self.check_attached(QueryTarget::Interface(ifindex), of)?;
        let attach_type = of.number();
        self.detach_by(&ProgAttach {
            prog: Some(self.program.loaded.fd),
            ifindex,
            attach_type,
            ..ProgAttach::default()
        })
    }

    /// Returns the error of an XDP program that is not attached. Names the program that `--replace` replaces: one that no link attaches.
    fn xdp_refusal(&self, interface: &str, replace: XdpReplace<'_>, e: AttachError) -> AttachError {
        let is_replaceable =
            matches!(replace, XdpReplace::Never) && XdpHolder::reported(&e) == Some(XdpHolder::Program);
        match attach::xdp_query(interface) {
            Ok(XdpPrograms { prog_id: other, .. }) if is_replaceable && other != 0 => {
                self.bad(format!("program {other} is attached there: --replace replaces it"))
            }
            _ => e,
        }
    }

    /// Detaches the program. Fails if this program is not attached there, or is attached by a link.
    pub(crate) fn detach(&self) -> Result<(), AttachError> {
        let request = ProgAttach { prog: Some(self.program.loaded.fd), ..ProgAttach::default() };
        match self.point.site() {
            AttachSite::Interface { name, .. } => match self.interface_hook()? {
                InterfaceHook::Xdp(mode) => self.detach_xdp(name, mode),
                InterfaceHook::Tc(direction) => self.detach_tc(name, direction),
                InterfaceHook::Direction(direction) => self.detach_classifier(name, direction.attach_type()),
                InterfaceHook::Classifier(of) => self.detach_classifier(name, of),
            },
            AttachSite::Cgroup { path, attach_type } => {
                let dir = open(path, OFlags::DIRECTORY)?;
                let of = match attach_type {
                    Some(_) => self.cgroup_attach_type(*attach_type)?,
                    None => self.find_cgroup_attach_type(QueryTarget::Cgroup(dir.as_fd()))?,
                };
                self.check_attached(QueryTarget::Cgroup(dir.as_fd()), of)?;
                self.detach_by(&ProgAttach { target: Some(dir.as_fd()), attach_type: of.number(), ..request })
            }
            AttachSite::Map { map, attach_type } => {
                let of = self.map_attach_type(*attach_type)?;
                let map = (self.program.open_map)(map)?;
                self.check_attached(QueryTarget::Sockmap(map.as_fd()), of)?;
                self.detach_by(&ProgAttach { target: Some(map.as_fd()), attach_type: of.number(), ..request })
            }
            AttachSite::Netns(path) => {
                if netns_attach_type(self.program.loaded.program_type) != AttachType::FlowDissector {
                    return Err(self.only_links());
                }
                let request = self.netns_request(path)?;
                let netns = open(path, OFlags::empty())?;
                self.check_attached(QueryTarget::Netns(netns.as_fd()), AttachType::FlowDissector)?;
                self.detach_by(&request)
            }
            AttachSite::Lirc(path) => {
                let (device, of) = (open(path, OFlags::empty())?, AttachType::LircMode2);
                self.check_attached(QueryTarget::Lirc(device.as_fd()), of)?;
                self.detach_by(&ProgAttach {
                    target: Some(device.as_fd()),
                    attach_type: of.number(),
                    ..request
                })
            }
            AttachSite::Route(route) => {
                Err(self.bad(format!("the program belongs to a route: {} removes both", route.removal())))
            }
            AttachSite::Netfilter(_)
            | AttachSite::Process(_)
            | AttachSite::Cpu(_)
            | AttachSite::Section(_) => Err(self.only_links()),
        }
    }

    fn detach_xdp(&self, name: &str, wanted: XdpMode) -> Result<(), AttachError> {
        let XdpPrograms {
            has_multiple_modes,
            prog_id,
            driver_prog_id,
            generic_prog_id,
            hardware_prog_id,
            ..
        } = attach::xdp_query(name)?;
        let modes = [
            (driver_prog_id, XdpMode::Driver),
            (generic_prog_id, XdpMode::Generic),
            (hardware_prog_id, XdpMode::Hardware),
            (if has_multiple_modes { 0 } else { prog_id }, XdpMode::Any),
        ];
        let is_wanted =
            |(id, mode): &(u32, XdpMode)| *id == self.id && (wanted == XdpMode::Any || *mode == wanted);
        let (_, mode) = modes.into_iter().find(is_wanted).ok_or_else(|| self.not_attached())?;
        attach::xdp_detach(name, mode, Some(self.program.loaded.fd)).map_err(|e| match e.errno() {
            Some(errno) if errno == Errno::EBUSY => self.attached_by_link(),
            _ => e,
        })
    }

    fn detach_tc(&self, name: &str, direction: TcAttachPoint) -> Result<(), AttachError> {
        let hook = TcHook::new(name, direction)?;
        let filters = hook.filters()?;
        let own: Vec<_> = filters.iter().filter(|filter| filter.prog_id == self.id).collect();
        if own.is_empty() {
            return Err(self.not_attached());
        }
        own.into_iter().try_for_each(|filter| hook.detach(filter.handle, filter.priority))
    }

    /// Returns an error unless the program is attached to a target without a link.
    fn check_attached(&self, target: QueryTarget<'_>, attach_type: AttachType) -> Result<(), AttachError> {
        let attached = match attach::query(target, attach_type) {
            Ok(attached) => attached,
            // Sockmaps before 5.18 cannot be queried. They detach only the program that the request names.
            Err(_) if matches!(target, QueryTarget::Sockmap(_)) => return Ok(()),
            Err(e) => return Err(e),
        };
        let place =
            attached.prog_ids.iter().position(|id| *id == self.id).ok_or_else(|| self.not_attached())?;
        match attached.link_ids.get(place) {
            Some(link) if *link != 0 => {
                Err(self
                    .bad(format!("link {link} attaches program {}: `core-relo link detach {link}`", self.id)))
            }
            _ => Ok(()),
        }
    }

    fn detach_by(&self, request: &ProgAttach<'_>) -> Result<(), AttachError> {
        request.detach().map_err(|e| match e {
            // The program was among those that the query returned.
            Errno::ENOENT | Errno::EPERM | Errno::EINVAL | Errno::EBUSY => self.attached_by_link(),
            _ => self.refused("detach", e),
        })
    }

    /// Returns the request for a flow dissector of this process's network namespace. The kernel attaches no program to other
    /// namespaces without a link.
    fn netns_request(&self, path: &Path) -> Result<ProgAttach<'_>, AttachError> {
        let attach_type = netns_attach_type(self.program.loaded.program_type);
        let identity = |path: &Path| fs::metadata(path).map(|of| (of.dev(), of.ino())).ok();
        if attach_type != AttachType::FlowDissector {
            return Err(self.needs_link());
        }
        if identity(path).is_none() || identity(path) != identity(Path::new(OWN_NETNS)) {
            let problem = "expected the network namespace of this command: `nsenter --net=PATH` runs it in another one; \
                           or make a link with --pin PATH";
            return Err(self.bad(problem.into()));
        }
        let attach_type = attach_type.number();
        Ok(ProgAttach { prog: Some(self.program.loaded.fd), attach_type, ..ProgAttach::default() })
    }

    fn interface_hook(&self) -> Result<InterfaceHook, AttachError> {
        let ProgramRef { program_type, attach_type, .. } = self.program.loaded;
        let hook = self.point.interface_hook(program_type, attach_type);
        let hook = hook.map_err(|error| self.bad(explain(error)))?;
        hook.ok_or_else(|| self.bad("the attach point is no network interface".into()))
    }

    fn cgroup_attach_type(&self, given: Option<AttachType>) -> Result<AttachType, AttachError> {
        let given = given.or(self.program.loaded.attach_type);
        self.point
            .cgroup_attach_type(self.program.loaded.program_type, given)
            .map_err(|error| self.bad(explain(error)))
    }

    /// Returns the attach type with which the cgroup has the program.
    fn find_cgroup_attach_type(&self, cgroup: QueryTarget<'_>) -> Result<AttachType, AttachError> {
        let candidates =
            attach_types_of(self.program.loaded.program_type, &cgroup_attach_types().collect::<Vec<_>>());
        if candidates.is_empty() {
            return Err(self.only_links());
        }
        let mut found = Vec::new();
        for of in candidates {
            match attach::query(cgroup, of) {
                Ok(attached) if attached.prog_ids.contains(&self.id) => found.push(of),
                Ok(_) => {}
                // The kernel does not know the attach type.
                Err(e) if e.errno() == Some(Errno::EINVAL) => {}
                Err(e) => return Err(e),
            }
        }
        match *found {
            [] => Err(self.not_attached()),
            [only] => Ok(only),
            ref several => {
                let words: Vec<_> = several.iter().map(|of| attach_type_word(*of)).collect();
                let (id, point) = (self.id, self.point);
                let expected = list(words.iter().map(String::as_str));
                Err(self.bad(format!(
                    "program {id} is attached there with several attach types: expected `{point},TYPE` with {expected}"
                )))
            }
        }
    }

    fn map_attach_type(&self, given: Option<AttachType>) -> Result<AttachType, AttachError> {
        let given = given.or(self.program.loaded.attach_type);
        self.point
            .map_attach_type(self.program.loaded.program_type, given)
            .map_err(|error| self.bad(explain(error)))
    }

    fn bad(&self, problem: String) -> AttachError {
        AttachError::target(self.point.to_string(), problem)
    }

    fn refused(&self, action: &str, e: Errno) -> AttachError {
        let problem = format!("cannot {action} program {}: {e}", self.id).into();
        AttachError::Target { label: self.point.to_string().into(), problem, errno: Some(e) }
    }

    fn needs_link(&self) -> AttachError {
        self.bad("only a link attaches programs there, and it needs a pin to last: --pin PATH".into())
    }

    fn only_links(&self) -> AttachError {
        self.bad("programs are attached there by links: `core-relo link list` shows them".into())
    }

    fn not_attached(&self) -> AttachError {
        self.bad(format!("program {} is not attached there", self.id))
    }

    fn attached_by_link(&self) -> AttachError {
        self.bad(format!(
            "a link attaches program {}: `core-relo link list` shows it, `core-relo link detach` detaches it",
            self.id
        ))
    }
}
