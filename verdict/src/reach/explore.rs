//! The exploration of all paths of a program.
//!
//! The exploration keeps a state for each path, as the verifier does. A path ends where an earlier state replaces its state. Too many
//! states at one instruction are joined.

use super::branch::{Condition, Direction};
use super::call::{CallbackHelper, call_kernel, callback_argument, finish_call};
use super::flow::{Flow, Next, index, next};
use super::memory::{forget_changes, forget_stack, pass_memory, unknown_argument};
use super::program::{LoadedValue, Program};
use super::reachability::Undecided;
use super::scalar::Scalar;
use super::state::{Caller, FIRST_SAVED, State};
use super::step::execute;
use super::value::Value;
use super::visits::Visits;
use crate::limits;
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use core_relo::insn::{Class, Insn};
use std::collections::HashMap;

/// The states at a join point, for one call chain.
#[derive(Debug, Default)]
struct Entry {
    states: Vec<State>,
    /// The joined further states: those that every verifier reaches, and the others.
    joined: [Option<Box<Joined>>; 2],
}

#[derive(Debug)]
struct Joined {
    state: State,
    joins: u32,
    is_pending: bool,
}

/// A stored state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// The joined state, certain or not.
    Joined(usize),
    /// One of the states.
    Single(usize),
}

/// A state to follow. Deep calls come first, then low instructions, so that paths meet before they are followed further.
type Pending = (usize, Reverse<u32>, Reverse<usize>, Place);

/// A chain of calls that are active at once.
#[derive(Debug)]
struct Chain {
    function: u32,
    /// The number of the entry of the function's first join point. The last entry is that of the function's start.
    first_entry: usize,
}

/// An exploration.
#[derive(Debug)]
pub(super) struct Explorer<'a, 'p> {
    program: &'a Program<'p>,
    flow: &'a Flow,
    visits: Visits,
    pending: BinaryHeap<Pending>,
    entries: Vec<Entry>,
    chains: Vec<Chain>,
    /// The chains by the chain of the caller, the call and the function.
    callees: HashMap<(u32, u32, u32), u32>,
    /// For each function that is verified by itself, its chain.
    roots: HashMap<u32, u32>,
    steps_left: usize,
    values_left: usize,
    is_exhausted: bool,
}

impl<'a, 'p> Explorer<'a, 'p> {
    pub(super) fn new(program: &'a Program<'p>, flow: &'a Flow) -> Self {
        let count = program.insns.len();
        let steps =
            count.saturating_mul(limits::REACH_STEPS_PER_INSN).saturating_add(limits::REACH_STEPS_BASE);
        Self {
            program,
            flow,
            visits: Visits::new(count),
            pending: BinaryHeap::new(),
            entries: Vec::new(),
            chains: Vec::new(),
            callees: HashMap::new(),
            roots: HashMap::new(),
            steps_left: steps.min(limits::REACH_STEPS),
            values_left: limits::STORED_VALUES,
            is_exhausted: false,
        }
    }

    /// Explores all paths. Returns the visits, and whether the exploration is complete.
    pub(super) fn run(mut self) -> (Visits, bool) {
        let argument = Value::Scalar(unknown_argument());
        self.start(0, None, None, argument);
        for (function, number) in self.flow.functions.iter().zip(0..).skip(1) {
            let is_callback = self.program.exception_callback == Some(function.insns.start);
            if is_callback || (function.is_global && self.program.verifies_uncalled_functions) {
                self.start(number, None, None, argument);
            }
        }
        let (mut state, mut other) = (State::entry(0, 0), State::entry(0, 0));
        while let Some((_, _, Reverse(entry), place)) = self.pending.pop() {
            if self.load_state(entry, place, &mut state) {
                self.follow(&mut state, &mut other);
            }
            if self.is_exhausted {
                break;
            }
        }
        let is_complete = !self.is_exhausted;
        (self.visits, is_complete)
    }

