//! The rules by which a kernel checks the BTF of objects.

use super::{facts::KernelFacts, version::KernelVersion};
use core_relo::btf::KernelBtfRules;

/// The oldest release whose rules are known.
const OLDEST: KernelVersion = KernelVersion::release(5, 10);

impl KernelFacts<'_> {
    /// Returns the rules of the kernel's release. Without a version, the rules of the oldest release.
    pub(crate) fn btf_rules(&self) -> KernelBtfRules {
        let KernelVersion { major, minor, .. } = self.inputs.version.unwrap_or(OLDEST);
        KernelBtfRules::of_release(major, minor)
    }

    /// Returns whether the rules of older releases may be those of the kernel.
    pub(crate) fn has_version(&self) -> bool {
        self.inputs.version.is_some()
    }
}
