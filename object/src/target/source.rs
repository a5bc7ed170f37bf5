//! The source of a running kernel's BTF.

use super::TargetError;
use crate::errno::Errno;
use core::fmt;
use core_relo::{Data, btf::Btf};

/// Reads the BTF of a running kernel and its modules.
pub trait ReadKernelBtf: fmt::Debug + Send + Sync {
    /// Reads and parses the kernel's own BTF.
    fn read_kernel(&self) -> Result<Btf<'static>, TargetError>;

    /// Lists the modules that have BTF, in the order in which they were loaded. `known` returns the name of a module that was
    /// listed before, by the id of the module's BTF.
    fn list_modules(&self, known: &dyn Fn(u32) -> Option<String>) -> Result<Vec<KernelModule>, Errno>;

    /// Reads the BTF of the module whose BTF has this id; none if the module was unloaded.
    fn read_module(&self, id: u32) -> Result<Option<Data<'static>>, Errno>;
}

/// A module of the running kernel that has BTF.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "filled by who implements ReadKernelBtf")]
pub struct KernelModule {
    /// The module's name.
    pub name: String,
    /// The kernel's id of the module's BTF.
    pub id: u32,
}