    /// Copies a stored state.
    fn load_state(&mut self, entry: usize, place: Place, state: &mut State) -> bool {
        let Some(entry) = self.entries.get_mut(entry) else { return false };
        let stored = match place {
            Place::Single(number) => entry.states.get(number),
            Place::Joined(kind) => entry.joined.get_mut(kind).and_then(Option::as_mut).map(|joined| {
                joined.is_pending = false;
                &joined.state
            }),
        };
        stored.map(|stored| state.copy_from(stored)).is_some()
    }

    /// Begins the exploration of a function that is verified by itself. `call` is the call that passes or calls the function.
    fn start(&mut self, function: u32, doubt: Option<Undecided>, call: Option<u32>, argument: Value) {
        let Some(insns) = self.flow.function(function).map(|function| function.insns.clone()) else { return };
        if let Some(call) = call {
            self.visits.started.insert((call, insns.start));
        }
        let known = self.roots.get(&function).copied();
        let Some(chain) = known.or_else(|| self.add_chain(function)) else { return };
        self.roots.insert(function, chain);
        let mut state = State::entry(insns.start, chain);
        state.doubt = doubt;
        if function == 0 {
            state.set(1, Value::Context);
        } else {
            for register in 1..=5 {
                state.set(register, argument);
            }
        }
        let joins = self.flow.function(function).map_or(0, |function| function.join_count);
        self.arrive_at(&state, joins);
    }

    /// Adds a call chain that ends in a function.
    fn add_chain(&mut self, function: u32) -> Option<u32> {
        let joins = self.flow.function(function)?.join_count;
        let first_entry = self.entries.len();
        let end = first_entry.saturating_add(index(joins)).saturating_add(1);
        if end > limits::STATE_ENTRIES {
            self.is_exhausted = true;
            return None;
        }
        self.entries.resize_with(end, Entry::default);
        let number = u32::try_from(self.chains.len()).ok()?;
        self.chains.push(Chain { function, first_entry });
        Some(number)
    }

