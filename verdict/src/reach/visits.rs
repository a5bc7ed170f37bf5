//! The results of the exploration at each instruction, over all states.

use super::branch::Direction;
use super::flow::index;
use super::interval::Interval;
use super::memory::unknown_argument;
use super::possible::Possible;
use super::reachability::{
    Branch, ContextOffset, NO_BRANCH, Reach, Reachability, Returned, ReturnedValue, Undecided,
};
use super::state::State;
use super::value::Value;
use crate::kernel::AccessKind;
use crate::limits;
use core_relo::insn::Insn;
use hashbrown::{HashMap, HashSet};

/// The verifier may refuse the program at the instruction: a path ends without leaving the function.
const REFUSED: u8 = 1;

/// A state follows a direction: if not taken, if taken.
const FOLLOWED: [u8; 2] = [2, 4];

/// A direction is not certain in some state: if not taken, if taken.
const UNCERTAIN: [u8; 2] = [8, 16];

/// In some state, the instruction does not access the context, or at an offset that is not known.
const OTHER_ACCESS: u8 = 32;

/// The exploration's results.
#[derive(Debug)]
pub(super) struct Visits {
    pub(super) result: Reachability,
    flags: Vec<u8>,
    /// The functions that calls of helpers pass as callbacks, and called global functions: call, function.
    pub(super) started: HashSet<(u32, u32)>,
}

impl Visits {
    pub(super) fn new(count: usize) -> Self {
        let result = Reachability {
            reached: vec![Reach::Dead; count],
            last_branch: vec![NO_BRANCH; count],
            branches: Vec::new(),
            context_accesses: HashMap::new(),
            returned: Vec::new(),
            is_complete: true,
        };
        Self { result, flags: vec![0; count], started: HashSet::new() }
    }

    /// Records that a state reaches its next instruction.
    pub(super) fn mark(&mut self, state: &State) {
        let position = index(state.pc);
        let (Some(reach), Some(last)) =
            (self.result.reached.get_mut(position), self.result.last_branch.get_mut(position))
        else {
            return;
        };
        let new = state.undecided.map_or(Reach::Reachable, Reach::Undecided);
        if *reach == Reach::Dead || (new == Reach::Reachable && *reach != Reach::Reachable) {
            *reach = new;
            *last = state.branch;
        }
    }

    /// Records the offset in the context that the next instruction of a state accesses.
    pub(super) fn mark_access(&mut self, state: &State, insn: Insn) {
        let Some((_, base)) = AccessKind::of(insn) else { return };
        let offset = match state.register(base) {
            Value::Context { offset } => offset.add(Some(insn.off.into())),
            _ => ContextOffset::Unknown,
        };
        if offset == ContextOffset::Unknown {
            return self.set(state.pc, OTHER_ACCESS);
        }
        let reach = state.undecided.map_or(Reach::Reachable, Reach::Undecided);
        let known = self.result.context_accesses.entry((state.pc, offset)).or_insert(reach);
        if reach == Reach::Reachable {
            *known = reach;
        }
    }

    /// Records the value that the program returns at the exit of a state.
    pub(super) fn mark_returned(&mut self, state: &State) {
        let unknown = |Interval { lo, hi }| Returned::Bounded { lo, hi };
        let value = match state.register(0) {
            // The verifier may take the number for a pointer, and know more about it.
            Value::Scalar(scalar) if scalar.possible == unknown_argument().possible => {
                unknown(Interval::FULL)
            }
            Value::Scalar(scalar) => match scalar.possible {
                Possible::Unknown(_) => unknown(scalar.bounds),
                Possible::Range(Interval { lo, hi }) => Returned::Number { lo, hi },
                // The largest of the numbers.
                Possible::Bits { value, mask } => Returned::Number { lo: value | mask, hi: value | mask },
            },
            Value::Stack { .. } | Value::Frozen { .. } | Value::Context { .. } | Value::Map { .. } => {
                Returned::Pointer
            }
            _ => unknown(Interval::FULL),
        };
        let value = ReturnedValue { insn: state.pc, is_certain: state.undecided.is_none(), value };
        let known = &mut self.result.returned;
        if known.len() < limits::RETURNED_VALUES && !known.contains(&value) {
            known.push(value);
        }
    }

    /// Decides on the accesses to the context of reachable instructions that access nothing else.
    pub(super) fn conclude_accesses(&mut self) {
        let mut accesses = core::mem::take(&mut self.result.context_accesses);
        let mut counts: HashMap<u32, u32> = HashMap::new();
        for (insn, _) in accesses.keys() {
            let count = counts.entry(*insn).or_default();
            *count = count.saturating_add(1);
        }
        for ((insn, _), reach) in &mut accesses {
            let is_only = counts.get(insn) == Some(&1) && !self.has(*insn, OTHER_ACCESS);
            if is_only && self.result.reach(*insn) == Reach::Reachable {
                *reach = Reach::Reachable;
            }
        }
        self.result.context_accesses = accesses;
    }

    /// Records that the verifier may refuse the program at an instruction.
    pub(super) fn mark_refused(&mut self, insn: u32) {
        self.set(insn, REFUSED);
    }

    /// Records the directions of a branch in a state: if taken, if not taken.
    pub(super) fn mark_directions(&mut self, insn: u32, directions: [Direction; 2]) {
        let [taken, not_taken] = directions;
        for (direction, is_taken) in [(not_taken, false), (taken, true)] {
            let side = usize::from(is_taken);
            if direction != Direction::Dead {
                self.set(insn, FOLLOWED.get(side).copied().unwrap_or(0));
            }
            if direction != Direction::Certain {
                self.set(insn, UNCERTAIN.get(side).copied().unwrap_or(0));
            }
        }
    }

    fn set(&mut self, insn: u32, flag: u8) {
        if let Some(flags) = self.flags.get_mut(index(insn)) {
            *flags |= flag;
        }
    }

    fn has(&self, insn: u32, flag: u8) -> bool {
        self.flags.get(index(insn)).is_some_and(|flags| flags & flag != 0)
    }

    /// Returns whether the verifier may refuse the program at an instruction.
    pub(super) fn may_be_refused(&self, insn: u32) -> bool {
        self.has(insn, REFUSED)
    }

    /// Returns whether a state follows a direction of a branch.
    pub(super) fn is_followed(&self, insn: u32, is_taken: bool) -> bool {
        self.has(insn, FOLLOWED.get(usize::from(is_taken)).copied().unwrap_or(0))
    }

    /// Returns whether every verifier follows a direction of a branch, in all states.
    pub(super) fn is_certain(&self, insn: u32, is_taken: bool) -> bool {
        let uncertain = UNCERTAIN.get(usize::from(is_taken)).copied().unwrap_or(0);
        self.is_followed(insn, is_taken) && !self.has(insn, uncertain)
    }

    /// Returns whether any path reaches an instruction.
    pub(super) fn is_visited(&self, insn: u32) -> bool {
        self.result.reach(insn) != Reach::Dead
    }

    /// Adds a branch to a state's path.
    pub(super) fn add_branch(&mut self, state: &mut State, insn: u32, is_taken: bool) {
        let number = u32::try_from(self.result.branches.len()).unwrap_or(u32::MAX);
        self.result.branches.push(Branch { previous: state.branch, insn, is_taken });
        state.branch = number;
    }

    /// Marks all instructions that are not reachable for certain as undecided, because of the budget.
    pub(super) fn leave_undecided(&mut self) {
        self.result.is_complete = false;
        for reach in self.result.reached.iter_mut().filter(|reach| **reach != Reach::Reachable) {
            *reach = Reach::Undecided(Undecided::Budget);
        }
    }
}
