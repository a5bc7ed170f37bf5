//! Members of the composite itself, and further down in it.

use super::{Budget, FEW, Near, OutOfSteps};
use crate::{
    btf::{Btf, Member, Type},
    explain::{
        CType,
        similar::{Bare, Pattern},
        text::text,
    },
    ids::{TypeId, to_u32},
    limits,
    name::Name,
};
use alloc::{format, string::String, vec::Vec};
use core::fmt::{Display, Formatter, Result as FmtResult};
use hashbrown::HashMap;

/// Similar members looked at before the nearest are chosen.
const MANY: usize = 64;
/// How deep members of members are looked through, anonymous ones included.
const DEPTH: u32 = 4;
/// Steps that it takes to add a member to a list.
const ADDED: u32 = 8;

/// The members of composites, listed once for all names that are missing in them.
#[derive(Debug, Default)]
pub(super) struct MembersSearch<'b> {
    lists: HashMap<(usize, TypeId), Vec<Listed<'b>>>,
    listed: usize,
}

/// A member of a composite, or of a member of it, in depth-first order.
#[derive(Clone, Copy, Debug)]
struct Listed<'b> {
    btf: &'b Btf<'b>,
    member: Member<'b>,
    /// From the start of the outermost composite.
    bits: u32,
    /// The place in the list of the member that this is a member of.
    parent: Option<usize>,
    /// The name to be compared, if only anonymous members lie between the outermost composite and here.
    own: Option<Bare<'b>>,
    is_own: bool,
}

impl<'b> MembersSearch<'b> {
    /// Members of the composite `ty` with a name like `wanted`, and the same name further down in it.
    pub(super) fn find(
        &mut self,
        (source, btf): (usize, &'b Btf<'b>),
        ty: TypeId,
        wanted: Name<'_>,
        budget: &mut Budget,
    ) -> Result<Vec<Near>, OutOfSteps> {
        let list = self.list((source, btf), ty, budget)?;
        budget.take(to_u32(list.len()))?;
        let pattern = Pattern::new(wanted.as_bytes());
        let (mut similar, mut deeper) = (Vec::new(), Vec::new());
        for listed in list {
            if similar.len() > MANY || deeper.len() > FEW {
                break;
            }
            if listed.is_own {
                let distance = pattern.as_ref().zip(listed.own).and_then(|(p, own)| p.distance(&own));
                similar.extend(distance.map(|distance| (distance, listed)));
            } else if listed.member.name == wanted {
                deeper.push(listed);
            }
        }
        similar.sort_by_key(|(distance, _)| *distance);
        let similar = similar.into_iter().map(|(_, listed)| listed);
        let nearest = similar.take(FEW).chain(deeper.into_iter().take(FEW));
        Ok(nearest.map(|listed| near(listed, list, (btf, ty))).collect())
    }

    fn list(
        &mut self,
        (source, btf): (usize, &'b Btf<'b>),
        ty: TypeId,
        budget: &mut Budget,
    ) -> Result<&[Listed<'b>], OutOfSteps> {
        if !self.lists.contains_key(&(source, ty)) {
            let mut list = Vec::new();
            if let Some(root) = btf.ty(ty) {
                add(&mut list, root, (None, 0), (true, DEPTH), budget)?;
            }
            if self.listed.saturating_add(list.len()) > limits::NEAR_MEMBERS {
                self.lists.clear();
                self.listed = 0;
            }
            self.listed = self.listed.saturating_add(list.len());
            self.lists.insert((source, ty), list);
        }
        Ok(self.lists.get(&(source, ty)).map(Vec::as_slice).unwrap_or_default())
    }
}

/// Adds the members of `ty`, each followed by the members of its type.
fn add<'b>(
    list: &mut Vec<Listed<'b>>,
    ty: Type<'b>,
    (parent, base_bits): (Option<usize>, u32),
    (is_own, depth): (bool, u32),
    budget: &mut Budget,
) -> Result<(), OutOfSteps> {
    for member in ty.members() {
        if list.len() >= limits::NEAR_MEMBERS {
            break;
        }
        let mut hops = 0;
        let inner = ty.btf().strip_in(member.ty, &mut hops).ok().filter(|inner| inner.kind().is_composite());
        budget.take(ADDED.saturating_add(hops))?;
        budget.take_name(member.name)?;
        let bits = base_bits.wrapping_add(member.bit_offset.0);
        let is_anonymous = member.name.is_empty();
        let is_own_member = is_own && !is_anonymous;
        let own = if is_own_member { Bare::new(member.name.as_bytes()) } else { None };
        let place = list.len();
        list.push(Listed { btf: ty.btf(), member, bits, parent, own, is_own: is_own_member });
        if let (Some(inner), Some(depth)) = (inner, depth.checked_sub(1)) {
            add(list, inner, (Some(place), bits), (is_own && is_anonymous, depth), budget)?;
        }
    }
    Ok(())
}

fn near(listed: &Listed<'_>, list: &[Listed<'_>], root: (&Btf<'_>, TypeId)) -> Near {
    let (name, bits) = (listed.member.name.shortened(), listed.member.bitfield_bits);
    let ty = text(CType::new(listed.btf, listed.member.ty));
    let bitfield = if bits > 0 { format!(":{bits}") } else { String::new() };
    let detail = text(format_args!("{ty}{bitfield}, offset {}", listed.bits / 8));
    // What was cut is no declaration either.
    let declarable = listed.is_own && !ty.contains(['[', '(', '{', '…']);
    let declaration = declarable.then(|| {
        let space = if ty.ends_with('*') { "" } else { " " };
        text(format_args!("{ty}{space}{name}{bitfield};"))
    });
    Near { what: text(Path { listed, list, root }), detail, declaration }
}

/// A member with all that lies between the outermost composite and it: `struct task_struct.se.vruntime`.
struct Path<'p> {
    listed: &'p Listed<'p>,
    list: &'p [Listed<'p>],
    root: (&'p Btf<'p>, TypeId),
}

impl Display for Path<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        let parent = |listed: &&Listed<'_>| self.list.get(listed.parent?);
        let mut members: Vec<_> = core::iter::successors(Some(self.listed), parent).collect();
        members.reverse();
        write!(f, "{}", CType::new(self.root.0, self.root.1))?;
        let named = members.into_iter().filter(|listed| !listed.member.name.is_empty());
        named.into_iter().try_for_each(|listed| write!(f, ".{}", listed.member.name.shortened()))
    }
}
