//! Decodes the entries of a unit.

use super::{
    attributes::{Attributes, constant},
    context::UnitContext,
    entry::{DeclTag, DeclTagValue, Dimension, Entries, Entry, Enumerator, Member, Param, Shape},
};
use crate::{
    elf::Slice,
    error::{EncodeError, EntryProblem, Place},
    intern::{NameId, Names, StringSection},
    limits,
    units::Units,
};
use core_relo::btf::Kind;
use gimli::{
    AttributeValue, DebugAddr, DebugStrOffsets, DwAt, DwTag, EntriesRaw, Expression, Operation, Reader as _,
    UnitOffset, constants,
};

/// `DW_TAG_LLVM_annotation`
const DW_TAG_LLVM_ANNOTATION: DwTag = DwTag(0x6000);
/// `DW_TAG_GNU_annotation`
const DW_TAG_GNU_ANNOTATION: DwTag = DwTag(0x6001);

/// The functions and variables that are decoded, besides types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Types only.
    Types,
    /// Types, functions in the symbol table, per-CPU variables.
    All,
}

/// Decodes entries of one unit.
#[derive(Debug)]
pub(crate) struct UnitDecoder<'a, 's> {
    pub(crate) units: &'a Units<'s>,
    pub(crate) context: &'a UnitContext<'s>,
    pub(crate) names: &'a mut Names<'s>,
    pub(crate) entries: &'a mut Entries,
    pub(crate) wanted: Wanted,
}

/// The entry to which child entries belong.
#[derive(Clone, Copy, Debug)]
struct Parent {
    entry: u32,
    /// The index of the member or parameter that is the parent; -1 for the entry itself.
    component: i32,
}

/// The result of decoding one entry: the parent of its children.
type Decoded = Result<Option<Parent>, EntryProblem>;

