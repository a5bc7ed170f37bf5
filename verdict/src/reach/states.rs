//! The stored states of an exploration, and the order in which paths continue from them.

use super::flow::index;
use super::state::State;
use crate::limits;
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use hashbrown::HashMap;

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

/// A stored state of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum StateId {
    /// The joined state, certain or not.
    Joined(usize),
    /// One of the states.
    Single(usize),
}

/// A state to follow: the calls, the instruction, the entry, the state of the entry.
///
/// Deep calls come first, then low instructions, so that paths meet before they are followed further.
type Pending = (usize, Reverse<u32>, Reverse<usize>, StateId);

/// A chain of calls that are active at once.
#[derive(Debug)]
struct Chain {
    function: u32,
    /// The number of the entry of the function's first join point. The last entry is that of the function's
    /// start.
    first_entry: usize,
}

/// The limit on stored states is reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoreFull;

/// The stored states of all call chains.
#[derive(Debug)]
pub(super) struct StateStore {
    pending: BinaryHeap<Pending>,
    entries: Vec<Entry>,
    chains: Vec<Chain>,
    /// The chains by the chain of the caller, the call and the function.
    callees: HashMap<(u32, u32, u32), u32>,
    /// The chain of each function that is verified by itself.
    roots: HashMap<u32, u32>,
    values_left: usize,
}

impl StateStore {
    pub(super) fn new() -> Self {
        Self {
            pending: BinaryHeap::new(),
            entries: Vec::new(),
            chains: Vec::new(),
            callees: HashMap::new(),
            roots: HashMap::new(),
            values_left: limits::STORED_VALUES,
        }
    }

    /// Copies the next pending state. Returns whether there was one.
    pub(super) fn next_pending(&mut self, state: &mut State) -> bool {
        while let Some((_, _, Reverse(entry), id)) = self.pending.pop() {
            let Some(entry) = self.entries.get_mut(entry) else { continue };
            let stored = match id {
                StateId::Single(number) => entry.states.get(number),
                StateId::Joined(kind) => entry.joined.get_mut(kind).and_then(Option::as_mut).map(|joined| {
                    joined.is_pending = false;
                    &joined.state
                }),
            };
            if let Some(stored) = stored {
                state.copy_from(stored);
                return true;
            }
        }
        false
    }

    /// Returns the function at the end of a call chain.
    pub(super) fn function(&self, chain: u32) -> Option<u32> {
        self.chains.get(index(chain)).map(|chain| chain.function)
    }

    /// Returns whether a function is verified by itself.
    pub(super) fn is_root(&self, function: u32) -> bool {
        self.roots.contains_key(&function)
    }

    /// Returns the chain of a function with a number of join points that is verified by itself.
    pub(super) fn root_chain(&mut self, function: u32, joins: u32) -> Result<u32, StoreFull> {
        if let Some(chain) = self.roots.get(&function) {
            return Ok(*chain);
        }
        let chain = self.add_chain(function, joins)?;
        self.roots.insert(function, chain);
        Ok(chain)
    }

    /// Returns the chain of a function with a number of join points that the next instruction of a state
    /// calls.
    pub(super) fn callee_chain(
        &mut self,
        state: &State,
        function: u32,
        joins: u32,
    ) -> Result<u32, StoreFull> {
        let key = (state.chain, state.pc, function);
        if let Some(chain) = self.callees.get(&key) {
            return Ok(*chain);
        }
        let chain = self.add_chain(function, joins)?;
        self.callees.insert(key, chain);
        Ok(chain)
    }

    /// Adds a call chain that ends in a function with a number of join points.
    fn add_chain(&mut self, function: u32, joins: u32) -> Result<u32, StoreFull> {
        let first_entry = self.entries.len();
        let end = first_entry.checked_add(index(joins)).and_then(|last| last.checked_add(1));
        let end = end.filter(|end| *end <= limits::STATE_ENTRIES).ok_or(StoreFull)?;
        self.entries.resize_with(end, Entry::default);
        let number = u32::try_from(self.chains.len()).ok().ok_or(StoreFull)?;
        self.chains.push(Chain { function, first_entry });
        Ok(number)
    }

    /// Returns the stored states at a join point of a chain's function. The number of join points stands for
    /// the function's start.
    pub(super) fn states_at(&self, chain: u32, join: u32) -> impl Iterator<Item = &State> + Clone {
        let chain = self.chains.get(index(chain));
        let entry = chain.and_then(|chain| self.entries.get(chain.first_entry..)?.get(index(join)));
        entry.into_iter().flat_map(|entry| {
            let joined = entry.joined.iter().flatten().map(|joined| &joined.state);
            entry.states.iter().chain(joined)
        })
    }

    /// Stores a state at a join point of its function, to follow the state later, unless a stored state
    /// replaces it.
    pub(super) fn insert(&mut self, state: &State, join: u32) -> Result<(), StoreFull> {
        // A state without an entry would be a path that is not followed.
        let chain = self.chains.get(index(state.chain)).ok_or(StoreFull)?;
        let number = chain.first_entry.checked_add(index(join)).ok_or(StoreFull)?;
        let entry = self.entries.get_mut(number).ok_or(StoreFull)?;
        let joined = entry.joined.iter().flatten().map(|joined| &joined.state);
        if entry.states.iter().chain(joined).any(|old| old.replaces(state)) {
            return Ok(());
        }
        let pending = |id| (state.callers.len(), Reverse(state.pc), Reverse(number), id);
        if entry.states.len() < limits::STATES_PER_INSN {
            self.values_left = self.values_left.checked_sub(state.value_count()).ok_or(StoreFull)?;
            self.pending.push(pending(StateId::Single(entry.states.len())));
            entry.states.push(state.clone());
            return Ok(());
        }
        let kind = usize::from(state.undecided.is_some());
        let Some(slot) = entry.joined.get_mut(kind) else { return Ok(()) };
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
            self.pending.push(pending(StateId::Joined(kind)));
        }
        Ok(())
    }
}
