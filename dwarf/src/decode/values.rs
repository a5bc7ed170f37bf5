//! The values of attributes: names, references and numbers.

use super::{
    attributes::{Attributes, constant},
    decoder::UnitDecoder,
};
use crate::{
    elf::Slice,
    error::{DwarfOffset, EntryProblem},
    limits,
    names::{NameId, StringSection},
    parse_error::{AttributeName, ParserResult as _, TagName},
};
use gimli::{AttributeValue, DebugStrOffsets, DwAt, DwTag, constants};

impl<'s> UnitDecoder<'_, 's> {
    /// Returns the place to which an attribute refers.
    pub(super) fn reference(
        &self,
        value: Option<AttributeValue<Slice<'s>>>,
        attribute: DwAt,
    ) -> Result<Option<DwarfOffset>, EntryProblem> {
        let Some(value) = value else { return Ok(None) };
        let place = match value {
            AttributeValue::UnitRef(offset) => {
                self.context.unit.place(offset).ok_or(gimli::Error::UnsupportedOffset).parsed()?
            }
            AttributeValue::DebugInfoRef(offset) => DwarfOffset::info(
                u64::try_from(offset.0).ok().ok_or(gimli::Error::UnsupportedOffset).parsed()?,
            ),
            AttributeValue::DebugTypesRef(signature) => self.units.signature(signature.0)?,
            AttributeValue::DebugInfoRefSup(_) => return Err(EntryProblem::Supplementary),
            _ => return Err(form(attribute)),
        };
        Ok(Some(place))
    }

    /// Returns the number of a name. No attribute is the empty name.
    pub(super) fn name(
        &mut self,
        value: Option<AttributeValue<Slice<'s>>>,
        attribute: DwAt,
    ) -> Result<NameId, EntryProblem> {
        let Some(value) = value else { return Ok(NameId::EMPTY) };
        let sections = self.units.sections;
        let id = match value {
            AttributeValue::String(text) => {
                let text = text.slice();
                if text.len() >= limits::NAME_BYTES {
                    return Err(EntryProblem::Name { attribute: AttributeName::new(attribute.0) });
                }
                return self.names.intern(text);
            }
            AttributeValue::DebugStrRef(offset) => {
                self.names.intern_at(StringSection::Str, &sections.str, offset.0)?
            }
            AttributeValue::DebugLineStrRef(offset) => {
                self.names.intern_at(StringSection::LineStr, &sections.line_str, offset.0)?
            }
            AttributeValue::DebugStrOffsetsIndex(index) => {
                let offsets = DebugStrOffsets::from(sections.slice(&sections.str_offsets));
                let format = self.context.unit.header.format();
                let offset = offsets.get_str_offset(format, self.context.str_offsets_base, index).parsed()?;
                self.names.intern_at(StringSection::Str, &sections.str, offset.0)?
            }
            AttributeValue::DebugStrRefSup(_) => return Err(EntryProblem::Supplementary),
            // Enumerators of Fortran and others have numbers here.
            _ => return Err(form(attribute)),
        };
        id.ok_or(EntryProblem::Name { attribute: AttributeName::new(attribute.0) })
    }

    /// Returns the text of a name.
    pub(super) fn text(
        &mut self,
        value: AttributeValue<Slice<'s>>,
    ) -> Result<Option<&'s [u8]>, EntryProblem> {
        let id = self.name(Some(value), constants::DW_AT_name)?;
        Ok(Some(self.names.get(id)?))
    }
}

pub(super) fn form(attribute: DwAt) -> EntryProblem {
    EntryProblem::Form { attribute: AttributeName::new(attribute.0) }
}

pub(super) fn missing(tag: DwTag, attribute: DwAt) -> EntryProblem {
    EntryProblem::Missing { tag: TagName::new(tag.0), attribute: AttributeName::new(attribute.0) }
}

/// Returns the number of an attribute.
pub(super) fn number(
    value: Option<AttributeValue<Slice<'_>>>,
    attribute: DwAt,
) -> Result<Option<u64>, EntryProblem> {
    value.map(|value| constant(value).ok_or(form(attribute))).transpose()
}

/// Returns the size in bytes.
pub(super) fn size(attributes: &Attributes<'_>) -> Result<Option<u64>, EntryProblem> {
    number(attributes.byte_size, constants::DW_AT_byte_size)
}
