//! The members of a struct or union, and the bits between and after them.

use crate::{
    format::Kind,
    view::{Extent, Member, Type, WalkError},
};
use alloc::vec::Vec;

/// The layout of a struct or union, from its first bit to its last.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layout<'b> {
    /// The members, holes and padding, in the order of the declaration.
    pub parts: Vec<LayoutPart<'b>>,
    /// The size in bits.
    pub bits: u64,
}

/// A part of a struct or union. Bits are counted from the start of the composite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutPart<'b> {
    /// A member.
    Member {
        /// The member.
        member: Member<'b>,
        /// The bits that the member occupies.
        extent: Extent,
    },
    /// Bits that no member occupies, before another member.
    Hole {
        /// The first bit.
        start: u64,
        /// The number of bits.
        bits: u64,
    },
    /// Bits after the last member.
    Padding {
        /// The first bit.
        start: u64,
        /// The number of bits.
        bits: u64,
    },
}

impl<'b> Layout<'b> {
    /// Returns the layout of a struct or union. Other types have no parts.
    ///
    /// Members that overlap, or lie outside of the type, are parts like others. A member whose type has no
    /// size is an error.
    pub fn new(ty: Type<'b>) -> Result<Self, WalkError> {
        let bits = ty.size().map_or(0, |size| u64::from(size.0).saturating_mul(8));
        let mut layout = Self { parts: Vec::new(), bits };
        let mut end = 0;
        for member in ty.members() {
            let extent = ty.btf().member_extent(&member)?;
            let start = u64::from(extent.bit_offset.0);
            if ty.kind() == Kind::Struct
                && let Some(bits @ 1..) = start.checked_sub(end)
            {
                layout.parts.push(LayoutPart::Hole { start: end, bits });
            }
            layout.parts.push(LayoutPart::Member { member, extent });
            // An offset has 32 bits, a size in bits 35.
            end = start.saturating_add(extent.bits).max(end);
        }
        if let Some(bits @ 1..) = layout.bits.checked_sub(end) {
            layout.parts.push(LayoutPart::Padding { start: end, bits });
        }
        Ok(layout)
    }

    /// Returns the holes: the first bit and the number of bits of each.
    pub fn holes(&self) -> impl Iterator<Item = (u64, u64)> {
        self.parts.iter().filter_map(|part| match part {
            LayoutPart::Hole { start, bits } => Some((*start, *bits)),
            LayoutPart::Member { .. } | LayoutPart::Padding { .. } => None,
        })
    }
}
