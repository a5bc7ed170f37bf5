//! The instruction that uses a value which the compiler loads into a register early, such as the offset of a
//! member.

use crate::{
    Endian,
    index::InsnIndex,
    insn::{Class, FRAME_POINTER, Flow, INSN_BYTES, Insn, Slot, alu, jump},
};

/// The number of instructions that are followed.
const FOLLOWED_INSNS: usize = 32;

/// The register of a function's result.
const RESULT: u8 = 0;

/// A set of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Registers(u16);

impl Registers {
    const NONE: Self = Self(0);
    /// The registers that pass arguments.
    const ARGUMENTS: Self = Self(0b11_1110);
    /// The registers that a call changes: its result and arguments.
    const CALL: Self = Self(0b11_1111);

    fn one(register: u8) -> Self {
        Self(1u16.wrapping_shl(register.into()))
    }

    fn contains(self, register: u8) -> bool {
        self.intersects(Self::one(register))
    }

    fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// The effect of an instruction on the registers that hold a value or a sum with it.
enum Effect {
    /// The instruction uses the value: as an address, as an argument, in a comparison or by a store.
    Use,
    /// These registers hold it afterwards.
    Holds(Registers),
}

/// The instructions that take a value which the compiler loads early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ValueUses {
    /// The first instruction that adds the value to a register, or subtracts it.
    pub(crate) sum: Option<InsnIndex>,
    /// The first memory access, call or comparison with the value or with a sum of it, or the return of it.
    /// `None` if the value is lost or not used nearby.
    pub(crate) used: Option<InsnIndex>,
}

/// Finds the instructions that take the value which the instruction at `start` loads into a register. A jump
/// ends the search, because the code behind it may be shared, and counts as the use.
pub(crate) fn find_value_uses(endian: Endian, code: &[u8], start: InsnIndex) -> ValueUses {
    let mut uses = ValueUses::default();
    uses.used = follow(endian, code, start, &mut uses.sum);
    uses
}

/// Returns the use of the value, and notes the first sum on the way to it.
fn follow(endian: Endian, code: &[u8], start: InsnIndex, sum: &mut Option<InsnIndex>) -> Option<InsnIndex> {
    let load = Slot::decode(endian, code.get(start.index().checked_mul(INSN_BYTES)?..)?)?;
    let mut holds = Registers::one(load.first().dst);
    let mut index = next_index(start, load)?;
    for _ in 0..FOLLOWED_INSNS {
        let slot = Slot::decode(endian, code.get(index.index().checked_mul(INSN_BYTES)?..)?)?;
        let insn = slot.first();
        if sum.is_none() && is_pointer_sum(insn, holds) {
            *sum = Some(index);
        }
        match effect(insn, holds) {
            Effect::Use => return Some(index),
            Effect::Holds(Registers::NONE) => return None,
            Effect::Holds(registers) => holds = registers,
        }
        match insn.flow() {
            Flow::Next | Flow::Branch(_) => index = next_index(index, slot)?,
            Flow::Jump(_) | Flow::Indirect => return Some(index),
            Flow::Exit => return holds.contains(RESULT).then_some(index),
        }
    }
    None
}

fn next_index(index: InsnIndex, slot: Slot) -> Option<InsnIndex> {
    let slots = if slot.second().is_some() { 2 } else { 1 };
    index.0.checked_add(slots).map(InsnIndex)
}

fn effect(insn: Insn, holds: Registers) -> Effect {
    if is_use(insn, holds) {
        return Effect::Use;
    }
    let dst = Registers::one(insn.dst);
    let is_load = matches!(insn.class(), Class::Ld | Class::Ldx);
    let is_arithmetic = matches!(insn.class(), Class::Alu | Class::Alu64);
    Effect::Holds(if is_call(insn) {
        holds.without(Registers::CALL)
    } else if takes_value(insn, holds) {
        holds.with(dst)
    } else if is_load || is_arithmetic && is_move(insn) {
        holds.without(dst)
    } else {
        holds
    })
}

fn is_use(insn: Insn, holds: Registers) -> bool {
    let (holds_dst, holds_src) = (holds.contains(insn.dst), holds.contains(insn.src));
    match insn.class() {
        Class::Ldx => holds_src,
        Class::St => holds_dst,
        Class::Stx => holds_dst || holds_src && insn.dst != FRAME_POINTER,
        Class::Jmp if is_call(insn) => holds.intersects(Registers::ARGUMENTS),
        Class::Jmp | Class::Jmp32 => holds_dst || insn.source_is_register() && holds_src,
        Class::Ld | Class::Alu | Class::Alu64 => false,
    }
}

/// Returns whether an instruction adds a value to a pointer or subtracts it. The pointer may be added to the
/// register of the value instead.
fn is_pointer_sum(insn: Insn, holds: Registers) -> bool {
    insn.class() == Class::Alu64
        && insn.source_is_register()
        && match insn.operation() {
            alu::ADD => holds.contains(insn.src) || holds.contains(insn.dst),
            alu::SUB => holds.contains(insn.src),
            _ => false,
        }
}

