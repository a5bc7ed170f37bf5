//! Helpers that every kernel refuses to most programs.

use core_relo::insn::Helper;
use core_relo_object::object::ProgramType;

/// A restriction of a helper that holds in every kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(super) enum HelperRestriction {
    /// Only programs that may sleep call the helper. Callbacks of work queues may, too (6.10).
    Sleepable,
    /// Only programs of these types call the helper, and extensions of such programs.
    ProgramTypes(&'static [ProgramType]),
}

const TRACING_AND_LSM: HelperRestriction =
    HelperRestriction::ProgramTypes(&[ProgramType::Tracing, ProgramType::Lsm]);
const TRACING: HelperRestriction = HelperRestriction::ProgramTypes(&[ProgramType::Tracing]);
const LIRC: HelperRestriction = HelperRestriction::ProgramTypes(&[ProgramType::LircMode2]);
const XDP: HelperRestriction = HelperRestriction::ProgramTypes(&[ProgramType::Xdp]);

/// The restrictions, by helper. The list is short: most helpers became available to more program types over
/// time.
const RESTRICTIONS: &[(Helper, HelperRestriction)] = &[
    (Helper::XDP_ADJUST_HEAD, XDP),
    (Helper::XDP_ADJUST_META, XDP),
    (Helper::OVERRIDE_RETURN, HelperRestriction::ProgramTypes(&[ProgramType::Kprobe])),
    (Helper::XDP_ADJUST_TAIL, XDP),
    (Helper::RC_REPEAT, LIRC),
    (Helper::RC_KEYDOWN, LIRC),
    (Helper::RC_POINTER_REL, LIRC),
    (Helper::TCP_SEND_ACK, HelperRestriction::ProgramTypes(&[ProgramType::StructOps])),
    (Helper::SEQ_PRINTF, TRACING),
    (Helper::SEQ_WRITE, TRACING),
    (Helper::D_PATH, TRACING_AND_LSM),
    (Helper::COPY_FROM_USER, HelperRestriction::Sleepable),
    (Helper::SEQ_PRINTF_BTF, TRACING),
    (Helper::COPY_FROM_USER_TASK, HelperRestriction::Sleepable),
];

/// Returns the restriction of a helper, if every kernel refuses other programs for certain.
pub(super) fn helper_restriction(helper: Helper) -> Option<HelperRestriction> {
    let row = RESTRICTIONS.iter().find(|(number, _)| *number == helper);
    row.map(|(_, restriction)| *restriction)
}

/// Returns whether a restriction to some types permits a program. An extension may do what the program that
/// it extends may do.
pub(super) fn permits(types: &[ProgramType], program_type: ProgramType) -> bool {
    program_type == ProgramType::Ext || types.contains(&program_type)
}

/// The functions whose fentry, fexit and fmod_ret programs may call `bpf_d_path` (kernel:
/// `btf_allowlist_d_path`).
const D_PATH_FUNCTIONS: [&str; 9] = [
    "dentry_open",
    "filp_close",
    "security_file_open",
    "security_file_permission",
    "security_inode_getattr",
    "security_path_truncate",
    "vfs_fallocate",
    "vfs_getattr",
    "vfs_truncate",
];

/// Returns whether programs at a function may call `bpf_d_path`.
pub fn is_d_path_function(function: &str) -> bool {
    D_PATH_FUNCTIONS.contains(&function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_may_do_what_its_target_may_do() {
        let Some(HelperRestriction::ProgramTypes(types)) = helper_restriction(Helper::D_PATH) else {
            panic!("d_path")
        };
        assert!(!permits(types, ProgramType::Kprobe));
        assert!(permits(types, ProgramType::Ext));
        assert_eq!(helper_restriction(Helper::COPY_FROM_USER), Some(HelperRestriction::Sleepable));
        assert_eq!(helper_restriction(Helper::MAP_LOOKUP_ELEM), None);
    }
}
