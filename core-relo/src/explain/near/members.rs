//! The search for members of a composite with a similar name, and for nested members with the missing name.

use super::alternative::{AlternativeMember, PathStep};
use super::near_match::{NearMatch, RESULTS_PER_SORT};
use crate::{
    Name, TypeId,
    btf::{Btf, Member, Type},
    explain::{
        CType,
        shared_words::WordPattern,
        similar::{BareName, NamePattern},
        text::text,
    },
    index::to_u32,
    limits,
    resolve::{OutOfSteps, StepBudget},
};
use alloc::{format, string::String, vec::Vec};
use core::fmt::{Display, Formatter, Result as FmtResult};
use hashbrown::HashMap;

/// The maximum number of collected members with a similar name. Explanations report the nearest of them.
const SIMILAR_MEMBERS: usize = 64;
/// The number of levels of nested composites in a search, anonymous composites included.
const DEPTH: u32 = 4;
/// The number of steps for adding a member to a list.
const ADD_STEPS: u32 = 8;

/// A search for members of composites. The members of each composite are listed once for all missing names.
#[derive(Debug, Default)]
pub(super) struct MemberSearch<'b> {
    /// The members of each composite, by the index of the BTF and the type id.
    lists: HashMap<(usize, TypeId), Vec<ListedMember<'b>>>,
    /// The number of members in all lists.
    listed_count: usize,
}

/// A member of a composite, or a member of a nested composite.
#[derive(Clone, Copy, Debug)]
struct ListedMember<'b> {
    btf: &'b Btf<'b>,
    member: Member<'b>,
    /// The offset in bits from the start of the outermost composite.
    bit_offset: u32,
    /// The index in the list of the member that contains this member.
    parent: Option<usize>,
    /// The name for comparison, if the member is direct and its name is not too long.
    bare_name: Option<BareName<'b>>,
    /// Whether only anonymous members lie between the outermost composite and this member.
    is_direct: bool,
}

impl<'b> MemberSearch<'b> {
    /// Finds direct members of the composite `ty` whose names are similar to `wanted`, then nested members
    /// named `wanted`.
    pub(super) fn find_similar(
        &mut self,
        (btf_index, btf): (usize, &'b Btf<'b>),
        ty: TypeId,
        wanted: Name<'b>,
        steps: &mut StepBudget,
    ) -> Result<Vec<NearMatch>, OutOfSteps> {
        let list = self.list((btf_index, btf), ty, steps)?;
        steps.take(to_u32(list.len()))?;
        let pattern = NamePattern::new(wanted.as_bytes());
        let (mut similar, mut nested) = (Vec::new(), Vec::new());
        for listed in list {
            if similar.len() > SIMILAR_MEMBERS || nested.len() > RESULTS_PER_SORT {
                break;
            }
            if listed.is_direct {
                let names = pattern.as_ref().zip(listed.bare_name);
                let distance = names.and_then(|(pattern, name)| pattern.distance(&name));
                similar.extend(distance.map(|distance| (distance, listed)));
            } else if listed.member.name == wanted {
                nested.push(listed);
            }
        }
        similar.sort_by_key(|(distance, _)| *distance);
        let similar = similar.into_iter().map(|(_, listed)| listed);
        let nearest = similar.take(RESULTS_PER_SORT).chain(nested.into_iter().take(RESULTS_PER_SORT));
        Ok(nearest.map(|listed| near_match(listed, list, CType::new(btf, ty))).collect())
    }

    /// Finds members of the composite `ty` whose names share words with `wanted`. Such a member is not
    /// proposed as the declaration of a flavour.
    pub(super) fn find_sharing_words(
        &mut self,
        (btf_index, btf): (usize, &'b Btf<'b>),
        ty: TypeId,
        wanted: Name<'b>,
        steps: &mut StepBudget,
    ) -> Result<Vec<NearMatch>, OutOfSteps> {
        let Some(words) = WordPattern::new(wanted.as_bytes()) else { return Ok(Vec::new()) };
        let list = self.list((btf_index, btf), ty, steps)?;
        let names: Vec<_> = list.iter().filter_map(|listed| Some((listed.bare_name?, listed))).collect();
        steps.take(to_u32(names.len().saturating_mul(words.len())))?;
        let nearest = words.find_similar(&names).into_iter().take(RESULTS_PER_SORT);
        let near_match = |listed| near_match(listed, list, CType::new(btf, ty));
        Ok(nearest
            .map(|listed| NearMatch { declaration: None, alternative: None, ..near_match(listed) })
            .collect())
    }

