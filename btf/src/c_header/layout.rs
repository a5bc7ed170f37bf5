//! The layout that a C compiler gives a composite: its alignment, and whether it has to be packed.

use crate::{
    format::Kind,
    ids::TypeId,
    limits,
    parse::Btf,
    view::{Member, Type},
};
use hashbrown::HashMap;
use thiserror::Error;

/// The largest object that is declared. A composite's size has 32 bits.
const LARGEST: u64 = 1 << 32;
/// The alignment of a 16-byte integer, which no other scalar exceeds.
const LARGEST_ALIGNMENT: u64 = 16;

/// The reason why a composite has no members in the header, only its size.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// A member whose type has no size, or none that C can declare.
    #[error("member {0} has a type without a size")]
    NoSize(u32),
    /// A member that contains the composite.
    #[error("member {0} contains the type itself")]
    Recursive(u32),
    /// A member behind the composite's end.
    #[error("member {0} lies outside of the type")]
    Outside(u32),
    /// A member that begins before the end of the member before it.
    #[error("member {0} overlaps the member before it")]
    Overlap(u32),
    /// A member that begins within a byte, or a bitfield wider than its type or of a type that is no integer.
    #[error("member {0} is no valid bitfield")]
    Bitfield(u32),
    /// A member of a union that is not at its start.
    #[error("member {0} is not at the start of the union")]
    UnionOffset(u32),
}

crate::debug_as_message!(LayoutError);

/// The size and alignment of a type, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measure {
    pub(super) size: u64,
    pub(super) align: u64,
    /// The offset and width, in bits, of an INT that does not fill its storage: a bitfield before Linux 5.0.
    pub(super) legacy_bits: Option<(u8, u8)>,
    /// Whether a bitfield can have the type.
    pub(super) is_integer: bool,
    /// Whether the alignment depends on the 32-bit architecture.
    has_open_alignment: bool,
}

/// The reason why a type has no [`Measure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unmeasured {
    NoSize,
    /// A composite whose layout is not known yet.
    Open,
}

/// The layout of a composite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) align: u64,
    pub(super) is_packed: bool,
    /// Whether a packed composite keeps its alignment.
    pub(super) is_aligned: bool,
    pub(super) error: Option<LayoutError>,
}

/// The place of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemberSpan {
    /// The first bit, and the bit after the last.
    pub(super) start: u64,
    pub(super) end: u64,
    /// The size and alignment of the member's type.
    pub(super) measure: Measure,
    /// The width of a bitfield.
    pub(super) bitfield: Option<u64>,
}

/// The layouts of composites. Members are measured before the composites that contain them.
#[derive(Debug, Default)]
pub(super) struct Layouts {
    known: HashMap<TypeId, Layout>,
}

impl Layouts {
    pub(super) fn get(&self, id: TypeId) -> Option<Layout> {
        self.known.get(&id).copied()
    }

    /// Computes the layout of a composite.
    pub(super) fn add(&mut self, ty: Type<'_>) {
        let layout = self.lay_out(ty).unwrap_or_else(|error| Layout {
            align: 1,
            is_packed: false,
            is_aligned: false,
            error: Some(error),
        });
        self.known.insert(ty.id(), layout);
    }

    fn lay_out(&self, ty: Type<'_>) -> Result<Layout, LayoutError> {
        let bytes = u64::from(ty.size_or_type());
        let (mut align, mut is_packed, mut has_open_alignment, mut end) = (1, false, false, 0);
        for member in ty.members() {
            let place = self.place(ty.btf(), &member)?;
            let index = member.index;
            if ty.kind() == Kind::Union && place.start != 0 {
                return Err(LayoutError::UnionOffset(index));
            }
            if ty.kind() == Kind::Struct && place.start < end {
                return Err(LayoutError::Overlap(index));
            }
            if place.end.div_ceil(8) > bytes {
                return Err(LayoutError::Outside(index));
            }
            end = place.end;
            if place.is_padding(&member) {
                continue;
            }
            has_open_alignment |= place.measure.has_open_alignment;
            is_packed |= !place.is_natural();
            align = place.measure.align.max(align);
        }
        is_packed |= !bytes.is_multiple_of(align);
        // Packed and explicitly aligned composites have one layout on all 32-bit architectures.
        let is_aligned = has_open_alignment && !is_packed;
        Ok(Layout {
            align: if is_packed { 1 } else { align },
            is_packed: is_packed || is_aligned,
            is_aligned,
            error: None,
        })
    }

