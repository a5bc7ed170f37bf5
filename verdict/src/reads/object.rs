//! What a trace asks about the object of its program.

use crate::kernel::FieldFunction;
use core_relo_object::{
    ExternIndex, MapIndex,
    link::{FunctionCopy, LinkedProgram},
};

/// The object of a program, as far as a trace depends on it.
pub(crate) trait TracedObject {
    /// Returns the map with the configuration values.
    fn kconfig_map(&self) -> Option<MapIndex>;

    /// Returns the size of a configuration value, and `None` for other externs.
    fn kconfig_bytes(&self, index: ExternIndex) -> Option<u32>;

    /// Returns whether the kernel checks a function by itself.
    fn is_global(&self, code: &LinkedProgram, copy: FunctionCopy) -> bool;

    /// Returns an extern that is a kfunc which takes the address of a special field in a map's value.
    fn field_kfunc(&self, index: ExternIndex) -> Option<FieldFunction>;

    /// Returns the registers with the addresses of memory that an extern, if it is a kfunc, may read and
    /// write.
    fn kfunc_memory(&self, index: ExternIndex) -> &'static [u8];
}
