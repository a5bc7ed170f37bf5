//! The match of a local access to a field with a target type.

use super::{
    error::{CandidateMismatch, MatchError},
    field_compat::fields_are_compat,
    match_outcome::MatchOutcome,
    pattern::{AccessPattern, FieldStep, TypeLayers},
    step_budget::StepBudget,
};
use crate::{
    Name, TypeId,
    btf::{Btf, Type},
    index::to_u32,
    limits,
    spec::{Accessor, Spec},
};

/// Follows the steps of `pattern` on the target type (libbpf: `bpf_core_spec_match`, its field part).
pub(super) fn match_field(
    pattern: AccessPattern<'_>,
    target_btf: &Btf<'_>,
    target: TypeId,
    steps: &mut StepBudget,
) -> Result<MatchOutcome, MatchError> {
    let mut walk = TargetWalk { btf: target_btf, spec: Spec::new(target, pattern.kind()), at: target, steps };
    for (step, local) in pattern.field_steps().enumerate() {
        let mismatch = match local? {
            FieldStep::Element(index) => walk.enter_element(step, index)?,
            FieldStep::Member { name, layers } => walk.enter_member(step, name, layers)?,
        };
        if let Some(mismatch) = mismatch {
            return Ok(MatchOutcome::Mismatch(mismatch));
        }
    }
    Ok(MatchOutcome::Match(walk.spec))
}

/// The position in the target that the access has reached.
struct TargetWalk<'w> {
    btf: &'w Btf<'w>,
    /// The access so far.
    spec: Spec,
    /// The type at the position.
    at: TypeId,
    steps: &'w mut StepBudget,
}

/// The result of the search for a member in one composite.
enum MemberSearch {
    /// The member's type, which is compatible.
    Found(TypeId),
    /// A member of this name has another type.
    Incompatible { ty: TypeId, member: u32 },
    /// No member has this name.
    Absent,
}

impl TargetWalk<'_> {
    /// Enters element `index`. The first step of an access counts from the root, later ones need an array.
    fn enter_element(&mut self, step: usize, index: u32) -> Result<Option<CandidateMismatch>, MatchError> {
        let mut ty = self.steps.strip(self.btf, self.at)?;
        if step > 0 {
            self.steps.take(1)?;
            let Some(array) = ty.array() else {
                return Ok(Some(CandidateMismatch::NotArray { step, ty: ty.id(), kind: ty.kind() }));
            };
            let last = self.spec.accessors.last();
            let is_flexible = last.is_some_and(|last| last.is_flexible_array(self.btf, array.nelems));
            if !is_flexible && index >= array.nelems {
                return Ok(Some(CandidateMismatch::OutOfRange {
                    step,
                    ty: ty.id(),
                    index,
                    nelems: array.nelems,
                }));
            }
            ty = self.steps.strip(ty.btf(), array.element)?;
        }
        self.push_raw(index)?;
        self.spec.accessors.push(Accessor { ty: ty.id(), index, named: false });
        // libbpf takes the size for an `int` here, and only here: 2 GiB or more is an error.
        let size = self.btf.size_of(ty.id())?;
        if i32::try_from(size.0).is_err() {
            return Err(MatchError::TooLarge { ty: ty.id(), size });
        }
        self.spec.advance(index.wrapping_mul(size.0).wrapping_mul(8));
        self.at = ty.id();
        Ok(None)
    }

    /// Enters the member of exactly this name. Members of anonymous members are members of the composite, as
    /// in C.
    fn enter_member(
        &mut self,
        step: usize,
        name: Name<'_>,
        layers: TypeLayers<'_>,
    ) -> Result<Option<CandidateMismatch>, MatchError> {
        let ty = self.steps.strip(self.btf, self.at)?;
        if !ty.kind().is_composite() {
            return Ok(Some(CandidateMismatch::NotComposite { step, ty: ty.id(), kind: ty.kind() }));
        }
        match self.find_member(ty, name, layers)? {
            MemberSearch::Found(next) => {
                self.at = next;
                Ok(None)
            }
            MemberSearch::Incompatible { ty, member } => {
                Ok(Some(CandidateMismatch::MemberType { step, ty, member }))
            }
            MemberSearch::Absent => Ok(Some(CandidateMismatch::NoMember { step, ty: ty.id() })),
        }
    }

    /// Searches depth first, in order of members. The first member of the name decides (libbpf:
    /// `bpf_core_match_member`).
    ///
    /// Recursion is as deep as the access has parts: at most [`limits::SPEC_PARTS`].
    fn find_member(
        &mut self,
        ty: Type<'_>,
        name: Name<'_>,
        layers: TypeLayers<'_>,
    ) -> Result<MemberSearch, MatchError> {
        let end = to_u32(ty.members().len());
        let mut next = 0;
        while let Some(unread) = end.checked_sub(next).filter(|unread| *unread > 0) {
            // At least one member is compared: the step that its name takes reports that the budget is used
            // up.
            let count = unread.min(self.steps.affordable_names(name).max(1));
            let range_end = next.wrapping_add(count);
            let found = ty.next_member(next..range_end, name.as_bytes());
            let last = found.map_or(range_end.wrapping_sub(1), |member| member.index);
            self.steps.take_names(last.abs_diff(next).wrapping_add(1), name)?;
            next = last.wrapping_add(1);
            let before = self.spec.bit_offset;
            // libbpf counts a part for each member that it compares, so the limit also applies where none is
            // found.
            self.push_raw(last)?;
            let Some(member) = found else {
                self.spec.raw.pop();
                continue;
            };
            ty.check_element_name(member.name, member.name_offset)?;
            self.spec.advance(member.bit_offset.0);
            if !member.name.is_empty() {
                self.spec.accessors.push(Accessor { ty: ty.id(), index: member.index, named: true });
                if fields_are_compat(layers, ty.btf(), member.ty, self.steps)? {
                    return Ok(MemberSearch::Found(member.ty));
                }
                self.spec.accessors.pop();
                return Ok(MemberSearch::Incompatible { ty: ty.id(), member: member.index });
            }
            let inner = self.steps.strip(ty.btf(), member.ty)?;
            match self.find_member(inner, name, layers)? {
                MemberSearch::Absent => {}
                // C does not allow a second member of the name. libbpf continues the search, and adds the
                // offset of the first member.
                decided => return Ok(decided),
            }
            self.spec.bit_offset = before;
            self.spec.raw.pop();
        }
        Ok(MemberSearch::Absent)
    }

    fn push_raw(&mut self, part: u32) -> Result<(), MatchError> {
        if self.spec.raw.len() >= limits::SPEC_PARTS {
            return Err(MatchError::TooDeep);
        }
        self.spec.raw.push(part);
        Ok(())
    }
}
