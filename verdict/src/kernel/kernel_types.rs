//! The types of a query in the BTF of vmlinux and of modules.

use super::{
    kernel_name::NameId,
    query::{NameQuery, SymbolName},
};
use core_relo::{
    Name, Target, TargetBtf, TypeId,
    btf::{Btf, Kind, Type},
};
use std::sync::OnceLock;

/// The names of a query in vmlinux, found in one pass over the types.
///
/// They tell which modules a kernel needs, before its [`KernelFacts`](super::KernelFacts) are collected.
#[derive(Clone, Debug)]
pub struct VmlinuxNames<'k> {
    pub(super) types: KernelTypes<'k>,
}

impl<'k> VmlinuxNames<'k> {
    /// Searches the names of a query.
    pub fn new(target: &'k Target<'_>, query: &'k NameQuery) -> Self {
        let target: &'k Target<'k> = target;
        Self { types: KernelTypes::new(target.vmlinux(), query) }
    }

    /// Returns the functions and types of objects that vmlinux lacks, and those of modules that the objects
    /// name. A [`ModuleFilter`](core_relo::btf::ModuleFilter) of these names selects the modules that may
    /// have them.
    ///
    /// The names of comparisons are among them, so that the comparison of an object does not depend on the
    /// modules that other objects need.
    pub fn names_for_modules(&self) -> impl Iterator<Item = Name<'k>> + use<'k, '_> {
        let query = self.types.query;
        let wanted =
            query.object_names().filter(|(id, _)| query.is_of_module(*id) || self.types.find(*id).is_none());
        wanted.map(|(_, name)| Name::new(name))
    }

    /// Returns whether objects need modules by their names.
    pub const fn needs_modules(&self) -> bool {
        self.types.query.needs_modules()
    }

    /// Returns whether vmlinux has the function of a symbol.
    pub(crate) fn has_function(&self, symbol: &SymbolName) -> bool {
        self.types.find(&symbol.function).is_some()
    }
}

/// The BTF of vmlinux or of a module, with the types of the query.
#[derive(Clone, Debug)]
pub(super) struct KernelTypes<'k> {
    pub(super) name: &'k str,
    pub(super) btf: &'k Btf<'k>,
    pub(super) query: &'k NameQuery,
    /// Whether `found` has the functions of the query: objects look up some.
    has_functions: bool,
    /// The types of the query, by position.
    found: Vec<Option<TypeId>>,
    /// The functions of the query, searched when one is looked up.
    functions: OnceLock<Vec<Option<TypeId>>>,
    /// The functions with the tag `bpf_kfunc`, in order.
    kfuncs: OnceLock<Vec<TypeId>>,
}

impl<'k> KernelTypes<'k> {
    pub(super) fn new(target: &'k TargetBtf<'k>, query: &'k NameQuery) -> Self {
        let btf: &'k Btf<'k> = &target.btf;
        let has_functions = query.has_functions();
        let found = btf.find_own_of_kinds(&query.types, |kind| has_functions || kind != Kind::Func);
        let (functions, kfuncs) = (OnceLock::new(), OnceLock::new());
        Self { name: &target.name, btf, query, has_functions, found, functions, kfuncs }
    }

    /// Returns the first own type of a name of the query.
    pub(super) fn find(&self, name: impl Into<NameId>) -> Option<Type<'k>> {
        let NameId { position, kind } = name.into();
        let found = if kind == Kind::Func && !self.has_functions {
            let search = || self.btf.find_own_of_kinds(&self.query.types, |kind| kind == Kind::Func);
            self.functions.get_or_init(search)
        } else {
            &self.found
        };
        self.btf.ty(found.get(position).copied().flatten()?)
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
