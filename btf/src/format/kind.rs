//! The kinds of types.

use core::fmt;

/// The kind of a type (`BTF_KIND_*`).
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
    /// A forward declaration of a struct (flag clear) or a union (flag set).
    Fwd,
    /// A typedef.
    Typedef,
    /// `volatile`.
    Volatile,
    /// `const`.
    Const,
    /// `restrict`.
    Restrict,
    /// A function, which refers to its `FUNC_PROTO`.
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
    /// A kind that this library does not know. The BTF's layout section gives the size of its records.
    Unknown(u8),
}

macro_rules! kinds {
    ($($raw:literal $kind:ident $name:literal;)*) => {
        impl Kind {
            /// Returns the kind with this raw value.
            #[inline]
            pub const fn from_raw(raw: u8) -> Self {
                match raw {
                    $($raw => Self::$kind,)*
                    _ => Self::Unknown(raw),
                }
            }

            /// Returns the raw value (`BTF_KIND_*`).
            #[inline]
            pub const fn raw(self) -> u8 {
                match self {
                    $(Self::$kind => $raw,)*
                    Self::Unknown(raw) => raw,
                }
            }

            /// Returns the name that bpftool's raw dump uses: `STRUCT`, `FUNC_PROTO`.
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
    /// Returns the C keyword before the type's name: `struct`, `union`, `enum`, or an empty string.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Struct | Self::Fwd => "struct",
            Self::Union => "union",
            Self::Enum | Self::Enum64 => "enum",
            _ => "",
        }
    }

    /// Returns whether the kind is a struct or a union (libbpf: `btf_is_composite`).
    pub const fn is_composite(self) -> bool {
        matches!(self, Self::Struct | Self::Union)
    }

    /// Returns whether the kind is an enumeration of either width (libbpf: `btf_is_any_enum`).
    pub const fn is_enum(self) -> bool {
        matches!(self, Self::Enum | Self::Enum64)
    }

    /// Returns whether libbpf's `skip_mods_and_typedefs` skips this kind.
    pub const fn is_modifier_or_typedef(self) -> bool {
        matches!(self, Self::Typedef | Self::Volatile | Self::Const | Self::Restrict | Self::TypeTag)
    }

    /// Returns whether the kinds are equal or both enumerations (libbpf: `btf_kind_core_compat`).
    pub fn is_compatible_with(self, other: Self) -> bool {
        self == other || (self.is_enum() && other.is_enum())
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
