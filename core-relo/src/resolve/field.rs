//! A local access followed through a target type.

use super::{Key, MatchError, Matched, Mismatch, Steps, compat};
use crate::{
    btf::{Btf, Member, Type, WalkError},
    ids::{TypeId, to_u32},
    limits,
    spec::{Accessor, Spec},
};

/// Takes the steps of `local` on the target type (libbpf: `bpf_core_spec_match`, its field part).
pub(super) fn follow(
    local_btf: &Btf<'_>,
    local: &Spec,
    target_btf: &Btf<'_>,
    target: TypeId,
    steps: &mut Steps,
) -> Result<Matched, MatchError> {
    let spec = Spec::of_root(target, local.kind);
    let mut walk = Walk { local_btf, target_btf, spec, at: target, steps };
    for (step, accessor) in local.accessors.iter().enumerate() {
        let mismatch =
            if accessor.named { walk.member(step, *accessor)? } else { walk.element(step, accessor.index)? };
        if let Some(mismatch) = mismatch {
            return Ok(Matched::No(mismatch));
        }
    }
    Ok(Matched::Yes(walk.spec))
}

/// What [`follow`] reads of the local side.
pub(super) fn key(local_btf: &Btf<'_>, local: &Spec, key: &mut Key<'_>) -> Option<()> {
    for accessor in &local.accessors {
        if !accessor.named {
            key.byte(b'[')?;
            key.word(accessor.index)?;
            continue;
        }
        let member = local_btf.ty(accessor.ty)?.member(accessor.index)?;
        key.byte(b'.')?;
        key.name(member.name)?;
        compat::field_key(local_btf, member.ty, key)?;
    }
    Some(())
}

struct Walk<'w> {
    local_btf: &'w Btf<'w>,
    target_btf: &'w Btf<'w>,
    spec: Spec,
    at: TypeId,
    steps: &'w mut Steps,
}

/// What looking for a member in one composite came to.
enum Search {
    Found(TypeId),
    Incompatible { ty: TypeId, member: u32 },
    Absent,
}

impl Walk<'_> {
    /// Element `index`: the first step counts from the root, later ones need an array.
    fn element(&mut self, step: usize, index: u32) -> Result<Option<Mismatch>, MatchError> {
        let mut ty = self.steps.strip(self.target_btf, self.at)?;
        if step > 0 {
            self.steps.take()?;
            let Some(array) = ty.array() else {
                return Ok(Some(Mismatch::NotArray { step, ty: ty.id(), kind: ty.kind() }));
            };
            let last = self.spec.accessors.last();
            let flexible = last.is_some_and(|last| last.makes_flexible(self.target_btf, array.nelems));
            if !flexible && index >= array.nelems {
                return Ok(Some(Mismatch::OutOfRange { step, ty: ty.id(), index, nelems: array.nelems }));
            }
            ty = self.steps.strip(ty.btf(), array.element)?;
        }
        self.push_raw(index)?;
        self.spec.accessors.push(Accessor { ty: ty.id(), index, named: false });
        // libbpf takes the size here, and only here, for an `int`: what has 2 GiB or more is an error.
        let size = self.target_btf.size_of(ty.id())?;
        if i32::try_from(size.0).is_err() {
            return Err(MatchError::TooLarge { ty: ty.id(), size });
        }
        self.spec.advance(index.wrapping_mul(size.0).wrapping_mul(8));
        self.at = ty.id();
        Ok(None)
    }

    /// The member of the local one's exact name, anonymous members descended into.
    fn member(&mut self, step: usize, local: Accessor) -> Result<Option<Mismatch>, MatchError> {
        let ty = self.steps.strip(self.target_btf, self.at)?;
        if !ty.kind().is_composite() {
            return Ok(Some(Mismatch::NotComposite { step, ty: ty.id(), kind: ty.kind() }));
        }
        let composite = self.local_btf.ty(local.ty);
        let no_type = WalkError::NoType(local.ty);
        let wanted = composite.and_then(|c| c.member(local.index)).ok_or(no_type)?;
        match self.search(ty, &wanted)? {
            Search::Found(next) => {
                self.at = next;
                Ok(None)
            }
            Search::Incompatible { ty, member } => Ok(Some(Mismatch::MemberType { step, ty, member })),
            Search::Absent => Ok(Some(Mismatch::NoMember { step, ty: ty.id() })),
        }
    }

    /// Depth first, in order of members; the first of the name decides (libbpf: `bpf_core_match_member`).
    ///
    /// Recursion is as deep as the access has parts: at most [`limits::SPEC_PARTS`].
    fn search(&mut self, ty: Type<'_>, wanted: &Member<'_>) -> Result<Search, MatchError> {
        let end = to_u32(ty.members().len());
        let mut next = 0;
        while next < end {
            let among = next..end.min(next.saturating_add(self.steps.affords(wanted.name)));
            let found = ty.next_member(among.clone(), wanted.name.as_bytes());
            let after = found.map_or(among.end, |member| member.index.saturating_add(1));
            self.steps.take_names(after.saturating_sub(next), wanted.name)?;
            next = after;
            let before = self.spec.bit_offset;
            // Also where none is found: libbpf counts the part of each member that it looks at.
            self.push_raw(after.saturating_sub(1))?;
            let Some(member) = found else {
                self.spec.raw.pop();
                continue;
            };
            ty.check_element_name(member.name, member.name_offset)?;
            self.spec.advance(member.bit_offset.0);
            if !member.name.is_empty() {
                self.spec.accessors.push(Accessor { ty: ty.id(), index: member.index, named: true });
                if compat::fields_are_compat(self.local_btf, wanted.ty, ty.btf(), member.ty, self.steps)? {
                    return Ok(Search::Found(member.ty));
                }
                self.spec.accessors.pop();
                return Ok(Search::Incompatible { ty: ty.id(), member: member.index });
            }
            let inner = self.steps.strip(ty.btf(), member.ty)?;
            match self.search(inner, wanted)? {
                Search::Absent => {}
                // Two members of one name, which C does not allow: libbpf would go on with an offset it has spoilt.
                decided => return Ok(decided),
            }
            self.spec.bit_offset = before;
            self.spec.raw.pop();
        }
        Ok(Search::Absent)
    }

    fn push_raw(&mut self, part: u32) -> Result<(), MatchError> {
        if self.spec.raw.len() >= limits::SPEC_PARTS {
            return Err(MatchError::TooDeep);
        }
        self.spec.raw.push(part);
        Ok(())
    }
}
