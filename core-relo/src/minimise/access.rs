//! The members and enumerators that an access needs in a candidate.

use super::needs::Needs;
use crate::{
    Name, TypeId,
    btf::{Member, Type},
    index::to_u32,
    limits,
    resolve::{AccessPattern, Candidate, FieldStep, OutOfSteps, StepBudget},
};

/// The result of the search for a member in one composite.
enum MemberSearch {
    /// The member's type.
    Found(TypeId),
    /// The members are nested more deeply than an access may be. The plan reports an error.
    TooDeep,
    /// No member has the name.
    Absent,
}

impl<'t> Needs<'t> {
    /// Adds the enumerator that the access finds in the candidate.
    pub(super) fn add_enumerator(
        &mut self,
        pattern: AccessPattern<'_>,
        Candidate { btf_index, id }: Candidate,
        steps: &mut StepBudget,
    ) -> Result<(), OutOfSteps> {
        let (Some(ty), Ok(name)) = (self.add_stripped(btf_index, id, steps)?, pattern.enumerator()) else {
            return Ok(());
        };
        for enumerator in ty.enumerators() {
            steps.take_name(enumerator.name)?;
            if enumerator.name.same_essential(name) {
                if let Some(need) = self.add_record(btf_index, ty.id()) {
                    need.add_element(enumerator.index);
                }
                return Ok(());
            }
        }
        Ok(())
    }

    /// Adds the members that the access finds in the candidate, as far as it finds them.
    ///
    /// The search is that of a match. It continues behind a member of an incompatible type, so that no later
    /// member of the same name takes the place of the first.
    pub(super) fn add_field(
        &mut self,
        pattern: AccessPattern<'_>,
        Candidate { btf_index, id }: Candidate,
        steps: &mut StepBudget,
    ) -> Result<(), OutOfSteps> {
        let mut at = id;
        for (step, local) in pattern.field_steps().enumerate() {
            let Some(ty) = self.add_stripped(btf_index, at, steps)? else { return Ok(()) };
            at = match (local, ty.array()) {
                (Ok(FieldStep::Element(_)), _) if step == 0 => ty.id(),
                (Ok(FieldStep::Element(_)), Some(array)) => array.element,
                (Ok(FieldStep::Member { name, .. }), _) => {
                    match self.add_member(btf_index, ty, name, (0, steps))? {
                        MemberSearch::Found(next) => next,
                        MemberSearch::TooDeep | MemberSearch::Absent => return Ok(()),
                    }
                }
                _ => return Ok(()),
            };
            self.add_extent(btf_index, at);
        }
        Ok(())
    }

    /// Adds the first member of the name, depth first, and the anonymous members around it.
    ///
    /// Recursion is as deep as an access may have parts: at most [`limits::SPEC_PARTS`].
    fn add_member(
        &mut self,
        btf_index: usize,
        ty: Type<'t>,
        name: Name<'_>,
        (depth, steps): (usize, &mut StepBudget),
    ) -> Result<MemberSearch, OutOfSteps> {
        if depth >= limits::SPEC_PARTS {
            return Ok(MemberSearch::TooDeep);
        }
        let end = to_u32(ty.members().len());
        let mut next = 0;
        while next < end {
            let count = end.abs_diff(next).min(steps.affordable_names(name).max(1));
            let range_end = next.wrapping_add(count);
            let found = ty.next_member(next..range_end, name.as_bytes());
            let last = found.map_or(range_end.wrapping_sub(1), |member| member.index);
            steps.take_names(last.abs_diff(next).wrapping_add(1), name)?;
            next = last.wrapping_add(1);
            let Some(member) = found else { continue };
            let search = if member.name.is_empty() {
                let inner = self.btf(btf_index).and_then(|btf| btf.strip(member.ty).ok());
                match inner {
                    Some(inner) => self.add_member(btf_index, inner, name, (depth.wrapping_add(1), steps))?,
                    // The plan reports the error of the type.
                    None => MemberSearch::TooDeep,
                }
            } else {
                MemberSearch::Found(member.ty)
            };
            if !matches!(search, MemberSearch::Absent) {
                self.keep_member(btf_index, ty, &member);
                return Ok(search);
            }
        }
        Ok(MemberSearch::Absent)
    }

    /// Adds a member and its type. The last member stays the last one, since only the last can be a flexible
    /// array.
    fn keep_member(&mut self, btf_index: usize, ty: Type<'t>, member: &Member<'_>) {
        let stripped = self.btf(btf_index).and_then(|btf| btf.strip(member.ty).ok());
        let is_empty_array = stripped.and_then(Type::array).is_some_and(|array| array.nelems == 0);
        let next = ty.member(member.index.wrapping_add(1)).filter(|_| is_empty_array);
        for kept in [Some(*member), next].into_iter().flatten() {
            self.add_extent(btf_index, kept.ty);
            if let Some(need) = self.add_record(btf_index, ty.id()) {
                need.add_element(kept.index);
            }
        }
    }
}
