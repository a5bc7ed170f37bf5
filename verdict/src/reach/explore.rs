//! The exploration of all paths of a program.
//!
//! The exploration keeps a state for each path, as the verifier does. A path ends where an earlier state
//! replaces its state. Too many states at one instruction are joined.

use super::branch::{Condition, Direction};
use super::call::{CallbackHelper, call_kernel, callback_argument, finish_call};
use super::flow::{Flow, FunctionFlow, Transfer, index, transfer, widens_numbers};
use super::kernel_numbers::{KernelNumbers, UsedNumbers};
use super::memory::{forget_changes, forget_stack, pass_memory, unknown_argument};
use super::program::{LoadedValue, Program};
use super::reachability::Undecided;
use super::scalar::Scalar;
use super::state::{Caller, FIRST_SAVED, State};
use super::states::{StateStore, StoreFull};
use super::step::execute;
use super::value::Value;
use super::visits::Visits;
use crate::limits;
use core_relo::insn::{Class, FRAME_POINTER, Insn};

/// A finished exploration.
#[derive(Debug)]
pub(super) struct Exploration {
    pub(super) visits: Visits,
    /// Whether all paths are explored.
    pub(super) is_complete: bool,
    /// The numbers on which the visits depend.
    pub(super) used_numbers: UsedNumbers,
}

/// An exploration.
#[derive(Debug)]
pub(super) struct Explorer<'a, 'p> {
    program: &'a Program<'p>,
    flow: &'a Flow,
    visits: Visits,
    kernel_numbers: KernelNumbers<'p>,
    states: StateStore,
    steps_left: usize,
    is_exhausted: bool,
}

impl<'a, 'p> Explorer<'a, 'p> {
    #[expect(clippy::disallowed_methods, reason = "a program with the largest budget is never exhausted")]
    pub(super) fn new(program: &'a Program<'p>, flow: &'a Flow, relocated: &[u32]) -> Self {
        let count = program.insns.len();
        let steps =
            count.saturating_mul(limits::REACH_STEPS_PER_INSN).saturating_add(limits::REACH_STEPS_BASE);
        Self {
            program,
            flow,
            visits: Visits::new(count),
            kernel_numbers: KernelNumbers::new(program, relocated),
            states: StateStore::new(),
            steps_left: steps.min(limits::REACH_STEPS),
            is_exhausted: false,
        }
    }

    /// Explores all paths.
    pub(super) fn run(mut self) -> Exploration {
        let arguments = [Value::Scalar(unknown_argument()); 5];
        self.start_function(0, None, None, &arguments);
        for (function, number) in self.flow.functions.iter().zip(0..).skip(1) {
            let is_callback = self.program.exception_callback == Some(function.insns.start);
            if is_callback || (function.is_global && self.program.verifies_uncalled_functions) {
                self.start_function(number, None, None, &arguments);
            }
        }
        let (mut state, mut spare) = (State::entry(0, 0), State::entry(0, 0));
        while !self.is_exhausted && self.states.next_pending(&mut state) {
            self.follow(&mut state, &mut spare);
        }
        Exploration {
            visits: self.visits,
            is_complete: !self.is_exhausted,
            used_numbers: self.kernel_numbers.into_used(),
        }
    }

    /// Ends the exploration if the store of states is full.
    fn within_limits<T>(&mut self, result: Result<T, StoreFull>) -> Option<T> {
        self.is_exhausted |= result.is_err();
        result.ok()
    }

    /// Begins the exploration of a function that is verified by itself. `call` is the call that passes or
    /// calls the function.
    fn start_function(
        &mut self,
        function: u32,
        undecided: Option<Undecided>,
        call: Option<u32>,
        arguments: &[Value; 5],
    ) {
        let Some(&FunctionFlow { ref insns, join_count, .. }) = self.flow.function(function) else { return };
        if let Some(call) = call {
            self.visits.started.insert((call, insns.start));
        }
        let chain = self.states.root_chain(function, join_count);
        let Some(chain) = self.within_limits(chain) else { return };
        let mut state = State::entry(insns.start, chain);
        state.undecided = undecided;
        if function == 0 {
            state.set(1, Value::CONTEXT);
        } else {
            for (register, argument) in (1..).zip(arguments) {
                state.set(register, *argument);
            }
        }
        self.arrive_at(&state, join_count);
    }

