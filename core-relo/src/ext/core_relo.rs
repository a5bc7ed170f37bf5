//! The CO-RE relocation records, as the compiler wrote them.

use super::records::ExtRecord;
use crate::{ByteOffset, Endian, StrOffset, TypeId};
use core::fmt;

/// One CO-RE relocation (`struct bpf_core_relo`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CoreRelo {
    /// The offset of the patched instruction, in bytes from the start of the ELF section.
    pub insn_offset: ByteOffset,
    /// The local type that the access starts from.
    pub root: TypeId,
    /// The access string, `0:1:2`.
    pub access: StrOffset,
    /// The property of the target that the relocation needs.
    pub kind: RelocKind,
}

impl ExtRecord for CoreRelo {
    const SIZE: u32 = 16;

    fn read(endian: Endian, data: &[u8]) -> Option<Self> {
        Some(Self {
            insn_offset: ByteOffset(endian.u32(data, 0)?),
            root: TypeId(endian.u32(data, 4)?),
            access: StrOffset(endian.u32(data, 8)?),
            kind: RelocKind::from_raw(endian.u32(data, 12)?),
        })
    }
}

/// The property of the target that a relocation needs (`enum bpf_core_relo_kind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RelocKind {
    /// The field's offset in bytes.
    FieldByteOffset,
    /// The field's size in bytes.
    FieldByteSize,
    /// 1 if the field exists, otherwise 0.
    FieldExists,
    /// 1 if the field is signed, otherwise 0.
    FieldSigned,
    /// The left shift that moves the field's highest bit to the top of a 64-bit load.
    FieldLshiftU64,
    /// The right shift that moves the field's lowest bit to the bottom afterwards.
    FieldRshiftU64,
    /// The type's id in the object's own BTF.
    TypeIdLocal,
    /// The type's id in the target.
    TypeIdTarget,
    /// 1 if a compatible type exists, otherwise 0.
    TypeExists,
    /// The type's size in bytes.
    TypeSize,
    /// 1 if the enumerator exists, otherwise 0.
    EnumvalExists,
    /// The enumerator's value.
    EnumvalValue,
    /// 1 if a type of the same shape exists, otherwise 0.
    TypeMatches,
    /// A kind that this library does not know.
    Unknown(u32),
}

impl RelocKind {
    /// Every known kind, in the order of the raw values.
    pub const ALL: [Self; 13] = [
        Self::FieldByteOffset,
        Self::FieldByteSize,
        Self::FieldExists,
        Self::FieldSigned,
        Self::FieldLshiftU64,
        Self::FieldRshiftU64,
        Self::TypeIdLocal,
        Self::TypeIdTarget,
        Self::TypeExists,
        Self::TypeSize,
        Self::EnumvalExists,
        Self::EnumvalValue,
        Self::TypeMatches,
    ];

    /// Returns the kind with this raw value.
    pub fn from_raw(raw: u32) -> Self {
        let known = usize::try_from(raw).ok().and_then(|index| Self::ALL.get(index));
        known.copied().unwrap_or(Self::Unknown(raw))
    }

    /// Returns the raw value (`enum bpf_core_relo_kind`).
    pub const fn raw(self) -> u32 {
        match self {
            Self::FieldByteOffset => 0,
            Self::FieldByteSize => 1,
            Self::FieldExists => 2,
            Self::FieldSigned => 3,
            Self::FieldLshiftU64 => 4,
            Self::FieldRshiftU64 => 5,
            Self::TypeIdLocal => 6,
            Self::TypeIdTarget => 7,
            Self::TypeExists => 8,
            Self::TypeSize => 9,
            Self::EnumvalExists => 10,
            Self::EnumvalValue => 11,
            Self::TypeMatches => 12,
            Self::Unknown(raw) => raw,
        }
    }

    /// Returns the kernel's name in lower case: `field_byte_offset`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FieldByteOffset => "field_byte_offset",
            Self::FieldByteSize => "field_byte_size",
            Self::FieldExists => "field_exists",
            Self::FieldSigned => "field_signed",
            Self::FieldLshiftU64 => "field_lshift_u64",
            Self::FieldRshiftU64 => "field_rshift_u64",
            Self::TypeIdLocal => "type_id_local",
            Self::TypeIdTarget => "type_id_target",
            Self::TypeExists => "type_exists",
            Self::TypeSize => "type_size",
            Self::EnumvalExists => "enumval_exists",
            Self::EnumvalValue => "enumval_value",
            Self::TypeMatches => "type_matches",
            Self::Unknown(_) => "unknown",
        }
    }

    /// Returns whether the relocation concerns a field.
    pub const fn is_field(self) -> bool {
        matches!(
            self,
            Self::FieldByteOffset
                | Self::FieldByteSize
                | Self::FieldExists
                | Self::FieldSigned
                | Self::FieldLshiftU64
                | Self::FieldRshiftU64
        )
    }

    /// Returns whether the relocation concerns a type as a whole.
    pub const fn is_type(self) -> bool {
        matches!(
            self,
            Self::TypeIdLocal | Self::TypeIdTarget | Self::TypeExists | Self::TypeSize | Self::TypeMatches
        )
    }

    /// Returns whether the relocation concerns an enumerator.
    pub const fn is_enumval(self) -> bool {
        matches!(self, Self::EnumvalExists | Self::EnumvalValue)
    }
}

impl fmt::Display for RelocKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(raw) => write!(f, "unknown({raw})"),
            known => f.pad(known.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_kinds_correspond() {
        for (kind, raw) in RelocKind::ALL.into_iter().zip(0..) {
            assert_eq!((kind.raw(), RelocKind::from_raw(raw)), (raw, kind));
        }
        assert_eq!(RelocKind::from_raw(13), RelocKind::Unknown(13));
    }
}
