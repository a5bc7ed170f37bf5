//! The features that loads and kinds of programs depend on, and the limits of the verifier, with the evidence
//! of a kernel's BTF.

use super::{
    KernelVersion,
    answer::{Answer, Evidence, EvidenceSource},
    changes::{ATTACH_COOKIE, InsnFeature, LAZY_VERIFICATION},
    facts::KernelFacts,
    fixed_names::{Enum, Func, Struct},
    kconfig::KconfigAnswer,
    mark::{
        Change,
        Mark::{Enumerator, Function, Member},
        MarkPresence,
    },
    program_features::ProgramFeature,
};
use core_relo_object::features::Feature;

/// The evidence for a feature.
#[derive(Clone, Copy, Debug)]
enum FeatureEvidence {
    /// Every kernel with BTF has the feature, which came with a release.
    EveryKernel(KernelVersion),
    /// A change of the kernel.
    Change(Change),
    /// A set of instructions.
    Instructions(InsnFeature),
    /// The function behind a system call, since a release.
    SyscallWrapper(KernelVersion),
    /// A change of the kernel, whose code needs an option of the configuration: the exported function of that
    /// option.
    ChangeAndFunction(Change, Func),
}

const SINCE_5_2: Change = Change::new(5, 2, &[Enumerator(Enum::bpf_cmd, "BPF_MAP_FREEZE")]);
const SINCE_5_5: Change = Change::new(5, 5, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_probe_read_kernel")]);
const SINCE_5_11: Change = Change::new(5, 11, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_task_storage_get")]);

/// Signatures in the attributes of `BPF_PROG_LOAD`, merged in one series with hashes of maps.
const PROG_SIGNATURE: Change = Change::new(6, 18, &[Member(Struct::bpf_map_ops, "map_get_hash")]);
/// The exported function that verifies signatures, compiled with `CONFIG_SYSTEM_DATA_VERIFICATION`.
const VERIFY_SIGNATURE: Func = Func::verify_pkcs7_signature;

/// Returns the evidence for a feature. `None` for a feature without.
const fn evidence(feature: Feature) -> Option<FeatureEvidence> {
    use Feature as F;
    use FeatureEvidence as E;
    let change = match feature {
        F::Names => return Some(E::EveryKernel(KernelVersion::release(4, 15))),
        F::Btf => return Some(E::EveryKernel(KernelVersion::release(4, 18))),
        F::BtfFunc => return Some(E::EveryKernel(KernelVersion::release(5, 0))),
        F::ExpectedAttachType => return Some(E::EveryKernel(KernelVersion::release(4, 17))),
        F::IsaV2 => return Some(E::EveryKernel(KernelVersion::release(4, 14))),
        F::SyscallWrapper => return Some(E::SyscallWrapper(KernelVersion::release(4, 17))),
        F::BoundedLoops => return Some(E::Instructions(InsnFeature::BackwardJump)),
        F::IsaV3 => return Some(E::Instructions(InsnFeature::Jmp32)),
        F::IsaV4 => return Some(E::Instructions(InsnFeature::MoveSignExtended)),
        F::Atomics => return Some(E::Instructions(InsnFeature::Atomics)),
        F::Callbacks => return Some(E::Instructions(InsnFeature::FunctionAddress)),
        F::KfuncCalls => return Some(E::Instructions(InsnFeature::KfuncCall)),
        F::MayGoto => return Some(E::Instructions(InsnFeature::MayGoto)),
        F::LoadAcquireStoreRelease => return Some(E::Instructions(InsnFeature::LoadAcquireStoreRelease)),
        F::GlobalData | F::BtfDatasec | F::LargePrograms => SINCE_5_2,
        F::ArrayMmap | F::ProbeReadKernel => SINCE_5_5,
        F::BtfGlobalFunc => Change::new(5, 6, &[Member(Struct::bpf_prog_aux, "func_info_aux")]),
        F::ProgBindMap => Change::new(5, 10, &[Enumerator(Enum::bpf_cmd, "BPF_PROG_BIND_MAP")]),
        F::ModuleBtf | F::MemcgAccounting => SINCE_5_11,
        F::BtfFloat => Change::new(5, 13, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_snprintf")]),
        F::PerfLink => Change::new(5, 15, &[Enumerator(Enum::bpf_attach_type, "BPF_PERF_EVENT")]),
        F::BtfDeclTag => {
            Change::new(5, 16, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_kallsyms_lookup_name")])
        }
        F::BtfTypeTag => Change::new(5, 17, &[Enumerator(Enum::bpf_func_id, "BPF_FUNC_loop")]),
        F::Cookie => ATTACH_COOKIE,
        F::BtfEnum64 => Change::new(6, 0, &[Enumerator(Enum::bpf_attach_type, "BPF_LSM_CGROUP")]),
        F::StructOpsLink => Change::new(6, 4, &[Enumerator(Enum::bpf_prog_type, "BPF_PROG_TYPE_NETFILTER")]),
        // The filter by process works since 6.11, which has no mark.
        F::UprobeMulti => Change::new(6, 6, &[Enumerator(Enum::bpf_attach_type, "BPF_TRACE_UPROBE_MULTI")]),
        F::ArgCtxTag => LAZY_VERIFICATION,
        F::ProgSignature => return Some(E::ChangeAndFunction(PROG_SIGNATURE, VERIFY_SIGNATURE)),
        F::Token => Change::new(6, 9, &[Enumerator(Enum::bpf_cmd, "BPF_TOKEN_CREATE")]),
        F::BtfQmarkDatasec => {
            Change::new(6, 10, &[Enumerator(Enum::bpf_attach_type, "BPF_TRACE_KPROBE_SESSION")])
        }
        F::FullRangeOffset => Change::new(7, 0, &[Enumerator(Enum::bpf_attach_type, "BPF_TRACE_FSESSION")]),
        _ => return None,
    };
    Some(E::Change(change))
}

/// Returns the mainline release that added a feature.
pub const fn feature_release(feature: Feature) -> Option<KernelVersion> {
    match evidence(feature) {
        Some(FeatureEvidence::EveryKernel(release) | FeatureEvidence::SyscallWrapper(release)) => {
            Some(release)
        }
        Some(FeatureEvidence::Change(change) | FeatureEvidence::ChangeAndFunction(change, _)) => {
            Some(change.release)
        }
        Some(FeatureEvidence::Instructions(set)) => set.release(),
        None => None,
    }
}

impl KernelFacts<'_> {
    /// Answers whether the kernel supports a property of programs or maps.
    pub fn program_feature(&self, feature: ProgramFeature) -> Answer {
        self.answer_change(feature.change(), feature.name())
    }

    /// Answers whether the kernel has a feature that loads depend on, or accepts what its verifier is asked
    /// for.
    ///
    /// The instructions are those of the verifier: see [`instruction_set`](Self::instruction_set).
    pub fn feature(&self, feature: Feature) -> Answer {
        match evidence(feature) {
            Some(FeatureEvidence::EveryKernel(_)) => {
                let text = String::from("every kernel with BTF has it");
                Answer::Present(Evidence { source: EvidenceSource::Object, text })
            }
            Some(FeatureEvidence::Change(change)) => self.answer_change(change, feature.description()),
            Some(FeatureEvidence::ChangeAndFunction(change, function)) => {
                match self.answer_change(change, feature.description()) {
                    Answer::Present(_) => {
                        let function = Function(function);
                        let is_found = self.find_mark(function) == MarkPresence::Found;
                        if is_found {
                            Answer::present_in_btf(function.to_string())
                        } else {
                            Answer::absent_from_btf(function.absence())
                        }
                    }
                    answer => answer,
                }
            }
            Some(FeatureEvidence::Instructions(set)) => self.instruction_set(set),
            Some(FeatureEvidence::SyscallWrapper(_)) => match self.kconfig("LINUX_HAS_SYSCALL_WRAPPER") {
                KconfigAnswer::Value(value, evidence) if value == "1" => Answer::Present(evidence),
                KconfigAnswer::Value(_, evidence) | KconfigAnswer::NotSet(evidence) => {
                    Answer::Absent(evidence)
                }
                KconfigAnswer::Unknown(question) => Answer::Unknown(question),
            },
            None => Answer::Unknown(format!("no evidence is known for {}", feature.description())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_has_evidence_and_a_release() {
        for feature in Feature::ALL {
            assert!(feature_release(*feature).is_some(), "{feature:?}");
        }
    }
}
