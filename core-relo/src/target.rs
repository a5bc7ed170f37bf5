//! The kernel's side: its main BTF, and those of its modules.

use crate::btf::{Btf, NameIndex};
use alloc::{string::String, sync::Arc, vec::Vec};

/// What an object is relocated against.
#[derive(Clone, Debug)]
pub struct Target<'t> {
    main: Source<'t>,
    modules: Vec<Source<'t>>,
    passed_over: usize,
}

/// One BTF of a target, and what to call it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Source<'t> {
    /// `vmlinux`, or the module's name.
    pub name: String,
    /// Its types.
    pub btf: Arc<Btf<'t>>,
    /// Its types by name, if they are looked for often; of this very BTF.
    pub index: Option<Arc<NameIndex>>,
}

impl<'t> Target<'t> {
    /// A target of one BTF; `name` is what explanations call it, as a rule `vmlinux`.
    pub fn new(name: impl Into<String>, main: Arc<Btf<'t>>) -> Self {
        Self {
            main: Source { name: name.into(), btf: main, index: None },
            modules: Vec::new(),
            passed_over: 0,
        }
    }

    /// Adds modules, in the order in which they are searched.
    #[must_use]
    pub fn with_modules(mut self, modules: impl IntoIterator<Item = (String, Arc<Btf<'t>>)>) -> Self {
        self.modules.extend(modules.into_iter().map(|(name, btf)| Source { name, btf, index: None }));
        self
    }

    /// With so many modules more that are known to lack what the object looks for (as a [`ModuleFilter`](crate::btf::ModuleFilter) tells):
    /// explanations count them.
    #[must_use]
    pub const fn with_modules_passed_over(mut self, count: usize) -> Self {
        self.passed_over = self.passed_over.saturating_add(count);
        self
    }

    /// With an index of the main BTF, made of that very BTF: worth it where many objects meet one target.
    #[must_use]
    pub fn with_index(mut self, index: Arc<NameIndex>) -> Self {
        self.main.index = Some(index);
        self
    }

    /// The main BTF.
    pub fn main(&self) -> &Source<'t> {
        &self.main
    }

    /// The modules.
    pub fn modules(&self) -> &[Source<'t>] {
        &self.modules
    }

    /// How many modules there are, those passed over included.
    pub fn module_count(&self) -> usize {
        self.modules.len().saturating_add(self.passed_over)
    }

    /// The main BTF is source 0, the modules follow.
    pub(crate) fn source(&self, number: usize) -> Option<&Source<'t>> {
        match number.checked_sub(1) {
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
    fn many_threads_may_share_a_target_and_make_plans() {
        fn shared<T: Send + Sync>() {}
        shared::<Target<'_>>();
        shared::<NameIndex>();
        shared::<Relocs<'_>>();
        shared::<Plan<'_>>();
        shared::<Objects<'_>>();
    }
}
