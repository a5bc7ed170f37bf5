//! Map definitions: variables of section `.maps`, described by their BTF type, and those of the older sections `maps` and
//! `maps/…`.

use super::{
    error::ObjectError,
    kinds::MapType,
    symbols::{Linkage, Place, Symbol, SymbolKind, Symbols},
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
use std::collections::HashMap;
use thiserror::Error;

/// A map of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Map<'d> {
    /// The name.
    pub name: &'d [u8],
    /// Number of its ELF section.
    pub section_index: SectionIndex,
    /// The offset of the definition in the section, in bytes.
    pub offset: u64,
    /// Size of the definition in bytes.
    pub size: u64,
    /// Whether it is of a section `maps` or `maps/…`, which libbpf refuses, or passes over, since 1.0.
    pub is_legacy: bool,
    /// The definition. One that cannot be read is an error only when the map is planned.
    pub def: Result<MapDef, MapError>,
}

/// What a map's definition says. What it leaves out is 0 or `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MapDef {
    /// The kernel's number of the map's type.
    pub map_type: u32,
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// Type of a key in the object's BTF.
    pub key_type: Option<TypeId>,
    /// Type of a value in the object's BTF.
    pub value_type: Option<TypeId>,
    /// The maximum number of entries.
    pub max_entries: u32,
    /// Flags for its creation.
    pub map_flags: u32,
    /// Whether it is pinned by its name.
    pub pin_by_name: bool,
    /// The memory node it is put on.
    pub numa_node: Option<u32>,
    /// The extra value of the map's type (`map_extra`).
    pub map_extra: u64,
    /// The maps that a map of maps holds.
    pub inner: Option<Box<Self>>,
    /// Whether the definition has initial `values`: maps or programs.
    pub has_values: bool,
}

impl MapDef {
    /// The type, if the number is a known one.
    pub const fn known_type(&self) -> Option<MapType> {
        MapType::from_number(self.map_type)
    }
}

/// Why a map's definition cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MapError {
    /// The BTF has no variable of the map's name in `.maps`.
    #[error("no BTF describes it: compile with -g")]
    NoBtf,
    /// The variable is no struct.
    #[error("its type is {kind}, not STRUCT")]
    NotStruct {
        /// Name of the kind it is.
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
    /// A field is not of the form that holds a number or a type.
    #[error("field `{field}` is {kind}, not {expected}")]
    Field {
        /// The field's name.
        field: Text,
        /// Name of the kind it is.
        kind: &'static str,
        /// The expected value.
        expected: &'static str,
    },
    /// A size is given twice and differs.
    #[error("field `{field}` says {found} bytes, another said {expected}")]
    Conflict {
        /// The field's name.
        field: Text,
        /// The first size.
        expected: u32,
        /// The second size.
        found: u32,
    },
    /// A field's value is out of range, or the field has no place here.
    #[error("field `{field}`: {what}")]
    Value {
        /// The field's name.
        field: Text,
        /// The problem.
        what: &'static str,
    },
    /// A field that no loader knows.
    #[error(
        "unknown field `{field}`; there are type, key, key_size, value, value_size, max_entries, map_flags, map_extra, numa_node, pinning and values"
    )]
    Unknown {
        /// The field's name.
        field: Text,
    },
    /// The definition does not say the map's type.
    #[error("it says no map type: write `__uint(type, BPF_MAP_TYPE_…)` in its definition")]
    NoType,
    /// The variable is static. Compilers refer to such by their section, which does not say the map.
    #[error("it is static: drop `static`")]
    Static,
    /// A definition in a section `maps` or `maps/…` is shorter than its five words, or reaches past the section.
    #[error("its definition of {size} bytes at offset {offset} does not fit the section")]
    Legacy {
        /// The offset in the section.
        offset: u64,
        /// The size in bytes.
        size: u64,
    },
}

/// The maps of an object: those of `.maps`, then those of `maps` and `maps/…`; in order of section and place.
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
    let described = btf.map(described).unwrap_or_default();
    let mut known = Definitions::default();
    let mut maps = Vec::new();
    for symbol in symbols.iter() {
        let symbol = symbol?;
        let Place::Section(index) = symbol.place else { continue };
        if symbol.name.is_empty() || !matches!(symbol.kind, SymbolKind::Object | SymbolKind::NoType) {
            continue;
        }
        let old = legacy.get(&index);
        let def = match old {
            _ if modern.is_some_and(|s| s.index == index) => match (btf, described.get(symbol.name)) {
                (Some(btf), Some(variable)) if variable.is_global => known.definition(btf, variable.ty, 0),
                (_, Some(_)) => Err(MapError::Static),
                (_, None) if is_static(&symbol) => Err(MapError::Static),
                (_, None) => Err(MapError::NoBtf),
            },
            Some(_) if is_static(&symbol) => Err(MapError::Static),
            Some(s) => legacy_definition(elf.endian, s, symbol.value, symbol.size),
            None => continue,
        };
        maps.push(Map {
            name: symbol.name,
            section_index: index,
            offset: symbol.value,
            size: symbol.size,
            is_legacy: old.is_some(),
            def,
        });
    }
    maps.sort_by_key(|m| (m.is_legacy, m.section_index, m.offset));
    Ok(maps)
}

