//! The stack of a program.

use crate::{limits::CALL_FRAMES, linked_code::function_addresses};
use core_relo::insn::{Class, Insn, alu};
use core_relo_object::link::LinkedProgram;

/// The unit of a frame's size (kernel: `check_max_stack_depth`, before 6.8; then 16 for compiled programs).
const FRAME_UNIT: u32 = 32;

/// Returns the bytes of stack that the deepest chain of calls takes. The kernel allows 512. A callback counts
/// as a call.
pub(super) fn stack_bytes(code: &LinkedProgram) -> u32 {
    let starts: Vec<_> = code.functions.iter().map(|copy| copy.start).collect();
    let function_of = |insn: u32| starts.partition_point(|start| *start <= insn).checked_sub(1);
    // The last function ends with the program.
    let ends = starts.iter().skip(1).map(|end| Some(*end)).chain([None]);
    let mut insns = (0u32..).zip(&code.insns).peekable();
    let frames: Vec<_> = ends
        .take(starts.len())
        .map(|end| {
            let is_in_function = |(at, _): &(u32, &Insn)| end.is_none_or(|end| *at < end);
            let own = core::iter::from_fn(|| insns.next_if(is_in_function));
            frame_bytes(own.map(|(_, insn)| insn))
        })
        .collect();
    let calls = (0u32..).zip(&code.insns).filter_map(|(at, insn)| {
        let callee = at.checked_add(1)?.checked_add_signed(insn.imm);
        let callee = callee.filter(|_| insn.is_function_call())?;
        Some((at, callee))
    });
    let mut edges: Vec<_> = calls
        .chain(function_addresses(code))
        .filter_map(|(at, callee)| Some((function_of(at)?, starts.binary_search(&callee).ok()?)))
        .collect();
    edges.sort_unstable();
    edges.dedup();
    // A chain has at most `CALL_FRAMES` frames, so recursion ends.
    let mut deepest = frames.clone();
    for _ in 1..CALL_FRAMES {
        let mut longer = frames.clone();
        for (caller, callee) in &edges {
            let (Some(own), Some(below)) = (frames.get(*caller), deepest.get(*callee)) else { continue };
            let total = own.saturating_add(*below);
            if let Some(longest) = longer.get_mut(*caller) {
                *longest = total.max(*longest);
            }
        }
        deepest = longer;
    }
    deepest.first().copied().unwrap_or(0)
}

/// Returns the size of a function's frame: the lowest address on the stack that an instruction uses or
/// computes.
fn frame_bytes<'i>(insns: impl IntoIterator<Item = &'i Insn>) -> u32 {
    let (mut lowest, mut offsets) = (0i32, [None; 11]);
    let mut is_second_half = false;
    for insn in insns {
        if is_second_half {
            is_second_half = false;
            continue;
        }
        is_second_half = insn.is_ld_imm64();
        // The last register, r10, points to the end of the frame.
        let [.., frame_pointer] = &mut offsets;
        *frame_pointer = Some(0i32);
        let offset_of = |register: u8| offsets.get(usize::from(register)).copied().flatten();
        let (base, result) = match insn.class() {
            Class::Ldx => (offset_of(insn.src), Some(None)),
            Class::St | Class::Stx => (offset_of(insn.dst), None),
            Class::Alu64 if insn.source_is_register() && insn.operation() == alu::MOV && insn.off == 0 => {
                (None, Some(offset_of(insn.src)))
            }
            Class::Alu64 if !insn.source_is_register() && insn.operation() == alu::ADD => {
                let sum = offset_of(insn.dst).and_then(|offset| offset.checked_add(insn.imm));
                lowest = lowest.min(sum.unwrap_or(0));
                (None, Some(sum))
            }
            Class::Ld | Class::Alu | Class::Alu64 => (None, Some(None)),
            // Where paths meet, a register may hold something else.
            Class::Jmp | Class::Jmp32 => {
                offsets = [None; 11];
                continue;
            }
        };
        let address = base.and_then(|offset| offset.checked_add(insn.off.into()));
        lowest = lowest.min(address.unwrap_or(0));
        if let (Some(result), Some(place)) = (result, offsets.get_mut(usize::from(insn.dst))) {
            *place = result;
        }
    }
    lowest.unsigned_abs().max(1).next_multiple_of(FRAME_UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insn(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> Insn {
        Insn { code, dst, src, off, imm }
    }

    #[test]
    fn frames_reach_to_the_lowest_address() {
        // *(u64 *)(r10 - 40) = r1
        assert_eq!(frame_bytes(&[insn(0x7b, 10, 1, -40, 0)]), 64);
        // r2 = r10; r2 += -100
        assert_eq!(frame_bytes(&[insn(0xbf, 2, 10, 0, 0), insn(0x07, 2, 0, 0, -100)]), 128);
        // r2 = r10; r2 += -8; r3 = *(u8 *)(r2 - 60)
        let insns = [insn(0xbf, 2, 10, 0, 0), insn(0x07, 2, 0, 0, -8), insn(0x71, 3, 2, -60, 0)];
        assert_eq!(frame_bytes(&insns), 96);
        // The pointer is lost, and so is its use.
        let insns = [insn(0xbf, 2, 10, 0, 0), insn(0xb7, 2, 0, 0, 0), insn(0x71, 3, 2, -60, 0)];
        assert_eq!(frame_bytes(&insns), 32);
        assert_eq!(frame_bytes(&[]), 32);
    }
}
