//! The requirements of an object: its maps and externs.

use super::{
    group::group_by_key,
    model::{ExternListing, MapListing, MapSizes, ObjectListing},
    names::{escaped, extern_kind, need_name},
    program::ProgramFacts,
};
use crate::{
    judge::loader_reasons,
    requirements::{ExternNeed, MapInput, MapNeed, Need, NeedTable, ObjectNeeds},
};
use alloc::collections::BTreeMap;
use core_relo::{Relocs, btf::Btf};
use core_relo_object::object::{MapDef, MapType, Object};

impl ObjectListing {
    /// Lists the requirements. An object without BTF has no `relocs`.
    pub fn new(needs: &ObjectNeeds<'_, '_>, table: &NeedTable, relocs: Option<&Relocs<'_>>) -> Self {
        let facts = ProgramFacts::new(needs, table, relocs);
        Self {
            license: needs.object.license().map(escaped),
            btf_kinds: btf_kinds(needs.object),
            maps: needs.maps.iter().map(|map| MapListing::new(map, table)).collect(),
            externs: needs.externs.iter().filter_map(|needed| ExternListing::new(needed, table)).collect(),
            programs: needs.programs.iter().map(|program| facts.program(program)).collect(),
            loader: needs.loader,
            loader_reasons: loader_reasons(needs).into_iter().map(|reason| reason.text).collect(),
        }
    }
}

impl MapListing {
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
                (Some(def), _) => MapSizes::new(def),
                (None, Some(bytes)) => MapSizes::one_value(bytes),
                (None, None) => MapSizes::default(),
            },
            inner_map: map.definition.as_ref().and_then(|def| def.inner.as_deref()).map(MapSizes::new),
            struct_ops: needs().find(|need| matches!(need, Need::StructOps(_))).map(need_name),
            needs_input: map.inputs.iter().map(|input| attribute(*input)).collect(),
        }
    }
}

impl MapSizes {
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
    let types = object.btf().into_iter().flat_map(Btf::types);
    let kinds = group_by_key(types.map(|ty| (ty.kind().name(), ()))).into_iter();
    kinds.map(|(kind, types)| (kind, types.len())).collect()
}

/// Returns the word for an attribute of a map.
const fn attribute(input: MapInput) -> &'static str {
    match input {
        MapInput::InnerMap => "inner_map",
        _ => input.name(),
    }
}

impl ExternListing {
    fn new(needed: &ExternNeed, table: &NeedTable) -> Option<Self> {
        let need = table.get(needed.id)?;
        Some(Self { name: need_name(need), kind: extern_kind(need), weak: needed.is_weak })
    }
}
