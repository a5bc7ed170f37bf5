//! The facts about a kernel that its BTF does not contain.

use super::version::KernelVersion;
use alloc::sync::Arc;

/// The facts about a kernel that the user gives beside its BTF. Each may be missing. An empty text counts as missing.
#[derive(Clone, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "callers build it")]
pub struct KernelInputs {
    /// The version.
    pub version: Option<KernelVersion>,
    /// The text of the configuration: `/proc/config.gz` or `/boot/config-…`, decompressed.
    pub kconfig: Option<Arc<str>>,
    /// The text of `/proc/kallsyms`.
    pub kallsyms: Option<Arc<str>>,
    /// The modules that the target contains.
    pub modules: ModuleCoverage,
}

/// The modules that a target contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "callers choose")]
pub enum ModuleCoverage {
    /// The kernel has loaded the target's modules and no others. A name that none of them has is absent.
    ///
    /// A target without modules stands for a kernel that has not loaded any.
    #[default]
    Complete,
    /// The kernel may have loaded other modules. A name that is not found is unknown.
    Partial,
}
