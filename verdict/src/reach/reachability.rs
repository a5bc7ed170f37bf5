//! The result of the analysis.

use crate::limits::RETURNED_VALUES;
use hashbrown::HashMap;

/// Whether the verifier reaches an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "callers decide on each")]
pub enum Reach {
    /// No path leads to the instruction.
    Dead,
    /// A path leads to the instruction.
    Reachable,
    /// A path may lead to the instruction.
    Undecided(Undecided),
}

/// The reason why reachability is undecided. The most specific reason comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Undecided {
    /// A branch depends on unknown data of a [frozen value](super::LoadedValue::Frozen) or on an
    /// [unknown value](super::LoadedValue::Unknown), loaded by this instruction.
    UnknownValue {
        /// The index of the `ld_imm64`.
        insn: u32,
    },
    /// A branch depends on a value that the verifier may know better than the analysis.
    Imprecision,
    /// The analysis stopped at its budget.
    Budget,
}

impl Undecided {
    /// Returns the most specific of two reasons.
    pub(super) fn most_specific(first: Option<Self>, second: Option<Self>) -> Option<Self> {
        [first, second].into_iter().flatten().min()
    }
}

/// A branch on a path, linked to the branch before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Branch {
    /// The number of the previous branch, or [`NO_BRANCH`].
    pub(super) previous: u32,
    pub(super) insn: u32,
    pub(super) is_taken: bool,
}

/// The link of a path without branches.
pub(super) const NO_BRANCH: u32 = u32::MAX;

/// The offset of an address in the context, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "callers decide on each")]
pub enum ContextOffset {
    /// A number.
    Constant(i32),
    /// A number of several that no verifier excludes, so that none takes the offset for a constant.
    Variable,
    /// A number that the analysis does not know. The verifier may know it.
    Unknown,
}

/// The result: for each instruction, whether the verifier reaches the instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reachability {
    pub(super) reached: Vec<Reach>,
    /// For each instruction, the last branch of a path to the instruction.
    pub(super) last_branch: Vec<u32>,
    pub(super) branches: Vec<Branch>,
    /// The accesses to the context: the instruction and the offset, and whether the verifier reaches the
    /// access.
    pub(super) context_accesses: HashMap<(u32, ContextOffset), Reach>,
    /// The values that the program returns, with the exits.
    pub(super) returned: Vec<ReturnedValue>,
    /// Whether the analysis followed all paths.
    pub(super) is_complete: bool,
}

/// A value that the program returns on some path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReturnedValue {
    /// The exit.
    pub insn: u32,
    /// Whether every verifier follows the path.
    pub is_certain: bool,
    /// The value.
    pub value: Returned,
}

/// What a path returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "callers decide on each")]
pub enum Returned {
    /// A number. No verifier excludes those from `lo` upwards to `hi`, which continue at zero after the
    /// largest one.
    Number {
        /// The first number.
        lo: u64,
        /// The last number.
        hi: u64,
    },
    /// A pointer.
    Pointer,
    /// A value that the verifier may know better than the analysis. All verifiers exclude values outside of
    /// these bounds.
    Bounded {
        /// The first number.
        lo: u64,
        /// The last number.
        hi: u64,
    },
}

impl Reachability {
    /// Returns whether the verifier reaches an instruction.
    pub fn reach(&self, insn: u32) -> Reach {
        let index = usize::try_from(insn).ok();
        index.and_then(|index| self.reached.get(index)).copied().unwrap_or(Reach::Dead)
    }

    /// Returns the number of the program's instructions.
    pub(super) fn insn_count(&self) -> usize {
        self.reached.len()
    }

    /// Returns the values that the program returns. `None` if the analysis did not follow all paths, or there
    /// are too many.
    pub fn returned(&self) -> Option<&[ReturnedValue]> {
        (self.is_complete && self.returned.len() < RETURNED_VALUES).then_some(&self.returned)
    }

    /// Returns whether the verifier reaches an access of an instruction to the context, at an offset.
    pub fn context_access(&self, insn: u32, offset: ContextOffset) -> Reach {
        // Few addresses that the trace of a program takes for variable ones are any.
        let is_dead = self.is_complete || offset == ContextOffset::Variable;
        let unseen = if is_dead { Reach::Dead } else { Reach::Undecided(Undecided::Budget) };
        self.context_accesses.get(&(insn, offset)).copied().unwrap_or(unseen)
    }

    /// Returns the number of branches on all explored paths.
    #[cfg(any(test, feature = "test-support"))]
    pub(crate) fn branch_count(&self) -> usize {
        self.branches.len()
    }

    /// Returns the branches of one path to an instruction: each branch instruction and whether the branch is
    /// taken. Empty if the instruction is dead.
    pub fn path(&self, insn: u32) -> Vec<(u32, bool)> {
        let index = usize::try_from(insn).ok();
        let last = index.and_then(|index| self.last_branch.get(index)).copied();
        let find = |number: u32| usize::try_from(number).ok().and_then(|number| self.branches.get(number));
        let links = core::iter::successors(last.and_then(find), |branch| find(branch.previous));
        let mut path: Vec<_> = links.map(|branch| (branch.insn, branch.is_taken)).collect();
        path.reverse();
        path
    }
}
