//! Decoded entries.

use crate::{
    error::{DwarfOffset, EntryProblem},
    limits,
    names::NameId,
};
use core_relo::btf::Kind;
use gimli::DwAte;
use hashbrown::HashMap;

/// The decoded entries of a unit, and those of other units to which they refer.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    pub(crate) list: Vec<Entry>,
    /// The index of the entry at a place.
    pub(crate) by_place: HashMap<DwarfOffset, u32>,
    /// Declaration tags, whose declarations are entries of the list.
    pub(crate) decl_tags: Vec<DeclTag>,
    /// The number of entries and of parts of them.
    part_count: u32,
}

impl Entries {
    /// Counts an entry or a part of an entry. Returns an error above [`limits::UNIT_ENTRIES`].
    pub(crate) fn count_part(&mut self) -> Result<(), EntryProblem> {
        let count = self.part_count.checked_add(1).filter(|count| *count <= limits::UNIT_ENTRIES);
        self.part_count = count.ok_or(EntryProblem::UnitEntries)?;
        Ok(())
    }

    /// Makes each array of arrays an array of one dimension with as many elements.
    pub(crate) fn flatten_arrays(&mut self) {
        for entry in &mut self.list {
            if let Shape::Array { dimensions } = &mut entry.shape
                && dimensions.len() > 1
            {
                // A product that is too large is an error when the array is lowered.
                let len = dimensions.iter().fold(1, |len: u64, dimension| len.saturating_mul(dimension.0));
                *dimensions = Vec::from([Dimension(len)]);
            }
        }
    }
}

/// A type, function, variable or annotation.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The start of the entry's unit.
    pub(crate) unit: DwarfOffset,
    pub(crate) place: DwarfOffset,
    pub(crate) name: NameId,
    /// The type to which the entry refers; `None` for `void`.
    pub(crate) target: Option<DwarfOffset>,
    /// The first annotation of GCC (`DW_AT_GNU_annotation`).
    pub(crate) annotation: Option<DwarfOffset>,
    pub(crate) shape: Shape,
}

/// The kind of an entry, and its parts.
#[derive(Debug)]
pub(crate) enum Shape {
    /// A base type of `size` bytes, of which `bits` are used.
    Base { encoding: DwAte, size: u64, bits: u64 },
    /// A pointer. The type tags of clang belong to the type to which it points.
    Pointer { tags: Tags },
    /// `const`, `volatile` or `restrict`.
    Modifier(Kind),
    /// A typedef.
    Typedef,
    /// A type that BTF does not have: the entry stands for its target.
    Alias,
    /// `void` by another name: `DW_TAG_unspecified_type`.
    Void,
    /// A struct or union.
    Composite { kind: Kind, size: u64, is_declaration: bool, members: Vec<Member> },
    /// An enumeration.
    Enumeration { size: u64, is_declaration: bool, enumerators: Vec<Enumerator> },
    /// An array.
    Array { dimensions: Vec<Dimension> },
    /// The type of a function.
    Prototype { params: Vec<Param>, is_variadic: bool },
    /// A function.
    Function { params: Vec<Param>, is_variadic: bool },
    /// A per-CPU variable.
    Variable { address: u64, is_external: bool },
    /// An annotation of GCC. `annotation` of the entry is the next one.
    Annotation { is_type_tag: bool, value: NameId },
}

/// Names of type tags.
pub(crate) type Tags = Vec<NameId>;

/// A member of a struct or union.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) name: NameId,
    pub(crate) target: Option<DwarfOffset>,
    /// The offset in bytes (`DW_AT_data_member_location`).
    pub(crate) offset: u64,
    /// The width in bits of a bitfield (`DW_AT_bit_size`).
    pub(crate) bit_size: Option<u64>,
    /// The offset in bits from the start of the struct (`DW_AT_data_bit_offset`).
    pub(crate) data_bit_offset: Option<u64>,
    /// The offset in bits from the most significant bit of the storage (`DW_AT_bit_offset`, before DWARF 4).
    pub(crate) bit_offset: Option<i64>,
    /// The size in bytes of a bitfield's storage (`DW_AT_byte_size`, before DWARF 4).
    pub(crate) storage_size: Option<u64>,
}

/// An enumerator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Enumerator {
    pub(crate) name: NameId,
    /// The low 64 bits of the value.
    pub(crate) value: u64,
    pub(crate) is_negative: bool,
}

/// The number of elements in a dimension of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dimension(pub(crate) u64);

/// A parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param {
    pub(crate) name: NameId,
    pub(crate) target: Option<DwarfOffset>,
}

/// A declaration tag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeclTag {
    /// The index of the declaration's entry.
    pub(crate) entry: u32,
    /// The index of the member or parameter; -1 for the declaration itself.
    pub(crate) component: i32,
    pub(crate) value: DeclTagValue,
}

/// The value of a declaration tag.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DeclTagValue {
    /// The text of an annotation of clang.
    Name(NameId),
    /// The first annotation of GCC.
    Annotation(DwarfOffset),
}
