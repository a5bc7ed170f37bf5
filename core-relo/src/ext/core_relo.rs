//! CO-RE relocation records, as the compiler wrote them.

use super::ExtRecord;
use crate::{
    endian::Endian,
    ids::{ByteOffset, StrOffset, TypeId},
};
use core::fmt;

/// One CO-RE relocation (`struct bpf_core_relo`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CoreRelo {
    /// The instruction it patches, in bytes from the start of the ELF section.
    pub insn_offset: ByteOffset,
    /// The local type the access starts from.
    pub root: TypeId,
    /// The access string, `0:1:2`.
    pub access: StrOffset,
    /// What is asked.
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

/// What a relocation asks of the target (`enum bpf_core_relo_kind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RelocKind {
    /// The field's offset in bytes.
    FieldByteOffset,
    /// The field's size in bytes.
    FieldByteSize,
    /// Whether the field exists: 1 or 0.
    FieldExists,
    /// Whether the field is signed: 1 or 0.
    FieldSigned,
    /// How far to shift a 64-bit load left so that the field's highest bit is on top.
    FieldLshiftU64,
    /// How far to shift it right again.
    FieldRshiftU64,
    /// The type's id in the object's own BTF.
    TypeIdLocal,
    /// The type's id in the target.
    TypeIdTarget,
    /// Whether a compatible type exists: 1 or 0.
    TypeExists,
    /// The type's size in bytes.
    TypeSize,
    /// Whether the enumerator exists: 1 or 0.
    EnumvalExists,
    /// The enumerator's value.
    EnumvalValue,
    /// Whether a type of the same shape exists: 1 or 0.
    TypeMatches,
    /// A number younger than this library.
    Unknown(u32),
}

const KINDS: [(RelocKind, &str); 13] = [
    (RelocKind::FieldByteOffset, "field_byte_offset"),
    (RelocKind::FieldByteSize, "field_byte_size"),
    (RelocKind::FieldExists, "field_exists"),
    (RelocKind::FieldSigned, "field_signed"),
    (RelocKind::FieldLshiftU64, "field_lshift_u64"),
    (RelocKind::FieldRshiftU64, "field_rshift_u64"),
    (RelocKind::TypeIdLocal, "type_id_local"),
    (RelocKind::TypeIdTarget, "type_id_target"),
    (RelocKind::TypeExists, "type_exists"),
    (RelocKind::TypeSize, "type_size"),
    (RelocKind::EnumvalExists, "enumval_exists"),
    (RelocKind::EnumvalValue, "enumval_value"),
    (RelocKind::TypeMatches, "type_matches"),
];

impl RelocKind {
    /// The kind of this number.
    pub fn from_raw(raw: u32) -> Self {
        let known = usize::try_from(raw).ok().and_then(|at| KINDS.get(at));
        known.map_or(Self::Unknown(raw), |(kind, _)| *kind)
    }

    /// Its number in the format.
    pub fn raw(self) -> u32 {
        if let Self::Unknown(raw) = self {
            return raw;
        }
        let at = KINDS.iter().position(|(kind, _)| *kind == self).unwrap_or_default();
        u32::try_from(at).unwrap_or_default()
    }

    /// Every known kind, in order of its number.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        KINDS.iter().map(|(kind, _)| *kind)
    }

    /// The kernel's name in lower case: `field_byte_offset`.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("unknown", |(_, name)| name)
    }

    /// Asks about a field.
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

    /// Asks about a type as a whole.
    pub const fn is_type(self) -> bool {
        matches!(
            self,
            Self::TypeIdLocal | Self::TypeIdTarget | Self::TypeExists | Self::TypeSize | Self::TypeMatches
        )
    }

    /// Asks about an enumerator.
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
