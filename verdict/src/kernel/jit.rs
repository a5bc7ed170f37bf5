//! The JIT compiler: what programs need it for, and what the compilers of some architectures lack.

use super::{
    answer::{Answer, Evidence, EvidenceSource},
    changes::InsnFeature,
    conditional::DIRECT_CALLS,
    facts::KernelFacts,
    fixed_names::{Enum, Struct},
    mark::{
        Change,
        Mark::{self, Enumerator},
        MarkPresence,
    },
    observed::Observations,
};
use core_relo_object::object::AttachType;

/// The option of the JIT compiler.
const OPTION: &str = "CONFIG_BPF_JIT";

/// An architecture whose kernels refuse something that the same kernels of x86-64 accept, and a mark of its
/// BTF.
struct Architecture {
    name: &'static str,
    mark: Mark,
}

const RISCV: Architecture = Architecture { name: "RISC-V", mark: Mark::Member(Struct::pt_regs, "epc") };
const ARM64: Architecture = Architecture { name: "arm64", mark: Mark::Member(Struct::pt_regs, "orig_x0") };
const POWERPC: Architecture =
    Architecture { name: "PowerPC", mark: Mark::Member(Struct::paca_struct, "paca_index") };

/// The architectures without arenas, observed up to 7.2. On PowerPC, the kernel gets no memory for them,
/// because the processor cannot exchange 16 bytes at once.
const WITHOUT_ARENAS: [Architecture; 2] = [RISCV, POWERPC];

/// The architectures whose JIT compiler has no exceptions, observed up to 7.2 (kernel:
/// `bpf_jit_supports_exceptions`).
const WITHOUT_EXCEPTIONS: [Architecture; 1] = [RISCV];

/// The architectures whose trampolines came later than the functions that all architectures share, and the
/// release. Until then, `arch_prepare_bpf_trampoline` fails. The list lacks RISC-V and s390x, whose
/// trampolines came with 6.3.
const LATE_TRAMPOLINES: [(Architecture, Change); 2] = [
    (ARM64, Change::new(6, 0, &[Enumerator(Enum::bpf_attach_type, "BPF_LSM_CGROUP")])),
    (POWERPC, Change::new(6, 13, &[Enumerator(Enum::bpf_attach_type, "BPF_TRACE_UPROBE_SESSION")])),
];

/// The kfunc that throws an exception.
const THROW: &[u8] = b"bpf_throw";

impl KernelFacts<'_> {
    /// Answers whether the kernel is compiled with a JIT compiler. The kernel may still start with the
    /// compiler off.
    ///
    /// From 5.6 on, the functions of trampolines are compiled with the compiler.
    pub fn jit(&self) -> Answer {
        match self.compiled_trampolines() {
            Answer::Absent(evidence) => Answer::Absent(Evidence {
                text: format!("{}: the kernel has no JIT compiler", evidence.text),
                ..evidence
            }),
            Answer::Unknown(_) => self.answer_option(OPTION),
            present @ Answer::Present(_) => present,
        }
    }

    /// Answers whether the kernel has trampolines, which fentry, fexit, fmod_ret, freplace, LSM and
    /// struct_ops programs need.
    pub fn trampolines(&self) -> Answer {
        let compiled = self.compiled_trampolines();
        let is_late = |(architecture, _): &&(Architecture, Change)| {
            compiled.is_present() && self.find_mark(architecture.mark) == MarkPresence::Found
        };
        let Some((Architecture { name, .. }, change)) = LATE_TRAMPOLINES.iter().find(is_late) else {
            return compiled;
        };
        let subject = format!("trampolines of {name}");
        match self.answer_change(*change, &subject) {
            Answer::Absent(Evidence { source: EvidenceSource::Btf, text }) => Answer::Absent(Evidence {
                source: EvidenceSource::Btf,
                text: format!("{subject} came with {}: {text}", change.release),
            }),
            Answer::Present(_) => compiled,
            other => other,
        }
    }

    /// Returns the evidence that a policy of the machine refuses programs of an attach type.
    pub fn refused_by_policy(&self, attach_type: AttachType) -> Option<Evidence> {
        let mut refused = self.inputs.refused_attach_types.iter();
        let refused = refused.find(|refused| refused.attach_type == attach_type)?;
        Some(Evidence { source: EvidenceSource::Probe, text: refused.answer.clone() })
    }

    /// Returns the evidence that the kernel attaches trampolines to none of its functions, although it has
    /// trampolines. Kernels of arm64 from 6.0 to 6.3 load fentry, fexit, fmod_ret and LSM programs, and
    /// refuse to attach them with `ENOTSUPP`: ftrace has direct calls there since 6.4 (kernel:
    /// `register_fentry`).
    pub fn missing_direct_calls(&self) -> Option<Evidence> {
        const OPTION: &str = "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS";
        if self.find_mark(ARM64.mark) != MarkPresence::Found || !self.trampolines().is_present() {
            return None;
        }
        let missing = match self.compiled(&DIRECT_CALLS) {
            Answer::Absent(Evidence { source, text }) => {
                Answer::Absent(Evidence { source, text: format!("{text}: {OPTION} is not set") })
            }
            Answer::Unknown(_) => self.answer_option(OPTION),
            present @ Answer::Present(_) => present,
        };
        missing.into_absence()
    }

    /// Returns the evidence that the kernel has no JIT compiler, if it knows the instructions and needs a
    /// compiler for them.
    pub(crate) fn missing_jit(&self, feature: InsnFeature) -> Option<Evidence> {
        let change = feature.change().filter(|_| needs_jit(feature))?;
        if !self.answer_change(change, feature.name()).is_present() {
            return None;
        }
        self.jit().into_absence()
    }

    /// Answers whether the kernel has arenas, which need a JIT compiler that supports them (kernel:
    /// `arena_map_alloc`). `compiled` is the answer of the configuration.
    pub(super) fn arenas(&self, compiled: Answer) -> Answer {
        match self.jit() {
            Answer::Absent(evidence) if compiled.is_present() => Answer::Absent(evidence),
            _ => self.unless_on(&WITHOUT_ARENAS, "arenas", compiled),
        }
    }

    /// Answers whether the JIT compiler supports a kfunc. `exists` is the answer of the BTF.
    pub(crate) fn kfunc_in_jit(&self, kfunc: &[u8], exists: Answer) -> Answer {
        if kfunc == THROW { self.unless_on(&WITHOUT_EXCEPTIONS, "exceptions", exists) } else { exists }
    }

    fn unless_on(&self, architectures: &[Architecture], what: &str, answer: Answer) -> Answer {
        let is_found = |architecture: &&Architecture| {
            self.find_mark(architecture.mark) == MarkPresence::Found && answer.is_present()
        };
        match architectures.iter().find(is_found) {
            Some(architecture) => {
                let what = format!("have {what} on {}", architecture.name);
                self.answer_observed(Observations::NEVER, &what, answer)
            }
            None => answer,
        }
    }
}

/// Returns whether the kernel refuses the instructions in programs that it interprets (kernel:
/// `add_kfunc_call`, `fixup_call_args`, `check_map_func_compatibility`).
const fn needs_jit(feature: InsnFeature) -> bool {
    matches!(
        feature,
        InsnFeature::FunctionAddress
            | InsnFeature::KfuncCall
            | InsnFeature::ModuleKfuncCall
            | InsnFeature::AddressSpaceCast
            | InsnFeature::IndirectJump
            | InsnFeature::StackArguments
            | InsnFeature::TailCallWithFunctions
    )
}
