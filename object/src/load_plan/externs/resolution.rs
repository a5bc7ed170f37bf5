//! The resolution of an extern.

use crate::index::ModuleIndex;
use core_relo::TypeId;

/// The resolution of an extern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::load_plan) enum ResolvedExtern {
    /// A weak extern that the kernel does not have, or a configuration value.
    Missing,
    /// A weak function whose parameters in the kernel differ from the declaration.
    Incompatible,
    /// The address of a variable.
    Address(u64),
    /// A variable or function in the BTF of the kernel, or of a module.
    Typed { id: TypeId, module: Option<ModuleIndex> },
    /// A variable or function that the kernel finds when a loader program is executed.
    Late,
}
