//! The place of a member in its struct: alignment, size and bitfields.

use super::{Resolver, size::Sized};
use crate::{
    format::Kind,
    kernel_check::{
        records::{RawInt, RawMember, Record},
        rule::{BtfRule, TypeIdError},
    },
};

/// The bits of a byte.
const BYTE: u32 = 8;
/// The bits that a bitfield may span, from the start of its first byte.
const LARGEST_SPAN: u32 = 128;
/// The bits of a bitfield of an enum.
const ENUM_BITS: u32 = 32;

/// The bits of a struct that a member needs.
#[derive(Clone, Copy)]
struct Bits {
    offset: u32,
    width: u32,
}

impl<'d> Resolver<'_, 'd> {
    /// Checks a member whose type is resolved (kernel: `check_member` and `check_kflag_member` of each kind).
    pub(super) fn check_member(&self, composite: Record<'d>, member: RawMember) -> Result<(), BtfRule> {
        let no_size = BtfRule::MemberType { found: member.ty, reason: TypeIdError::NoSize };
        let ty = self.sized(member.ty).ok_or(no_size)?;
        let has_flag = composite.info.kflag();
        let offset = member.bit_offset(has_flag);
        let width = member.bitfield_bits(has_flag);
        let size = composite.third;
        match ty.kind {
            Kind::Int => {
                let int = self.record(ty.id).ok_or(no_size)?.int();
                let bits =
                    if has_flag { int_bits(int, offset, width)? } else { legacy_int_bits(int, offset)? };
                check_span(bits, size)
            }
            Kind::Enum | Kind::Enum64 if has_flag => check_enum(offset, width, size),
            _ if width != 0 => Err(BtfRule::BitfieldSize { found: width, limit: 0 }),
            Kind::Float => self.check_float(ty, offset, size),
            _ => check_whole(ty, offset, size),
        }
    }

    /// Checks that a FLOAT is aligned as far as every machine needs it (kernel: `btf_float_check_member`).
    fn check_float(&self, ty: Sized, offset: u32, struct_bytes: u32) -> Result<(), BtfRule> {
        let bits = self.checker.rules.pointer_bytes.min(ty.bytes).checked_mul(BYTE);
        let bits = bits.ok_or(BtfRule::FloatSize { found: ty.bytes })?;
        if !offset.is_multiple_of(bits) {
            return Err(BtfRule::MemberAlignment { found: offset, bits });
        }
        check_end(ty, offset, struct_bytes)
    }
}

/// Checks a member that is no bitfield (kernel: `btf_struct_check_member`, `btf_ptr_check_member` and
/// others).
fn check_whole(ty: Sized, offset: u32, struct_bytes: u32) -> Result<(), BtfRule> {
    if !offset.is_multiple_of(BYTE) {
        return Err(BtfRule::MemberAlignment { found: offset, bits: BYTE });
    }
    check_end(ty, offset, struct_bytes)
}

fn check_end(ty: Sized, offset: u32, struct_bytes: u32) -> Result<(), BtfRule> {
    if ends_within(offset / BYTE, ty.bytes, struct_bytes) {
        return Ok(());
    }
    let bits = u64::from(ty.bytes) << BYTE.trailing_zeros();
    Err(BtfRule::MemberEnd { offset, bits, size: struct_bytes })
}

/// Returns whether a part of a struct ends before the struct, all in bytes.
fn ends_within(offset: u32, bytes: u32, struct_bytes: u32) -> bool {
    offset.checked_add(bytes).is_some_and(|end| end <= struct_bytes)
}

/// Checks an enum in a struct with bitfields (kernel: `btf_enum_check_kflag_member`).
fn check_enum(offset: u32, width: u32, struct_bytes: u32) -> Result<(), BtfRule> {
    if width == 0 && !offset.is_multiple_of(BYTE) {
        return Err(BtfRule::MemberAlignment { found: offset, bits: BYTE });
    }
    if width > ENUM_BITS {
        return Err(BtfRule::BitfieldSize { found: width, limit: ENUM_BITS });
    }
    let width = if width == 0 { ENUM_BITS } else { width };
    // The offset of a member in a struct with bitfields has 24 bits.
    if offset.checked_add(width).is_none_or(|end| end.div_ceil(BYTE) > struct_bytes) {
        return Err(BtfRule::MemberEnd { offset, bits: width.into(), size: struct_bytes });
    }
    Ok(())
}

/// Returns the bits of an integer in a struct with bitfields (kernel: `btf_int_check_kflag_member`).
fn int_bits(int: RawInt, offset: u32, width: u32) -> Result<Bits, BtfRule> {
    if !int.is_regular() {
        return Err(BtfRule::BitfieldType);
    }
    if width == 0 && !offset.is_multiple_of(BYTE) {
        return Err(BtfRule::IntAlignment { found: offset });
    }
    if width > int.bits() {
        return Err(BtfRule::BitfieldSize { found: width, limit: int.bits() });
    }
    Ok(Bits { offset, width: if width == 0 { int.bits() } else { width } })
}

/// Returns the bits of an integer, which may be a bitfield by its own offset and width (kernel:
/// `btf_int_check_member`).
fn legacy_int_bits(int: RawInt, offset: u32) -> Result<Bits, BtfRule> {
    let offset = offset.checked_add(int.offset()).ok_or(BtfRule::BitfieldOffset)?;
    Ok(Bits { offset, width: int.bits() })
}

/// Checks that bits span at most 128 bits from the start of their first byte, and end within the struct.
fn check_span(bits: Bits, struct_bytes: u32) -> Result<(), BtfRule> {
    let Bits { offset, width } = bits;
    let span = width.checked_add(offset % BYTE).ok_or(BtfRule::BitfieldOffset)?;
    if span > LARGEST_SPAN {
        return Err(BtfRule::BitfieldSpan { found: span });
    }
    if !ends_within(offset / BYTE, span.div_ceil(BYTE), struct_bytes) {
        return Err(BtfRule::MemberEnd { offset, bits: width.into(), size: struct_bytes });
    }
    Ok(())
}
