//! The maps of an object, with the C types of keys, values and events.

use crate::{
    describe::{known_name, name, short_type_name},
    text::table::{Cell, left_cell, right_cell},
};
use core_relo::{TypeId, btf::Btf, explain::CType};
use core_relo_loader::{
    events::{DeclaredEvent, declared_events},
    object::{Map, MapDef, MapType, Object},
};
use serde::Serialize;

/// The facts about a map. They serialize to the JSON object.
#[derive(Serialize)]
pub(super) struct MapFacts {
    name: String,
    map_type: Option<String>,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
    key_type: Option<String>,
    value_type: Option<String>,
    /// The types of the records of a ring buffer or perf event array, as `EVENT_TYPE` and `EVENT_KIND`
    /// declare them.
    event_types: Vec<String>,
    /// The maps in a map of maps.
    inner: Option<InnerMap>,
    error: Option<String>,
}

/// The definition of the maps in a map of maps.
#[derive(Serialize)]
struct InnerMap {
    map_type: String,
    key_type: Option<String>,
    value_type: Option<String>,
}

/// Lists the maps of an object.
pub(super) fn list_maps(object: &Object<'_>) -> Vec<MapFacts> {
    let events = object.btf().map(declared_events);
    let facts = |map: &Map<'_>| {
        let declared = events.as_ref().and_then(|events| events.get(map.name));
        MapFacts::new(map, object.btf(), declared.map_or(&[], |declared| declared))
    };
    object.maps().iter().map(facts).collect()
}

impl MapFacts {
    fn new(map: &Map<'_>, btf: Option<&Btf<'_>>, events: &[DeclaredEvent]) -> Self {
        let name = name(map.name);
        match &map.def {
            Err(e) => Self {
                name,
                map_type: None,
                key_size: 0,
                value_size: 0,
                max_entries: 0,
                flags: 0,
                key_type: None,
                value_type: None,
                event_types: Vec::new(),
                inner: None,
                error: Some(e.to_string()),
            },
            Ok(def) => Self {
                name,
                map_type: Some(type_name(def)),
                key_size: def.key_size,
                value_size: def.value_size,
                max_entries: def.max_entries,
                flags: def.map_flags,
                key_type: c_type(btf, def.key_type),
                value_type: c_type(btf, def.value_type),
                event_types: events.iter().filter_map(|event| c_type(btf, Some(event.ty))).collect(),
                inner: def.inner.as_ref().map(|inner| InnerMap {
                    map_type: type_name(inner),
                    key_type: c_type(btf, inner.key_type),
                    value_type: c_type(btf, inner.value_type),
                }),
                error: None,
            },
        }
    }

    pub(super) fn row(&self) -> Vec<Cell> {
        let Some(kind) = &self.map_type else {
            let error = self.error.as_deref().unwrap_or("");
            return vec![left_cell(&self.name), left_cell(format_args!("cannot be read: {error}"))];
        };
        let flags = if self.flags == 0 { String::new() } else { format!("{:#x}", self.flags) };
        vec![
            left_cell(&self.name),
            left_cell(short_type_name(kind)),
            right_cell(self.key_size),
            right_cell(self.value_size),
            right_cell(self.max_entries),
            left_cell(flags),
            left_cell(self.types_text()),
        ]
    }

    /// Returns the text of the types: `key: u32, value: struct event`.
    fn types_text(&self) -> String {
        let mut parts = key_value_parts(&self.key_type, &self.value_type);
        if !self.event_types.is_empty() {
            parts.push(format!("events: {}", self.event_types.join(" or ")));
        }
        if let Some(inner) = &self.inner {
            let mut inner_parts = vec![short_type_name(&inner.map_type)];
            inner_parts.extend(key_value_parts(&inner.key_type, &inner.value_type));
            parts.push(format!("maps: {}", inner_parts.join(", ")));
        }
        parts.join(", ")
    }
}

fn key_value_parts(key: &Option<String>, value: &Option<String>) -> Vec<String> {
    let part = |name: &str, ty: &Option<String>| ty.as_ref().map(|ty| format!("{name}: {ty}"));
    [part("key", key), part("value", value)].into_iter().flatten().collect()
}

fn type_name(def: &MapDef) -> String {
    known_name(def.known_type().map(MapType::name), def.map_type)
}

/// Returns a type of the object in C notation.
fn c_type(btf: Option<&Btf<'_>>, ty: Option<TypeId>) -> Option<String> {
    let (btf, ty) = (btf?, ty.filter(|ty| *ty != TypeId::VOID)?);
    Some(CType::new(btf, ty).to_string())
}
