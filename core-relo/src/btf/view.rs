//! What a type's record holds after its first words, as values.

use crate::{
    ids::{BitOffset, StrOffset, TypeId},
    name::Name,
};

/// A struct's or union's member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member<'b> {
    /// Its number in the record.
    pub index: u32,
    /// Its name; empty if anonymous.
    pub name: Name<'b>,
    /// Where the name lies.
    pub name_offset: StrOffset,
    /// Its type.
    pub ty: TypeId,
    /// Its offset in bits from the start of the composite (libbpf: `btf_member_bit_offset`).
    pub bit_offset: BitOffset,
    /// Its width in bits if it is a bitfield by the composite's flag, else 0 (libbpf: `btf_member_bitfield_size`).
    ///
    /// Before Linux 5.0 a bitfield was an INT of fewer bits: see [`IntInfo`].
    pub bitfield_bits: u32,
}

/// An enumerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variant<'b> {
    /// Its number in the record.
    pub index: u32,
    /// Its name.
    pub name: Name<'b>,
    /// Where the name lies.
    pub name_offset: StrOffset,
    /// Its value: of an ENUM sign-extended from 32 bits whatever the enum's flag says, of an ENUM64 the 64 bits.
    ///
    /// That is how libbpf reads it (`bpf_core_calc_enumval_relo`); [`c_value`](Self::c_value) is what C sees.
    pub value: u64,
    /// Whether the enum's values are signed.
    pub signed: bool,
    /// Whether it is of an ENUM64.
    pub wide: bool,
}

impl Variant<'_> {
    /// The value as C sees it: zero-extended from 32 bits in an unsigned ENUM.
    pub const fn c_value(&self) -> u64 {
        if self.wide || self.signed { self.value } else { self.value & 0xffff_ffff }
    }
}

/// A function's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Param<'b> {
    /// Its name, often empty.
    pub name: Name<'b>,
    /// Where the name lies.
    pub name_offset: StrOffset,
    /// Its type; `void` in last place means variadic.
    pub ty: TypeId,
}

/// A variable's place in a `DATASEC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecInfo {
    /// The variable's (or, in an object, the function's) type.
    pub ty: TypeId,
    /// Its offset in the section, in bytes.
    pub offset: u32,
    /// Its size in bytes.
    pub size: u32,
}

/// An array's element and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArrayInfo {
    /// The element's type.
    pub element: TypeId,
    /// The type of an index, which nobody uses.
    pub index: TypeId,
    /// Number of elements; 0 for a flexible array.
    pub nelems: u32,
}

/// How an `INT` is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IntInfo {
    /// Bits [`SIGNED`](Self::SIGNED), [`CHAR`](Self::CHAR), [`BOOL`](Self::BOOL).
    pub encoding: u8,
    /// Where a legacy bitfield begins within its storage, in bits; 0 otherwise.
    pub offset: u8,
    /// Its width in bits.
    pub bits: u8,
}

impl IntInfo {
    /// Encoding bit of a signed integer.
    pub const SIGNED: u8 = 1;
    /// Encoding bit of a character.
    pub const CHAR: u8 = 2;
    /// Encoding bit of a `_Bool`.
    pub const BOOL: u8 = 4;

    /// Whether the SIGNED bit is set.
    pub const fn is_signed(self) -> bool {
        self.encoding & Self::SIGNED != 0
    }
}
