//! The programs, maps and variables of an object that settings can name.

use super::setting::{NameKind, Setting};
use crate::{error::BadInput, input::object::ObjectFile};
use core_relo::explain::{list_words, suggest_word};
use core_relo_loader::{
    GlobalError,
    link::{ExternBinding, MapSource, ProgramLinker},
    load_plan::{InitialValues, LoadPlanError, Settings, inner_map_name},
    object::{MapDef, Object, Program},
};

/// The number of names that an error lists.
const SHOWN_NAMES: usize = 16;

/// A map that settings can name.
#[derive(Debug)]
pub(super) struct NamedMap<'o> {
    pub(super) name: String,
    /// The definition. `None` for data maps, struct_ops maps, and inner maps that the object does not define.
    pub(super) def: Option<&'o MapDef>,
    /// The size of the value of a data map.
    pub(super) data_bytes: Option<u64>,
    /// The outer map of an inner map.
    pub(super) outer: Option<String>,
}

/// The names of an object.
#[derive(Debug)]
pub(crate) struct ObjectNames<'o, 'd> {
    pub(super) object: &'o Object<'d>,
    pub(super) values: InitialValues<'o, 'd>,
    /// The maps. `None` if the object cannot be linked, which is its error everywhere.
    maps: Option<Vec<NamedMap<'o>>>,
    /// The kernel symbols without a type.
    symbols: Vec<String>,
}

impl<'o, 'd> ObjectNames<'o, 'd> {
    pub(crate) fn new(object: &'o Object<'d>) -> Self {
        let linker = ProgramLinker::collect(object).ok();
        let externs = linker.iter().flat_map(|linker| linker.externs());
        let untyped = externs.filter(|entry| entry.binding == ExternBinding::Address);
        let symbols = untyped.map(|entry| String::from_utf8_lossy(entry.name).into_owned()).collect();
        let maps = linker.map(|linker| {
            let mut maps = Vec::new();
            for entry in linker.maps() {
                let name = String::from_utf8_lossy(entry.name).into_owned();
                let (mut def, mut data_bytes) = (None, None);
                match entry.source {
                    MapSource::Defined(map) => def = map.def.as_ref().ok(),
                    MapSource::Data(section) => data_bytes = Some(section.size),
                    _ => {}
                }
                if let Some(outer) = def.filter(|def| def.is_map_of_maps()) {
                    maps.push(NamedMap {
                        name: inner_map_name(&name),
                        def: outer.inner.as_deref(),
                        data_bytes: None,
                        outer: Some(name.clone()),
                    });
                }
                maps.push(NamedMap { name, def, data_bytes, outer: None });
            }
            maps
        });
        Self { object, values: InitialValues::new(object), maps, symbols }
    }

    /// Returns a program by name.
    pub(super) fn program(&self, name: &str) -> Option<&'o Program<'d>> {
        programs(self.object).find(|program| program.name() == name.as_bytes())
    }

    /// Returns a map or an inner map by name.
    pub(super) fn map(&self, name: &str) -> Option<&NamedMap<'o>> {
        self.maps.iter().flatten().find(|map| map.name == name)
    }

    /// Returns whether the object has what a setting names. An object that cannot be linked has no maps and
    /// variables that are known.
    pub(super) fn has(&self, setting: &Setting) -> bool {
        match setting.value.kind().names {
            NameKind::Program => self.program(&setting.name).is_some(),
            NameKind::Map => self.map(&setting.name).is_some(),
            NameKind::Symbol => self.symbols.contains(&setting.name),
            NameKind::Global => {
                let found = self.values.find(&Settings::default(), &setting.name);
                !matches!(found, Err(LoadPlanError::Global(GlobalError::NotFound { .. })))
            }
        }
    }

    /// Returns whether all names of the object are known.
    pub(super) const fn is_complete(&self) -> bool {
        self.maps.is_some()
    }

    /// Returns the names of a kind.
    pub(crate) fn all(&self, kind: NameKind) -> Vec<String> {
        match kind {
            NameKind::Program => {
                programs(self.object).map(|p| String::from_utf8_lossy(p.name()).into_owned()).collect()
            }
            NameKind::Map => self.maps.iter().flatten().map(|map| map.name.clone()).collect(),
            NameKind::Symbol => self.symbols.clone(),
            NameKind::Global => self.values.globals().iter().map(|global| global.name.clone()).collect(),
        }
    }
}

fn programs<'o, 'd>(object: &'o Object<'d>) -> impl Iterator<Item = &'o Program<'d>> {
    object.programs().iter().filter(|program| !program.is_subprogram)
}

/// Returns an error with the names of the object's programs unless the object has a program of this name.
pub(crate) fn check_program_name(file: &ObjectFile, object: &Object<'_>, name: &str) -> Result<(), BadInput> {
    let names: Vec<_> = programs(object).map(|p| String::from_utf8_lossy(p.name()).into_owned()).collect();
    if names.iter().any(|known| known == name) {
        return Ok(());
    }
    Err(no_such(&file.name, NameKind::Program, name, &names))
}

/// Returns the error of a name that an object does not have.
pub(super) fn no_such(file: &str, kind: NameKind, name: &str, known: &[String]) -> BadInput {
    let suggestion = suggest_word(name, known.iter().map(String::as_str));
    let bad = BadInput::new(file, format_args!("it has no {} `{name}`{suggestion}", kind.noun()));
    match (suggestion.is_empty(), known.is_empty()) {
        (false, _) => bad,
        (true, true) => bad.help("it has none"),
        (true, false) => {
            let shown = list_words(known.iter().take(SHOWN_NAMES).map(String::as_str));
            match known.len().checked_sub(SHOWN_NAMES).filter(|more| *more > 0) {
                Some(more) => bad.help(format!("it has {shown} and {more} more")),
                None => bad.help(format!("it has {shown}")),
            }
        }
    }
}
