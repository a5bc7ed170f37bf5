//! Errors of parsing a BTF and of relocating a split BTF.

use crate::{btf::format::Kind, ids::TypeId, limits};
use thiserror::Error;

/// The reason why bytes are not a BTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BtfError {
    /// Fewer bytes than a header.
    #[error("BTF is {len} bytes long, its header needs {need}")]
    TooShort {
        /// Bytes there are.
        len: usize,
        /// Bytes the header needs.
        need: u32,
    },
    /// More bytes than the format can address.
    #[error("BTF of {len} bytes is larger than the format allows (2 GiB)")]
    TooLong {
        /// Bytes there are.
        len: usize,
    },
    /// The first two bytes are not 0xEB9F in either byte order.
    #[error("not BTF: magic is {found:#06x}, expected 0xeb9f in either byte order")]
    Magic {
        /// The first two bytes as a little-endian number.
        found: u16,
    },
    /// A version other than 1.
    #[error("BTF version {found} is not supported (expected 1)")]
    Version {
        /// The version in the header.
        found: u8,
    },
    /// The header's length leaves out the section offsets, or is not a multiple of 4.
    #[error("BTF header length {found} is not supported (expected at least 24, a multiple of 4)")]
    HeaderLength {
        /// `hdr_len` in the header.
        found: u32,
    },
    /// A section reaches past the end of the data.
    #[error(
        "BTF {section} section (offset {offset}, length {len}) reaches past the end: {available} bytes follow the header"
    )]
    SectionBounds {
        /// `type`, `string` or `layout`.
        section: &'static str,
        /// The section's offset, in bytes after the header.
        offset: u32,
        /// The section's length in bytes.
        len: u32,
        /// Bytes after the header.
        available: usize,
    },
    /// The type and string sections overlap, or the type section is not aligned to 4.
    #[error(
        "BTF type section (offset {type_offset}, length {type_len}) is misaligned or overlaps the string section (offset {string_offset})"
    )]
    SectionOrder {
        /// The type section's offset after the header.
        type_offset: u32,
        /// The type section's length.
        type_len: u32,
        /// The string section's offset after the header.
        string_offset: u32,
    },
    /// The string section is empty, does not end in NUL, or (without a base) does not begin with one.
    #[error("BTF string section does not {must}{}", if *.split_without_base { " (is this a split BTF whose base was not given?)" } else { "" })]
    Strings {
        /// What it must do: `begin with NUL`, `end with NUL`, `hold anything`.
        must: &'static str,
        /// Whether a missing base BTF would explain it.
        split_without_base: bool,
    },
    /// A string that is longer than any name or source line.
    #[error(
        "BTF strings hold none that ends between offset {offset} and {} bytes on; longer ones are refused",
        limits::STRING_BLOCK
    )]
    LongString {
        /// An offset, in bytes, in the string section.
        offset: usize,
    },
    /// A type record reaches past the type section.
    #[error(
        "BTF type [{id}] {kind} with {vlen} elements at offset {offset} reaches past the type section of {section_len} bytes"
    )]
    TypeBounds {
        /// The type's number.
        id: TypeId,
        /// Its kind.
        kind: Kind,
        /// Its number of elements.
        vlen: u32,
        /// Its offset, in bytes, in the type section.
        offset: u32,
        /// The length of the type section in bytes.
        section_len: u32,
    },
    /// A kind this library does not know, and no layout section that says how to skip it.
    #[error("BTF type [{id}] at offset {offset} is of unknown kind {kind}, and the BTF has no layout for it")]
    UnknownKind {
        /// The type's number.
        id: TypeId,
        /// The kind's number.
        kind: u8,
        /// Its offset, in bytes, in the type section.
        offset: u32,
    },
    /// A type refers to a type that is not there.
    #[error("BTF type [{id}] {kind} refers to type [{target}], the last is [{last}]{}", if *.split_without_base { " (is this a split BTF whose base was not given?)" } else { "" })]
    TypeRef {
        /// The type that refers.
        id: TypeId,
        /// Its kind.
        kind: Kind,
        /// The id it refers to.
        target: TypeId,
        /// The last id there is.
        last: TypeId,
        /// Whether a missing base BTF would explain it.
        split_without_base: bool,
    },
    /// A name lies outside the string section.
    #[error("BTF type [{id}] {kind} has a name at string offset {offset}, the strings end at {end}{}", if *.split_without_base { " (is this a split BTF whose base was not given?)" } else { "" })]
    NameRef {
        /// The type that bears the name, or whose member does.
        id: TypeId,
        /// Its kind.
        kind: Kind,
        /// The offset of the name.
        offset: u32,
        /// Where the strings end.
        end: u32,
        /// Whether a missing base BTF would explain it.
        split_without_base: bool,
    },
    /// A `FUNC` that refers to something other than a `FUNC_PROTO`.
    #[error("BTF type [{id}] FUNC refers to type [{target}] {kind}, expected FUNC_PROTO")]
    FuncWithoutProto {
        /// The function's type.
        id: TypeId,
        /// What it refers to.
        target: TypeId,
        /// The kind of that.
        kind: Kind,
    },
    /// A base and a split BTF of different byte order.
    #[error("split BTF and its base are of different byte order")]
    BaseEndian,
    /// Split upon split, deeper than the limit.
    #[error("split BTF has more than {limit} levels of base BTF")]
    TooManyBases {
        /// The limit.
        limit: u32,
    },
    /// More types, with the base's, than 32-bit ids.
    #[error("base and split BTF hold more types or strings than 32-bit numbers can name")]
    TooManyTypes,
    /// A type that a distilled base does not hold: it is anonymous, or of another kind than the few.
    #[error("type [{id}] {kind} has no place in a distilled base BTF")]
    NotDistilled {
        /// The type in `.BTF.base`.
        id: TypeId,
        /// Its kind.
        kind: Kind,
    },
    /// A type of the distilled base has no counterpart in the real base.
    #[error("distilled base type [{id}] {kind} has {found} counterparts in the base BTF, expected one")]
    Distilled {
        /// The type in `.BTF.base`.
        id: TypeId,
        /// Its kind.
        kind: Kind,
        /// How many types of the base fit.
        found: u32,
    },
}
