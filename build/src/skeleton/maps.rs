//! The maps of a skeleton, as typed handles.

use super::{
    code::Code,
    error::SkeletonError,
    events::{EventType, Events},
    identifier::{self, Names},
    internal_name::is_internal_map,
    options::Options,
    struct_ops::Tables,
    types::{RustType, Types},
};
use core_relo::{TypeId, btf::Type};
use core_relo_adaptive::variants::ObjectVariants;
use core_relo_object::object::{Map, MapDef, MapType, Object};

/// A map of a skeleton.
pub(super) struct MapField {
    field: String,
    /// The map's name in the object, as a Rust literal.
    name: String,
    /// The kernel's name of the map's type.
    map_type: String,
    ty: String,
    opened: Opened,
    is_optional: bool,
}

/// The way in which a field is made of the loaded object.
enum Opened {
    /// By a method of `Loaded`, which can fail.
    ByMethod(&'static str),
    /// By the constructor of the field's type.
    New(&'static str),
}

/// The maps of an object, and the events of its ring buffers and perf event arrays.
pub(super) struct Maps {
    pub(super) fields: Vec<MapField>,
    pub(super) events: Vec<EventType>,
}

/// Collects the maps of an object.
pub(super) fn collect(
    object: &Object<'_>,
    types: &mut Types<'_>,
    options: &Options,
    variants: Option<&ObjectVariants>,
    tables: Option<&Tables>,
) -> Result<Maps, SkeletonError> {
    let events = Events::collect(types.btf(), options)?;
    let mut names = Names::default();
    let tables = || tables.into_iter().flat_map(Tables::iter);
    let is_map = |name: &&String| {
        object.maps().iter().any(|map| map.name == name.as_bytes())
            || tables().any(|table| table.name == **name)
    };
    if let Some(name) = options.optional_maps.iter().find(|name| !is_map(name)) {
        return Err(SkeletonError::NoMap { name: name.as_str().into() });
    }
    let left_out = variants.map(ObjectVariants::maps_of_some_selections);
    let is_optional = |name: &str| {
        left_out.as_ref().is_some_and(|maps| maps.contains(name))
            || options.optional_maps.iter().any(|optional| optional == name)
    };
    let mut maps = Maps { fields: Vec::new(), events: Vec::new() };
    let mut of_events = Vec::new();
    for map in object.maps().iter().filter(|map| !is_internal_map(map.name)) {
        // The loader finds maps by name. A map with an invalid definition cannot be loaded.
        let (Ok(name), Ok(def)) = (core::str::from_utf8(map.name), &map.def) else { continue };
        let (ty, opened) = if let Some((handle, kind)) = event_map(def) {
            of_events.push(map.name);
            let event = events.of_map(map.name, types)?;
            let ty = format!("skeleton::{handle}<{}>", event.text);
            maps.events.push(event);
            (ty, Opened::New(kind))
        } else {
            handle(map, def, types)
        };
        maps.fields.push(MapField {
            field: names.take(identifier::value_name(map.name)),
            name: format!("{name:?}"),
            map_type: def.known_type().map_or_else(|| def.map_type.to_string(), |t| t.to_string()),
            ty,
            opened,
            is_optional: is_optional(name),
        });
    }
    for table in tables() {
        maps.fields.push(MapField {
            field: names.take(identifier::value_name(table.name.as_bytes())),
            name: format!("{:?}", table.name),
            map_type: MapType::StructOps.to_string(),
            ty: "skeleton::StructOps".into(),
            opened: Opened::New("StructOps"),
            is_optional: table.is_optional || is_optional(&table.name),
        });
    }
    events.check_maps(&of_events)?;
    Ok(maps)
}

/// Returns the field type of a map with events.
fn event_map(def: &MapDef) -> Option<(&'static str, &'static str)> {
    match def.known_type() {
        Some(MapType::Ringbuf) => Some(("RingBufferMap", "RingBufferMap")),
        Some(MapType::PerfEventArray) => Some(("PerfBufferMap", "PerfBufferMap")),
        _ => None,
    }
}

/// Returns the field type of a map without events, and how it is opened.
fn handle(map: &Map<'_>, def: &MapDef, types: &mut Types<'_>) -> (String, Opened) {
    use MapType as M;
    let name = String::from_utf8_lossy(map.name);
    let mut key = || of_map(types, def.key_type, def.key_size, &format!("{name}_key"));
    let (shape, method) = match def.known_type() {
        Some(M::Hash | M::LruHash | M::Rhash) => ("HashMap<K, V>", "hash_map"),
        Some(M::PercpuHash | M::LruPercpuHash) => ("PerCpuHashMap<K, V>", "per_cpu_hash_map"),
        Some(M::LpmTrie) => ("LpmTrie<P, V>", "lpm_trie"),
        Some(M::Array) => ("Array<V>", "array"),
        Some(M::PercpuArray) => ("PerCpuArray<V>", "per_cpu_array"),
        Some(M::Queue) => ("Queue<V>", "queue"),
        Some(M::Stack) => ("Stack<V>", "stack"),
        Some(M::BloomFilter) => ("BloomFilter<V>", "bloom_filter"),
        Some(M::ArrayOfMaps) => ("ArrayOfMaps", "array_of_maps"),
        Some(M::HashOfMaps) => ("HashOfMaps<K>", "hash_of_maps"),
        Some(M::ProgArray) => ("ProgArray", "prog_array"),
        Some(M::CgroupArray) => ("CgroupArray", "cgroup_array"),
        Some(M::Sockmap) => ("SockMap", "sock_map"),
        Some(M::Sockhash) => ("SockHash<K>", "sock_hash"),
        Some(M::Xskmap) => ("XskMap", "xsk_map"),
        Some(M::ReuseportSockarray) => ("ReuseportArray", "reuseport_array"),
        Some(M::Devmap) => ("DevMap", "dev_map"),
        Some(M::DevmapHash) => ("DevMapHash", "dev_map_hash"),
        Some(M::Cpumap) => ("CpuMap", "cpu_map"),
        Some(M::StackTrace) => ("StackTraces", "stack_traces"),
        Some(M::TaskStorage) => ("TaskStorage<V>", "task_storage"),
        Some(M::SkStorage) => ("SkStorage<V>", "sk_storage"),
        Some(M::InodeStorage) => ("InodeStorage<V>", "inode_storage"),
        Some(M::CgrpStorage) => ("CgrpStorage<V>", "cgrp_storage"),
        Some(M::UserRingbuf) => {
            return ("skeleton::UserRingBufferMap".into(), Opened::New("UserRingBufferMap"));
        }
        Some(M::Arena) => return ("skeleton::ArenaMap".into(), Opened::New("ArenaMap")),
        _ => ("MapFd", "map_handle"),
    };
    let mut text = format!("maps::{shape}");
    if shape.contains("<K") {
        let key = key();
        text = text.replacen('K', &key.text, 1);
    }
    if shape.contains("<P") {
        text = text.replacen("<P", &format!("<{}", prefix_data(types, def, &name).text), 1);
    }
    if shape.contains("V>") {
        let value = of_map(types, def.value_type, def.value_size, &format!("{name}_value"));
        text = format!("{}{}>", text.trim_end_matches("V>"), value.text);
    }
    (text, Opened::ByMethod(method))
}

/// Returns the Rust type of keys or values. Without a C type, they are bytes.
fn of_map(types: &mut Types<'_>, ty: Option<TypeId>, size: u32, context: &str) -> RustType {
    // Sizes of keys and values have 32 bits.
    let Ok(size) = usize::try_from(size) else { return RustType::bytes(0) };
    match ty {
        Some(ty) => types.of_size(ty, size, context.as_bytes()),
        None => RustType::bytes(size),
    }
}

/// Returns the Rust type of the data of an LPM trie's key, after the prefix length.
fn prefix_data(types: &mut Types<'_>, def: &MapDef, name: &str) -> RustType {
    const PREFIX_BITS: u32 = 32;
    const PREFIX_BYTES: u32 = 4;
    let size = def.key_size.checked_sub(PREFIX_BYTES).and_then(|size| usize::try_from(size).ok());
    let Some(size) = size else { return RustType::bytes(0) };
    let key = def.key_type.and_then(|key| types.btf().strip(key).ok());
    let mut members = key.into_iter().flat_map(Type::members).skip(1);
    match (members.next(), members.next()) {
        (Some(data), None) if data.bit_offset.0 == PREFIX_BITS => {
            types.of_size(data.ty, size, format!("{name}_prefix").as_bytes())
        }
        _ => RustType::bytes(size),
    }
}

/// Writes the structs of the maps, before and after the load.
pub(super) fn write(code: &mut Code, fields: &[MapField]) {
    code.line("");
    code.line("/// The settings of the maps, before the load.");
    code.line("#[derive(Clone, Debug, Default)]");
    code.block("pub struct OpenMaps {", "}", |code| {
        for field in fields {
            code.doc(&field.map_type);
            code.line(format!("pub {}: load_plan::MapSettings,", field.field));
        }
    });
    code.line("");
    code.block("impl OpenMaps {", "}", |code| {
        code.block("fn apply(&self, settings: &mut load_plan::Settings) {", "}", |code| {
            for MapField { field, name, .. } in fields {
                code.line(format!("settings.map_mut({name}).override_with(&self.{field});"));
            }
        });
    });
    code.line("");
    code.line("/// The maps of the loaded object.");
    code.line("#[derive(Debug)]");
    code.block("pub struct Maps {", "}", |code| {
        for MapField { field, map_type, ty, is_optional, .. } in fields {
            code.doc(format!(
                "{map_type}{}",
                if *is_optional { ", `None` if it was not created" } else { "" }
            ));
            let ty = if *is_optional { format!("Option<{ty}>") } else { ty.clone() };
            code.line(format!("pub {field}: {ty},"));
        }
    });
    code.line("");
    code.block("impl Maps {", "}", |code| {
        let open = "fn new(loaded: &Arc<load::Loaded>) -> Result<Self, skeleton::SkeletonError> {";
        code.block(open, "}", |code| {
            code.block("Ok(Self {", "})", |code| fields.iter().for_each(|field| write_opened(code, field)));
        });
    });
}

fn write_opened(code: &mut Code, field: &MapField) {
    let MapField { field, name, opened, is_optional, .. } = field;
    let line = match (opened, is_optional) {
        (Opened::ByMethod(method), false) => format!("OBJECT.map(loaded, {name}, load::Loaded::{method})?"),
        (Opened::ByMethod(method), true) => {
            format!("OBJECT.optional_map(loaded, {name}, load::Loaded::{method})?")
        }
        (Opened::New(ty), false) => format!("skeleton::{ty}::new(loaded, {name})"),
        (Opened::New(ty), true) => {
            format!("OBJECT.is_created(loaded, {name}).then(|| skeleton::{ty}::new(loaded, {name}))")
        }
    };
    code.line(format!("{field}: {line},"));
}
