//! Accesses of the target's type in place of a missing access with several parts, such as `rss_stat.count[0]`
//! for `rss_stat[0].count`.

use super::{
    alternative::{AlternativeMember, PathStep},
    near_match::RESULTS_PER_SORT,
};
use crate::{
    Name, TypeId,
    btf::{Btf, Kind, Member, Type},
    explain::similar::{BareName, NamePattern},
    plan::{CandidateResult, CheckedCandidate, PlannedReloc},
    resolve::{CandidateMismatch, OutOfSteps, StepBudget},
};
use alloc::vec::Vec;

/// The number of parts of an alternative access.
const PATH_PARTS: usize = 8;
/// The number of levels of anonymous members in a search.
const ANONYMOUS_LEVELS: u32 = 4;

/// A part of the missing access.
#[derive(Clone, Copy, Debug)]
enum Part<'o> {
    Member(Name<'o>),
    Element(u32),
}

/// Returns the alternatives to an access with several parts, the most similar first. Returns none for an
/// access to a member alone.
pub(in crate::explain) fn find_other_shapes<'p>(
    planned: &PlannedReloc<'p>,
    results: &[CheckedCandidate<'p>],
    steps: &mut StepBudget,
) -> Result<Vec<AlternativeMember>, OutOfSteps> {
    let Some(spec) = planned.local_spec() else { return Ok(Vec::new()) };
    let part = |accessor: &crate::spec::Accessor| match accessor.name(planned.btf()) {
        Some(name) => Part::Member(name),
        None => Part::Element(accessor.index),
    };
    let parts: Vec<_> = spec.accessors.iter().skip(1).map(part).collect();
    let failed = results.iter().find_map(|checked| match checked.result {
        CandidateResult::Mismatch(mismatch) => Some((checked, failed_step(mismatch)?)),
        _ => None,
    });
    let Some((checked, step)) = failed.filter(|_| parts.len() > 1) else { return Ok(Vec::new()) };
    // The first accessor is the index of the root.
    let mut members = parts.iter().take(step).enumerate().filter(|(_, part)| matches!(part, Part::Member(_)));
    let Some((first, _)) = members.next_back() else { return Ok(Vec::new()) };
    let mut search = ShapeSearch { btf: &checked.target_btf.btf, steps };
    let (before, rest) = parts.split_at(first);
    search.find(checked.candidate.id, before, rest)
}

/// Returns the index of the accessor that the target does not have.
const fn failed_step(mismatch: CandidateMismatch) -> Option<usize> {
    match mismatch {
        CandidateMismatch::NoMember { step, .. }
        | CandidateMismatch::MemberType { step, .. }
        | CandidateMismatch::NotComposite { step, .. }
        | CandidateMismatch::NotArray { step, .. } => Some(step),
        _ => None,
    }
}

struct ShapeSearch<'b, 's> {
    btf: &'b Btf<'b>,
    steps: &'s mut StepBudget,
}