    /// Follows a path up to the next join point.
    fn follow(&mut self, state: &mut State, spare: &mut State) {
        self.kernel_numbers.start_path();
        let mut insns = self.current_function(state).map_or(0..0, |function| function.insns.clone());
        loop {
            if !self.charge(1) {
                return;
            }
            let pc = state.pc;
            let Some(insn) = self.program.insns.get(index(pc)).copied().filter(|_| insns.contains(&pc))
            else {
                return;
            };
            self.visits.mark(state);
            let following = pc.saturating_add(1);
            let deferred = self.kernel_numbers.defer(state, insn, self.flow.live(pc));
            let target = match transfer(insn, pc) {
                Transfer::Following => {
                    self.visits.mark_access(state, insn);
                    match deferred {
                        Some(deferred) => state.set(insn.dst, deferred),
                        None => self.execute(state, spare, insn),
                    }
                    following
                }
                Transfer::AfterLoad => {
                    execute(self.program, state, insn);
                    following.saturating_add(1)
                }
                Transfer::Jump(target) => target,
                Transfer::Branch(target) => {
                    if !self.branch(state, spare, insn, target, insns.contains(&target)) {
                        return;
                    }
                    following
                }
                Transfer::Call(start) => {
                    let Some(function) = self.call(state, start) else { return self.visits.mark_refused(pc) };
                    match self.flow.function(function) {
                        Some(callee) if !callee.is_global => {
                            insns = callee.insns.clone();
                            callee.insns.start
                        }
                        _ => following,
                    }
                }
                Transfer::Exit => {
                    if state.callers.is_empty() && self.states.function(state.chain) == Some(0) {
                        self.visits.mark_returned(state);
                    }
                    if !self.return_to_caller(state, spare) {
                        return;
                    }
                    return self.arrive(state);
                }
                Transfer::Indirect => {
                    self.visits.mark_refused(pc);
                    return self.follow_indirect_jump(state, spare);
                }
                Transfer::Refused => return self.visits.mark_refused(pc),
            };
            if !insns.contains(&target) {
                return self.visits.mark_refused(pc);
            }
            state.pc = target;
            if self.flow.join(target).is_some() {
                return self.arrive(state);
            }
        }
    }

