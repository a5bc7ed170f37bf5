//! The rules that the structure of a linked program breaks: its functions, its jumps.

use super::instructions::decoded;
use crate::kernel::{InsnRule, PROGRAM_FUNCTIONS};
use crate::linked_code::usize_of;
use core::ops::Range;
use core_relo::insn::{Flow, Insn};
use core_relo_object::link::{LinkedProgram, RefTarget};

/// Returns the rules that a program breaks, each with the first instruction that breaks it.
pub(super) fn broken_rules(code: &LinkedProgram) -> Vec<(u32, InsnRule)> {
    let mut broken = Vec::new();
    let (Ok(count), Ok(functions)) = (u32::try_from(code.insns.len()), u32::try_from(code.functions.len()))
    else {
        return broken;
    };
    if functions > PROGRAM_FUNCTIONS {
        broken.push((0, InsnRule::FunctionCount(functions)));
    }
    let functions: Vec<_> = function_ranges(code, count).collect();
    broken.extend(broken_jump(code, &functions));
    let ends = functions.iter().filter_map(|function| Some((function.end.checked_sub(1)?, function)));
    let falls = |last: u32| {
        let insn = code.insns.get(usize_of(last)).copied();
        insn.is_some_and(|insn| !matches!(insn.flow(), Flow::Exit | Flow::Jump(_) | Flow::Indirect))
            && !has_reference(code, last)
    };
    let fall = ends.filter(|(last, function)| !function.is_empty() && falls(*last));
    broken.extend(fall.map(|(last, _)| (last, InsnRule::FunctionEnd)).next());
    // The search for paths expects jumps that lead to instructions.
    if broken.is_empty() {
        broken.extend(unreachable(code).map(|insn| (insn, InsnRule::Unreachable)));
    }
    broken.extend(recursion(code, &functions).map(|insn| (insn, InsnRule::Recursion)));
    broken
}

/// Returns whether an instruction refers to something that the loader fills in. The linker has resolved the
/// references to functions.
pub(super) fn has_reference(code: &LinkedProgram, insn: u32) -> bool {
    let position = code.refs.binary_search_by_key(&insn, |(at, _)| *at).ok();
    let target = position.and_then(|position| code.refs.get(position)).map(|(_, target)| *target);
    target.is_some_and(|target| !matches!(target, RefTarget::Function { .. }))
}

/// Returns the instructions of each function, in order.
fn function_ranges(code: &LinkedProgram, count: u32) -> impl Iterator<Item = Range<u32>> {
    let ends = code.functions.iter().skip(1).map(|function| function.start).chain([count]);
    code.functions.iter().zip(ends).map(|(function, end)| function.start..end)
}

/// Returns the first jump that leads out of its function, or into a 64-bit load.
fn broken_jump(code: &LinkedProgram, functions: &[Range<u32>]) -> Option<(u32, InsnRule)> {
    let mut functions = functions.iter();
    let mut function = functions.next()?;
    let mut into_load = None;
    for (at, insn) in decoded(&code.insns) {
        while at >= function.end {
            function = functions.next()?;
        }
        let is_jump = matches!(insn.flow(), Flow::Jump(_) | Flow::Branch(_));
        if !is_jump {
            continue;
        }
        match insn.jump_target(at).filter(|target| function.contains(target)) {
            None => return Some((at, InsnRule::JumpOutOfRange)),
            Some(target) if into_load.is_none() && is_second_half(code, target) => {
                into_load = Some((at, InsnRule::JumpIntoLoad));
            }
            Some(_) => {}
        }
    }
    into_load
}

/// Returns whether an instruction is the second half of a 64-bit load. Only these have the opcode 0.
fn is_second_half(code: &LinkedProgram, at: u32) -> bool {
    let insn = |at: u32| code.insns.get(usize_of(at));
    insn(at).is_some_and(|second| second.code == 0)
        && at.checked_sub(1).and_then(insn).is_some_and(|first| first.is_ld_imm64())
}

/// Returns the first instruction to which no path leads (kernel: `check_cfg`).
fn unreachable(code: &LinkedProgram) -> Option<u32> {
    let count = code.insns.len();
    let mut is_visited = vec![false; count];
    let mut starts = vec![0u32];
    starts.extend(code.exception_callback);
    while let Some(start) = starts.pop() {
        let mut next = Some(start);
        while let Some(at) = next.take() {
            let (Some(visited), Some(insn)) =
                (is_visited.get_mut(usize_of(at)), code.insns.get(usize_of(at)))
            else {
                break;
            };
            if *visited {
                break;
            }
            *visited = true;
            let following = at.checked_add(1);
            next = match insn.flow() {
                Flow::Exit => None,
                Flow::Jump(_) => insn.jump_target(at),
                Flow::Branch(_) => {
                    starts.extend(insn.jump_target(at));
                    following
                }
                Flow::Next if insn.is_ld_imm64() => {
                    if insn.is_function_address() {
                        starts.extend(callee(*insn, at));
                    }
                    if let Some([_, second, ..]) = is_visited.get_mut(usize_of(at)..) {
                        *second = true;
                    }
                    at.checked_add(2)
                }
                Flow::Next => {
                    if insn.is_function_call() {
                        starts.extend(callee(*insn, at));
                    }
                    following
                }
                // Only the jump table of an indirect jump tells the targets.
                _ => return None,
            };
        }
    }
    let first = is_visited.iter().position(|visited| !visited)?;
    u32::try_from(first).ok()
}

/// Returns the first instruction of the function that an instruction refers to.
fn callee(insn: Insn, at: u32) -> Option<u32> {
    at.checked_add(1)?.checked_add_signed(insn.imm)
}

/// Returns a call that leads back to the function of one of its callers. Callbacks may refer to themselves.
fn recursion(code: &LinkedProgram, functions: &[Range<u32>]) -> Option<u32> {
    if functions.len() < 2 && !code.insns.iter().any(|insn| insn.is_function_call()) {
        return None;
    }
    let function_of = |at: u32| functions.partition_point(|function| function.start <= at).checked_sub(1);
    let mut calls: Vec<_> = decoded(&code.insns)
        .filter(|(at, insn)| insn.is_function_call() && !has_reference(code, *at))
        .filter_map(|(at, insn)| {
            let callee = callee(insn, at)?;
            let function = functions.binary_search_by_key(&callee, |function| function.start).ok()?;
            Some((function, function_of(at)?, at))
        })
        .collect();
    calls.sort_unstable();
    let mut open_calls = vec![0usize; functions.len()];
    for (_, caller, _) in &calls {
        if let Some(count) = open_calls.get_mut(*caller) {
            *count = count.checked_add(1)?;
        }
    }
    // A function whose calls all end does, too. The other functions call themselves, or one that does.
    let mut ending: Vec<_> = (0..functions.len()).filter(|f| open_calls.get(*f) == Some(&0)).collect();
    while let Some(function) = ending.pop() {
        let first = calls.partition_point(|(callee, ..)| *callee < function);
        let of_function = calls.get(first..)?.iter().take_while(|(callee, ..)| *callee == function);
        for (_, caller, _) in of_function {
            let count = open_calls.get_mut(*caller)?;
            *count = count.checked_sub(1)?;
            if *count == 0 {
                ending.push(*caller);
            }
        }
    }
    let is_open = |function: usize| open_calls.get(function).is_some_and(|count| *count != 0);
    let looping = calls.iter().filter(|(callee, caller, _)| is_open(*callee) && is_open(*caller));
    looping.map(|(.., at)| *at).min()
}
