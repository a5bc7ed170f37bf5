//! The rules that the encoding of a single instruction breaks.

use super::instructions::{STACK_ARGUMENTS, uses_stack_argument};
use crate::kernel::{InsnField, InsnRule};
use core_relo::insn::{Class, FRAME_POINTER, Insn, alu, atomic, mode, opcode, pseudo};
use core_relo_object::object::ProgramType;

/// The last of the source registers of a 64-bit load that stand for an address.
const LAST_LOAD_SOURCE: u8 = pseudo::MAP_IDX_VALUE;

/// The last of the source registers of calls: helpers, functions of the program, kfuncs.
const LAST_CALL_SOURCE: u8 = pseudo::KFUNC_CALL;

/// The part of an instruction that the object leaves to the loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeftToLoader {
    /// The loader sets the source register, and the offset or the immediate.
    pub(super) has_reference: bool,
    /// A CO-RE relocation sets the offset or the immediate.
    pub(super) has_relocation: bool,
}

/// Returns whether an instruction is one of the usual ones and breaks no rule, whatever the object leaves to
/// the loader.
pub(super) const fn is_usual(insn: Insn) -> bool {
    let Insn { code, dst, src, off, imm } = insn;
    match code {
        // Calls.
        opcode::CALL => dst == 0 && src <= LAST_CALL_SOURCE && off == 0,
        // Loads and stores of registers.
        0x61 | 0x69 | 0x71 | 0x79 => dst < FRAME_POINTER && src <= FRAME_POINTER && imm == 0,
        0x63 | 0x6b | 0x73 | 0x7b => dst <= FRAME_POINTER && src <= FRAME_POINTER && imm == 0,
        // `+=` and `=` with a constant, and with a register.
        0x04 | 0x07 | 0xb4 | 0xb7 => dst < FRAME_POINTER && src == 0 && off == 0,
        0x0c | 0x0f | 0xbc | 0xbf => dst < FRAME_POINTER && src <= FRAME_POINTER && off == 0 && imm == 0,
        // Jumps, and comparisons for equality.
        opcode::JUMP => dst == 0 && src == 0 && imm == 0,
        0x15 | 0x55 => dst <= FRAME_POINTER && src == 0,
        _ => false,
    }
}

