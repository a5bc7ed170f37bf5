//! A bound on work: types can be made so that looking through them takes exponential time.

use super::MatchError;
use crate::{
    btf::{Btf, Type},
    ids::{TypeId, to_u32},
    name::Name,
};

/// Steps that may still be taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    left: u32,
}

impl Steps {
    /// So many and no more.
    pub(crate) const fn new(limit: u32) -> Self {
        Self { left: limit }
    }

    /// Takes one.
    pub(crate) fn take(&mut self) -> Result<(), MatchError> {
        self.take_many(1)
    }

    /// Takes as many as comparing a name costs.
    pub(crate) fn take_name(&mut self, name: Name<'_>) -> Result<(), MatchError> {
        self.take_names(1, name)
    }

    /// Takes as many as comparing two names costs, both of which are read.
    pub(crate) fn take_two_names(&mut self, one: Name<'_>, other: Name<'_>) -> Result<(), MatchError> {
        let len = one.as_bytes().len().saturating_add(other.as_bytes().len());
        self.take_many(cost_of_bytes(len))
    }

    /// Strips a type of modifiers and typedefs, and takes as many as a long chain of these costs.
    pub(crate) fn strip<'b>(&mut self, btf: &'b Btf<'_>, id: TypeId) -> Result<Type<'b>, MatchError> {
        let mut hops = 0;
        let ty = btf.strip_in(id, &mut hops)?;
        self.take_many(cost_of_chain(hops))?;
        Ok(ty)
    }

    /// Takes as many as comparing a name with so many others costs.
    pub(crate) fn take_names(&mut self, others: u32, name: Name<'_>) -> Result<(), MatchError> {
        self.take_many(cost(name).saturating_mul(others))
    }

    /// How many names can be compared with this one before there are no steps left; at least one, which is then one too many.
    pub(crate) fn affords(self, name: Name<'_>) -> u32 {
        self.left.checked_div(cost(name)).unwrap_or_default().max(1)
    }

    /// Where too few are left, none are after: the work was done.
    pub(crate) fn take_many(&mut self, steps: u32) -> Result<(), MatchError> {
        let enough = self.left >= steps;
        self.left = self.left.saturating_sub(steps);
        if enough { Ok(()) } else { Err(MatchError::TooManySteps) }
    }

    /// How many are left.
    pub(crate) const fn left(self) -> u32 {
        self.left
    }
}

/// What it costs to compare a name.
fn cost(name: Name<'_>) -> u32 {
    cost_of_bytes(name.as_bytes().len())
}

fn cost_of_bytes(len: usize) -> u32 {
    to_u32(len / 64).saturating_add(1)
}

/// What it costs to pass through so many modifiers and typedefs: nothing, as long as they are as few as in real types.
pub(crate) const fn cost_of_chain(hops: u32) -> u32 {
    hops / 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Endian,
        btf::{Builder, Kind},
        ext::{CoreRelo, RelocKind},
        ids::{ByteOffset, StrOffset},
        resolve::match_candidate,
        spec::{self, Accessor, Spec},
    };

    /// Else each of a hundred thousand records could look through the same million members for the price of a step.
    #[test]
    fn a_search_looks_at_no_more_members_than_it_has_steps_for() {
        let mut b = Builder::new(Endian::Little);
        let int = b.int("int", 4, Builder::SIGNED);
        let name = "x".repeat(640);
        let members = ["a", "b", "c", "d", &name].map(|name| (name, int, 0));
        let root = b.structure("s", 4, &members);
        let btf = Btf::parse(b.finish()).unwrap();
        let mut spec = Spec::of_root(root, RelocKind::FieldByteOffset);
        let steps = [(0, false), (4, true)].map(|(index, named)| Accessor { ty: root, index, named });
        spec.accessors = steps.into_iter().collect();
        // One for the candidate, eleven for each member that is compared with this name.
        for (allowed, left) in [(56, Some(0)), (60, Some(4)), (55, None), (23, None), (1, None)] {
            let mut steps = Steps::new(allowed);
            let found = match_candidate(&btf, &spec, &btf, root, &mut steps);
            match left {
                Some(left) => {
                    assert!(found.is_ok() && steps.left() == left, "{allowed}: {found:?}, {steps:?}");
                }
                None => assert!(
                    found == Err(MatchError::TooManySteps) && steps.left() == 0,
                    "{allowed}: {found:?}"
                ),
            }
        }
        assert_eq!(Steps::new(55).affords(Name::new(name.as_bytes())), 5);
        assert_eq!(Steps::new(0).affords(Name::new(b"a")), 1);
    }

    /// Steps of trying a record on a target type of the same BTF.
    fn steps_of(btf: &Btf<'_>, (kind, root, access): (RelocKind, TypeId, StrOffset)) -> u32 {
        let relo = CoreRelo { insn_offset: ByteOffset(0), root, access, kind };
        let mut steps = Steps::new(u32::MAX);
        let spec = spec::local(btf, &relo).unwrap();
        assert!(match_candidate(btf, &spec, btf, root, &mut steps).is_ok());
        u32::MAX.abs_diff(steps.left())
    }

    /// Else each of a hundred thousand records could walk along hidden modifiers, or read long names, for the price of a step.
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
        let short = b.enumeration("short", 4, false, &[("A", 1)]);
        let of_short = b.structure("s", 8, &[("a", int, 0), ("b", short, 32)]);
        let of_far = b.structure("s", 8, &[("a", far, 0)]);
        let of_nested = b.structure("s", 8, &[("a", nested, 0)]);
        let long_enum = b.enumeration(&long, 4, false, &[(&long, 1)]);
        let of_long = b.structure("s", 8, &[("a", int, 0), ("b", long_enum, 32)]);
        let flavour =
            b.enumeration(&alloc::format!("e___{long}"), 4, false, &[(&alloc::format!("A___{long}"), 1)]);
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