fn is_static(symbol: &Symbol<'_>) -> bool {
    symbol.linkage == Linkage::Static
}

/// A variable of DATASEC `.maps`.
struct Variable {
    ty: TypeId,
    /// libbpf goes by the BTF, not by the symbol.
    is_global: bool,
}

/// The variables of DATASEC `.maps`.
fn described<'b>(btf: &'b Btf<'_>) -> HashMap<&'b [u8], Variable> {
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

/// Whether a section has definitions in words, as aya takes them.
fn is_legacy(s: &Section<'_>) -> bool {
    (s.name == b"maps" || s.name.starts_with(b"maps/")) && !s.is_null() && !s.is_code()
}

/// The five words of `struct bpf_map_def`, of which aya's has two more: a number, and how the map is pinned.
fn legacy_definition(endian: Endian, s: &Section<'_>, offset: u64, size: u64) -> Result<MapDef, MapError> {
    let end = offset.checked_add(size).and_then(|end| usize::try_from(end).ok());
    let bytes = usize::try_from(offset).ok().zip(end).and_then(|(from, to)| s.data.get(from..to));
    let bytes = bytes.ok_or(MapError::Legacy { offset, size })?;
    let word = |at| endian.u32(bytes, at).ok_or(MapError::Legacy { offset, size });
    let pin_by_name = match endian.u32(bytes, 24) {
        None | Some(0) => false,
        Some(1) => true,
        Some(_) => {
            let what = "its seventh word is neither 0 (not) nor 1 (by name)";
            return Err(MapError::Value { field: "pinning".into(), what });
        }
    };
    Ok(MapDef {
        pin_by_name,
        map_type: word(0)?,
        key_size: word(4)?,
        value_size: word(8)?,
        max_entries: word(12)?,
        map_flags: word(16)?,
        ..MapDef::default()
    })
}

/// Definitions read so far, by struct and level: many maps may share one.
#[derive(Debug, Default)]
pub(crate) struct Definitions(HashMap<(TypeId, u32), Result<MapDef, MapError>>);

impl Definitions {
    /// The definition of a map that is no other map's; always to be asked of the same BTF.
    #[cfg(feature = "static-link")]
    pub(crate) fn of_map(&mut self, btf: &Btf<'_>, id: TypeId) -> Result<MapDef, MapError> {
        self.definition(btf, id, 0)
    }

    fn definition(&mut self, btf: &Btf<'_>, id: TypeId, level: u32) -> Result<MapDef, MapError> {
        let walk = |cause| MapError::Walk { field: "".into(), cause };
        let ty = btf.strip(id).map_err(walk)?;
        if ty.kind() != Kind::Struct {
            return Err(MapError::NotStruct { kind: ty.kind().name() });
        }
        if let Some(known) = self.0.get(&(ty.id(), level)) {
            return known.clone();
        }
        let def = fields(self, btf, ty, level);
        self.0.insert((ty.id(), level), def.clone());
        def
    }
}

/// Reads a definition's fields (libbpf: `parse_btf_map_def`).
fn fields(known: &mut Definitions, btf: &Btf<'_>, ty: Type<'_>, level: u32) -> Result<MapDef, MapError> {
    let mut def = MapDef::default();
    for m in ty.members() {
        let number = || pointed_number(btf, &m);
        match m.name.as_bytes() {
            b"type" => def.map_type = number()?,
            b"max_entries" => def.max_entries = number()?,
            b"map_flags" => def.map_flags = number()?,
            b"numa_node" => def.numa_node = Some(number()?),
            b"key_size" => def.key_size = agree(&m, def.key_size, number()?)?,
            b"value_size" => def.value_size = agree(&m, def.value_size, number()?)?,
            b"key" => {
                let (id, size) = pointed_type(btf, &m)?;
                (def.key_size, def.key_type) = (agree(&m, def.key_size, size)?, Some(id));
            }
            b"value" => {
                let (id, size) = pointed_type(btf, &m)?;
                (def.value_size, def.value_type) = (agree(&m, def.value_size, size)?, Some(id));
            }
            b"pinning" => {
                def.pin_by_name = match (level, number()?) {
                    (0, 0) => false,
                    (0, 1) => true,
                    (0, _) => return Err(value_error(&m, "neither 0 (not) nor 1 (by name)")),
                    _ => return Err(value_error(&m, "an inner map cannot be pinned")),
                }
            }
            b"map_extra" => def.map_extra = long_number(btf, &m)?,
            b"values" => values(known, btf, &m, &mut def, level)?,
            other => return Err(MapError::Unknown { field: text(other) }),
        }
    }
    if def.map_type == 0 { Err(MapError::NoType) } else { Ok(def) }
}

/// `values`: what a map of maps holds, or the programs of a program array.
fn values(
    known: &mut Definitions,
    btf: &Btf<'_>,
    m: &Member<'_>,
    def: &mut MapDef,
    level: u32,
) -> Result<(), MapError> {
    let of_maps = matches!(def.known_type(), Some(MapType::ArrayOfMaps | MapType::HashOfMaps));
    if level >= limits::MAP_LEVELS {
        return Err(value_error(m, "an inner map cannot hold maps"));
    }
    if !of_maps && def.known_type() != Some(MapType::ProgArray) {
        return Err(value_error(m, "only a map of maps and a program array have them"));
    }
    if def.has_values {
        return Err(value_error(m, "it is there twice"));
    }
    def.value_size = agree(m, def.value_size, 4)?;
    def.has_values = true;
    let array = field_type(btf, m, m.ty)?;
    let flexible = array.array().filter(|a| a.nelems == 0);
    let flexible = flexible.ok_or_else(|| kind_error(m, array, "an array of no length"))?;
    let pointer = field_type(btf, m, flexible.element)?;
    let to = pointer.target().filter(|_| pointer.kind() == Kind::Ptr);
    let to = field_type(btf, m, to.ok_or_else(|| kind_error(m, pointer, "an array of pointers"))?)?;
    match (of_maps, to.kind()) {
        (false, Kind::FuncProto) => Ok(()),
        (true, Kind::Struct) => {
            def.inner = Some(Box::new(known.definition(btf, to.id(), level.saturating_add(1))?));
            Ok(())
        }
        (false, _) => Err(kind_error(m, to, "pointers to functions")),
        (true, _) => Err(kind_error(m, to, "pointers to map definitions")),
    }
}

/// The number of `__uint(field, number)`: the length of the array that the field points to.
fn pointed_number(btf: &Btf<'_>, m: &Member<'_>) -> Result<u32, MapError> {
    let ty = field_type(btf, m, m.ty)?;
    let to = ty.target().filter(|_| ty.kind() == Kind::Ptr);
    let to = to.ok_or_else(|| kind_error(m, ty, "a pointer to an array"))?;
    let array = field_type(btf, m, to)?;
    array.array().map(|a| a.nelems).ok_or_else(|| kind_error(m, array, "a pointer to an array"))
}

/// The number of `__ulong(field, number)`: the value of an enum's one enumerator; or as [`pointed_number`].
fn long_number(btf: &Btf<'_>, m: &Member<'_>) -> Result<u64, MapError> {
    let ty = field_type(btf, m, m.ty)?;
    if !ty.kind().is_enum() {
        return pointed_number(btf, m).map(u64::from);
    }
    match (ty.vlen(), ty.enumerator(0)) {
        (1, Some(v)) => Ok(v.value),
        _ => Err(value_error(m, "its enum does not have one enumerator")),
    }
}

/// The type of `__type(field, type)`, and its size.
fn pointed_type(btf: &Btf<'_>, m: &Member<'_>) -> Result<(TypeId, u32), MapError> {
    let ty = btf.ty(m.ty).ok_or_else(|| walk_error(m, WalkError::NoType(m.ty)))?;
    let to = ty.target().filter(|_| ty.kind() == Kind::Ptr).ok_or_else(|| kind_error(m, ty, "a pointer"))?;
    let size = btf.size_of(to).map_err(|cause| walk_error(m, cause))?;
    Ok((to, size.0))
}

fn field_type<'b>(btf: &'b Btf<'_>, m: &Member<'_>, id: TypeId) -> Result<Type<'b>, MapError> {
    btf.strip(id).map_err(|cause| walk_error(m, cause))
}

/// A size that was not said before, or is the same.
fn agree(m: &Member<'_>, expected: u32, found: u32) -> Result<u32, MapError> {
    match expected {
        0 => Ok(found),
        same if same == found => Ok(found),
        _ => Err(MapError::Conflict { field: text(m.name.as_bytes()), expected, found }),
    }
}

#[cold]
fn walk_error(m: &Member<'_>, cause: WalkError) -> MapError {
    MapError::Walk { field: text(m.name.as_bytes()), cause }
}

#[cold]
fn kind_error(m: &Member<'_>, ty: Type<'_>, expected: &'static str) -> MapError {
    MapError::Field { field: text(m.name.as_bytes()), kind: ty.kind().name(), expected }
}

#[cold]
fn value_error(m: &Member<'_>, what: &'static str) -> MapError {
    MapError::Value { field: text(m.name.as_bytes()), what }
}
