//! The layout that a C type has as a Rust type: size and alignment, and the fields of a struct.

use super::{float_text, int_text, no_value, resolve, type_error};
use crate::skeleton::error::SkeletonError;
use core_relo::{
    TypeId,
    btf::{Btf, Kind, Member, Type},
};
use std::collections::HashMap;

/// The structs that may contain each other.
const DEPTH: u32 = 32;

/// Size and alignment of a type in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) size: usize,
    pub(super) align: usize,
    /// Whether the type contains a float.
    pub(super) has_floats: bool,
    /// The number of structs within each other.
    levels: u32,
}

/// A field of a Rust struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field<'b> {
    pub(super) offset: usize,
    pub(super) size: usize,
    pub(super) content: Content<'b>,
}

/// The content of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content<'b> {
    Member(Member<'b>),
    /// Bytes between members.
    Padding,
    /// The bytes of bitfields.
    Bits(Vec<Bitfield<'b>>),
}

/// A bitfield in the bytes of its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bitfield<'b> {
    pub(super) member: Member<'b>,
    /// The first bit in the struct.
    pub(super) start: usize,
    pub(super) width: u32,
}

/// The fields of a struct, and the alignment to which the struct is packed, if it has less than C's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StructLayout<'b> {
    pub(super) fields: Vec<Field<'b>>,
    pub(super) packed: Option<usize>,
    pub(super) layout: Layout,
}

/// The members of a struct that become fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Members {
    All,
    /// All but pointers, which the loader sets: those of a struct_ops table.
    Values,
}

/// The layouts that were computed so far.
pub(super) struct Layouts<'b> {
    btf: &'b Btf<'b>,
    by_id: HashMap<TypeId, Known>,
}

/// A layout, or an error and the levels that were allowed when it occurred.
type Known = Result<Layout, (SkeletonError, u32)>;

impl<'b> Layouts<'b> {
    pub(super) fn new(btf: &'b Btf<'b>) -> Self {
        Self { btf, by_id: HashMap::new() }
    }

    /// Returns the layout of a type, or why Rust cannot express the type.
    pub(super) fn of(&mut self, id: TypeId) -> Result<Layout, SkeletonError> {
        self.nested(id, DEPTH)
    }

    fn nested(&mut self, id: TypeId, depth: u32) -> Result<Layout, SkeletonError> {
        let (mut count, mut ty) = (1usize, resolve(self.btf, id)?.ty);
        for _ in 0..DEPTH {
            let Some(array) = ty.array() else { break };
            let length = usize::try_from(array.nelems).ok();
            let product = length.and_then(|length| count.checked_mul(length));
            count = product.ok_or_else(|| type_error(ty, "its size overflows"))?;
            ty = resolve(self.btf, array.element)?.ty;
        }
        if ty.array().is_some() {
            return Err(type_error(ty, "it has too many dimensions"));
        }
        let element = self.element(ty, depth)?;
        let size = count.checked_mul(element.size).filter(|size| u32::try_from(*size).is_ok());
        Ok(Layout {
            size: size.ok_or_else(|| type_error(ty, "the size of an array of it overflows"))?,
            ..element
        })
    }

    fn element(&mut self, ty: Type<'b>, depth: u32) -> Result<Layout, SkeletonError> {
        let size = ty.size().and_then(|size| usize::try_from(size.0).ok());
        let scalar = |size: usize| Layout { size, align: size.max(1), has_floats: false, levels: 0 };
        let sized = || size.ok_or_else(|| type_error(ty, "it has no size"));
        match ty.kind() {
            Kind::Int => {
                int_text(ty, false)?;
                Ok(scalar(sized()?))
            }
            Kind::Float => {
                let is_number = !float_text(ty)?.starts_with('[');
                let size = sized()?;
                let align = if is_number { size } else { 1 };
                Ok(Layout { size, align, has_floats: is_number, levels: 0 })
            }
            Kind::Ptr => Ok(scalar(if self.btf.pointer_size().0 == 4 { 4 } else { 8 })),
            Kind::Enum | Kind::Enum64 => match sized()? {
                size @ (1 | 2 | 4 | 8) => Ok(scalar(size)),
                _ => Err(type_error(ty, "an enum has 1, 2, 4 or 8 bytes")),
            },
            Kind::Struct | Kind::Union => {
                let too_deep = || type_error(ty, "it contains itself, or too many levels of structs");
                match self.by_id.get(&ty.id()) {
                    // The result must not depend on the type that was asked for first.
                    Some(Ok(known)) => {
                        return if known.levels <= depth { Ok(*known) } else { Err(too_deep()) };
                    }
                    Some(Err((error, allowed))) if depth <= *allowed => return Err(error.clone()),
                    _ => {}
                }
                let layout = match depth.checked_sub(1) {
                    None => Err(too_deep()),
                    Some(depth) if ty.kind() == Kind::Struct => {
                        self.fields_in(ty, Members::All, depth).map(|fields| fields.layout)
                    }
                    Some(depth) => self.union_in(ty, depth),
                };
                self.by_id.insert(ty.id(), layout.clone().map_err(|error| (error, depth)));
                layout
            }
            kind => Err(type_error(ty, no_value(kind))),
        }
    }

