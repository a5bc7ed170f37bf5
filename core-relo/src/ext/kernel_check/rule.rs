//! The rules, with the values that violate them and the words of the kernel's log.

use crate::TypeId;
use thiserror::Error;

/// A rule of the kernel for the `func_info` and `line_info` of a program, with the values that violate it.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InfoRule {
    /// The size of the records.
    #[error("the records have {found} bytes, expected at least {at_least}, at most 252, and a multiple of 4")]
    RecordSize {
        /// The size in bytes.
        found: u32,
        /// The size of the known fields.
        at_least: u32,
    },
    /// A record has a field that the kernel does not know, and that is not 0.
    #[error("the record has a value after its last field that the kernel knows")]
    RecordTail,
    /// The number of `func_info` records is not that of the program's functions.
    #[error("{found} records, expected {functions}, one for each function")]
    FunctionCount {
        /// The number of records.
        found: usize,
        /// The number of functions.
        functions: usize,
    },
    /// The first `func_info` record is not one of the first instruction.
    #[error("the first instruction of the function is {found}, expected 0 in the first record")]
    FirstFunction {
        /// The instruction.
        found: u32,
    },
    /// A `func_info` record does not follow its predecessor.
    #[error(
        "the first instruction of the function is {found}, expected more than {previous}, that of the record before"
    )]
    FunctionOrder {
        /// The instruction.
        found: u32,
        /// The instruction of the record before.
        previous: u32,
    },
    /// A `func_info` record is one of an instruction at which no function begins.
    #[error("the first instruction of the function is {found}, expected {start}")]
    FunctionStart {
        /// The instruction.
        found: u32,
        /// The first instruction of the function.
        start: u32,
    },
    /// The type of a `func_info` record is no FUNC.
    #[error("the type is [{found}], which is no FUNC")]
    FunctionType {
        /// The type.
        found: TypeId,
    },
    /// A function with `LD_ABS` or `LD_IND`, other than the first, returns neither an integer nor an enum.
    #[error(
        "it loads packet data (`LD_ABS`, `LD_IND`), expected a function that returns an integer or an enum"
    )]
    PacketLoad,
    /// A function with a tail call, other than the first, returns neither an integer nor an enum.
    #[error("it makes a tail call, expected a function that returns an integer or an enum")]
    TailCall,
    /// A function with `LD_ABS` or `LD_IND`, other than the first, in a program without `func_info`.
    #[error(
        "it loads packet data (`LD_ABS`, `LD_IND`), which is only allowed in functions with func_info, and in the first"
    )]
    PacketLoadWithoutInfo,
    /// A function with a tail call, other than the first, in a program without `func_info`.
    #[error("it makes a tail call, which is only allowed in functions with func_info, and in the first")]
    TailCallWithoutInfo,
    /// A `line_info` record does not follow its predecessor, or lies outside of the program.
    #[error("the instruction is {found}, expected {}less than {insns}", MoreThan(*previous))]
    LineOffset {
        /// The instruction.
        found: u32,
        /// The instruction of the record before.
        previous: Option<u32>,
        /// The number of instructions.
        insns: usize,
    },
    /// A `line_info` record is one of the second half of a 64-bit load.
    #[error("the instruction {found} is the second half of a 64-bit load")]
    LineInsn {
        /// The instruction.
        found: u32,
    },
    /// The file name or the text of a line lies outside of the strings.
    #[error(
        "the file name is at string offset {file} and the line at {text}, expected less than {string_bytes}"
    )]
    LineString {
        /// The offset of the file name.
        file: u32,
        /// The offset of the text.
        text: u32,
        /// The bytes of the strings.
        string_bytes: u32,
    },
    /// A function has no line at its first instruction.
    #[error(
        "function {function}, which begins at instruction {start}, has no record for its first instruction"
    )]
    LineOfFunction {
        /// The number of the function.
        function: usize,
        /// The first instruction of the function.
        start: u32,
    },
}

crate::debug_as_message!(InfoRule);

/// The lower bound in a message.
struct MoreThan(Option<u32>);

impl core::fmt::Display for MoreThan {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            Some(previous) => write!(f, "more than {previous}, and "),
            None => Ok(()),
        }
    }
}

impl InfoRule {
    /// Returns the words of the kernel's log, without values.
    pub(super) const fn kernel_message(&self) -> &'static str {
        match self {
            Self::RecordSize { .. } => "invalid func info rec size",
            Self::RecordTail => "nonzero tailing record in",
            Self::FunctionCount { .. } => "number of funcs in func_info doesn't match number of subprogs",
            Self::FirstFunction { .. } => "for the first func info record",
            Self::FunctionOrder { .. } => "than previous func info record",
            Self::FunctionStart { .. } => "func_info BTF section doesn't match subprog layout in BPF program",
            Self::FunctionType { .. } => "invalid type id",
            Self::PacketLoad => "LD_ABS is only allowed in functions that return 'int'",
            Self::TailCall => "tail_call is only allowed in functions that return 'int'",
            Self::PacketLoadWithoutInfo => "LD_ABS is not allowed in subprogs without BTF",
            Self::TailCallWithoutInfo => "tail_call is not allowed in subprogs without BTF",
            Self::LineOffset { .. } => ".insn_off:",
            Self::LineInsn { .. } => "Invalid insn code at line_info",
            Self::LineString { .. } => ".line_off or .file_name_off",
            Self::LineOfFunction { .. } => "missing bpf_line_info for",
        }
    }

    /// Returns whether a loader can send other records that do not violate the rule: fewer of them, or none.
    pub const fn is_repairable(&self) -> bool {
        !matches!(
            self,
            Self::PacketLoad | Self::TailCall | Self::PacketLoadWithoutInfo | Self::TailCallWithoutInfo
        )
    }
}
