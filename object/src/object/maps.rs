//! Map definitions: variables in section `.maps`, described by their BTF types, and legacy definitions in
//! sections `maps` and `maps/…`.

use super::{
    error::ObjectError,
    kernel_enums::MapType,
    map_annotations::{KeyAndValue, MapAnnotations},
    symbols::{Linkage, Symbol, SymbolKind, SymbolLocation, Symbols},
};
use crate::{
    elf::{Elf, Section, text},
    index::SectionIndex,
    limits,
};
use core_relo::{
    Endian, Text, TypeId,
    btf::{Btf, Kind, Member, Type, WalkError},
};
use hashbrown::HashMap;
use thiserror::Error;

/// The value of `pinning` for a map that is not pinned (libbpf: `LIBBPF_PIN_NONE`).
const PIN_NONE: u32 = 0;

/// The value of `pinning` for a map that is pinned by its name (libbpf: `LIBBPF_PIN_BY_NAME`).
const PIN_BY_NAME: u32 = 1;

/// A map that an object defines.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Map<'d> {
    /// The name.
    pub name: &'d [u8],
    /// The index of the ELF section.
    pub section_index: SectionIndex,
    /// The offset of the definition in the section, in bytes.
    pub offset: u64,
    /// The size of the symbol in bytes. It is 0 for some legacy definitions, which then reach to the next
    /// one.
    pub size: u64,
    /// Whether the definition is in a section `maps` or `maps/…`. libbpf refuses the former and ignores the
    /// latter since 1.0.
    pub is_legacy: bool,
    /// The definition. An invalid definition is an error only when a load of the map is planned.
    pub def: Result<MapDef, MapParseError>,
}

/// The definition of a map. Missing fields are 0 or `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MapDef {
    /// The kernel's number of the map type.
    pub map_type: u32,
    /// The size of a key in bytes.
    pub key_size: u32,
    /// The size of a value in bytes.
    pub value_size: u32,
    /// The type of a key in the object's BTF.
    pub key_type: Option<TypeId>,
    /// The type of a value in the object's BTF.
    pub value_type: Option<TypeId>,
    /// The maximum number of entries.
    pub max_entries: u32,
    /// The flags for creation (`BPF_F_*`).
    pub map_flags: u32,
    /// Whether the map is pinned by its name (`LIBBPF_PIN_BY_NAME`).
    pub pin_by_name: bool,
    /// A value of `pinning` other than 0 (none) and 1 (by name), whose meaning only the object's user space
    /// knows. Such a map is not pinned.
    pub other_pinning: Option<u32>,
    /// The sixth word of a legacy definition, if it is not 0. Its meaning depends on the program's loader: an
    /// id for iproute2 and aya, the index of an inner map or a NUMA node for others.
    pub legacy_id: Option<u32>,
    /// The NUMA node of the map's memory.
    pub numa_node: Option<u32>,
    /// The value specific to the map type (`map_extra`).
    pub map_extra: u64,
    /// The definition of the inner maps of a map of maps.
    pub inner: Option<Box<Self>>,
    /// Whether the definition has `values`: the maps or programs that the map holds initially.
    pub has_values: bool,
}

impl MapDef {
    /// Returns the map type; `None` if the number is unknown.
    pub const fn known_type(&self) -> Option<MapType> {
        MapType::from_number(self.map_type)
    }

    /// Returns the value of `pinning` (libbpf: `enum libbpf_pin_type`).
    pub fn pinning(&self) -> u32 {
        let known = if self.pin_by_name { PIN_BY_NAME } else { PIN_NONE };
        self.other_pinning.unwrap_or(known)
    }

    /// Sets the value of `pinning` (libbpf: `enum libbpf_pin_type`).
    fn set_pinning(&mut self, value: u32) {
        self.pin_by_name = value == PIN_BY_NAME;
        self.other_pinning = Some(value).filter(|value| !matches!(*value, PIN_NONE | PIN_BY_NAME));
    }

    /// Returns whether the values are maps.
    pub const fn is_map_of_maps(&self) -> bool {
        matches!(self.known_type(), Some(MapType::ArrayOfMaps | MapType::HashOfMaps))
    }
}

