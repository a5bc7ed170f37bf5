//! Violations: the record or function, and the rule.

use super::rule::InfoRule;
use crate::btf::Element;
use core::fmt;

/// A violation of one of the kernel's rules for the `func_info` and `line_info` of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InfoViolation {
    /// The records or the function.
    pub place: InfoPlace,
    /// The rule.
    pub rule: InfoRule,
}

/// The part of a program that violates a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InfoPlace {
    /// The `func_info` as a whole.
    FuncInfo,
    /// A record of the `func_info`, by its index.
    FuncInfoRecord(u32),
    /// The `line_info` as a whole.
    LineInfo,
    /// A record of the `line_info`, by its index.
    LineInfoRecord(u32),
    /// A function of the program. The first has the index 0. The name is empty without `func_info`.
    Function(Element),
}

impl InfoPlace {
    /// Returns whether the violation is one of the `line_info`.
    pub const fn is_line_info(&self) -> bool {
        matches!(self, Self::LineInfo | Self::LineInfoRecord(_))
    }
}

impl InfoViolation {
    /// Returns the words of the kernel's log, without values. `None` if the kernel logs nothing.
    pub const fn kernel_message(&self) -> Option<&'static str> {
        match (&self.rule, self.place.is_line_info()) {
            (InfoRule::RecordSize { .. }, true) => None,
            (rule, _) => Some(rule.kernel_message()),
        }
    }
}

impl fmt::Display for InfoViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.rule)
    }
}

impl fmt::Display for InfoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FuncInfo => f.write_str("func_info"),
            Self::FuncInfoRecord(index) => write!(f, "func_info record {index}"),
            Self::LineInfo => f.write_str("line_info"),
            Self::LineInfoRecord(index) => write!(f, "line_info record {index}"),
            Self::Function(function) => {
                write!(f, "function {}", function.index)?;
                if function.name().is_empty() {
                    return Ok(());
                }
                write!(f, " `{}`", function.name().shortened())
            }
        }
    }
}
