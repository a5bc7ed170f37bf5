//! The calls and jumps of a program.

use crate::linked_code::{function_addresses, usize_of};
use core_relo::insn::{Class, Insn, jump};
use core_relo_object::link::LinkedProgram;
use hashbrown::HashSet;

/// Returns, for each instruction, whether a later instruction jumps to the instruction.
pub(super) fn loop_heads(insns: &[Insn]) -> Vec<bool> {
    let mut heads = vec![false; insns.len()];
    for (at, insn) in (0u32..).zip(insns) {
        if let Some(target) = jump_target(at, *insn).filter(|target| *target <= at)
            && let Some(head) = heads.get_mut(usize_of(target))
        {
            *head = true;
        }
    }
    heads
}

/// Returns the first instructions of functions that are called by later code or by the kernel.
pub(super) fn hidden_callees(code: &LinkedProgram) -> HashSet<u32> {
    let calls = (0u32..).zip(&code.insns);
    let later = calls.filter_map(|(at, insn)| callee(at, *insn).filter(|start| *start <= at));
    later.chain(function_addresses(code).map(|(_, start)| start)).collect()
}

/// Returns the first instruction of the function that an instruction calls.
pub(super) fn callee(at: u32, insn: Insn) -> Option<u32> {
    if !insn.is_function_call() {
        return None;
    }
    at.checked_add(1)?.checked_add_signed(insn.imm)
}

pub(super) fn jump_target(at: u32, insn: Insn) -> Option<u32> {
    let distance = match (insn.class(), insn.operation()) {
        (Class::Jmp | Class::Jmp32, jump::CALL | jump::EXIT) => return None,
        (Class::Jmp32, jump::JA) => insn.imm,
        (Class::Jmp | Class::Jmp32, _) => insn.off.into(),
        _ => return None,
    };
    at.checked_add(1)?.checked_add_signed(distance)
}
