//! Decodes the parts of entries: members, enumerators, dimensions, parameters and annotations.

use super::{
    attributes::{Attributes, DW_AT_GNU_ANNOTATION, constant},
    decoder::{Decoded, Parent, UnitDecoder, too_large},
    entry::{DeclTag, DeclTagValue, Dimension, Enumerator, Member, Param, Shape},
    values::{form, missing, number, size},
};
use crate::{error::EntryProblem, limits, parse_error::ParserResult as _};
use gimli::{AttributeValue, Operation, Reader as _, constants};

impl<'s> UnitDecoder<'_, 's> {
    pub(super) fn member(&mut self, parent: Option<Parent>, attributes: &Attributes<'s>) -> Decoded {
        // A static member of a class is a variable.
        if Attributes::flag(attributes.declaration) || Attributes::flag(attributes.external) {
            return Ok(None);
        }
        let member = Member {
            name: self.name(attributes.name, constants::DW_AT_name)?,
            target: self.reference(attributes.target, constants::DW_AT_type)?,
            offset: self.member_offset(attributes)?,
            bit_size: number(attributes.bit_size, constants::DW_AT_bit_size)?,
            data_bit_offset: number(attributes.data_bit_offset, constants::DW_AT_data_bit_offset)?,
            bit_offset: match attributes.bit_offset {
                None => None,
                Some(AttributeValue::Sdata(offset)) => Some(offset),
                Some(value) => {
                    let offset = constant(value).and_then(|offset| i64::try_from(offset).ok());
                    Some(offset.ok_or(form(constants::DW_AT_bit_offset))?)
                }
            },
            storage_size: size(attributes)?,
        };
        self.entries.count_part()?;
        let Some(Shape::Composite { members, .. }) = self.shape_of(parent) else { return Ok(None) };
        let component = members.len();
        members.push(member);
        self.component(parent, component, attributes)
    }

    /// Returns the offset of a member in bytes: a constant, or the expression that old compilers write.
    pub(super) fn member_offset(&self, attributes: &Attributes<'s>) -> Result<u64, EntryProblem> {
        let Some(value) = attributes.member_location else { return Ok(0) };
        let bad = form(constants::DW_AT_data_member_location);
        let Some(mut expression) = value.exprloc_value() else { return constant(value).ok_or(bad) };
        let encoding = self.context.unit.header.encoding();
        let operation = Operation::parse(&mut expression.0, encoding).parsed()?;
        match operation {
            Operation::PlusConstant { value } if expression.0.is_empty() => Ok(value),
            _ => Err(bad),
        }
    }

    pub(super) fn enumerator(&mut self, parent: Option<Parent>, attributes: &Attributes<'s>) -> Decoded {
        let name = self.name(attributes.name, constants::DW_AT_name)?;
        let Some(value) = attributes.const_value else {
            return Err(missing(constants::DW_TAG_enumerator, constants::DW_AT_const_value));
        };
        let (value, is_negative) = match value {
            AttributeValue::Sdata(value) => (value.cast_unsigned(), value < 0),
            value => (constant(value).ok_or(form(constants::DW_AT_const_value))?, false),
        };
        self.entries.count_part()?;
        if let Some(Shape::Enumeration { enumerators, .. }) = self.shape_of(parent) {
            enumerators.push(Enumerator { name, value, is_negative });
        }
        Ok(None)
    }

    pub(super) fn param(&mut self, parent: Option<Parent>, attributes: &Attributes<'s>) -> Decoded {
        let name = self.name(attributes.name, constants::DW_AT_name)?;
        let target = self.reference(attributes.target, constants::DW_AT_type)?;
        self.entries.count_part()?;
        let Some(Shape::Prototype { params, .. } | Shape::Function { params, .. }) = self.shape_of(parent)
        else {
            return Ok(None);
        };
        let component = params.len();
        params.push(Param { name, target });
        self.component(parent, component, attributes)
    }

    /// Returns the parent of the annotations of a member or parameter, and adds those of GCC.
    pub(super) fn component(
        &mut self,
        parent: Option<Parent>,
        index: usize,
        attributes: &Attributes<'s>,
    ) -> Decoded {
        let Some(Parent { entry, .. }) = parent else { return Ok(None) };
        let component = i32::try_from(index).ok().ok_or_else(|| too_large("number of members", index))?;
        if let Some(place) = self.reference(attributes.annotation, DW_AT_GNU_ANNOTATION)? {
            let value = DeclTagValue::Annotation(place);
            self.entries.decl_tags.push(DeclTag { entry, component, value });
        }
        Ok(Some(Parent { entry, component }))
    }

    /// Adds an annotation of clang to its parent.
    pub(super) fn annotation(&mut self, parent: Option<Parent>, attributes: &Attributes<'s>) -> Decoded {
        let kind = attributes.name.map(|name| self.text(name)).transpose()?.flatten();
        let value = self.name(attributes.const_value, constants::DW_AT_const_value)?;
        let Some(Parent { entry, component }) = parent else { return Ok(None) };
        self.entries.count_part()?;
        match (kind, self.shape_of(parent)) {
            (Some(b"btf_type_tag"), Some(Shape::Pointer { tags })) => {
                if tags.len() >= limits::ANNOTATIONS {
                    return Err(EntryProblem::Annotations);
                }
                tags.push(value);
            }
            (Some(b"btf_decl_tag"), Some(_)) => {
                self.entries.decl_tags.push(DeclTag { entry, component, value: DeclTagValue::Name(value) });
            }
            _ => {}
        }
        Ok(None)
    }
}

/// Returns the number of elements. A dimension without a constant bound has none: flexible and
/// variable-length arrays.
pub(super) fn dimension(attributes: &Attributes<'_>) -> Result<Dimension, EntryProblem> {
    if let Some(count) = attributes.count {
        return Ok(Dimension(constant(count).unwrap_or(0)));
    }
    // An array of no elements has the bound -1, in any form.
    let upper = match attributes.upper_bound {
        None | Some(AttributeValue::Data4(u32::MAX) | AttributeValue::Data8(u64::MAX)) => None,
        Some(value) => constant(value),
    };
    // The lower bound of C.
    let lower = number(attributes.lower_bound, constants::DW_AT_lower_bound)?.unwrap_or(0);
    let len = upper.and_then(|upper| upper.checked_add(1)?.checked_sub(lower));
    Ok(Dimension(len.unwrap_or(0)))
}
