//! The probe of each feature that loads depend on.

use super::{
    answer::{self, ProbeResult, Probed},
    instructions, probe, program,
    token::Token,
};
use crate::sys::Errno;
use core_relo_object::features::Feature;

/// A function that returns whether the kernel has a feature.
type Probe = fn(Token<'_>) -> Result<bool, Errno>;

/// The probe of each feature.
#[rustfmt::skip]
const PROBES: [(Feature, Probe); 36] = [
    (Feature::Names, probe::names),
    (Feature::GlobalData, probe::global_data),
    (Feature::Btf, probe::btf),
    (Feature::BtfFunc, probe::btf_func),
    (Feature::BtfGlobalFunc, probe::btf_global_func),
    (Feature::BtfDatasec, probe::btf_datasec),
    (Feature::ArrayMmap, probe::array_mmap),
    (Feature::ExpectedAttachType, probe::expected_attach_type),
    (Feature::ProbeReadKernel, probe::probe_read_kernel),
    (Feature::ProgBindMap, probe::prog_bind_map),
    (Feature::ModuleBtf, probe::module_btf),
    (Feature::BtfFloat, probe::btf_float),
    (Feature::PerfLink, probe::perf_link),
    (Feature::BtfDeclTag, probe::btf_decl_tag),
    (Feature::BtfTypeTag, probe::btf_type_tag),
    (Feature::MemcgAccounting, probe::memcg_accounting),
    (Feature::Cookie, probe::cookie),
    (Feature::BtfEnum64, probe::btf_enum64),
    (Feature::SyscallWrapper, probe::syscall_wrapper),
    (Feature::UprobeMulti, probe::uprobe_multi),
    (Feature::ArgCtxTag, probe::arg_ctx_tag),
    (Feature::BtfQmarkDatasec, probe::btf_qmark_datasec),
    (Feature::FullRangeOffset, probe::full_range_offset),
    (Feature::LargePrograms, instructions::large_programs),
    (Feature::BoundedLoops, instructions::bounded_loops),
    (Feature::IsaV2, instructions::isa_v2),
    (Feature::IsaV3, instructions::isa_v3),
    (Feature::IsaV4, instructions::isa_v4),
    (Feature::Atomics, instructions::atomics),
    (Feature::Callbacks, instructions::callbacks),
    (Feature::KfuncCalls, instructions::kfunc_calls),
    (Feature::MayGoto, instructions::may_goto),
    (Feature::LoadAcquireStoreRelease, instructions::load_acquire_store_release),
    (Feature::StructOpsLink, probe::struct_ops_link),
    (Feature::ProgSignature, probe::prog_signature),
    (Feature::Token, probe::token),
];

/// Probes whether the running kernel has a feature.
pub(super) fn probe_feature(feature: Feature, token: Token<'_>) -> ProbeResult {
    program::prepare();
    match ask(feature, token) {
        Ok(true) => Ok(Probed::yes("the kernel accepts a request with it")),
        Ok(false) => Ok(Probed::no("the kernel refuses a request with it")),
        Err(errno) => Err(answer::undecided("bpf(2)", errno)),
    }
}

/// Returns whether the running kernel has a feature. A lack of privileges is an error.
pub(super) fn ask(feature: Feature, token: Token<'_>) -> Result<bool, Errno> {
    // A test finds features without a probe.
    let (_, probe) = PROBES.iter().find(|(known, _)| *known == feature).ok_or(Errno(libc::ENOSYS))?;
    match probe(token) {
        Err(errno) if answer::is_undecided(errno) => Err(errno),
        // The kernel lacks something else that the feature needs, such as kprobes for wrappers of system
        // calls.
        Err(_) => Ok(false),
        decided => decided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_has_a_probe() {
        for feature in Feature::ALL {
            assert!(PROBES.iter().any(|(known, _)| known == feature), "{feature:?}");
        }
    }
}
