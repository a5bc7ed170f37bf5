//! The maps whose records are printed, and the types of the records.

use crate::{describe, error::BadInput, events::PrintedMap, type_name::find_type};
use core_relo::{
    Endian, TypeId,
    btf::{Btf, Kind, Type},
    explain::CType,
};
use core_relo_loader::{
    events::{DeclaredEvent, KindField, declared_events, kind_fields},
    inventory::{MapInfo, is_kept_name},
    object::{MapType, Object},
};
use std::{collections::BTreeMap, sync::Arc};

/// A map whose records are printed.
#[derive(Clone, Debug)]
pub(crate) struct EventSource {
    pub(super) map: String,
    pub(super) buffer: BufferKind,
    /// The option that names the type, without the type.
    pub(super) type_option: String,
    /// The types of the records. Without a type, records are printed as bytes.
    pub(super) types: Vec<EventType>,
    btf: Option<Arc<Btf<'static>>>,
}

/// The kinds of maps that have records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BufferKind {
    Ring,
    Perf,
}

/// A type of records.
#[derive(Clone, Debug)]
pub(super) struct EventType {
    pub(super) btf: Arc<Btf<'static>>,
    pub(super) id: TypeId,
    /// The type in C notation.
    pub(super) c_type: String,
    /// The size in bytes, without the elements of a flexible array.
    pub(super) size: usize,
    pub(super) has_flexible_array: bool,
    kind: Option<KindField>,
}

/// Finds the maps of `--print` and the types of their records in the object.
pub(crate) fn find_sources(
    file: &str,
    object: &Object<'_>,
    printed: &[PrintedMap],
) -> Result<Vec<EventSource>, BadInput> {
    if printed.is_empty() {
        return Ok(Vec::new());
    }
    let btf = object.btf().map(|btf| Btf::parse(btf.as_bytes().to_vec()).map(Arc::new)).transpose();
    let btf = btf.map_err(|e| BadInput::new(file, e))?;
    let mut sources: Vec<EventSource> = Vec::new();
    for printed in printed {
        let source = EventSource::new(object, btf.as_ref(), printed)
            .map_err(|(what, help)| BadInput::new(file, format!("--print: {what}")).help(help))?;
        if sources.iter().any(|other| other.map == source.map) {
            let what = format!("--print: map `{}` is given twice", source.map);
            return Err(BadInput::new(file, what));
        }
        sources.push(source);
    }
    Ok(sources)
}

impl EventSource {
    fn new(
        object: &Object<'_>,
        btf: Option<&Arc<Btf<'static>>>,
        printed: &PrintedMap,
    ) -> Result<Self, (String, String)> {
        let map = &printed.map;
        let buffer = find_buffer(object, map)?;
        let in_map = |(what, help): (String, String)| (format!("map `{map}`: {what}"), help);
        let types = match (&printed.type_name, btf) {
            (Some(name), None) => {
                return Err(in_map((
                    format!("no type `{name}`: the object has no BTF"),
                    "compile with -g".into(),
                )));
            }
            (Some(name), Some(btf)) => named_type(btf, name).map_err(in_map)?,
            (None, None) => Vec::new(),
            (None, Some(btf)) => {
                let declared = declared_events(btf).remove(map.as_bytes());
                declared_types(btf, declared.as_deref().unwrap_or(&[])).map_err(in_map)?
            }
        };
        let type_option = format!("--print {map}=");
        Ok(Self { map: map.clone(), buffer, type_option, types, btf: btf.cloned() })
    }

    /// Finds the types of the records of a map in the running kernel in the BTF of its programs. The error
    /// has a help.
    pub(crate) fn of_kernel_map(
        info: &MapInfo,
        btf: Option<&Arc<Btf<'static>>>,
        type_name: Option<&str>,
    ) -> Result<Self, (String, String)> {
        let map = info.name();
        let map_type = MapType::from_number(info.map_type);
        let buffer = buffer_kind(map_type).ok_or_else(|| {
            let found = map_type.map_or("unknown".into(), |found| found.short_name());
            let help = "`core-relo map dump` prints the elements of other maps";
            (format!("is of type {found}, expected ringbuf or perf_event_array"), help.to_owned())
        })?;
        let types = match (type_name, btf) {
            (Some(name), None) => {
                let what = format!("no type `{name}`: no loaded program with BTF uses the map");
                return Err((what, "without --type, records are printed as bytes".into()));
            }
            (Some(name), Some(btf)) => named_type(btf, name)?,
            (None, None) => Vec::new(),
            (None, Some(btf)) => declared_types(btf, &events_of_kernel_map(declared_events(btf), &map)?)?,
        };
        // A map may have no name.
        let map = if map.is_empty() { info.id.to_string() } else { map };
        Ok(Self { map, buffer, type_option: "--type ".to_owned(), types, btf: btf.cloned() })
    }

    /// Returns whether records are printed as bytes because the object does not declare their type.
    pub(super) fn is_untyped(&self) -> bool {
        self.types.is_empty()
    }

    /// Returns a type for the help of [`Self::is_untyped`]: the first struct whose name contains `event`.
    pub(super) fn likely_type(&self) -> Option<String> {
        let btf = self.btf.as_ref()?;
        let structs = btf.types().filter(|ty| ty.kind() == Kind::Struct);
        structs.map(|ty| ty.name().to_string()).find(|name| name.contains("event"))
    }

    /// Returns the type of a record; `None` if the record's kind is unknown.
    pub(super) fn type_of(&self, record: &[u8]) -> Option<&EventType> {
        self.types.iter().find(|ty| match ty.kind {
            None => true,
            Some(KindField { offset, size, value }) => {
                let bytes = offset.checked_add(size).and_then(|end| record.get(offset..end));
                bytes.is_some_and(|bytes| number(ty.btf.endian(), bytes) == u64::from(value))
            }
        })
    }
}