/// Returns the rule that an instruction breaks. `second` is the second half of a 64-bit load.
pub(super) fn broken_rule(
    insn: Insn,
    second: Option<Insn>,
    left: LeftToLoader,
    program_type: Option<ProgramType>,
) -> Option<InsnRule> {
    let Insn { code, dst, src, off, imm } = insn;
    let operation = insn.operation();
    let by_register = insn.source_is_register();
    if !is_known(insn) {
        return Some(InsnRule::Opcode(code));
    }
    let field = |field, value| Some(InsnRule::Field { code, field, value });
    let unused_dst = || field(InsnField::Destination, dst.into()).filter(|_| dst != 0);
    let unused_src = || field(InsnField::Source, src.into()).filter(|_| src != 0 && !left.has_reference);
    let unused_off = || field(InsnField::Offset, off.into()).filter(|_| off != 0 && !left.has_reference);
    let unused_imm = || field(InsnField::Immediate, imm).filter(|_| imm != 0);
    let by_field = match insn.class() {
        Class::Ld if insn.is_ld_imm64() => {
            let is_second = |second: Insn| second == Insn { imm: second.imm, ..Insn::default() };
            if second.is_some_and(|second| !is_second(second)) {
                Some(InsnRule::SecondHalf)
            } else if src > LAST_LOAD_SOURCE && !left.has_reference {
                Some(InsnRule::LoadSource(src))
            } else {
                unused_off()
            }
        }
        Class::Ld => {
            let source = if insn.mode() == mode::ABS { unused_src() } else { None };
            unused_dst().or(source).or_else(unused_off)
        }
        Class::Ldx => unused_imm(),
        Class::St => unused_src(),
        Class::Stx if insn.mode() == mode::MEM => unused_imm(),
        Class::Stx => None,
        Class::Alu | Class::Alu64 => match operation {
            alu::NEG => unused_src().or_else(unused_off).or_else(unused_imm),
            alu::END => {
                let width = field(InsnField::Immediate, imm).filter(|_| !matches!(imm, 16 | 32 | 64));
                unused_src().or_else(unused_off).or(width)
            }
            alu::MOV if by_register => move_rule(insn),
            _ => {
                let is_signed = off == 1 && matches!(operation, alu::DIV | alu::MOD);
                let other = if by_register { unused_imm() } else { unused_src() };
                unused_off().filter(|_| !is_signed).or(other)
            }
        },
        Class::Jmp | Class::Jmp32 => match code {
            opcode::LONG_JUMP => unused_dst().or_else(unused_src).or_else(unused_off),
            opcode::INDIRECT_JUMP => unused_src().or_else(unused_off).or_else(unused_imm),
            opcode::CALL => {
                let is_source = left.has_reference || src <= LAST_CALL_SOURCE;
                let source = field(InsnField::Source, src.into()).filter(|_| !is_source);
                let offset = if src == LAST_CALL_SOURCE { None } else { unused_off() };
                unused_dst().or(source).or(offset)
            }
            opcode::JUMP | opcode::EXIT | opcode::MAY_GOTO => {
                unused_dst().or_else(unused_src).or_else(unused_imm)
            }
            _ if by_register => unused_imm(),
            _ => unused_src(),
        },
    };
    let relocated = |rule: &InsnRule| left.has_relocation && depends_on_relocation(*rule);
    // The rules that more kernels check in dead code come first.
    let is_operation = insn.class() != Class::Stx || insn.mode() == mode::MEM || is_atomic(insn);
    let operation = (!is_operation).then_some(InsnRule::AtomicOperation(imm));
    by_field.or_else(|| operand_rule(insn, program_type)).or(operation).filter(|rule| !relocated(rule))
}

/// Returns whether a CO-RE relocation may change what breaks the rule.
const fn depends_on_relocation(rule: InsnRule) -> bool {
    matches!(
        rule,
        InsnRule::Shift(_)
            | InsnRule::DivisionByZero
            | InsnRule::Field { field: InsnField::Immediate | InsnField::Offset, .. }
    )
}

/// Returns whether some known kernel has an instruction with the opcode.
const fn is_known(insn: Insn) -> bool {
    let (mode, operation) = (insn.mode(), insn.operation());
    let by_register = insn.source_is_register();
    match insn.class() {
        Class::Ld => insn.is_ld_imm64() || (matches!(mode, mode::ABS | mode::IND) && insn.access_bytes() < 8),
        Class::Ldx => mode == mode::MEM || (mode == mode::MEMSX && insn.access_bytes() < 8),
        Class::St => mode == mode::MEM,
        Class::Stx => matches!(mode, mode::MEM | mode::ATOMIC),
        Class::Alu => match operation {
            alu::NEG => !by_register,
            _ => operation <= alu::END,
        },
        Class::Alu64 => match operation {
            alu::NEG | alu::END => !by_register,
            _ => operation < alu::END,
        },
        Class::Jmp => match insn.code {
            opcode::JUMP | opcode::INDIRECT_JUMP | opcode::CALL | opcode::EXIT | opcode::MAY_GOTO => true,
            _ => insn.is_comparison(),
        },
        Class::Jmp32 => insn.code == opcode::LONG_JUMP || insn.is_comparison(),
    }
}

/// Returns whether some known kernel has the atomic operation.
const fn is_atomic(insn: Insn) -> bool {
    match insn.imm {
        atomic::LOAD_ACQUIRE | atomic::STORE_RELEASE => true,
        // add, or, and, xor, each with or without fetch; exchange, compare and exchange.
        0x00 | 0x01 | 0x40 | 0x41 | 0x50 | 0x51 | 0xa0 | 0xa1 | 0xe1 | 0xf1 => insn.access_bytes() >= 4,
        _ => false,
    }
}

