//! Fields by path: `task_struct.mm.pgd`, `sock.sk_write_queue.list[1]`.

use crate::{
    escape::Text,
    format::Kind,
    ids::{BitOffset, TypeId},
    parse::Btf,
    view::{Extent, Type, WalkError},
};
use alloc::{string::String, vec::Vec};
use hashbrown::HashSet;
use thiserror::Error;

/// A part of a path that one memory access covers: a type, and the place of a field in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldStep<'p> {
    /// The part of the path, such as `mm.pgd` after a pointer.
    pub path: &'p str,
    /// The type from whose start the field is counted.
    pub root: TypeId,
    /// The field's type.
    pub ty: TypeId,
    /// The bits of the field, from the start of the root type.
    pub extent: Extent,
}

/// The reason why a path leads nowhere.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FieldPathError {
    /// No struct, union or typedef has the first name of the path.
    #[error("no type `{name}`")]
    NoType {
        /// The name.
        name: Text,
    },
    /// A type has no member of a name.
    #[error("`{ty}` has no member `{member}`")]
    NoMember {
        /// The name of the type, `(anon)` if it has none.
        ty: Text,
        /// The name of the member.
        member: Text,
    },
    /// The path goes on after a field that is no struct, union, array or pointer to one.
    #[error("`{path}` has no members")]
    NoComposite {
        /// The path to the field.
        path: Text,
    },
    /// A text in brackets is no number.
    #[error("`[{index}]` after `{path}`: expected the index of an array")]
    Index {
        /// The path to the field.
        path: Text,
        /// The text in brackets.
        index: Text,
    },
    /// An index is beyond the end of an array, or follows a field that is no array or pointer.
    #[error("`{path}` has no element {index}")]
    NoElement {
        /// The path to the field.
        path: Text,
        /// The index.
        index: u32,
    },
    /// The path is empty, or has a text that is no name, `.name` or `[index]`.
    #[error("`{path}` is no path such as `task_struct.comm` or `task_struct.cpus_mask.bits[0]`")]
    Syntax {
        /// The path.
        path: Text,
    },
    /// A type on the way cannot be followed.
    #[error("`{path}`: {cause}")]
    Walk {
        /// The path to the field.
        path: Text,
        /// The error.
        #[source]
        cause: WalkError,
    },
}

crate::debug_as_message!(FieldPathError);

/// A member or index of a path.
enum Selector<'p> {
    Member(&'p str),
    Index(u32),
}

/// Finds a field by path: the name of a type, members after dots, and indexes in brackets. Members of
/// anonymous structs and unions count as members of the struct around them.
///
/// A pointer on the way ends a step: the next one is counted from the start of what it points to.
pub fn field_path<'p>(btf: &Btf<'_>, path: &'p str) -> Result<Vec<FieldStep<'p>>, FieldPathError> {
    let (name, _) = split_root(path)?;
    let root = find_root(btf, name).ok_or_else(|| FieldPathError::NoType { name: name.into() })?;
    field_path_from(btf, root, path)
}

/// Finds a field by path, as [`field_path`]. The path begins with the name of the type `root`, which is not
/// searched.
pub fn field_path_from<'p>(
    btf: &Btf<'_>,
    root: TypeId,
    path: &'p str,
) -> Result<Vec<FieldStep<'p>>, FieldPathError> {
    let syntax = || FieldPathError::Syntax { path: path.into() };
    let (_, mut rest) = split_root(path)?;
    let mut steps = Vec::new();
    let mut place = ReachedField { btf, root, ty: root, bit: 0, extent: None };
    let mut step_start = 0;
    while !rest.is_empty() {
        let here = path.get(..path.len().saturating_sub(rest.len())).unwrap_or(path);
        let (selector, next) = next_selector(rest, here).ok_or_else(syntax)??;
        let walk = |cause| FieldPathError::Walk { path: here.into(), cause };
        // A pointer is followed, but an index of a pointer's first element is one of an array.
        let ty = place.stripped().map_err(walk)?;
        if let (Kind::Ptr, Some(target)) = (ty.kind(), ty.target()) {
            let step = path.get(step_start..here.len()).ok_or_else(syntax)?;
            steps.push(place.step(step).map_err(walk)?);
            step_start = path.len().saturating_sub(rest.trim_start_matches(['.']).len());
            place = ReachedField { btf, root: target, ty: target, bit: 0, extent: None };
        }
        match selector {
            Selector::Member(member) => place.enter_member(member, here)?,
            Selector::Index(index) => place.enter_index(index, here)?,
        }
        rest = next;
    }
    let step = path.get(step_start..).ok_or_else(syntax)?;
    let walk = |cause| FieldPathError::Walk { path: path.into(), cause };
    steps.push(place.step(step).map_err(walk)?);
    Ok(steps)
}

/// Splits the name of the type from a path. The rest is not empty.
fn split_root(path: &str) -> Result<(&str, &str), FieldPathError> {
    let name_end = path.find(['.', '[']).unwrap_or(path.len());
    let parts = path.split_at_checked(name_end).filter(|(name, rest)| !name.is_empty() && !rest.is_empty());
    parts.ok_or_else(|| FieldPathError::Syntax { path: path.into() })
}

