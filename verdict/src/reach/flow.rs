//! The control flow of a program: successors, join points, live registers.

use super::call::CallbackHelper;
use super::program::{ITERATOR_NEXT, Program};
use crate::limits::LIVENESS_PASSES;
use core::ops::Range;
use core_relo::insn::{Class, FRAME_POINTER, Insn, alu, jump, mode, opcode, pseudo};

/// The numbers that a helper may have. Higher immediates mark poisoned calls.
const HELPERS: core::ops::RangeInclusive<i32> = 0..=0xffff;

/// All registers, as a set of live registers.
const ALL_LIVE: u16 = 0x7ff;

/// The registers that a call writes: r0 to r5.
const CALL_WRITES: u16 = 0x3f;

/// The arguments of a call: r1 to r5.
const ARGUMENTS: u16 = 0x3e;

/// The transfer of control after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transfer {
    /// To the next instruction.
    Following,
    /// To the instruction after the second slot of an `ld_imm64`.
    AfterLoad,
    /// To another instruction.
    Jump(u32),
    /// To another instruction or to the next one.
    Branch(u32),
    /// To a function of the program, then to the next instruction.
    Call(u32),
    /// To any instruction of the function: an indirect jump.
    Indirect,
    /// To the caller.
    Exit,
    /// None: the verifier refuses the instruction.
    Refused,
}

/// Converts an instruction's index. An index that fits no `usize` lies past every slice.
pub(super) fn index(insn: u32) -> usize {
    usize::try_from(insn).unwrap_or(usize::MAX)
}

/// Returns the transfer of control after an instruction.
pub(super) fn transfer(insn: Insn, pc: u32) -> Transfer {
    let relative = |offset: i32| pc.checked_add(1).and_then(|next| next.checked_add_signed(offset));
    let near = relative(i32::from(insn.off));
    let (class, mode, operation) = (insn.class(), insn.mode(), insn.operation());
    let writes = matches!(class, Class::Ld | Class::Ldx | Class::Alu | Class::Alu64);
    if insn.dst > FRAME_POINTER || insn.src > FRAME_POINTER || (writes && insn.dst == FRAME_POINTER) {
        return Transfer::Refused;
    }
    match (class, operation) {
        (Class::Ld, _) if insn.is_ld_imm64() => Transfer::AfterLoad,
        // Loads of packet data.
        (Class::Ld, _) if matches!(mode, mode::ABS | mode::IND) => Transfer::Following,
        (Class::Ldx, _) if matches!(mode, mode::MEM | mode::MEMSX) => Transfer::Following,
        (Class::St, _) if mode == mode::MEM => Transfer::Following,
        (Class::Stx, _) if matches!(mode, mode::MEM | mode::ATOMIC) => Transfer::Following,
        (Class::Alu | Class::Alu64, alu::ADD..=alu::END) => Transfer::Following,
        (Class::Jmp, _) if insn.code == opcode::INDIRECT_JUMP => Transfer::Indirect,
        (Class::Jmp, jump::JA) => near.map_or(Transfer::Refused, Transfer::Jump),
        (Class::Jmp32, jump::JA) => relative(insn.imm).map_or(Transfer::Refused, Transfer::Jump),
        (Class::Jmp, _) if insn.code == opcode::CALL => match insn.src {
            0 if HELPERS.contains(&insn.imm) => Transfer::Following,
            pseudo::CALL => relative(insn.imm).map_or(Transfer::Refused, Transfer::Call),
            pseudo::KFUNC_CALL => Transfer::Following,
            _ => Transfer::Refused,
        },
        (Class::Jmp, jump::EXIT) => Transfer::Exit,
        (Class::Jmp, jump::JCOND) => near.map_or(Transfer::Refused, Transfer::Branch),
        _ if insn.is_comparison() => near.map_or(Transfer::Refused, Transfer::Branch),
        _ => Transfer::Refused,
    }
}

/// Returns whether the verifier forgets numbers that differ from an earlier visit to the instruction:
/// `may_goto`, and calls that take the next element of an iterator (kernel: `widen_imprecise_scalars`).
pub(super) fn widens_numbers(insn: Insn) -> bool {
    match insn.code {
        opcode::CALL => insn.src == pseudo::KFUNC_CALL && insn.imm == ITERATOR_NEXT,
        opcode::MAY_GOTO => true,
        _ => false,
    }
}

/// The control flow of a program.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) functions: Vec<FunctionFlow>,
    /// For each instruction, the number of the join point in its function; `None` elsewhere.
    ///
    /// A join point is an instruction that several paths may lead to.
    joins: Vec<Option<u32>>,
    /// For each instruction, the set of registers that are read later.
    live: Vec<u16>,
}

/// A function's part of the control flow.
#[derive(Clone, Debug)]
pub(super) struct FunctionFlow {
    pub(super) insns: Range<u32>,
    pub(super) is_global: bool,
    pub(super) join_count: u32,
}

impl Flow {
    pub(super) fn new(program: &Program<'_>) -> Self {
        let count = u32::try_from(program.insns.len()).unwrap_or(u32::MAX);
        let ends = program.functions.iter().skip(1).map(|function| function.start).chain([count]);
        let functions = program.functions.iter().zip(ends).map(|(function, end)| FunctionFlow {
            insns: function.start..end.min(count),
            is_global: function.is_global,
            join_count: 0,
        });
        let functions = functions.collect();
        let joins = vec![None; program.insns.len()];
        let mut flow = Self { functions, joins, live: live_registers(program.insns) };
        flow.find_joins(program.insns);
        flow
    }

