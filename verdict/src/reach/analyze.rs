//! The analysis: an exploration of all paths, then conclusions from what all paths have in common.

use super::explore::{Exploration, Explorer};
use super::flow::{Flow, Transfer, index, transfer};
use super::kernel_numbers::UsedNumbers;
use super::postdominators::Postdominators;
use super::program::Program;
use super::reachability::{Reach, Reachability};
use super::visits::Visits;

/// Analyses a program.
pub fn analyze(program: &Program<'_>) -> Reachability {
    analyze_relocated(program, &[]).0
}

/// Analyses a program. `relocated` are the instructions with [numbers](split_number) that relocations write.
/// Returns also the numbers on which the result depends.
pub(crate) fn analyze_relocated(program: &Program<'_>, relocated: &[u32]) -> (Reachability, UsedNumbers) {
    let flow = Flow::new(program);
    let Exploration { mut visits, is_complete, used_numbers } =
        Explorer::new(program, &flow, relocated).run();
    if is_complete {
        if visits.result.reached.iter().any(|reach| matches!(reach, Reach::Undecided(_))) {
            Conclusions::new(program, &flow, &mut visits).run();
            visits.conclude_accesses();
        }
    } else {
        visits.leave_undecided();
    }
    finish_loads(program, &mut visits.result);
    (visits.result, used_numbers)
}

/// Gives the second slots of `ld_imm64` instructions the result of the first.
fn finish_loads(program: &Program<'_>, result: &mut Reachability) {
    for (insn, pc) in program.insns.iter().zip(0..) {
        if insn.is_ld_imm64()
            && let Some([first, second, ..]) = result.reached.get_mut(index(pc)..)
            && *first != Reach::Dead
            && *second == Reach::Dead
        {
            *second = *first;
            if let Some([first, second, ..]) = result.last_branch.get_mut(index(pc)..) {
                *second = *first;
            }
        }
    }
}

/// Conclusions on undecided instructions from reachable ones.
///
/// The instruction where both directions of an undecided branch meet is reachable, whichever direction the
/// verifier follows. So is a direction that is certain in every state at the branch.
struct Conclusions<'a, 'p> {
    program: &'a Program<'p>,
    flow: &'a Flow,
    visits: &'a mut Visits,
    /// The calls that start the verification of a function: call, start of the function. Sorted.
    started: Vec<(u32, u32)>,
    /// For each function, whether the verifier may refuse an instruction of the function or of a called one.
    may_refuse: Vec<bool>,
    /// The postdominators of each function, found when they are needed.
    postdominators: Vec<Option<Postdominators>>,
    /// The reachable instructions whose successors are not yet examined.
    pending: Vec<u32>,
}

impl<'a, 'p> Conclusions<'a, 'p> {
    fn new(program: &'a Program<'p>, flow: &'a Flow, visits: &'a mut Visits) -> Self {
        let mut started: Vec<_> = visits.started.iter().copied().collect();
        started.sort_unstable();
        let may_refuse = functions_with_refusals(program, flow, visits);
        let postdominators = flow.functions.iter().map(|_| None).collect();
        let reached = visits.result.reached.iter().zip(0..);
        let pending = reached.filter(|(reach, _)| **reach == Reach::Reachable).map(|(_, pc)| pc).collect();
        Self { program, flow, visits, started, may_refuse, postdominators, pending }
    }

    fn run(&mut self) {
        while let Some(pc) = self.pending.pop() {
            let Some(insn) = self.program.insns.get(index(pc)) else { continue };
            let following = pc.saturating_add(1);
            match transfer(*insn, pc) {
                Transfer::Following => {
                    self.conclude_started(pc);
                    self.conclude(following);
                }
                Transfer::AfterLoad => self.conclude(following.saturating_add(1)),
                Transfer::Jump(target) => self.conclude(target),
                Transfer::Branch(target) => {
                    for (insn, is_taken) in [(target, true), (following, false)] {
                        if self.visits.is_certain(pc, is_taken) {
                            self.conclude(insn);
                        }
                    }
                    self.conclude_meeting(pc);
                }
                Transfer::Call(start) => {
                    self.conclude(start);
                    self.conclude_started(pc);
                    self.conclude_meeting(pc);
                }
                Transfer::Indirect | Transfer::Exit | Transfer::Refused => {}
            }
        }
    }

