//! The instructions and the rules of the verifier.

use super::{
    KernelVersion,
    answer::{Answer, Evidence, EvidenceSource},
    changes::{InsnFeature, LAZY_VERIFICATION, SLEEPABLE_PROGRAMS},
    facts::KernelFacts,
    fixed_names::Enum,
    mark::{Mark, MarkPresence},
};

impl KernelFacts<'_> {
    /// Answers whether the kernel knows a set of instructions, and has a JIT compiler if they need one.
    ///
    /// The JIT compiler of an architecture may still lack an instruction that the verifier knows. BTF does
    /// not tell.
    pub fn instruction_set(&self, feature: InsnFeature) -> Answer {
        let Some(change) = feature.change() else {
            let text = String::from("every kernel with BTF has them");
            return Answer::Present(Evidence { source: EvidenceSource::Object, text });
        };
        match self.missing_jit(feature) {
            Some(evidence) => Answer::Absent(evidence),
            None => match self.answer_change(change, feature.name()) {
                Answer::Absent(evidence) if feature == InsnFeature::LongJump => self.long_jump(evidence),
                answer => answer,
            },
        }
    }

    /// Answers whether a kernel without the other instructions of the set `v4` has long jumps. Updates of 6.1
    /// brought them.
    fn long_jump(&self, absent: Evidence) -> Answer {
        const SINCE_6_1: Mark = Mark::Enumerator(Enum::bpf_func_id, "BPF_FUNC_user_ringbuf_drain");
        const SINCE_6_2: Mark = Mark::Enumerator(Enum::bpf_func_id, "BPF_FUNC_cgrp_storage_get");
        /// An update of 6.1 that has them.
        const UPDATE: KernelVersion = KernelVersion { major: 6, minor: 1, patch: 176 };
        let is_6_1 = self.find_mark(SINCE_6_1) == MarkPresence::Found
            && self.find_mark(SINCE_6_2) == MarkPresence::Missing;
        match self.inputs.version {
            _ if !is_6_1 => Answer::Absent(absent),
            Some(version) if version >= UPDATE && (version.major, version.minor) == (6, 1) => {
                let text = format!("Linux {version}: updates of 6.1 have it");
                Answer::Present(Evidence { source: EvidenceSource::Version, text })
            }
            Some(version) => {
                Answer::Unknown(format!("updates of 6.1 have it, 6.1.176 among them; this is {version}"))
            }
            None => {
                Answer::Unknown("updates of 6.1 have it: give the kernel's version (--kernel-version)".into())
            }
        }
    }

    /// Answers whether programs may sleep (5.10).
    pub fn sleepable_programs(&self) -> Answer {
        self.answer_change(SLEEPABLE_PROGRAMS, "programs that sleep")
    }

    /// Answers whether the kernel verifies global functions that nothing calls: present before 6.8.
    pub fn verifies_uncalled_functions(&self) -> Answer {
        match self.answer_change(LAZY_VERIFICATION, "the verification of called functions only") {
            Answer::Present(evidence) => Answer::Absent(evidence),
            Answer::Absent(evidence) => Answer::Present(evidence),
            unknown @ Answer::Unknown(_) => unknown,
        }
    }
}
