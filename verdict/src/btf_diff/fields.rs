//! The members of a struct or union as programs access them: members of anonymous structs belong to the outer
//! struct.

use super::shape::{BtfShapes, Shape, Shapes, is_anonymous};
use crate::limits;
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
};

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// The names from the outer struct, joined by dots.
    pub(super) path: Vec<u8>,
    pub(super) bit_offset: u64,
    /// The width in bits. `None` for a type without a size.
    pub(super) bits: Option<u64>,
    pub(super) is_bitfield: bool,
    pub(super) shape: Shape,
    pub(super) ty: TypeId,
}

impl Field {
    /// Returns whether both members have the same type and width.
    pub(super) fn has_type_of(&self, other: &Self) -> bool {
        (self.shape, self.bits, self.is_bitfield) == (other.shape, other.bits, other.is_bitfield)
    }
}

/// The number of members that structs in structs may add to all comparisons.
#[derive(Debug)]
pub(super) struct FieldBudget(usize);

impl Default for FieldBudget {
    fn default() -> Self {
        Self(limits::NESTED_MEMBERS)
    }
}

/// A struct whose members are added.
struct Nested<'b> {
    ty: Type<'b>,
    prefix: Vec<u8>,
    bit_offset: u64,
    depth: usize,
}

/// Returns the members of a struct or union, sorted by name and offset. Members of anonymous structs and
/// unions are included.
pub(super) fn fields<'b>(
    shapes: &mut Shapes<'b>,
    types: &mut BtfShapes<'b>,
    ty: Type<'b>,
    budget: &mut FieldBudget,
) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut pending = vec![Nested { ty, prefix: Vec::new(), bit_offset: 0, depth: 0 }];
    while let Some(nested) = pending.pop() {
        let members = nested.ty.members().take(if nested.depth == 0 { usize::MAX } else { budget.0 });
        for member in members {
            if nested.depth > 0 {
                budget.0 = budget.0.saturating_sub(1);
            }
            let mut path = nested.prefix.clone();
            if !member.name.is_empty() {
                if !path.is_empty() {
                    path.push(b'.');
                }
                path.extend(member.name.as_bytes());
            }
            let extent = types.btf.member_extent(&member).ok();
            let member_offset = extent.map_or(member.bit_offset, |extent| extent.bit_offset);
            let bit_offset = nested.bit_offset.wrapping_add(member_offset.0.into());
            let depth = nested.depth.checked_add(1).filter(|depth| *depth < limits::NESTED_STRUCTS);
            let inner = anonymous_composite(types.btf, member.ty).filter(|_| budget.0 > 0);
            match inner.zip(depth) {
                Some((ty, depth)) => pending.push(Nested { ty, prefix: path, bit_offset, depth }),
                // Padding has no name.
                None if path == nested.prefix => {}
                None => fields.push(Field {
                    path,
                    bit_offset,
                    bits: extent.map(|extent| extent.bits),
                    is_bitfield: extent.is_some_and(|extent| extent.is_bitfield),
                    shape: shapes.reference(types, member.ty),
                    ty: member.ty,
                }),
            }
        }
    }
    fields.sort_by(|a, b| (&a.path, a.bit_offset).cmp(&(&b.path, b.bit_offset)));
    fields
}

/// Returns the struct or union under the qualifiers of a type, if it has no name and no typedef.
fn anonymous_composite<'b>(btf: &'b Btf<'b>, id: TypeId) -> Option<Type<'b>> {
    let mut ty = btf.ty(id)?;
    for _ in 0..limits::NESTED_STRUCTS {
        match ty.kind() {
            Kind::Const | Kind::Volatile | Kind::Restrict | Kind::TypeTag => ty = btf.ty(ty.target()?)?,
            kind => return Some(ty).filter(|ty| kind.is_composite() && is_anonymous(*ty)),
        }
    }
    None
}
