//! The options of the skeletons of several sources: each holds for the sources that have the map or type it
//! names.

use crate::{
    error::BuildError,
    skeleton::{Options, SkeletonError, find_type},
};
use alloc::collections::BTreeSet;
use core_relo_object::{globals::GlobalKind, load_plan::InitialValues, object::Object};

/// The options of all sources, and what the sources so far have of them.
pub(crate) struct SourceOptions<'o> {
    options: &'o Options,
    used: BTreeSet<String>,
}

impl<'o> SourceOptions<'o> {
    pub(crate) fn new(options: &'o Options) -> Self {
        Self { options, used: BTreeSet::new() }
    }

    /// Returns the options that hold for an object.
    pub(crate) fn of_object(&mut self, object: &[u8]) -> Result<Options, SkeletonError> {
        let object = Object::parse(object)?;
        let has_table = |name: &str| {
            let values = InitialValues::new(&object);
            values.globals().iter().any(|global| global.kind == GlobalKind::StructOps && global.name == name)
        };
        let has_map =
            |name: &str| object.maps().iter().any(|map| map.name == name.as_bytes()) || has_table(name);
        let has_type = |name: &str| object.btf().is_some_and(|btf| find_type(btf, name).is_some());
        let mut options = self.options.clone();
        options.events.retain(|(map, _)| has_map(map));
        options.optional_maps.retain(|map| has_map(map));
        options.types.retain(|ty| has_type(ty));
        self.used.extend(wanted(&options));
        Ok(options)
    }

    /// Returns an error for an option that no object has used.
    pub(crate) fn check_used(&self) -> Result<(), BuildError> {
        match wanted(self.options).find(|what| !self.used.contains(what)) {
            Some(what) => Err(BuildError::Unused { what }),
            None => Ok(()),
        }
    }
}

/// Returns what the options name, in words.
fn wanted(options: &Options) -> impl Iterator<Item = String> {
    let map = |name: &String| format!("a map `{name}`");
    let events = options.events.iter().map(move |(name, _)| map(name));
    let maps = options.optional_maps.iter().map(map);
    let types = options.types.iter().map(|name| format!("a type `{name}` in the BTF of its object"));
    events.chain(maps).chain(types)
}
