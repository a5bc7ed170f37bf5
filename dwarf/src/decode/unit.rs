//! Decodes the entries of a unit.

use super::{
    attributes::{Attributes, check_count},
    decoder::{Decoded, Parent, UnitDecoder, Wanted},
    entry::Shape,
    parts::dimension,
    values::{form, missing, number, size},
};
use crate::{
    elf::Slice,
    error::{EncodeError, EntryProblem},
    limits,
    names::NameId,
    parse_error::ParserResult as _,
};
use core_relo::btf::Kind;
use gimli::{DwTag, EntriesRaw, UnitOffset, constants};

/// `DW_TAG_LLVM_annotation`
const DW_TAG_LLVM_ANNOTATION: DwTag = DwTag(0x6000);
/// `DW_TAG_GNU_annotation`
const DW_TAG_GNU_ANNOTATION: DwTag = DwTag(0x6001);

impl<'s> UnitDecoder<'_, 's> {
    /// Decodes all entries of the unit.
    pub(crate) fn decode_unit(&mut self) -> Result<(), EncodeError> {
        self.decode(None).map(drop)
    }

    /// Decodes the entry at an offset, and its children. Returns the number of entries that were read,
    /// skipped entries included.
    pub(crate) fn decode_entry(&mut self, offset: UnitOffset) -> Result<u64, EncodeError> {
        self.decode(Some(offset))
    }

    fn decode(&mut self, first: Option<UnitOffset>) -> Result<u64, EncodeError> {
        let mut count: u64 = 0;
        let context = self.context;
        let start = first.unwrap_or_else(|| context.unit.header.root_offset());
        let fail = |offset: UnitOffset, problem: EntryProblem| EncodeError::Entry {
            unit: context.unit.start,
            entry: context.unit.place(offset).unwrap_or(context.unit.start),
            problem,
        };
        let entries = context.unit.header.entries_raw(&context.abbreviations, first);
        let mut entries = entries.parsed().map_err(|e| fail(start, e.into()))?;
        let mut parents: Vec<Option<Parent>> = Vec::new();
        while !entries.is_empty() {
            count = count.saturating_add(1);
            let offset = entries.next_offset();
            // Padding after the root's children makes the depth negative.
            let depth = entries.next_depth().max(0).unsigned_abs();
            let abbreviation = entries.read_abbreviation().parsed().map_err(|e| fail(offset, e.into()))?;
            if let Some(abbreviation) = abbreviation {
                parents.truncate(depth);
                let parent = parents.last().copied().flatten();
                let own = match self.decode_one(&mut entries, abbreviation, offset, parent) {
                    Ok(own) => own,
                    Err(problem) => return Err(fail(offset, problem)),
                };
                if abbreviation.has_children() {
                    if parents.len() >= limits::ENTRY_DEPTH {
                        return Err(fail(offset, EntryProblem::TooDeep));
                    }
                    parents.push(own);
                }
            }
            if first.is_some() && entries.next_depth() <= 0 {
                break;
            }
        }
        Ok(count)
    }

    fn decode_one(
        &mut self,
        entries: &mut EntriesRaw<'_, Slice<'s>>,
        abbreviation: &gimli::Abbreviation,
        offset: UnitOffset,
        parent: Option<Parent>,
    ) -> Decoded {
        let tag = abbreviation.tag();
        let is_wanted = match tag {
            constants::DW_TAG_member
            | constants::DW_TAG_enumerator
            | constants::DW_TAG_subrange_type
            | constants::DW_TAG_formal_parameter
            | constants::DW_TAG_unspecified_parameters
            | DW_TAG_LLVM_ANNOTATION => parent.is_some(),
            constants::DW_TAG_subprogram | constants::DW_TAG_variable => self.wanted == Wanted::All,
            tag => is_type(tag) || tag == DW_TAG_GNU_ANNOTATION,
        };
        if !is_wanted {
            check_count(abbreviation)?;
            entries.skip_attributes(abbreviation.attributes()).parsed()?;
            return Ok(None);
        }
        let attributes = Attributes::read(entries, abbreviation)?;
        match tag {
            constants::DW_TAG_member => self.member(parent, &attributes),
            constants::DW_TAG_enumerator => self.enumerator(parent, &attributes),
            constants::DW_TAG_subrange_type if self.is_array(parent) => {
                let dimension = dimension(&attributes)?;
                self.entries.count_part()?;
                if let Some(Shape::Array { dimensions }) = self.shape_of(parent) {
                    dimensions.push(dimension);
                }
                Ok(None)
            }
            constants::DW_TAG_formal_parameter => self.param(parent, &attributes),
            constants::DW_TAG_unspecified_parameters => {
                if let Some(Shape::Prototype { is_variadic, .. } | Shape::Function { is_variadic, .. }) =
                    self.shape_of(parent)
                {
                    *is_variadic = true;
                }
                Ok(None)
            }
            DW_TAG_LLVM_ANNOTATION => self.annotation(parent, &attributes),
            constants::DW_TAG_subprogram => self.function(offset, attributes),
            constants::DW_TAG_variable => self.variable(offset, &attributes),
            tag => self.type_entry(tag, offset, &attributes),
        }
    }

    /// Decodes a type, or an annotation of GCC.
    fn type_entry(&mut self, tag: DwTag, offset: UnitOffset, attributes: &Attributes<'s>) -> Decoded {
        let shape = match tag {
            constants::DW_TAG_base_type => Self::base(attributes)?,
            constants::DW_TAG_pointer_type
            | constants::DW_TAG_reference_type
            | constants::DW_TAG_rvalue_reference_type => Shape::Pointer { tags: Vec::new() },
            constants::DW_TAG_const_type => Shape::Modifier(Kind::Const),
            constants::DW_TAG_volatile_type => Shape::Modifier(Kind::Volatile),
            constants::DW_TAG_restrict_type => Shape::Modifier(Kind::Restrict),
            constants::DW_TAG_typedef => Shape::Typedef,
            constants::DW_TAG_unspecified_type => Shape::Void,
            constants::DW_TAG_structure_type
            | constants::DW_TAG_class_type
            | constants::DW_TAG_union_type => {
                if attributes.signature.is_some() {
                    return self.type_unit_reference(offset, attributes);
                }
                let is_union = tag == constants::DW_TAG_union_type;
                Shape::Composite {
                    kind: if is_union { Kind::Union } else { Kind::Struct },
                    // A declaration has no size.
                    size: size(attributes)?.unwrap_or(0),
                    is_declaration: Attributes::flag(attributes.declaration),
                    members: Vec::new(),
                }
            }
            constants::DW_TAG_enumeration_type => {
                if attributes.signature.is_some() {
                    return self.type_unit_reference(offset, attributes);
                }
                Shape::Enumeration {
                    size: size(attributes)?.unwrap_or(4),
                    is_declaration: Attributes::flag(attributes.declaration),
                    enumerators: Vec::new(),
                }
            }
            constants::DW_TAG_array_type => Shape::Array { dimensions: Vec::new() },
            constants::DW_TAG_subroutine_type => Shape::Prototype { params: Vec::new(), is_variadic: false },
            DW_TAG_GNU_ANNOTATION => {
                let is_type_tag = match attributes.name.map(|name| self.text(name)).transpose()?.flatten() {
                    Some(b"btf_type_tag") => true,
                    Some(b"btf_decl_tag") => false,
                    _ => return Ok(None),
                };
                let value = self.name(attributes.const_value, constants::DW_AT_const_value)?;
                Shape::Annotation { is_type_tag, value }
            }
            _ => Shape::Alias,
        };
        self.add(offset, attributes, shape)
    }

    /// Adds an entry that stands for the type of a type unit.
    fn type_unit_reference(&mut self, offset: UnitOffset, attributes: &Attributes<'s>) -> Decoded {
        let target = self.reference(attributes.signature, constants::DW_AT_signature)?;
        self.push(offset, NameId::EMPTY, target, None, Shape::Alias)?;
        Ok(None)
    }

    fn base(attributes: &Attributes<'s>) -> Result<Shape, EntryProblem> {
        let encoding = match attributes.encoding {
            None => return Err(missing(constants::DW_TAG_base_type, constants::DW_AT_encoding)),
            Some(value) => value.u8_value().ok_or(form(constants::DW_AT_encoding))?,
        };
        let bit_size = number(attributes.bit_size, constants::DW_AT_bit_size)?;
        let size = match (size(attributes)?, bit_size) {
            (Some(size), _) => size,
            (None, Some(bits)) => bits.div_ceil(8),
            (None, None) => return Err(missing(constants::DW_TAG_base_type, constants::DW_AT_byte_size)),
        };
        let bits = bit_size.unwrap_or_else(|| size.saturating_mul(8));
        Ok(Shape::Base { encoding: gimli::DwAte(encoding), size, bits })
    }
}

/// Returns whether a tag is that of a type.
fn is_type(tag: DwTag) -> bool {
    matches!(
        tag,
        constants::DW_TAG_base_type
            | constants::DW_TAG_unspecified_type
            | constants::DW_TAG_pointer_type
            | constants::DW_TAG_reference_type
            | constants::DW_TAG_rvalue_reference_type
            | constants::DW_TAG_const_type
            | constants::DW_TAG_volatile_type
            | constants::DW_TAG_restrict_type
            | constants::DW_TAG_atomic_type
            | constants::DW_TAG_typedef
            | constants::DW_TAG_structure_type
            | constants::DW_TAG_class_type
            | constants::DW_TAG_union_type
            | constants::DW_TAG_enumeration_type
            | constants::DW_TAG_array_type
            | constants::DW_TAG_subrange_type
            | constants::DW_TAG_subroutine_type
    )
}
