//! The helpers that programs of each type may call, observed on real kernels.
//!
//! The kernel's `get_func_proto` of each program type decides, and BTF has no trace of its decisions. The
//! table records what the kernels of [`OBSERVED_KERNELS`] did with a program of a single call: "unknown func"
//! and "program of this type cannot use helper" mean no, and so does "helper call is not allowed in probe".
//! Where the attach type decides, too, each attach type has a row. Rows of TRACING and LSM are the union of
//! several targets (iterators of tasks, sockets and maps; seven hooks). EXT, STRUCT_OPS and LIRC_MODE2 have
//! no row.

use super::{observed::Observations, observed_kernels::OBSERVED_KERNELS};
use ProgramType as P;
use core_relo::insn::Helper;
use core_relo_object::object::{AttachType, ProgramType};

/// A set of helpers, a bit for each number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Helpers([u64; 4]);

/// The helpers of a program type on the observed kernels.
struct TypeHelpers {
    program_type: ProgramType,
    /// The numbers of the attach types; empty if the attach type does not matter.
    attach_types: &'static [u32],
    /// `None` for a kernel without the program type or attach type.
    callable: [Option<Helpers>; OBSERVED_KERNELS.len()],
}

impl Helpers {
    fn contains(self, helper: Helper) -> bool {
        let word = helper.0.checked_div(64).and_then(|word| self.0.get(usize::try_from(word).ok()?));
        word.is_some_and(|word| word & (1 << (helper.0 % 64)) != 0)
    }
}

impl TypeHelpers {
    /// Returns whether an observed kernel lets programs call a helper. Returns `None` for a kernel without
    /// the program type.
    fn may_call(&self, kernel: usize, helper: Helper) -> Option<bool> {
        self.callable.get(kernel).copied().flatten().map(|set| set.contains(helper))
    }
}

/// Returns whether the observed kernels let programs of a type call a helper. Returns [`Observations::NONE`]
/// for a type without a row.
pub(super) fn observed_support(
    program_type: ProgramType,
    attach_type: Option<AttachType>,
    helper: Helper,
) -> Observations {
    let mut of_type = TABLE.iter().filter(|row| row.program_type == program_type).peekable();
    let Some(first) = of_type.peek().copied() else { return Observations::NONE };
    let rows: Vec<_> = match attach_type {
        // User space may set the attach type.
        None => of_type.collect(),
        Some(attach_type) if !first.attach_types.is_empty() => {
            of_type.filter(|row| row.attach_types.contains(&attach_type.number())).collect()
        }
        Some(_) => vec![first],
    };
    if rows.is_empty() {
        return Observations::NONE;
    }
    // A helper that no type may call was not observed: the kernel lacks it.
    let existed = |kernel: usize| TABLE.iter().any(|row| row.may_call(kernel, helper) == Some(true));
    Observations::new(|kernel| {
        let mut known = rows.iter().filter_map(|row| row.may_call(kernel, helper)).peekable();
        known.peek().filter(|_| existed(kernel))?;
        Some(known.any(|may_call| may_call))
    })
}

/// Returns whether programs of a type and attach type were observed.
pub(super) fn is_observed(program_type: ProgramType, attach_type: AttachType) -> bool {
    let mut of_type = TABLE.iter().filter(|row| row.program_type == program_type);
    of_type.any(|row| row.attach_types.is_empty() || row.attach_types.contains(&attach_type.number()))
}

/// Returns the program types that some observed kernel lets call a helper. EXT, STRUCT_OPS and LIRC_MODE2
/// were not observed.
pub fn helper_program_types(helper: Helper) -> Vec<ProgramType> {
    let may_call = |row: &&TypeHelpers| {
        (0..OBSERVED_KERNELS.len()).any(|kernel| row.may_call(kernel, helper) == Some(true))
    };
    let mut types: Vec<_> = TABLE.iter().filter(may_call).map(|row| row.program_type).collect();
    types.sort_by_key(|program_type| program_type.number());
    types.dedup();
    types
}

/// Returns the set of the helpers whose bits are set, from helper 0 on.
const fn set(first: u64, second: u64, third: u64, fourth: u64) -> Helpers {
    Helpers([first, second, third, fourth])
}

const fn row(
    program_type: ProgramType,
    attach_types: &'static [u32],
    callable: [Option<Helpers>; OBSERVED_KERNELS.len()],
) -> TypeHelpers {
    TypeHelpers { program_type, attach_types, callable }
}

