//! The second word of every type record: kind, number of trailing elements, flag.

use crate::endian::Endian;
use core::fmt;

/// What a type is (`BTF_KIND_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Type 0 (`BTF_KIND_UNKN`).
    Void,
    /// An integer, `char` and `_Bool` included.
    Int,
    /// A pointer.
    Ptr,
    /// An array of one dimension; more are arrays of arrays.
    Array,
    /// A structure.
    Struct,
    /// A union.
    Union,
    /// An enumeration of 32-bit values.
    Enum,
    /// A declared, undefined struct (flag clear) or union (flag set).
    Fwd,
    /// A typedef.
    Typedef,
    /// `volatile`.
    Volatile,
    /// `const`.
    Const,
    /// `restrict`.
    Restrict,
    /// A function; its `FUNC_PROTO` is what it refers to.
    Func,
    /// A function's signature.
    FuncProto,
    /// A global variable.
    Var,
    /// An ELF section of variables.
    Datasec,
    /// A floating-point number.
    Float,
    /// `btf_decl_tag` on a declaration, a member or a parameter.
    DeclTag,
    /// `btf_type_tag`, a modifier.
    TypeTag,
    /// An enumeration of 64-bit values.
    Enum64,
    /// A kind younger than this library, skipped by the BTF's layout section.
    Unknown(u8),
}

macro_rules! kinds {
    ($($raw:literal $kind:ident $name:literal;)*) => {
        impl Kind {
            /// The kind of this number.
            #[inline]
            pub const fn from_raw(raw: u8) -> Self {
                match raw {
                    $($raw => Self::$kind,)*
                    _ => Self::Unknown(raw),
                }
            }

            /// The kind's number in the format.
            #[inline]
            pub const fn raw(self) -> u8 {
                match self {
                    $(Self::$kind => $raw,)*
                    Self::Unknown(raw) => raw,
                }
            }

            /// The name used by bpftool's raw dump: `STRUCT`, `FUNC_PROTO`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                    Self::Unknown(_) => "UNKNOWN",
                }
            }
        }
    };
}

kinds! {
    0 Void "UNKN";
    1 Int "INT";
    2 Ptr "PTR";
    3 Array "ARRAY";
    4 Struct "STRUCT";
    5 Union "UNION";
    6 Enum "ENUM";
    7 Fwd "FWD";
    8 Typedef "TYPEDEF";
    9 Volatile "VOLATILE";
    10 Const "CONST";
    11 Restrict "RESTRICT";
    12 Func "FUNC";
    13 FuncProto "FUNC_PROTO";
    14 Var "VAR";
    15 Datasec "DATASEC";
    16 Float "FLOAT";
    17 DeclTag "DECL_TAG";
    18 TypeTag "TYPE_TAG";
    19 Enum64 "ENUM64";
}

impl Kind {
    /// The word C uses before such a type's name: `struct`, `union`, `enum`; empty elsewhere.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Struct | Self::Fwd => "struct",
            Self::Union => "union",
            Self::Enum | Self::Enum64 => "enum",
            _ => "",
        }
    }

    /// Struct or union.
    pub const fn is_composite(self) -> bool {
        matches!(self, Self::Struct | Self::Union)
    }

    /// Either width of enumeration (libbpf: `btf_is_any_enum`).
    pub const fn is_enum(self) -> bool {
        matches!(self, Self::Enum | Self::Enum64)
    }

    /// What libbpf's `skip_mods_and_typedefs` passes through.
    pub const fn is_modifier_or_typedef(self) -> bool {
        matches!(self, Self::Typedef | Self::Volatile | Self::Const | Self::Restrict | Self::TypeTag)
    }

    /// Whether the two may stand for each other: the same kind, or both an enumeration (libbpf: `btf_kind_core_compat`).
    pub fn compatible(self, other: Self) -> bool {
        self == other || (self.is_enum() && other.is_enum())
    }

    /// Bytes after the first twelve: once, and for each of the `vlen` elements. `None` if the kind is unknown.
    pub(crate) const fn record_shape(self) -> Option<RecordShape> {
        let (fixed, each) = match self {
            Self::Int | Self::Var | Self::DeclTag => (4, 0),
            Self::Array => (12, 0),
            Self::Struct | Self::Union | Self::Datasec | Self::Enum64 => (0, 12),
            Self::Enum | Self::FuncProto => (0, 8),
            Self::Ptr
            | Self::Fwd
            | Self::Typedef
            | Self::Volatile
            | Self::Const
            | Self::Restrict
            | Self::Func
            | Self::Float
            | Self::TypeTag => (0, 0),
            Self::Void | Self::Unknown(_) => return None,
        };
        Some(RecordShape { fixed, each })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(raw) => write!(f, "UNKNOWN({raw})"),
            known => f.pad(known.name()),
        }
    }
}

/// The sizes, in bytes, of what follows a type's first twelve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordShape {
    pub(crate) fixed: u8,
    pub(crate) each: u8,
}

impl RecordShape {
    /// Bytes of a record with `vlen` elements, its first twelve included. 24 bits times 8 bits do not saturate.
    #[inline]
    pub(crate) fn record_len(self, vlen: u32) -> u32 {
        vlen.saturating_mul(u32::from(self.each)).saturating_add(u32::from(self.fixed)).saturating_add(12)
    }
}

/// The `info` word: `vlen` in 24 bits, `kind` in 7, `kflag` in the last.
///
/// Older BTF used 16 and 5 bits and left the rest zero, which reads the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Info(pub(crate) u32);

impl Info {
    pub(crate) fn new(kind: Kind, vlen: u32, kflag: bool) -> Self {
        Self((u32::from(kflag) << 31) | (u32::from(kind.raw() & 0x7f) << 24) | (vlen & 0x00ff_ffff))
    }

    pub(crate) const fn vlen(self) -> u32 {
        self.0 & 0x00ff_ffff
    }

    #[inline]
    pub(crate) const fn kind(self) -> Kind {
        Kind::from_raw(self.kind_raw())
    }

    #[inline]
    pub(crate) const fn kind_raw(self) -> u8 {
        let [_, _, _, raw] = Endian::Little.u32_bytes(self.0);
        raw & 0x7f
    }

    pub(crate) const fn kflag(self) -> bool {
        self.0 >> 31 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_agree_for_every_kind() {
        for raw in 0..=127u8 {
            let kind = Kind::from_raw(raw);
            assert_eq!(kind.raw(), raw);
            assert_eq!(matches!(kind, Kind::Unknown(_)), raw > 19);
            assert_eq!(Info::new(kind, 0x0012_3456, true).kind(), kind);
        }
        assert_eq!(Kind::Enum64.name(), "ENUM64");
        assert_eq!(Kind::from_raw(13), Kind::FuncProto);
    }

    #[test]
    fn the_info_word_holds_24_bits_of_elements() {
        let info = Info::new(Kind::Struct, 0x00ff_ffff, true);
        assert_eq!((info.vlen(), info.kind(), info.kflag()), (0x00ff_ffff, Kind::Struct, true));
    }
}