/// Finds the type of records that the user names. The error has a help.
fn named_type(btf: &Arc<Btf<'static>>, name: &str) -> Result<Vec<EventType>, (String, String)> {
    // clang leaves out types that only the bodies of functions use.
    let help = "its BTF has only types of maps, variables and functions: declare the type with EVENT_TYPE of core_relo.h";
    let ty = find_type(btf, name).map_err(|what| (what, help.to_owned()))?;
    Ok(vec![EventType::new(btf, ty.id(), None).map_err(|e| (e, help.into()))?])
}

/// Finds the declarations `D` for a map in the kernel, which keeps 15 bytes of its name. The error has a
/// help.
fn events_of_kernel_map<D>(
    mut declared: BTreeMap<Vec<u8>, Vec<D>>,
    map: &str,
) -> Result<Vec<D>, (String, String)> {
    if let Some(exact) = declared.remove(map.as_bytes()) {
        return Ok(exact);
    }
    declared.retain(|name, _| is_kept_name(map, name));
    if declared.len() > 1 {
        let names: Vec<_> = declared.keys().map(|name| describe::name(name)).collect();
        let what =
            format!("the BTF declares the types of several maps whose names begin so: {}", names.join(", "));
        return Err((what, "--type names the type".into()));
    }
    Ok(declared.into_values().flatten().collect())
}

/// Returns the number in at most 8 bytes.
fn number(endian: Endian, bytes: &[u8]) -> u64 {
    let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
    match endian {
        Endian::Little => bytes.iter().rev().fold(0, add),
        Endian::Big => bytes.iter().fold(0, add),
    }
}

/// Returns the kind of the buffer that a type of maps is.
fn buffer_kind(map_type: Option<MapType>) -> Option<BufferKind> {
    match map_type {
        Some(MapType::Ringbuf) => Some(BufferKind::Ring),
        Some(MapType::PerfEventArray) => Some(BufferKind::Perf),
        _ => None,
    }
}

/// Returns the kind of a map's buffer.
fn find_buffer(object: &Object<'_>, name: &str) -> Result<BufferKind, (String, String)> {
    let map_type = |map: &core_relo_loader::object::Map<'_>| map.def.as_ref().ok()?.known_type();
    let maps = object.maps();
    let buffers = || {
        let names = maps.iter().filter(|map| buffer_kind(map_type(map)).is_some());
        let names: Vec<_> = names.map(|map| describe::name(map.name)).collect();
        match names.as_slice() {
            [] => "the object has no ring buffer and no perf event array".to_owned(),
            names => format!("it has {}", names.join(", ")),
        }
    };
    let map = maps.iter().find(|map| map.name == name.as_bytes());
    let map = map.ok_or_else(|| (format!("no map `{name}`"), buffers()))?;
    buffer_kind(map_type(map)).ok_or_else(|| {
        let found = map_type(map).map_or("unknown".into(), |found| found.short_name());
        let what = format!("map `{name}` is of type {found}, expected ringbuf or perf_event_array");
        (what, buffers())
    })
}

/// Returns the types that the object declares for the records of a map.
fn declared_types(
    btf: &Arc<Btf<'static>>,
    declared: &[DeclaredEvent],
) -> Result<Vec<EventType>, (String, String)> {
    let wrong = |what: String| (what, "is EVENT_TYPE right?".to_owned());
    let fields = kind_fields(btf, declared).map_err(|e| wrong(e.to_string()))?;
    let of_event = |(event, kind): (&DeclaredEvent, _)| EventType::new(btf, event.ty, kind).map_err(wrong);
    declared.iter().zip(fields).map(of_event).collect()
}

impl EventType {
    fn new(btf: &Arc<Btf<'static>>, id: TypeId, kind: Option<KindField>) -> Result<Self, String> {
        let c_type = CType::new(btf, id).to_string();
        let size = btf.size_of(id).map_err(|e| format!("`{c_type}` has no values: {e}"))?;
        Ok(Self {
            btf: Arc::clone(btf),
            id,
            c_type,
            size: usize::try_from(size.0).map_err(|e| e.to_string())?,
            has_flexible_array: has_flexible_array(btf, id),
            kind,
        })
    }
}

/// Returns whether the last member of a struct is an array without elements.
fn has_flexible_array(btf: &Btf<'_>, ty: TypeId) -> bool {
    let last = btf.strip(ty).ok().and_then(|ty| ty.members().last());
    let array = last.and_then(|member| btf.strip(member.ty).ok()).and_then(Type::array);
    array.is_some_and(|array| array.nelems == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_the_kernel_cut_belongs_to_one_declaration() {
        let types_of = |names: &[&str], map| {
            let declared = (1..).zip(names).map(|(id, name)| (name.as_bytes().to_vec(), vec![id])).collect();
            events_of_kernel_map(declared, map)
        };
        assert_eq!(types_of(&["events", "others"], "others"), Ok(vec![2]));
        assert_eq!(types_of(&["events_of_a_long_name"], "events_of_a_lon"), Ok(vec![1]));
        assert_eq!(
            types_of(&["events_of_a_long_name", "events_of_a_lon"], "events_of_a_lon"),
            Ok(vec![2]),
            "exact"
        );
        let several = types_of(&["events_of_a_long_a", "events_of_a_long_b"], "events_of_a_lon").unwrap_err();
        assert!(several.0.ends_with("events_of_a_long_a, events_of_a_long_b"), "{several:?}");
        assert_eq!(types_of(&["events"], "messages"), Ok(vec![]));
    }
}
