//! Variables of an object as Rust values, before the load.

#[cfg(test)]
mod tests;

use crate::{Loader, load_plan::LoadPlanError, sys::Pod};
use core::any::type_name;
use core_relo_object::globals::{Global, RustType};
pub(crate) use core_relo_object::globals::{
    InitialValues, ObjectTypes, check_size, check_type, check_value, find_global,
};

/// Describes a Rust type for the comparison with a variable's type in C.
pub(crate) fn rust_type<T: Pod>() -> RustType {
    RustType { shape: T::SHAPE, size: size_of::<T>(), name: type_name::<T>() }
}

impl Loader<'_, '_> {
    /// The variables of all data sections and of the arena, in the symbol table's order; then configuration values and
    /// struct_ops maps.
    pub fn globals(&self) -> Vec<Global> {
        self.variables.globals().to_vec()
    }

    /// The variable of a name, or the part of one that a path leads to: `config.ports[2]`.
    ///
    /// Of two static variables of one name, `section/name` is one (`.data/config.ports[2]`). An array that ends a section which
    /// was [resized](crate::load_plan::MapSettings::value_size) has as many elements as there is room for.
    pub fn find_global(&self, name: &str) -> Result<Global, LoadPlanError> {
        self.variables.find(&self.settings, name)
    }

    /// Sets a variable's first value: also one that is constant for the programs, by which the verifier may leave out code, and
    /// one in the arena. By name or by [path](Self::find_global).
    ///
    /// The value has to have the variable's size and, as far as the object's BTF says what it is, its type: for integers, enums
    /// and `bool` integers with or without sign (0 and 1 for `bool`), for floats floats, for pointers unsigned integers, for
    /// arrays arrays of such, for structs and unions structs or arrays. A struct ([`pod!`](crate::pod)) may also stand for an
    /// array, an array of bytes for anything.
    ///
    /// The kernel's configuration is not set this way, but by lines of
    /// [`Settings::kconfig`](crate::load_plan::Settings::kconfig). Of a struct_ops map the members that are no pointers can be
    /// set, as `my_ops.flags`; its programs go by [`MapSettings::programs`](crate::load_plan::MapSettings::programs).
    pub fn set_global<T: Pod>(&mut self, name: &str, value: &T) -> Result<&mut Self, LoadPlanError> {
        let global = self.find_global(name)?;
        check_value(self.object.btf(), &global, &rust_type::<T>(), value.as_bytes())?;
        self.variables.set_bytes(&mut self.settings, &global, value.as_bytes())?;
        Ok(self)
    }

    /// The same, by its bytes in the machine's order: of whatever type, if there are as many as it has.
    pub fn set_global_bytes(&mut self, name: &str, value: &[u8]) -> Result<&mut Self, LoadPlanError> {
        let global = self.find_global(name)?;
        check_size(self.object.btf(), &global, value.len())?;
        self.variables.set_bytes(&mut self.settings, &global, value)?;
        Ok(self)
    }

    /// A variable's first value, as it stands now.
    pub fn global<T: Pod>(&self, name: &str) -> Result<T, LoadPlanError> {
        let global = self.find_global(name)?;
        check_type(self.object.btf(), &global, &rust_type::<T>())?;
        let mut value = T::zeroed();
        self.variables.read_bytes(&self.settings, &global, value.as_bytes_mut())?;
        Ok(value)
    }

    /// The same, as its bytes.
    pub fn global_bytes(&self, name: &str) -> Result<Vec<u8>, LoadPlanError> {
        let global = self.find_global(name)?;
        let mut value = vec![0; global.size];
        self.variables.read_bytes(&self.settings, &global, &mut value)?;
        Ok(value)
    }
}