    /// Returns the function that a state is in.
    fn current_function(&self, state: &State) -> Option<&'a FunctionFlow> {
        self.states.function(state.chain).and_then(|function| self.flow.function(function))
    }

    /// Charges steps. Returns whether any are left.
    fn charge(&mut self, steps: usize) -> bool {
        match self.steps_left.checked_sub(steps) {
            Some(left) => self.steps_left = left,
            None => self.is_exhausted = true,
        }
        !self.is_exhausted
    }

    /// Executes an instruction without jumps, or the call of a helper or kernel function.
    fn execute(&mut self, state: &mut State, spare: &mut State, insn: Insn) {
        if insn.class() != Class::Jmp {
            return execute(self.program, state, insn);
        }
        if let Some(callback) = CallbackHelper::called_by(insn)
            && let Value::Function(start) = state.register(callback.function)
        {
            return self.call_callback(state, spare, callback, start);
        }
        let argument = callback_argument(state, insn);
        let mut passes_function = false;
        for register in 1..=5 {
            match state.register(register) {
                Value::Function(start) => {
                    passes_function = true;
                    match self.flow.function_at(start) {
                        Some(function) => {
                            self.start_function(function, state.undecided, Some(state.pc), &[argument; 5]);
                        }
                        None => self.is_exhausted = true,
                    }
                }
                // A joined value may be the address of a function.
                Value::Any => {
                    passes_function = true;
                    self.start_loaded_functions(state);
                }
                _ => {}
            }
        }
        if passes_function {
            forget_stack(state);
        }
        call_kernel(state, insn);
    }

    /// Begins the exploration of all functions whose addresses are loaded.
    fn start_loaded_functions(&mut self, state: &State) {
        let undecided = Some(state.undecided.unwrap_or(Undecided::Imprecision));
        for (_, loaded) in self.program.loads {
            if let LoadedValue::Function(start) = loaded
                && let Some(function) = self.flow.function_at(*start)
                && !self.states.is_root(function)
            {
                self.start_function(function, undecided, None, &[Value::Any; 5]);
            }
        }
    }

    /// Follows a conditional branch. Returns whether the path continues behind the branch.
    fn branch(
        &mut self,
        state: &mut State,
        spare: &mut State,
        insn: Insn,
        target: u32,
        is_inside: bool,
    ) -> bool {
        let pc = state.pc;
        let decided = self.kernel_numbers.decide_branch(state, insn);
        let condition = if decided.is_some() { None } else { Condition::decode(insn, state) };
        let directions = match (&condition, decided) {
            (Some(condition), _) => condition.directions(),
            (None, Some(true)) => [Direction::Certain, Direction::Dead],
            (None, Some(false)) => [Direction::Dead, Direction::Certain],
            // The verifier follows both directions of `may_goto`.
            (None, None) => [Direction::Certain; 2],
        };
        self.visits.mark_directions(pc, directions);
        let [taken, not_taken] = directions;
        if taken != Direction::Dead {
            if is_inside {
                spare.copy_from(state);
                self.follow_direction(spare, condition.as_ref(), taken, true);
                spare.pc = target;
                self.arrive(spare);
            } else {
                self.visits.mark_refused(pc);
            }
        }
        if not_taken == Direction::Dead {
            return false;
        }
        self.follow_direction(state, condition.as_ref(), not_taken, false);
        true
    }

    /// Changes a state to that behind a branch.
    fn follow_direction(
        &mut self,
        state: &mut State,
        condition: Option<&Condition>,
        direction: Direction,
        is_taken: bool,
    ) {
        let pc = state.pc;
        if let Some(condition) = condition {
            condition.apply(state, is_taken);
        }
        self.visits.add_branch(state, pc, is_taken);
        if let (Direction::Undecided(cause), None) = (direction, state.undecided) {
            state.undecided = Some(cause);
        }
    }

    /// Calls a function of the program. Returns the function, or `None` if the verifier refuses the call.
    fn call(&mut self, state: &mut State, start: u32) -> Option<u32> {
        let pc = state.pc;
        let Some(function) = self.flow.function_at(start) else {
            // Only the verifier knows which function the instruction calls.
            self.is_exhausted = true;
            return None;
        };
        if self.flow.function(function)?.is_global {
            self.start_function(function, state.undecided, Some(pc), &self.global_arguments(state));
            for register in 1..=5 {
                let argument = state.register(register);
                pass_memory(state, argument);
            }
            finish_call(state, Value::Scalar(Scalar::UNBOUNDED.with_id(pc)));
            return Some(function);
        }
        if state.callers.len() >= const { limits::CALL_FRAMES - 1 } {
            return None;
        }
        let chain = self.callee_chain(state, function)?;
        let mut saved = [Value::UNKNOWN; 4];
        for (saved, register) in saved.iter_mut().zip(state.registers.iter_mut().skip(FIRST_SAVED)) {
            *saved = core::mem::replace(register, Value::UNKNOWN);
        }
        state.callers.push(Caller { call: pc, chain: state.chain, saved, context: Value::UNKNOWN });
        state.chain = chain;
        state.set(0, Value::UNKNOWN);
        state.set(FRAME_POINTER, Value::Stack { frame: state.frame(), offset: 0 });
        Some(function)
    }

    /// Returns the chain of a function that the next instruction of a state calls.
    fn callee_chain(&mut self, state: &State, function: u32) -> Option<u32> {
        let joins = self.flow.function(function)?.join_count;
        let chain = self.states.callee_chain(state, function, joins);
        self.within_limits(chain)
    }

    /// Calls a helper that calls a function of the program any number of times.
    ///
    /// Before Linux 6.7 the verifier follows one call of the function. Later verifiers follow none or any
    /// number.
    fn call_callback(&mut self, state: &mut State, spare: &mut State, callback: CallbackHelper, start: u32) {
        let pc = state.pc;
        let Some(function) = self.flow.function_at(start) else {
            self.is_exhausted = true;
            return;
        };
        // The verifier refuses deeper calls.
        if state.callers.len() < const { limits::CALL_FRAMES - 1 } {
            let Some(chain) = self.callee_chain(state, function) else { return };
            spare.copy_from(state);
            let mut saved = [Value::UNKNOWN; 4];
            for (saved, register) in saved.iter_mut().zip(state.registers.iter().skip(FIRST_SAVED)) {
                *saved = *register;
            }
            let context = state.register(callback.context);
            spare.callers.push(Caller { call: pc, chain: state.chain, saved, context });
            match callback.undecided(state) {
                None => {
                    self.visits.started.insert((pc, start));
                }
                Some(undecided) => spare.undecided = spare.undecided.or(Some(undecided)),
            }
            self.enter_callback(spare, callback, start, chain);
        }
        state.undecided = state.undecided.or(Some(Undecided::Imprecision));
        finish_call(state, callback.result(pc));
    }

    /// Calls the function that a path leaves again, with the stack that the function has changed.
    fn repeat_callback(&mut self, state: &mut State, spare: &mut State, callback: CallbackHelper) {
        let Some(function) = self.current_function(state) else { return };
        forget_changes(state, &self.states.states_at(state.chain, function.join_count));
        spare.copy_from(state);
        spare.undecided = spare.undecided.or(Some(Undecided::Imprecision));
        self.enter_callback(spare, callback, function.insns.start, state.chain);
    }

    /// Follows a callback of the last caller.
    fn enter_callback(&mut self, state: &mut State, callback: CallbackHelper, start: u32, chain: u32) {
        state.enter(start, chain, Value::Scalar(unknown_argument()));
        if let Some(caller) = state.callers.last() {
            state.set(callback.receiver, caller.context);
        }
        let function = self.flow.function_at(start).and_then(|function| self.flow.function(function));
        let joins = function.map_or(0, |function| function.join_count);
        self.arrive_at(state, joins);
    }

    /// Returns from a function. Returns whether there is a caller.
    fn return_to_caller(&mut self, state: &mut State, spare: &mut State) -> bool {
        let call = state.callers.last().and_then(|caller| self.program.insns.get(index(caller.call)));
        let callback = call.and_then(|call| CallbackHelper::called_by(*call));
        if let Some(callback) = callback {
            self.repeat_callback(state, spare, callback);
        }
        let frame = state.frame();
        let Some(caller) = state.callers.pop() else { return false };
        state.slots.retain(|slot| slot.frame < frame);
        for (register, saved) in state.registers.iter_mut().skip(FIRST_SAVED).zip(caller.saved) {
            *register = saved;
        }
        let result = callback.map_or_else(|| state.register(0), |callback| callback.result(caller.call));
        finish_call(state, result);
        state.set(FRAME_POINTER, Value::Stack { frame: state.frame(), offset: 0 });
        state.pc = caller.call.saturating_add(1);
        state.chain = caller.chain;
        true
    }

    /// Lets a path continue at every instruction of the function, after an indirect jump.
    fn follow_indirect_jump(&mut self, state: &State, spare: &mut State) {
        let insns = self.current_function(state).map(|function| function.insns.clone());
        for pc in insns.into_iter().flatten() {
            spare.copy_from(state);
            spare.pc = pc;
            for register in 0..FRAME_POINTER {
                spare.set(register, Value::Any);
            }
            spare.undecided = Some(state.undecided.unwrap_or(Undecided::Imprecision));
            self.arrive(spare);
            if self.is_exhausted {
                return;
            }
        }
    }

    /// Stores a state at a join point, to follow the state later, unless another state replaces it.
    fn arrive(&mut self, state: &mut State) {
        let Some(join) = self.flow.join(state.pc) else { return };
        state.clear_dead(self.flow.live(state.pc));
        self.kernel_numbers.compute_all(state);
        if self.program.insns.get(index(state.pc)).copied().is_some_and(widens_numbers) {
            forget_changes(state, &self.states.states_at(state.chain, join));
        }
        self.arrive_at(state, join);
    }

    /// Stores a state at a join point, given by its number in the function.
    fn arrive_at(&mut self, state: &State, join: u32) {
        self.visits.mark(state);
        if self.charge(limits::STEPS_PER_STATE) {
            let stored = self.states.insert(state, join);
            self.within_limits(stored);
        }
    }

    /// Returns the arguments with which the verifier looks into a global function that a state calls: any,
    /// except for the context. A function that takes the context has it in each call, and the verifier
    /// refuses other calls (kernel: `btf_prepare_func_args`).
    fn global_arguments(&self, state: &State) -> [Value; 5] {
        [1, 2, 3, 4, 5].map(|register| match state.register(register) {
            Value::CONTEXT if self.program.passes_context => Value::CONTEXT,
            _ => Value::Scalar(unknown_argument()),
        })
    }
}
