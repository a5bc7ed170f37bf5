//! Scalar values: numbers, enumerators and text.

use super::{bits, extended::ExtendedFloat};
use crate::{
    format::Kind,
    ids::to_usize,
    name::Name,
    parse::Btf,
    view::{Extent, IntInfo, Type},
};

/// A value that has no members or elements, or an array of `char`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Scalar<'v> {
    /// An unsigned integer, up to 128 bits.
    Unsigned(u128),
    /// A signed integer, up to 128 bits.
    Signed(i128),
    /// A `_Bool`.
    Bool(bool),
    /// A character: an INT with the encoding CHAR, or a `char`.
    Char(u8),
    /// A floating-point number of 4 or 8 bytes. A NaN with other bits than the default one is
    /// [`Scalar::Raw`].
    Float(f64),
    /// A floating-point number of x86 with 80 bits whose value no `double` has. Others are [`Scalar::Float`].
    Extended(ExtendedFloat),
    /// An address.
    Pointer(u64),
    /// A value of an enumeration.
    Enum(EnumValue<'v>),
    /// An array of `char`.
    Text {
        /// The bytes, including those after the NUL: see [`Scalar::c_str`]. If the data ends early, fewer
        /// than `len` bytes.
        bytes: &'v [u8],
        /// The number of elements in the type. For a flexible array, the number of bytes.
        len: u32,
    },
    /// Bytes of a type whose values cannot be read.
    Raw(&'v [u8]),
    /// The data ends before the value.
    CutOff,
    /// The value is nested too deeply, or the limit of parts is reached.
    Omitted,
}

/// Returns the bytes before the first NUL, or all bytes if there is none.
pub(super) fn before_nul(bytes: &[u8]) -> &[u8] {
    bytes.iter().position(|b| *b == 0).and_then(|end| bytes.get(..end)).unwrap_or(bytes)
}

impl<'v> Scalar<'v> {
    /// Returns the bytes of a text up to its NUL, or all bytes if there is none.
    pub fn c_str(self) -> Option<&'v [u8]> {
        match self {
            Self::Text { bytes, .. } => Some(before_nul(bytes)),
            _ => None,
        }
    }

    /// Returns whether the value is zero, or a text without characters.
    pub fn is_zero(self) -> bool {
        match self {
            Self::Unsigned(v) => v == 0,
            Self::Signed(v) => v == 0,
            Self::Bool(v) => !v,
            Self::Char(v) => v == 0,
            Self::Float(v) => v.to_bits() == 0,
            Self::Pointer(v) => v == 0,
            Self::Enum(v) => v.bits == 0,
            Self::Text { bytes, .. } => bytes.iter().all(|b| *b == 0),
            Self::Extended(v) => v.to_bits() == 0,
            Self::Raw(_) | Self::CutOff | Self::Omitted => false,
        }
    }
}

/// The format of floating-point numbers with more than 8 bytes, `long double`. BTF does not tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LongDouble {
    /// An unknown format, or one whose numbers are not read, such as those of arm64, s390x and PowerPC.
    #[default]
    Unknown,
    /// The format of x86: 80 bits, and zeros after them.
    X86,
}

/// A value of an ENUM or ENUM64.
#[derive(Clone, Copy, Debug)]
pub struct EnumValue<'v> {
    ty: Type<'v>,
    bits: u64,
    value: i128,
}

impl<'v> EnumValue<'v> {
    /// Returns the value, sign-extended if the enum is signed.
    pub fn value(self) -> i128 {
        self.value
    }

    /// Returns the name of the first enumerator with this value.
    pub fn name(self) -> Option<Name<'v>> {
        let found = self.ty.enumerators().find(|v| {
            let value = if v.signed { i128::from(v.value.cast_signed()) } else { i128::from(v.c_value()) };
            value == self.value
        });
        found.map(|v| v.name)
    }

    /// Returns the length of the name, or of the names of all flags, in bytes.
    #[expect(clippy::disallowed_methods, reason = "an amount of work: names of flags may share their bytes")]
    pub(super) fn name_bytes(self) -> usize {
        let len = |name: Name<'_>| name.as_bytes().len();
        match (self.name(), self.flags()) {
            (Some(name), _) => len(name),
            (None, Some((names, _))) => names.map(len).fold(0, usize::saturating_add),
            (None, None) => 0,
        }
    }

    /// Returns the names of the flags that are set in the value, and the remaining bits. Returns `None` if no
    /// flag is set, or if the enum is not an enum of flags.
    ///
    /// An enum of flags has enumerators for at least three single bits. All other enumerators are
    /// combinations of these bits. An enum that counts from 0 or 1 without gaps has no flags.
    pub fn flags(self) -> Option<(impl Iterator<Item = Name<'v>>, u64)> {
        let single = self.ty.enumerators().filter(|v| v.c_value().is_power_of_two());
        let all = single.clone().fold(0, |all, v| all | v.c_value());
        let is_flags = all.count_ones() >= 3 && self.ty.enumerators().all(|v| v.c_value() & !all == 0);
        if !is_flags || self.bits & all == 0 || self.counts_without_gaps() {
            return None;
        }
        let mut left = self.bits;
        let set = single.filter(move |v| {
            let is_set = left & v.c_value() != 0;
            left &= !v.c_value();
            is_set
        });
        Some((set.map(|v| v.name), self.bits & !all))
    }

    /// Returns whether the enumerators are all numbers from 0 or 1 to the largest.
    fn counts_without_gaps(self) -> bool {
        let values = self.ty.enumerators().map(|v| v.c_value()).filter(|v| *v != 0);
        let largest = values.clone().max().unwrap_or(0);
        match u32::try_from(largest).ok().and_then(|bits| 1u128.checked_shl(bits)) {
            // One bit for each number.
            Some(top) => {
                let present = values.fold(1, |set, v| set | (1u128 << (v % 128)));
                present == top | top.wrapping_sub(1)
            }
            None => u64::try_from(values.count()).is_ok_and(|count| count >= largest),
        }
    }
}