    /// Marks an undecided instruction as reachable.
    fn conclude(&mut self, insn: u32) {
        if let Some(reach) = self.visits.result.reached.get_mut(index(insn))
            && matches!(reach, Reach::Undecided(_))
        {
            *reach = Reach::Reachable;
            self.pending.push(insn);
        }
    }

    /// Concludes on the functions that a call passes as callbacks, and on called global functions.
    fn conclude_started(&mut self, call: u32) {
        let started = &self.started;
        let first = started.partition_point(|(other, _)| *other < call);
        let starts: Vec<u32> = started
            .iter()
            .skip(first)
            .take_while(|(other, _)| *other == call)
            .map(|(_, start)| *start)
            .collect();
        for start in starts {
            self.conclude(start);
        }
    }

    /// Concludes on the instruction that all paths from a branch or a call pass.
    fn conclude_meeting(&mut self, pc: u32) {
        let position = self.flow.functions.partition_point(|function| function.insns.start <= pc);
        let Some(position) = position.checked_sub(1) else { return };
        let Some(function) = self.flow.functions.get(position) else { return };
        let Some(found) = self.postdominators.get_mut(position) else { return };
        let postdominators = found.get_or_insert_with(|| {
            let may_refuse = |start: u32| {
                let function = self.flow.function_at(start);
                function.and_then(|function| self.may_refuse.get(index(function))).copied().unwrap_or(true)
            };
            Postdominators::find(
                self.program.insns,
                self.flow,
                self.visits,
                function.insns.clone(),
                may_refuse,
            )
        });
        if let Some(insn) = postdominators.after(pc) {
            self.conclude(insn);
        }
    }
}

/// Returns, for each function, whether the verifier may refuse an instruction of the function or of a called
/// one.
///
/// The verifier looks into global functions separately: a call of one always returns.
fn functions_with_refusals(program: &Program<'_>, flow: &Flow, visits: &Visits) -> Vec<bool> {
    let mut may_refuse: Vec<bool> = flow
        .functions
        .iter()
        .map(|function| function.insns.clone().any(|pc| visits.may_be_refused(pc)))
        .collect();
    // Callees of each function, by the functions' numbers.
    let mut callers: Vec<Vec<u32>> = vec![Vec::new(); flow.functions.len()];
    for (function, caller) in flow.functions.iter().zip(0..) {
        for pc in function.insns.clone().filter(|pc| visits.is_visited(*pc)) {
            if let Some(Transfer::Call(start)) = program.insns.get(index(pc)).map(|insn| transfer(*insn, pc))
                && let Some(callee) = flow.function_at(start)
                && let Some(callers) = callers.get_mut(index(callee))
            {
                callers.push(caller);
            }
        }
    }
    for (may_refuse, function) in may_refuse.iter_mut().zip(&flow.functions) {
        *may_refuse &= !function.is_global;
    }
    let ending = may_refuse.iter().zip(0_u32..).filter(|(may_refuse, _)| **may_refuse);
    let mut pending: Vec<u32> = ending.map(|(_, function)| function).collect();
    while let Some(function) = pending.pop() {
        for caller in core::mem::take(callers.get_mut(index(function)).unwrap_or(&mut Vec::new())) {
            let is_static = flow.function(caller).is_some_and(|caller| !caller.is_global);
            if let Some(may_refuse) = may_refuse.get_mut(index(caller))
                && is_static
                && !core::mem::replace(may_refuse, true)
            {
                pending.push(caller);
            }
        }
    }
    may_refuse
}
