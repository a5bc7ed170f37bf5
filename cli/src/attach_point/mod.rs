//! Attach points that the user names: `dev:eth0`, `cgroup:/sys/fs/cgroup/mine,egress`, `kprobe:vfs_read`.
//!
//! | file | contents |
//! |---|---|
//! | `file` | attach targets that are files |
//! | `help` | the words of errors and help texts |
//! | `lasting` | attachments without a link, which last when the command ends, and their removal |
//! | `occupants` | the programs that are attached at a place already, in errors |

mod file;
mod help;
mod lasting;
mod occupants;

pub(crate) use help::{explain, parse_attach_point, place_for};
pub(crate) use lasting::{CgroupSharing, LastingAttachment};
pub(crate) use occupants::explain_refusal;

use core_relo_loader::{
    attach::{AttachError, AttachPoint, AttachSite, Link, PointOptions, ProgramRef},
    object::AttachType,
};
use std::os::fd::OwnedFd;

/// A loaded program that is attached.
#[derive(Clone, Copy)]
pub(crate) struct AttachedProgram<'a> {
    /// The program. The section is empty if another process loaded the program.
    pub(crate) loaded: ProgramRef<'a>,
    /// Whether the program is part of an adaptive load, see [`Self::may_use_traffic_control`].
    pub(crate) is_adaptive: bool,
    /// Opens a map by the name that the attach point contains.
    pub(crate) open_map: &'a dyn Fn(&str) -> Result<OwnedFd, AttachError>,
}

impl AttachedProgram<'_> {
    /// Attaches the program by links.
    pub(crate) fn attach(&self, point: &AttachPoint) -> Result<Vec<Link>, AttachError> {
        let may_use_traffic_control = self.may_use_traffic_control();
        point.attach(&self.loaded, &PointOptions { may_use_traffic_control, open_map: self.open_map })
    }

    /// Checks that the program can have an attach point.
    pub(crate) fn check_fits(&self, point: &AttachPoint) -> Result<(), String> {
        point.check_fits(self.loaded.program_type, self.loaded.attach_type).map_err(explain)
    }

    /// Checks that the program can be detached from an attach point. The attach type of a cgroup may be missing: the cgroup has it.
    pub(crate) fn check_detaches(&self, point: &AttachPoint) -> Result<(), String> {
        match point.site() {
            AttachSite::Cgroup { attach_type: None, .. } => {
                point.check_kind(self.loaded.program_type).map_err(explain)
            }
            _ => self.check_fits(point),
        }
    }

    /// Returns whether a classifier of a direction may use traffic control where the kernel has no tcx: in an adaptive load, unless
    /// its section names tcx, as `tcx/ingress` does.
    fn may_use_traffic_control(&self) -> bool {
        let names_tcx =
            matches!(self.loaded.attach_type, Some(AttachType::TcxIngress | AttachType::TcxEgress));
        self.is_adaptive && !names_tcx
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo_loader::object::{ProgramType as P, SecDef};
    use std::os::fd::AsFd as _;

    #[test]
    fn only_an_adaptive_classifier_whose_section_leaves_it_open_may_use_traffic_control() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let may_use = |is_adaptive, attach_type| {
            let program = AttachedProgram {
                loaded: ProgramRef {
                    program_type: P::SchedCls,
                    attach_type,
                    ..ProgramRef::from_fd(file.as_fd())
                },
                is_adaptive,
                open_map: &|_| Err(AttachError::target("map", "none")),
            };
            program.may_use_traffic_control()
        };
        assert!(may_use(true, None), "sections `tc` and `classifier`");
        assert!(!may_use(false, None), "not adaptive");
        // As in libbpf, `tc/ingress` is another name of `tcx/ingress`.
        for section in ["tcx/ingress", "tcx/egress", "tc/ingress", "tc/egress"] {
            let def = SecDef::find(section.as_bytes()).unwrap();
            assert!(!may_use(true, def.attach_type), "{section}");
        }
    }
}