    /// Returns the fields of a struct. The bytes of members that become no fields are padding.
    pub(super) fn fields(
        &mut self,
        ty: Type<'b>,
        members: Members,
    ) -> Result<StructLayout<'b>, SkeletonError> {
        self.fields_in(ty, members, DEPTH)
    }

    fn fields_in(
        &mut self,
        ty: Type<'b>,
        members: Members,
        depth: u32,
    ) -> Result<StructLayout<'b>, SkeletonError> {
        let size = record_size(ty)?;
        let mut fields = FieldList { ty, fields: Vec::new(), end: 0 };
        let mut aligns = Vec::new();
        let (mut has_floats, mut levels) = (false, 0u32);
        for member in ty.members() {
            if members == Members::Values && resolve(self.btf, member.ty)?.ty.kind() == Kind::Ptr {
                continue;
            }
            if let Some(bitfield) = bitfield(self.btf, &member)? {
                fields.add_bitfield(bitfield)?;
                continue;
            }
            let layout = self.nested(member.ty, depth)?;
            let offset = byte_offset(ty, &member)?;
            fields.add(offset, layout.size, Content::Member(member))?;
            aligns.push((offset, layout.align));
            has_floats |= layout.has_floats;
            levels = levels.max(layout.levels);
        }
        fields.pad_to(size)?;
        let (align, packed) = alignment(size, &aligns);
        let layout = Layout { size, align, has_floats, levels: around(ty, levels)? };
        Ok(StructLayout { fields: fields.fields, packed, layout })
    }

    fn union_in(&mut self, ty: Type<'b>, depth: u32) -> Result<Layout, SkeletonError> {
        let size = record_size(ty)?;
        let (mut aligns, mut levels) = (Vec::new(), 0u32);
        for member in ty.members() {
            if let Some(Bitfield { start, width, .. }) = bitfield(self.btf, &member)? {
                let end = usize::try_from(width).ok().and_then(|width| start.checked_add(width));
                if end.is_none_or(|end| end.div_ceil(8) > size) {
                    return Err(type_error(ty, "a member lies outside of it"));
                }
                continue;
            }
            let layout = self.nested(member.ty, depth)?;
            let end = byte_offset(ty, &member)?.checked_add(layout.size);
            if end.is_none_or(|end| end > size) {
                return Err(type_error(ty, "a member lies outside of it"));
            }
            aligns.push((0, layout.align));
            levels = levels.max(layout.levels);
        }
        let align = alignment(size, &aligns).0;
        // The bytes of a union are compared, not the floats in them.
        Ok(Layout { size, align, has_floats: false, levels: around(ty, levels)? })
    }
}

/// The fields of a struct so far, without gaps.
struct FieldList<'b> {
    ty: Type<'b>,
    fields: Vec<Field<'b>>,
    end: usize,
}

impl<'b> FieldList<'b> {
    fn add(&mut self, offset: usize, size: usize, content: Content<'b>) -> Result<(), SkeletonError> {
        self.pad_to(offset)?;
        self.end = offset.checked_add(size).ok_or_else(|| type_error(self.ty, "its size overflows"))?;
        self.fields.push(Field { offset, size, content });
        Ok(())
    }

