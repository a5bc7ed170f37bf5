//! Finds the members and variables that a text names. One pass over a type finds all names of the text, so
//! that the work does not grow with their product.

use super::{BYTE, Place};
use crate::{
    ids::{TypeId, to_usize},
    name::Name,
    parse::Btf,
    text::value_parser::ValueError,
    view::{Extent, Member, Type},
};
use alloc::{
    borrow::ToOwned as _,
    string::{String, ToString as _},
};
use hashbrown::{HashMap, HashSet};

/// The members of anonymous structs and unions that are searched for names. Nested unions have many members
/// in a few bytes.
pub(super) const SEARCHED_MEMBERS: u32 = 1 << 16;

/// The levels of anonymous structs and unions that are searched for members.
const ANONYMOUS_DEPTH: u32 = 32;

/// The type and the bits of a member or variable.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) ty: TypeId,
    pub(super) place: Place,
}

/// The members that have one of the wanted names, in a composite and in its anonymous structs and unions. Of
/// members with the same name, the first one counts.
pub(super) struct NamedMembers<'n> {
    found: HashMap<&'n str, Part>,
    missing: HashSet<&'n str>,
}

impl<'n> NamedMembers<'n> {
    /// Finds the members of a composite. `start` is its first bit. Each member that is looked at takes one
    /// step of `steps_left`.
    pub(super) fn find(
        btf: &Btf<'_>,
        ty: Type<'_>,
        start: usize,
        names: impl Iterator<Item = &'n str>,
        steps_left: &mut u32,
    ) -> Self {
        let mut members = Self { found: HashMap::new(), missing: names.collect() };
        // Without steps left, the names that are not found yet are missing.
        let _: Option<()> = members.search(btf, ty, start, ANONYMOUS_DEPTH, steps_left);
        members
    }

    /// Returns the member with a name.
    pub(super) fn get(&self, name: &str) -> Option<Part> {
        self.found.get(name).copied()
    }

    /// Returns whether each of the names has a member.
    pub(super) fn has_all(&self) -> bool {
        self.missing.is_empty()
    }

    /// Adds the members of a composite. Returns `None` after the last step.
    fn search(
        &mut self,
        btf: &Btf<'_>,
        ty: Type<'_>,
        start: usize,
        depth: u32,
        steps_left: &mut u32,
    ) -> Option<()> {
        let Some(deeper) = depth.checked_sub(1) else { return Some(()) };
        for member in ty.members() {
            if self.has_all() {
                break;
            }
            *steps_left = steps_left.checked_sub(1)?;
            let Some(place) = member_place(btf, start, &member) else { continue };
            if !member.name.is_empty() {
                let name = self.missing.take(&*member.name.to_string());
                self.found.extend(name.map(|name| (name, Part { ty: member.ty, place })));
            } else if let Ok(inner) = btf.strip(member.ty)
                && inner.kind().is_composite()
            {
                self.search(btf, inner, place.start, deeper, steps_left)?;
            }
        }
        Some(())
    }
}

/// Returns the bits of a member. `start` is the first bit of the composite.
pub(super) fn member_place(btf: &Btf<'_>, start: usize, member: &Member<'_>) -> Option<Place> {
    let Extent { bit_offset, bits, is_bitfield, .. } = btf.member_extent(member).ok()?;
    let start = start.checked_add(to_usize(bit_offset.0))?;
    let bits = if is_bitfield { Some(usize::try_from(bits).ok()?) } else { None };
    Some(Place { start, bits })
}

/// The variables of a data section with one name.
#[derive(Clone, Copy)]
enum Variables {
    Missing,
    One(Part),
    Several,
}

/// The variables of a data section that have one of the wanted names. Static variables of different files may
/// have the same name.
pub(super) struct NamedVariables<'b> {
    section: Type<'b>,
    by_name: HashMap<String, Variables>,
}

impl<'b> NamedVariables<'b> {
    /// Finds the variables of a section.
    pub(super) fn find<'n>(
        btf: &'b Btf<'b>,
        section: Type<'b>,
        names: impl Iterator<Item = &'n str>,
    ) -> Self {
        let names = names.flat_map(|name| [name.to_owned(), plain_name(name)]);
        let mut by_name: HashMap<_, _> = names.map(|name| (name, Variables::Missing)).collect();
        for info in section.secinfos() {
            if let Some(variable) = btf.ty(info.ty)
                && let Some(ty) = variable.target()
                && let Some(start) = to_usize(info.offset).checked_mul(BYTE)
                && let Some(found) = by_name.get_mut(&variable.name().to_string())
            {
                *found = match found {
                    Variables::Missing => Variables::One(Part { ty, place: Place { start, bits: None } }),
                    Variables::One(_) | Variables::Several => Variables::Several,
                };
            }
        }
        Self { section, by_name }
    }

    /// Returns the variable with a name. A dump numbers repeated names: `n___2`. A variable with such a name
    /// is not known by it.
    pub(super) fn get(&self, name: &str) -> Result<Part, ValueError> {
        let found = |name: &str| self.by_name.get(name).copied().unwrap_or(Variables::Missing);
        let plain = plain_name(name);
        match (found(name), found(&plain)) {
            (_, Variables::Several) | (Variables::Several, _) => {
                Err(ValueError::AmbiguousVariable { section: self.section.name().to_string(), name: plain })
            }
            (Variables::One(variable), _) => Ok(variable),
            (Variables::Missing, _) => {
                let ty = self.section.name().to_string();
                Err(ValueError::NoName { ty, part: "variable", name: name.to_owned() })
            }
        }
    }
}

/// Returns a variable's name without the number that a dump adds to a repeated one.
fn plain_name(name: &str) -> String {
    let full = Name::new(name.as_bytes());
    let is_numbered = full.flavour().is_some_and(|number| number.to_string().parse::<u64>().is_ok());
    if is_numbered { full.essential().to_string() } else { name.to_owned() }
}
