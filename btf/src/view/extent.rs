//! The bits of a composite that a member occupies.

use super::{elements::Member, error::WalkError};
use crate::{ids::BitOffset, parse::Btf};

/// The bits that a member occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extent {
    /// The first bit, from the start of the composite.
    pub bit_offset: BitOffset,
    /// The width in bits. A large array has more than `u32::MAX` bits.
    pub bits: u64,
    /// Whether the member is a bitfield, by the composite's kflag or by an INT that does not fill its
    /// storage.
    pub is_bitfield: bool,
}

impl Btf<'_> {
    /// Returns the bits of a member of one of this BTF's composites.
    ///
    /// Since Linux 5.0 the composite of a bitfield has the kflag, and the member contains the width. Before,
    /// the type of the member was an INT with an offset and fewer bits than its storage. CO-RE supports only
    /// the first form: libbpf treats an INT with an offset as incompatible with every type.
    pub fn member_extent(&self, member: &Member<'_>) -> Result<Extent, WalkError> {
        if member.bitfield_bits > 0 {
            let bits = u64::from(member.bitfield_bits);
            return Ok(Extent { bit_offset: member.bit_offset, bits, is_bitfield: true });
        }
        let ty = self.strip(member.ty)?;
        let storage = u64::from(self.size_of(ty.id())?.0).saturating_mul(8);
        let whole = Extent { bit_offset: member.bit_offset, bits: storage, is_bitfield: false };
        let Some(int) = ty.int() else { return Ok(whole) };
        if int.offset == 0 && u64::from(int.bits) == storage {
            return Ok(whole);
        }
        let bit_offset = member.bit_offset.0.checked_add(u32::from(int.offset));
        let bit_offset = BitOffset(bit_offset.ok_or(WalkError::BitfieldOffset(ty.id()))?);
        Ok(Extent { bit_offset, bits: u64::from(int.bits), is_bitfield: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, BuiltMember, Endian, Kind};
    use alloc::vec::Vec;

    #[test]
    fn bitfields_of_both_forms_and_other_members() {
        for endian in [Endian::Little, Endian::Big] {
            let mut b = Builder::new(endian);
            let int = b.int("int", 4, Builder::SIGNED);
            let legacy = b.legacy_bitfield("int", 4, 0, 3, 5);
            let array = b.array(int, int, 0x2000_0000);
            b.structure("old", 8, &[("whole", int, 0), ("part", legacy, 32)]);
            let bits =
                |name, bit_offset, bitfield_bits| BuiltMember { name, ty: int, bit_offset, bitfield_bits };
            b.composite(Kind::Struct, "new", 8, &[bits("whole", 0, 0), bits("part", 35, 5)]);
            b.structure("large", 0x8000_0000, &[("array", array, 0)]);
            let btf = Btf::parse(b.finish()).unwrap();
            let extents = |name: &[u8]| -> Vec<_> {
                let ty = btf.find(name, Kind::Struct).unwrap();
                ty.members().map(|m| btf.member_extent(&m).unwrap()).collect()
            };
            let extent = |bit_offset, bits, is_bitfield| Extent {
                bit_offset: BitOffset(bit_offset),
                bits,
                is_bitfield,
            };
            let expected = [extent(0, 32, false), extent(35, 5, true)];
            assert_eq!(extents(b"old"), expected);
            assert_eq!(extents(b"new"), expected);
            assert_eq!(extents(b"large"), [extent(0, 0x4_0000_0000, false)]);
        }
    }

    // Another offset would be that of other bits.
    #[test]
    fn an_offset_beyond_32_bits_is_an_error() {
        let mut b = Builder::new(Endian::Little);
        let legacy = b.legacy_bitfield("int", 4, 0, 3, 5);
        b.structure("hostile", 8, &[("last", legacy, u32::MAX - 3), ("beyond", legacy, u32::MAX - 2)]);
        let btf = Btf::parse_unvalidated(b.finish(), None).unwrap();
        let ty = btf.find(b"hostile", Kind::Struct).unwrap();
        let extents: Vec<_> = ty.members().map(|member| btf.member_extent(&member)).collect();
        let last = Extent { bit_offset: BitOffset(u32::MAX), bits: 5, is_bitfield: true };
        assert_eq!(extents, [Ok(last), Err(WalkError::BitfieldOffset(legacy))]);
    }
}
