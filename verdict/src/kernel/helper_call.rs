//! Whether a kernel lets programs of a type call a helper.

use super::{
    Answer, Evidence, EvidenceSource, KernelFacts,
    helper_types::{OBSERVED, Observed, observe},
    restrictions::{HelperRestriction, helper_restriction},
};
use core_relo_object::object::ProgramType;

/// Returns whether the kernel has a helper and lets programs of a type call it.
///
/// BTF tells whether the helper exists. The program types come from observations of other kernels, so that an answer which depends on
/// them has the [weak evidence](EvidenceSource::Version) of the kernel's age.
pub fn may_call(
    facts: &KernelFacts<'_>,
    helper: u32,
    program_type: Option<ProgramType>,
    is_sleepable: bool,
) -> Answer {
    let exists = facts.helper(helper);
    let Some(program_type) = program_type.filter(|_| exists.is_present()) else { return exists };
    if let Some(restriction) = helper_restriction(helper).filter(|r| !r.permits(program_type, is_sleepable)) {
        let text = match restriction {
            HelperRestriction::Sleepable => "only programs that may sleep call it".to_owned(),
            HelperRestriction::ProgramTypes(_) => format!("programs of type {program_type} may not call it"),
        };
        return Answer::Absent(Evidence { source: EvidenceSource::Object, text });
    }
    let by_age = |text: String| Evidence { source: EvidenceSource::Version, text };
    let release = |kernel: usize| OBSERVED.get(kernel).copied();
    match observe(program_type, helper) {
        Observed::Always => exists,
        Observed::Never => {
            let newest = OBSERVED.last().map_or("", |(release, _)| release);
            Answer::Absent(by_age(format!(
                "no kernel up to {newest} lets programs of type {program_type} call it"
            )))
        }
        Observed::From(first) => {
            let (Some((since, its_last)), Some((before, last_before))) =
                (release(first), first.checked_sub(1).and_then(release))
            else {
                return exists;
            };
            let next = last_before.saturating_add(1);
            match (facts.attach_type(its_last), facts.attach_type(next)) {
                (Answer::Present(_), _) => exists,
                (_, Answer::Absent(_)) => Answer::Absent(by_age(format!(
                    "kernels up to {before} do not let programs of type {program_type} call it, and this kernel has no newer attach type"
                ))),
                _ => Answer::Unknown(format!(
                    "kernels since {since} let programs of type {program_type} call it, {before} does not, and this kernel is between them"
                )),
            }
        }
    }
}