/// An error in a map's definition.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MapParseError {
    /// The BTF has no variable of the map's name in `.maps`.
    #[error("no BTF describes it: compile with -g")]
    NoBtf,
    /// The variable is not a struct.
    #[error("its type is {kind}, expected STRUCT")]
    NotStruct {
        /// The kind of the type.
        kind: &'static str,
    },
    /// A type in the definition cannot be followed.
    #[error("field `{field}`: {cause}")]
    Walk {
        /// The field's name.
        field: Text,
        /// The error that stopped the walk.
        #[source]
        cause: WalkError,
    },
    /// The type of a field does not encode a number or a type.
    #[error("field `{field}`: {kind}, expected {expected}")]
    Field {
        /// The field's name.
        field: Text,
        /// The kind of the type.
        kind: &'static str,
        /// The expected type.
        expected: &'static str,
    },
    /// Two fields define different sizes.
    #[error("field `{field}`: {found} bytes, expected {expected} as in an earlier field")]
    Conflict {
        /// The field's name.
        field: Text,
        /// The size of the earlier field.
        expected: u32,
        /// The size of this field.
        found: u32,
    },
    /// A field's value is invalid, or the field is not allowed here.
    #[error("field `{field}`: {what}")]
    Value {
        /// The field's name.
        field: Text,
        /// The problem.
        what: &'static str,
    },
    /// The definition has an unknown field.
    #[error(
        "unknown field `{field}`, expected type, key, key_size, value, value_size, max_entries, map_flags, map_extra, numa_node, pinning or values"
    )]
    Unknown {
        /// The field's name.
        field: Text,
    },
    /// The definition has no map type.
    #[error("it has no map type: add `__uint(type, BPF_MAP_TYPE_…)` to its definition")]
    NoType,
    /// The variable is static. Compilers refer to static variables by their section, which does not identify
    /// the map.
    #[error("it is static: remove `static`")]
    Static,
    /// A legacy definition is shorter than five words, or reaches past the section.
    #[error(
        "invalid definition of {size} bytes at offset {offset}: expected at least 20 bytes within the section"
    )]
    Legacy {
        /// The offset in the section, in bytes.
        offset: u64,
        /// The size in bytes.
        size: u64,
    },
}

core_relo::debug_as_message!(MapParseError);

/// Collects the maps of `.maps`, then legacy maps, each sorted by section and offset.
pub(crate) fn collect<'d>(
    elf: &Elf<'d>,
    symbols: &Symbols<'d>,
    btf: Option<&Btf<'_>>,
) -> Result<Vec<Map<'d>>, ObjectError> {
    let modern = elf.section(b".maps");
    let legacy: HashMap<_, _> = elf.sections.iter().filter(|s| is_legacy(s)).map(|s| (s.index, s)).collect();
    if modern.is_none() && legacy.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(s) = modern.into_iter().chain(legacy.values().copied()).find(|s| s.is_compressed()) {
        return Err(ObjectError::Compressed { section: s.text() });
    }
    let variables = btf.map_or_else(HashMap::new, maps_variables);
    let annotations = MapAnnotations::find(btf.filter(|_| !legacy.is_empty()));
    let mut definitions = Definitions::default();
    let mut maps = Vec::new();
    for symbol in symbols.iter() {
        let symbol = symbol?;
        let SymbolLocation::Section(index) = symbol.location else { continue };
        if symbol.name.is_empty() || !matches!(symbol.kind, SymbolKind::Object | SymbolKind::NoType) {
            continue;
        }
        let legacy_section = legacy.get(&index);
        let def = match legacy_section {
            _ if modern.is_some_and(|s| s.index == index) => match (btf, variables.get(symbol.name)) {
                (Some(btf), Some(variable)) if variable.is_global => definitions.parse(btf, variable.ty),
                (_, Some(_)) => Err(MapParseError::Static),
                (_, None) if is_static(&symbol) => Err(MapParseError::Static),
                (_, None) => Err(MapParseError::NoBtf),
            },
            Some(_) if is_static(&symbol) => Err(MapParseError::Static),
            Some(s) => legacy_definition(elf.endian, s, symbol.value, symbol.size)
                .map(|def| annotated(def, symbol.name, &annotations)),
            None => continue,
        };
        maps.push(Map {
            name: symbol.name,
            section_index: index,
            offset: symbol.value,
            size: symbol.size,
            is_legacy: legacy_section.is_some(),
            def,
        });
    }
    maps.sort_by_key(|m| (m.is_legacy, m.section_index, m.offset));
    define_unsized(&mut maps, |index, offset, size, name| {
        let section = legacy.get(&index)?;
        let size = size.or_else(|| section.size.checked_sub(offset))?;
        let def = legacy_definition(elf.endian, section, offset, size);
        Some(def.map(|def| annotated(def, name, &annotations)))
    });
    Ok(maps)
}

