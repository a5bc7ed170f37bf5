//! Whether a kernel lets programs of a type call a helper.

use super::{
    Answer, Evidence, EvidenceSource, KernelFacts, helper_types, kfunc_types,
    restrictions::{HelperRestriction, helper_restriction},
};
use core_relo_object::object::{AttachType, ProgramType};

/// A call of a helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "callers build it")]
pub struct HelperCall {
    /// The helper's number (`enum bpf_func_id`).
    pub helper: u32,
    /// The type of the program; `None` if user space sets the type.
    pub program_type: Option<ProgramType>,
    /// The expected attach type of the program; `None` if the type has none, or user space sets it.
    pub attach_type: Option<AttachType>,
    /// Whether the program may sleep.
    pub is_sleepable: bool,
}

/// Returns whether the kernel has a helper and lets programs of a type call it.
///
/// BTF tells whether the helper exists. The program types come from observations of other kernels, so that an answer which depends on
/// them has the [weak evidence](EvidenceSource::Version) of the kernel's age.
pub fn may_call(facts: &KernelFacts<'_>, call: HelperCall) -> Answer {
    let exists = facts.helper(call.helper);
    let Some(program_type) = call.program_type.filter(|_| exists.is_present()) else { return exists };
    let restriction = helper_restriction(call.helper);
    if let Some(restriction) = restriction.filter(|r| !r.permits(program_type, call.is_sleepable)) {
        let text = match restriction {
            HelperRestriction::Sleepable => "only programs that may sleep call it".to_owned(),
            HelperRestriction::ProgramTypes(_) => format!("programs of type {program_type} may not call it"),
        };
        return Answer::Absent(Evidence { source: EvidenceSource::Object, text });
    }
    facts.answer_observed(
        helper_types::observe(program_type, call.attach_type, call.helper),
        program_type,
        exists,
    )
}

/// Returns whether the kernel has a kfunc and lets programs of a type call it. See [`may_call`].
pub fn may_call_kfunc(facts: &KernelFacts<'_>, kfunc: &[u8], program_type: Option<ProgramType>) -> Answer {
    let exists = facts.kfunc(kfunc);
    match program_type.filter(|_| exists.is_present()) {
        Some(program_type) => {
            facts.answer_observed(kfunc_types::observe(program_type, kfunc), program_type, exists)
        }
        None => exists,
    }
}