/// Returns whether the result of an instruction depends on a value that it takes from its source register.
fn takes_value(insn: Insn, holds: Registers) -> bool {
    let is_arithmetic = matches!(insn.class(), Class::Alu | Class::Alu64);
    is_arithmetic && insn.source_is_register() && holds.contains(insn.src)
}

fn is_move(insn: Insn) -> bool {
    insn.operation() == alu::MOV
}

fn is_call(insn: Insn) -> bool {
    insn.class() == Class::Jmp && insn.operation() == jump::CALL
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const MOV_IMM: u8 = 0xb7;
    const MOV: u8 = 0xbf;
    const ADD: u8 = 0x0f;
    const SUB: u8 = 0x1f;
    const OR: u8 = 0x4f;
    const CALL: u8 = 0x85;
    const GOTO: u8 = 0x05;
    const EXIT: u8 = 0x95;
    const IF_EQUAL: u8 = 0x15;
    const LOAD: u8 = 0x79;
    const STORE: u8 = 0x7b;

    /// Returns the index of the use of a constant that instruction 0 loads into r1. Each instruction is an
    /// opcode and its registers.
    fn found(insns: &[(u8, u8, u8)]) -> Option<u32> {
        uses(insns).used.map(|index| index.0)
    }

    /// The same for both instructions that take the constant.
    fn uses(insns: &[(u8, u8, u8)]) -> ValueUses {
        let load = (MOV_IMM, 1, 0);
        let code: Vec<_> = core::iter::once(&load)
            .chain(insns)
            .flat_map(|(code, dst, src)| {
                Insn { code: *code, dst: *dst, src: *src, off: 0, imm: 0 }.encode(Endian::Little)
            })
            .collect();
        find_value_uses(Endian::Little, &code, InsnIndex(0))
    }

    #[test]
    fn an_offset_is_used_by_the_call_or_load_with_the_address() {
        let address = [(MOV, 3, 8), (ADD, 3, 1)];
        let call = [(MOV, 1, 10), (CALL, 0, 0)];
        assert_eq!(found(&[&address[..], &call].concat()), Some(4));
        assert_eq!(found(&[&address[..], &[(LOAD, 2, 3)]].concat()), Some(3));
        assert_eq!(found(&[&address[..], &[(STORE, 3, 2)]].concat()), Some(3));
        assert_eq!(found(&[(MOV, 6, 8), (ADD, 6, 1), (CALL, 0, 0), (LOAD, 2, 6)]), Some(3), "another call");
        assert_eq!(found(&[(IF_EQUAL, 2, 0), (IF_EQUAL, 1, 0)]), Some(2), "whether a field exists");
    }

    #[test]
    fn a_value_that_is_lost_has_no_use() {
        assert_eq!(found(&[(MOV_IMM, 1, 0), (CALL, 0, 0)]), None);
        assert_eq!(found(&[(STORE, 10, 1), (MOV, 1, 2), (CALL, 0, 0)]), None, "on the stack");
        assert_eq!(found(&[(MOV, 2, 3); 100]), None, "too far");
        assert_eq!(found(&[(EXIT, 0, 0)]), None);
        assert_eq!(found(&[(MOV, 0, 1), (EXIT, 0, 0)]), Some(2), "the result");
        assert_eq!(found(&[]), None, "the end of the code");
        assert_eq!(find_value_uses(Endian::Little, &[], InsnIndex(u32::MAX)), ValueUses::default());
    }

    /// The sum may have a line of its own, as in `container_of`, and its use may be far away or missing.
    #[test]
    fn the_first_sum_with_the_value_is_found_with_and_without_a_use() {
        let sum = |insns: &[(u8, u8, u8)]| uses(insns).sum.map(|index| index.0);
        assert_eq!(sum(&[(MOV, 3, 8), (ADD, 3, 1), (ADD, 4, 3), (LOAD, 2, 3)]), Some(2));
        assert_eq!(sum(&[(SUB, 8, 1), (MOV_IMM, 1, 0), (MOV_IMM, 8, 0)]), Some(1), "lost afterwards");
        assert_eq!(sum(&[(MOV, 3, 1), (LOAD, 2, 3), (ADD, 4, 3)]), None, "the value itself is used");
        assert_eq!(sum(&[(ADD, 1, 8), (MOV, 2, 1)]), Some(1), "the pointer is added to the value");
        assert_eq!(sum(&[(SUB, 1, 8), (MOV, 2, 1)]), None, "an offset minus a pointer");
        assert_eq!(sum(&[(ADD, 3, 4), (LOAD, 2, 1)]), None, "another sum");
        assert_eq!(sum(&[(OR, 3, 1), (STORE, 10, 3)]), None, "a bitfield is put together");
    }

    /// Calls at the end of two branches are merged into one.
    #[test]
    fn a_jump_to_shared_code_is_the_use() {
        assert_eq!(found(&[(ADD, 8, 1), (MOV, 1, 9), (GOTO, 0, 0), (CALL, 0, 0)]), Some(3));
    }
}
