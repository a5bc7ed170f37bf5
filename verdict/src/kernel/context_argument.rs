//! Arguments of calls that every kernel refuses, because they are the context, or are not.

use super::answer::{Answer, Evidence, EvidenceSource};
use core::fmt;

/// The value of an argument, as far as kernels decide whether it may be the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "callers decide on each")]
pub enum PassedValue {
    /// The context.
    Context,
    /// An address behind the start of the context.
    MovedContext,
    /// An address on the stack.
    Stack,
    /// An address in a map's value.
    MapValue,
    /// A map.
    Map,
    /// A constant, such as a null pointer.
    Constant,
    /// A word of the context.
    ContextWord,
}

/// An argument that the kernel refuses, whichever the kernel is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContextArgument {
    /// A kernel function or helper, as a noun phrase, expects the context and gets this value.
    Expected(Box<str>, PassedValue),
    /// A global function of the object expects the context and gets this value.
    ExpectedByFunction(PassedValue),
    /// A global function of the object expects other memory and gets the context.
    Unexpected,
}

impl fmt::Display for ContextArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |value: &PassedValue| match value {
            PassedValue::Context => "the context",
            PassedValue::MovedContext => "an address behind the start of the context",
            PassedValue::Stack => "an address on the stack",
            PassedValue::MapValue => "the address of a map's value",
            PassedValue::Map => "a map",
            PassedValue::Constant => "a constant",
            PassedValue::ContextWord => "a word of the context",
        };
        match self {
            Self::Expected(callee, passed) => {
                write!(f, "{callee} takes the context, and the program passes {}", value(passed))
            }
            Self::ExpectedByFunction(passed) => {
                write!(f, "a global function takes the context, and the program passes {}", value(passed))
            }
            Self::Unexpected => f.write_str(
                "a global function takes the address of memory, and the program passes the context",
            ),
        }
    }
}

impl ContextArgument {
    /// Answers whether a kernel accepts the argument.
    pub(crate) fn answer() -> Answer {
        let text = "every kernel has the rule".to_owned();
        Answer::Absent(Evidence { source: EvidenceSource::Object, text })
    }
}
