//! The rules, with the values that violate them.

use super::{managed::ManagedError, name::NameError};
use crate::ids::TypeId;
use thiserror::Error;

/// A rule of the kernel, with the values that violate it.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BtfRule {
    /// The BTF is too long.
    #[error("the BTF has {found} bytes, the kernel allows {limit}")]
    TooLong {
        /// The bytes of the BTF.
        found: usize,
        /// The bytes that the kernel allows.
        limit: usize,
    },
    /// The data ends within the header.
    #[error("the header ends at byte {need}: found {len} bytes")]
    HeaderTruncated {
        /// The end of the header.
        need: u32,
        /// The bytes of the BTF.
        len: usize,
    },
    /// The header has fields that the kernel does not know.
    #[error("the header has a value after its last field that the kernel knows")]
    HeaderFields,
    /// The magic number is not that of BTF.
    #[error("the magic is {found:#06x}, expected 0xeb9f")]
    Magic {
        /// The magic number.
        found: u16,
    },
    /// The version is not 1.
    #[error("the version is {found}, expected 1")]
    Version {
        /// The version.
        found: u8,
    },
    /// The header's flags are not zero.
    #[error("the flags of the header are {found:#x}, expected 0")]
    HeaderFlags {
        /// The flags.
        found: u8,
    },
    /// Nothing follows the header.
    #[error("nothing follows the header")]
    NoData,
    /// A section begins after the end.
    #[error("a section begins at byte {offset} after the header: found {available} bytes")]
    SectionOffset {
        /// The offset of the section after the header.
        offset: u32,
        /// The bytes after the header.
        available: u32,
    },
    /// Bytes that belong to no section.
    #[error("{offset} bytes after the header, data begins that belongs to no section")]
    SectionGap {
        /// The offset of the bytes after the header.
        offset: u32,
    },
    /// Two sections overlap.
    #[error("two sections overlap at byte {offset} after the header")]
    SectionOverlap {
        /// The offset of the second section after the header.
        offset: u32,
    },
    /// A section ends after the end.
    #[error("a section has {len} bytes: found {available} bytes")]
    SectionLength {
        /// The length of the section.
        len: u32,
        /// The bytes after the start of the section.
        available: u32,
    },
    /// The strings are not the last section.
    #[error("the string section is not the last section")]
    StringsNotLast,
    /// The strings do not begin or end with NUL, or are too long.
    #[error("the string section has to begin and end with NUL, and to have at most 16 MiB")]
    Strings,
    /// The layout section is not aligned.
    #[error("the layout section begins at offset {offset}, expected a multiple of 4")]
    LayoutUnaligned {
        /// The offset of the layout section after the header.
        offset: u32,
    },
    /// The layout section ends within the layout of a kind.
    #[error("the layout section has {found} bytes, expected a multiple of 4")]
    LayoutLength {
        /// The length of the layout section.
        found: u32,
    },
    /// The type section is not aligned.
    #[error("the type section begins at offset {offset}, expected a multiple of 4")]
    TypesUnaligned {
        /// The offset of the type section after the header.
        offset: u32,
    },
    /// There are no types.
    #[error("there are no types")]
    NoTypes,
    /// A record that the type section cuts off.
    #[error("the record has {need} more bytes: found {left} bytes")]
    Truncated {
        /// The bytes of the record's part.
        need: u32,
        /// The bytes that are left of the type section.
        left: u32,
    },
    /// The info word has unknown bits, or more elements than the kernel allows.
    #[error("the info word {found:#010x} has bits that the kernel does not know")]
    Info {
        /// The info word.
        found: u32,
    },
    /// The kernel does not know the kind.
    #[error("the kernel does not know this kind of type")]
    UnknownKind,
    /// The offset of a name lies outside the strings.
    #[error("the name is at string offset {offset}, where there is no string")]
    NameOffset {
        /// The offset.
        offset: u32,
    },
    /// A name that the kernel refuses.
    #[error("{0}")]
    Name(NameError),
    /// A declaration tag without a value.
    #[error("the tag has no value")]
    TagValue,
    /// A record of a kind without elements has elements.
    #[error("the record has {found} elements, expected none")]
    Elements {
        /// The number of elements.
        found: u32,
    },
    /// The record's flag is set.
    #[error("the flag of the record (`kind_flag`) is set, expected 0")]
    Flag,
    /// An ARRAY with a size in its record.
    #[error("the size in the record is {found}, expected 0")]
    SizeNotZero {
        /// The size.
        found: u32,
    },
    /// A FWD that refers to a type.
    #[error("the record refers to type [{found}], expected none")]
    TypeNotZero {
        /// The type.
        found: TypeId,
    },
    /// A DATASEC of size 0.
    #[error("the size is 0")]
    SizeZero,
    /// A DATASEC without entries.
    #[error("the section has no entries")]
    NoEntries,
    /// The encoding word of an INT has unknown bits.
    #[error("the encoding word {found:#010x} has bits that the kernel does not know")]
    IntData {
        /// The word.
        found: u32,
    },
    /// An INT of more than 128 bits.
    #[error("the integer ends at bit {found}, the kernel allows 128 bits")]
    IntBits {
        /// The offset and the width in bits.
        found: u32,
    },
    /// An INT with more bits than its size.
    #[error("the integer ends at bit {bits}, after its size of {size} bytes")]
    IntSize {
        /// The offset and the width in bits.
        bits: u32,
        /// The size in bytes.
        size: u32,
    },
    /// An INT with several encodings.
    #[error("the encoding is {found:#x}, expected one of signed, char and bool")]
    IntEncoding {
        /// The encoding.
        found: u32,
    },
    /// A FLOAT of another size than 2, 4, 8, 12 or 16 bytes.
    #[error("the size is {found} bytes, expected 2, 4, 8, 12 or 16")]
    FloatSize {
        /// The size in bytes.
        found: u32,
    },
    /// An enum of another size than 1, 2, 4 or 8 bytes.
    #[error("the size is {found} bytes, expected 1, 2, 4 or 8")]
    EnumSize {
        /// The size in bytes.
        found: u32,
    },
    /// A reference to a type that does not exist, or that the reference must not have.
    #[error("refers to type [{found}]: {reason}")]
    TypeId {
        /// The type.
        found: TypeId,
        /// The reason.
        reason: TypeIdError,
    },
    /// An ARRAY whose element type is refused.
    #[error("the element type is [{found}]: {reason}")]
    ArrayElement {
        /// The type.
        found: TypeId,
        /// The reason.
        reason: TypeIdError,
    },
    /// An ARRAY whose index type is no regular integer.
    #[error("the index type is [{found}]: {reason}")]
    ArrayIndex {
        /// The type.
        found: TypeId,
        /// The reason.
        reason: TypeIdError,
    },
    /// An ARRAY of integers that do not fill 1, 2, 4, 8 or 16 bytes.
    #[error("the elements are integers that do not fill 1, 2, 4, 8 or 16 bytes")]
    ArrayOfInt,
    /// An ARRAY of 4 GiB or more.
    #[error("the size of {nelems} elements of {size} bytes exceeds 32 bits")]
    ArrayOverflow {
        /// The number of elements.
        nelems: u32,
        /// The bytes of an element.
        size: u32,
    },
    /// A member before its predecessor, or of a union at an offset.
    #[error("the offset is bit {found}, expected {}", Expected { at_least: *previous, is_union: *is_union })]
    MemberOrder {
        /// The offset in bits.
        found: u32,
        /// The offset of the member before it.
        previous: u32,
        /// Whether the member belongs to a union.
        is_union: bool,
    },
    /// A member that begins after the end of its struct.
    #[error("the offset is bit {found}, after the struct's size of {size} bytes")]
    MemberBeyond {
        /// The offset in bits.
        found: u32,
        /// The size of the struct in bytes.
        size: u32,
    },
    /// A member whose type has no size.
    #[error("the type is [{found}]: {reason}")]
    MemberType {
        /// The type.
        found: TypeId,
        /// The reason.
        reason: TypeIdError,
    },
    /// A member that is not aligned.
    #[error("the offset is bit {found}, expected a multiple of {bits}")]
    MemberAlignment {
        /// The offset in bits.
        found: u32,
        /// The alignment in bits.
        bits: u32,
    },
    /// An integer in a struct with bitfields that is no bitfield, and does not begin at a byte.
    #[error("the offset is bit {found}, expected a multiple of 8, because the member is no bitfield")]
    IntAlignment {
        /// The offset in bits.
        found: u32,
    },
    /// A member that ends after the end of its struct.
    #[error("the member at bit {offset} with {bits} bits exceeds the struct's size of {size} bytes")]
    MemberEnd {
        /// The offset in bits.
        offset: u32,
        /// The width in bits.
        bits: u64,
        /// The size of the struct in bytes.
        size: u32,
    },
    /// A bitfield that is wider than its type, or of a type that has no bitfields.
    #[error("the bitfield has {found} bits, the type allows {limit}")]
    BitfieldSize {
        /// The width in bits.
        found: u32,
        /// The bits that the type allows.
        limit: u32,
    },
    /// A bitfield of an integer that does not fill 1, 2, 4, 8 or 16 bytes.
    #[error("the type is an integer that does not fill 1, 2, 4, 8 or 16 bytes")]
    BitfieldType,
    /// A bitfield that spans more than 128 bits.
    #[error("the bitfield ends {found} bits after the start of its first byte, the kernel allows 128")]
    BitfieldSpan {
        /// The bits from the start of the first byte.
        found: u32,
    },
    /// The offset of a legacy bitfield exceeds 32 bits.
    #[error("the offset of the bitfield exceeds 32 bits")]
    BitfieldOffset,
    /// A FUNC with an unknown linkage, or an extern one.
    #[error("the linkage is {found}, expected 0 (static) or 1 (global)")]
    FuncLinkage {
        /// The linkage.
        found: u32,
    },
    /// A VAR with an unknown linkage, or an extern one.
    #[error("the linkage is {found}, expected 0 (static) or 1 (global)")]
    VarLinkage {
        /// The linkage.
        found: u32,
    },
    /// A FUNC_PROTO whose return type has no size.
    #[error("the return type is [{found}]: {reason}")]
    ReturnType {
        /// The type.
        found: TypeId,
        /// The reason.
        reason: TypeIdError,
    },
    /// A FUNC_PROTO with a parameter whose type has no size.
    #[error("the type is [{found}]: {reason}")]
    ParameterType {
        /// The type.
        found: TypeId,
        /// The reason.
        reason: TypeIdError,
    },
    /// A parameter with a name that the kernel refuses.
    #[error("{0}")]
    ParameterName(NameError),
    /// A FUNC whose FUNC_PROTO has a parameter without a name.
    #[error("parameter {index} of prototype [{proto}] has no name")]
    ParameterUnnamed {
        /// The FUNC_PROTO.
        proto: TypeId,
        /// The index of the parameter.
        index: u32,
    },
    /// An entry of a DATASEC before the end of its predecessor, or after the end.
    #[error("the offset is {found}, expected at least {at_least}, and less than the section's size {size}")]
    EntryOffset {
        /// The offset in bytes.
        found: u32,
        /// The end of the entry before it.
        at_least: u32,
        /// The size of the section.
        size: u32,
    },
    /// An entry of a DATASEC that is empty, larger than the section or smaller than its variable.
    #[error(
        "the size is {found} bytes, expected at least {at_least}, and at most the section's size {at_most}"
    )]
    EntrySize {
        /// The size in bytes.
        found: u32,
        /// The size of the variable.
        at_least: u32,
        /// The size of the section.
        at_most: u32,
    },
    /// An entry of a DATASEC that ends after the section's end.
    #[error("the entry at offset {offset} with {size} bytes exceeds the section's size {section}")]
    EntryEnd {
        /// The offset in bytes.
        offset: u32,
        /// The size in bytes.
        size: u32,
        /// The size of the section.
        section: u32,
    },
    /// A DATASEC whose entries have more bytes than the section.
    #[error("the entries have {entries} bytes, more than the section's size {size}")]
    SectionSize {
        /// The bytes of all entries.
        entries: u64,
        /// The size of the section.
        size: u32,
    },
    /// An entry of a DATASEC that is no VAR.
    #[error("refers to type [{found}], which is not a VAR")]
    EntryNotVar {
        /// The type.
        found: TypeId,
    },
    /// An entry of a DATASEC whose variable has a type without a size.
    #[error("the variable [{found}] has a type without a size")]
    EntryType {
        /// The VAR.
        found: TypeId,
    },
    /// A declaration tag on a member or parameter that does not exist.
    #[error("the component index is {found}, expected -1{}", Below(*components))]
    Component {
        /// The index.
        found: i32,
        /// The number of members or parameters.
        components: u32,
    },
    /// A type that contains itself.
    #[error("the type contains or refers to itself")]
    Loop,
    /// A chain of types that is too long.
    #[error("the types that this type refers to form a chain of more than 32 types")]
    Depth,
    /// A type that refers to a type of which nothing is known.
    #[error("the type does not resolve to a type that the kernel expects")]
    Unresolved,
    /// A chain of modifiers that is too long.
    #[error("more than 32 modifiers follow each other")]
    ModifierChain,
    /// A struct with fields that the kernel manages.
    #[error("{0}")]
    Managed(ManagedError),
    /// A type tag after another modifier.
    #[error("a type tag follows another modifier, expected type tags first")]
    TagOrder,
}