/// Finds the type that a path begins with.
fn find_root(btf: &Btf<'_>, name: &str) -> Option<TypeId> {
    let kinds = [Kind::Struct, Kind::Union, Kind::Typedef];
    kinds.into_iter().find_map(|kind| btf.find(name.as_bytes(), kind)).map(Type::id)
}

/// Splits the next member or index from a path. Returns `None` if the path is none.
fn next_selector<'p>(rest: &'p str, here: &str) -> Option<Result<(Selector<'p>, &'p str), FieldPathError>> {
    if let Some(after) = rest.strip_prefix('.') {
        let end = after.find(['.', '[']).unwrap_or(after.len());
        let (name, next) = after.split_at_checked(end)?;
        return (!name.is_empty()).then_some(Ok((Selector::Member(name), next)));
    }
    let (index, next) = rest.strip_prefix('[')?.split_once(']')?;
    Some(match index.parse() {
        Ok(index) => Ok((Selector::Index(index), next)),
        Err(_) => Err(FieldPathError::Index { path: here.into(), index: index.into() }),
    })
}

/// A field that a path has reached.
#[derive(Clone, Copy)]
struct ReachedField<'b> {
    btf: &'b Btf<'b>,
    root: TypeId,
    ty: TypeId,
    /// The first bit of the field in the root type.
    bit: u64,
    /// The bits of a bitfield in its struct.
    extent: Option<Extent>,
}

impl<'b> ReachedField<'b> {
    fn stripped(&self) -> Result<Type<'b>, WalkError> {
        self.btf.strip(self.ty)
    }

    fn enter_member(&mut self, name: &str, here: &str) -> Result<(), FieldPathError> {
        let walk = |cause| FieldPathError::Walk { path: here.into(), cause };
        let ty = self.stripped().map_err(walk)?;
        if !ty.kind().is_composite() {
            return Err(FieldPathError::NoComposite { path: here.into() });
        }
        let found = find_member(self.btf, ty, name.as_bytes()).map_err(walk)?;
        let (start, ty, extent) = found.ok_or_else(|| {
            let ty =
                if ty.name().is_empty() { String::from("(anon)") } else { alloc::format!("{}", ty.name()) };
            FieldPathError::NoMember { ty: ty.into(), member: name.into() }
        })?;
        let too_far = FieldPathError::Walk { path: here.into(), cause: WalkError::TooLarge(self.root) };
        self.bit = self.bit.checked_add(start).ok_or(too_far)?;
        (self.ty, self.extent) = (ty, extent.is_bitfield.then_some(extent));
        Ok(())
    }

    fn enter_index(&mut self, index: u32, here: &str) -> Result<(), FieldPathError> {
        let walk = |cause| FieldPathError::Walk { path: here.into(), cause };
        let ty = self.stripped().map_err(walk)?;
        // An index of what a pointer points to is that of an element of this type.
        let is_pointee = self.bit == 0 && self.ty == self.root;
        let element = match ty.array() {
            Some(array) if array.nelems == 0 || index < array.nelems => array.element,
            None if is_pointee => self.ty,
            _ => return Err(FieldPathError::NoElement { path: here.into(), index }),
        };
        let size = u64::from(self.btf.size_of(element).map_err(walk)?.0);
        let offset = size.checked_mul(8).and_then(|bits| bits.checked_mul(index.into()));
        let too_far = FieldPathError::Walk { path: here.into(), cause: WalkError::TooLarge(element) };
        self.bit = offset.and_then(|bits| bits.checked_add(self.bit)).ok_or(too_far)?;
        (self.ty, self.extent) = (element, None);
        Ok(())
    }

    fn step<'p>(&self, path: &'p str) -> Result<FieldStep<'p>, WalkError> {
        let too_large = WalkError::TooLarge(self.root);
        let bit_offset = BitOffset(u32::try_from(self.bit).map_err(|_too_far| too_large)?);
        let extent = if let Some(extent) = self.extent {
            Extent { bit_offset, ..extent }
        } else {
            let bits = u64::from(self.btf.size_of(self.ty)?.0).saturating_mul(8);
            Extent { bit_offset, bits, is_bitfield: false }
        };
        Ok(FieldStep { path, root: self.root, ty: self.ty, extent })
    }
}

/// Finds a member by name, also in anonymous members: its first bit in the composite, its type, and its bits.
fn find_member(btf: &Btf<'_>, ty: Type<'_>, name: &[u8]) -> Result<Option<(u64, TypeId, Extent)>, WalkError> {
    let mut pending = alloc::vec![(0u64, ty)];
    // Each type is searched once.
    let mut seen = HashSet::new();
    seen.insert(ty.id());
    while let Some((start, composite)) = pending.pop() {
        for member in composite.members() {
            if member.name.as_bytes() == name {
                let extent = btf.member_extent(&member)?;
                return Ok(Some((start.saturating_add(extent.bit_offset.0.into()), member.ty, extent)));
            }
            if !member.name.is_empty() {
                continue;
            }
            let inner = btf.strip(member.ty)?;
            if inner.kind().is_composite() && seen.insert(inner.id()) {
                pending.push((start.saturating_add(member.bit_offset.0.into()), inner));
            }
        }
    }
    Ok(None)
}