    /// Finds the targets of jumps, the returns of calls, and the instructions at which the verifier widens
    /// numbers.
    fn find_joins(&mut self, insns: &[Insn]) {
        let mut mark = |insn: u32| {
            if let Some(join) = self.joins.get_mut(index(insn)) {
                *join = Some(0);
            }
        };
        let mut last_marked = None;
        for (insn, pc) in insns.iter().zip(0..) {
            if widens_numbers(*insn) {
                mark(pc);
            }
            match transfer(*insn, pc) {
                Transfer::Jump(target) | Transfer::Branch(target) => mark(target),
                Transfer::Call(_) => mark(pc.saturating_add(1)),
                Transfer::Indirect => {
                    let position = self.functions.partition_point(|function| function.insns.start <= pc);
                    let function = position.checked_sub(1).and_then(|number| self.functions.get(number));
                    // The second of several indirect jumps finds the function marked.
                    if last_marked != Some(position) {
                        function.into_iter().flat_map(|function| function.insns.clone()).for_each(&mut mark);
                        last_marked = Some(position);
                    }
                }
                Transfer::Following if CallbackHelper::called_by(*insn).is_some() => {
                    mark(pc.saturating_add(1));
                }
                Transfer::Following | Transfer::AfterLoad | Transfer::Exit | Transfer::Refused => {}
            }
        }
        for function in &mut self.functions {
            let joins = self.joins.iter_mut().skip(index(function.insns.start)).take(function.insns.len());
            for join in joins.flatten() {
                *join = function.join_count;
                function.join_count = function.join_count.saturating_add(1);
            }
        }
    }

    /// Returns the number of a join point in its function.
    pub(super) fn join(&self, insn: u32) -> Option<u32> {
        self.joins.get(index(insn)).copied().flatten()
    }

    /// Returns the registers that are read at an instruction or later.
    pub(super) fn live(&self, insn: u32) -> u16 {
        self.live.get(index(insn)).copied().unwrap_or(ALL_LIVE)
    }

    /// Finds the function that begins at an instruction.
    pub(super) fn function_at(&self, start: u32) -> Option<u32> {
        let found = self.functions.binary_search_by_key(&start, |function| function.insns.start).ok()?;
        u32::try_from(found).ok()
    }

    pub(super) fn function(&self, function: u32) -> Option<&FunctionFlow> {
        self.functions.get(index(function))
    }
}

/// Returns the set of one register.
pub(super) fn bit(register: u8) -> u16 {
    1_u16.wrapping_shl(register.into())
}

/// Returns the registers that an instruction reads, and those that it overwrites.
pub(super) fn registers(insn: Insn) -> (u16, u16) {
    let (dst, src) = (bit(insn.dst), bit(insn.src));
    let operand = if insn.source_is_register() { src } else { 0 };
    match insn.class() {
        Class::Alu | Class::Alu64 => match insn.operation() {
            alu::MOV => (operand, dst),
            alu::NEG | alu::END => (dst, dst),
            _ => (dst | operand, dst),
        },
        Class::Ld if insn.is_ld_imm64() => (0, dst),
        Class::Ld => (bit(6) | src, CALL_WRITES),
        Class::Ldx => (src, dst),
        Class::St => (dst, 0),
        // Compare-and-exchange reads r0.
        Class::Stx => (dst | src | 1, 0),
        Class::Jmp | Class::Jmp32 => match insn.operation() {
            jump::CALL => (ARGUMENTS, CALL_WRITES),
            jump::EXIT => (1, 0),
            jump::JA | jump::JCOND => (0, 0),
            _ => (dst | operand, 0),
        },
    }
}

/// Returns the live registers before each instruction.
fn live_registers(insns: &[Insn]) -> Vec<u16> {
    let frame_pointer = 1_u16 << 10;
    let count = u32::try_from(insns.len()).unwrap_or(u32::MAX);
    let mut live = vec![frame_pointer; insns.len()];
    for _ in 0..LIVENESS_PASSES {
        let mut is_changed = false;
        for pc in (0..count).rev() {
            let Some(insn) = insns.get(index(pc)) else { continue };
            let live_before = |pc: Option<u32>| pc.and_then(|pc| live.get(index(pc))).copied().unwrap_or(0);
            let after = match transfer(*insn, pc) {
                Transfer::Following | Transfer::Call(_) => live_before(pc.checked_add(1)),
                Transfer::AfterLoad => live_before(pc.checked_add(2)),
                Transfer::Jump(target) => live_before(Some(target)),
                Transfer::Branch(target) => live_before(Some(target)) | live_before(pc.checked_add(1)),
                Transfer::Indirect => ALL_LIVE,
                Transfer::Exit | Transfer::Refused => 0,
            };
            let (reads, writes) = registers(*insn);
            let before = (after & !writes) | reads | frame_pointer;
            if let Some(live) = live.get_mut(index(pc)) {
                is_changed |= *live != before;
                *live = before;
            }
        }
        if !is_changed {
            return live;
        }
    }
    live.fill(ALL_LIVE);
    live
}
