//! The special fields of the variables of data sections.

use super::field_search::FieldParts;
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
    found: HashMap<TypeId, Vec<ValueField>>,
}

impl<'o> DataFields<'o> {
    pub(super) fn new(btf: &'o Btf<'o>, types: &[Type<'o>]) -> Self {
        let mut datasecs = HashMap::new();
        for ty in types {
            datasecs.entry(ty.name().as_bytes()).or_insert(*ty);
        }
        Self { btf, datasecs, found: HashMap::new() }
    }

    /// Returns the fields of a section, if the kernel takes the type of the section for that of the map's value.
    pub(super) fn of_section(&mut self, name: &[u8]) -> &[ValueField] {
        let Some(datasec) = self.datasecs.get(name) else { return &[] };
        self.found.entry(datasec.id()).or_insert_with(|| data_fields(self.btf, *datasec))
    }
}

fn data_fields(btf: &Btf<'_>, datasec: Type<'_>) -> Vec<ValueField> {
    let parts = FieldParts::of_datasec(btf, datasec);
    if parts.repeats_single() { Vec::new() } else { parts.fields(None) }
}