impl<'b> ShapeSearch<'b, '_> {
    /// Finds alternatives to `rest`, which begins with the member that does not fit. The target has the parts
    /// `before` it.
    fn find(
        &mut self,
        root: TypeId,
        before: &[Part<'_>],
        rest: &[Part<'_>],
    ) -> Result<Vec<AlternativeMember>, OutOfSteps> {
        let Some((Part::Member(missing), rest)) = rest.split_first() else { return Ok(Vec::new()) };
        let mut start = Vec::new();
        let Some(composite) = self.enter(root, before, &mut start)? else { return Ok(Vec::new()) };
        let (mut names, mut elements) = (Vec::new(), Vec::new());
        for part in rest {
            match part {
                Part::Member(name) => names.push(*name),
                Part::Element(index) => elements.push(*index),
            }
        }
        let mut members = Vec::new();
        self.add_members(composite, ANONYMOUS_LEVELS, &mut members)?;
        let pattern = NamePattern::new(missing.as_bytes());
        let mut ranked = Vec::new();
        for member in members {
            let name = BareName::new(member.name.as_bytes());
            let distance = pattern.as_ref().zip(name).and_then(|(pattern, name)| pattern.distance(&name));
            let joins = names.last().is_some_and(|last| is_joined(member.name, *missing, *last));
            let is_exact = member.name == *missing;
            let path = if is_exact || distance.is_some() {
                self.follow(member, (&names, &elements), is_exact)?
            } else {
                None
            };
            // `i_atime_sec` in place of `i_atime.tv_sec`.
            let path = match path {
                None if joins && elements.is_empty() => self.follow(member, (&[], &[]), false)?,
                path => path,
            };
            ranked.extend(path.map(|path| ((!is_exact, distance.unwrap_or(0)), path)));
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        let whole = |path: Vec<PathStep<'b>>| {
            let steps: Vec<_> = start.iter().copied().chain(path).collect();
            AlternativeMember::new(self.btf, &steps)
        };
        Ok(ranked.into_iter().filter_map(|(_, path)| whole(path)).take(RESULTS_PER_SORT).collect())
    }

    /// Follows parts that the target has, and returns the composite at their end.
    fn enter(
        &mut self,
        root: TypeId,
        parts: &[Part<'_>],
        path: &mut Vec<PathStep<'b>>,
    ) -> Result<Option<Type<'b>>, OutOfSteps> {
        let mut at = root;
        for part in parts {
            let Some(ty) = self.strip(at)? else { return Ok(None) };
            at = match part {
                Part::Element(index) => {
                    let Some(array) = ty.array() else { return Ok(None) };
                    path.push(PathStep::Element(*index));
                    array.element
                }
                Part::Member(name) => {
                    let Some(member) = self.find_member(ty, *name)? else { return Ok(None) };
                    path.push(PathStep::Member(member));
                    member.ty
                }
            };
        }
        Ok(self.strip(at)?.filter(|ty| ty.kind().is_composite()))
    }

    /// Follows names and indices from a member to an integer or pointer. Indices are used where the target
    /// has arrays, and the only member of a struct, such as that of `atomic_t`, needs no name. If
    /// `may_end_early`, an integer or pointer may come before the last names.
    fn follow(
        &mut self,
        first: Member<'b>,
        (mut names, mut elements): (&[Name<'_>], &[u32]),
        may_end_early: bool,
    ) -> Result<Option<Vec<PathStep<'b>>>, OutOfSteps> {
        let (mut path, mut at) = (Vec::from([PathStep::Member(first)]), first.ty);
        while path.len() < PATH_PARTS {
            let Some(ty) = self.strip(at)? else { return Ok(None) };
            if let Some(array) = ty.array() {
                let Some((index, others)) =
                    elements.split_first().filter(|(index, _)| **index < array.nelems)
                else {
                    return Ok(None);
                };
                path.push(PathStep::Element(*index));
                (at, elements) = (array.element, others);
            } else if ty.kind().is_composite() {
                let member = match names.split_first() {
                    Some((name, others)) => {
                        names = others;
                        self.find_member(ty, *name)?
                    }
                    None => ty.member(0).filter(|_| ty.vlen() == 1),
                };
                let Some(member) = member else { return Ok(None) };
                path.push(PathStep::Member(member));
                at = member.ty;
            } else {
                let is_complete = elements.is_empty() && (names.is_empty() || may_end_early);
                let is_value = matches!(ty.kind(), Kind::Int | Kind::Ptr);
                return Ok(Some(path).filter(|_| is_complete && is_value));
            }
        }
        Ok(None)
    }

    fn strip(&mut self, id: TypeId) -> Result<Option<Type<'b>>, OutOfSteps> {
        let mut hops = 0;
        let ty = self.btf.strip_counting(id, &mut hops).ok();
        self.steps.take(hops.saturating_add(1))?;
        Ok(ty)
    }

    /// Finds a member by name, also in anonymous members.
    fn find_member(&mut self, ty: Type<'b>, name: Name<'_>) -> Result<Option<Member<'b>>, OutOfSteps> {
        let mut members = Vec::new();
        self.add_members(ty, ANONYMOUS_LEVELS, &mut members)?;
        Ok(members.into_iter().find(|member| member.name == name))
    }

    /// Adds the named members of a composite, and those of its anonymous members.
    fn add_members(
        &mut self,
        ty: Type<'b>,
        levels: u32,
        members: &mut Vec<Member<'b>>,
    ) -> Result<(), OutOfSteps> {
        for member in ty.members() {
            self.steps.take(1)?;
            self.steps.take_name(member.name)?;
            if !member.name.is_empty() {
                members.push(member);
            } else if let Some(levels) = levels.checked_sub(1)
                && let Some(inner) = self.strip(member.ty)?
            {
                self.add_members(inner, levels, members)?;
            }
        }
        Ok(())
    }
}

/// Returns whether a name consists of the words of `member`, followed by the last word of `inner`:
/// `i_atime_sec` for `i_atime` and `tv_sec`.
fn is_joined(name: Name<'_>, member: Name<'_>, inner: Name<'_>) -> bool {
    fn words(name: Name<'_>) -> Option<Vec<&[u8]>> {
        Some(BareName::new(name.as_bytes())?.words().collect())
    }
    let (Some(name), Some(mut wanted), Some(inner)) = (words(name), words(member), words(inner)) else {
        return false;
    };
    wanted.extend(inner.last());
    name == wanted
}
