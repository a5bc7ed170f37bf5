//! Decodes functions and per-CPU variables.

use super::{
    attributes::Attributes,
    decoder::{Decoded, UnitDecoder},
    entry::Shape,
};
use crate::{elf::Slice, error::EntryProblem, parse_error::ParserResult as _};
use gimli::{AttributeValue, DebugAddr, Expression, Operation, Reader as _, UnitOffset};

impl<'s> UnitDecoder<'_, 's> {
    /// Decodes the definition of a function that is in the symbol table.
    pub(super) fn function(&mut self, offset: UnitOffset, mut attributes: Attributes<'s>) -> Decoded {
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
    pub(super) fn variable(&mut self, offset: UnitOffset, attributes: &Attributes<'s>) -> Decoded {
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
    pub(super) fn address(&self, mut expression: Expression<Slice<'s>>) -> Option<u64> {
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
    pub(super) fn attributes_at(&self, offset: UnitOffset) -> Result<Attributes<'s>, EntryProblem> {
        let mut entries =
            self.context.unit.header.entries_raw(&self.context.abbreviations, Some(offset)).parsed()?;
        match entries.read_abbreviation().parsed()? {
            Some(abbreviation) => Attributes::read(&mut entries, abbreviation),
            None => Ok(Attributes::default()),
        }
    }
}
