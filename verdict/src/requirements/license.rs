//! The license of an object. The kernel keeps some functions for programs with a license that is compatible
//! with the GPL.

use crate::kernel::KernelName;
use core_relo::insn::Helper;
use core_relo_object::object::ProgramType;

/// A part of a program that needs a GPL-compatible license.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the judge acts on each")]
pub enum LicenseUse {
    /// The call of a helper, by number.
    Helper(Helper),
    /// The call of a kfunc, by name.
    Kfunc(KernelName),
    /// Any program of a type.
    ProgramType(ProgramType),
}

/// The licenses that the kernel takes for compatible (kernel: `license_is_gpl_compatible`).
const GPL_COMPATIBLE: [&[u8]; 6] =
    [b"GPL", b"GPL v2", b"GPL and additional rights", b"Dual BSD/GPL", b"Dual MIT/GPL", b"Dual MPL/GPL"];

/// The helpers that only GPL-compatible programs call, a bit for each number. Observed on Linux 5.10, 6.1,
/// 6.12 and 7.2, by a program of each type with another license. The kernels agree on all helpers that they
/// have. `bpf_override_return` is from the kernel's source.
const GPL_HELPERS: [u64; 4] =
    [0x0580_2018_0240_0050, 0xc28f_c010_0000_0028, 0x8003_be28_4040_0000, 0x0000_0000_0000_f000];

/// Returns whether the kernel takes a license for GPL-compatible. An object without a license has none.
pub(super) fn is_gpl_compatible(license: Option<&[u8]>) -> bool {
    license.is_some_and(|license| GPL_COMPATIBLE.contains(&license))
}

/// Returns whether only GPL-compatible programs may call a helper.
pub(super) fn is_gpl_helper(helper: Helper, program_type: Option<ProgramType>) -> bool {
    // Programs of perf events call it with any license.
    if helper == Helper::GET_STACKID {
        return program_type.is_some_and(|program_type| program_type != ProgramType::PerfEvent);
    }
    let word = helper.0.checked_div(64).and_then(|word| GPL_HELPERS.get(usize::try_from(word).ok()?));
    word.is_some_and(|word| word & (1 << (helper.0 % 64)) != 0)
}

/// Returns whether only GPL-compatible programs of a type load (kernel: `bpf_lsm_verify_prog`,
/// `check_struct_ops_btf_id`).
pub(super) const fn is_gpl_program_type(program_type: ProgramType) -> bool {
    matches!(program_type, ProgramType::Lsm | ProgramType::StructOps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licenses() {
        assert!(is_gpl_compatible(Some(b"Dual BSD/GPL")));
        for license in [None, Some(&b""[..]), Some(b"MIT"), Some(b"GPLv2"), Some(b"gpl"), Some(b"GPL v3")] {
            assert!(!is_gpl_compatible(license), "{license:?}");
        }
    }

    #[test]
    fn helpers_of_gpl_programs() {
        let names =
            (0..256).map(Helper).filter(|helper| is_gpl_helper(*helper, None)).filter_map(Helper::name);
        let names: Vec<_> = names.collect();
        for name in
            ["trace_printk", "probe_read_kernel", "perf_event_output", "override_return", "seq_printf"]
        {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        for name in ["map_lookup_elem", "ktime_get_ns", "redirect", "loop", "ringbuf_reserve"] {
            assert!(!names.contains(&name), "{name}: {names:?}");
        }
        assert!(is_gpl_helper(Helper::GET_STACKID, Some(ProgramType::Kprobe)));
        assert!(!is_gpl_helper(Helper::GET_STACKID, Some(ProgramType::PerfEvent)));
    }
}
