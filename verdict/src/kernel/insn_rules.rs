//! The rules for the encoding of instructions and the structure of programs, observed on real kernels.
//!
//! Every instruction with each value of each field was loaded on the kernels of `OBSERVED_KERNELS` and on
//! 6.18: on the only path of a program, and in dead code. The kernels agree on what they refuse. They differ
//! in what they look at: 7.2 checks the fields of all instructions before it follows any path (kernel:
//! `check_insn_fields`), older ones most fields of those that they reach.

use super::{
    answer::{Answer, Evidence, EvidenceSource},
    facts::KernelFacts,
    fixed_names::Enum,
    mark::{Mark, MarkPresence},
    observed::Observations,
    observed_kernels::OBSERVED_KERNELS,
};
use core::fmt;
use core_relo_object::object::ProgramType;

/// A rule for instructions that every kernel since 5.10 has, and that an instruction breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the judge acts on each")]
pub enum InsnRule {
    /// No known kernel has an instruction with this opcode.
    Opcode(u8),
    /// The programs of the instruction set have no register of this number.
    Register(u8),
    /// The instruction has no use for this value of a field.
    Field {
        /// The opcode.
        code: u8,
        /// The field.
        field: InsnField,
        /// The value.
        value: i32,
    },
    /// The second half of a 64-bit load has a code, registers or an offset.
    SecondHalf,
    /// No known kernel loads the address of something that this source register of a 64-bit load stands for.
    LoadSource(u8),
    /// No known kernel has this atomic operation for the width.
    AtomicOperation(i32),
    /// A shift by a negative constant, or by the width or more.
    Shift(i32),
    /// A division or a remainder by the constant 0.
    DivisionByZero,
    /// A write to r10.
    FramePointer,
    /// A load of packet data in a program of a type that has none.
    PacketLoad(ProgramType),
    /// A jump leads out of its function.
    JumpOutOfRange,
    /// A jump leads to the second half of a 64-bit load.
    JumpIntoLoad,
    /// A function ends with an instruction after which the next one runs.
    FunctionEnd,
    /// No path leads to the instruction, whatever the branches depend on.
    Unreachable,
    /// A function calls itself, or one of its callers.
    Recursion,
    /// The program has too many functions.
    FunctionCount(u32),
}

/// A field of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "the format of instructions is fixed")]
pub enum InsnField {
    /// The destination register.
    Destination,
    /// The source register.
    Source,
    /// The offset.
    Offset,
    /// The immediate.
    Immediate,
}

impl fmt::Display for InsnField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Destination => "destination register",
            Self::Source => "source register",
            Self::Offset => "offset",
            Self::Immediate => "immediate",
        })
    }
}

/// The most functions of a program (kernel: `BPF_MAX_SUBPROGS`).
pub(crate) const PROGRAM_FUNCTIONS: u32 = 256;

impl fmt::Display for InsnRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Opcode(code) => write!(f, "opcode {code:#04x} is no instruction"),
            Self::Register(register) => write!(f, "register {register} does not exist"),
            Self::Field { code, field, value } => {
                write!(f, "{field} {value} has no meaning in an instruction with opcode {code:#04x}")
            }
            Self::SecondHalf => {
                f.write_str("the second half of a 64-bit load has a code, registers or an offset")
            }
            Self::LoadSource(register) => {
                write!(f, "source register {register} has no meaning in a 64-bit load")
            }
            Self::AtomicOperation(operation) => {
                write!(f, "immediate {operation:#x} is no atomic operation of this width")
            }
            Self::Shift(bits) => write!(f, "a shift by {bits} bits, the width of the register or more"),
            Self::DivisionByZero => f.write_str("a division by zero"),
            Self::FramePointer => f.write_str("a write to r10, the frame pointer"),
            Self::PacketLoad(program_type) => {
                write!(
                    f,
                    "programs of type {program_type} may not load packet data with BPF_LD_ABS or BPF_LD_IND"
                )
            }
            Self::JumpOutOfRange => f.write_str("a jump leads out of its function"),
            Self::JumpIntoLoad => f.write_str("a jump leads to the second half of a 64-bit load"),
            Self::FunctionEnd => f.write_str("a function ends without an exit or a jump"),
            Self::Unreachable => f.write_str("an instruction is unreachable"),
            Self::Recursion => f.write_str("a function calls itself, or one of its callers"),
            Self::FunctionCount(count) => {
                write!(f, "the program has {count} functions, expected at most {PROGRAM_FUNCTIONS}")
            }
        }
    }
}

