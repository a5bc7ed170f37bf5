//! Errors of parsing a BTF and of relocating a split BTF.

use crate::{format::Kind, ids::TypeId, limits};
use thiserror::Error;

/// The reason why bytes are not a BTF.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BtfError {
    /// The data is shorter than a header.
    #[error("BTF is {len} bytes long, its header needs {need}")]
    TooShort {
        /// The length of the data.
        len: usize,
        /// The length of the header.
        need: u32,
    },
    /// The data is longer than the format can address.
    #[error("BTF of {len} bytes is larger than the format allows (2 GiB)")]
    TooLong {
        /// The length of the data.
        len: usize,
    },
    /// The first two bytes are not 0xEB9F in either byte order.
    #[error("not BTF: magic is {found:#06x}, expected 0xeb9f in either byte order")]
    Magic {
        /// The first two bytes as a little-endian number.
        found: u16,
    },
    /// The version is not 1.
    #[error("BTF version {found} is not supported (expected 1)")]
    Version {
        /// The version in the header.
        found: u8,
    },
    /// The header is too short for the section offsets, or its length is not a multiple of 4.
    #[error("BTF header length {found} is not supported (expected at least 24, a multiple of 4)")]
    HeaderLength {
        /// `hdr_len` in the header.
        found: u32,
    },
    /// A section exceeds the data.
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
        /// The rule: `begin with NUL`, `end with NUL`, `contain anything`.
        must: &'static str,
        /// Whether a missing base BTF would explain the error.
        split_without_base: bool,
    },
    /// A string is longer than any name or source line.
    #[error(
        "BTF string section: no NUL in the {} bytes from offset {offset}, expected shorter strings",
        limits::STRING_BYTES
    )]
    LongString {
        /// The string's offset, in bytes, in the string section.
        offset: usize,
    },
    /// A type record exceeds the type section.
    #[error(
        "BTF type [{id}] {kind} with {vlen} elements at offset {offset} reaches past the type section of {section_len} bytes"
    )]
    TypeBounds {
        /// The type's id.
        id: TypeId,
        /// Its kind.
        kind: Kind,
        /// The number of its elements.
        vlen: u32,
        /// Its offset, in bytes, in the type section.
        offset: u32,
        /// The length of the type section in bytes.
        section_len: u32,
    },
    /// A type is of an unknown kind, and the BTF has no layout section with the size of its record.
    #[error("BTF type [{id}] at offset {offset} is of unknown kind {kind}, and the BTF has no layout for it")]
    UnknownKind {
        /// The type's id.
        id: TypeId,
        /// The raw kind.
        kind: u8,
        /// Its offset, in bytes, in the type section.
        offset: u32,
    },
    /// A type refers to a type that does not exist.
    #[error("BTF type [{id}] {kind} refers to type [{target}], the last is [{last}]{}", if *.split_without_base { " (is this a split BTF whose base was not given?)" } else { "" })]
    TypeRef {
        /// The type that refers.
        id: TypeId,
        /// Its kind.
        kind: Kind,
        /// The id that does not exist.
        target: TypeId,
        /// The last id.
        last: TypeId,
        /// Whether a missing base BTF would explain the error.
        split_without_base: bool,
    },
    /// A name lies outside the string section.
    #[error("BTF type [{id}] {kind} has a name at string offset {offset}, the strings end at {end}{}", if *.split_without_base { " (is this a split BTF whose base was not given?)" } else { "" })]
    NameRef {
        /// The type with the name, or with the element that has the name.
        id: TypeId,
        /// Its kind.
        kind: Kind,
        /// The offset of the name.
        offset: u32,
        /// One past the last string offset.
        end: u32,
        /// Whether a missing base BTF would explain the error.
        split_without_base: bool,
    },
    /// A FUNC refers to a type that is not a FUNC_PROTO.
    #[error("BTF type [{id}] FUNC refers to type [{target}] {kind}, expected FUNC_PROTO")]
    FuncWithoutProto {
        /// The function's type.
        id: TypeId,
        /// The type to which the FUNC refers.
        target: TypeId,
        /// The kind of the target.
        kind: Kind,
    },
    /// A split BTF and its base differ in byte order.
    #[error("split BTF and its base are of different byte order")]
    BaseEndian,
    /// The chain of bases is longer than the limit.
    #[error("split BTF has more than {limit} levels of base BTF")]
    TooManyBases {
        /// The limit.
        limit: u32,
    },
    /// There is too little memory for a table of the types.
    #[error("BTF: too little memory for a table of {types} types")]
    OutOfMemory {
        /// The number of types that the table has room for.
        types: usize,
    },
    /// The types or strings, with those of the base, exceed 32-bit numbers.
    #[error("base and split BTF together contain more types or strings than 32-bit offsets can address")]
    TooManyTypes,
    /// A distilled base contains an anonymous type, or a type of a kind that no distilled base contains.
    #[error("type [{id}] {kind} cannot be in a distilled base BTF")]
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
        /// The number of counterparts in the base.
        found: u32,
    },
}

crate::debug_as_message!(BtfError);
