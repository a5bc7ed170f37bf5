//! What the uses of a map depend on.

use super::{data_fields::DataFields, field_search::FieldParts, value_fields::PossibleFields};
use crate::kernel::{FieldForm, FieldHolder, SpecialField, ValueField};
use core_relo::{Name, TypeId, btf::Btf};
use core_relo_object::{
    link::{MapEntry, MapSource, ProgramLinker},
    load_plan::{MapSettings, Settings},
    map_flags,
    object::{DataKind, MapDef, MapType},
};

/// What the uses of a map depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UsedMap {
    pub(super) name: String,
    /// The type. `None` if it is not known.
    pub(super) map_type: Option<MapType>,
    /// Whether programs only read the map.
    pub(super) is_read_only: bool,
    /// Whether programs only write to the map.
    pub(super) is_write_only: bool,
    /// The size of the values, if the settings of a load change that of a data section.
    pub(super) data_bytes: Option<u32>,
    /// Whether the map is a hash that allocates its elements later.
    pub(super) allocates_later: bool,
    /// The special fields of the values, if the kernel creates the map with them.
    pub(super) fields: ValueFields,
    /// The special fields that the kernel does not find in the values, because the map has no types or their
    /// type has no such member.
    pub(super) missing_fields: Vec<SpecialField>,
    /// The special fields in a form that only some kernels find.
    pub(super) formed_fields: Vec<(SpecialField, FieldForm)>,
}

/// The special fields of a map's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValueFields {
    pub(super) fields: Vec<ValueField>,
    pub(super) holder: FieldHolder,
}

impl ValueFields {
    const NONE: Self = Self { fields: Vec::new(), holder: FieldHolder::Value };
}

impl UsedMap {
    /// Returns what the uses of the object's maps depend on in a load with settings, in the linker's order.
    pub(super) fn collect(linker: &ProgramLinker<'_, '_>, settings: &Settings) -> Vec<Self> {
        let btf = linker.object().btf();
        let mut data = btf.map(|btf| DataFields::new(btf, linker.datasecs()));
        let maps = linker.maps().iter().map(|entry| {
            let mut map = Self::new(entry, settings, btf);
            if let (MapSource::Data(section), Some(data), Some(_)) = (entry.source, &mut data, map.map_type) {
                // The kernel refuses the types of a read-only map with fields. A loader creates it without
                // types.
                if !map.is_read_only {
                    map.fields.holder = FieldHolder::Variable;
                    if let Some(found) = data.of_section(section.name) {
                        map.find_missing_fields(&found.possible, &found.parts, MapType::Array);
                        map.fields.fields = found.fields();
                    }
                }
            }
            map
        });
        maps.collect()
    }

    fn new(entry: &MapEntry<'_, '_>, settings: &Settings, btf: Option<&Btf<'_>>) -> Self {
        let mut map = Self {
            name: map_name(entry.name),
            map_type: Some(MapType::Array),
            is_read_only: false,
            is_write_only: false,
            data_bytes: None,
            allocates_later: false,
            fields: ValueFields::NONE,
            missing_fields: Vec::new(),
            formed_fields: Vec::new(),
        };
        let own = settings.maps.get(&*String::from_utf8_lossy(entry.name));
        // The caller's map may be of any type.
        let is_replaced = |own: &MapSettings| own.reuse.is_some() || own.autocreate == Some(false);
        match entry.source {
            _ if own.is_some_and(is_replaced) => map.map_type = None,
            MapSource::Defined(defined) => match &defined.def {
                Ok(def) => {
                    let set = own.and_then(|own| own.definition(Some(def)));
                    map.define(set.as_ref().unwrap_or(def), btf);
                }
                Err(_) => map.map_type = None,
            },
            MapSource::Data(_) | MapSource::Kconfig
                if own.is_some_and(|own| own.map_type.is_some() || own.map_flags.is_some()) =>
            {
                map.map_type = None;
            }
            MapSource::Data(section) => {
                map.is_read_only = section.kind == DataKind::Rodata;
                map.data_bytes = own.and_then(|own| own.value_size);
            }
            MapSource::Kconfig => map.is_read_only = true,
            _ => map.map_type = None,
        }
        map
    }

