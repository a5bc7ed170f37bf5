//! The target of relocation: the BTF of a kernel and of its modules.

use crate::btf::{Btf, ModuleFilter, NameIndex};
use alloc::{boxed::Box, collections::BTreeSet, string::String, sync::Arc, vec::Vec};

/// The kernel against which an object is relocated.
#[derive(Clone, Debug)]
pub struct Target<'t> {
    vmlinux: TargetBtf<'t>,
    modules: Vec<TargetBtf<'t>>,
    /// The names of the modules that a filter excluded.
    excluded_modules: Vec<String>,
    /// The names of types that the excluded modules do not have.
    excluded_names: BTreeSet<Box<[u8]>>,
    unread_module_count: usize,
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
            excluded_modules: Vec::new(),
            excluded_names: BTreeSet::new(),
            unread_module_count: 0,
        }
    }

    /// Adds modules. A type without a candidate in the vmlinux BTF is searched in the modules, in this order.
    #[must_use]
    pub fn with_modules(mut self, modules: impl IntoIterator<Item = (String, Arc<Btf<'t>>)>) -> Self {
        self.modules.extend(modules.into_iter().map(|(name, btf)| TargetBtf { name, btf, index: None }));
        self
    }

    /// Sets the names of the modules that a filter excluded. They have no type of a name of the filter, so
    /// they count as searched for these names, and for no others.
    #[must_use]
    pub fn with_excluded_modules(
        mut self,
        modules: impl IntoIterator<Item = String>,
        module_filter: &ModuleFilter<'_, '_>,
    ) -> Self {
        self.excluded_modules = modules.into_iter().collect();
        self.excluded_names = module_filter.names().map(|name| name.as_bytes().into()).collect();
        self
    }

    /// Sets the number of modules whose BTF cannot be read. They may have a type of any name.
    #[must_use]
    pub const fn with_unread_modules(mut self, count: usize) -> Self {
        self.unread_module_count = count;
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

    /// Returns the names of the modules that a filter excluded.
    pub fn excluded_modules(&self) -> &[String] {
        &self.excluded_modules
    }

    /// Returns whether no excluded module has a type of this name, because the filter searched the name or
    /// because there are no excluded modules.
    pub fn excluded_modules_lack(&self, name: &[u8]) -> bool {
        self.excluded_modules.is_empty() || self.excluded_names.contains(name)
    }

    /// Returns the number of modules whose BTF cannot be read.
    pub const fn unread_module_count(&self) -> usize {
        self.unread_module_count
    }

    /// Returns the number of modules, including the excluded ones.
    #[expect(clippy::disallowed_methods, reason = "the lengths of two lists in memory, for explanations")]
    pub fn module_count(&self) -> usize {
        self.modules.len().saturating_add(self.excluded_modules.len())
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
