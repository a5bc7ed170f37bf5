//! The object that a skeleton includes.

use super::SkeletonError;
use crate::{
    load::Loaded,
    loader::Loader,
    maps::MapError,
    object::{Object, ObjectError},
};
use core::fmt;
use std::sync::OnceLock;

/// A BPF object in the executable, parsed on first use.
pub struct StaticObject {
    name: &'static str,
    bytes: &'static [u8],
    parsed: OnceLock<Result<Object<'static>, ObjectError>>,
}

impl StaticObject {
    /// Creates the object from its name, which errors begin with, and its bytes.
    pub const fn new(name: &'static str, bytes: &'static [u8]) -> Self {
        Self { name, bytes, parsed: OnceLock::new() }
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the parsed object.
    pub fn parse(&'static self) -> Result<&'static Object<'static>, SkeletonError> {
        let parsed = self.parsed.get_or_init(|| Object::parse(self.bytes));
        parsed
            .as_ref()
            .map_err(|cause| SkeletonError::Object { object: self.name.into(), cause: cause.clone() })
    }

    /// Creates a loader of the object for the running kernel.
    pub fn loader(&'static self) -> Result<Loader<'static, 'static>, SkeletonError> {
        Ok(Loader::new(self.parse()?).name(self.name))
    }

    /// Opens a map of the loaded object with a method of [`Loaded`], and adds the skeleton's name to an
    /// error.
    pub fn map<M>(
        &self,
        loaded: &Loaded,
        name: &str,
        open: impl FnOnce(&Loaded, &str) -> Result<M, MapError>,
    ) -> Result<M, SkeletonError> {
        open(loaded, name).map_err(|cause| {
            let object = self.name.into();
            if loaded.map(name).is_some() && !self.is_created(loaded, name) {
                SkeletonError::NotCreated { object, map: name.into() }
            } else {
                SkeletonError::Map { object, cause }
            }
        })
    }

    /// Opens a map as [`map`](Self::map), if the map was created.
    pub fn optional_map<M>(
        &self,
        loaded: &Loaded,
        name: &str,
        open: impl FnOnce(&Loaded, &str) -> Result<M, MapError>,
    ) -> Result<Option<M>, SkeletonError> {
        self.is_created(loaded, name).then(|| self.map(loaded, name, open)).transpose()
    }

    /// Returns whether a map of the loaded object was created.
    pub fn is_created(&self, loaded: &Loaded, name: &str) -> bool {
        loaded.map(name).is_some_and(|map| map.fd().is_some())
    }
}

impl fmt::Debug for StaticObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticObject").field("name", &self.name).finish_non_exhaustive()
    }
}