    /// Returns whether programs only read or only write values of the map.
    pub(super) const fn restricts_access(&self) -> bool {
        self.is_read_only || self.is_write_only
    }

    /// Returns the variables of a data section that the kernel manages.
    pub(super) fn managed_variables(&self) -> &[ValueField] {
        match self.fields.holder {
            FieldHolder::Variable => &self.fields.fields,
            FieldHolder::Value | FieldHolder::WriteOnlyValue => &[],
        }
    }

    fn define(&mut self, def: &MapDef, btf: Option<&Btf<'_>>) {
        self.map_type = def.known_type();
        self.is_read_only = def.map_flags & map_flags::RDONLY_PROG != 0;
        self.is_write_only = def.map_flags & map_flags::WRONLY_PROG != 0;
        let is_hash =
            matches!(self.map_type, Some(MapType::Hash | MapType::PercpuHash | MapType::HashOfMaps));
        self.allocates_later = is_hash && def.map_flags & map_flags::NO_PREALLOC != 0;
        // The kernel takes the types of both or none.
        if let (Some(map_type), Some(btf), Some(key), Some(value)) =
            (self.map_type, btf, def.key_type, def.value_type)
            && !loses_types(def, map_type, key, btf)
        {
            let Ok(value) = btf.strip(value) else { return };
            let possible = PossibleFields::of_value(btf, value);
            let parts =
                if possible.is_empty() { FieldParts::default() } else { FieldParts::of_value(btf, value) };
            self.find_missing_fields(&possible, &parts, map_type);
            // Some kernels find no field beside one that they refuse.
            let is_beside = |(_, form): &(SpecialField, FieldForm)| {
                matches!(form, FieldForm::BesideRefused { is_nested: false, .. })
            };
            if self.formed_fields.iter().any(is_beside) {
                return;
            }
            let mut fields = parts.fields(Some(map_type));
            fields.retain(|ValueField { field, .. }| {
                field.fits(map_type) && !self.missing_fields.contains(field)
            });
            let holder = if self.is_write_only { FieldHolder::WriteOnlyValue } else { FieldHolder::Value };
            self.fields = ValueFields { fields, holder };
        } else {
            self.missing_fields = SpecialField::ALL.to_vec();
        }
    }

    /// Finds the special fields that no kernel, or only some, find in values with some parts in a map of a
    /// type.
    fn find_missing_fields(&mut self, possible: &PossibleFields, parts: &FieldParts, map_type: MapType) {
        let refused = parts.refused(map_type);
        // No kernel finds one of several members, or one that maps of the type may not have.
        let is_refused = |field: &SpecialField| {
            refused.iter().any(|form| match form {
                FieldForm::BesideRefused { other, is_nested: false, .. } => other == field,
                _ => false,
            })
        };
        let is_missing = |field: &SpecialField| {
            !possible.contains(*field) || field.never_fits(map_type) || is_refused(field)
        };
        self.missing_fields = SpecialField::ALL.into_iter().filter(is_missing).collect();
        for field in SpecialField::ALL.into_iter().filter(|field| !self.missing_fields.contains(field)) {
            self.formed_fields.extend(possible.form(field).map(|form| (field, form)));
            self.formed_fields.extend(refused.iter().map(|form| (field, *form)));
        }
    }
}

/// Returns whether no kernel creates a map with the types of its keys and values, if the values have a
/// special field. A loader then creates the map without types (kernel: `map_check_btf`,
/// `array_map_check_btf`).
pub(super) fn loses_types(def: &MapDef, map_type: MapType, key: TypeId, btf: &Btf<'_>) -> bool {
    let is_array = matches!(map_type, MapType::Array | MapType::PercpuArray);
    def.map_flags & map_flags::RDONLY_PROG != 0 || (is_array && !may_be_index(btf, key))
}

/// Returns whether some kernel may take a type for that of an array's keys: an integer of 32 bits.
fn may_be_index(btf: &Btf<'_>, key: TypeId) -> bool {
    let Ok(key) = btf.strip(key) else { return true };
    key.int().is_some_and(|int| int.bits == 32 && int.offset == 0)
}

/// Returns a map's name as reasons have it.
pub(super) fn map_name(name: &[u8]) -> String {
    core_relo::explain::text(Name::new(name).shortened())
}
