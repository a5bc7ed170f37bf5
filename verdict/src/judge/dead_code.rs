//! Requirements of instructions in dead code.

use super::{object_context::ObjectContext, references::called_extern};
use crate::{
    kernel::{Answer, InsnFeature, MapUse, needs_device},
    linked_code::usize_of,
    requirements::{LicenseUse, Need, Site},
};
use core_relo::insn::Insn;
use core_relo_object::link::LinkedProgram;

/// What the verifier does with an unmet requirement of an instruction in dead code.
pub(super) enum DeadCode {
    /// It refuses the instruction, because it checks all instructions before it follows any path.
    Checked,
    /// It does not look at the instruction.
    Skipped,
    /// Nothing tells: the question.
    Unknown(String),
}

impl ObjectContext<'_, '_> {
    /// Returns what the verifier does with an unmet requirement in dead code.
    pub(super) fn dead_code(&self, site: &Site, linked: &LinkedProgram) -> DeadCode {
        let is_checked = match self.answers.need(site.need) {
            // Without a JIT compiler, the kernel refuses calls of kfuncs before it follows any path, and the
            // others after it has removed dead code (kernel: `add_kfunc_call`, `fixup_call_args`).
            Some(Need::Instruction(feature)) if self.answers.facts.missing_jit(*feature).is_some() => {
                *feature == InsnFeature::KfuncCall
            }
            Some(Need::Instruction(feature)) => {
                let insn = linked.insns.get(usize_of(site.insn));
                is_decoded_everywhere(*feature, insn.copied())
            }
            Some(Need::InsnRule(rule)) => {
                return match self.answers.facts.refuses_dead_code(*rule) {
                    Answer::Present(_) => DeadCode::Checked,
                    Answer::Absent(_) => DeadCode::Skipped,
                    Answer::Unknown(question) => DeadCode::Unknown(question),
                };
            }
            Some(Need::License(LicenseUse::Kfunc(_)) | Need::VariableAddress(_)) => true,
            // The kernel checks the calls before it follows any path (kernel: `add_kfunc_call`). A loader
            // replaces the call of a kfunc that the kernel lacks, or has with another prototype.
            Some(Need::KfuncCall { name, .. }) => {
                let called = called_extern(linked, site.insn);
                let is_resolved =
                    called.is_none_or(|called| self.externs.is_resolved(called, self.answers) == Some(true));
                needs_device(name) && self.answers.facts.kfunc(name).is_present() && is_resolved
            }
            Some(Need::MapUse { map_use, .. }) => is_checked_everywhere(*map_use),
            _ => false,
        };
        if is_checked { DeadCode::Checked } else { DeadCode::Skipped }
    }
}

/// Returns whether the kernel checks the use of a map in dead code, too: it compares the maps with the
/// program where it replaces their descriptors by addresses (kernel: `resolve_pseudo_ldimm64`). It checks
/// calls and accesses where it follows a path.
const fn is_checked_everywhere(map_use: MapUse) -> bool {
    match map_use {
        MapUse::Sleepable(_)
        | MapUse::SleepableAllocation
        | MapUse::PerfEventAllocation
        | MapUse::Field { .. }
        | MapUse::SecondStorage(_)
        | MapUse::OutsideAddress { .. } => true,
        MapUse::Helper { .. }
        | MapUse::MissingField { .. }
        | MapUse::FormedField { .. }
        | MapUse::FunctionArgument { .. }
        | MapUse::KfuncArgument { .. }
        | MapUse::ContextArgument
        | MapUse::OutsideAccess { .. }
        | MapUse::Read
        | MapUse::Write
        | MapUse::Sockets { .. } => false,
    }
}

/// Returns whether the verifier refuses instructions in dead code, too. Before it follows any path, it
/// refuses unknown opcodes, modes and addresses (kernel: `resolve_pseudo_ldimm64`).
fn is_decoded_everywhere(feature: InsnFeature, insn: Option<Insn>) -> bool {
    // Before 6.15, the opcodes of 32-bit and 64-bit atomic operations are known, but not these of 8 and 16
    // bits.
    let is_small = insn.is_some_and(|insn| insn.access_bytes() < 4);
    if feature == InsnFeature::LoadAcquireStoreRelease {
        return is_small;
    }
    matches!(
        feature,
        InsnFeature::FunctionAddress
            | InsnFeature::Jmp32
            | InsnFeature::Atomics
            | InsnFeature::LoadSignExtended
            | InsnFeature::ByteSwap
            | InsnFeature::LongJump
            | InsnFeature::MayGoto
            | InsnFeature::KernelVariableAddress
            | InsnFeature::KernelFunctionAddress
            | InsnFeature::BackwardJump
            | InsnFeature::IndirectJump
    )
}
