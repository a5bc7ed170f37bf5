//! The target of relocation: the BTF of a kernel and of its modules.

use crate::btf::{Btf, NameIndex};
use alloc::{string::String, sync::Arc, vec::Vec};

/// The kernel against which an object is relocated.
#[derive(Clone, Debug)]
pub struct Target<'t> {
    main: Source<'t>,
    modules: Vec<Source<'t>>,
    skipped_modules: usize,
}

/// A BTF of a target, and its name.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Source<'t> {
    /// `vmlinux`, or the module's name.
    pub name: String,
    /// The types.
    pub btf: Arc<Btf<'t>>,
    /// The index of `btf`, if there is one.
    pub index: Option<Arc<NameIndex>>,
}

impl<'t> Target<'t> {
    /// Returns a target of one BTF. Explanations use the `name`, usually `vmlinux`.
    pub fn new(name: impl Into<String>, main: Arc<Btf<'t>>) -> Self {
        Self {
            main: Source { name: name.into(), btf: main, index: None },
            modules: Vec::new(),
            skipped_modules: 0,
        }
    }

    /// Adds modules, in the order of the search.
    #[must_use]
    pub fn with_modules(mut self, modules: impl IntoIterator<Item = (String, Arc<Btf<'t>>)>) -> Self {
        self.modules.extend(modules.into_iter().map(|(name, btf)| Source { name, btf, index: None }));
        self
    }

    /// Adds a number of modules that a [`ModuleFilter`](crate::btf::ModuleFilter) excluded. Explanations count them.
    #[must_use]
    pub const fn with_modules_passed_over(mut self, count: usize) -> Self {
        self.skipped_modules = self.skipped_modules.saturating_add(count);
        self
    }

    /// Adds an index of the main BTF, which pays off for many objects.
    #[must_use]
    pub fn with_index(mut self, index: Arc<NameIndex>) -> Self {
        self.main.index = Some(index);
        self
    }

    /// Returns the main BTF.
    pub fn main(&self) -> &Source<'t> {
        &self.main
    }

    /// Returns the modules.
    pub fn modules(&self) -> &[Source<'t>] {
        &self.modules
    }

    /// Returns the number of modules, the excluded modules included.
    pub fn module_count(&self) -> usize {
        self.modules.len().saturating_add(self.skipped_modules)
    }

    /// Returns a BTF by its index: 0 is the main BTF, and the modules follow.
    pub(crate) fn source(&self, index: usize) -> Option<&Source<'t>> {
        match index.checked_sub(1) {
            None => Some(&self.main),
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
        fn shared<T: Send + Sync>() {}
        shared::<Target<'_>>();
        shared::<NameIndex>();
        shared::<Relocs<'_>>();
        shared::<Plan<'_>>();
        shared::<Objects<'_>>();
    }
}
