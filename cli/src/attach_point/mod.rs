//! Attach points that the user names: `dev:eth0`, `cgroup:/sys/fs/cgroup/mine,egress`, `kprobe:vfs_read`.
//!
//! | file | contents |
//! |---|---|
//! | `help` | the words of errors and help texts |
//! | `refusal` | errors of programs that are not attached or detached: what is attached already, and what helps |

mod help;
mod refusal;

use clap::ValueEnum;
pub(crate) use help::{explain, parse_attach_point, place_for};
pub(crate) use refusal::{explain_lasting, explain_refusal};

use core_relo_loader::{
    attach,
    attach_point::{AttachSite, PointProgram},
    object::AttachType,
};

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

/// Checks that a program can have its attach point.
pub(crate) fn check_fits(PointProgram { program, point, .. }: &PointProgram<'_>) -> Result<(), String> {
    point.check_fits(program.program_type, program.attach_type).map_err(explain)
}

/// Checks that a program can be detached from its attach point. The attach type of a cgroup may be missing:
/// the cgroup has it.
pub(crate) fn check_detaches(attached: &PointProgram<'_>) -> Result<(), String> {
    match attached.point.site() {
        AttachSite::Cgroup { attach_type: None, .. } => {
            attached.point.check_kind(attached.program.program_type).map_err(explain)
        }
        _ => check_fits(attached),
    }
}

/// Returns whether a classifier of a direction may use traffic control where the kernel has no tcx: in an
/// adaptive load, unless its section names tcx, as `tcx/ingress` does.
pub(crate) fn may_use_traffic_control(attach_type: Option<AttachType>, is_adaptive: bool) -> bool {
    is_adaptive && !matches!(attach_type, Some(AttachType::TcxIngress | AttachType::TcxEgress))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core_relo_loader::object::SecDef;

    #[test]
    fn only_an_adaptive_classifier_whose_section_leaves_it_open_may_use_traffic_control() {
        assert!(may_use_traffic_control(None, true), "sections `tc` and `classifier`");
        assert!(!may_use_traffic_control(None, false), "not adaptive");
        // As in libbpf, `tc/ingress` is another name of `tcx/ingress`.
        for section in ["tcx/ingress", "tcx/egress", "tc/ingress", "tc/egress"] {
            let def = SecDef::find(section.as_bytes()).unwrap();
            assert!(!may_use_traffic_control(def.attach_type, true), "{section}");
        }
    }
}
