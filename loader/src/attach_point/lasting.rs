//! Attachments without a link, which last when the process ends.

use super::{AttachSite, InterfaceHook, LastingError, PointProgram, XdpHolder, open::open_target};
use crate::{
    attach::{
        self, AttachError, CgroupSharing, InterfaceRef, QueryTarget, TcAttachPoint, TcHook, TcOptions,
        XdpPrograms, XdpReplace,
    },
    sys::{Errno, ProgAttach},
};
use core_relo_object::object::AttachType;
use std::{fs, os::fd::AsFd as _, os::unix::fs::MetadataExt as _, path::Path};

/// The network namespace of this process.
const OWN_NETNS: &str = "/proc/self/ns/net";

/// The options of [`PointProgram::attach_without_link`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by callers")]
pub struct LastingOptions {
    /// The way in which the program shares its cgroup with other programs. `None` for
    /// [`CgroupSharing::Multi`], and for other places.
    pub sharing: Option<CgroupSharing>,
    /// Whether the program takes the place of another one: of an XDP program, a flow dissector or the program
    /// of a sockmap.
    pub replace: bool,
}

impl PointProgram<'_> {
    /// Attaches the program without a link. The attachment stays until [`detach`](Self::detach), or until the
    /// place is gone.
    ///
    /// The kernel replaces flow dissectors and the programs of sockmaps without a question, and attaches a
    /// classifier of traffic control a second time. This method looks for such a program first. Another
    /// process may attach one between the look and the request, and then its program is replaced, or the
    /// classifier runs twice.
    pub fn attach_without_link(
        &self,
        LastingOptions { sharing, replace }: LastingOptions,
    ) -> Result<(), LastingError> {
        let program = self.program.unnamed();
        if sharing.is_some() && !matches!(self.point.site(), AttachSite::Cgroup { .. }) {
            return Err(LastingError::NoSharing);
        }
        if replace && !self.can_replace()? {
            return Err(LastingError::NotReplaceable);
        }
        match self.point.site() {
            AttachSite::Interface { name, .. } => match self.interface_hook()? {
                InterfaceHook::Xdp(mode) => {
                    let replace = if replace { XdpReplace::Any } else { XdpReplace::Never };
                    let attached = program.attach_xdp_netlink(name.as_str(), mode, replace);
                    attached.map_err(|e| xdp_refusal(name, replace, e))?.leak();
                }
                InterfaceHook::Tc(direction) => {
                    self.check_no_filter(name, direction)?;
                    program.attach_tc(name.as_str(), direction, TcOptions::default())?.leak();
                }
                InterfaceHook::Direction(direction) => {
                    self.attach_classifier(name, direction.attach_type())?;
                }
                InterfaceHook::Classifier(of) => self.attach_classifier(name, of)?,
            },
            AttachSite::Cgroup { path, attach_type } => {
                let of = self.cgroup_attach_type(*attach_type)?;
                if of == AttachType::TraceIter {
                    return Err(LastingError::NeedsLink);
                }
                let sharing = sharing.unwrap_or(CgroupSharing::Multi);
                program.with_attach_type(of).attach_cgroup_without_link(path, sharing, None)?.leak();
            }
            AttachSite::Map { map, attach_type } => {
                let of = self.map_attach_type(*attach_type)?;
                if of == AttachType::TraceIter {
                    return Err(LastingError::NeedsLink);
                }
                let map = (self.open_map)(map)?;
                // Kernels before 5.18 cannot tell which program is attached.
                self.check_free(QueryTarget::Sockmap(map.as_fd()), of, replace)?;
                program.with_attach_type(of).attach_sockmap_without_link(map.as_fd())?.leak();
            }
            AttachSite::Netns(path) => {
                let request = self.netns_request(path)?;
                let netns = open_target(path, 0)?;
                self.check_free(QueryTarget::Netns(netns.as_fd()), AttachType::FlowDissector, replace)?;
                request.attach().map_err(|e| self.refused("attach", e))?;
            }
            AttachSite::Lirc(path) => program.attach_lirc(path)?.leak(),
            AttachSite::Route(route) => route.attach(program.fd, program.program_type)?.leak(),
            AttachSite::Netfilter(_)
            | AttachSite::Process(_)
            | AttachSite::Cpu(_)
            | AttachSite::Section(_) => return Err(LastingError::NeedsLink),
        }
        Ok(())
    }

    /// Returns whether the attach point has at most one program, which another program can replace.
    fn can_replace(&self) -> Result<bool, LastingError> {
        Ok(match self.point.site() {
            AttachSite::Interface { .. } => matches!(self.interface_hook()?, InterfaceHook::Xdp(_)),
            AttachSite::Netns(_) => self.netns_attach_type() == AttachType::FlowDissector,
            site => matches!(site, AttachSite::Map { .. }),
        })
    }

    /// Checks that no other program is attached at a place where the kernel replaces it without a question. A
    /// place that a link holds is left to the kernel, which refuses it.
    fn check_free(&self, target: QueryTarget<'_>, of: AttachType, replace: bool) -> Result<(), LastingError> {
        let other = match attach::query(target, of) {
            Ok(found) => found.prog_ids.first().copied(),
            // Older kernels do not tell.
            Err(e) if matches!(e.errno(), Some(Errno::EINVAL | Errno::EOPNOTSUPP)) => None,
            Err(e) => return Err(e.into()),
        };
        let id = self.id()?;
        match other.filter(|other| !replace && *other != id) {
            Some(prog_id) if !self.is_held_by_link(of) => Err(LastingError::Occupied { prog_id }),
            _ => Ok(()),
        }
    }

    /// Checks that the program is not a classifier there already. The kernel would run it once more for each
    /// packet, whereas tcx and cgroups refuse a program that is attached.
    fn check_no_filter(&self, interface: &str, direction: TcAttachPoint) -> Result<(), LastingError> {
        let prog_id = self.id()?;
        let filters = TcHook::new(interface, direction)?.filters()?;
        match filters.iter().find(|filter| filter.prog_id == prog_id) {
            Some(filter) => {
                Err(LastingError::AttachedTwice { prog_id, priority: filter.priority, handle: filter.handle })
            }
            None => Ok(()),
        }
    }

    /// Attaches a classifier of tcx or netkit.
    fn attach_classifier(&self, interface: &str, of: AttachType) -> Result<(), LastingError> {
        let request = ProgAttach { ifindex: InterfaceRef::from(interface).index()?, ..self.request(of) };
        let is_netkit = matches!(of, AttachType::NetkitPrimary | AttachType::NetkitPeer);
        request.attach().map_err(|e| match e {
            Errno::EINVAL if is_netkit => {
                self.bad(format!("cannot attach: {e}: expected a netkit interface"))
            }
            _ => self.refused("attach", e),
        })
    }

    /// Returns the request for a flow dissector of this process's network namespace. The kernel attaches no
    /// program to other namespaces without a link.
    pub(super) fn netns_request(&self, path: &Path) -> Result<ProgAttach<'_>, LastingError> {
        let identity = |path: &Path| fs::metadata(path).map(|of| (of.dev(), of.ino())).ok();
        let attach_type = self.netns_attach_type();
        if attach_type != AttachType::FlowDissector {
            return Err(LastingError::NeedsLink);
        }
        if identity(path).is_none() || identity(path) != identity(Path::new(OWN_NETNS)) {
            return Err(LastingError::OtherNetns);
        }
        Ok(self.request(attach_type))
    }

    pub(super) fn refused(&self, action: &str, e: Errno) -> LastingError {
        let program = match self.id() {
            Ok(id) => format!("program {id}"),
            Err(_) => "the program".into(),
        };
        let problem = format!("cannot {action} {program}: {e}").into();
        AttachError::Target { label: self.point.to_string().into(), problem, errno: Some(e) }.into()
    }
}

/// Returns the error of an XDP program that is not attached. Names the program that `replace` replaces: one
/// that no link attaches.
fn xdp_refusal(interface: &str, replace: XdpReplace<'_>, e: AttachError) -> LastingError {
    let is_replaceable =
        matches!(replace, XdpReplace::Never) && XdpHolder::reported(&e) == Some(XdpHolder::Program);
    match attach::xdp_query(interface) {
        Ok(XdpPrograms { prog_id, .. }) if is_replaceable && prog_id != 0 => {
            LastingError::Occupied { prog_id }
        }
        _ => e.into(),
    }
}
