//! The requirements of an object: its maps and externs.

use super::{
    model::{ExternJson, MapJson, MapSizesJson, RequirementsJson},
    names::{extern_kind, need_name},
    program::ProgramFacts,
};
use crate::describe;
use core_relo::{Relocs, btf::Btf};
use core_relo_loader::object::{MapDef, MapType, Object};
use core_relo_verdict::judge::loader_reasons;
use core_relo_verdict::requirements::{ExternNeed, MapInput, MapNeed, Need, NeedTable, ObjectNeeds};
use std::collections::BTreeMap;

impl RequirementsJson {
    pub(crate) fn new(
        object: &str,
        needs: &ObjectNeeds<'_, '_>,
        table: &NeedTable,
        relocs: Option<&Relocs<'_>>,
    ) -> Self {
        let facts = ProgramFacts::new(needs, table, relocs);
        Self {
            object: object.to_owned(),
            license: needs.object.license().map(describe::name),
            btf_kinds: btf_kinds(needs.object),
            maps: needs.maps.iter().map(|map| MapJson::new(map, table)).collect(),
            externs: needs.externs.iter().filter_map(|needed| ExternJson::new(needed, table)).collect(),
            programs: needs.programs.iter().map(|program| facts.program(program)).collect(),
            loader: needs.loader.word(),
            loader_reasons: loader_reasons(needs).into_iter().map(|reason| reason.text).collect(),
        }
    }
}

impl MapJson {
    fn new(map: &MapNeed, table: &NeedTable) -> Self {
        let needs = || map.needs.iter().filter_map(|id| table.get(*id));
        let type_name = |need: &Need| match need {
            Need::MapType(number) => Some(match MapType::from_number(*number) {
                Some(known) => known.name().to_owned(),
                None => format!("unknown({number})"),
            }),
            _ => None,
        };
        let mut types = needs().filter_map(type_name);
        Self {
            name: map.name.clone(),
            map_type: types.next(),
            inner_map_type: types.next(),
            sizes: match (&map.definition, map.data_bytes) {
                (Some(def), _) => MapSizesJson::new(def),
                (None, Some(bytes)) => MapSizesJson::one_value(bytes),
                (None, None) => MapSizesJson::default(),
            },
            inner_map: map.definition.as_ref().and_then(|def| def.inner.as_deref()).map(MapSizesJson::new),
            struct_ops: needs().find(|need| matches!(need, Need::StructOps(_))).map(need_name),
            needs_input: map.inputs.iter().map(|input| attribute(*input)).collect(),
        }
    }
}

impl MapSizesJson {
    fn new(def: &MapDef) -> Self {
        Self {
            key_size: Some(def.key_size),
            value_size: Some(def.value_size.into()),
            max_entries: Some(def.max_entries),
            flags: Some(def.map_flags),
        }
    }

    /// Returns the sizes of an array of one element. Its flags depend on the kernel.
    const fn one_value(bytes: u64) -> Self {
        Self { key_size: Some(4), value_size: Some(bytes), max_entries: Some(1), flags: None }
    }
}

/// Returns the number of types of each kind in an object's BTF.
fn btf_kinds(object: &Object<'_>) -> BTreeMap<&'static str, usize> {
    let mut kinds = BTreeMap::new();
    for ty in object.btf().into_iter().flat_map(Btf::types) {
        *kinds.entry(ty.kind().name()).or_insert(0) += 1;
    }
    kinds
}

/// Returns the word for an attribute of a map.
const fn attribute(input: MapInput) -> &'static str {
    match input {
        MapInput::InnerMap => "inner_map",
        _ => input.name(),
    }
}

impl ExternJson {
    fn new(needed: &ExternNeed, table: &NeedTable) -> Option<Self> {
        let need = table.get(needed.id)?;
        Some(Self { name: need_name(need), kind: extern_kind(need), weak: needed.is_weak })
    }
}
