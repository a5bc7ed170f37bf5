//! A budget of steps for searches and comparisons. Without a budget, hostile types take exponential time.

use super::error::MatchError;
use crate::{
    Name, TypeId,
    btf::{Btf, Type},
    index::to_u32,
};
use core::num::NonZeroU32;
use thiserror::Error;

/// The number of steps that a search or comparison may still take.
#[derive(Debug)]
pub(crate) struct StepBudget {
    left: u32,
}

/// The error of a search or comparison whose budget is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the budget of steps is used up")]
pub(crate) struct OutOfSteps;

impl From<OutOfSteps> for MatchError {
    fn from(_: OutOfSteps) -> Self {
        Self::TooManySteps
    }
}

impl StepBudget {
    /// Creates a budget of `limit` steps.
    pub(crate) const fn new(limit: u32) -> Self {
        Self { left: limit }
    }

    /// Takes `steps` from the budget. If fewer are left, the budget is empty afterwards, because the work is
    /// already done.
    pub(crate) fn take(&mut self, steps: u32) -> Result<(), OutOfSteps> {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or(0);
        left.map(|_| ()).ok_or(OutOfSteps)
    }

    /// Takes the steps for reading a name.
    pub(crate) fn take_name(&mut self, name: Name<'_>) -> Result<(), OutOfSteps> {
        self.take_names(1, name)
    }

    /// Takes the steps for comparing a name with `count` others.
    pub(crate) fn take_names(&mut self, count: u32, name: Name<'_>) -> Result<(), OutOfSteps> {
        // If the product saturates, every budget has too few steps.
        self.take(name_cost(name.as_bytes().len()).get().saturating_mul(count))
    }

    /// Takes the steps for comparing two names, both of which are read.
    pub(crate) fn take_name_pair(&mut self, first: Name<'_>, second: Name<'_>) -> Result<(), OutOfSteps> {
        self.take(name_cost([first, second].iter().map(|name| name.as_bytes().len()).sum()).get())
    }

    /// Returns the number of names that this budget can compare with `name`.
    pub(crate) fn affordable_names(&self, name: Name<'_>) -> u32 {
        self.left / name_cost(name.as_bytes().len())
    }

    /// Strips a type of modifiers and typedefs, and takes the steps for their chain.
    pub(crate) fn strip<'b>(&mut self, btf: &'b Btf<'_>, id: TypeId) -> Result<Type<'b>, MatchError> {
        let mut hops = 0;
        let ty = btf.strip_counting(id, &mut hops)?;
        self.take(chain_cost(hops))?;
        Ok(ty)
    }

    /// Splits off a budget of at most `limit` steps, for one of several tasks.
    pub(crate) fn split_off(&mut self, limit: u32) -> Self {
        let split = self.left.min(limit);
        self.left = self.left.abs_diff(split);
        Self { left: split }
    }

    /// Adds the remaining steps of a budget from [`split_off`](Self::split_off).
    pub(crate) fn merge(&mut self, Self { left }: Self) {
        // Does not saturate: a split does not increase the sum of the steps.
        self.left = self.left.saturating_add(left);
    }

    /// Returns the number of steps left.
    pub(crate) const fn remaining(&self) -> u32 {
        self.left
    }
}

/// The bytes of a name that one step reads.
const NAME_BLOCK: usize = 64;

/// Returns the number of steps for reading names of `len` bytes.
fn name_cost(len: usize) -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(to_u32(len / NAME_BLOCK))
}