crate::debug_as_message!(BtfRule);

/// The reason why a reference to a type is refused.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TypeIdError {
    /// `void`.
    #[error("`void` is not allowed")]
    Void,
    /// The id is too large for any BTF.
    #[error("the id exceeds the kernel's limit")]
    TooLarge,
    /// There is no such type.
    #[error("there is no such type")]
    Absent,
    /// A VAR, DATASEC or DECL_TAG.
    #[error("a VAR, DATASEC or DECL_TAG is not allowed")]
    Declaration,
    /// The type has no size: `void`, FWD, FUNC, FUNC_PROTO.
    #[error("the type has no size")]
    NoSize,
    /// A FUNC that does not refer to a FUNC_PROTO.
    #[error("the type is no FUNC_PROTO")]
    NotProto,
    /// A tag on a type that cannot be tagged.
    #[error("the type is no STRUCT, UNION, TYPEDEF, VAR or FUNC")]
    NotTaggable,
    /// An index that is no integer of 1, 2, 4, 8 or 16 bytes.
    #[error("the type is no integer that fills 1, 2, 4, 8 or 16 bytes")]
    NotInt,
}

crate::debug_as_message!(TypeIdError);

/// The offset that is expected of a member.
struct Expected {
    at_least: u32,
    is_union: bool,
}

impl core::fmt::Display for Expected {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.is_union { f.write_str("0") } else { write!(f, "at least {}", self.at_least) }
    }
}

/// The end of a message about an index: the indices below a number.
struct Below(u32);

impl core::fmt::Display for Below {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            0 => Ok(()),
            components => write!(f, ", or less than {components}"),
        }
    }
}