/// The bits of the NaN that `NaN` names, as a float of 4 bytes. All others are printed as bytes.
pub(in crate::text) const NAN_32: u32 = 0x7fc0_0000;
/// The bits of the NaN that `NaN` names, as a float of 8 bytes.
pub(in crate::text) const NAN_64: u64 = 0x7ff8_0000_0000_0000;

/// Reads a scalar value from the start of `data`, or from the bits of `extent`.
pub(super) fn read<'v>(
    btf: &'v Btf<'v>,
    ty: Type<'v>,
    data: &'v [u8],
    extent: Option<Extent>,
    long_double: LongDouble,
) -> Scalar<'v> {
    let number = |start: u32, width: u64| {
        let width = u32::try_from(width).ok()?;
        bits::unsigned(btf.endian(), data, to_usize(start), width).map(|v| (v, width))
    };
    let whole = u64::from(btf.size_of(ty.id()).map_or(0, |size| size.0)).saturating_mul(8);
    let (start, width) = extent.map_or((0, whole), |e| (e.bit_offset.0, e.bits));
    match ty.kind() {
        Kind::Int => {
            let Some(int) = ty.int() else { return Scalar::Raw(data) };
            // An INT with fewer bits than its storage that is not a member.
            let is_partial = extent.is_none() && (int.offset != 0 || u64::from(int.bits) != whole);
            let (start, width) =
                if is_partial { (u32::from(int.offset), int.bits.into()) } else { (start, width) };
            if width == 0 || width > 128 {
                return Scalar::Raw(data);
            }
            number(start, width).map_or(Scalar::CutOff, |(v, width)| integer(ty, int, v, width))
        }
        Kind::Ptr => match number(start, width) {
            Some((v, _)) => u64::try_from(v).map_or(Scalar::Raw(data), Scalar::Pointer),
            None => Scalar::CutOff,
        },
        Kind::Enum | Kind::Enum64 if width > 64 || width == 0 => Scalar::Raw(data),
        Kind::Enum | Kind::Enum64 => match number(start, width) {
            None => Scalar::CutOff,
            Some((v, width)) => {
                let Ok(bits) = u64::try_from(v) else { return Scalar::Raw(data) };
                let signed = ty.kflag();
                let value = if signed { bits::sign_extended(v, width) } else { v.cast_signed() };
                Scalar::Enum(EnumValue { ty, bits, value })
            }
        },
        Kind::Float => match (number(start, width), width) {
            (None, 32 | 64) => Scalar::CutOff,
            (None, 96 | 128) if is_extended(ty, long_double) => Scalar::CutOff,
            (Some((v, _)), 96 | 128) if is_extended(ty, long_double) => match ExtendedFloat::from_bits(v) {
                Some(v) => v.to_f64().map_or(Scalar::Extended(v), Scalar::Float),
                None => Scalar::Raw(data),
            },
            (Some((v, _)), 32) => {
                let v = u32::try_from(v).ok().filter(|v| *v == NAN_32 || !f32::from_bits(*v).is_nan());
                v.map_or(Scalar::Raw(data), |v| Scalar::Float(f32::from_bits(v).into()))
            }
            (Some((v, _)), 64) => {
                let v = u64::try_from(v).ok().filter(|v| *v == NAN_64 || !f64::from_bits(*v).is_nan());
                v.map_or(Scalar::Raw(data), |v| Scalar::Float(f64::from_bits(v)))
            }
            _ => Scalar::Raw(data),
        },
        _ => Scalar::Raw(data),
    }
}

/// Returns whether the numbers of a FLOAT of 12 or 16 bytes have the format of x86. Compilers have others of
/// these sizes, such as `_Float128`.
fn is_extended(ty: Type<'_>, long_double: LongDouble) -> bool {
    long_double == LongDouble::X86 && ty.name().as_bytes() == b"long double"
}

fn integer(ty: Type<'_>, int: IntInfo, v: u128, width: u32) -> Scalar<'static> {
    if int.encoding & IntInfo::BOOL != 0 && v <= 1 {
        return Scalar::Bool(v == 1);
    }
    let is_char = int.encoding & IntInfo::CHAR != 0 || ty.name().as_bytes() == b"char";
    if let (true, 8, Ok(char)) = (is_char, width, u8::try_from(v)) {
        return Scalar::Char(char);
    }
    if int.is_signed() { Scalar::Signed(bits::sign_extended(v, width)) } else { Scalar::Unsigned(v) }
}
