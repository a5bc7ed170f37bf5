//! Variables of programs that user space can read and set: which there are, where they lie, what they are.

mod declared;
mod error;
mod fit;
mod initial;
mod path;
mod resized;
mod shape;
mod types;

pub use error::GlobalError;
pub use fit::{check_size, check_type, check_value};
pub use initial::InitialValues;
pub use path::find_global;
pub(crate) use resized::resized;
pub use shape::{Element, RustType, Shape};
pub use types::ObjectTypes;

use crate::{
    link::{
        externs::{self, ExternEntry, What},
        maps::{KCONFIG, MapEntry, MapSource, MapTable},
    },
    object::{DataKind, Map, MapType, Object, Place, Symbol, SymbolKind},
};
use alloc::sync::Arc;
use core_relo::{
    TypeId,
    btf::{Btf, Type},
};
use declared::Declared;
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
    /// What becomes of it.
    pub kind: GlobalKind,
    /// Where in the section, in bytes; in the arena, the section lies [`data_offset`](crate::load_plan::MapPlan::data_offset)
    /// bytes from the start.
    pub offset: usize,
    /// Its size in bytes.
    pub size: usize,
    /// Its type in the object's BTF, if that declares it.
    pub ty: Option<TypeId>,
    /// Where in the section its map's value begins.
    pub(crate) start: usize,
    /// Its size as it is declared, if it grew with its section.
    pub(crate) declared_size: usize,
}

/// What becomes of a variable, and so when it can be read and set.
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
    /// Whether it has a first value that can be set before the load.
    pub const fn is_set_before(self) -> bool {
        !matches!(self, Self::Config)
    }

    /// Whether it can be read once it is loaded.
    pub const fn is_read_after(self) -> bool {
        !matches!(self, Self::StructOps)
    }

    /// Whether it can be set once it is loaded.
    pub const fn is_set_after(self) -> bool {
        matches!(self, Self::Variable | Self::Arena)
    }

    const fn of(section: DataKind) -> Option<Self> {
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
        of(object, &maps, &externs)
    }

    /// The variable's offset in the value of its map, in bytes.
    pub fn value_offset(&self) -> usize {
        self.offset.saturating_sub(self.start)
    }

    /// Its type, without what does not change values: qualifiers, typedefs. None if it is not known, or not of its size.
    fn stripped<'b>(&self, btf: Option<&'b Btf<'_>>) -> Option<Type<'b>> {
        btf?.strip(self.ty?).ok()
    }
}

/// The same, of what is known already.
pub(crate) fn of(object: &Object<'_>, maps: &MapTable<'_, '_>, externs: &[ExternEntry<'_>]) -> Vec<Global> {
    // Many variables share a section's name, which may be long.
    let sections = object.data_sections().iter().map(|s| (s.section_index, (s, shared(s.name))));
    let sections: HashMap<_, _> = sections.collect();
    let declared = Declared::of(object);
    let is_arena = |m: &&Map<'_>| m.def.as_ref().is_ok_and(|d| d.known_type() == Some(MapType::Arena));
    let arena = object.maps().iter().find(is_arena).map_or_else(|| "".into(), |m| shared(m.name));
    let variable = |symbol: Symbol<'_>| {
        let Place::Section(index) = symbol.place else { return None };
        let (section, name) = sections.get(&index).filter(|_| symbol.kind == SymbolKind::Object)?;
        let kind = GlobalKind::of(section.kind)?;
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
    let What::Config(slot) = e.what else { return None };
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
