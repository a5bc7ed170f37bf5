//! Helpers that every kernel refuses to most programs.

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

/// The restrictions, by helper. The list is short: most helpers became available to more program types over time.
const RESTRICTIONS: &[(u32, HelperRestriction)] = &[
    (44, XDP),                                                         // xdp_adjust_head
    (54, XDP),                                                         // xdp_adjust_meta
    (58, HelperRestriction::ProgramTypes(&[ProgramType::Kprobe])),     // override_return
    (65, XDP),                                                         // xdp_adjust_tail
    (77, LIRC),                                                        // rc_repeat
    (78, LIRC),                                                        // rc_keydown
    (92, LIRC),                                                        // rc_pointer_rel
    (116, HelperRestriction::ProgramTypes(&[ProgramType::StructOps])), // tcp_send_ack
    (126, TRACING),                                                    // seq_printf
    (127, TRACING),                                                    // seq_write
    (147, TRACING_AND_LSM),                                            // d_path
    (148, HelperRestriction::Sleepable),                               // copy_from_user
    (150, TRACING),                                                    // seq_printf_btf
    (191, HelperRestriction::Sleepable),                               // copy_from_user_task
];

/// Returns the restriction of a helper, if every kernel refuses other programs for certain.
pub(super) fn helper_restriction(helper: u32) -> Option<HelperRestriction> {
    let row = RESTRICTIONS.iter().find(|(number, _)| *number == helper);
    row.map(|(_, restriction)| *restriction)
}

/// Returns whether a restriction to some types permits a program. An extension may do what the program that it extends may do.
pub(super) fn permits(types: &[ProgramType], program_type: ProgramType) -> bool {
    program_type == ProgramType::Ext || types.contains(&program_type)
}

/// `bpf_d_path`.
pub const D_PATH: u32 = 147;

/// The functions whose fentry, fexit and fmod_ret programs may call `bpf_d_path` (kernel: `btf_allowlist_d_path`).
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
    use core_relo::insn::helper_name;

    #[test]
    fn restrictions_are_those_of_the_helpers_they_name() {
        let names: Vec<_> = RESTRICTIONS.iter().filter_map(|(number, _)| helper_name(*number)).collect();
        let expected = [
            "xdp_adjust_head",
            "xdp_adjust_meta",
            "override_return",
            "xdp_adjust_tail",
            "rc_repeat",
            "rc_keydown",
            "rc_pointer_rel",
            "tcp_send_ack",
            "seq_printf",
            "seq_write",
            "d_path",
            "copy_from_user",
            "seq_printf_btf",
            "copy_from_user_task",
        ];
        assert_eq!(names, expected);
        let Some(HelperRestriction::ProgramTypes(types)) = helper_restriction(D_PATH) else {
            panic!("d_path")
        };
        assert!(!permits(types, ProgramType::Kprobe));
        assert!(permits(types, ProgramType::Ext));
        assert_eq!(helper_restriction(148), Some(HelperRestriction::Sleepable));
        assert_eq!(helper_restriction(1), None);
    }
}
