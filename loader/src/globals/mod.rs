//! Variables of programs that user space can read and set: which there are, where they lie, what they are.

mod before;
mod declared;
mod error;
mod fit;
mod path;
mod resized;
#[cfg(test)]
mod tests;
mod types;

pub use error::GlobalError;
pub(crate) use fit::{fit, fit_value, size};
pub(crate) use path::find;
pub(crate) use resized::resized;
pub(crate) use types::Types;

use crate::{
    link::{
        externs::{self, ExternEntry, What},
        maps::{KCONFIG, MapSource, MapTable},
    },
    object::{DataKind, DataSection, MapType, Object, Place, Symbol, SymbolKind},
};
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
    pub section: String,
    /// The map that holds it once it is loaded: of a data section the section's name, of the arena its map's.
    pub map: String,
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

    /// Where its map's value has it, in bytes.
    pub(crate) fn place(&self) -> usize {
        self.offset.saturating_sub(self.start)
    }

    /// Its type, without what does not change values: qualifiers, typedefs. None if it is not known, or not of its size.
    fn stripped<'b>(&self, btf: Option<&'b Btf<'_>>) -> Option<Type<'b>> {
        btf?.strip(self.ty?).ok()
    }
}

/// The same, of what is known already.
pub(crate) fn of(object: &Object<'_>, maps: &MapTable<'_, '_>, externs: &[ExternEntry<'_>]) -> Vec<Global> {
    let sections = object.data_sections().iter();
    let sections: HashMap<_, _> =
        sections.filter_map(|s| Some((s.section_index, (s, GlobalKind::of(s.kind)?)))).collect();
    let declared = Declared::of(object);
    let arena = object
        .maps()
        .iter()
        .find(|m| m.def.as_ref().is_ok_and(|def| def.known_type() == Some(MapType::Arena)));
    let arena = arena.map_or_else(String::new, |m| String::from_utf8_lossy(m.name).into_owned());
    let variable = |symbol: Symbol<'_>| {
        let Place::Section(index) = symbol.place else { return None };
        let (section, kind) = *sections.get(&index).filter(|_| symbol.kind == SymbolKind::Object)?;
        let end = symbol.value.checked_add(symbol.size)?;
        (end <= section.size).then_some(())?;
        let name_of = |section: &DataSection<'_>| String::from_utf8_lossy(section.name).into_owned();
        Some(Global {
            name: String::from_utf8_lossy(symbol.name).into_owned(),
            section: name_of(section),
            map: if kind == GlobalKind::Arena { arena.clone() } else { name_of(section) },
            kind,
            offset: usize::try_from(symbol.value).ok()?,
            size: usize::try_from(symbol.size).ok()?,
            ty: declared.type_of(section.name, symbol.name, symbol.value),
            start: 0,
            declared_size: usize::try_from(symbol.size).ok()?,
        })
    };
    let mut found: Vec<_> = object.symbols().filter_map(variable).collect();
    found.extend(externs.iter().filter_map(|e| config(object, e)));
    for entry in &maps.entries {
        let MapSource::StructOps(table) = entry.source else { continue };
        let name = String::from_utf8_lossy(entry.name).into_owned();
        let bytes = |n| usize::try_from(n).unwrap_or(usize::MAX);
        let (offset, size) = (bytes(table.offset), bytes(table.size));
        found.push(Global {
            name: name.clone(),
            section: String::from_utf8_lossy(table.section.name).into_owned(),
            map: name,
            kind: GlobalKind::StructOps,
            offset,
            size,
            ty: Some(table.ty),
            start: offset,
            declared_size: size,
        });
    }
    found
}

fn config(object: &Object<'_>, e: &ExternEntry<'_>) -> Option<Global> {
    let What::Config(slot) = e.what else { return None };
    let section = String::from_utf8_lossy(KCONFIG).into_owned();
    Some(Global {
        name: String::from_utf8_lossy(e.name).into_owned(),
        map: section.clone(),
        section,
        kind: GlobalKind::Config,
        offset: usize::try_from(slot.offset).ok()?,
        size: usize::try_from(slot.size).ok()?,
        ty: object.btf().and_then(|btf| btf.ty(e.btf_id)?.target()),
        start: 0,
        declared_size: usize::try_from(slot.size).ok()?,
    })
}