    /// Returns the list of a composite's members, from an earlier search or a new one.
    fn list(
        &mut self,
        (btf_index, btf): (usize, &'b Btf<'b>),
        ty: TypeId,
        steps: &mut StepBudget,
    ) -> Result<&[ListedMember<'b>], OutOfSteps> {
        let key = (btf_index, ty);
        if !self.lists.contains_key(&key) {
            let mut list = Vec::new();
            if let Some(root) = btf.ty(ty) {
                add_members(&mut list, root, Nesting::OUTERMOST, steps)?;
            }
            let count = self.listed_count.checked_add(list.len()).filter(|n| *n <= limits::NEAR_MEMBERS);
            self.listed_count = count.unwrap_or_else(|| {
                self.lists.clear();
                list.len()
            });
            self.lists.insert(key, list);
        }
        Ok(self.lists.entry(key).or_default())
    }
}

/// Where a composite lies in the outermost composite of a list.
#[derive(Clone, Copy)]
struct Nesting {
    /// The position of the member with the composite in the list.
    parent: Option<usize>,
    base_bits: u32,
    /// Whether a name of a member needs no name of another member before it.
    is_direct: bool,
    /// The levels of composites below this one that are listed.
    depth_left: u32,
}

impl Nesting {
    const OUTERMOST: Self = Self { parent: None, base_bits: 0, is_direct: true, depth_left: DEPTH };
}

/// Adds the members of `ty` in depth-first order: each member is followed by the members of its type.
fn add_members<'b>(
    list: &mut Vec<ListedMember<'b>>,
    ty: Type<'b>,
    nesting: Nesting,
    steps: &mut StepBudget,
) -> Result<(), OutOfSteps> {
    for member in ty.members() {
        if list.len() >= limits::NEAR_MEMBERS {
            break;
        }
        let mut hops = 0;
        let inner =
            ty.btf().strip_counting(member.ty, &mut hops).ok().filter(|inner| inner.kind().is_composite());
        steps.take(ADD_STEPS.saturating_add(hops))?;
        steps.take_name(member.name)?;
        let bit_offset = nesting.base_bits.wrapping_add(member.bit_offset.0);
        let is_anonymous = member.name.is_empty();
        let is_named_direct = nesting.is_direct && !is_anonymous;
        let bare_name = if is_named_direct { BareName::new(member.name.as_bytes()) } else { None };
        let index = list.len();
        list.push(ListedMember {
            btf: ty.btf(),
            member,
            bit_offset,
            parent: nesting.parent,
            bare_name,
            is_direct: is_named_direct,
        });
        if let (Some(inner), Some(depth_left)) = (inner, nesting.depth_left.checked_sub(1)) {
            let is_direct = nesting.is_direct && is_anonymous;
            let nesting = Nesting { parent: Some(index), base_bits: bit_offset, is_direct, depth_left };
            add_members(list, inner, nesting, steps)?;
        }
    }
    Ok(())
}

fn near_match(listed: &ListedMember<'_>, list: &[ListedMember<'_>], root: CType<'_>) -> NearMatch {
    let (name, width) = (listed.member.name.shortened(), listed.member.bitfield_bits);
    let ty = text(CType::new(listed.btf, listed.member.ty));
    let bitfield = if width > 0 { format!(":{width}") } else { String::new() };
    let detail = text(format_args!("{ty}{bitfield}, offset {}", listed.bit_offset / 8));
    // The declarators of arrays and functions are not simply `type name`. Anonymous types and truncated texts
    // cannot be declared.
    let is_declarable = listed.is_direct && !ty.contains(['[', '(', '{', '…']);
    let declaration = is_declarable.then(|| {
        let space = if ty.ends_with('*') { "" } else { " " };
        text(format_args!("{ty}{space}{name}{bitfield};"))
    });
    let path = MemberPath { listed, list, root };
    let members: Vec<_> = path.members().into_iter().map(|listed| PathStep::Member(listed.member)).collect();
    let alternative = AlternativeMember::new(listed.btf, &members);
    NearMatch { what: text(path), detail, declaration, alternative }
}

/// The path from the outermost composite to a member: `struct task_struct.se.vruntime`.
struct MemberPath<'p> {
    listed: &'p ListedMember<'p>,
    list: &'p [ListedMember<'p>],
    root: CType<'p>,
}

impl<'p> MemberPath<'p> {
    /// Returns the members of the path, the outermost first.
    fn members(&self) -> Vec<&'p ListedMember<'p>> {
        let list = self.list;
        let parent = |listed: &&'p ListedMember<'p>| list.get(listed.parent?);
        let mut members: Vec<_> = core::iter::successors(Some(self.listed), parent).collect();
        members.reverse();
        members
    }
}

impl Display for MemberPath<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> FmtResult {
        write!(f, "{}", self.root)?;
        let mut named = self.members().into_iter().filter(|listed| !listed.member.name.is_empty());
        named.try_for_each(|listed| write!(f, ".{}", listed.member.name.shortened()))
    }
}