/// The observations.
#[rustfmt::skip]
static TABLE: &[TypeHelpers] = &[
    row(P::SocketFilter, &[], [
        Some(set(0x0000_c408_0600_11ee, 0x204f_0000_6380_0010, 0x0000_0000_0620_1f7c, 0x0000_0000_0000_0000)),
        Some(set(0x0000_c408_0600_11ee, 0x204f_0600_6380_0010, 0x0066_9e31_4620_1f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0000_c408_0600_51ee, 0x294f_0600_6381_0010, 0x0066_9e31_4620_1f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0080_c428_0643_d1ee, 0x2d6f_2600_6381_0010, 0x8077_9e31_7630_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::Kprobe, &[], [
        Some(set(0x0080_2438_0a41_d1fe, 0x216f_2000_0381_0008, 0x0000_0000_0620_207c, 0x0000_0000_0000_0000)),
        Some(set(0x0080_2438_0a41_d1fe, 0x296f_2600_6381_0008, 0x8073_fe30_7630_207c, 0x0000_0000_0003_0fec)),
        Some(set(0x0080_2438_0a41_d1fe, 0x296f_2600_6381_0008, 0x8073_fe30_7630_207c, 0x0000_0000_000f_0fec)),
        Some(set(0x0080_2438_0a43_d1fe, 0x296f_2600_6381_0008, 0x8073_fe30_7630_207c, 0x0000_0000_000f_0fec)),
    ]),
    row(P::SchedCls, &[], [
        Some(set(0x0005_cfcf_f7be_3fee, 0x304f_581f_e3f8_8034, 0x0000_0000_0fa0_1ffc, 0x0000_0000_0000_0000)),
        Some(set(0x0005_cfcf_f7be_3fee, 0x304f_5e1f_e3f8_8034, 0x0066_9e39_4fa0_1ffc, 0x0000_0000_0003_fffd)),
        Some(set(0x0005_cfcf_f7be_7fee, 0x394f_5e1f_e3f9_8034, 0x0066_9e39_4fa0_1ffc, 0x0000_0000_000f_fffd)),
        Some(set(0x0085_cfef_f7ff_ffee, 0x3d6f_7e1f_e3f9_8034, 0x8077_9e39_7fb0_3ffc, 0x0000_0000_000f_fffd)),
    ]),
    row(P::SchedAct, &[], [
        Some(set(0x0005_cfcf_f7be_3fee, 0x304f_581f_e3f8_8034, 0x0000_0000_0fa0_1ffc, 0x0000_0000_0000_0000)),
        Some(set(0x0005_cfcf_f7be_3fee, 0x304f_5e1f_e3f8_8034, 0x0066_9e39_4fa0_1ffc, 0x0000_0000_0003_fffd)),
        Some(set(0x0005_cfcf_f7be_7fee, 0x394f_5e1f_e3f9_8034, 0x0066_9e39_4fa0_1ffc, 0x0000_0000_000f_fffd)),
        Some(set(0x0085_cfef_f7ff_ffee, 0x3d6f_7e1f_e3f9_8034, 0x8077_9e39_7fb0_3ffc, 0x0000_0000_000f_fffd)),
    ]),
    row(P::Tracepoint, &[], [
        Some(set(0x0080_2438_0a41_d1fe, 0x216f_2000_0381_0008, 0x0000_0000_0620_207c, 0x0000_0000_0000_0000)),
        Some(set(0x0080_2438_0a41_d1fe, 0x296f_2600_6381_0008, 0x0073_fe30_7620_207c, 0x0000_0000_0003_0fec)),
        Some(set(0x0080_2438_0a41_d1fe, 0x296f_2600_6381_0008, 0x8073_fe30_7630_207c, 0x0000_0000_000f_0fec)),
        Some(set(0x0080_2438_0a43_d1fe, 0x296f_2600_6381_0008, 0x8073_fe30_7630_207c, 0x0000_0000_000f_0fec)),
    ]),
    row(P::Xdp, &[], [
        Some(set(0x0048_1408_1280_11ee, 0x204f_4018_63f0_0022, 0x0000_0000_0620_1f7c, 0x0000_0000_0000_0000)),
        Some(set(0x0048_1408_1280_11ee, 0x204f_4618_63f0_0022, 0x7066_9e39_4620_1f7c, 0x0000_0000_0003_fffc)),
        Some(set(0x0048_1408_1280_51ee, 0x294f_4618_63f1_0022, 0x7066_9e39_4620_1f7c, 0x0000_0000_000f_fffc)),
        Some(set(0x00c8_1428_12c3_d1ee, 0x296f_6618_63f1_0022, 0xf077_9e39_7630_3f7c, 0x0000_0000_000f_fffc)),
    ]),
    row(P::PerfEvent, &[], [
        Some(set(0x0180_2438_0a41_d1fe, 0x21ef_2000_0381_0008, 0x0000_0000_0620_207c, 0x0000_0000_0000_0000)),
        Some(set(0x0180_2438_0a41_d1fe, 0x29ef_2600_6381_0008, 0x0073_fe30_7620_207c, 0x0000_0000_0003_0fec)),
        Some(set(0x0180_2438_0a41_d1fe, 0x29ef_2600_6381_0008, 0x8073_fe30_7630_207c, 0x0000_0000_000f_0fec)),
        Some(set(0x0180_2438_0a43_d1fe, 0x29ef_2600_6381_0008, 0x8073_fe30_7630_207c, 0x0000_0000_000f_0fec)),
    ]),
    row(P::CgroupSkb, &[], [
        Some(set(0x0000_c408_0600_11ee, 0x204f_180f_e3fa_8010, 0x0000_0000_0620_1f7f, 0x0000_0000_0000_0000)),
        Some(set(0x0000_c408_0600_11ee, 0x204f_1e0f_e3fa_8010, 0x0066_9e31_4620_1f7f, 0x0000_0000_0003_0ffc)),
        Some(set(0x0000_c408_0600_51ee, 0x294f_1e0f_e3fb_8010, 0x0066_9e31_4620_1f7f, 0x0000_0000_000f_0ffc)),
        Some(set(0x0080_c428_0643_d1ee, 0x2d6f_3e0f_e3fb_8010, 0x8077_9e31_7630_3f7f, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::CgroupSock, &[2], [
        Some(set(0x0000_4408_0203_d1ee, 0x2c4f_0800_6383_0000, 0x0000_0000_0620_007c, 0x0000_0000_0000_0000)),
        Some(set(0x0000_4408_0203_d1ee, 0x2c4f_0e00_6383_0000, 0x0c62_9e31_4620_007c, 0x0000_0000_0003_0fec)),
        Some(set(0x0000_4428_0203_d1ee, 0x2d4f_0e00_6383_0000, 0x0c62_9e31_4620_007c, 0x0000_0000_000f_0fec)),
        Some(set(0x0282_4428_0243_d1ee, 0x2d6f_2e00_6383_0000, 0x8c73_9e31_7630_207c, 0x0000_0000_000f_0fec)),
    ]),
    row(P::CgroupSock, &[12, 13, 34], [
        Some(set(0x0000_4408_0203_d1ee, 0x2c4f_0800_6383_0000, 0x0000_0000_0620_007c, 0x0000_0000_0000_0000)),
        Some(set(0x0000_4408_0203_d1ee, 0x2c4f_0e00_6383_0000, 0x0c62_9e31_4620_007c, 0x0000_0000_0003_0fec)),
        Some(set(0x0000_4428_0203_d1ee, 0x2d4f_0e00_6383_0000, 0x0c62_9e31_4620_007c, 0x0000_0000_000f_0fec)),
        Some(set(0x0080_4428_0243_d1ee, 0x2d6f_2e00_6383_0000, 0x8c73_9e31_7630_207c, 0x0000_0000_000f_0fec)),
    ]),
    row(P::LwtIn, &[], [
        Some(set(0x0000_048e_1702_11ee, 0x204f_0000_6380_0200, 0x0000_0000_0620_1f7c, 0x0000_0000_0000_0000)),
        Some(set(0x0000_048e_1702_11ee, 0x204f_0600_6380_0200, 0x0066_9e31_4620_1f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0000_048e_1702_51ee, 0x294f_0600_6381_0200, 0x0066_9e31_4620_1f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0080_04ae_1743_d1ee, 0x296f_2600_6381_0200, 0x8077_9e31_7630_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::LwtOut, &[], [
        Some(set(0x0000_048e_1702_11ee, 0x204f_0000_6380_0000, 0x0000_0000_0620_1f7c, 0x0000_0000_0000_0000)),
        Some(set(0x0000_048e_1702_11ee, 0x204f_0600_6380_0000, 0x0066_9e31_4620_1f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0000_048e_1702_51ee, 0x294f_0600_6381_0000, 0x0066_9e31_4620_1f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0080_04ae_1743_d1ee, 0x296f_2600_6381_0000, 0x8077_9e31_7630_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::LwtXmit, &[], [
        Some(set(0x0000_0fce_77b2_3fee, 0x204f_0000_6380_0200, 0x0000_0000_0620_1ffc, 0x0000_0000_0000_0000)),
        Some(set(0x0000_0fce_77b2_3fee, 0x204f_0600_6380_0200, 0x0066_9e31_4620_1ffc, 0x0000_0000_0003_0ffc)),
        Some(set(0x0000_0fce_77b2_7fee, 0x294f_0600_6381_0200, 0x0066_9e31_4620_1ffc, 0x0000_0000_000f_0ffc)),
        Some(set(0x0080_0fee_77f3_ffee, 0x296f_2600_6381_0200, 0x8077_9e31_7630_3ffc, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::SockOps, &[], [
        Some(set(0x0a22_4408_0200_11ee, 0x204f_1801_6382_0040, 0x0000_0000_0621_df7c, 0x0000_0000_0000_0000)),
        Some(set(0x0a22_4408_0200_11ee, 0x244f_1e01_6382_0040, 0x0066_9e31_4621_df7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0a22_4408_0200_51ee, 0x2d4f_1e01_6383_0040, 0x0066_9e31_4621_df7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0aa2_4428_0243_d1ee, 0x2d6f_3e01_6383_0040, 0x8077_9e31_7631_ff7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::SkSkb, &[], [
        Some(set(0x0014_ccc8_0600_13ee, 0x204f_0008_63f0_0100, 0x0000_0000_0620_1f7c, 0x0000_0000_0000_0000)),
        Some(set(0x0014_ccc8_0600_13ee, 0x204f_0608_63f0_0100, 0x0066_9e31_4620_1f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0014_ccc8_0600_53ee, 0x294f_0608_63f1_0100, 0x0066_9e31_4620_1f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0094_cce8_0643_d3ee, 0x296f_2608_63f1_0100, 0x8077_9e31_7630_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::CgroupDevice, &[], [
        Some(set(0x0000_0408_0200_91ee, 0x204f_0000_6383_0000, 0x0000_0000_0620_007c, 0x0000_0000_0000_0000)),
        Some(set(0x0000_0408_0203_d1ee, 0x284f_0600_6383_0000, 0x0c62_9e30_4620_007c, 0x0000_0000_0003_0fec)),
        Some(set(0x0000_0428_0203_d1ee, 0x294f_0600_6383_0000, 0x0c62_9e30_4620_007c, 0x0000_0000_000f_0fec)),
        Some(set(0x0080_0428_0243_d1ee, 0x296f_2600_6383_0000, 0x8c73_9e30_7630_207c, 0x0000_0000_000f_0fec)),
    ]),
    row(P::SkMsg, &[], [
        Some(set(0xf000_0408_0202_d1ee, 0x284f_1800_6f81_0080, 0x0000_0000_0620_1f7c, 0x0000_0000_0000_0000)),
        Some(set(0xf000_0408_0202_d1ee, 0x2c4f_1e00_6f81_0080, 0x0066_9e31_4620_1f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0xf000_0408_0202_d1ee, 0x2d4f_1e00_6f81_0080, 0x0066_9e31_4620_1f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0xf080_0428_0243_d1ee, 0x2d6f_3e00_6f81_0080, 0x8077_9e31_7630_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::RawTracepoint, &[], [
        Some(set(0x0080_2438_0a41_d1fe, 0x216f_2000_0381_0008, 0x0000_0000_0620_207c, 0x0000_0000_0000_0000)),
        Some(set(0x0080_2438_0a41_d1fe, 0x296f_2600_6381_0008, 0x0073_be30_7620_207c, 0x0000_0000_0003_0fec)),
        Some(set(0x0080_2438_0a41_d1fe, 0x296f_2600_6381_0008, 0x8073_fe30_7630_207c, 0x0000_0000_000f_0fec)),
        Some(set(0x0080_2438_0a43_d1fe, 0x296f_2600_6381_0008, 0x8073_fe30_7630_207c, 0x0000_0000_000f_0fec)),
    ]),
    row(P::CgroupSockAddr, &[8, 9, 14, 15], [
        Some(set(0x0000_4408_0203_d1ee, 0x2c4f_1808_63f3_0000, 0x0000_0000_0620_1f7c, 0x0000_0000_0000_0000)),
        Some(set(0x0202_4408_0203_d1ee, 0x2c4f_1e08_63f3_0000, 0x0c66_9e31_4620_1f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0202_4428_0203_d1ee, 0x2d4f_1e08_63f3_0000, 0x0c66_9e31_4620_1f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0282_4428_0243_d1ee, 0x2d6f_3e08_63f3_0000, 0x8c77_9e31_7630_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::CgroupSockAddr, &[10, 11], [
        Some(set(0x0202_4408_0203_d1ee, 0x2c4f_1808_63f3_0001, 0x0000_0000_0620_1f7c, 0x0000_0000_0000_0000)),
        Some(set(0x0202_4408_0203_d1ee, 0x2c4f_1e08_63f3_0001, 0x0c66_9e31_4620_1f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0202_4428_0203_d1ee, 0x2d4f_1e08_63f3_0001, 0x0c66_9e31_4620_1f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0282_4428_0243_d1ee, 0x2d6f_3e08_63f3_0001, 0x8c77_9e31_7630_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::CgroupSockAddr, &[19, 20, 29, 30, 31, 32], [
        Some(set(0x0000_4408_0203_d1ee, 0x2c4f_1808_63f3_0000, 0x0000_0000_0620_1f7c, 0x0000_0000_0000_0000)),
        Some(set(0x0202_4408_0203_d1ee, 0x2c4f_1e08_63f3_0000, 0x0066_9e31_4620_1f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0202_4428_0203_d1ee, 0x2d4f_1e08_63f3_0000, 0x0066_9e31_4620_1f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0282_4428_0243_d1ee, 0x2d6f_3e08_63f3_0000, 0x8077_9e31_7630_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::CgroupSockAddr, &[49, 50], [
        None,
        None,
        Some(set(0x0202_4428_0203_d1ee, 0x2d4f_1e08_63f3_0000, 0x0c66_9e31_4620_1f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0282_4428_0243_d1ee, 0x2d6f_3e08_63f3_0000, 0x8c77_9e31_7630_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::CgroupSockAddr, &[51], [
        None,
        None,
        Some(set(0x0202_4428_0203_d1ee, 0x2d4f_1e08_63f3_0000, 0x0066_9e31_4620_1f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0282_4428_0243_d1ee, 0x2d6f_3e08_63f3_0000, 0x8077_9e31_7630_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::CgroupSockAddr, &[52, 53], [
        None,
        None,
        Some(set(0x0202_4428_0203_d1ee, 0x2d4f_1e08_63f3_0000, 0x0066_9e31_4620_1f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0080_4428_0243_d1ee, 0x2d6f_3e08_63f3_0000, 0x8077_9e31_7630_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::LwtSeg6local, &[], [
        Some(set(0x0000_048e_1702_11ee, 0x204f_0000_6380_1c00, 0x0000_0000_0620_1f7c, 0x0000_0000_0000_0000)),
        Some(set(0x0000_048e_1702_11ee, 0x204f_0600_6380_1c00, 0x0066_9e31_4620_1f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0000_048e_1702_51ee, 0x294f_0600_6381_1c00, 0x0066_9e31_4620_1f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0080_042e_1743_d1ee, 0x296f_2600_6381_1c00, 0x8077_9e31_7630_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::SkReuseport, &[], [
        Some(set(0x0000_0408_0400_11ee, 0x204f_0000_6384_0010, 0x0000_0000_0620_007c, 0x0000_0000_0000_0000)),
        Some(set(0x0000_4408_0400_11ee, 0x204f_0600_6384_0010, 0x0062_9e31_4620_007c, 0x0000_0000_0003_0fec)),
        Some(set(0x0000_4408_0400_51ee, 0x294f_0600_6385_0010, 0x0062_9e31_4620_007c, 0x0000_0000_000f_0fec)),
        Some(set(0x0080_4428_0443_d1ee, 0x296f_2600_6385_0010, 0x8073_9e31_7630_207c, 0x0000_0000_000f_0fec)),
    ]),
    row(P::FlowDissector, &[], [
        Some(set(0x0000_0408_0400_11ee, 0x204f_0000_6380_0000, 0x0000_0000_0620_1f7c, 0x0000_0000_0000_0000)),
        Some(set(0x0000_0408_0400_11ee, 0x204f_0600_6380_0000, 0x0066_9e31_4620_1f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0000_0408_0400_51ee, 0x294f_0600_6381_0000, 0x0066_9e31_4620_1f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0080_0428_0443_d1ee, 0x296f_2600_6381_0000, 0x8077_9e31_7630_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::CgroupSysctl, &[], [
        Some(set(0x0000_0408_0200_91ee, 0x204f_07e0_6383_0000, 0x0000_0000_0620_007c, 0x0000_0000_0000_0000)),
        Some(set(0x0000_0408_0203_d1ee, 0x284f_07e0_6383_0000, 0x0c62_9e31_4620_007c, 0x0000_0000_0003_0fec)),
        Some(set(0x0000_0428_0203_d1ee, 0x294f_07e0_6383_0000, 0x0c62_9e31_4620_007c, 0x0000_0000_000f_0fec)),
        Some(set(0x0080_0428_0243_d1ee, 0x296f_27e0_6383_0000, 0x8c73_9e31_7630_207c, 0x0000_0000_000f_0fec)),
    ]),
    row(P::RawTracepointWritable, &[], [
        Some(set(0x0080_2438_0a41_d1fe, 0x216f_2000_0381_0008, 0x0000_0000_0620_207c, 0x0000_0000_0000_0000)),
        Some(set(0x0080_2438_0a41_d1fe, 0x296f_2600_6381_0008, 0x0073_be30_7620_207c, 0x0000_0000_0003_0fec)),
        Some(set(0x0080_2438_0a41_d1fe, 0x296f_2600_6381_0008, 0x8073_fe30_7630_207c, 0x0000_0000_000f_0fec)),
        Some(set(0x0080_2438_0a43_d1fe, 0x296f_2600_6381_0008, 0x8073_fe30_7630_207c, 0x0000_0000_000f_0fec)),
    ]),
    row(P::CgroupSockopt, &[21], [
        Some(set(0x0000_0408_0200_91ee, 0x204f_1801_6383_0000, 0x0000_0000_0620_007c, 0x0000_0000_0000_0000)),
        Some(set(0x0000_0408_0203_d1ee, 0x2c4f_1e01_6383_0000, 0x0c62_9e30_4620_007c, 0x0000_0000_0003_0fec)),
        Some(set(0x0000_0428_0203_d1ee, 0x2d4f_1e01_6383_0000, 0x0c62_9e30_4620_007c, 0x0000_0000_000f_0fec)),
        Some(set(0x0080_0428_0243_d1ee, 0x2d6f_3e01_6383_0000, 0x8c73_9e30_7630_207c, 0x0000_0000_000f_0fec)),
    ]),
    row(P::CgroupSockopt, &[22], [
        Some(set(0x0000_0408_0200_91ee, 0x204f_1801_6383_0000, 0x0000_0000_0620_007c, 0x0000_0000_0000_0000)),
        Some(set(0x0202_0408_0203_d1ee, 0x2c4f_1e01_6383_0000, 0x0c62_9e30_4620_007c, 0x0000_0000_0003_0fec)),
        Some(set(0x0202_0428_0203_d1ee, 0x2d4f_1e01_6383_0000, 0x0c62_9e30_4620_007c, 0x0000_0000_000f_0fec)),
        Some(set(0x0282_0428_0243_d1ee, 0x2d6f_3e01_6383_0000, 0x8c73_9e30_7630_207c, 0x0000_0000_000f_0fec)),
    ]),
    row(P::Tracing, &[23], [
        Some(set(0x0080_2438_0a41_d1fe, 0x236f_a000_0381_0008, 0x0000_0000_0620_3f7c, 0x0000_0000_0000_0000)),
        Some(set(0x0080_6438_0a41_d1fe, 0x2b6f_be00_6381_0008, 0x1077_be34_7620_3f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0080_6438_0a41_d1fe, 0x2b6f_be00_6381_0008, 0x9077_fe34_7630_3f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0080_6438_0a43_d1fe, 0x2b6f_be00_6381_0008, 0x92f7_fe34_7630_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::Tracing, &[24], [
        Some(set(0x0080_2438_0a41_d1fe, 0x236f_a000_0381_0008, 0x0000_0000_0628_3f7c, 0x0000_0000_0000_0000)),
        Some(set(0x0080_6438_0a41_d1fe, 0x2b6f_be00_6381_0008, 0x13f7_fe34_7628_3f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0080_6438_0a41_d1fe, 0x2b6f_be00_6381_0008, 0x93f7_fe34_7638_3f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0080_6438_0a43_d1fe, 0x2b6f_be00_6381_0008, 0x93f7_fe34_7638_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::Tracing, &[25], [
        Some(set(0x0080_2438_0a41_d1fe, 0x236f_a000_0381_0008, 0x0000_0000_0628_3f7c, 0x0000_0000_0000_0000)),
        Some(set(0x0080_6438_0a41_d1fe, 0x2b6f_be00_6381_0008, 0x13f7_fe34_7628_3f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0080_6438_0a41_d1fe, 0x2b6f_be00_6381_0008, 0x93f7_fe34_7638_3f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0080_6438_0a43_d1fe, 0x2b6f_be00_6381_0008, 0x93f7_fe34_7638_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::Tracing, &[26], [
        Some(set(0x0080_2438_0a41_d1fe, 0x236f_a000_0381_0008, 0x0000_0000_0628_3f7c, 0x0000_0000_0000_0000)),
        Some(set(0x0080_6438_0a41_d1fe, 0x2b6f_a600_6381_0008, 0x13f7_fe34_7628_3f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0080_6438_0a41_d1fe, 0x2b6f_a600_6381_0008, 0x93f7_fe34_7638_3f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0080_6438_0a43_d1fe, 0x2b6f_a600_6381_0008, 0x93f7_fe34_7638_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::Tracing, &[28], [
        Some(set(0x0080_2438_0a41_d1fe, 0xe36f_a000_0381_0008, 0x0000_0000_0670_3f7c, 0x0000_0000_0000_0000)),
        Some(set(0x0282_6438_0a41_d1fe, 0xeb6f_be00_6381_0008, 0x9077_be34_7678_3f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0282_6438_0a41_d1fe, 0xeb6f_be00_6381_0008, 0x9077_be34_7678_3f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0282_6438_0a43_d1fe, 0xeb6f_be00_6381_0008, 0x9077_be34_7678_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::Lsm, &[27], [
        Some(set(0x0080_2438_0a41_d1fe, 0x236f_b800_0381_0008, 0x0000_0000_0636_3f7c, 0x0000_0000_0000_0000)),
        Some(set(0x0080_6438_0a41_d1fe, 0x2b6f_be00_6381_0008, 0x93f7_fe36_f63e_3f7c, 0x0000_0000_0003_0ffe)),
        Some(set(0x0080_6438_0a41_d1fe, 0x2b6f_be00_6381_0008, 0x93f7_fe36_f63e_3f7c, 0x0000_0000_000f_0ffe)),
        Some(set(0x0080_6438_0a43_d1fe, 0x2b6f_be00_6381_0008, 0x93f7_fe36_f63e_3f7c, 0x0000_0000_000f_0ffe)),
    ]),
    row(P::Lsm, &[43], [
        None,
        Some(set(0x0282_6438_0a41_d1fe, 0x2b6f_be00_6383_0008, 0x1c77_be34_f62e_3f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0282_6438_0a41_d1fe, 0x2b6f_be00_6383_0008, 0x9c77_be36_f63e_3f7c, 0x0000_0000_000f_0ffe)),
        Some(set(0x0282_6438_0a43_d1fe, 0x2b6f_be00_6383_0008, 0x9c77_be36_f63e_3f7c, 0x0000_0000_000f_0ffe)),
    ]),
    row(P::SkLookup, &[], [
        Some(set(0x0000_0408_0200_11ee, 0x304f_0000_63c0_0000, 0x0000_0000_0620_1f7c, 0x0000_0000_0000_0000)),
        Some(set(0x0000_0408_0200_11ee, 0x304f_0600_63c0_0000, 0x0066_9e31_4620_1f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0000_0408_0200_51ee, 0x394f_0600_63c1_0000, 0x0066_9e31_4620_1f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0080_0428_0243_d1ee, 0x396f_2600_63c1_0000, 0x8077_9e31_7630_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::Syscall, &[], [
        None,
        Some(set(0x0080_6438_0a41_d1fe, 0x2b6f_a600_6381_0008, 0x907f_bff4_7638_3f7c, 0x0000_0000_0003_0ffc)),
        Some(set(0x0080_6438_0a41_d1fe, 0x2b6f_a600_6381_0008, 0x907f_bff4_7638_3f7c, 0x0000_0000_000f_0ffc)),
        Some(set(0x0080_6438_0a43_d1fe, 0x2b6f_a600_6381_0008, 0x907f_bff4_7638_3f7c, 0x0000_0000_000f_0ffc)),
    ]),
    row(P::Netfilter, &[], [
        None,
        None,
        Some(set(0x0000_0408_0000_51ee, 0x294f_0600_6381_0000, 0x0062_9e30_4620_007c, 0x0000_0000_000f_0fec)),
        Some(set(0x0080_0428_0043_d1ee, 0x296f_2600_6381_0000, 0x8073_9e30_7630_207c, 0x0000_0000_000f_0fec)),
    ]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::observed::tests::Shape;

    #[test]
    fn helpers_of_program_types() {
        let observed_support = |program_type, helper| observed_support(program_type, None, helper).shape();
        assert_eq!(observed_support(P::Kprobe, Helper::GET_CURRENT_PID_TGID), Shape::Always);
        assert_eq!(observed_support(P::Xdp, Helper::GET_CURRENT_PID_TGID), Shape::From(2));
        assert_eq!(observed_support(P::CgroupDevice, Helper::GET_CURRENT_PID_TGID), Shape::From(1));
        assert_eq!(observed_support(P::RawTracepoint, Helper::GET_SOCKET_COOKIE), Shape::Never);
        assert_eq!(observed_support(P::Xdp, Helper::XDP_ADJUST_HEAD), Shape::Always);
        assert_eq!(observed_support(P::Kprobe, Helper::XDP_ADJUST_HEAD), Shape::Never);
        // bpf_loop came for all types together.
        assert_eq!(observed_support(P::Kprobe, Helper::LOOP), Shape::Always);
        // A type without a row, a helper that does not exist.
        assert_eq!(observed_support(P::StructOps, Helper::XDP_ADJUST_HEAD), Shape::Always);
        assert_eq!(observed_support(P::Kprobe, Helper(5000)), Shape::Always);
    }

    #[test]
    fn helpers_of_attach_types() {
        use AttachType as A;
        let observed_support = |program_type, attach_type, helper| {
            observed_support(program_type, Some(attach_type), helper).shape()
        };
        // bpf_get_retval came with 5.18.
        assert_eq!(observed_support(P::CgroupDevice, A::CgroupDevice, Helper::GET_RETVAL), Shape::Always);
        assert_eq!(
            observed_support(P::CgroupSockAddr, A::CgroupInet4Connect, Helper::GET_RETVAL),
            Shape::Always
        );
        assert_eq!(
            observed_support(P::CgroupSockAddr, A::CgroupInet4Getpeername, Helper::GET_RETVAL),
            Shape::Never
        );
        assert_eq!(observed_support(P::CgroupSockAddr, A::CgroupInet4Connect, Helper::BIND), Shape::Always);
        assert_eq!(observed_support(P::CgroupSockAddr, A::CgroupInet4Bind, Helper::BIND), Shape::Never);
        assert_eq!(
            observed_support(P::CgroupSockopt, A::CgroupSetsockopt, Helper::SETSOCKOPT),
            Shape::From(1)
        );
        assert_eq!(observed_support(P::CgroupSockopt, A::CgroupGetsockopt, Helper::SETSOCKOPT), Shape::Never);
        assert_eq!(observed_support(P::Tracing, A::TraceIter, Helper::SEQ_PRINTF), Shape::Always);
        assert_eq!(observed_support(P::Tracing, A::TraceFentry, Helper::SEQ_PRINTF), Shape::Never);
        assert_eq!(observed_support(P::Tracing, A::TraceFentry, Helper::D_PATH), Shape::Always);
        assert_eq!(observed_support(P::Tracing, A::TraceIter, Helper::D_PATH), Shape::From(1));
        assert_eq!(observed_support(P::Tracing, A::TraceRawTp, Helper::D_PATH), Shape::Never);
        assert!(is_observed(P::Tracing, A::TraceFexit) && is_observed(P::Kprobe, A::TraceKprobeSession));
        assert!(!is_observed(P::Tracing, A::TraceFsession));
        assert_eq!(super::observed_support(P::Tracing, None, Helper::SEQ_PRINTF).shape(), Shape::Always);
    }
}
