//! Records of structs and unions.

use super::{Lowering, scalar};
use crate::{
    decode::{Member, Shape},
    error::{DwarfOffset, EntryProblem},
    graph::info,
    limits,
    names::NameId,
};
use core_relo::{Endian, btf::Kind};

impl Lowering<'_> {
    /// Returns the record of a struct or union, or of its forward declaration.
    pub(super) fn composite(
        &self,
        name: NameId,
        kind: Kind,
        size: u64,
        is_declaration: bool,
        members: &[Member],
    ) -> Result<Vec<u32>, EntryProblem> {
        if is_declaration && !name.is_empty() {
            return Ok(Vec::from([name.0, info(Kind::Fwd, 0, kind == Kind::Union), 0]));
        }
        let vlen = scalar::vlen("number of members", members.len())?;
        let has_bitfields = members.iter().any(|member| member.bit_size.is_some_and(|bits| bits > 0));
        let size = scalar::word("size of a struct", size)?;
        let mut words = Vec::from([name.0, info(kind, vlen, has_bitfields), size]);
        words.reserve(members.len().saturating_mul(3));
        for member in members {
            let offset = scalar::word("offset of a member in bits", self.bit_offset(member)?)?;
            let position = if has_bitfields {
                let limit = limits::BITFIELD_OFFSET.into();
                if offset > limits::BITFIELD_OFFSET {
                    let what = "offset in bits of a member beside bitfields";
                    return Err(EntryProblem::TooLarge { what, value: offset.into(), limit });
                }
                // A member that is no bitfield has the width zero.
                let bits = u8::try_from(member.bit_size.unwrap_or(0)).ok().ok_or(EntryProblem::Bitfield)?;
                (u32::from(bits) << 24) | offset
            } else {
                offset
            };
            words.extend([member.name.0, self.resolve(member.target)?, position]);
        }
        Ok(words)
    }

    /// Returns the offset of a member in bits.
    ///
    /// BTF and DWARF 4 count the bits of a bitfield in the order of the machine's bytes. Older DWARF counts
    /// from the most significant bit of the storage.
    fn bit_offset(&self, member: &Member) -> Result<u64, EntryProblem> {
        let start = member.offset.checked_mul(8).ok_or(EntryProblem::Bitfield)?;
        if let Some(offset) = member.data_bit_offset {
            return start.checked_add(offset).ok_or(EntryProblem::Bitfield);
        }
        let (Some(from_top), Some(bits)) = (member.bit_offset, member.bit_size) else { return Ok(start) };
        let offset = match self.endian {
            Endian::Big => Some(from_top),
            Endian::Little => {
                let storage = match member.storage_size {
                    Some(size) => Some(size),
                    None => self.size(member.target),
                };
                let storage = storage.and_then(|size| i64::try_from(size.checked_mul(8)?).ok());
                let bits = i64::try_from(bits).ok();
                storage.zip(bits).and_then(|(storage, bits)| storage.checked_sub(from_top)?.checked_sub(bits))
            }
        };
        offset.and_then(|offset| start.checked_add_signed(offset)).ok_or(EntryProblem::Bitfield)
    }

    /// Returns the size of a scalar type in bytes, through typedefs and modifiers.
    fn size(&self, mut place: Option<DwarfOffset>) -> Option<u64> {
        for _ in 0..limits::SIZE_HOPS {
            let index = self.entries.by_place.get(&place?)?;
            let entry = self.entries.list.get(usize::try_from(*index).ok()?)?;
            match &entry.shape {
                Shape::Base { size, .. } | Shape::Enumeration { size, .. } => return Some(*size),
                Shape::Alias | Shape::Typedef | Shape::Modifier(_) => place = entry.target,
                _ => return None,
            }
        }
        None
    }
}
