//! Global variables of an object before the load, as Rust values.

#[cfg(test)]
mod tests;

use super::Loader;
use crate::{
    globals::{GlobalValue, from_stored, rust_type},
    sys::Pod as _,
};
use core_relo_object::{
    globals::{Global, check_size, check_type, check_value},
    load_plan::{LoadPlanError, Settings},
};

impl Loader<'_, '_> {
    /// Returns the variables of all data sections and of the arena in the order of the symbol table, then
    /// kconfig values and struct_ops maps.
    pub fn globals(&self) -> Vec<Global> {
        self.variables.globals().to_vec()
    }

    /// Finds a variable by name, or a part of a variable by path: `config.ports[2]`.
    ///
    /// `section/name` selects one of several static variables with the same name (`.data/config.ports[2]`).
    /// If a section is [resized](crate::load_plan::MapSettings::value_size), an array at its end has as many
    /// elements as fit.
    pub fn find_global(&self, name: &str) -> Result<Global, LoadPlanError> {
        self.variables.find(&self.settings, name)
    }

    /// Sets the initial value of a variable by name or [path](Self::find_global). Also sets constants, which
    /// the verifier uses to remove dead code, and variables in the arena.
    ///
    /// The value must have the size of the variable. If the object's BTF has the variable's type, the Rust
    /// type must fit:
    ///
    /// * integers and enums: an integer, signed or unsigned
    /// * `bool`: `bool`, or an integer that is 0 or 1
    /// * floats: a float
    /// * pointers: an unsigned integer
    /// * arrays: an array of fitting elements, or a struct declared with [`pod!`](crate::pod)
    /// * structs and unions: a struct or an array
    ///
    /// An array of bytes fits every variable.
    ///
    /// Kconfig values are set with [`Settings::kconfig`](crate::load_plan::Settings::kconfig) instead.
    /// Members of a struct_ops map that are no pointers are set by path, such as `my_ops.flags`, and its
    /// programs with [`MapSettings::programs`](crate::load_plan::MapSettings::programs).
    pub fn set_global<T: GlobalValue>(&mut self, name: &str, value: &T) -> Result<&mut Self, LoadPlanError> {
        let global = self.find_global(name)?;
        let value = value.to_stored();
        check_value(self.object.btf(), &global, &rust_type::<T>(), value.as_bytes())?;
        self.variables.set_bytes(&mut self.settings, &global, value.as_bytes())?;
        Ok(self)
    }

    /// Sets the bytes of a variable, in the machine's byte order. Only the size must fit, not the type.
    pub fn set_global_bytes(&mut self, name: &str, value: &[u8]) -> Result<&mut Self, LoadPlanError> {
        let global = self.find_global(name)?;
        check_size(self.object.btf(), &global, value.len())?;
        self.variables.set_bytes(&mut self.settings, &global, value)?;
        Ok(self)
    }

    /// Returns the initial value of a variable, as set so far.
    pub fn global<T: GlobalValue>(&self, name: &str) -> Result<T, LoadPlanError> {
        let global = self.find_global(name)?;
        check_type(self.object.btf(), &global, &rust_type::<T>())?;
        let mut stored = T::Stored::zeroed();
        self.variables.read_bytes(&self.settings, &global, stored.as_bytes_mut())?;
        Ok(from_stored(&global, stored)?)
    }

    /// Returns the bytes of the initial value of a variable, in the machine's byte order.
    pub fn global_bytes(&self, name: &str) -> Result<Vec<u8>, LoadPlanError> {
        let global = self.find_global(name)?;
        let mut value = vec![0; global.size];
        self.variables.read_bytes(&self.settings, &global, &mut value)?;
        Ok(value)
    }

    /// Returns a variable of the object, and the bytes of its value there, without the settings.
    pub(crate) fn object_value(&self, name: &str) -> Result<(Global, Vec<u8>), LoadPlanError> {
        let unset = Settings::default();
        let global = self.variables.find(&unset, name)?;
        let mut value = vec![0; global.size];
        self.variables.read_bytes(&unset, &global, &mut value)?;
        Ok((global, value))
    }
}