/// Returns the number of steps for skipping modifiers and typedefs. Chains as short as those of real types
/// are free.
pub(crate) const fn chain_cost(hops: u32) -> u32 {
    hops / 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ByteOffset, Endian, StrOffset,
        btf::{Builder, Kind},
        ext::{CoreRelo, RelocKind},
        resolve::match_candidate,
        spec::{self, Accessor, Spec},
    };

    /// Without this each of a hundred thousand records could look through the same million members for the
    /// price of a step.
    #[test]
    fn a_search_compares_at_most_as_many_members_as_it_has_steps() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        let name = "x".repeat(640);
        let members = ["a", "b", "c", "d", &name].map(|name| (name, int, 0));
        let root = b.structure("s", 4, &members);
        let btf = Btf::parse(b.finish()).unwrap();
        let mut spec = Spec::new(root, RelocKind::FieldByteOffset);
        let steps = [(0, false), (4, true)].map(|(index, named)| Accessor { ty: root, index, named });
        spec.accessors = steps.into_iter().collect();
        // One step for the candidate, eleven for each member that is compared with this name.
        for (allowed, left) in [(56, Some(0)), (60, Some(4)), (55, None), (23, None), (1, None)] {
            let mut steps = StepBudget::new(allowed);
            let found = match_candidate(&btf, &spec, &btf, root, &mut steps);
            match left {
                Some(left) => {
                    assert!(found.is_ok() && steps.remaining() == left, "{allowed}: {found:?}, {steps:?}");
                }
                None => assert!(
                    found == Err(MatchError::TooManySteps) && steps.remaining() == 0,
                    "{allowed}: {found:?}"
                ),
            }
        }
        assert_eq!(StepBudget::new(55).affordable_names(Name::new(name.as_bytes())), 5);
        assert_eq!(StepBudget::new(0).affordable_names(Name::new(b"a")), 0);
    }

    /// Returns the steps that the match of a record with a type of the same BTF takes.
    fn steps_of(btf: &Btf<'_>, (kind, root, access): (RelocKind, TypeId, StrOffset)) -> u32 {
        let relo = CoreRelo { insn_offset: ByteOffset(0), root, access, kind };
        let mut steps = StepBudget::new(u32::MAX);
        let spec = spec::parse_access(btf, &relo).unwrap();
        assert!(match_candidate(btf, &spec, btf, root, &mut steps).is_ok());
        u32::MAX.abs_diff(steps.remaining())
    }

    /// Without this each of a hundred thousand records could pass through long chains of modifiers, or read
    /// long names, for the price of a step.
    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn long_chains_long_names_and_many_elements_take_steps() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        let long = "n".repeat(60_000);
        let far = (0..200).fold(int, |at, _| b.modifier(Kind::Const, at));
        let nested = (0..10).fold(int, |at, _| b.array(at, int, 1));
        let [a, b_, first, elements] =
            ["0:0", "0:1", "0", "0:0:0:0:0:0:0:0:0:0"].map(|access| b.string(access));
        let short = b.enumeration("short", 4, &[("A", 1)]);
        let of_short = b.structure("s", 8, &[("a", int, 0), ("b", short, 32)]);
        let of_far = b.structure("s", 8, &[("a", far, 0)]);
        let of_nested = b.structure("s", 8, &[("a", nested, 0)]);
        let long_enum = b.enumeration(&long, 4, &[(&long, 1)]);
        let of_long = b.structure("s", 8, &[("a", int, 0), ("b", long_enum, 32)]);
        let flavour = b.enumeration(&alloc::format!("e___{long}"), 4, &[(&alloc::format!("A___{long}"), 1)]);
        let btf = Btf::parse(b.finish()).unwrap();
        for ((kind, root, access), range) in [
            ((RelocKind::FieldExists, of_short, a), 2..=2),
            ((RelocKind::FieldExists, of_short, b_), 3..=5),
            ((RelocKind::EnumvalExists, short, first), 3..=3),
            ((RelocKind::TypeMatches, short, first), 3..=3),
            ((RelocKind::FieldExists, of_far, a), 90..=110),
            ((RelocKind::TypeExists, far, first), 90..=110),
            ((RelocKind::TypeMatches, far, first), 90..=110),
            ((RelocKind::FieldExists, of_nested, a), 11..=13),
            ((RelocKind::FieldExists, of_nested, elements), 18..=24),
            ((RelocKind::FieldExists, of_long, b_), 1_800..=2_000),
            ((RelocKind::EnumvalExists, long_enum, first), 1_800..=2_000),
            ((RelocKind::EnumvalExists, flavour, first), 1_800..=2_000),
            ((RelocKind::TypeMatches, long_enum, first), 3_700..=4_000),
        ] {
            let steps = steps_of(&btf, (kind, root, access));
            assert!(range.contains(&steps), "{kind} of [{root}]: {steps}, expected {range:?}");
        }
    }
}
