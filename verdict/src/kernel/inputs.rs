//! The facts about a kernel that its BTF does not contain.

use super::KernelVersion;
use alloc::sync::Arc;
use core_relo_object::{load_plan::RefusedAttachType, lockdown::Lockdown, memory_nodes::MemoryNodes};

/// The facts about a kernel beside its BTF. Each may be missing. An empty text counts as missing.
#[derive(Clone, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "callers build it")]
pub struct KernelInputs {
    /// The version.
    pub version: Option<KernelVersion>,
    /// The text of the configuration: `/proc/config.gz` or `/boot/config-…`, decompressed.
    pub kconfig: Option<Arc<str>>,
    /// The error of reading the configuration, of a running kernel whose configuration cannot be read. A load
    /// on that kernel takes 0 for weak externs, and refuses strong ones.
    pub kconfig_error: Option<Arc<str>>,
    /// Lines of configuration that take precedence over those of the kernel, as in `Settings::kconfig`. The
    /// lines answer for the options that they set and for no others.
    pub kconfig_overrides: Option<Arc<str>>,
    /// The text of `/proc/kallsyms`, or of `System.map`, which has the same form.
    pub kallsyms: Option<Arc<str>>,
    /// The value of the sysctl `kernel.perf_event_max_stack` on the machine: the frames of a stack trace.
    pub perf_event_max_stack: Option<u32>,
    /// The symbols that `kallsyms` lists.
    pub symbol_scope: SymbolScope,
    /// The places where the facts were found, for the evidence.
    pub origins: InputOrigins,
    /// The modules that the target contains.
    pub modules: ModuleCoverage,
    /// The attach types whose programs the machine of the kernel refuses by a policy, of the running kernel.
    pub refused_attach_types: Vec<RefusedAttachType>,
    /// The mode of the machine's lockdown, of the running kernel.
    pub lockdown: Option<Lockdown>,
    /// The memory nodes of the machine, of the running kernel.
    pub memory_nodes: Option<MemoryNodes>,
}

impl KernelInputs {
    /// Adds facts of `other` where `self` has none.
    #[must_use]
    pub(crate) fn or_else(self, other: &Self) -> Self {
        let symbols = if self.kallsyms.is_some() { &self } else { other };
        let (symbol_scope, kallsyms) = (symbols.symbol_scope, symbols.kallsyms.clone());
        let origins = InputOrigins {
            version: self.origins.version.or_else(|| other.origins.version.clone()),
            kconfig: self.origins.kconfig.or_else(|| other.origins.kconfig.clone()),
            kallsyms: self.origins.kallsyms.or_else(|| other.origins.kallsyms.clone()),
        };
        Self {
            version: self.version.or(other.version),
            kconfig: self.kconfig.or_else(|| other.kconfig.clone()),
            kconfig_error: self.kconfig_error.or_else(|| other.kconfig_error.clone()),
            kconfig_overrides: self.kconfig_overrides.or_else(|| other.kconfig_overrides.clone()),
            perf_event_max_stack: self.perf_event_max_stack.or(other.perf_event_max_stack),
            kallsyms,
            symbol_scope,
            origins,
            ..other.clone()
        }
    }
}

/// The places where the facts about a kernel were found: `the banner in vmlinuz-6.1`, or the file that the
/// user gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers build it")]
pub struct InputOrigins {
    /// The place of the version.
    pub version: Option<Arc<str>>,
    /// The place of the configuration.
    pub kconfig: Option<Arc<str>>,
    /// The place of the symbols.
    pub kallsyms: Option<Arc<str>>,
}

impl InputOrigins {
    /// Returns the text of evidence with the place where the evidence was found.
    pub(super) fn evidence_text(origin: Option<&Arc<str>>, text: String) -> String {
        match origin {
            Some(origin) => format!("{text} ({origin})"),
            None => text,
        }
    }
}

/// The facts to find in the image of a kernel, or to read of the running kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers build it")]
pub struct WantedFacts {
    /// Whether to find the version and the configuration.
    pub version_and_kconfig: bool,
    /// Whether to find the symbols.
    pub symbols: bool,
    /// Whether to find the attach types whose programs the machine refuses. Only the running kernel has them.
    pub refused_attach_types: bool,
}

/// The symbols that a list contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "callers choose")]
pub enum SymbolScope {
    /// The symbols that `/proc/kallsyms` shows.
    #[default]
    Kallsyms,
    /// All symbols of the linked kernel, as in `System.map`. `/proc/kallsyms` shows variables only with
    /// `CONFIG_KALLSYMS_ALL`.
    Linked,
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
