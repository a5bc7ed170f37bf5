//! Variables of a skeleton, before and after the load.

use super::SkeletonError;
use crate::{load::Loaded, loader::Loader, maps::MapError, sys::Pod};
use alloc::sync::Arc;
use core::{
    fmt,
    marker::PhantomData,
    ops::{Deref, DerefMut},
};
use core_relo_object::load_plan::LoadPlanError;

/// The initial value of a variable, before the load. It dereferences to the value.
///
/// The load takes the value from this field. A value that [`Loader::set_global`] sets on the skeleton's loader has no effect.
#[derive(Clone, Debug)]
pub struct InitialValue<T> {
    name: &'static str,
    value: Box<T>,
}

impl<T: Pod> InitialValue<T> {
    /// Reads the initial value of a variable from the object. `name` is the section and the name, such as `.bss/dropped`.
    pub fn new(loader: &Loader<'_, '_>, name: &'static str) -> Result<Self, SkeletonError> {
        let bytes = loader.global_bytes(name).map_err(|cause| global_error(loader, cause))?;
        let mut value = T::boxed_zeroed();
        let (found, expected) = (bytes.len(), size_of::<T>());
        if found != expected {
            let object = loader.settings.name.as_str().into();
            return Err(SkeletonError::Stale { object, variable: name, found, expected });
        }
        value.as_bytes_mut().copy_from_slice(&bytes);
        Ok(Self { name, value })
    }

    /// Sets the value.
    pub fn set(&mut self, value: impl Into<T>) {
        *self.value = value.into();
    }

    /// Gives the value to a loader.
    pub fn apply(&self, loader: &mut Loader<'_, '_>) -> Result<(), SkeletonError> {
        let applied = loader.set_global_bytes(self.name, self.value.as_bytes()).map(drop);
        applied.map_err(|cause| global_error(loader, cause))
    }
}

fn global_error(loader: &Loader<'_, '_>, cause: LoadPlanError) -> SkeletonError {
    SkeletonError::Global { object: loader.settings.name.as_str().into(), cause }
}

impl<T> Deref for InitialValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for InitialValue<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// A variable of a loaded object: `.data`, `.bss`, or a variable in the arena.
pub struct Variable<T> {
    constant: Constant<T>,
}

impl<T: Pod> Variable<T> {
    /// Creates the handle of a variable. `name` is the section and the name, such as `.bss/dropped`.
    pub fn new(loaded: &Arc<Loaded>, name: &'static str) -> Self {
        Self { constant: Constant::new(loaded, name) }
    }

    /// Reads the present value. A program that writes at the same time may leave a large value half written.
    pub fn get(&self) -> Result<T, MapError> {
        self.constant.get()
    }

    /// Reads the present value into memory of the heap, for variables that are large.
    pub fn get_boxed(&self) -> Result<Box<T>, MapError> {
        self.constant.get_boxed()
    }

    /// Writes the value.
    pub fn set(&self, value: impl Into<T>) -> Result<(), MapError> {
        let Constant { loaded, name, .. } = &self.constant;
        loaded.set_global_bytes(name, value.into().as_bytes())
    }
}

/// A constant of a loaded object: `.rodata`, or a kconfig value.
pub struct Constant<T> {
    loaded: Arc<Loaded>,
    name: &'static str,
    value: PhantomData<fn() -> T>,
}

impl<T: Pod> Constant<T> {
    /// Creates the handle of a constant. `name` is the section and the name, such as `.rodata/target_pid`.
    pub fn new(loaded: &Arc<Loaded>, name: &'static str) -> Self {
        Self { loaded: Arc::clone(loaded), name, value: PhantomData }
    }

    /// Reads the value.
    pub fn get(&self) -> Result<T, MapError> {
        let mut value = T::zeroed();
        self.read(&mut value)?;
        Ok(value)
    }

    /// Reads the value into memory of the heap, for constants that are large.
    pub fn get_boxed(&self) -> Result<Box<T>, MapError> {
        let mut value = T::boxed_zeroed();
        self.read(&mut value)?;
        Ok(value)
    }

    fn read(&self, value: &mut T) -> Result<(), MapError> {
        self.loaded.read_global(self.name, value.as_bytes_mut())
    }
}

impl<T> Clone for Variable<T> {
    fn clone(&self) -> Self {
        Self { constant: self.constant.clone() }
    }
}

impl<T> Clone for Constant<T> {
    fn clone(&self) -> Self {
        Self { loaded: Arc::clone(&self.loaded), name: self.name, value: PhantomData }
    }
}

impl<T> fmt::Debug for Variable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Variable").field(&self.constant.name).finish()
    }
}

impl<T> fmt::Debug for Constant<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Constant").field(&self.name).finish()
    }
}
