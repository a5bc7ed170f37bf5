//! Fields of a kernel's types by path, with the similar names of those that are missing.

use super::{
    error::KernelValueError,
    named_types::{NamedTypes, root_name},
};
use core_relo::{
    Name, Text,
    btf::{Btf, Extent, FieldPathError, Type, field_path_from},
    explain::nearest_names,
};
use core_relo_object::shown_name;
use hashbrown::HashSet;

/// The members that an error about a missing member compares with the name.
const COMPARED_MEMBERS: usize = 4096;

/// A field that a path leads to.
pub(super) struct Field {
    extent: Extent,
    /// The parts of the path that end in pointers.
    pointer: Option<String>,
}

impl Field {
    /// Returns the offset and the size in bytes, if one offset reaches the field.
    pub(super) fn bytes_from(&self, path: &str) -> Result<(u64, u64), KernelValueError> {
        let Extent { bit_offset, bits, is_bitfield, .. } = self.extent;
        if let Some(pointer) = &self.pointer {
            let pointer = shown_name(pointer.as_bytes());
            return Err(KernelValueError::Pointer { path: shown_name(path.as_bytes()), pointer });
        }
        if is_bitfield {
            return Err(KernelValueError::Bitfield {
                path: shown_name(path.as_bytes()),
                bit_offset: bit_offset.0,
                bits,
            });
        }
        Ok((u64::from(bit_offset.0 / 8), bits / 8))
    }
}

/// Finds a field by path.
pub(super) fn find(types: &NamedTypes<'_>, path: &str) -> Result<Field, KernelValueError> {
    let (btf, name) = (types.btf(), root_name(path));
    let root = types.root(name).ok_or_else(|| missing("type", name, "", []))?;
    let steps = field_path_from(btf, root.id(), path).map_err(|error| explain(btf, root, path, error))?;
    types.check_unique(name)?;
    let last =
        steps.last().ok_or_else(|| KernelValueError::Path(FieldPathError::Syntax { path: path.into() }))?;
    let pointer = steps.len().checked_sub(2).and_then(|index| steps.get(index));
    Ok(Field { extent: last.extent, pointer: pointer.map(|step| step.path.to_owned()) })
}

/// Returns the size of a type in bytes.
pub(super) fn type_size(types: &NamedTypes<'_>, name: &str) -> Result<i128, KernelValueError> {
    let ty = types.root(name).ok_or_else(|| missing("type", name, "", []))?;
    types.check_unique(name)?;
    let size = types.btf().size_of(ty.id());
    let walk = |cause| KernelValueError::Path(FieldPathError::Walk { path: name.into(), cause });
    Ok(i128::from(size.map_err(walk)?.0))
}

/// Adds similar names to the error of a path.
fn explain(btf: &Btf<'_>, root: Type<'_>, path: &str, error: FieldPathError) -> KernelValueError {
    match &error {
        FieldPathError::NoMember { ty, member } => {
            let parent = parent_of(btf, root, path);
            let names = parent.into_iter().flat_map(|parent| member_names(btf, parent));
            missing("member", member, ty, names)
        }
        _ => KernelValueError::Path(error),
    }
}

/// Returns the composite type that the longest valid part of a path leads to.
fn parent_of<'b>(btf: &'b Btf<'_>, root: Type<'b>, path: &str) -> Option<Type<'b>> {
    let mut end = path.len();
    while let Some(at) = path.get(..end)?.rfind(['.', '[']) {
        end = at;
        let parent = path.get(..end)?;
        let ty = if parent.contains(['.', '[']) {
            field_path_from(btf, root.id(), parent).ok().and_then(|steps| Some(steps.last()?.ty))
        } else {
            Some(root.id())
        };
        let Some(ty) = ty.and_then(|ty| btf.strip(ty).ok()) else { continue };
        return match ty.target().filter(|_| !ty.kind().is_composite()) {
            Some(pointee) => btf.strip(pointee).ok(),
            None => Some(ty),
        };
    }
    None
}

/// Returns the names of a type's members, with those of anonymous members.
fn member_names<'b>(btf: &'b Btf<'_>, ty: Type<'b>) -> Vec<&'b [u8]> {
    let (mut names, mut pending, mut seen) = (Vec::new(), vec![ty], HashSet::<_>::from([ty.id()]));
    while let Some(composite) = pending.pop() {
        for member in composite.members() {
            if names.len() >= COMPARED_MEMBERS {
                return names;
            }
            if !member.name.is_empty() {
                names.push(member.name.as_bytes());
            } else if let Ok(inner) = btf.strip(member.ty)
                && inner.kind().is_composite()
                && seen.insert(inner.id())
            {
                pending.push(inner);
            }
        }
    }
    names
}

/// Creates the error of a missing name, with those of `names` that are similar.
pub(super) fn missing<'n>(
    what: &'static str,
    name: &str,
    place: &str,
    names: impl IntoIterator<Item = &'n [u8]>,
) -> KernelValueError {
    let near = similar_names(name, names);
    KernelValueError::Missing {
        what,
        name: shown_name(name.as_bytes()),
        place: shown_name(place.as_bytes()),
        near,
    }
}

/// Returns the similar names of a name, escaped.
pub(super) fn similar_names<'n>(name: &str, names: impl IntoIterator<Item = &'n [u8]>) -> Vec<Text> {
    let escape = |name: String| Name::new(name.as_bytes()).to_string().into();
    nearest_names(name.as_bytes(), names).into_iter().map(escape).collect()
}