    /// Adds padding up to an offset. Fails if a field has reached beyond the offset.
    fn pad_to(&mut self, offset: usize) -> Result<(), SkeletonError> {
        match offset.checked_sub(self.end) {
            Some(0) => Ok(()),
            Some(size) => {
                self.fields.push(Field { offset: self.end, size, content: Content::Padding });
                self.end = offset;
                Ok(())
            }
            None => Err(type_error(self.ty, "its members overlap, or lie outside of it")),
        }
    }

    /// Adds a bitfield to the bytes of the bitfields before it, or to bytes of its own.
    fn add_bitfield(&mut self, bitfield: Bitfield<'b>) -> Result<(), SkeletonError> {
        let overflow = || type_error(self.ty, "its size overflows");
        let width = usize::try_from(bitfield.width).map_err(|_too_wide| overflow())?;
        let (first, end) =
            (bitfield.start / 8, bitfield.start.checked_add(width).ok_or_else(overflow)?.div_ceil(8));
        if let Some(Field { offset, size, content: Content::Bits(bits) }) = self.fields.last_mut()
            && (*offset..=self.end).contains(&first)
        {
            if end > self.end {
                *size = end.checked_sub(*offset).ok_or_else(overflow)?;
                self.end = end;
            }
            bits.push(bitfield);
            return Ok(());
        }
        let size = end.checked_sub(first).ok_or_else(overflow)?;
        self.add(first, size, Content::Bits(vec![bitfield]))
    }
}

/// Returns the bitfield of a member, or `None` if the member is a whole number of bytes.
pub(super) fn bitfield<'b>(
    btf: &'b Btf<'b>,
    member: &Member<'b>,
) -> Result<Option<Bitfield<'b>>, SkeletonError> {
    let start = usize::try_from(member.bit_offset.0).ok();
    let ty = resolve(btf, member.ty)?.ty;
    let no_place = || type_error(ty, "a bitfield of it lies nowhere");
    if member.bitfield_bits != 0 {
        let start = start.ok_or_else(no_place)?;
        if member.bitfield_bits > 64 || !matches!(ty.kind(), Kind::Int | Kind::Enum | Kind::Enum64) {
            return Err(type_error(ty, "a bitfield has at most 64 bits of an integer"));
        }
        return Ok(Some(Bitfield { member: *member, start, width: member.bitfield_bits }));
    }
    // Before Linux 5.0, a bitfield was an INT with fewer bits than its storage.
    let Some((int, size)) = ty.int().zip(ty.size()) else { return Ok(None) };
    if int.offset == 0 && size.0.checked_mul(8) == Some(int.bits.into()) {
        return Ok(None);
    }
    let start = start.and_then(|start| start.checked_add(int.offset.into())).ok_or_else(no_place)?;
    if int.bits > 64 {
        return Err(type_error(ty, "a bitfield has at most 64 bits of an integer"));
    }
    Ok(Some(Bitfield { member: *member, start, width: int.bits.into() }))
}

/// Returns the alignment that a Rust struct can have: that of its members, or a smaller one to which it is
/// packed.
fn alignment(size: usize, members: &[(usize, usize)]) -> (usize, Option<usize>) {
    let natural = members.iter().map(|(_, align)| *align).max().unwrap_or(1);
    let mut align = natural;
    while align > 1 {
        let fits = |(offset, member): &(usize, usize)| offset.is_multiple_of(align.min(*member));
        if size.is_multiple_of(align) && members.iter().all(fits) {
            break;
        }
        align /= 2;
    }
    (align, (align < natural).then_some(align))
}

/// Returns the levels of a struct around members with `levels`.
fn around(ty: Type<'_>, levels: u32) -> Result<u32, SkeletonError> {
    levels.checked_add(1).ok_or_else(|| type_error(ty, "too many levels of structs"))
}

/// Returns the size of a struct or union.
pub(super) fn record_size(ty: Type<'_>) -> Result<usize, SkeletonError> {
    let size = ty.size().and_then(|size| usize::try_from(size.0).ok());
    size.ok_or_else(|| type_error(ty, "it has no size"))
}

fn byte_offset(ty: Type<'_>, member: &Member<'_>) -> Result<usize, SkeletonError> {
    if !member.bit_offset.0.is_multiple_of(8) {
        return Err(type_error(ty, "a member that is no bitfield begins within a byte"));
    }
    usize::try_from(member.bit_offset.0 / 8)
        .map_err(|_too_large| type_error(ty, "a member lies outside of it"))
}
