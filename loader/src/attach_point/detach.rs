//! Detaching programs that are attached without a link.

use super::{
    AttachSite, InterfaceHook, LastingError, PointProgram,
    attach_type::{attach_type_word, attach_types_of, cgroup_attach_types},
    open::open_target,
    point_error::word_list,
};
use crate::{
    attach::{self, InterfaceRef, QueryTarget, TcAttachPoint, TcHook, XdpMode},
    sys::{Errno, ProgAttach},
};
use core_relo_object::object::AttachType;
use std::os::fd::AsFd as _;

/// What is known about a program before it is detached.
#[derive(Clone, Copy)]
enum Attached {
    /// The kernel lists the program at the target.
    Listed,
    /// The kernel does not list programs at the target: a sockmap before 5.18, which has no links either.
    Unlisted,
}

impl Attached {
    /// Returns the reason of a refusal, if the error tells.
    const fn explain(self, errno: Errno, prog_id: u32) -> Option<LastingError> {
        match (self, errno) {
            // The kernel compares the program with the one of the map (kernel: `sock_map_prog_update`).
            (Self::Unlisted, Errno::ENOENT) => Some(LastingError::NotAttached { prog_id }),
            (Self::Listed, Errno::ENOENT | Errno::EPERM | Errno::EINVAL | Errno::EBUSY) => {
                Some(LastingError::HeldByLink { prog_id, link: None })
            }
            _ => None,
        }
    }
}

