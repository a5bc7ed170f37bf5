//! Variables of programs that user space can read and set.

use super::LoadPlanError;
use crate::object::{DataKind, DataSection, Object, Place, Symbol, SymbolKind};
use std::collections::HashMap;

/// A variable of a program's that user space can read and set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Global {
    /// Its name.
    pub name: String,
    /// The section it lies in, which is its map's name.
    pub section: String,
    /// Where in the section, in bytes.
    pub offset: usize,
    /// Its size in bytes.
    pub size: usize,
}

/// The variables of all data sections, in the symbol table's order.
pub(crate) fn of(object: &Object<'_>) -> Vec<Global> {
    let is_data = |s: &&DataSection<'_>| matches!(s.kind, DataKind::Data | DataKind::Rodata | DataKind::Bss);
    let sections = object.data_sections().iter().filter(is_data);
    let sections: HashMap<_, _> = sections.map(|s| (s.section_index, s)).collect();
    let global = |symbol: Symbol<'_>| {
        let Place::Section(index) = symbol.place else { return None };
        let section = sections.get(&index).filter(|_| symbol.kind == SymbolKind::Object)?;
        let end = symbol.value.checked_add(symbol.size)?;
        (end <= section.size).then_some(())?;
        Some(Global {
            name: String::from_utf8_lossy(symbol.name).into_owned(),
            section: String::from_utf8_lossy(section.name).into_owned(),
            offset: usize::try_from(symbol.value).ok()?,
            size: usize::try_from(symbol.size).ok()?,
        })
    };
    object.symbols().filter_map(global).collect()
}

/// The variable of a name, or of `section/name`: files and sections may each have a static one of the same name.
pub(crate) fn find<'g>(globals: &'g [Global], name: &str) -> Result<&'g Global, LoadPlanError> {
    let is_it = |g: &&Global| g.name == name || name.split_once('/') == Some((&g.section, &g.name));
    let mut found = globals.iter().filter(is_it);
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (Some(one), Some(other)) => Err(LoadPlanError::Ambiguous {
            name: name.into(),
            sections: [one.section.as_str().into(), other.section.as_str().into()],
        }),
        (None, _) => Err(LoadPlanError::NoSuch {
            kind: "global",
            name: name.into(),
            near: globals.iter().map(|g| g.name.as_str().into()).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_of_a_name_are_told_apart_by_their_section() {
        let global = |section: &str| Global { name: "n".into(), section: section.into(), offset: 0, size: 4 };
        let globals = [global(".data"), global(".bss")];
        assert_eq!(find(&globals, ".bss/n").map(|g| g.section.as_str()), Ok(".bss"));
        assert!(matches!(find(&globals, "n"), Err(LoadPlanError::Ambiguous { .. })));
        assert!(matches!(find(&globals, ".rodata/n"), Err(LoadPlanError::NoSuch { .. })));
        assert_eq!(find(&globals[..1], "n").map(|g| g.section.as_str()), Ok(".data"));
    }
}
