//! The target of relocation: the BTF of a kernel and of its modules.

use crate::btf::{Btf, NameIndex};
use alloc::{string::String, sync::Arc, vec::Vec};

/// The kernel against which an object is relocated.
#[derive(Clone, Debug)]
pub struct Target<'t> {
    vmlinux: TargetBtf<'t>,
    modules: Vec<TargetBtf<'t>>,
    excluded_module_count: usize,
}

/// The BTF of vmlinux or of a module, with its name and its index.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TargetBtf<'t> {
    /// `vmlinux`, or the module's name.
    pub name: String,
    /// The types.
    pub btf: Arc<Btf<'t>>,
    /// An index of the type names in `btf`, which speeds up the search for candidates.
    pub index: Option<Arc<NameIndex>>,
}

impl<'t> Target<'t> {
    /// Creates a target of one BTF. Explanations print the `name`, usually `vmlinux`.
    pub fn new(name: impl Into<String>, vmlinux: Arc<Btf<'t>>) -> Self {
        Self {
            vmlinux: TargetBtf { name: name.into(), btf: vmlinux, index: None },
            modules: Vec::new(),
            excluded_module_count: 0,
        }
    }

    /// Adds modules. A type without a candidate in the vmlinux BTF is searched in the modules, in this order.
    #[must_use]
    pub fn with_modules(mut self, modules: impl IntoIterator<Item = (String, Arc<Btf<'t>>)>) -> Self {
        self.modules.extend(modules.into_iter().map(|(name, btf)| TargetBtf { name, btf, index: None }));
        self
    }

    /// Sets the number of modules that a [`ModuleFilter`](crate::btf::ModuleFilter) excluded. Explanations
    /// print the number.
    #[must_use]
    pub const fn with_excluded_modules(mut self, count: usize) -> Self {
        self.excluded_module_count = count;
        self
    }

    /// Adds an index of the vmlinux BTF. Building the index takes longer than one search, so it is for
    /// targets of many objects.
    #[must_use]
    pub fn with_index(mut self, index: Arc<NameIndex>) -> Self {
        self.vmlinux.index = Some(index);
        self
    }

    /// Returns the BTF of vmlinux, the kernel's own BTF. Modules have a BTF each.
    pub fn vmlinux(&self) -> &TargetBtf<'t> {
        &self.vmlinux
    }

    /// Returns the BTFs of the modules. Modules that the filter excluded are missing.
    pub fn modules(&self) -> &[TargetBtf<'t>] {
        &self.modules
    }

    /// Returns the number of modules that a filter excluded.
    pub const fn excluded_module_count(&self) -> usize {
        self.excluded_module_count
    }

    /// Returns the number of modules, including the excluded ones.
    #[expect(
        clippy::disallowed_methods,
        reason = "a number for explanations, and the caller counts the excluded"
    )]
    pub fn module_count(&self) -> usize {
        self.modules.len().saturating_add(self.excluded_module_count)
    }

    /// Returns a BTF by the index in a [`Candidate`](crate::resolve::Candidate): 0 is the vmlinux BTF, and
    /// the modules follow.
    pub(crate) fn btf(&self, index: usize) -> Option<&TargetBtf<'t>> {
        match index.checked_sub(1) {
            None => Some(&self.vmlinux),
            Some(module) => self.modules.get(module),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plan, Relocs, plan::Objects};

    #[test]
    fn threads_can_share_a_target_and_plans() {
        fn assert_shareable<T: Send + Sync>() {}
        assert_shareable::<Target<'_>>();
        assert_shareable::<NameIndex>();
        assert_shareable::<Relocs<'_>>();
        assert_shareable::<Plan<'_>>();
        assert_shareable::<Objects<'_>>();
    }
}
