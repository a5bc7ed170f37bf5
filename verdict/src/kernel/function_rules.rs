//! The rules for the prototypes of global functions, observed on real kernels (kernel:
//! `btf_prepare_func_args`).

use super::{
    answer::{Answer, Evidence, EvidenceSource},
    changes::POINTER_ARGUMENTS,
    facts::KernelFacts,
    observed::Observations,
};
use core::fmt;

/// A rule for the prototypes of global functions that a function breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the judge acts on each")]
pub enum FunctionRule {
    /// A parameter is a pointer to memory, which came with 5.12. Older kernels know pointers to the context
    /// alone.
    PointerParameter(u32),
    /// A parameter is a pointer to a type without a size.
    UnsizedParameter(u32),
    /// The function returns nothing. Newer kernels than 6.18 permit it.
    VoidResult,
    /// The function returns something else than a number.
    Result,
}

impl fmt::Display for FunctionRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PointerParameter(index) => {
                write!(f, "parameter {} is a pointer to something else than the context", parameter(*index))
            }
            Self::UnsizedParameter(index) => {
                write!(f, "parameter {} is a pointer to a type without a size", parameter(*index))
            }
            Self::VoidResult => write!(f, "it returns nothing, expected a number"),
            Self::Result => write!(f, "its result is no number"),
        }
    }
}

/// Returns the number of a parameter, from 1 on.
fn parameter(index: u32) -> u64 {
    u64::from(index).wrapping_add(1)
}

impl KernelFacts<'_> {
    /// Answers whether the kernel accepts global functions that break a rule.
    pub(crate) fn function_rule(&self, rule: FunctionRule) -> Answer {
        match rule {
            FunctionRule::PointerParameter(_) => {
                self.answer_change(POINTER_ARGUMENTS, "pointers as parameters of global functions")
            }
            FunctionRule::VoidResult => {
                let kernels = [false, false, false, true];
                let observations = Observations::new(|kernel| kernels.get(kernel).copied());
                let text = "no newer kernel is known to refuse it".to_owned();
                let exists = Answer::Present(Evidence { source: EvidenceSource::Version, text });
                let what = "accept global functions without a result";
                self.answer_observed(observations.with_late(Some(false)), what, exists)
            }
            FunctionRule::UnsizedParameter(_) | FunctionRule::Result => {
                let text = "every kernel has the rule".to_owned();
                Answer::Absent(Evidence { source: EvidenceSource::Object, text })
            }
        }
    }
}
