//! Observations of real kernels, and what they tell about other kernels.

use super::{
    answer::{Answer, Evidence, EvidenceSource},
    facts::KernelFacts,
    version::KernelVersion,
};
use core_relo_object::object::ProgramType;

/// The observed kernels: the release, and the number of the last attach type (`enum bpf_attach_type`), by which another kernel is
/// found to be newer or older.
pub(super) const OBSERVED_KERNELS: [(KernelVersion, u32); 4] = [
    (KernelVersion::release(5, 10), 37),
    (KernelVersion::release(6, 1), 43),
    (KernelVersion::release(6, 12), 56),
    (KernelVersion::release(7, 2), 61),
];

/// The observation of a program type and a helper or kfunc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObservedSupport {
    /// Every kernel that has the function lets programs of this type call it. Also stands for a type without observations.
    Always,
    /// No kernel lets programs of this type call the function.
    Never,
    /// Kernels let programs of this type call the function from the kernel of this index in [`OBSERVED_KERNELS`] on, and not before.
    From(usize),
}

impl ObservedSupport {
    /// Concludes from each observed kernel. `may_call` returns `None` for a kernel without the function or the program type.
    pub(super) fn new(may_call: impl Fn(usize) -> Option<bool>) -> Self {
        let mut kernels = 0..OBSERVED_KERNELS.len();
        let Some(first) = kernels.find(|kernel| may_call(*kernel) == Some(true)) else {
            let is_known = (0..OBSERVED_KERNELS.len()).any(|kernel| may_call(kernel).is_some());
            return if is_known { Self::Never } else { Self::Always };
        };
        match first.checked_sub(1).and_then(may_call) {
            Some(_) => Self::From(first),
            None => Self::Always,
        }
    }
}

impl KernelFacts<'_> {
    /// Answers whether programs of a type may call a function. `exists` is the answer for a function that they may call.
    pub(super) fn answer_observed(
        &self,
        observed: ObservedSupport,
        program_type: ProgramType,
        exists: Answer,
    ) -> Answer {
        let by_version = |text: String| Evidence { source: EvidenceSource::Version, text };
        let release = |kernel: usize| OBSERVED_KERNELS.get(kernel).copied();
        match observed {
            ObservedSupport::Always => exists,
            ObservedSupport::Never => {
                let Some((newest, last)) = OBSERVED_KERNELS.last().copied() else { return exists };
                if self.is_newer_than(newest, last) {
                    return Answer::Unknown(format!(
                        "it is not known whether this kernel, which is newer than {newest}, lets programs of type {program_type} call it"
                    ));
                }
                Answer::Absent(by_version(format!(
                    "no kernel up to {newest} lets programs of type {program_type} call it"
                )))
            }
            ObservedSupport::From(first) => {
                let (Some((since, last_since)), Some((before, last_before))) =
                    (release(first), first.checked_sub(1).and_then(release))
                else {
                    return exists;
                };
                let next = last_before.saturating_add(1);
                match (self.attach_type(last_since), self.attach_type(next)) {
                    (Answer::Present(_), _) => exists,
                    (_, Answer::Absent(_)) => Answer::Absent(by_version(format!(
                        "kernels up to {before} do not let programs of type {program_type} call it, and this kernel has no newer attach type"
                    ))),
                    _ => Answer::Unknown(format!(
                        "kernels since {since} let programs of type {program_type} call it, {before} does not, and this kernel is between them"
                    )),
                }
            }
        }
    }

    /// Returns whether evidence shows that the kernel is newer than an observed one.
    fn is_newer_than(&self, release: KernelVersion, last_attach_type: u32) -> bool {
        let version = self.inputs.version.map(|version| KernelVersion::release(version.major, version.minor));
        version.is_some_and(|version| version > release)
            || self.attach_type(last_attach_type.saturating_add(1)).is_present()
    }
}