/// Defines the legacy maps whose symbols have no size. Such a definition reaches to the next one, or to the
/// end of the section (libbpf before 1.0: `bpf_object__init_user_maps`). `define` receives the section, the
/// offset, the size up to the next map, and the name.
fn define_unsized<'d>(
    maps: &mut [Map<'d>],
    define: impl Fn(SectionIndex, u64, Option<u64>, &'d [u8]) -> Option<Result<MapDef, MapParseError>>,
) {
    let mut following: Option<(SectionIndex, u64)> = None;
    let mut current = None;
    for map in maps.iter_mut().rev().filter(|map| map.is_legacy) {
        let place = (map.section_index, map.offset);
        // Several symbols may name one definition.
        if current != Some(place) {
            following = current.filter(|(section, _)| *section == map.section_index);
            current = Some(place);
        }
        if map.size == 0 && matches!(map.def, Err(MapParseError::Legacy { .. })) {
            let size = following.and_then(|(_, next)| next.checked_sub(map.offset));
            if let Some(def) = define(map.section_index, map.offset, size, map.name) {
                map.def = def;
            }
        }
    }
}

fn is_static(symbol: &Symbol<'_>) -> bool {
    symbol.linkage == Linkage::Static
}

/// A variable in the DATASEC `.maps`.
struct Variable {
    ty: TypeId,
    /// The linkage in the BTF, which libbpf checks instead of the symbol's.
    is_global: bool,
}

/// Returns the variables in the DATASEC `.maps`, by name.
fn maps_variables<'b>(btf: &'b Btf<'_>) -> HashMap<&'b [u8], Variable> {
    let section = btf.types().find(|t| t.kind() == Kind::Datasec && t.name().as_bytes() == b".maps");
    let infos = section.into_iter().flat_map(Type::secinfos);
    infos
        .filter_map(|info| btf.ty(info.ty))
        .filter_map(|var| {
            let is_global = var.linkage() == Some(1);
            Some((var.name().as_bytes(), Variable { ty: var.target()?, is_global }))
        })
        .collect()
}

/// Returns whether a section holds legacy definitions, which aya accepts.
fn is_legacy(s: &Section<'_>) -> bool {
    (s.name == b"maps" || s.name.starts_with(b"maps/")) && !s.is_null() && !s.is_code()
}

/// Parses a legacy definition: the five words of `struct bpf_map_def`. In aya's variant an id and the pinning
/// follow.
fn legacy_definition(
    endian: Endian,
    s: &Section<'_>,
    offset: u64,
    size: u64,
) -> Result<MapDef, MapParseError> {
    let end = offset.checked_add(size).and_then(|end| usize::try_from(end).ok());
    let bytes = usize::try_from(offset).ok().zip(end).and_then(|(from, to)| s.data.get(from..to));
    let bytes = bytes.ok_or(MapParseError::Legacy { offset, size })?;
    let word = |at| endian.u32(bytes, at).ok_or(MapParseError::Legacy { offset, size });
    let mut def = MapDef::default();
    def.set_pinning(endian.u32(bytes, 24).unwrap_or(PIN_NONE));
    def.legacy_id = endian.u32(bytes, 20).filter(|id| *id != 0);
    Ok(MapDef {
        map_type: word(0)?,
        key_size: word(4)?,
        value_size: word(8)?,
        max_entries: word(12)?,
        map_flags: word(16)?,
        ..def
    })
}

/// Returns a legacy definition with the types of its annotation, if the BTF has one.
fn annotated(def: MapDef, name: &[u8], annotations: &MapAnnotations<'_>) -> MapDef {
    match annotations.types(name, def.key_size, def.value_size) {
        Some(KeyAndValue { key, value }) => MapDef { key_type: Some(key), value_type: Some(value), ..def },
        None => def,
    }
}

/// A cache of parsed definitions by struct and nesting level, since many maps may share a struct.
#[derive(Debug, Default)]
pub(crate) struct Definitions(HashMap<(TypeId, u32), Result<MapDef, MapParseError>>);

impl Definitions {
    /// Parses the definition of an outer map. All calls must pass the same BTF.
    pub(crate) fn parse(&mut self, btf: &Btf<'_>, id: TypeId) -> Result<MapDef, MapParseError> {
        self.parse_level(btf, id, 0)
    }

    fn parse_level(&mut self, btf: &Btf<'_>, id: TypeId, level: u32) -> Result<MapDef, MapParseError> {
        let walk = |cause| MapParseError::Walk { field: "".into(), cause };
        let ty = btf.strip(id).map_err(walk)?;
        if ty.kind() != Kind::Struct {
            return Err(MapParseError::NotStruct { kind: ty.kind().name() });
        }
        if let Some(known) = self.0.get(&(ty.id(), level)) {
            return known.clone();
        }
        let def = parse_fields(self, btf, ty, level);
        self.0.insert((ty.id(), level), def.clone());
        def
    }
}

/// Parses the fields of a definition (libbpf: `parse_btf_map_def`).
fn parse_fields(
    definitions: &mut Definitions,
    btf: &Btf<'_>,
    ty: Type<'_>,
    level: u32,
) -> Result<MapDef, MapParseError> {
    let mut def = MapDef::default();
    for m in ty.members() {
        let number = || pointed_number(btf, &m);
        match m.name.as_bytes() {
            b"type" => def.map_type = number()?,
            b"max_entries" => def.max_entries = number()?,
            b"map_flags" => def.map_flags = number()?,
            b"numa_node" => def.numa_node = Some(number()?),
            b"key_size" => def.key_size = merge_size(&m, def.key_size, number()?)?,
            b"value_size" => def.value_size = merge_size(&m, def.value_size, number()?)?,
            b"key" => {
                let (id, size) = pointed_type(btf, &m)?;
                (def.key_size, def.key_type) = (merge_size(&m, def.key_size, size)?, Some(id));
            }
            b"value" => {
                let (id, size) = pointed_type(btf, &m)?;
                (def.value_size, def.value_type) = (merge_size(&m, def.value_size, size)?, Some(id));
            }
            b"pinning" => {
                if level > 0 {
                    return Err(value_error(&m, "an inner map cannot be pinned"));
                }
                def.set_pinning(number()?);
            }
            b"map_extra" => def.map_extra = long_number(btf, &m)?,
            b"values" => parse_values(definitions, btf, &m, &mut def, level)?,
            other => return Err(MapParseError::Unknown { field: text(other) }),
        }
    }
    if def.map_type == 0 { Err(MapParseError::NoType) } else { Ok(def) }
}

/// Parses `values`: the inner maps of a map of maps, or the programs of a program array.
fn parse_values(
    definitions: &mut Definitions,
    btf: &Btf<'_>,
    m: &Member<'_>,
    def: &mut MapDef,
    level: u32,
) -> Result<(), MapParseError> {
    let is_map_of_maps = matches!(def.known_type(), Some(MapType::ArrayOfMaps | MapType::HashOfMaps));
    let inner_level = level.checked_add(1).filter(|inner| *inner <= limits::MAP_LEVELS);
    let inner_level = inner_level.ok_or_else(|| value_error(m, "an inner map cannot hold maps"))?;
    if !is_map_of_maps && def.known_type() != Some(MapType::ProgArray) {
        return Err(value_error(
            m,
            "not allowed for this map type, expected a map of maps or a program array",
        ));
    }
    if def.has_values {
        return Err(value_error(m, "duplicate field"));
    }
    def.value_size = merge_size(m, def.value_size, 4)?;
    def.has_values = true;
    let array = field_type(btf, m, m.ty)?;
    let flexible = array.array().filter(|a| a.nelems == 0);
    let flexible = flexible.ok_or_else(|| kind_error(m, array, "an array of length 0"))?;
    let pointer = field_type(btf, m, flexible.element)?;
    let pointee = pointer.target().filter(|_| pointer.kind() == Kind::Ptr);
    let pointee = pointee.ok_or_else(|| kind_error(m, pointer, "an array of pointers"))?;
    let element = field_type(btf, m, pointee)?;
    match (is_map_of_maps, element.kind()) {
        (false, Kind::FuncProto) => Ok(()),
        (true, Kind::Struct) => {
            let inner = definitions.parse_level(btf, element.id(), inner_level)?;
            def.inner = Some(Box::new(inner));
            Ok(())
        }
        (false, _) => Err(kind_error(m, element, "pointers to functions")),
        (true, _) => Err(kind_error(m, element, "pointers to map definitions")),
    }
}

/// Returns the number of `__uint(field, number)`: the length of the array that the field points to.
fn pointed_number(btf: &Btf<'_>, m: &Member<'_>) -> Result<u32, MapParseError> {
    let ty = field_type(btf, m, m.ty)?;
    let pointee = ty.target().filter(|_| ty.kind() == Kind::Ptr);
    let pointee = pointee.ok_or_else(|| kind_error(m, ty, "a pointer to an array"))?;
    let array = field_type(btf, m, pointee)?;
    array.array().map(|a| a.nelems).ok_or_else(|| kind_error(m, array, "a pointer to an array"))
}

/// Returns the number of `__ulong(field, number)`, the value of an enum's only enumerator, or of
/// `__uint(field, number)`.
fn long_number(btf: &Btf<'_>, m: &Member<'_>) -> Result<u64, MapParseError> {
    let ty = field_type(btf, m, m.ty)?;
    if !ty.kind().is_enum() {
        return pointed_number(btf, m).map(u64::from);
    }
    match (ty.vlen(), ty.enumerator(0)) {
        (1, Some(v)) => Ok(v.value),
        _ => Err(value_error(m, "its enum does not have exactly one enumerator")),
    }
}

/// Returns the type of `__type(field, type)` and its size.
fn pointed_type(btf: &Btf<'_>, m: &Member<'_>) -> Result<(TypeId, u32), MapParseError> {
    let ty = btf.ty(m.ty).ok_or_else(|| walk_error(m, WalkError::NoType(m.ty)))?;
    let pointee =
        ty.target().filter(|_| ty.kind() == Kind::Ptr).ok_or_else(|| kind_error(m, ty, "a pointer"))?;
    let size = btf.size_of(pointee).map_err(|cause| walk_error(m, cause))?;
    Ok((pointee, size.0))
}

fn field_type<'b>(btf: &'b Btf<'_>, m: &Member<'_>, id: TypeId) -> Result<Type<'b>, MapParseError> {
    btf.strip(id).map_err(|cause| walk_error(m, cause))
}

/// Returns a size, if it is the first (`expected` is 0) or equal to the first.
fn merge_size(m: &Member<'_>, expected: u32, found: u32) -> Result<u32, MapParseError> {
    match expected {
        0 => Ok(found),
        _ if expected == found => Ok(found),
        _ => Err(MapParseError::Conflict { field: text(m.name.as_bytes()), expected, found }),
    }
}

#[cold]
fn walk_error(m: &Member<'_>, cause: WalkError) -> MapParseError {
    MapParseError::Walk { field: text(m.name.as_bytes()), cause }
}

#[cold]
fn kind_error(m: &Member<'_>, ty: Type<'_>, expected: &'static str) -> MapParseError {
    MapParseError::Field { field: text(m.name.as_bytes()), kind: ty.kind().name(), expected }
}

#[cold]
fn value_error(m: &Member<'_>, what: &'static str) -> MapParseError {
    MapParseError::Value { field: text(m.name.as_bytes()), what }
}