/// Returns the rule that a move from a register breaks.
fn move_rule(insn: Insn) -> Option<InsnRule> {
    let Insn { code, off, imm, .. } = insn;
    let is_wide = insn.class() == Class::Alu64;
    let (is_offset, is_immediate) = match off {
        0 | 8 | 16 => (true, imm == 0),
        32 => (is_wide, imm == 0),
        // Casts between address spaces.
        1 => (is_wide, matches!(imm, 1 | 0x10000)),
        _ => (false, true),
    };
    match (is_offset, is_immediate) {
        (false, _) => Some(InsnRule::Field { code, field: InsnField::Offset, value: off.into() }),
        (_, false) => Some(InsnRule::Field { code, field: InsnField::Immediate, value: imm }),
        _ => None,
    }
}

/// Returns the rule for registers and constants that an instruction breaks.
fn operand_rule(insn: Insn, program_type: Option<ProgramType>) -> Option<InsnRule> {
    let Insn { code, dst, src, imm, .. } = insn;
    // The source of a 64-bit load and of a call is no register.
    let source = if insn.is_ld_imm64() || code == opcode::CALL { 0 } else { src };
    let is_argument = |register: u8| register == STACK_ARGUMENTS && uses_stack_argument(insn);
    // The argument is the source of a load, and the destination of a store.
    let (argument, other) = if insn.class() == Class::Ldx { (source, dst) } else { (dst, source) };
    let missing = [argument, other].into_iter().find(|register| *register > FRAME_POINTER);
    if let Some(register) = missing
        && (other > FRAME_POINTER || !is_argument(argument))
    {
        return Some(InsnRule::Register(register));
    }
    let by_constant = !insn.source_is_register();
    let width = if insn.class() == Class::Alu64 { 64 } else { 32 };
    match insn.class() {
        Class::Ld if !insn.is_ld_imm64() => {
            let has_packet = |of: &ProgramType| {
                matches!(of, ProgramType::SocketFilter | ProgramType::SchedCls | ProgramType::SchedAct)
            };
            return program_type.filter(|of| !has_packet(of)).map(InsnRule::PacketLoad);
        }
        Class::Alu | Class::Alu64 if by_constant => match insn.operation() {
            alu::LSH | alu::RSH | alu::ARSH if !(0..width).contains(&imm) => {
                return Some(InsnRule::Shift(imm));
            }
            alu::DIV | alu::MOD if imm == 0 => return Some(InsnRule::DivisionByZero),
            _ => {}
        },
        _ => {}
    }
    let writes = match insn.class() {
        Class::Ld | Class::Ldx | Class::Alu | Class::Alu64 => dst == FRAME_POINTER,
        // Operations that fetch return the old value in the source register.
        Class::Stx if insn.mode() == mode::ATOMIC => match imm {
            atomic::COMPARE_EXCHANGE | atomic::STORE_RELEASE => false,
            atomic::LOAD_ACQUIRE => dst == FRAME_POINTER,
            _ => imm & atomic::FETCH != 0 && src == FRAME_POINTER,
        },
        Class::St | Class::Stx | Class::Jmp | Class::Jmp32 => false,
    };
    writes.then_some(InsnRule::FramePointer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_instructions_break_no_rule() {
        let mut usual_count = 0;
        let registers = (0..=12u8).flat_map(|dst| (0..=12u8).map(move |src| (dst, src)));
        let constants = [0, 1, -1].into_iter().flat_map(|off| [0, 1, -1, 64].map(|imm| (off, imm)));
        for code in 0..=u8::MAX {
            for ((dst, src), (off, imm)) in
                registers.clone().flat_map(|of| constants.clone().map(move |rest| (of, rest)))
            {
                let insn = Insn { code, dst, src, off, imm };
                if !is_usual(insn) {
                    continue;
                }
                usual_count += 1;
                for has_reference in [false, true] {
                    let left = LeftToLoader { has_reference, has_relocation: has_reference };
                    let rule = broken_rule(insn, None, left, Some(ProgramType::Xdp));
                    assert_eq!(rule, None, "{insn:?}");
                }
            }
        }
        assert!(usual_count > 1000, "{usual_count}");
    }
}
