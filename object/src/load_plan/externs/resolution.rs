//! The resolution of an extern.

use crate::{
    index::{ExternIndex, ModuleIndex},
    link::externs::{ExternBinding, ExternEntry},
    load_plan::target_kernel::TargetKernel,
};
use core_relo::{
    Name, TypeId,
    btf::{Btf, Kind},
    explain::declare_both,
};

/// The resolution of an extern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::load_plan) enum ResolvedExtern {
    /// A weak extern that the kernel does not have, or a configuration value.
    Missing,
    /// A weak function whose parameters in the kernel differ from the declaration.
    Incompatible,
    /// The address of a variable.
    Address(u64),
    /// A variable or function in the BTF of the kernel, or of a module.
    Typed { id: TypeId, module: Option<ModuleIndex> },
    /// A variable or function that the kernel finds when a loader program is executed.
    Late,
}

/// A weak kernel function whose parameters in the kernel differ from the object's declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IncompatibleKfunc {
    /// The extern.
    pub index: ExternIndex,
    /// The prototypes of the kernel and of the object: `` `int f(void *ctx)`, expected `int f(void)` ``.
    /// `None` if they have no text.
    pub prototypes: Option<String>,
}

/// Finds the kernel functions whose parameters in the kernel differ from the object's declaration.
pub(in crate::load_plan) fn find_incompatible(
    btf: Option<&Btf<'_>>,
    externs: &[ExternEntry<'_>],
    resolved: &[ResolvedExtern],
    kernel: &TargetKernel,
) -> Vec<IncompatibleKfunc> {
    let all = externs.iter().zip(resolved).enumerate();
    let incompatible = all.filter(|(_, (_, resolved))| **resolved == ResolvedExtern::Incompatible);
    let prototypes = |entry: &ExternEntry<'_>| {
        let ExternBinding::Function(declared) = entry.binding else { return None };
        let name = Name::new(entry.name).essential();
        // Reading the BTF succeeded when the extern was resolved.
        let function = kernel.find_type(name.as_bytes(), Kind::Func).ok().flatten()?;
        declare_both(btf?.ty(declared)?, function.ty, name)
    };
    let incompatible = incompatible.map(|(index, (entry, _))| IncompatibleKfunc {
        index: ExternIndex(index),
        prototypes: prototypes(entry),
    });
    incompatible.collect()
}
