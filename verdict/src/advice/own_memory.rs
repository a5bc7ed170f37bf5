//! Accesses to the program's own memory: its stack, its global variables, and what helpers hand out.

use crate::{limits, linked_code::usize_of};
use core_relo::insn::{Class, FRAME_POINTER, Helper, Insn, alu, opcode};
use core_relo_object::link::{LinkedProgram, RefTarget};

/// Returns whether an instruction accesses the program's own memory, or computes an address in it.
///
/// The search goes back over the instructions before the access, to the nearest that set its address,
/// whatever paths lead there. So the answer is a guess.
pub(super) fn is_own_memory(code: &LinkedProgram, at: u32) -> bool {
    base_register(&code.insns, at).is_some_and(|base| comes_from_own_memory(code, at, base))
}

/// Returns the register of the address to which an instruction with a CO-RE record adds the field's offset.
fn base_register(insns: &[Insn], at: u32) -> Option<u8> {
    let insn = insns.get(usize_of(at))?;
    match insn.class() {
        Class::Ldx => Some(insn.src),
        Class::St | Class::Stx => Some(insn.dst),
        // `r1 = OFFSET`, and then `r1 += BASE` or `BASE += r1`.
        Class::Alu64 if insn.operation() == alu::MOV && !insn.source_is_register() => {
            let next = insns.get(usize_of(at).checked_add(1)?..)?.iter().take(limits::OFFSET_USE_INSNS);
            let mut sums = next.filter(|next| {
                next.class() == Class::Alu64 && next.operation() == alu::ADD && next.source_is_register()
            });
            sums.find_map(|sum| match (sum.dst == insn.dst, sum.src == insn.dst) {
                (true, false) => Some(sum.src),
                (false, true) => Some(sum.dst),
                _ => None,
            })
        }
        // `BASE += OFFSET`.
        Class::Alu64 if insn.operation() == alu::ADD && !insn.source_is_register() => Some(insn.dst),
        _ => None,
    }
}

/// Returns whether the nearest instructions that set a register before an instruction give the register an
/// address in own memory.
fn comes_from_own_memory(code: &LinkedProgram, at: u32, mut register: u8) -> bool {
    if register == FRAME_POINTER {
        return true;
    }
    let starts = code.functions.iter().map(|copy| copy.start);
    let start = starts.filter(|start| *start <= at).max().unwrap_or(0);
    let before = (start..at).rev().take(limits::OWN_MEMORY_INSNS);
    for (index, insn) in before.filter_map(|index| Some((index, code.insns.get(usize_of(index))?))) {
        let sets_register = insn.dst == register;
        match insn.class() {
            Class::Alu64 if sets_register && insn.operation() == alu::MOV && insn.source_is_register() => {
                register = insn.src;
                if register == FRAME_POINTER {
                    return true;
                }
            }
            Class::Alu64 if sets_register && insn.operation() == alu::ADD && !insn.source_is_register() => {}
            Class::Ld if sets_register && insn.is_ld_imm64() => {
                let found = code.refs.binary_search_by_key(&index, |(at, _)| *at).ok();
                let target = found.and_then(|found| code.refs.get(found));
                return matches!(target, Some((_, RefTarget::Data { .. })));
            }
            Class::Jmp if insn.code == opcode::CALL && register <= 5 => {
                return register == 0 && insn.src == 0 && returns_own_memory(Helper::of_call(insn.imm));
            }
            Class::Alu | Class::Alu64 | Class::Ld | Class::Ldx if sets_register => return false,
            _ => {}
        }
    }
    false
}

/// Returns whether a helper returns the address of a map's value, or of a record of a ring buffer.
const fn returns_own_memory(helper: Helper) -> bool {
    use Helper as H;
    matches!(
        helper,
        H::MAP_LOOKUP_ELEM
            | H::GET_LOCAL_STORAGE
            | H::SK_STORAGE_GET
            | H::RINGBUF_RESERVE
            | H::INODE_STORAGE_GET
            | H::TASK_STORAGE_GET
            | H::MAP_LOOKUP_PERCPU_ELEM
            | H::CGRP_STORAGE_GET
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn insn(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Insn {
        Insn { code, dst, src, off, imm }
    }

    fn program(insns: &[Insn]) -> LinkedProgram {
        let mut code = LinkedProgram::default();
        code.insns = insns.to_vec();
        code
    }

    /// Returns whether the last instruction of a program accesses own memory.
    fn is_own(insns: &[Insn]) -> bool {
        let (at, _) = (0u32..).zip(insns).last().unwrap();
        is_own_memory(&program(insns), at)
    }

    #[test]
    fn the_address_is_followed_back_to_the_stack() {
        let store = insn(0x63, 2, 0, 4, 0);
        let (copy, add) = (insn(0xbf, 2, 10, 0, 0), insn(0x07, 2, 0, 0, -16));
        assert!(is_own(&[insn(0x63, 10, 0, -8, 0)]));
        assert!(is_own(&[copy, add, insn(0xb7, 1, 0, 0, 3), store]));
        assert!(!is_own(&[copy, insn(0x79, 2, 1, 0, 0), store]), "another value");
        assert!(!is_own(&[add, store]), "an argument");
    }

    #[test]
    fn the_address_is_followed_back_to_a_helper() {
        let (reserve, task) = (insn(0x85, 0, 0, 0, 131), insn(0x85, 0, 0, 0, 158));
        let (check, load) = (insn(0x15, 0, 0, 3, 0), insn(0x61, 1, 0, 8, 0));
        assert!(is_own(&[reserve, check, load]));
        assert!(is_own(&[reserve, insn(0xbf, 6, 0, 0, 0), task, insn(0x61, 1, 6, 8, 0)]));
        assert!(!is_own(&[reserve, task, load]));
        assert!(!is_own(&[reserve, insn(0x61, 1, 3, 8, 0)]), "a register that the call clears");
    }

    #[test]
    fn offsets_are_added_to_an_address() {
        let (offset, sum) = (insn(0xb7, 3, 0, 0, 8), insn(0x0f, 3, 2, 0, 0));
        assert!(is_own_memory(&program(&[insn(0xbf, 2, 10, 0, 0), offset, sum]), 1));
        assert!(!is_own_memory(&program(&[insn(0xbf, 2, 1, 0, 0), offset, sum]), 1));
    }
}