    /// Returns the place of a member.
    pub(super) fn place(&self, btf: &Btf<'_>, member: &Member<'_>) -> Result<MemberSpan, LayoutError> {
        let index = member.index;
        let measure = self.measure(btf, member.ty).map_err(|error| match error {
            Unmeasured::NoSize => LayoutError::NoSize(index),
            Unmeasured::Open => LayoutError::Recursive(index),
        })?;
        let start = u64::from(member.bit_offset.0);
        let (start, bits) = match (member.bitfield_bits, measure.legacy_bits) {
            (0, None) => (start, None),
            (0, Some((offset, bits))) => (start.saturating_add(u64::from(offset)), Some(u64::from(bits))),
            (bits, _) => (start, Some(u64::from(bits))),
        };
        let storage = measure.size.checked_mul(8).ok_or(LayoutError::Outside(index))?;
        let is_valid = match bits {
            Some(bits) => measure.is_integer && (1..=storage).contains(&bits),
            None => start.is_multiple_of(8),
        };
        if !is_valid {
            return Err(LayoutError::Bitfield(index));
        }
        let end = start.checked_add(bits.unwrap_or(storage)).ok_or(LayoutError::Outside(index))?;
        Ok(MemberSpan { start, end, measure, bitfield: bits })
    }

    /// Returns the size and alignment of a type.
    pub(super) fn measure(&self, btf: &Btf<'_>, id: TypeId) -> Result<Measure, Unmeasured> {
        let mut count = 1u64;
        let mut is_array = false;
        let mut at = id;
        for _ in 0..limits::MODIFIER_HOPS {
            let ty = btf.ty(at).ok_or(Unmeasured::NoSize)?;
            let kind = ty.kind();
            if let Some(array) = ty.array() {
                count = count.checked_mul(u64::from(array.nelems)).ok_or(Unmeasured::NoSize)?;
                is_array = true;
                at = array.element;
            } else if let (true, Some(target)) = (kind.is_modifier_or_typedef(), ty.target()) {
                at = target;
            } else {
                let mut measure = self.measure_base(btf, ty)?;
                measure.size = measure.size.checked_mul(count).ok_or(Unmeasured::NoSize)?;
                if is_array {
                    measure.legacy_bits = None;
                    measure.is_integer = false;
                }
                return if measure.size < LARGEST { Ok(measure) } else { Err(Unmeasured::NoSize) };
            }
        }
        Err(Unmeasured::NoSize)
    }

    fn measure_base(&self, btf: &Btf<'_>, ty: Type<'_>) -> Result<Measure, Unmeasured> {
        let size = u64::from(ty.size_or_type());
        let pointer = u64::from(btf.pointer_size().0);
        let sized = |size: u64, align: u64, is_integer| Measure {
            size,
            align,
            legacy_bits: None,
            is_integer,
            has_open_alignment: pointer < 8 && align >= 8,
        };
        let measure = match ty.kind() {
            Kind::Ptr => sized(pointer, pointer, false),
            Kind::Int if is_scalar_size(size) => {
                let legacy_bits =
                    ty.int().filter(|int| int.offset != 0 || u64::from(int.bits) != size.wrapping_mul(8));
                Measure {
                    legacy_bits: legacy_bits.map(|int| (int.offset, int.bits)),
                    ..sized(size, size.min(LARGEST_ALIGNMENT), true)
                }
            }
            Kind::Enum | Kind::Enum64 if matches!(size, 1 | 2 | 4 | 8) => sized(size, size, true),
            Kind::Float if matches!(size, 4 | 8) => sized(size, size, false),
            // Declared as an array of bytes.
            Kind::Int | Kind::Enum | Kind::Enum64 | Kind::Float => sized(size, 1, false),
            Kind::Struct | Kind::Union => {
                let layout = self.get(ty.id()).ok_or(Unmeasured::Open)?;
                sized(size, layout.align, false)
            }
            _ => return Err(Unmeasured::NoSize),
        };
        if measure.has_open_alignment {
            return Ok(Measure { align: measure.align.min(pointer), ..measure });
        }
        Ok(measure)
    }
}

impl MemberSpan {
    /// Returns whether a member is a bitfield without a name. It takes space, but compilers differ in whether
    /// it aligns the composite.
    pub(super) fn is_padding(&self, member: &Member<'_>) -> bool {
        member.name.is_empty() && self.bitfield.is_some()
    }

    /// Returns whether the compiler can put the member there without packing.
    fn is_natural(&self) -> bool {
        let storage = self.measure.size.wrapping_mul(8).max(1);
        match self.bitfield {
            // A bitfield does not cross a boundary of its type.
            Some(_) => self.start.checked_div(storage) == self.end.wrapping_sub(1).checked_div(storage),
            None => self.start.is_multiple_of(self.measure.align.wrapping_mul(8)),
        }
    }

    /// Returns the bit at which the compiler puts the member after a member that ends at `end`.
    pub(super) fn natural_start(&self, end: u64, is_packed: bool) -> Option<u64> {
        let storage = self.measure.size.checked_mul(8)?.max(1);
        match self.bitfield {
            Some(_) if is_packed => Some(end),
            Some(bits) => {
                let last = end.checked_add(bits)?.checked_sub(1)?;
                let fits = end.checked_div(storage) == last.checked_div(storage);
                if fits { Some(end) } else { end.checked_next_multiple_of(storage) }
            }
            None if is_packed => end.checked_next_multiple_of(8),
            None => end.checked_next_multiple_of(self.measure.align.checked_mul(8)?),
        }
    }
}

/// Returns whether C has an integer of this size.
pub(super) const fn is_scalar_size(size: u64) -> bool {
    matches!(size, 1 | 2 | 4 | 8 | 16)
}
