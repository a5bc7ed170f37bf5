//! The trait that reads a running kernel's BTF.

use super::TargetError;
use crate::errno::Errno;
use core::fmt;
use core_relo::{Data, btf::Btf};

/// A reader of the BTF of a running kernel and its modules.
pub trait ReadKernelBtf: fmt::Debug + Send + Sync {
    /// Reads and parses the kernel's own BTF.
    fn read_kernel(&self) -> Result<Btf<'static>, TargetError>;

    /// Lists the modules that have BTF, in the order in which they were loaded.
    ///
    /// `known` maps the id of a module's BTF to the module's name, if an earlier call listed the module.
    fn list_modules(&self, known: &dyn Fn(u32) -> Option<String>) -> Result<Vec<KernelModule>, Errno>;

    /// Reads a module's BTF by the id of the BTF; `None` if the module was unloaded.
    fn read_module(&self, id: u32) -> Result<Option<Data<'static>>, Errno>;
}

/// A module of the running kernel that has BTF.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "implementations of ReadKernelBtf fill it")]
pub struct KernelModule {
    /// The module's name.
    pub name: String,
    /// The kernel's id of the module's BTF.
    pub id: u32,
}
