//! The types of a query in the BTF of vmlinux and of modules.

use super::query::NameQuery;
use core_relo::{
    Name, Target, TargetBtf, TypeId,
    btf::{Btf, Kind, Type},
};
use core_relo_object::InternalError;
use std::sync::OnceLock;

/// The invariant that [`KernelTypes::check_lookups`] checks.
const IN_QUERY: &str = "each name that a verdict looks up is in the query";

/// The names of a query in vmlinux, found in one pass over the types.
///
/// They tell which modules a kernel needs, before its [`KernelFacts`](super::KernelFacts) are collected.
#[derive(Clone, Debug)]
pub struct VmlinuxNames<'k> {
    pub(super) query: &'k NameQuery,
    pub(super) types: KernelTypes<'k>,
}

impl<'k> VmlinuxNames<'k> {
    /// Searches the names of a query.
    pub fn new(target: &'k Target<'_>, query: &'k NameQuery) -> Self {
        let target: &'k Target<'k> = target;
        Self { query, types: KernelTypes::new(target.vmlinux(), query) }
    }

    /// Returns the functions and types that objects need and vmlinux lacks. A [`ModuleFilter`](core_relo::btf::ModuleFilter) of these
    /// names selects the modules that may have them.
    pub fn names_for_modules(&self) -> impl Iterator<Item = Name<'k>> + use<'k, '_> {
        let missing = |(name, kind): &(&[u8], Kind)| self.types.find(self.query, name, *kind).is_none();
        self.query.object_names().filter(missing).map(|(name, _)| Name::new(name))
    }

    /// Returns whether vmlinux has a function of the query.
    pub(crate) fn has_function(&self, name: &[u8]) -> bool {
        self.types.find(self.query, name, Kind::Func).is_some()
    }
}

/// The BTF of vmlinux or of a module, with the types of the query.
#[derive(Clone, Debug)]
pub(super) struct KernelTypes<'k> {
    pub(super) name: &'k str,
    pub(super) btf: &'k Btf<'k>,
    found: Vec<Option<TypeId>>,
    /// Whether a name was looked up that the query lacks.
    has_unknown_lookup: OnceLock<()>,
    /// The functions with the tag `bpf_kfunc`, in order.
    kfuncs: OnceLock<Vec<TypeId>>,
}

impl<'k> KernelTypes<'k> {
    pub(super) fn new(target: &'k TargetBtf<'k>, query: &NameQuery) -> Self {
        let btf: &'k Btf<'k> = &target.btf;
        let found = btf.find_all_own(&query.types);
        let (has_unknown_lookup, kfuncs) = (OnceLock::new(), OnceLock::new());
        Self { name: &target.name, btf, found, has_unknown_lookup, kfuncs }
    }

    /// Returns the first own type of a name and kind of the query. A name that the query lacks is not found: see
    /// [`check_lookups`](Self::check_lookups).
    pub(super) fn find(&self, query: &NameQuery, name: &[u8], kind: Kind) -> Option<Type<'k>> {
        let Some(position) = query.types.position(name, kind) else {
            self.has_unknown_lookup.get_or_init(|| ());
            return None;
        };
        self.btf.ty(self.found.get(position).copied().flatten()?)
    }

    /// Returns an error if a name was looked up that the query lacks, so that nothing tells whether the kernel has the name.
    pub(super) fn check_lookups(&self) -> Result<(), InternalError> {
        match self.has_unknown_lookup.get() {
            Some(()) => Err(InternalError::new(IN_QUERY)),
            None => Ok(()),
        }
    }

    /// Returns the functions with the tag `bpf_kfunc` (kernels built with pahole 1.26 and later).
    pub(super) fn kfuncs(&self) -> &[TypeId] {
        self.kfuncs.get_or_init(|| {
            let mut kfuncs = Vec::new();
            self.btf.visit_kind(Kind::DeclTag, |tag| {
                if tag.name().as_bytes() == b"bpf_kfunc" && tag.component_index() == Some(-1) {
                    kfuncs.extend(tag.target());
                }
            });
            kfuncs.sort();
            kfuncs
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Answer, KernelFacts, KernelInputs};
    use alloc::sync::Arc;
    use core_relo::{Endian, btf::Builder};

    /// Each name of a verdict has to be in the query. A search for another name would walk all types of the kernel.
    #[test]
    fn names_that_the_query_lacks_are_unknown() {
        let mut b = Builder::new(Endian::native());
        let proto = b.func_proto(TypeId::VOID, &[]);
        b.func("fget", proto, 1);
        let target = Target::new("vmlinux", Arc::new(Btf::parse(b.finish()).unwrap()));
        let (query, inputs) = (NameQuery::default(), KernelInputs::default());
        let facts = KernelFacts::new(&target, &query, &inputs);
        let unknown = |text: &str| Answer::Unknown(text.to_owned());
        assert_eq!(facts.function(b"fget", None), unknown("the query of the facts lacks FUNC fget"));
        assert_eq!(facts.symbol(b"fget"), unknown("the query of the facts lacks symbol fget"));
        assert_eq!(facts.check_lookups(), Ok(()));
        assert!(facts.find_type(b"fget", Kind::Func).is_none());
        assert_eq!(facts.check_lookups(), Err(InternalError::new(IN_QUERY)));
    }
}
