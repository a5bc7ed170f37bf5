//! Compares the declarations of externs with the kernel's variables and functions.

use core_relo::{
    TypeId,
    btf::{Btf, Kind, Type},
    resolve::{MatchError, TypeComparer},
};
use hashbrown::HashMap;

/// A comparer of externs with the kernel's variables and functions. Many externs can share a type, so each
/// pair of types is compared once.
#[derive(Debug, Default)]
pub struct ExternComparer<'h> {
    comparer: TypeComparer,
    /// The results by the object's type, the kernel's BTF and the type in that BTF.
    results: HashMap<(TypeId, *const Btf<'h>, TypeId), Result<bool, MatchError>>,
}

impl<'h> ExternComparer<'h> {
    /// Returns whether a VAR or FUNC of the kernel has the type of a declaration in an object (libbpf:
    /// `bpf_object__resolve_ksym_var_btf_id`, `…_func_btf_id`). All calls must have the same object.
    pub fn is_compatible(
        &mut self,
        local_btf: &Btf<'_>,
        local: TypeId,
        kernel: Type<'h>,
    ) -> Result<bool, MatchError> {
        let target = kernel.target().and_then(|target| match kernel.kind() {
            Kind::Var => kernel.btf().strip(target).ok().map(Type::id),
            _ => Some(target),
        });
        let Some(target) = target else { return Ok(false) };
        let compare = || self.comparer.are_compatible(local_btf, local, kernel.btf(), target);
        *self.results.entry((local, core::ptr::from_ref(kernel.btf()), target)).or_insert_with(compare)
    }
}
