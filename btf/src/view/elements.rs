//! The elements of a type's record: members, enumerators, parameters, variables, and the parts of arrays and
//! integers.

use crate::{
    ids::{BitOffset, StrOffset, TypeId},
    name::Name,
};

/// A member of a struct or union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member<'b> {
    /// The member's index in the record.
    pub index: u32,
    /// The name, empty if anonymous.
    pub name: Name<'b>,
    /// The offset of the name.
    pub name_offset: StrOffset,
    /// The type.
    pub ty: TypeId,
    /// The offset in bits from the start of the composite (libbpf: `btf_member_bit_offset`).
    pub bit_offset: BitOffset,
    /// The width in bits of a bitfield in a composite with the kflag, else 0 (libbpf:
    /// `btf_member_bitfield_size`).
    ///
    /// Before Linux 5.0 a bitfield was an INT with fewer bits than its storage: see [`IntInfo`].
    pub bitfield_bits: u32,
}

/// An enumerator of an ENUM or ENUM64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Enumerator<'b> {
    /// The enumerator's index in the record.
    pub index: u32,
    /// The name.
    pub name: Name<'b>,
    /// The offset of the name.
    pub name_offset: StrOffset,
    /// The value: of an ENUM sign-extended from 32 bits, even if the enum is unsigned; of an ENUM64 the 64
    /// bits.
    ///
    /// libbpf reads values in the same way (`bpf_core_calc_enumval_relo`). [`c_value`](Self::c_value) is the
    /// value in C.
    pub value: u64,
    /// Whether the enum's values are signed.
    pub signed: bool,
    /// Whether the enumerator belongs to an ENUM64.
    pub wide: bool,
}

impl Enumerator<'_> {
    /// Returns the value in C: zero-extended from 32 bits in an unsigned ENUM.
    pub const fn c_value(&self) -> u64 {
        if self.wide || self.signed { self.value } else { self.value & 0xffff_ffff }
    }
}

/// A parameter of a FUNC_PROTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Param<'b> {
    /// The name, often empty.
    pub name: Name<'b>,
    /// The offset of the name.
    pub name_offset: StrOffset,
    /// The type. A last parameter of type `void` stands for variable arguments.
    pub ty: TypeId,
}

/// A variable of a DATASEC (libbpf: `btf_var_secinfo`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecInfo {
    /// The VAR, or in an object a FUNC.
    pub ty: TypeId,
    /// The offset in the section, in bytes.
    pub offset: u32,
    /// The size in bytes.
    pub size: u32,
}

/// The element type and the length of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArrayInfo {
    /// The element's type.
    pub element: TypeId,
    /// The type of an index, which is unused.
    pub index: TypeId,
    /// Number of elements; 0 for a flexible array.
    pub nelems: u32,
}

/// The encoding of an INT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IntInfo {
    /// Bits [`SIGNED`](Self::SIGNED), [`CHAR`](Self::CHAR), [`BOOL`](Self::BOOL).
    pub encoding: u8,
    /// The first bit of a legacy bitfield in its storage, else 0.
    pub offset: u8,
    /// The width in bits.
    pub bits: u8,
}

impl IntInfo {
    /// Encoding bit of a signed integer.
    pub const SIGNED: u8 = 1;
    /// Encoding bit of a character.
    pub const CHAR: u8 = 2;
    /// Encoding bit of a `_Bool`.
    pub const BOOL: u8 = 4;

    /// Returns whether the SIGNED bit is set.
    pub const fn is_signed(self) -> bool {
        self.encoding & Self::SIGNED != 0
    }

    /// Returns the name of the encoding in bpftool's raw dump.
    pub const fn encoding_name(self) -> &'static str {
        match self.encoding {
            0 => "(none)",
            Self::SIGNED => "SIGNED",
            Self::CHAR => "CHAR",
            Self::BOOL => "BOOL",
            _ => "UNKN",
        }
    }
}