impl PointProgram<'_> {
    /// Detaches the program. Fails if this program is not attached there, or is attached by a link.
    ///
    /// From a cgroup without [`CgroupSharing::Multi`](crate::attach::CgroupSharing::Multi), the kernel
    /// detaches any program of the attach type. The method looks first whether it is this one. Another
    /// process may replace the program between the look and the request, and then loses its own.
    pub fn detach(&self) -> Result<(), LastingError> {
        match self.point.site() {
            AttachSite::Interface { name, .. } => match self.interface_hook()? {
                InterfaceHook::Xdp(mode) => self.detach_xdp(name, mode),
                InterfaceHook::Tc(direction) => self.detach_tc(name, direction),
                InterfaceHook::Direction(direction) => self.detach_classifier(name, direction.attach_type()),
                InterfaceHook::Classifier(of) => self.detach_classifier(name, of),
            },
            AttachSite::Cgroup { path, attach_type } => {
                let dir = open_target(path, libc::O_DIRECTORY)?;
                let of = match attach_type {
                    Some(_) => self.cgroup_attach_type(*attach_type)?,
                    None => self.find_cgroup_attach_type(QueryTarget::Cgroup(dir.as_fd()))?,
                };
                self.detach_from(QueryTarget::Cgroup(dir.as_fd()), of)
            }
            AttachSite::Map { map, attach_type } => {
                let of = self.map_attach_type(*attach_type)?;
                let map = (self.open_map)(map)?;
                self.detach_from(QueryTarget::Sockmap(map.as_fd()), of)
            }
            AttachSite::Netns(path) => {
                if self.netns_attach_type() != AttachType::FlowDissector {
                    return Err(LastingError::OnlyLinks);
                }
                let request = self.netns_request(path)?;
                let netns = open_target(path, 0)?;
                let target = QueryTarget::Netns(netns.as_fd());
                let attached = self.check_attached(target, AttachType::FlowDissector)?;
                self.detach_by(&request, attached)
            }
            AttachSite::Lirc(path) => {
                let device = open_target(path, 0)?;
                self.detach_from(QueryTarget::Lirc(device.as_fd()), AttachType::LircMode2)
            }
            AttachSite::Route(route) => {
                Err(self.bad(format!("the program belongs to a route: {} removes both", route.removal())))
            }
            AttachSite::Netfilter(_)
            | AttachSite::Process(_)
            | AttachSite::Cpu(_)
            | AttachSite::Section(_) => Err(LastingError::OnlyLinks),
        }
    }

    fn detach_xdp(&self, name: &str, wanted: XdpMode) -> Result<(), LastingError> {
        let prog_id = self.id()?;
        let programs = attach::xdp_query(name)?;
        let modes = [
            (programs.driver_prog_id, XdpMode::Driver),
            (programs.generic_prog_id, XdpMode::Generic),
            (programs.hardware_prog_id, XdpMode::Hardware),
            (if programs.has_multiple_modes { 0 } else { programs.prog_id }, XdpMode::Any),
        ];
        let is_wanted =
            |(id, mode): &(u32, XdpMode)| *id == prog_id && (wanted == XdpMode::Any || *mode == wanted);
        let found = modes.into_iter().find(is_wanted);
        let (_, mode) = found.ok_or(LastingError::NotAttached { prog_id })?;
        attach::xdp_detach(name, mode, Some(self.program.fd)).map_err(|e| match e.errno() {
            Some(Errno::EBUSY) => LastingError::HeldByLink { prog_id, link: None },
            _ => e.into(),
        })
    }

    fn detach_tc(&self, name: &str, direction: TcAttachPoint) -> Result<(), LastingError> {
        let prog_id = self.id()?;
        let hook = TcHook::new(name, direction)?;
        let filters = hook.filters()?;
        let own: Vec<_> = filters.iter().filter(|filter| filter.prog_id == prog_id).collect();
        if own.is_empty() {
            return Err(LastingError::NotAttached { prog_id });
        }
        Ok(own.into_iter().try_for_each(|filter| hook.detach(filter.handle, filter.priority))?)
    }

    /// Detaches a classifier of tcx or netkit.
    fn detach_classifier(&self, interface: &str, of: AttachType) -> Result<(), LastingError> {
        self.detach_from(QueryTarget::Interface(InterfaceRef::from(interface).index()?), of)
    }

    /// Detaches the program from a target to which bpf(2) attaches programs.
    fn detach_from(&self, target: QueryTarget<'_>, of: AttachType) -> Result<(), LastingError> {
        let attached = self.check_attached(target, of)?;
        let request = self.request(of);
        let request = match target {
            QueryTarget::Interface(ifindex) => ProgAttach { ifindex, ..request },
            QueryTarget::Cgroup(fd)
            | QueryTarget::CgroupEffective(fd)
            | QueryTarget::Netns(fd)
            | QueryTarget::Sockmap(fd)
            | QueryTarget::Lirc(fd) => ProgAttach { target: Some(fd), ..request },
        };
        self.detach_by(&request, attached)
    }

    /// Returns an error unless the program is attached to a target without a link.
    fn check_attached(
        &self,
        target: QueryTarget<'_>,
        attach_type: AttachType,
    ) -> Result<Attached, LastingError> {
        let prog_id = self.id()?;
        let attached = match attach::query(target, attach_type) {
            Ok(attached) => attached,
            // Sockmaps before 5.18 cannot be queried. They detach only the program that the request names.
            Err(_) if matches!(target, QueryTarget::Sockmap(_)) => return Ok(Attached::Unlisted),
            Err(e) => return Err(e.into()),
        };
        let place = attached.prog_ids.iter().position(|id| *id == prog_id);
        let place = place.ok_or(LastingError::NotAttached { prog_id })?;
        match attached.link_ids.get(place) {
            Some(link) if *link != 0 => Err(LastingError::HeldByLink { prog_id, link: Some(*link) }),
            _ => Ok(Attached::Listed),
        }
    }

    fn detach_by(&self, request: &ProgAttach<'_>, attached: Attached) -> Result<(), LastingError> {
        let prog_id = self.id()?;
        request.detach().map_err(|errno| {
            attached.explain(errno, prog_id).unwrap_or_else(|| self.refused("detach", errno))
        })
    }

    /// Returns the attach type with which the cgroup has the program.
    fn find_cgroup_attach_type(&self, cgroup: QueryTarget<'_>) -> Result<AttachType, LastingError> {
        let prog_id = self.id()?;
        let candidates =
            attach_types_of(self.program.program_type, &cgroup_attach_types().collect::<Vec<_>>());
        if candidates.is_empty() {
            return Err(LastingError::OnlyLinks);
        }
        let mut found = Vec::new();
        for of in candidates {
            match attach::query(cgroup, of) {
                Ok(attached) if attached.prog_ids.contains(&prog_id) => found.push(of),
                Ok(_) => {}
                // The kernel does not know the attach type.
                Err(e) if e.errno() == Some(Errno::EINVAL) => {}
                Err(e) => return Err(e.into()),
            }
        }
        match *found {
            [] => Err(LastingError::NotAttached { prog_id }),
            [only] => Ok(only),
            ref several => {
                let words: Vec<_> = several.iter().map(|of| attach_type_word(*of)).collect();
                let (point, expected) = (self.point, word_list(words.iter().map(String::as_str)));
                Err(self.bad(format!(
                    "program {prog_id} is attached there with several attach types: expected `{point},TYPE` with {expected}"
                )))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sockmaps before 5.18 cannot be queried, and have no links.
    #[test]
    fn a_program_that_is_not_in_a_sockmap_is_not_attached_by_a_link() {
        let prog_id = 7;
        let not_attached = Some(LastingError::NotAttached { prog_id });
        assert_eq!(Attached::Unlisted.explain(Errno::ENOENT, prog_id), not_attached);
        assert_eq!(Attached::Unlisted.explain(Errno::EINVAL, prog_id), None);
        let by_link = Some(LastingError::HeldByLink { prog_id, link: None });
        assert_eq!(Attached::Listed.explain(Errno::ENOENT, prog_id), by_link);
    }
}
