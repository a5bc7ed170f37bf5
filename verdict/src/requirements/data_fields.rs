//! The special fields of the variables of data sections.

use super::{field_search::FieldParts, value_fields::PossibleFields};
use crate::kernel::ValueField;
use core_relo::{
    TypeId,
    btf::{Btf, Type},
};
use hashbrown::HashMap;

/// The special fields of the variables of data sections.
pub(super) struct DataFields<'o> {
    btf: &'o Btf<'o>,
    /// The DATASECs by name, the first of each. A hostile object has many sections of one name.
    datasecs: HashMap<&'o [u8], Type<'o>>,
    /// The fields of the sections that were searched.
    found: HashMap<TypeId, SectionFields>,
}

/// The special fields of the variables of a data section.
pub(super) struct SectionFields {
    /// The fields that some kernel may find.
    pub(super) possible: PossibleFields,
    pub(super) parts: FieldParts,
}

impl<'o> DataFields<'o> {
    pub(super) fn new(btf: &'o Btf<'o>, types: &[Type<'o>]) -> Self {
        let mut datasecs = HashMap::new();
        for ty in types {
            datasecs.entry(ty.name().as_bytes()).or_insert(*ty);
        }
        Self { btf, datasecs, found: HashMap::new() }
    }

    /// Returns the fields of a section. Returns `None` for a section without a type.
    pub(super) fn of_section(&mut self, name: &[u8]) -> Option<&SectionFields> {
        let datasec = self.datasecs.get(name)?;
        Some(self.found.entry(datasec.id()).or_insert_with(|| SectionFields::new(self.btf, *datasec)))
    }
}

impl SectionFields {
    fn new(btf: &Btf<'_>, datasec: Type<'_>) -> Self {
        let possible = PossibleFields::of_datasec(btf, datasec);
        let parts =
            if possible.is_empty() { FieldParts::default() } else { FieldParts::of_datasec(btf, datasec) };
        Self { possible, parts }
    }

    /// Returns the fields, if the kernel takes the type of the section for that of the map's value.
    pub(super) fn fields(&self) -> Vec<ValueField> {
        if self.parts.repeats_single() { Vec::new() } else { self.parts.fields(None) }
    }
}
