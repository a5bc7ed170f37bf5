//! The variables of an object: their sections, offsets, sizes and types.

use super::declared::Declared;
use crate::{
    link::{
        externs::{self, ExternBinding, ExternEntry},
        maps::{KCONFIG, MapEntry, MapSource, MapTable},
    },
    object::{DataKind, Map, MapType, Object, Place, Symbol, SymbolKind},
};
use alloc::sync::Arc;
use core_relo::{
    TypeId,
    btf::{Btf, Type},
};
use std::collections::HashMap;

/// A variable of a program's that user space can read or set, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Global {
    /// Its name; of a part the path to it, as `config.ports[2]`.
    pub name: String,
    /// The section it lies in.
    pub section: Arc<str>,
    /// The map that holds it once it is loaded: of a data section the section's name, of the arena its map's.
    pub map: Arc<str>,
    /// The kind of variable.
    pub kind: GlobalKind,
    /// Where in the section, in bytes; in the arena, the section lies [`data_offset`](crate::load_plan::MapPlan::data_offset)
    /// bytes from the start.
    pub offset: usize,
    /// The size in bytes.
    pub size: usize,
    /// Its type in the object's BTF, if that declares it.
    pub ty: Option<TypeId>,
    /// The offset in the section at which the map's value begins, in bytes.
    pub(crate) start: usize,
    /// Its size as it is declared, if it grew with its section.
    pub(crate) declared_size: usize,
}

/// The kind of a variable, which decides when it can be read and set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GlobalKind {
    /// Programs and user space read and write it (`.data`, `.bss`).
    Variable,
    /// It is set before the load, and constant from then on (`.rodata`).
    Constant,
    /// As a variable, in memory that has the same addresses for both (`.addr_space.1`).
    Arena,
    /// The kernel's configuration (`.kconfig`): to be read, once it is loaded.
    Config,
    /// A table for a kernel subsystem (`.struct_ops`): set before the load, and the kernel's from then on.
    StructOps,
}

impl GlobalKind {
    /// Whether the first value can be set before the load.
    pub const fn is_set_before(self) -> bool {
        !matches!(self, Self::Config)
    }

    /// Whether the variable can be read after the load.
    pub const fn is_read_after(self) -> bool {
        !matches!(self, Self::StructOps)
    }

    /// Whether the variable can be set after the load.
    pub const fn is_set_after(self) -> bool {
        matches!(self, Self::Variable | Self::Arena)
    }

    const fn from_data_kind(section: DataKind) -> Option<Self> {
        match section {
            DataKind::Data | DataKind::Bss => Some(Self::Variable),
            DataKind::Rodata => Some(Self::Constant),
            DataKind::Arena => Some(Self::Arena),
            DataKind::StructOps { .. } | DataKind::JumpTables => None,
        }
    }
}

impl Global {
    /// All of an object: those of data sections and the arena in the symbol table's order, then configuration values, then
    /// struct_ops tables.
    ///
    /// An object whose externs or tables cannot be read has none of those; planning it says why.
    pub fn all(object: &Object<'_>) -> Vec<Self> {
        let externs = externs::collect(object).unwrap_or_default();
        let maps = MapTable::collect(object, false).unwrap_or_default();
        collect(object, &maps, &externs)
    }

    /// The variable's offset in the value of its map, in bytes.
    pub fn value_offset(&self) -> usize {
        self.offset.saturating_sub(self.start)
    }

    /// Its type, without what does not change values: qualifiers, typedefs. None if it is not known, or not of its size.
    pub(super) fn stripped<'b>(&self, btf: Option<&'b Btf<'_>>) -> Option<Type<'b>> {
        btf?.strip(self.ty?).ok()
    }
}

/// Collects the variables of an object whose maps and externs are collected already.
pub(crate) fn collect(
    object: &Object<'_>,
    maps: &MapTable<'_, '_>,
    externs: &[ExternEntry<'_>],
) -> Vec<Global> {
    // Many variables share a section's name, which may be long.
    let sections = object.data_sections().iter().map(|s| (s.section_index, (s, shared(s.name))));
    let sections: HashMap<_, _> = sections.collect();
    let declared = Declared::collect(object);
    let is_arena = |m: &&Map<'_>| m.def.as_ref().is_ok_and(|d| d.known_type() == Some(MapType::Arena));
    let arena = object.maps().iter().find(is_arena).map_or_else(|| "".into(), |m| shared(m.name));
    let variable = |symbol: Symbol<'_>| {
        let Place::Section(index) = symbol.place else { return None };
        let (section, name) = sections.get(&index).filter(|_| symbol.kind == SymbolKind::Object)?;
        let kind = GlobalKind::from_data_kind(section.kind)?;
        let end = symbol.value.checked_add(symbol.size)?;
        (end <= section.size).then_some(())?;
        Some(Global {
            name: String::from_utf8_lossy(symbol.name).into_owned(),
            section: Arc::clone(name),
            map: Arc::clone(if kind == GlobalKind::Arena { &arena } else { name }),
            kind,
            offset: usize::try_from(symbol.value).ok()?,
            size: usize::try_from(symbol.size).ok()?,
            ty: declared.type_of(section.name, symbol.name, symbol.value),
            start: 0,
            declared_size: usize::try_from(symbol.size).ok()?,
        })
    };
    let table = |entry: &MapEntry<'_, '_>| {
        let MapSource::StructOps(table) = entry.source else { return None };
        let (_, section) = sections.get(&table.section.section_index)?;
        let (offset, size) = (usize::try_from(table.offset).ok()?, usize::try_from(table.size).ok()?);
        Some(Global {
            name: String::from_utf8_lossy(entry.name).into_owned(),
            section: Arc::clone(section),
            map: shared(entry.name),
            kind: GlobalKind::StructOps,
            offset,
            size,
            ty: Some(table.ty),
            start: offset,
            declared_size: size,
        })
    };
    let kconfig = shared(KCONFIG);
    let variables = object.symbols().filter_map(variable);
    let configuration = externs.iter().filter_map(|e| config(object, e, &kconfig));
    variables.chain(configuration).chain(maps.entries.iter().filter_map(table)).collect()
}

fn config(object: &Object<'_>, e: &ExternEntry<'_>, section: &Arc<str>) -> Option<Global> {
    let ExternBinding::Config(slot) = e.what else { return None };
    let size = usize::try_from(slot.size).ok()?;
    Some(Global {
        name: String::from_utf8_lossy(e.name).into_owned(),
        section: Arc::clone(section),
        map: Arc::clone(section),
        kind: GlobalKind::Config,
        offset: usize::try_from(slot.offset).ok()?,
        size,
        ty: object.btf().and_then(|btf| btf.ty(e.btf_id)?.target()),
        start: 0,
        declared_size: size,
    })
}

fn shared(name: &[u8]) -> Arc<str> {
    String::from_utf8_lossy(name).into()
}