impl<'s> UnitDecoder<'_, 's> {
    /// Decodes all entries of the unit.
    pub(crate) fn decode_unit(&mut self) -> Result<(), EncodeError> {
        self.decode(None)
    }

    /// Decodes the entry at an offset, and its children.
    pub(crate) fn decode_entry(&mut self, offset: UnitOffset) -> Result<(), EncodeError> {
        self.decode(Some(offset))
    }

    fn decode(&mut self, first: Option<UnitOffset>) -> Result<(), EncodeError> {
        let context = self.context;
        let start = first.unwrap_or_else(|| context.unit.header.root_offset());
        let fail = |offset: UnitOffset, problem: EntryProblem| EncodeError::Entry {
            unit: context.unit.start,
            entry: context.unit.place(offset).unwrap_or(context.unit.start),
            problem,
        };
        let entries = context.unit.header.entries_raw(&context.abbreviations, first);
        let mut entries = entries.map_err(|e| fail(start, e.into()))?;
        let mut parents: Vec<Option<Parent>> = Vec::new();
        while !entries.is_empty() {
            let offset = entries.next_offset();
            let depth = usize::try_from(entries.next_depth()).unwrap_or_default();
            let abbreviation = entries.read_abbreviation().map_err(|e| fail(offset, e.into()))?;
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
        Ok(())
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
            entries.skip_attributes(abbreviation.attributes())?;
            return Ok(None);
        }
        let attributes = Attributes::read(entries, abbreviation)?;
        match tag {
            constants::DW_TAG_member => self.member(parent, &attributes),
            constants::DW_TAG_enumerator => self.enumerator(parent, &attributes),
            constants::DW_TAG_subrange_type if self.is_array(parent) => {
                let dimension = dimension(&attributes)?;
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
                    size: size(attributes)?.unwrap_or_default(),
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

    fn member(&mut self, parent: Option<Parent>, attributes: &Attributes<'s>) -> Decoded {
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
        let Some(Shape::Composite { members, .. }) = self.shape_of(parent) else { return Ok(None) };
        let component = members.len();
        members.push(member);
        self.component(parent, component, attributes)
    }

    /// Returns the offset of a member in bytes: a constant, or the expression that old compilers write.
    fn member_offset(&self, attributes: &Attributes<'s>) -> Result<u64, EntryProblem> {
        let Some(value) = attributes.member_location else { return Ok(0) };
        let bad = form(constants::DW_AT_data_member_location);
        let Some(mut expression) = value.exprloc_value() else { return constant(value).ok_or(bad) };
        let encoding = self.context.unit.header.encoding();
        let operation = Operation::parse(&mut expression.0, encoding)?;
        match operation {
            Operation::PlusConstant { value } if expression.0.is_empty() => Ok(value),
            _ => Err(bad),
        }
    }

    fn enumerator(&mut self, parent: Option<Parent>, attributes: &Attributes<'s>) -> Decoded {
        let name = self.name(attributes.name, constants::DW_AT_name)?;
        let Some(value) = attributes.const_value else {
            return Err(missing(constants::DW_TAG_enumerator, constants::DW_AT_const_value));
        };
        let (value, is_negative) = match value {
            AttributeValue::Sdata(value) => (value.cast_unsigned(), value < 0),
            value => (constant(value).ok_or(form(constants::DW_AT_const_value))?, false),
        };
        if let Some(Shape::Enumeration { enumerators, .. }) = self.shape_of(parent) {
            enumerators.push(Enumerator { name, value, is_negative });
        }
        Ok(None)
    }

    fn param(&mut self, parent: Option<Parent>, attributes: &Attributes<'s>) -> Decoded {
        let name = self.name(attributes.name, constants::DW_AT_name)?;
        let target = self.reference(attributes.target, constants::DW_AT_type)?;
        let Some(Shape::Prototype { params, .. } | Shape::Function { params, .. }) = self.shape_of(parent)
        else {
            return Ok(None);
        };
        let component = params.len();
        params.push(Param { name, target });
        self.component(parent, component, attributes)
    }

    /// Returns the parent of the annotations of a member or parameter, and adds those of GCC.
    fn component(&mut self, parent: Option<Parent>, index: usize, attributes: &Attributes<'s>) -> Decoded {
        let Some(Parent { entry, .. }) = parent else { return Ok(None) };
        let component = i32::try_from(index).ok().ok_or_else(|| too_large("number of members", index))?;
        if let Some(place) = self.reference(attributes.annotation, super::attributes::DW_AT_GNU_ANNOTATION)? {
            let value = DeclTagValue::Annotation(place);
            self.entries.decl_tags.push(DeclTag { entry, component, value });
        }
        Ok(Some(Parent { entry, component }))
    }

    /// Adds an annotation of clang to its parent.
    fn annotation(&mut self, parent: Option<Parent>, attributes: &Attributes<'s>) -> Decoded {
        let kind = attributes.name.map(|name| self.text(name)).transpose()?.flatten();
        let value = self.name(attributes.const_value, constants::DW_AT_const_value)?;
        let Some(Parent { entry, component }) = parent else { return Ok(None) };
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

    /// Decodes the definition of a function that is in the symbol table.
    fn function(&mut self, offset: UnitOffset, mut attributes: Attributes<'s>) -> Decoded {
        if Attributes::flag(attributes.declaration) {
            return Ok(None);
        }
        if let Some(AttributeValue::UnitRef(declaration)) = attributes.specification {
            let declaration = self.attributes_at(declaration)?;
            attributes.name = attributes.name.or(declaration.name);
            attributes.target = attributes.target.or(declaration.target);
            attributes.annotation = attributes.annotation.or(declaration.annotation);
        }
        let name = attributes.name.map(|name| self.text(name)).transpose()?.flatten();
        if !name.is_some_and(|name| self.units.sections.symbols.functions.contains(name)) {
            return Ok(None);
        }
        self.add(offset, &attributes, Shape::Function { params: Vec::new(), is_variadic: false })
    }

    /// Decodes the definition of a per-CPU variable.
    fn variable(&mut self, offset: UnitOffset, attributes: &Attributes<'s>) -> Decoded {
        let Some(per_cpu) = &self.units.sections.symbols.per_cpu else { return Ok(None) };
        let location = attributes.location.and_then(|location| location.exprloc_value());
        if Attributes::flag(attributes.declaration) {
            return Ok(None);
        }
        let Some(address) = location.and_then(|location| self.address(location)) else { return Ok(None) };
        let mut attributes = *attributes;
        if let Some(AttributeValue::UnitRef(declaration)) = attributes.specification {
            let declaration = self.attributes_at(declaration)?;
            attributes.name = attributes.name.or(declaration.name);
            attributes.target = attributes.target.or(declaration.target);
            attributes.external = attributes.external.or(declaration.external);
            attributes.annotation = attributes.annotation.or(declaration.annotation);
        }
        let name = attributes.name.map(|name| self.text(name)).transpose()?.flatten();
        if !name.is_some_and(|name| per_cpu.variables.contains_key(&(address, name))) {
            return Ok(None);
        }
        let is_external = Attributes::flag(attributes.external);
        self.add(offset, &attributes, Shape::Variable { address, is_external })
    }

    /// Returns the address that an expression consists of.
    fn address(&self, mut expression: Expression<Slice<'s>>) -> Option<u64> {
        let encoding = self.context.unit.header.encoding();
        let operation = Operation::parse(&mut expression.0, encoding).ok()?;
        if !expression.0.is_empty() {
            return None;
        }
        match operation {
            Operation::Address { address } => Some(address),
            Operation::AddressIndex { index } => {
                let sections = self.units.sections;
                let addresses = DebugAddr::from(sections.slice(&sections.addr));
                addresses.get_address(encoding.address_size, self.context.addr_base, index).ok()
            }
            _ => None,
        }
    }

    /// Returns the attributes of another entry of the unit.
    fn attributes_at(&self, offset: UnitOffset) -> Result<Attributes<'s>, EntryProblem> {
        let mut entries = self.context.unit.header.entries_raw(&self.context.abbreviations, Some(offset))?;
        match entries.read_abbreviation()? {
            Some(abbreviation) => Ok(Attributes::read(&mut entries, abbreviation)?),
            None => Ok(Attributes::default()),
        }
    }

    /// Adds an entry with its name, target and annotation.
    fn add(&mut self, offset: UnitOffset, attributes: &Attributes<'s>, shape: Shape) -> Decoded {
        let name = self.name(attributes.name, constants::DW_AT_name)?;
        let target = self.reference(attributes.target, constants::DW_AT_type)?;
        let annotation = self.reference(attributes.annotation, super::attributes::DW_AT_GNU_ANNOTATION)?;
        let entry = self.push(offset, name, target, annotation, shape)?;
        Ok(Some(Parent { entry, component: -1 }))
    }

    fn push(
        &mut self,
        offset: UnitOffset,
        name: NameId,
        target: Option<Place>,
        annotation: Option<Place>,
        shape: Shape,
    ) -> Result<u32, EntryProblem> {
        let unit = self.context.unit.start;
        let place = self.context.unit.place(offset).ok_or(gimli::Error::UnsupportedOffset)?;
        let len = self.entries.list.len();
        let index = u32::try_from(len).ok().ok_or_else(|| too_large("number of entries", len))?;
        self.entries.list.push(Entry { unit, place, name, target, annotation, shape });
        self.entries.by_place.insert(place, index);
        Ok(index)
    }

    fn shape_of(&mut self, parent: Option<Parent>) -> Option<&mut Shape> {
        let index = usize::try_from(parent?.entry).ok()?;
        Some(&mut self.entries.list.get_mut(index)?.shape)
    }

    fn is_array(&mut self, parent: Option<Parent>) -> bool {
        matches!(self.shape_of(parent), Some(Shape::Array { .. }))
    }

    /// Returns the place to which an attribute refers.
    fn reference(
        &self,
        value: Option<AttributeValue<Slice<'s>>>,
        attribute: DwAt,
    ) -> Result<Option<Place>, EntryProblem> {
        let Some(value) = value else { return Ok(None) };
        let place = match value {
            AttributeValue::UnitRef(offset) => {
                self.context.unit.place(offset).ok_or(gimli::Error::UnsupportedOffset)?
            }
            AttributeValue::DebugInfoRef(offset) => {
                Place::info(u64::try_from(offset.0).ok().ok_or(gimli::Error::UnsupportedOffset)?)
            }
            AttributeValue::DebugTypesRef(signature) => self.units.signature(signature.0)?,
            AttributeValue::DebugInfoRefSup(_) => return Err(EntryProblem::Supplementary),
            _ => return Err(form(attribute)),
        };
        Ok(Some(place))
    }

    /// Returns the number of a name. No attribute is the empty name.
    fn name(
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
                    return Err(EntryProblem::Name { attribute });
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
                let offset = offsets.get_str_offset(format, self.context.str_offsets_base, index)?;
                self.names.intern_at(StringSection::Str, &sections.str, offset.0)?
            }
            AttributeValue::DebugStrRefSup(_) => return Err(EntryProblem::Supplementary),
            // Enumerators of Fortran and others have numbers here.
            _ => return Err(form(attribute)),
        };
        id.ok_or(EntryProblem::Name { attribute })
    }

    /// Returns the text of a name.
    fn text(&mut self, value: AttributeValue<Slice<'s>>) -> Result<Option<&'s [u8]>, EntryProblem> {
        let id = self.name(Some(value), constants::DW_AT_name)?;
        Ok(self.names.get(id))
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

fn form(attribute: DwAt) -> EntryProblem {
    EntryProblem::Form { attribute }
}

fn missing(tag: DwTag, attribute: DwAt) -> EntryProblem {
    EntryProblem::Missing { tag, attribute }
}

fn too_large(what: &'static str, value: usize) -> EntryProblem {
    EntryProblem::TooLarge { what, value: u64::try_from(value).unwrap_or(u64::MAX), limit: u32::MAX.into() }
}

/// Returns the number of an attribute.
fn number(value: Option<AttributeValue<Slice<'_>>>, attribute: DwAt) -> Result<Option<u64>, EntryProblem> {
    value.map(|value| constant(value).ok_or(form(attribute))).transpose()
}

/// Returns the size in bytes.
fn size(attributes: &Attributes<'_>) -> Result<Option<u64>, EntryProblem> {
    number(attributes.byte_size, constants::DW_AT_byte_size)
}

/// Returns the number of elements. A dimension without a constant bound has none: flexible and variable-length arrays.
fn dimension(attributes: &Attributes<'_>) -> Result<Dimension, EntryProblem> {
    if let Some(count) = attributes.count {
        return Ok(Dimension(constant(count).unwrap_or_default()));
    }
    // An array of no elements has the bound -1, in any form.
    let upper = match attributes.upper_bound {
        None | Some(AttributeValue::Data4(u32::MAX) | AttributeValue::Data8(u64::MAX)) => None,
        Some(value) => constant(value),
    };
    let lower = number(attributes.lower_bound, constants::DW_AT_lower_bound)?.unwrap_or_default();
    let len = upper.and_then(|upper| upper.checked_add(1)?.checked_sub(lower));
    Ok(Dimension(len.unwrap_or_default()))
}
