//! Helpers that every kernel refuses to most programs.

use core_relo_object::object::ProgramType;

/// A restriction of a helper that holds in every kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub(super) enum HelperRestriction {
    /// Only programs that may sleep call the helper; since 6.10 callbacks of work queues, too.
    Sleepable,
    /// Only programs of these types call the helper, and extensions of such programs.
    ProgramTypes(&'static [ProgramType]),
}

const TRACING_AND_LSM: HelperRestriction =
    HelperRestriction::ProgramTypes(&[ProgramType::Tracing, ProgramType::Lsm]);
const TRACING: HelperRestriction = HelperRestriction::ProgramTypes(&[ProgramType::Tracing]);
const XDP: HelperRestriction = HelperRestriction::ProgramTypes(&[ProgramType::Xdp]);

/// The restrictions, by helper. The list is short: most helpers became available to more program types over time.
const RESTRICTIONS: &[(u32, HelperRestriction)] = &[
    (44, XDP),                                                     // xdp_adjust_head
    (54, XDP),                                                     // xdp_adjust_meta
    (58, HelperRestriction::ProgramTypes(&[ProgramType::Kprobe])), // override_return
    (65, XDP),                                                     // xdp_adjust_tail
    (126, TRACING),                                                // seq_printf
    (127, TRACING),                                                // seq_write
    (147, TRACING_AND_LSM),                                        // d_path
    (148, HelperRestriction::Sleepable),                           // copy_from_user
    (150, TRACING),                                                // seq_printf_btf
    (191, HelperRestriction::Sleepable),                           // copy_from_user_task
];

/// Returns the restriction of a helper, if every kernel refuses other programs for certain.
pub(super) fn helper_restriction(helper: u32) -> Option<HelperRestriction> {
    let row = RESTRICTIONS.iter().find(|(number, _)| *number == helper);
    row.map(|(_, restriction)| *restriction)
}

impl HelperRestriction {
    /// Returns whether the restriction permits a program.
    pub(super) fn permits(self, program_type: ProgramType, is_sleepable: bool) -> bool {
        // An extension may do what the program that it extends may do.
        program_type == ProgramType::Ext
            || match self {
                Self::Sleepable => is_sleepable,
                Self::ProgramTypes(types) => types.contains(&program_type),
            }
    }
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
            "seq_printf",
            "seq_write",
            "d_path",
            "copy_from_user",
            "seq_printf_btf",
            "copy_from_user_task",
        ];
        assert_eq!(names, expected);
        assert!(!helper_restriction(147).unwrap().permits(ProgramType::Kprobe, true));
        assert!(helper_restriction(147).unwrap().permits(ProgramType::Ext, false));
        assert!(helper_restriction(148).unwrap().permits(ProgramType::Lsm, true));
        assert_eq!(helper_restriction(1), None);
    }
}