    /// Follows a path up to the next join point.
    fn follow(&mut self, state: &mut State, other: &mut State) {
        let Some(chain) = self.chains.get(index(state.chain)) else { return };
        let mut insns = self.flow.function(chain.function).map_or(0..0, |function| function.insns.clone());
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
            let target = match next(insn, pc) {
                Next::Following => {
                    self.execute(state, other, insn);
                    following
                }
                Next::AfterLoad => {
                    execute(self.program, state, insn);
                    following.saturating_add(1)
                }
                Next::Jump(target) => target,
                Next::Branch(target) => {
                    if !self.branch(state, other, insn, target, insns.contains(&target)) {
                        return;
                    }
                    following
                }
                Next::Call(start) => {
                    let Some(function) = self.call(state, start) else { return self.visits.mark_end(pc) };
                    match self.flow.function(function) {
                        Some(callee) if !callee.is_global => {
                            insns = callee.insns.clone();
                            callee.insns.start
                        }
                        _ => following,
                    }
                }
                Next::Exit => {
                    if !self.leave(state, other) {
                        return;
                    }
                    return self.arrive(state);
                }
                Next::Anywhere => {
                    self.visits.mark_end(pc);
                    return self.arrive_anywhere(state, other);
                }
                Next::Nowhere => return self.visits.mark_end(pc),
            };
            if !insns.contains(&target) {
                return self.visits.mark_end(pc);
            }
            state.pc = target;
            if self.flow.join(target).is_some() {
                return self.arrive(state);
            }
        }
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
    fn execute(&mut self, state: &mut State, other: &mut State, insn: Insn) {
        if insn.class() != Class::Jmp {
            return execute(self.program, state, insn);
        }
        if let Some(callback) = CallbackHelper::called_by(insn)
            && let Value::Function(start) = state.register(callback.function)
        {
            return self.call_back(state, other, callback, start);
        }
        let argument = callback_argument(state, insn);
        let mut passes_function = false;
        for register in 1..=5 {
            match state.register(register) {
                Value::Function(start) => {
                    passes_function = true;
                    match self.flow.function_at(start) {
                        Some(function) => self.start(function, state.doubt, Some(state.pc), argument),
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
        let doubt = Some(state.doubt.unwrap_or(Undecided::Approximation));
        for (_, loaded) in self.program.loads {
            if let LoadedValue::Function(start) = loaded
                && let Some(function) = self.flow.function_at(*start)
                && !self.roots.contains_key(&function)
            {
                self.start(function, doubt, None, Value::Any);
            }
        }
    }

    /// Follows a conditional branch. Returns whether the path continues behind the branch.
    fn branch(
        &mut self,
        state: &mut State,
        other: &mut State,
        insn: Insn,
        target: u32,
        is_inside: bool,
    ) -> bool {
        let pc = state.pc;
        let condition = Condition::decode(insn, state);
        // The verifier follows both directions of `may_goto`.
        let directions = condition.as_ref().map_or([Direction::Certain; 2], Condition::directions);
        self.visits.mark_directions(pc, directions);
        let [taken, not_taken] = directions;
        if taken != Direction::Dead {
            if is_inside {
                other.copy_from(state);
                self.take(other, condition.as_ref(), taken, true);
                other.pc = target;
                self.arrive(other);
            } else {
                self.visits.mark_end(pc);
            }
        }
        if not_taken == Direction::Dead {
            return false;
        }
        self.take(state, condition.as_ref(), not_taken, false);
        true
    }

    /// Changes a state to that behind a branch.
    fn take(
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
        if let (Direction::Unclear(cause), None) = (direction, state.doubt) {
            state.doubt = Some(Undecided::from_cause(cause));
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
            self.start(function, state.doubt, Some(pc), Value::Scalar(unknown_argument()));
            for register in 1..=5 {
                let argument = state.register(register);
                pass_memory(state, argument);
            }
            finish_call(state, Value::Scalar(Scalar::FREE.made_by(pc)));
            return Some(function);
        }
        if state.callers.len().saturating_add(1) >= limits::CALL_FRAMES {
            return None;
        }
        let chain = self.callee_chain(state, function)?;
        let mut saved = [Value::UNUSED; 4];
        for (saved, register) in saved.iter_mut().zip(state.registers.iter_mut().skip(FIRST_SAVED)) {
            *saved = core::mem::replace(register, Value::UNUSED);
        }
        state.callers.push(Caller { call: pc, chain: state.chain, saved, context: Value::UNUSED });
        state.chain = chain;
        state.set(0, Value::UNUSED);
        state.set(super::state::FRAME_POINTER, Value::Stack { frame: state.frame(), offset: 0 });
        Some(function)
    }

    /// Returns the chain of a function that the next instruction of a state calls.
    fn callee_chain(&mut self, state: &State, function: u32) -> Option<u32> {
        let key = (state.chain, state.pc, function);
        let known = self.callees.get(&key).copied();
        let chain = known.or_else(|| self.add_chain(function))?;
        self.callees.insert(key, chain);
        Some(chain)
    }

    /// Calls a helper that calls a function of the program any number of times.
    ///
    /// Before Linux 6.7 the verifier follows one call of the function. Later verifiers follow none or any number.
    fn call_back(&mut self, state: &mut State, other: &mut State, callback: CallbackHelper, start: u32) {
        let pc = state.pc;
        let Some(function) = self.flow.function_at(start) else {
            self.is_exhausted = true;
            return;
        };
        // The verifier refuses deeper calls.
        if state.callers.len().saturating_add(1) < limits::CALL_FRAMES {
            let Some(chain) = self.callee_chain(state, function) else { return };
            other.copy_from(state);
            let mut saved = [Value::UNUSED; 4];
            for (saved, register) in saved.iter_mut().zip(state.registers.iter().skip(FIRST_SAVED)) {
                *saved = *register;
            }
            let context = state.register(callback.context);
            other.callers.push(Caller { call: pc, chain: state.chain, saved, context });
            match callback.doubt(state) {
                None => {
                    self.visits.started.insert((pc, start));
                }
                Some(doubt) => other.doubt = other.doubt.or(Some(doubt)),
            }
            self.enter_callback(other, callback, start, chain);
        }
        state.doubt = state.doubt.or(Some(Undecided::Approximation));
        finish_call(state, callback.result(pc));
    }

    /// Calls the function that a path leaves again, with the stack that the function has changed.
    fn repeat_callback(&mut self, state: &mut State, other: &mut State, callback: CallbackHelper) {
        let Some(chain) = self.chains.get(index(state.chain)) else { return };
        let Some(function) = self.flow.function(chain.function) else { return };
        let start = chain.first_entry.saturating_add(index(function.join_count));
        let first = self.entries.get(start).map_or(&[][..], |entry| &entry.states);
        forget_changes(state, first);
        other.copy_from(state);
        other.doubt = other.doubt.or(Some(Undecided::Approximation));
        self.enter_callback(other, callback, function.insns.start, state.chain);
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
    fn leave(&mut self, state: &mut State, other: &mut State) -> bool {
        let call = state.callers.last().and_then(|caller| self.program.insns.get(index(caller.call)));
        let callback = call.and_then(|call| CallbackHelper::called_by(*call));
        if let Some(callback) = callback {
            self.repeat_callback(state, other, callback);
        }
        let frame = state.frame();
        let Some(caller) = state.callers.pop() else { return false };
        state.slots.retain(|slot| slot.frame < frame);
        for (register, saved) in state.registers.iter_mut().skip(FIRST_SAVED).zip(caller.saved) {
            *register = saved;
        }
        let result = callback.map_or_else(|| state.register(0), |callback| callback.result(caller.call));
        finish_call(state, result);
        state.set(super::state::FRAME_POINTER, Value::Stack { frame: state.frame(), offset: 0 });
        state.pc = caller.call.saturating_add(1);
        state.chain = caller.chain;
        true
    }

    /// Lets a path continue at every instruction of the function, after an indirect jump.
    fn arrive_anywhere(&mut self, state: &State, other: &mut State) {
        let function = self.chains.get(index(state.chain)).map(|chain| chain.function);
        let insns = function.and_then(|function| self.flow.function(function)).map(|f| f.insns.clone());
        for pc in insns.into_iter().flatten() {
            other.copy_from(state);
            other.pc = pc;
            for register in 0..super::state::FRAME_POINTER {
                other.set(register, Value::Any);
            }
            other.doubt = Some(state.doubt.unwrap_or(Undecided::Approximation));
            self.arrive(other);
            if self.is_exhausted {
                return;
            }
        }
    }

    /// Stores a state at a join point, to follow the state later, unless another state replaces it.
    fn arrive(&mut self, state: &mut State) {
        let Some(join) = self.flow.join(state.pc) else { return };
        state.clear_dead(self.flow.live(state.pc));
        self.arrive_at(state, join);
    }

    fn arrive_at(&mut self, state: &State, join: u32) {
        self.visits.mark(state);
        if !self.charge(limits::STEPS_PER_STATE) {
            return;
        }
        let Some(chain) = self.chains.get(index(state.chain)) else { return };
        let number = chain.first_entry.saturating_add(index(join));
        let Some(entry) = self.entries.get_mut(number) else { return };
        let joined = entry.joined.iter().flatten().map(|joined| &joined.state);
        if entry.states.iter().chain(joined).any(|old| old.replaces(state)) {
            return;
        }
        let priority = (state.callers.len(), Reverse(state.pc), Reverse(number));
        if entry.states.len() < limits::STATES_PER_INSN {
            let Some(values_left) = self.values_left.checked_sub(state.value_count()) else {
                self.is_exhausted = true;
                return;
            };
            self.values_left = values_left;
            let place = Place::Single(entry.states.len());
            entry.states.push(state.clone());
            self.pending.push((priority.0, priority.1, priority.2, place));
            return;
        }
        let kind = usize::from(state.doubt.is_some());
        let Some(slot) = entry.joined.get_mut(kind) else { return };
        let joined = match slot {
            None => slot.insert(Box::new(Joined { state: state.clone(), joins: 0, is_pending: false })),
            Some(joined) => {
                let keeps_range = joined.joins < limits::JOINS_WITH_RANGES;
                joined.joins = joined.joins.saturating_add(1);
                joined.state.join(state, keeps_range);
                joined
            }
        };
        if !core::mem::replace(&mut joined.is_pending, true) {
            self.pending.push((priority.0, priority.1, priority.2, Place::Joined(kind)));
        }
    }
}