/// A mark of kernels after 6.18.
const SINCE_6_19: Mark = Mark::Enumerator(Enum::bpf_map_type, "BPF_MAP_TYPE_INSN_ARRAY");

const YES: Option<bool> = Some(true);
const NO: Option<bool> = Some(false);

/// What each observed kernel does.
type Row = [Option<bool>; OBSERVED_KERNELS.len()];

/// The memory mode of stores (kernel: `BPF_STX | BPF_MEM`), without the size.
const STORE: u8 = 0x63;
const LOAD: u8 = 0x61;
const SIGNED_LOAD: u8 = 0x81;
const SIZE: u8 = 0x18;

impl InsnRule {
    /// Returns whether each observed kernel refuses the instruction in dead code, too.
    const fn refused_in_dead_code(self) -> Row {
        match self {
            Self::Opcode(_)
            | Self::SecondHalf
            | Self::LoadSource(_)
            | Self::JumpOutOfRange
            | Self::FunctionEnd
            | Self::Unreachable
            | Self::Recursion
            | Self::FunctionCount(_) => [YES; 4],
            Self::JumpIntoLoad => [NO, YES, YES, YES],
            Self::Field { code, field: InsnField::Immediate, .. } => match code & !SIZE {
                LOAD | SIGNED_LOAD => [YES; 4],
                STORE => [YES, NO, NO, YES],
                _ => [NO, NO, NO, YES],
            },
            Self::Field { .. } | Self::Register(_) => [NO, NO, NO, YES],
            Self::AtomicOperation(_) => [YES, NO, NO, NO],
            Self::Shift(_) | Self::DivisionByZero | Self::FramePointer | Self::PacketLoad(_) => [NO; 4],
        }
    }

    /// Returns whether each observed kernel accepts the instruction on some path.
    const fn accepted(self) -> Row {
        match self {
            Self::JumpIntoLoad => [YES, NO, NO, NO],
            _ => [NO; 4],
        }
    }

    /// Returns whether a future kernel may give the encoding a meaning.
    const fn may_change(self) -> bool {
        !matches!(
            self,
            Self::DivisionByZero
                | Self::FramePointer
                | Self::Shift(_)
                | Self::JumpOutOfRange
                | Self::FunctionEnd
                | Self::Unreachable
        )
    }
}

impl KernelFacts<'_> {
    /// Answers whether the kernel accepts an instruction that breaks a rule.
    pub fn insn_rule(&self, rule: InsnRule) -> Answer {
        let evidence =
            || Evidence { source: EvidenceSource::Object, text: "every kernel has the same rule".to_owned() };
        if !rule.may_change() {
            return Answer::Absent(evidence());
        }
        let row = rule.accepted();
        let observations = Observations::new(|kernel| row.get(kernel).copied().flatten());
        match self.answer_observed(observations, "accept such instructions", Answer::Present(evidence())) {
            // The analysis follows no path into a load.
            Answer::Present(_) => Answer::Unknown("this kernel refuses it if a path leads there".to_owned()),
            answer => answer,
        }
    }

    /// Returns the observations for the kernel where 6.18 was observed to do what 6.12 does: kernels up to
    /// 6.18 do the same.
    pub(super) fn without_later(&self, row: Row) -> Row {
        let [oldest, older, before, newest] = row;
        let is_older = before != newest && self.find_mark(SINCE_6_19) == MarkPresence::Missing;
        if is_older { [oldest, older, before, before] } else { row }
    }

    /// Answers whether the kernel refuses an instruction that breaks a rule in dead code, too.
    pub(crate) fn refuses_dead_code(&self, rule: InsnRule) -> Answer {
        let row = self.without_later(rule.refused_in_dead_code());
        let observations = Observations::new(|kernel| row.get(kernel).copied().flatten());
        let text = "kernels like this one check all instructions".to_owned();
        let refused = Answer::Present(Evidence { source: EvidenceSource::Version, text });
        match observations.is_same() {
            Some(true) => refused,
            Some(false) => Answer::Absent(Evidence {
                source: EvidenceSource::Object,
                text: "no kernel checks this in dead code".to_owned(),
            }),
            None => self.answer_observed(observations, "refuse such instructions in dead code", refused),
        }
    }
}
