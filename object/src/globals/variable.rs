//! The variables of an object: their sections, offsets, sizes and types.

use super::declared_types::DeclaredTypes;
use crate::{
    link::{
        externs::{self, ExternBinding, ExternEntry},
        maps::{KCONFIG, MapEntry, MapSource, MapTable},
    },
    object::{DataKind, Map, MapType, Object, Symbol, SymbolKind, SymbolLocation},
};
use alloc::sync::Arc;
use core_relo::{
    TypeId,
    btf::{Btf, Type},
};
use hashbrown::HashMap;

/// A variable that user space can read or set, or a part of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Global {
    /// The name, or the path of a part: `config.ports[2]`.
    pub name: String,
    /// The section of the variable.
    pub section: Arc<str>,
    /// The map that holds the variable after the load: named like the data section, or the arena's map.
    pub map: Arc<str>,
    /// The kind of variable.
    pub kind: GlobalKind,
    /// The offset in the section, in bytes. In an arena, the section begins at
    /// [`data_offset`](crate::load_plan::MapPlan::data_offset).
    pub offset: usize,
    /// The size in bytes.
    pub size: usize,
    /// The type in the object's BTF; `None` if the BTF does not declare the variable.
    pub ty: Option<TypeId>,
    /// The offset in the value of the map, in bytes.
    pub(super) value_offset: usize,
    /// The declared size in bytes. Differs from `size` if the variable was resized with its section.
    pub(crate) declared_size: usize,
}

/// The kind of a variable, which decides when it can be read and set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GlobalKind {
    /// A variable that programs and user space read and write (`.data`, `.bss`).
    Variable,
    /// A constant, set before the load (`.rodata`).
    Constant,
    /// A variable in an arena, which programs and user space map at the same address (`.addr_space.1`).
    Arena,
    /// A value of the kernel's configuration (`.kconfig`), readable after the load.
    Config,
    /// A struct_ops map (`.struct_ops`), set before the load. The kernel owns the value after the load.
    StructOps,
}

impl GlobalKind {
    /// Returns whether the initial value can be set before the load.
    pub const fn is_settable_before_load(self) -> bool {
        !matches!(self, Self::Config)
    }

    /// Returns whether the variable can be read after the load.
    pub const fn is_readable_after_load(self) -> bool {
        !matches!(self, Self::StructOps)
    }

    /// Returns whether the variable can be set after the load.
    pub const fn is_settable_after_load(self) -> bool {
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
    /// Returns the variables of an object: variables of data sections and the arena in the symbol table's
    /// order, then configuration values, then struct_ops maps.
    ///
    /// Externs or maps with errors are left out. Planning a load reports the error.
    #[expect(clippy::disallowed_methods, reason = "planning a load reports the errors")]
    pub fn collect(object: &Object<'_>) -> Vec<Self> {
        let externs = externs::collect(object).unwrap_or_default();
        let maps = MapTable::collect(object, false).unwrap_or_default();
        collect(object, &maps, &externs)
    }

    /// Returns the variable's offset in the value of its map, in bytes.
    pub const fn value_offset(&self) -> usize {
        self.value_offset
    }

    /// Returns the type without qualifiers and typedefs; `None` if the type is unknown or cannot be followed.
    pub(crate) fn stripped<'b>(&self, btf: Option<&'b Btf<'_>>) -> Option<Type<'b>> {
        btf?.strip(self.ty?).ok()
    }
}

/// Collects the variables of an object whose maps and externs are collected already.
pub(crate) fn collect(
    object: &Object<'_>,
    maps: &MapTable<'_, '_>,
    externs: &[ExternEntry<'_>],
) -> Vec<Global> {
    // Variables share their section's name, which may be long.
    let sections = object.data_sections().iter().map(|s| (s.section_index, (s, shared_name(s.name))));
    let sections: HashMap<_, _> = sections.collect();
    let declared = DeclaredTypes::collect(object);
    let is_arena = |m: &&Map<'_>| m.def.as_ref().is_ok_and(|d| d.known_type() == Some(MapType::Arena));
    let arena = object.maps().iter().find(is_arena).map_or_else(|| "".into(), |m| shared_name(m.name));
    let variable = |symbol: Symbol<'_>| {
        let SymbolLocation::Section(index) = symbol.location else { return None };
        let (section, name) = sections.get(&index).filter(|_| symbol.kind == SymbolKind::Object)?;
        let kind = GlobalKind::from_data_kind(section.kind)?;
        let end = symbol.value.checked_add(symbol.size)?;
        (end <= section.size).then_some(())?;
        let offset = usize::try_from(symbol.value).ok()?;
        Some(Global {
            name: String::from_utf8_lossy(symbol.name).into_owned(),
            section: Arc::clone(name),
            map: Arc::clone(if kind == GlobalKind::Arena { &arena } else { name }),
            kind,
            offset,
            size: usize::try_from(symbol.size).ok()?,
            ty: declared.type_of(section.name, symbol.name, symbol.value),
            value_offset: offset,
            declared_size: usize::try_from(symbol.size).ok()?,
        })
    };
    let struct_ops = |entry: &MapEntry<'_, '_>| {
        let MapSource::StructOps(map) = entry.source else { return None };
        let (_, section) = sections.get(&map.section.section_index)?;
        let (offset, size) = (usize::try_from(map.offset).ok()?, usize::try_from(map.size).ok()?);
        Some(Global {
            name: String::from_utf8_lossy(entry.name).into_owned(),
            section: Arc::clone(section),
            map: shared_name(entry.name),
            kind: GlobalKind::StructOps,
            offset,
            size,
            ty: Some(map.ty),
            value_offset: 0,
            declared_size: size,
        })
    };
    let kconfig = shared_name(KCONFIG);
    let variables = object.symbols().filter_map(variable);
    let configuration = externs.iter().filter_map(|e| config_value(object, e, &kconfig));
    variables.chain(configuration).chain(maps.entries.iter().filter_map(struct_ops)).collect()
}

fn config_value(object: &Object<'_>, e: &ExternEntry<'_>, section: &Arc<str>) -> Option<Global> {
    let ExternBinding::Config(slot) = e.binding else { return None };
    let (offset, size) = (usize::try_from(slot.offset).ok()?, usize::try_from(slot.size).ok()?);
    Some(Global {
        name: String::from_utf8_lossy(e.name).into_owned(),
        section: Arc::clone(section),
        map: Arc::clone(section),
        kind: GlobalKind::Config,
        offset,
        size,
        ty: object.btf().and_then(|btf| btf.ty(e.btf_id)?.target()),
        value_offset: offset,
        declared_size: size,
    })
}

fn shared_name(name: &[u8]) -> Arc<str> {
    String::from_utf8_lossy(name).into()
}
