//! The attributes of one entry on which types depend.

use crate::{elf::Slice, error::EntryProblem, limits, parse_error::ParserResult as _};
use gimli::{Abbreviation, AttributeValue, DwAt, EntriesRaw, constants};

/// `DW_AT_GNU_annotation`, from GCC 16 on.
pub(super) const DW_AT_GNU_ANNOTATION: DwAt = DwAt(0x2139);

type Value<'s> = Option<AttributeValue<Slice<'s>>>;

/// The attributes of one entry.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Attributes<'s> {
    pub(super) name: Value<'s>,
    pub(super) target: Value<'s>,
    pub(super) byte_size: Value<'s>,
    pub(super) bit_size: Value<'s>,
    pub(super) encoding: Value<'s>,
    pub(super) member_location: Value<'s>,
    pub(super) data_bit_offset: Value<'s>,
    pub(super) bit_offset: Value<'s>,
    pub(super) const_value: Value<'s>,
    pub(super) upper_bound: Value<'s>,
    pub(super) lower_bound: Value<'s>,
    pub(super) count: Value<'s>,
    pub(super) location: Value<'s>,
    pub(super) declaration: Value<'s>,
    pub(super) external: Value<'s>,
    pub(super) specification: Value<'s>,
    pub(super) abstract_origin: Value<'s>,
    pub(super) signature: Value<'s>,
    pub(super) annotation: Value<'s>,
    pub(super) language: Value<'s>,
    pub(super) str_offsets_base: Value<'s>,
    pub(super) addr_base: Value<'s>,
    pub(super) dwo_name: Value<'s>,
}

impl<'s> Attributes<'s> {
    /// Reads the attributes of the entry whose abbreviation was read last.
    pub(super) fn read(
        entries: &mut EntriesRaw<'_, Slice<'s>>,
        abbreviation: &Abbreviation,
    ) -> Result<Self, EntryProblem> {
        check_count(abbreviation)?;
        let mut all = Self::default();
        for spec in abbreviation.attributes() {
            let value = entries.read_attribute_inline(*spec).parsed()?.raw_value();
            let field = match spec.name() {
                constants::DW_AT_name => &mut all.name,
                constants::DW_AT_type => &mut all.target,
                constants::DW_AT_byte_size => &mut all.byte_size,
                constants::DW_AT_bit_size => &mut all.bit_size,
                constants::DW_AT_encoding => &mut all.encoding,
                constants::DW_AT_data_member_location => &mut all.member_location,
                constants::DW_AT_data_bit_offset => &mut all.data_bit_offset,
                constants::DW_AT_bit_offset => &mut all.bit_offset,
                constants::DW_AT_const_value => &mut all.const_value,
                constants::DW_AT_upper_bound => &mut all.upper_bound,
                constants::DW_AT_lower_bound => &mut all.lower_bound,
                constants::DW_AT_count => &mut all.count,
                constants::DW_AT_location => &mut all.location,
                constants::DW_AT_declaration => &mut all.declaration,
                constants::DW_AT_external => &mut all.external,
                constants::DW_AT_specification => &mut all.specification,
                constants::DW_AT_abstract_origin => &mut all.abstract_origin,
                constants::DW_AT_signature => &mut all.signature,
                DW_AT_GNU_ANNOTATION => &mut all.annotation,
                constants::DW_AT_language => &mut all.language,
                constants::DW_AT_str_offsets_base => &mut all.str_offsets_base,
                constants::DW_AT_addr_base => &mut all.addr_base,
                constants::DW_AT_dwo_name | constants::DW_AT_GNU_dwo_name => &mut all.dwo_name,
                _ => continue,
            };
            *field = Some(value);
        }
        Ok(all)
    }

    /// Returns whether a flag is set.
    pub(super) fn flag(value: Value<'s>) -> bool {
        matches!(value, Some(AttributeValue::Flag(true)))
    }
}

/// Returns an error if an abbreviation has more attributes than compilers write.
pub(super) fn check_count(abbreviation: &Abbreviation) -> Result<(), EntryProblem> {
    let count = abbreviation.attributes().len();
    if count > limits::ATTRIBUTES { Err(EntryProblem::Attributes { count }) } else { Ok(()) }
}

/// Returns a constant. Before DWARF 4, some constants have the form of section offsets.
pub(super) fn constant(value: AttributeValue<Slice<'_>>) -> Option<u64> {
    match value {
        AttributeValue::SecOffset(offset) => u64::try_from(offset).ok(),
        value => value.udata_value(),
    }
}
